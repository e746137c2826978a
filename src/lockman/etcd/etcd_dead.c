/* SPDX-License-Identifier: MIT */
/*
 * etcd_dead.c - nodes that died: see rule 3 of etcd_impl.h.
 *
 * A node key that is gone never comes back, because etcd gives no lease number twice. If the inbox
 * is gone, too, the node left in order, and has no lock. A node in a lock's value that is no member
 * either joined after the last look, or died before. The next look decides.
 *
 * Each node may take over locks of the dead in the keys that it changes anyway. The reaper, on the
 * node with the lowest id, looks at all other keys, and removes the inbox of the dead at the end.
 */
#include "etcd_impl.h"

#include <errno.h>
#include <stdlib.h>

enum { NS_PER_MS = 1000000, TRIES = 20, KEPT = 1024, REAPED = 64 };

/* ---- who is dead ---- */

static struct dead *find_dead(struct etcd *e, uint64_t id)
{
	for (uint32_t i = 0; i < e->n_dead; i++)
		if (e->dead[i].id == id)
			return &e->dead[i];
	return NULL;
}

static const struct member *find_member(const struct member *m, uint32_t n, uint64_t id)
{
	for (uint32_t i = 0; i < n; i++)
		if (m[i].id == id)
			return &m[i];
	return NULL;
}

static bool has_inbox(const struct look *look, uint64_t id)
{
	for (uint32_t i = 0; i < look->n_inboxes; i++)
		if (look->inbox[i] == id)
			return true;
	return false;
}

/* Forgets one that has no lock any more. If it is found again, its locks wait once more. */
static void forget_dead(struct etcd *e)
{
	uint32_t i = 0;

	while (i < e->n_dead && (!e->dead[i].ripe || e->dead[i].inbox || e->dead[i].report))
		i++;
	if (i == e->n_dead)
		return;
	e->n_dead--;
	memmove(&e->dead[i], &e->dead[i + 1], (e->n_dead - i) * sizeof(e->dead[0]));
}

/* Returns NULL without memory. */
static struct dead *add_dead(struct etcd *e, uint64_t id, const struct member *was)
{
	struct dead *d = find_dead(e, id);

	if (d)
		return d;
	if (e->n_dead >= KEPT)
		forget_dead(e);
	if (e->n_dead == e->room_dead) {
		uint32_t room = 2 * e->room_dead + 16;

		d = realloc(e->dead, room * sizeof(*d));
		if (!d)
			return NULL;
		e->dead = d;
		e->room_dead = room;
	}
	d = &e->dead[e->n_dead++];
	*d = (struct dead){.id = id, .since = glock__etcd_now()};
	if (was)
		snprintf(d->name, sizeof(d->name), "%s", was->name);
	return d;
}

/* A look that was sent before the suspicion tells nothing of the suspect. */
static bool compare_suspects(struct etcd *e, const struct look *now)
{
	for (uint32_t i = 0; i < now->n_suspects; i++)
		if (!find_member(now->members, now->n_members, e->suspects[i]) &&
		    !add_dead(e, e->suspects[i], NULL))
			return false;
	e->n_suspects -= now->n_suspects;
	memmove(e->suspects, &e->suspects[now->n_suspects], e->n_suspects * sizeof(e->suspects[0]));
	return true;
}

int glock__etcd_compare(struct etcd *e, struct look *now, bool first)
{
	for (uint32_t i = 0; !first && i < e->n_members; i++) {
		const struct member *m = &e->members[i];
		struct dead *d;

		if (find_member(now->members, now->n_members, m->id) || !has_inbox(now, m->id))
			continue;
		d = add_dead(e, m->id, m);
		if (!d)
			return -ENOMEM;
		d->report = e->o.recovers;
	}
	for (uint32_t i = 0; i < now->n_inboxes; i++)
		if (!find_member(now->members, now->n_members, now->inbox[i]) &&
		    !add_dead(e, now->inbox[i], NULL))
			return -ENOMEM;
	if (!compare_suspects(e, now))
		return -ENOMEM;
	for (uint32_t i = 0; i < e->n_dead; i++)
		e->dead[i].inbox = has_inbox(now, e->dead[i].id);
	free(e->members);
	e->members = now->members;
	e->n_members = now->n_members;
	now->members = NULL;
	return 0;
}

void glock__etcd_suspect(struct etcd *e, uint64_t id)
{
	bool known;

	pthread_mutex_lock(&e->lock);
	known = find_member(e->members, e->n_members, id) || find_dead(e, id);
	for (uint32_t i = 0; !known && i < e->n_suspects; i++)
		known = e->suspects[i] == id;
	if (!known && e->n_suspects < GLOCK__ETCD_ENTRIES) {
		e->suspects[e->n_suspects++] = id;
		e->confirm = true;
		glock__etcd_changed(e);
	}
	pthread_mutex_unlock(&e->lock);
}

