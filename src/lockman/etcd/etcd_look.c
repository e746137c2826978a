/* SPDX-License-Identifier: MIT */
/*
 * etcd_look.c - what the keys of etcd tell of nodes and locks, for programs that join no space.
 *
 * The nodes of a space are read first, and then its locks in pages. So a lock may have a newer user
 * than the list of nodes. The look tells of such a node as of a dead one.
 */
#include "etcd_impl.h"

#include <errno.h>
#include <stdlib.h>

struct look_on {
	struct etcd *e;
	struct look nodes;
	void (*tell)(void *arg, const struct glock__etcd_part *part);
	void *arg;
};

static void tell_of(const struct look_on *l, uint64_t id, struct glock__etcd_part part)
{
	part.space = l->e->name;
	part.node = id;
	for (uint32_t i = 0; i < l->nodes.n_members; i++) {
		const struct member *m = &l->nodes.members[i];

		if (m->id == id && sscanf(m->name, "%63s %15[^\n]", part.host, part.command) > 0)
			part.pid = m->pid;
	}
	l->tell(l->arg, &part);
}

static void take_lock(void *arg, struct slot *s)
{
	const struct look_on *l = arg;
	struct glock__etcd_value v;
	char key[KEY_MAX];
	const char *damage = glock__etcd_unpack(&v, s->known, s->known_len);

	free(s->known);
	glock__etcd_lock_key(l->e, key, s->type, s->number);
	if (damage)
		glock__etcd_say(l->e, "space %s: the key %s has a value that is no lock (%s)",
				l->e->name, key, damage);
	for (uint32_t i = 0; i < v.n; i++)
		tell_of(l, v.entry[i].id,
			(struct glock__etcd_part){.is_lock = true,
						  .type = s->type,
						  .number = s->number,
						  .granted = v.entry[i].gr,
						  .wanted = v.entry[i].rq});
}

static void take_none(void *arg, struct slot *s)
{
	(void)arg;
	free(s->known);
}

/* Tells of the nodes, and of those that died and whose inbox is there. */
static int look_at_nodes(struct look_on *l, struct glock__etcd_conn *c)
{
	int64_t created;
	unsigned int tries = 0;
	int err;

	do {
		free(l->nodes.members);
		free(l->nodes.inbox);
		l->nodes = (struct look){0};
		err = glock__etcd_look_at_nodes(l->e, c, &l->nodes, &created);
	} while (glock__etcd_again(c, err, &tries));
	return err;
}

static bool lives(const struct look *nodes, uint64_t id)
{
	for (uint32_t i = 0; i < nodes->n_members; i++)
		if (nodes->members[i].id == id)
			return true;
	return false;
}

/* Reads the locks. Returns how many keys there are, at most those of `pages` pages. */
static int look_at_locks(struct etcd *e, struct glock__etcd_conn *c, int pages,
			 void (*take)(void *arg, struct slot *s), void *arg)
{
	struct glock__text from = {0};
	int keys = PAGE, all = 0;

	glock__text_printf(&from, "%sl/", e->base);
	while (pages-- && keys == PAGE && !from.failed) {
		unsigned int tries = 0;

		do
			keys = glock__etcd_page(e, c, &from, take, arg);
		while (glock__etcd_again(c, keys, &tries));
		all = keys < 0 ? keys : all + keys;
	}
	glock__text_free(&from);
	return all;
}

static int look_at_space(struct look_on *l, struct glock__etcd_conn *c)
{
	const struct glock__etcd_part node = {.is_lock = false};
	int err = look_at_nodes(l, c);

	for (uint32_t i = 0; !err && i < l->nodes.n_members; i++)
		tell_of(l, l->nodes.members[i].id, node);
	for (uint32_t i = 0; !err && i < l->nodes.n_inboxes; i++)
		if (!lives(&l->nodes, l->nodes.inbox[i]))
			tell_of(l, l->nodes.inbox[i], node);
	if (!err)
		err = look_at_locks(l->e, c, INT32_MAX, take_lock, l);
	return err < 0 ? err : 0;
}

/* Reads the first key from `from` on. Returns -ENOENT at the end. */
static int first_key(struct etcd *e, struct glock__etcd_conn *c, const struct glock__text *from,
		     unsigned char **key, size_t *n)
{
	struct glock__text t = {0};
	json_t *answer = NULL;
	unsigned int tries = 0;
	char end[KEY_MAX];
	int err;

	snprintf(end, sizeof(end), "%s0", e->config.prefix); /* '0' follows the slash */
	glock__text_printf(&t, "{\"keys_only\":true,\"limit\":\"1\",");
	glock__text_bytes(&t, "key", from->s, from->n);
	glock__text_add(&t, ",", 1);
	glock__text_bytes(&t, "range_end", end, strlen(end));
	glock__text_add(&t, "}", 1);
	do
		err = t.failed || from->failed
			  ? -ENOMEM
			  : glock__etcd_call(c, "/v3/kv/range", t.s, CALL_MS, &answer);
	while (glock__etcd_again(c, err, &tries));
	glock__text_free(&t);
	*key = err ? NULL
		   : glock__json_bytes(json_array_get(json_object_get(answer, "kvs"), 0), "key", n);
	json_decref(answer);
	if (err || (*key && *n))
		return err;
	free(*key);
	return -ENOENT;
}

