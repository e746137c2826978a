/* SPDX-License-Identifier: MIT */
/*
 * sim_store.c - the simulated etcd: keys with revisions, leases, and answers in JSON; see sim.h.
 *
 * All members serve one state, as through a quorum. A member that was cut off serves an older one,
 * to reads that ask for no quorum. It answers keep-alives, and nothing else.
 */
#include "sim.h"

#include "lockman/etcd/etcd_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEASES = 256, CLUSTER = 0xc1, TOKEN_MS = 4000, OPS_MAX = 128, FOREIGN = 1 };

struct kv {
	unsigned char *key, *value;
	size_t key_len, len;
	int64_t create, mod, version; /* version 0: the key was deleted */
	uint64_t lease;
};

struct lease {
	uint64_t id;
	int64_t ttl, ends;
};

struct state {
	struct kv *kv; /* in the order of their keys */
	size_t n, room;
	int64_t revision;
	struct lease lease[LEASES];
	unsigned int n_leases;
};

/* A change, for watches. */
struct past {
	struct kv *kv;
	size_t n, room;
};

struct sim_etcd sim_etcd;
static struct state now, backup, stale;
static struct past past;
static int64_t compacted;
static uint64_t cluster;
static int64_t token_made;

/* ---- keys ---- */

static void *copy_of(const void *bytes, size_t n)
{
	void *copy = malloc(n + 1);

	if (!copy)
		abort();
	if (n)
		memcpy(copy, bytes, n);
	return copy;
}

static int compare_keys(const void *a, size_t a_len, const void *b, size_t b_len)
{
	int c = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return c ? c : a_len < b_len ? -1 : a_len > b_len;
}

/* Returns the index of the key, or where it would be. */
static size_t place_of(const struct state *s, const void *key, size_t len, bool *there)
{
	size_t i = 0;
	int c = 1;

	while (i < s->n && (c = compare_keys(s->kv[i].key, s->kv[i].key_len, key, len)) < 0)
		i++;
	*there = i < s->n && c == 0;
	return i;
}

static void kv_free(struct kv *kv)
{
	free(kv->key);
	free(kv->value);
}

static struct kv kv_copy(const struct kv *kv)
{
	struct kv copy = *kv;

	copy.key = copy_of(kv->key, kv->key_len);
	copy.value = copy_of(kv->value, kv->len);
	return copy;
}

static void remember(const struct kv *kv)
{
	if (past.n == past.room) {
		past.room = 2 * past.room + 64;
		past.kv = realloc(past.kv, past.room * sizeof(*past.kv));
		if (!past.kv)
			abort();
	}
	past.kv[past.n++] = kv_copy(kv);
}

/* Prints a lock's value. */
static void say_lock(const struct kv *kv, unsigned int node)
{
	struct glock__etcd_value v;
	char text[512] = "";
	size_t n = 0;

	if (!sim.verbose || !memmem(kv->key, kv->key_len, "/l/", 3))
		return;
	glock__etcd_unpack(&v, kv->value, kv->version ? kv->len : 0);
	for (uint32_t i = 0; i < v.n && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %lx/%u:%d>%d",
				      (unsigned long)v.entry[i].id, v.entry[i].seq, v.entry[i].gr,
				      v.entry[i].rq);
	sim_say("etcd: lock %c mod %ld by node %u:%s", kv->key[kv->key_len - 1], (long)kv->mod,
		node, text);
}

/* Rule 1 of etcd_impl.h: no node whose key is gone makes a request. */
static void check_lock(const struct kv *old, const void *value, size_t len)
{
	struct glock__etcd_value before, v;
	char key[64];
	bool there;

	if (!memmem(old->key, old->key_len, "/l/", 3) || glock__etcd_unpack(&v, value, len))
		return;
	glock__etcd_unpack(&before, old->value, old->len);
	for (uint32_t i = 0; i < v.n; i++) {
		const struct glock__etcd_entry *was = glock__etcd_find(&before, v.entry[i].id);

		snprintf(key, sizeof(key), "/glock/sim/n/%016lx", (unsigned long)v.entry[i].id);
		place_of(&now, key, strlen(key), &there);
		if (!there && (!was || was->seq != v.entry[i].seq))
			sim_fail("node %s asks for a lock, and its key is gone", key);
	}
}

static unsigned int asker;

