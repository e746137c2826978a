/* SPDX-License-Identifier: MIT */
/*
 * etcd_member.c - this process as a node: it joins, confirms its node key, and ends.
 *
 * The thread reads all node keys each CONFIRM_MS, through a quorum. That opens the gate, shows
 * deaths, and finds a watch that has fallen behind. Then the thread keeps the lease. No rule of
 * safety depends on the lease.
 */
#include "etcd_impl.h"

#include "lockman/table/table_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { NS_PER_MS = 1000000, FAILED_MS = 50 };

/* ---- the node in etcd ---- */

static void add_put(struct glock__text *t, const char *key, const char *value, uint64_t lease)
{
	glock__text_printf(t, "{\"request_put\":{");
	glock__text_bytes(t, "key", key, strlen(key));
	glock__text_add(t, ",", 1);
	glock__text_bytes(t, "value", value, strlen(value));
	glock__text_printf(t, ",\"lease\":\"%" PRId64 "\"}}", (int64_t)lease);
}

static int grant_lease(struct glock__etcd_conn *c, uint64_t *lease)
{
	char body[64];
	json_t *answer;
	int err;

	snprintf(body, sizeof(body), "{\"TTL\":\"%d\"}", LEASE_S);
	err = glock__etcd_call(c, "/v3/lease/grant", body, CALL_MS, &answer);
	*lease = (uint64_t)glock__json_number(answer, "ID");
	json_decref(answer);
	return err ? err : *lease ? 0 : -EAGAIN;
}

/* "PID HOST COMMAND", for other nodes to show. */
static void describe_self(char text[128])
{
	char host[48] = "?", command[16] = "?";

	gethostname(host, sizeof(host) - 1);
	prctl(PR_GET_NAME, command); /* of this thread: start() has not named it yet */
	snprintf(text, 128, "%d %s %s", (int)getpid(), host, command);
}

static void add_delete(struct glock__text *t, const char *key)
{
	glock__text_printf(t, "{\"request_delete_range\":{");
	glock__text_bytes(t, "key", key, strlen(key));
	glock__text_printf(t, "}}");
}

/* Without the inbox no node looks for locks of this one. */
void glock__etcd_part(struct etcd *e, struct glock__etcd_conn *c, bool failed)
{
	char node[KEY_MAX], inbox[KEY_MAX], body[64];
	struct glock__text t = {0};
	json_t *answer;

	glock__etcd_key(e, node, "n", e->id);
	glock__etcd_key(e, inbox, "in", e->id);
	glock__text_printf(&t, "{\"success\":[");
	add_delete(&t, node);
	if (!failed && !e->lost) {
		glock__text_add(&t, ",", 1);
		add_delete(&t, inbox);
	}
	glock__text_printf(&t, "]}");
	if (!t.failed && !glock__etcd_call(c, "/v3/kv/txn", t.s, CALL_MS, &answer))
		json_decref(answer);
	glock__text_free(&t);
	snprintf(body, sizeof(body), "{\"ID\":\"%" PRId64 "\"}", (int64_t)e->id);
	if (!glock__etcd_call(c, "/v3/lease/revoke", body, CALL_MS, &answer))
		json_decref(answer);
}

/* ---- confirming ---- */

/* Returns the id in the name of a key, or 0: it is no key of glock. */
static uint64_t id_of_key(const struct etcd *e, const char *what, const json_t *kv)
{
	char right[KEY_MAX];
	size_t n;
	unsigned char *key = glock__json_bytes(kv, "key", &n);
	uint64_t id = 0;

	for (size_t i = n >= 16 ? n - 16 : n; key && i < n; i++)
		id = id << 4 | (uint64_t)(key[i] <= '9' ? key[i] - '0' : key[i] - 'a' + 10);
	glock__etcd_key(e, right, what, id);
	if (!key || n != strlen(right) || memcmp(key, right, n) != 0)
		id = 0;
	free(key);
	return id;
}