bool glock__etcd_is_ripe(void *arg, uint64_t id)
{
	struct etcd *e = arg;
	const struct dead *d;
	bool ripe;

	if (id == e->id)
		return false;
	pthread_mutex_lock(&e->lock);
	d = find_dead(e, id);
	ripe = d && d->ripe;
	pthread_mutex_unlock(&e->lock);
	return ripe;
}

void glock__etcd_ripen(struct etcd *e)
{
	const int64_t before = glock__etcd_now() - (int64_t)REAP_MS * NS_PER_MS;

	for (uint32_t i = 0; i < e->n_dead; i++) {
		struct dead *d = &e->dead[i];

		if (!d->ripe && d->since < before) {
			d->ripe = true;
			e->kick = true;
		}
		/* Members stand in the order of their ids. */
		if (d->ripe && d->inbox && e->n_members && e->members[0].id == e->id)
			e->reap = true;
	}
	if (e->kick || e->reap)
		glock__etcd_changed(e);
}

/* ---- recover ---- */

static struct dead *next_report(struct etcd *e)
{
	for (uint32_t i = 0; i < e->n_dead; i++)
		if (e->dead[i].report)
			return &e->dead[i];
	return NULL;
}

/* Grants wait from before the first death is told until each recover has returned. */
static void *run_recover(void *arg)
{
	struct etcd *e = arg;
	struct dead *d;

	pthread_mutex_lock(&e->lock);
	while ((d = next_report(e)) && !e->left) {
		struct glock__lm_node node = {.id = d->id};

		d->report = false;
		snprintf(node.name, sizeof(node.name), "%s", d->name);
		pthread_mutex_unlock(&e->lock);
		e->lm.events->recover(e->lm.owner, &node);
		pthread_mutex_lock(&e->lock);
	}
	e->recovering = false;
	e->lm.events->thaw(e->lm.owner);
	glock__etcd_changed(e);
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

void glock__etcd_join_recovery(struct etcd *e)
{
	if (e->have_recovery)
		pthread_join(e->recovery, NULL);
	e->have_recovery = false;
}

/* If no thread starts, grants wait until a later look starts one. */
void glock__etcd_recover(struct etcd *e)
{
	if (!next_report(e) || e->recovering || e->left)
		return;
	e->lm.events->block(e->lm.owner);
	glock__etcd_join_recovery(e); /* it has ended */
	e->recovering = !pthread_create(&e->recovery, NULL, run_recover, e);
	e->have_recovery = e->recovering;
	if (!e->recovering)
		glock__etcd_say(e,
				"space %s: a node died, and no thread could be started to recover; "
				"grants wait until one starts",
				e->name);
}

/* ---- the reaper ---- */

/* Returns the lock of a key, false if it is no lock's key. */
static bool lock_of_key(const struct etcd *e, const unsigned char *key, size_t n, struct slot *s)
{
	char text[KEY_MAX];
	size_t base = strlen(e->base);
	int end = 0;

	if (n >= sizeof(text) || n <= base)
		return false;
	memcpy(text, key, n);
	text[n] = '\0';
	return sscanf(text + base, "l/%x/%" SCNx64 "%n", &s->type, &s->number, &end) == 2 &&
	       !text[base + (size_t)end];
}

static bool has_ripe(struct etcd *e, const struct slot *s)
{
	struct glock__etcd_value v;

	if (glock__etcd_unpack(&v, s->known, s->known_len))
		return false;
	for (uint32_t i = 0; i < v.n; i++) {
		if (v.entry[i].id != e->id)
			glock__etcd_suspect(e, v.entry[i].id);
		if (glock__etcd_is_ripe(e, v.entry[i].id))
			return true;
	}
	return false;
}

/*
 * Removes the dead from the locks of these slots. The operation is of no node, so that this node
 * hears by its inbox of a grant, too.
 */
static int reap_slots(struct etcd *e, struct glock__etcd_conn *c, struct job *jobs, struct slot *s,
		      unsigned int n)
{
	unsigned int done = 0, now;
	int64_t revision;
	int err, tries = 0;

	while (done < n) {
		unsigned int m = n - done < BATCH ? n - done : BATCH;

		for (unsigned int i = 0; i < m; i++) {
			jobs[i] = (struct job){.s = &s[done + i],
					       .op = {.kind = GLOCK__ETCD_LOOK,
						      .dead = glock__etcd_is_ripe,
						      .arg = e}};
			glock__etcd_operate(&jobs[i]);
		}
		now = glock__etcd_together(jobs, m);
		err = glock__etcd_commit(e, c, jobs, now, &revision);
		if (err && (err != -EAGAIN || ++tries > TRIES))
			return err;
		done += err ? 0 : now;
	}
	return 0;
}

int glock__etcd_page(struct etcd *e, struct glock__etcd_conn *c, struct glock__text *from,
		     void (*take)(void *arg, struct slot *s), void *arg)
{
	struct glock__text t = {0};
	char end[KEY_MAX];
	json_t *answer = NULL;
	const json_t *kvs, *kv;
	int err = -ENOMEM, keys = 0;
	size_t i;

	snprintf(end, sizeof(end), "%sl0", e->base);
	glock__text_printf(&t, "{\"success\":[{\"request_range\":{\"limit\":\"%d\",", PAGE);
	glock__text_bytes(&t, "key", from->s, from->n);
	glock__text_add(&t, ",", 1);
	glock__text_bytes(&t, "range_end", end, strlen(end));
	glock__text_printf(&t, "}}]}");
	if (!t.failed)
		err = glock__etcd_ask(e, c, t.s, &answer);
	kvs =
	    json_object_get(json_object_get(json_array_get(json_object_get(answer, "responses"), 0),
					    "response_range"),
			    "kvs");
	json_array_foreach(kvs, i, kv)
	{
		struct slot s = {0};
		size_t len;
		unsigned char *key = glock__json_bytes(kv, "key", &len);

		keys++;
		from->n = 0;
		if (key)
			glock__text_add(from, (const char *)key, len);
		glock__text_add(from, "", 1); /* the key behind it: with one byte more, a zero */
		if (key && lock_of_key(e, key, len, &s)) {
			s.known = glock__json_bytes(kv, "value", &s.known_len);
			s.revision = glock__json_number(kv, "mod_revision");
			if (s.known)
				take(arg, &s);
		}
		free(key);
	}
	glock__text_free(&t);
	json_decref(answer);
	return err ? err : keys;
}

/* The locks of a page that the dead have. */
struct page {
	struct etcd *e;
	unsigned int n;
	struct slot s[PAGE];
};

static void keep_ripe(void *arg, struct slot *s)
{
	struct page *page = arg;

	if (has_ripe(page->e, s))
		page->s[page->n++] = *s;
	else
		free(s->known);
}

/* Takes one page of locks. Returns as glock__etcd_page(). */
static int reap_page(struct etcd *e, struct glock__etcd_conn *c, struct job *jobs,
		     struct glock__text *from)
{
	struct page *page = calloc(1, sizeof(*page));
	int keys = -ENOMEM, err = 0;

	if (page) {
		page->e = e;
		keys = glock__etcd_page(e, c, from, keep_ripe, page);
		err = reap_slots(e, c, jobs, page->s, page->n);
		while (page->n)
			free(page->s[--page->n].known);
	}
	free(page);
	return err ? err : keys;
}

static void remove_inbox(struct etcd *e, struct glock__etcd_conn *c, uint64_t id)
{
	struct glock__text t = {0};
	char key[KEY_MAX];
	json_t *answer;

	glock__etcd_key(e, key, "in", id);
	glock__text_printf(&t, "{\"success\":[{\"request_delete_range\":{");
	glock__text_bytes(&t, "key", key, strlen(key));
	glock__text_printf(&t, "}}]}");
	if (!t.failed && !glock__etcd_ask(e, c, t.s, &answer))
		json_decref(answer);
	glock__text_free(&t);
}

/* Looks at all locks. Deaths that get ripe meanwhile have another turn. */
static void reap(struct etcd *e, struct glock__etcd_conn *c, struct job *jobs)
{
	uint64_t dead[REAPED];
	uint32_t n = 0;
	struct glock__text from = {0};
	int keys;

	pthread_mutex_lock(&e->lock);
	e->reap = false;
	for (uint32_t i = 0; i < e->n_dead && n < REAPED; i++) /* the rest has another turn */
		if (e->dead[i].ripe && e->dead[i].inbox)
			dead[n++] = e->dead[i].id;
	pthread_mutex_unlock(&e->lock);
	glock__text_printf(&from, "%sl/", e->base);
	do
		keys = reap_page(e, c, jobs, &from);
	while (keys == PAGE && !from.failed);
	glock__text_free(&from);
	for (uint32_t i = 0; keys >= 0 && keys < PAGE && i < n; i++)
		remove_inbox(e, c, dead[i]);
}

void *glock__etcd_reaper(void *arg)
{
	struct etcd *e = arg;
	struct job *jobs = calloc(BATCH, sizeof(*jobs));
	struct glock__etcd_conn c;
	int err = jobs ? glock__etcd_connect(&c, &e->config, (unsigned int)e->id) : -ENOMEM;

	pthread_mutex_lock(&e->lock);
	while (!err && !e->stop) {
		if (!e->reap || e->lost || e->left) {
			glock__etcd_sleep(e, 1000);
			continue;
		}
		pthread_mutex_unlock(&e->lock);
		reap(e, &c, jobs);
		pthread_mutex_lock(&e->lock);
	}
	pthread_mutex_unlock(&e->lock);
	if (err)
		glock__etcd_say(e, "space %s: no memory to take over locks of the dead", e->name);
	else
		glock__etcd_disconnect(&c);
	free(jobs);
	return NULL;
}