static void put(const void *key, size_t key_len, const void *value, size_t len, uint64_t lease)
{
	bool there;
	size_t i = place_of(&now, key, key_len, &there);
	struct kv *kv;

	if (!there) {
		if (now.n == now.room) {
			now.room = 2 * now.room + 64;
			now.kv = realloc(now.kv, now.room * sizeof(*now.kv));
			if (!now.kv)
				abort();
		}
		memmove(&now.kv[i + 1], &now.kv[i], (now.n++ - i) * sizeof(*kv));
		now.kv[i] = (struct kv){
		    .key = copy_of(key, key_len), .key_len = key_len, .create = now.revision};
	}
	kv = &now.kv[i];
	check_lock(kv, value, len);
	free(kv->value);
	kv->value = copy_of(value, len);
	kv->len = len;
	kv->mod = now.revision;
	kv->version++;
	kv->lease = lease;
	remember(kv);
	say_lock(kv, asker);
}

static void delete (size_t i)
{
	struct kv gone = now.kv[i];

	memmove(&now.kv[i], &now.kv[i + 1], (--now.n - i) * sizeof(gone));
	gone.mod = now.revision;
	gone.create = gone.version = 0;
	gone.len = 0;
	say_lock(&gone, asker);
	remember(&gone);
	kv_free(&gone);
}

static void state_free(struct state *s)
{
	for (size_t i = 0; i < s->n; i++)
		kv_free(&s->kv[i]);
	free(s->kv);
	*s = (struct state){0};
}

static void state_copy(struct state *to, const struct state *from)
{
	state_free(to);
	*to = *from;
	to->kv = copy_of(from->kv, from->room * sizeof(*to->kv));
	for (size_t i = 0; i < to->n; i++)
		to->kv[i] = kv_copy(&from->kv[i]);
}

/* ---- leases ---- */

static struct lease *lease_of(uint64_t id)
{
	for (unsigned int i = 0; id && i < now.n_leases; i++)
		if (now.lease[i].id == id)
			return &now.lease[i];
	return NULL;
}

static void end_lease(struct lease *l)
{
	uint64_t id = l->id;
	bool any = false;

	*l = now.lease[--now.n_leases];
	for (size_t i = now.n; i-- > 0;)
		if (now.kv[i].lease == id) {
			now.revision += !any;
			any = true;
			delete (i);
		}
	sim_say("etcd: lease %016lx ends, revision %ld", (unsigned long)id, (long)now.revision);
	sim_net_tell();
}

static void look_at_leases(void *arg)
{
	for (unsigned int i = now.n_leases; i-- > 0;)
		if (now.lease[i].ends <= sim.now && sim_etcd.no_quorum <= sim.now)
			end_lease(&now.lease[i]);
	sim_at(sim.now + sim_dice(700) * SIM_MS, look_at_leases, arg);
}

static void renew_all(void *arg)
{
	(void)arg;
	for (unsigned int i = 0; i < now.n_leases; i++)
		now.lease[i].ends = sim.now + now.lease[i].ttl;
}

void sim_store_end_lease(unsigned int which)
{
	if (now.n_leases)
		end_lease(&now.lease[which % now.n_leases]);
}

static void grant_lease(struct sim_call *call, const json_t *ask)
{
	uint64_t id = (uint64_t)sim_dice(0x7fffffff) << 20 | (sim_dice(0xfffff) + 1);

	if (now.n_leases == LEASES) {
		call->status = 500;
		return;
	}
	now.lease[now.n_leases] =
	    (struct lease){.id = id, .ttl = glock__json_number(ask, "TTL") * 1000 * SIM_MS};
	now.lease[now.n_leases].ends = sim.now + now.lease[now.n_leases].ttl;
	now.n_leases++;
	sim_etcd.raft_writes++;
	glock__text_printf(&call->reply, "{\"ID\":\"%ld\"}", (long)id);
}

/* ---- answers ---- */

static void fail(struct sim_call *call, long status, const char *why)
{
	call->status = status;
	call->reply.n = 0;
	glock__text_printf(&call->reply, "{\"error\":\"%s\",\"message\":\"%s\"}", why, why);
}

static void add_header(struct glock__text *t, int64_t revision)
{
	glock__text_printf(t,
			   "\"header\":{\"cluster_id\":\"%lu\",\"member_id\":\"1\",\"revision\":"
			   "\"%ld\",\"raft_term\":\"2\"}",
			   (unsigned long)cluster, (long)revision);
}

static void add_number(struct glock__text *t, const char *name, int64_t number)
{
	if (number)
		glock__text_printf(t, ",\"%s\":\"%ld\"", name, (long)number);
}

