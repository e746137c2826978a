/* SPDX-License-Identifier: MIT */
/*
 * etcd_txn.c - a transaction of etcd that changes locks, or reads them. See rule 1 of etcd_impl.h.
 */
#include "etcd_impl.h"

#include <errno.h>
#include <stdlib.h>

/* etcd takes 128 comparisons and 128 requests in a transaction. */
enum { TELL_MAX = 64, COMPARE_MAX = 96 };

/* ---- keys ---- */

void glock__etcd_key(const struct etcd *e, char key[KEY_MAX], const char *what, uint64_t id)
{
	snprintf(key, KEY_MAX, "%s%s/%016" PRIx64, e->base, what, id);
}

void glock__etcd_lock_key(const struct etcd *e, char key[KEY_MAX], uint32_t type, uint64_t number)
{
	snprintf(key, KEY_MAX, "%sl/%x/%016" PRIx64, e->base, type, number);
}

/* ---- operations ---- */

static bool writes_nothing(const struct job *j)
{
	bool tells = false;

	for (uint32_t i = 0; i < j->result.n_tell; i++)
		tells = tells || j->result.tell[i].bast;
	/* A refusal has to be one of the newest value. */
	return !j->changed && !tells && j->op.kind != GLOCK__ETCD_LOCK &&
	       !(j->op.kind == GLOCK__ETCD_DROP && j->s->entry);
}

void glock__etcd_operate(struct job *j)
{
	j->done = true;
	j->damage = glock__etcd_unpack(&j->value, j->s->known, j->s->known_len);
	if (j->damage)
		return;
	glock__etcd_step(&j->value, &j->op, &j->result);
	j->len = glock__etcd_pack(&j->value, j->packed);
	j->changed =
	    j->len != j->s->known_len || (j->len && memcmp(j->packed, j->s->known, j->len) != 0);
	j->done = writes_nothing(j);
}

unsigned int glock__etcd_together(const struct job *jobs, unsigned int n)
{
	uint32_t tell = 0, compare = 0;

	for (unsigned int i = 0; i < n; i++) {
		tell += jobs[i].result.n_tell;
		compare += 1 + jobs[i].result.n_dead;
		if (i && (tell > TELL_MAX || compare > COMPARE_MAX))
			return i;
	}
	return n;
}

/* ---- the text of a transaction ---- */

static void add_key(struct glock__text *t, const char *key)
{
	glock__text_bytes(t, "key", key, strlen(key));
}

/* target: MOD or CREATE; field: mod_revision or create_revision */
static void add_compare(struct glock__text *t, const char *key, const char *target,
			const char *field, int64_t revision)
{
	glock__text_add(t, "{", 1);
	add_key(t, key);
	glock__text_printf(t, ",\"target\":\"%s\",\"result\":\"EQUAL\",\"%s\":\"%" PRId64 "\"}",
			   target, field, revision);
}

static void add_own_compare(const struct etcd *e, struct glock__text *t)
{
	char key[KEY_MAX];

	glock__etcd_key(e, key, "n", e->id);
	add_compare(t, key, "CREATE", "create_revision", e->created);
}

static void add_range(struct glock__text *t, const char *key)
{
	glock__text_printf(t, ",{\"request_range\":{");
	add_key(t, key);
	glock__text_printf(t, "}}");
}

/* The message of one lock in an inbox; etcd_watch.c reads it. */
static void add_message(struct glock__text *m, const struct job *j, uint8_t bast)
{
	unsigned char head[24] = {0};

	for (size_t i = 0; i < 8; i++) {
		head[i] = (unsigned char)(j->s->number >> 8 * i);
		/* 0: the revision of this put */
		head[8 + i] = (unsigned char)((uint64_t)(j->changed ? 0 : j->s->revision) >> 8 * i);
	}
	for (size_t i = 0; i < 4; i++)
		head[16 + i] = (unsigned char)(j->s->type >> 8 * i);
	head[20] = bast;
	head[22] = (unsigned char)j->len;
	head[23] = (unsigned char)(j->len >> 8);
	glock__text_add(m, (const char *)head, sizeof(head));
	glock__text_add(m, (const char *)j->packed, j->len);
}

static bool was_told(const struct job *jobs, unsigned int n, uint32_t k, uint64_t id)
{
	for (unsigned int i = 0; i <= n; i++)
		for (uint32_t t = 0; t < (i == n ? k : jobs[i].result.n_tell); t++)
			if (jobs[i].result.tell[t].id == id)
				return true;
	return false;
}