static void take_member(struct member *m, uint64_t id, const json_t *kv)
{
	size_t n;
	unsigned char *text = glock__json_bytes(kv, "value", &n);
	char line[128] = "";

	*m = (struct member){.id = id};
	if (text)
		snprintf(line, sizeof(line), "%.*s", (int)n, (const char *)text);
	free(text);
	if (sscanf(line, "%d %63[^\n]", &m->pid, m->name) < 1)
		m->pid = 0;
}

static const json_t *keys_of(const json_t *answer, size_t i)
{
	const json_t *response = json_array_get(json_object_get(answer, "responses"), i);

	return json_object_get(json_object_get(response, "response_range"), "kvs");
}

/* Stores the revision at which the own node key was made; 0: there is none. */
static int take_look(struct etcd *e, const json_t *answer, struct look *look, int64_t *created)
{
	const json_t *nodes = keys_of(answer, 0), *inboxes = keys_of(answer, 1), *kv;
	size_t i;

	*created = 0;
	look->members = calloc(json_array_size(nodes) + 1, sizeof(look->members[0]));
	look->inbox = calloc(json_array_size(inboxes) + 1, sizeof(look->inbox[0]));
	if (!look->members || !look->inbox)
		return -ENOMEM;
	json_array_foreach(nodes, i, kv)
	{
		uint64_t id = id_of_key(e, "n", kv);

		if (id)
			take_member(&look->members[look->n_members++], id, kv);
		if (id == e->id)
			*created = glock__json_number(kv, "create_revision");
	}
	json_array_foreach(inboxes, i, kv)
	{
		uint64_t id = id_of_key(e, "in", kv);

		if (id)
			look->inbox[look->n_inboxes++] = id;
		if (id == e->id)
			look->own_inbox = glock__json_number(kv, "mod_revision");
	}
	return 0;
}

static void add_prefix(const struct etcd *e, struct glock__text *t, const char *what, bool keys)
{
	char key[KEY_MAX];
	int n = snprintf(key, sizeof(key), "%s%s/", e->base, what);

	glock__text_printf(t, "{\"request_range\":{%s", keys ? "\"keys_only\":true," : "");
	glock__text_bytes(t, "key", key, (size_t)n);
	key[n - 1]++; /* the first key behind all that begin so */
	glock__text_add(t, ",", 1);
	glock__text_bytes(t, "range_end", key, (size_t)n);
	glock__text_printf(t, "}}");
}

/* Tells whether the watch lies behind the inbox, and did so at the last look already. */
static bool watch_is_behind(struct etcd *e, const struct look *look)
{
	bool behind = e->inbox_late && e->inbox_seen < e->inbox_late;

	e->inbox_late = look->own_inbox > e->inbox_seen ? look->own_inbox : 0;
	return behind;
}

int glock__etcd_look_at_nodes(struct etcd *e, struct glock__etcd_conn *c, struct look *look,
			      int64_t *created)
{
	struct glock__text t = {0};
	json_t *answer = NULL;
	int err;

	glock__text_printf(&t, "{\"success\":[");
	add_prefix(e, &t, "n", false);
	glock__text_add(&t, ",", 1);
	add_prefix(e, &t, "in", true);
	glock__text_printf(&t, "]}");
	err = t.failed ? -ENOMEM : glock__etcd_ask(e, c, t.s, &answer);
	glock__text_free(&t);
	if (!err)
		err = take_look(e, answer, look, created);
	json_decref(answer);
	return err;
}

/*
 * Reads the node keys. Returns 0 if the own key is there, -ENODEV if it is gone. Grants are blocked
 * for recover before the gate opens. By rule 3 of etcd_impl.h this is before any lock of the dead
 * node can be granted.
 */