static void add_kv(struct glock__text *t, const struct kv *kv, bool keys_only)
{
	glock__text_printf(t, "{");
	glock__text_bytes(t, "key", kv->key, kv->key_len);
	add_number(t, "create_revision", kv->create);
	add_number(t, "mod_revision", kv->mod);
	add_number(t, "version", kv->version);
	if (!keys_only && kv->len) {
		glock__text_printf(t, ",");
		glock__text_bytes(t, "value", kv->value, kv->len);
	}
	add_number(t, "lease", (int64_t)kv->lease);
	glock__text_printf(t, "}");
}

struct keys {
	unsigned char *key, *end;
	size_t key_len, end_len;
};

static struct keys keys_of(const json_t *op)
{
	struct keys k;

	k.key = glock__json_bytes(op, "key", &k.key_len);
	k.end = glock__json_bytes(op, "range_end", &k.end_len);
	return k;
}

static void keys_free(struct keys *k)
{
	free(k->key);
	free(k->end);
}

static bool is_within(const struct keys *k, const void *key, size_t len)
{
	if (!k->end_len)
		return !compare_keys(k->key, k->key_len, key, len);
	return compare_keys(key, len, k->key, k->key_len) >= 0 &&
	       compare_keys(key, len, k->end, k->end_len) < 0;
}

static void add_range(struct glock__text *t, const struct state *s, const json_t *op)
{
	struct keys k = keys_of(op);
	int64_t limit = glock__json_number(op, "limit"), n = 0;

	glock__text_printf(t, "{\"response_range\":{");
	add_header(t, s->revision);
	for (size_t i = 0; i < s->n && (!limit || n < limit); i++) {
		if (!is_within(&k, s->kv[i].key, s->kv[i].key_len))
			continue;
		glock__text_printf(t, n++ ? "," : ",\"kvs\":[");
		add_kv(t, &s->kv[i], json_is_true(json_object_get(op, "keys_only")));
	}
	glock__text_printf(t, n ? "]}}" : "}}");
	keys_free(&k);
}

static bool holds(const struct state *s, const json_t *compare)
{
	struct keys k = keys_of(compare);
	bool there,
	    create = !strcmp(json_string_value(json_object_get(compare, "target")), "CREATE");
	size_t i = place_of(s, k.key, k.key_len, &there);
	int64_t is = !there ? 0 : create ? s->kv[i].create : s->kv[i].mod;

	keys_free(&k);
	return is == glock__json_number(compare, create ? "create_revision" : "mod_revision");
}

/* Returns what etcd says of operations that it refuses, or NULL. */
static const char *refusal(const json_t *ops, bool *writes, bool *puts, bool *quorum)
{
	const json_t *op;
	size_t i, k;

	if (json_array_size(ops) > OPS_MAX)
		return "etcdserver: too many operations in txn request";
	json_array_foreach(ops, i, op)
	{
		const json_t *put_op = json_object_get(op, "request_put"), *range;
		const char *key = json_string_value(json_object_get(put_op, "key"));

		range = json_object_get(op, "request_range");
		*quorum |= !range || !json_is_true(json_object_get(range, "serializable"));
		*writes |= !range;
		*puts |= put_op != NULL;
		for (k = 0; put_op && k < i; k++) {
			const char *other = json_string_value(json_object_get(
			    json_object_get(json_array_get(ops, k), "request_put"), "key"));

			if (other && !strcmp(other, key))
				return "etcdserver: duplicate key given in txn request";
		}
		if (put_op && glock__json_number(put_op, "lease") &&
		    !lease_of((uint64_t)glock__json_number(put_op, "lease")))
			return "etcdserver: requested lease not found";
	}
	return NULL;
}

static bool change(const json_t *op, bool *any)
{
	const json_t *put_op = json_object_get(op, "request_put");
	struct keys k = keys_of(put_op ? put_op : json_object_get(op, "request_delete_range"));
	size_t len;
	unsigned char *value = glock__json_bytes(put_op, "value", &len);

	if (put_op) {
		now.revision += !*any;
		*any = true;
		put(k.key, k.key_len, value, len, (uint64_t)glock__json_number(put_op, "lease"));
	}
	for (size_t i = now.n; !put_op && i-- > 0;)
		if (is_within(&k, now.kv[i].key, now.kv[i].key_len)) {
			now.revision += !*any;
			*any = true;
			delete (i);
		}
	free(value);
	keys_free(&k);
	return put_op;
}