/* Puts the inbox of each node that has to hear of a lock: once, with all its locks. */
static void add_inboxes(const struct etcd *e, struct glock__text *t, const struct job *jobs,
			unsigned int n)
{
	char key[KEY_MAX];

	for (unsigned int i = 0; i < n; i++)
		for (uint32_t k = 0; k < jobs[i].result.n_tell; k++) {
			uint64_t id = jobs[i].result.tell[k].id;
			struct glock__text m = {0};

			if (was_told(jobs, i, k, id))
				continue;
			for (unsigned int j = i; j < n; j++)
				for (uint32_t l = 0; l < jobs[j].result.n_tell; l++)
					if (jobs[j].result.tell[l].id == id)
						add_message(&m, &jobs[j],
							    jobs[j].result.tell[l].bast);
			glock__etcd_key(e, key, "in", id);
			glock__text_printf(t, ",{\"request_put\":{");
			add_key(t, key);
			glock__text_add(t, ",", 1);
			glock__text_bytes(t, "value", m.s, m.n);
			glock__text_printf(t, "}}");
			t->failed |= m.failed;
			glock__text_free(&m);
		}
}

static void add_compares(const struct etcd *e, struct glock__text *t, const struct job *jobs,
			 unsigned int n)
{
	char key[KEY_MAX];

	glock__text_printf(t, "{\"compare\":[");
	add_own_compare(e, t);
	for (unsigned int i = 0; i < n; i++) {
		glock__etcd_lock_key(e, key, jobs[i].s->type, jobs[i].s->number);
		glock__text_add(t, ",", 1);
		add_compare(t, key, "MOD", "mod_revision", jobs[i].s->revision);
		for (uint32_t k = 0; k < jobs[i].result.n_dead; k++) {
			glock__etcd_key(e, key, "n", jobs[i].result.dead[k]);
			glock__text_add(t, ",", 1);
			add_compare(t, key, "CREATE", "create_revision", 0);
		}
	}
}

/* The first request of each list reads the node key, so that the others begin with a comma. */
static void add_first(const struct etcd *e, struct glock__text *t, const char *list)
{
	char key[KEY_MAX];

	glock__etcd_key(e, key, "n", e->id);
	glock__text_printf(t, "],\"%s\":[{\"request_range\":{", list);
	add_key(t, key);
	glock__text_printf(t, "}}");
}

static void add_changes(const struct etcd *e, struct glock__text *t, const struct job *jobs,
			unsigned int n)
{
	char key[KEY_MAX];

	for (unsigned int i = 0; i < n; i++) {
		if (!jobs[i].changed)
			continue;
		glock__etcd_lock_key(e, key, jobs[i].s->type, jobs[i].s->number);
		glock__text_printf(t, ",{\"request_%s\":{", jobs[i].len ? "put" : "delete_range");
		add_key(t, key);
		if (jobs[i].len) {
			glock__text_add(t, ",", 1);
			glock__text_bytes(t, "value", jobs[i].packed, jobs[i].len);
		}
		glock__text_printf(t, "}}");
	}
	add_inboxes(e, t, jobs, n);
}

/* ---- sending it ---- */

/* Notes the trouble, or NULL for its end. Returns false if that was noted before. */
static bool trouble_is(struct etcd *e, const char *kind)
{
	bool is_new;

	pthread_mutex_lock(&e->lock);
	is_new = e->complained != kind;
	e->complained = kind;
	pthread_mutex_unlock(&e->lock);
	return is_new;
}

/* Tells the log of a trouble that holds up requests, once until it has ended. */
static void complain(struct etcd *e, const struct glock__etcd_conn *c, bool full)
{
	const char *kind = full ? "full" : "silent";

	if (!trouble_is(e, kind))
		return;
	glock__etcd_say(e,
			full ? "space %s: etcd takes no writes, so requests wait (%s); free room: "
			       "etcdctl compact, defrag, then alarm disarm"
			     : "space %s: etcd does not answer requests, which wait (%s); look at "
			       "etcdctl endpoint status, and at the endpoints in GLOCK_ETCD",
			e->name, c->why);
}