static int confirm(struct etcd *e, struct glock__etcd_conn *c)
{
	int64_t sent = glock__etcd_now(), created = 0;
	struct look look = {0};
	int err;

	pthread_mutex_lock(&e->lock);
	look.n_suspects = e->n_suspects;
	pthread_mutex_unlock(&e->lock);
	err = glock__etcd_look_at_nodes(e, c, &look, &created);
	if (!err && created != e->created)
		err = -ENODEV;
	pthread_mutex_lock(&e->lock);
	if (!err)
		err = glock__etcd_compare(e, &look, !e->n_members);
	if (!err) {
		glock__etcd_recover(e);
		glock__etcd_ripen(e);
		e->rewatch |= watch_is_behind(e, &look);
		if (e->rewatch && e->watching)
			curl_multi_wakeup(e->watching);
	}
	pthread_mutex_unlock(&e->lock);
	free(look.members);
	free(look.inbox);
	if (!err)
		glock__etcd_gate_open(e, sent);
	return err;
}

int glock__etcd_join(struct etcd *e, struct glock__etcd_conn *c)
{
	char node[KEY_MAX], inbox[KEY_MAX], self[128];
	struct glock__text t = {0};
	uint64_t lease;
	json_t *answer = NULL;
	int err = grant_lease(c, &lease);

	if (err)
		return err;
	describe_self(self);
	glock__etcd_key(e, node, "n", lease);
	glock__etcd_key(e, inbox, "in", lease);
	glock__text_printf(&t, "{\"success\":[");
	add_put(&t, node, self, lease);
	glock__text_add(&t, ",", 1);
	add_put(&t, inbox, "", 0); /* stays when the node dies: the reaper removes it */
	glock__text_printf(&t, "]}");
	err = t.failed ? -ENOMEM : glock__etcd_ask(e, c, t.s, &answer);
	glock__text_free(&t);
	if (!err) {
		pthread_mutex_lock(&e->lock);
		e->id = lease;
		e->created = glock__json_number(json_object_get(answer, "header"), "revision");
		e->inbox_seen = e->created;
		e->inbox_version = 1;
		e->n_members = 0;
		e->rewatch = true;
		pthread_mutex_unlock(&e->lock);
	}
	json_decref(answer);
	return err ? err : confirm(e, c);
}

static void keep_lease(struct etcd *e, struct glock__etcd_conn *c)
{
	char body[64];
	json_t *answer;

	snprintf(body, sizeof(body), "{\"ID\":\"%" PRId64 "\"}", (int64_t)e->id);
	if (!glock__etcd_call(c, "/v3/lease/keepalive", body, CALL_MS, &answer))
		json_decref(answer);
}

/* ---- losing the node ---- */

static bool is_stopping(struct etcd *e)
{
	return e->stop || e->left;
}

static void say_lost(struct etcd *e, const struct glock__etcd_conn *c, int why)
{
	if (why == -ESTALE)
		glock__etcd_say(
		    e,
		    "space %s: this is another etcd, or an older state of it, than before "
		    "(%s; seen: cluster %016" PRIx64 ", revision %" PRId64
		    "), so all locks are lost, and tokens could repeat; restore a state "
		    "with a higher revision, or close the space in all processes",
		    e->name, c->why, __atomic_load_n(&e->cluster, __ATOMIC_RELAXED),
		    __atomic_load_n(&e->revision, __ATOMIC_RELAXED));
	else
		glock__etcd_say(
		    e,
		    "space %s: the key of this node is gone, because its lease of %d s ran "
		    "out or was revoked, so all locks are lost",
		    e->name, LEASE_S);
}