static void answer(struct sim_call *call, const struct state *s, const json_t *ask)
{
	const json_t *op, *ops;
	struct glock__text t = {0};
	bool ok = true, any = false;
	size_t i;

	json_array_foreach(json_object_get(ask, "compare"), i, op) ok = ok && holds(s, op);
	ops = json_object_get(ask, ok ? "success" : "failure");
	glock__text_printf(&t, ok ? ",\"succeeded\":true,\"responses\":[" : ",\"responses\":[");
	json_array_foreach(ops, i, op)
	{
		const json_t *range = json_object_get(op, "request_range");

		glock__text_printf(&t, i ? "," : "");
		if (range)
			add_range(&t, s, range);
		else
			glock__text_printf(&t, change(op, &any) ? "{\"response_put\":{}}"
								: "{\"response_delete_range\":{}}");
	}
	glock__text_printf(&t, "]}");
	glock__text_printf(&call->reply, "{");
	add_header(&call->reply, s->revision);
	glock__text_add(&call->reply, t.s, t.n);
	glock__text_free(&t);
	if (any)
		sim_net_tell();
}

static void txn(struct sim_call *call, const json_t *ask, const struct state *s)
{
	bool writes = false, puts = false, quorum = false;
	const char *no = refusal(json_object_get(ask, "success"), &writes, &puts, &quorum);

	if (!no)
		no = refusal(json_object_get(ask, "failure"), &writes, &puts, &quorum);
	if (no) {
		if (!strstr(no, "lease")) /* it ended meanwhile */
			sim_fail("etcd refuses a transaction: %s", no);
		fail(call, 400, no);
	} else if (s == &stale && quorum) {
		call->status = 0;
	} else if (puts && sim_etcd.full > sim.now) {
		fail(call, 429, "etcdserver: mvcc: database space exceeded");
	} else {
		sim_etcd.raft_writes += writes;
		answer(call, s, ask);
	}
}

/* ---- requests ---- */

static bool has_token(const struct sim_call *call)
{
	return call->token && token_made && sim.now - token_made < TOKEN_MS * SIM_MS &&
	       strtoll(call->token, NULL, 10) == token_made;
}

static void serve(struct sim_call *call, const json_t *ask, bool cut_off)
{
	struct lease *l = lease_of((uint64_t)glock__json_number(ask, "ID"));

	asker = call->node;
	call->status = 200;
	if (!strcmp(call->path, "/v3/auth/authenticate")) {
		if (!token_made || sim.now - token_made > TOKEN_MS * SIM_MS / 2)
			token_made = sim.now;
		glock__text_printf(&call->reply, "{\"token\":\"%ld\"}", (long)token_made);
	} else if (sim_etcd.auth && !has_token(call)) {
		if (!call->token)
			fail(call, 400, "etcdserver: user name is empty");
		else
			fail(call, 401, "etcdserver: invalid auth token");
	} else if (!strcmp(call->path, "/v3/kv/txn")) {
		txn(call, ask, cut_off ? &stale : &now);
	} else if (!strcmp(call->path, "/v3/lease/keepalive")) {
		if (l && !cut_off)
			l->ends = sim.now + l->ttl;
		glock__text_printf(&call->reply, "{\"result\":{\"TTL\":\"5\"}}");
	} else if (cut_off) {
		call->status = 0;
	} else if (!strcmp(call->path, "/v3/lease/grant")) {
		grant_lease(call, ask);
	} else if (!strcmp(call->path, "/v3/lease/revoke") && l) {
		end_lease(l);
		glock__text_printf(&call->reply, "{}");
	} else {
		fail(call, 404, "etcdserver: requested lease not found");
	}
}

/* Served at last, when the sender has given up. */
static void serve_late(void *arg)
{
	struct sim_call *call = arg;

	if (sim_etcd.no_quorum <= sim.now)
		sim_store_serve(call);
}

void sim_store_serve(struct sim_call *call)
{
	bool cut_off = sim_etcd.stale[call->node] > sim.now;
	json_t *ask;

	if (sim_etcd.no_quorum > sim.now && strcmp(call->path, "/v3/lease/keepalive") != 0 &&
	    strcmp(call->path, "/v3/auth/authenticate") != 0) {
		if (!strcmp(call->path, "/v3/kv/txn") && sim_chance(2))
			sim_at(sim_etcd.no_quorum + sim_dice(300) * SIM_MS, serve_late, call);
		return;
	}
	ask = json_loads(call->body, 0, NULL);
	if (!json_is_object(ask))
		sim_fail("a request is no JSON: %.200s", call->body);
	else
		serve(call, ask, cut_off);
	json_decref(ask);
}