static bool is_over(struct etcd *e)
{
	bool over;

	pthread_mutex_lock(&e->lock);
	over = e->left || e->lost || e->stop;
	pthread_mutex_unlock(&e->lock);
	return over;
}

/* Sends the same bytes until etcd answers. Returns NULL if the node is lost or leaves meanwhile. */
static json_t *send_until_answered(struct etcd *e, struct glock__etcd_conn *c, const char *body)
{
	json_t *answer;
	int failures = 0, err;

	while ((err = glock__etcd_ask(e, c, body, &answer))) {
		if (is_over(e) || err == -ESTALE) /* the thread member finds out, too */
			return NULL;
		if (++failures >= 4)
			complain(e, c, strstr(c->why, "database space exceeded") != NULL);
		pthread_mutex_lock(&e->lock);
		glock__etcd_sleep(e, failures < 4 ? failures : 100);
		pthread_mutex_unlock(&e->lock);
	}
	(void)trouble_is(e, NULL);
	return answer;
}

static const json_t *response(const json_t *answer, size_t i)
{
	return json_object_get(json_array_get(json_object_get(answer, "responses"), i),
			       "response_range");
}

/* Stores what the ranges of an answer say. Returns -ENODEV if the node key is gone. */
static int learn(struct etcd *e, const json_t *answer, struct slot **s, unsigned int n)
{
	int64_t seen = glock__json_number(json_object_get(answer, "header"), "revision");
	const json_t *own = json_array_get(json_object_get(response(answer, 0), "kvs"), 0);
	int err = 0;

	if (glock__json_number(own, "create_revision") != e->created) {
		pthread_mutex_lock(&e->lock);
		e->confirm = true; /* the thread member finds out, and ends this node */
		glock__etcd_changed(e);
		pthread_mutex_unlock(&e->lock);
		return -ENODEV;
	}
	pthread_mutex_lock(&e->lock);
	for (unsigned int i = 0; !err && i < n; i++) {
		const json_t *kv =
		    json_array_get(json_object_get(response(answer, i + 1), "kvs"), 0);
		size_t len = 0;
		unsigned char *value = kv ? glock__json_bytes(kv, "value", &len) : NULL;

		if ((kv && !value) ||
		    !glock__etcd_know(s[i], glock__json_number(kv, "mod_revision"), seen, value,
				      len))
			err = -ENOMEM;
		free(value);
	}
	pthread_mutex_unlock(&e->lock);
	return err;
}

int glock__etcd_commit(struct etcd *e, struct glock__etcd_conn *c, struct job *jobs, unsigned int n,
		       int64_t *revision)
{
	struct glock__text t = {0};
	struct slot *s[BATCH];
	char key[KEY_MAX];
	json_t *answer = NULL;
	int err = -ENOMEM;

	add_compares(e, &t, jobs, n);
	add_first(e, &t, "success");
	add_changes(e, &t, jobs, n);
	add_first(e, &t, "failure");
	for (unsigned int i = 0; i < n; i++) {
		s[i] = jobs[i].s;
		glock__etcd_lock_key(e, key, s[i]->type, s[i]->number);
		add_range(&t, key);
	}
	glock__text_printf(&t, "]}");
	if (!t.failed)
		answer = send_until_answered(e, c, t.s);
	glock__text_free(&t);
	if (answer && json_is_true(json_object_get(answer, "succeeded"))) {
		*revision = glock__json_number(json_object_get(answer, "header"), "revision");
		err = 0;
	} else if (answer) {
		err = learn(e, answer, s, n);
		err = err ? err : -EAGAIN;
	} else {
		err = -ENODEV;
	}
	json_decref(answer);
	return err;
}

int glock__etcd_read(struct etcd *e, struct glock__etcd_conn *c, struct slot **s, unsigned int n)
{
	struct glock__text t = {0};
	char key[KEY_MAX];
	json_t *answer = NULL;
	int err = -ENODEV;

	glock__text_printf(&t, "{\"compare\":[");
	add_first(e, &t, "success");
	for (unsigned int i = 0; i < n; i++) {
		glock__etcd_lock_key(e, key, s[i]->type, s[i]->number);
		add_range(&t, key);
	}
	glock__text_printf(&t, "]}");
	if (!t.failed)
		answer = send_until_answered(e, c, t.s);
	glock__text_free(&t);
	if (answer)
		err = learn(e, answer, s, n);
	json_decref(answer);
	return err;
}