/* The other nodes take, or have taken, the locks. Joins again as a new node, without any lock. */
static void lose(struct etcd *e, struct glock__etcd_conn *c, int why)
{
	say_lost(e, c, why);
	__atomic_store_n(&e->deadline, 0, __ATOMIC_RELEASE);
	e->lm.events->lost(e->lm.owner);
	pthread_mutex_lock(&e->lock);
	__atomic_store_n(&e->lost, true, __ATOMIC_RELEASE);
	e->retire = true;
	glock__etcd_changed(e);
	while (!is_stopping(e) && e->retire)
		glock__etcd_sleep(e, 1000);
	while (!is_stopping(e)) {
		bool writes;
		int err = 0;

		pthread_mutex_unlock(&e->lock);
		writes = e->lm.events->writes(e->lm.owner);
		if (!writes)
			err = glock__etcd_join(e, c);
		pthread_mutex_lock(&e->lock);
		if (!writes && !err)
			break;
		glock__etcd_sleep(e, 100);
	}
	if (is_stopping(e)) {
		pthread_mutex_unlock(&e->lock);
		return;
	}
	e->n_dead = 0;
	__atomic_store_n(&e->lost, false, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&e->lock);
	glock__etcd_say(e, "space %s: this process has joined again", e->name);
	e->lm.events->back(e->lm.owner);
}

static void wait_for_turn(struct etcd *e, int ms)
{
	const int64_t until = glock__etcd_now() + ms * (int64_t)NS_PER_MS;
	int64_t left;

	while (!e->confirm && !is_stopping(e) && (left = until - glock__etcd_now()) > 0)
		glock__etcd_sleep(e, left / NS_PER_MS + 1);
}

void *glock__etcd_member(void *arg)
{
	struct etcd *e = arg;
	struct glock__etcd_conn c;
	int err = glock__etcd_connect(&c, &e->config, (unsigned int)e->id);

	if (err) {
		glock__etcd_say(e, "space %s: no memory for a connection to etcd", e->name);
		return NULL; /* the gate stays closed */
	}
	pthread_mutex_lock(&e->lock);
	while (!is_stopping(e)) {
		e->confirm = false;
		pthread_mutex_unlock(&e->lock);
		err = confirm(e, &c);
		if (err == -ENODEV || err == -ESTALE)
			lose(e, &c, err);
		else if (!err)
			keep_lease(e, &c);
		if (e->lm.events->control) /* there is no bell that readers could ring */
			e->lm.events->control(e->lm.owner);
		pthread_mutex_lock(&e->lock);
		wait_for_turn(e, err ? FAILED_MS : CONFIRM_MS);
	}
	pthread_mutex_unlock(&e->lock);
	glock__etcd_disconnect(&c);
	return NULL;
}

/* ---- for the program ---- */

size_t glock__etcd_nodes(struct glock__lockman *lm, struct glock__lm_node *out, size_t max)
{
	struct etcd *e = (struct etcd *)lm;
	size_t n;

	pthread_mutex_lock(&e->lock);
	n = e->n_members;
	for (size_t i = 0; i < n && i < max; i++) {
		const struct member *m = &e->members[i];

		out[i] = (struct glock__lm_node){
		    .id = m->id, .slot = (uint32_t)i, .self = m->id == e->id, .pid = m->pid};
		snprintf(out[i].name, sizeof(out[i].name), "%s", m->name);
	}
	pthread_mutex_unlock(&e->lock);
	return n;
}

size_t glock__etcd_peers(const struct etcd *e, const struct slot *s,
			 const struct glock__etcd_value *v, struct glock__lm_peer *out, size_t max)
{
	size_t n = 0;

	for (uint32_t i = 0; i < v->n && n < max; i++) {
		const struct glock__etcd_entry *entry = &v->entry[i];
		bool waits = entry->rq != GLOCK__IV && modes_agree(entry->gr, s->asked);
		const struct member *m = NULL;

		if (entry->id == e->id && entry->rq != GLOCK__IV)
			break; /* those behind are not in the way, unless they hold the lock */
		if (entry->id == e->id || (!waits && modes_agree(entry->gr, s->asked)))
			continue;
		for (uint32_t k = 0; k < e->n_members; k++)
			if (e->members[k].id == entry->id)
				m = &e->members[k];
		out[n] = (struct glock__lm_peer){.pid = m ? m->pid : 0,
						 .mode = waits ? entry->rq : entry->gr,
						 .waits = waits,
						 .dead = !m};
		snprintf(out[n].comm, sizeof(out[n].comm), "%.15s", m ? m->name : "?");
		n++;
	}
	return n;
}
