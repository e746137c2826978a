/* SPDX-License-Identifier: MIT */
/* sim_answer.c - the answers of the simulated etcd, in JSON, and the events of its watches. */
#include "sim_store.h"

#include <stdlib.h>
#include <string.h>

enum { TOKEN_MS = 4000, OPS_MAX = 128 };

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
			   (unsigned long)store.cluster, (long)revision);
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
		return !store_compare(k->key, k->key_len, key, len);
	return store_compare(key, len, k->key, k->key_len) >= 0 &&
	       store_compare(key, len, k->end, k->end_len) < 0;
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
	size_t i = store_place(s, k.key, k.key_len, &there);
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
		    !store_lease((uint64_t)glock__json_number(put_op, "lease")))
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
		store.now.revision += !*any;
		*any = true;
		store_put(k.key, k.key_len, value, len,
			  (uint64_t)glock__json_number(put_op, "lease"));
	}
	for (size_t i = store.now.n; !put_op && i-- > 0;)
		if (is_within(&k, store.now.kv[i].key, store.now.kv[i].key_len)) {
			store.now.revision += !*any;
			*any = true;
			store_delete(i);
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
	} else if (s == &store.stale && quorum) {
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
	return call->token && store.token_made && sim.now - store.token_made < TOKEN_MS * SIM_MS &&
	       strtoll(call->token, NULL, 10) == store.token_made;
}

static void serve(struct sim_call *call, const json_t *ask, bool cut_off)
{
	struct lease *l = store_lease((uint64_t)glock__json_number(ask, "ID"));

	store.asker = call->node;
	call->status = 200;
	if (!strcmp(call->path, "/v3/auth/authenticate")) {
		if (!store.token_made || sim.now - store.token_made > TOKEN_MS * SIM_MS / 2)
			store.token_made = sim.now;
		glock__text_printf(&call->reply, "{\"token\":\"%ld\"}", (long)store.token_made);
	} else if (sim_etcd.auth && !has_token(call)) {
		if (!call->token)
			fail(call, 400, "etcdserver: user name is empty");
		else
			fail(call, 401, "etcdserver: invalid auth token");
	} else if (!strcmp(call->path, "/v3/kv/txn")) {
		txn(call, ask, cut_off ? &store.stale : &store.now);
	} else if (!strcmp(call->path, "/v3/lease/keepalive")) {
		if (l && !cut_off)
			l->ends = sim.now + l->ttl;
		glock__text_printf(&call->reply, "{\"result\":{\"TTL\":\"5\"}}");
	} else if (cut_off) {
		call->status = 0;
	} else if (!strcmp(call->path, "/v3/lease/grant")) {
		store_grant_lease(call, ask);
	} else if (!strcmp(call->path, "/v3/lease/revoke") && l) {
		store_end_lease(l);
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
	add_header(t, store.now.revision);
	if (id)
		glock__text_printf(t, ",\"watch_id\":\"%u\"", id);
	if (w->from < store.compacted) {
		glock__text_printf(t, ",\"canceled\":true,\"compact_revision\":\"%ld\"}}\n",
				   (long)store.compacted);
		w->from = SIM_NEVER;
		return true;
	}
	for (size_t i = 0; i < store.past.n; i++) {
		const struct kv *kv = &store.past.kv[i];

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
	if (w->from <= store.now.revision)
		w->from = store.now.revision + 1;
	return n;
}