/* Takes the name of a space from its part of a key. Returns false if it has another form. */
static bool take_name(struct etcd *e, const unsigned char *key, size_t n)
{
	size_t to = 0;

	for (size_t i = strlen(e->config.prefix) + 1; i < n; i++) {
		unsigned int byte = key[i];

		if (byte == '%' && i + 2 < n &&
		    sscanf((const char *)&key[i + 1], "%2x", &byte) == 1)
			i += 2;
		if (!byte || to == sizeof(e->name) - 1)
			return false;
		e->name[to++] = (char)byte;
	}
	e->name[to] = '\0';
	return to && !glock__etcd_make_base(e) && strlen(e->base) == n + 1 &&
	       !memcmp(e->base, key, n);
}

/* Takes the next space, whose keys begin at `from` or later. Returns -ENOENT at the end. */
static int next_space(struct etcd *e, struct glock__etcd_conn *c, struct glock__text *from)
{
	const size_t prefix = strlen(e->config.prefix) + 1;
	bool is_space;

	do {
		unsigned char *key, *slash;
		size_t n;
		int err = first_key(e, c, from, &key, &n);

		if (err)
			return err;
		slash = n > prefix ? memchr(key + prefix, '/', n - prefix) : NULL;
		is_space = slash && take_name(e, key, (size_t)(slash - key));
		from->n = 0;
		glock__text_add(from, (const char *)key, slash ? (size_t)(slash - key) : n);
		glock__text_add(from, "0", 1);
		free(key);
	} while (!is_space);
	return 0;
}

static void say_failed(const struct etcd *e, const struct glock__etcd_conn *c)
{
	glock__etcd_say(e,
			"etcd does not answer (%s); etcd is looked for as GLOCK_ETCD or "
			"ETCDCTL_ENDPOINTS says",
			c->why);
}

/* Ends a look, whose error it tells unless a command has words for it. Returns the error. */
static int end_look(struct look_on *l, struct glock__etcd_conn *c, int err)
{
	if (err && err != -EBUSY && err != -ENOENT)
		say_failed(l->e, c);
	glock__etcd_disconnect(c);
	free(l->nodes.members);
	free(l->nodes.inbox);
	glock__etcd_free(&l->e->lm);
	return err;
}

__attribute__((visibility("default"))) int
glock__etcd_look_from_outside(const struct glock__etcd_options *o,
			      void (*tell)(void *arg, const struct glock__etcd_part *part),
			      void *arg)
{
	struct look_on l = {.tell = tell, .arg = arg};
	struct glock__text from = {0};
	struct glock__etcd_conn c;
	int err = glock__etcd_prepare_space(o, &l.e);

	if (err)
		return err;
	err = glock__etcd_connect(&c, &l.e->config, (unsigned int)getpid());
	glock__text_printf(&from, "%s/", l.e->config.prefix);
	if (!err && *o->name)
		err = look_at_space(&l, &c);
	else
		while (!err && !(err = next_space(l.e, &c, &from)))
			err = look_at_space(&l, &c);
	glock__text_free(&from);
	return end_look(&l, &c, err == -ENOENT ? 0 : err);
}

/* ---- removing a space ---- */

static void add_range(struct glock__text *t, const struct etcd *e, const char *from,
		      const char *end)
{
	char key[KEY_MAX];
	int n = snprintf(key, sizeof(key), "%s%s", e->base, from);

	glock__text_bytes(t, "key", key, (size_t)n);
	n = snprintf(key, sizeof(key), "%s%s", e->base, end);
	glock__text_add(t, ",", 1);
	glock__text_bytes(t, "range_end", key, (size_t)n);
}

/* Removes all keys, unless a node has come, or an inbox was changed after that revision. */
static int remove_keys(struct etcd *e, struct glock__etcd_conn *c, int64_t seen)
{
	struct glock__text t = {0};
	unsigned int tries = 0;
	json_t *answer = NULL;
	int err;

	glock__text_printf(&t, "{\"compare\":[{\"target\":\"CREATE\",\"result\":\"EQUAL\","
			       "\"create_revision\":\"0\",");
	add_range(&t, e, "n/", "n0");
	glock__text_printf(
	    &t, "},{\"target\":\"MOD\",\"result\":\"LESS\",\"mod_revision\":\"%" PRId64 "\",",
	    seen + 1);
	add_range(&t, e, "in/", "in0");
	glock__text_printf(&t, "}],\"success\":[{\"request_delete_range\":{");
	add_range(&t, e, "", "~");
	glock__text_printf(&t, "}}]}");
	do
		err = t.failed ? -ENOMEM : glock__etcd_ask(e, c, t.s, &answer);
	while (glock__etcd_again(c, err, &tries));
	if (!err && !json_is_true(json_object_get(answer, "succeeded")))
		err = -EBUSY;
	glock__text_free(&t);
	json_decref(answer);
	return err;
}

__attribute__((visibility("default"))) int
glock__etcd_remove_space(const struct glock__etcd_options *o)
{
	struct look_on l = {0};
	struct glock__etcd_conn c;
	int err = glock__etcd_prepare_space(o, &l.e), locks = 0;

	if (err)
		return err;
	err = glock__etcd_connect(&c, &l.e->config, (unsigned int)getpid());
	if (!err)
		err = look_at_nodes(&l, &c);
	if (!err)
		err = locks = look_at_locks(l.e, &c, 1, take_none, NULL);
	if (err >= 0)
		err = l.nodes.n_members ? -EBUSY : !locks && !l.nodes.n_inboxes ? -ENOENT : 0;
	if (!err && l.nodes.n_inboxes) /* rule 3 of etcd_impl.h */
		usleep(REAP_MS * 1000);
	if (!err)
		err = remove_keys(l.e, &c, l.e->revision);
	return end_look(&l, &c, err);
}