/* ---- watches ---- */

bool sim_store_events(struct sim_watch *w, unsigned int id, bool lossy, struct glock__text *t)
{
	const struct keys k = {w->key, w->end, w->key_len, w->end_len};
	unsigned int n = 0;

	if (!w->key)
		return false;
	glock__text_printf(t, "{\"result\":{");
	add_header(t, now.revision);
	if (id)
		glock__text_printf(t, ",\"watch_id\":\"%u\"", id);
	if (w->from < compacted) {
		glock__text_printf(t, ",\"canceled\":true,\"compact_revision\":\"%ld\"}}\n",
				   (long)compacted);
		w->from = SIM_NEVER;
		return true;
	}
	for (size_t i = 0; i < past.n; i++) {
		const struct kv *kv = &past.kv[i];

		/* Issues of etcd say that events of deletions may get lost around a compaction. */
		if (kv->mod < w->from || !is_within(&k, kv->key, kv->key_len) ||
		    (lossy && !kv->version && sim_chance(3)))
			continue;
		glock__text_printf(t, n++ ? ",{" : ",\"events\":[{");
		glock__text_printf(t, kv->version ? "\"kv\":" : "\"type\":\"DELETE\",\"kv\":");
		add_kv(t, kv, false);
		glock__text_printf(t, "}");
	}
	glock__text_printf(t, "]}}\n");
	if (w->from <= now.revision)
		w->from = now.revision + 1;
	return n;
}

/* ---- what happens to etcd ---- */

void sim_store_compact(void)
{
	size_t kept = 0;

	compacted = now.revision;
	for (size_t i = 0; i < past.n; i++)
		if (past.kv[i].mod < compacted)
			kv_free(&past.kv[i]);
		else
			past.kv[kept++] = past.kv[i];
	past.n = kept;
	sim_say("etcd: compacted at %ld", (long)compacted);
}

void sim_store_backup(void)
{
	state_copy(&backup, &now);
	sim_say("etcd: a backup of revision %ld", (long)backup.revision);
}

void sim_store_restore(bool other_cluster)
{
	if (!backup.revision)
		return;
	sim_say("etcd: revision %ld becomes %ld", (long)now.revision, (long)backup.revision);
	state_copy(&now, &backup);
	renew_all(NULL);
	for (size_t i = 0; i < past.n; i++)
		kv_free(&past.kv[i]);
	past.n = 0;
	compacted = now.revision;
	cluster += other_cluster;
	for (unsigned int i = 0; i < SIM_MEMBERS; i++)
		sim_net_member_down(i, sim.now + 100 * SIM_MS);
	sim_nodes_restored();
}

void sim_store_no_quorum(int64_t until)
{
	sim_etcd.no_quorum = until;
	sim_at(until, renew_all, NULL); /* the next leader begins so */
}

void sim_store_cut_off(unsigned int node, int64_t until)
{
	state_copy(&stale, &now);
	sim_etcd.stale[node] = until;
}

void sim_store_put(const void *key, size_t key_len, const void *value, size_t len)
{
	now.revision++;
	put(key, key_len, value, len, FOREIGN);
	sim_net_tell();
}

void sim_store_remove_foreign(void)
{
	now.revision++;
	for (size_t i = now.n; i-- > 0;)
		if (now.kv[i].lease == FOREIGN)
			delete (i);
}

unsigned int sim_store_count(const char *prefix)
{
	unsigned int n = 0;

	for (size_t i = 0; i < now.n; i++)
		n += now.kv[i].key_len >= strlen(prefix) &&
		     !memcmp(now.kv[i].key, prefix, strlen(prefix));
	return n;
}

void sim_store_print(void)
{
	for (size_t i = 0; i < now.n; i++)
		sim_say("etcd: key %.*s mod %ld, %zu bytes", (int)now.kv[i].key_len,
			(const char *)now.kv[i].key, (long)now.kv[i].mod, now.kv[i].len);
}

void sim_store_open(void)
{
	sim_etcd = (struct sim_etcd){0};
	now.revision = 1;
	compacted = 0;
	cluster = CLUSTER;
	token_made = 0;
	look_at_leases(NULL);
}

void sim_store_close(void)
{
	state_free(&now);
	state_free(&backup);
	state_free(&stale);
	for (size_t i = 0; i < past.n; i++)
		kv_free(&past.kv[i]);
	free(past.kv);
	past = (struct past){0};
}
