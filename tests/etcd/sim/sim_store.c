/* SPDX-License-Identifier: MIT */
/*
 * sim_store.c - the state of the simulated etcd: keys with revisions, and leases; see sim_store.h.
 */
#include "sim_store.h"

#include "lockman/etcd/etcd_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLUSTER = 0xc1, FOREIGN = 1 };

struct sim_etcd sim_etcd;
struct store store;

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

int store_compare(const void *a, size_t a_len, const void *b, size_t b_len)
{
	int c = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return c ? c : a_len < b_len ? -1 : a_len > b_len;
}

/* Returns the index of the key, or where it would be. */
size_t store_place(const struct state *s, const void *key, size_t len, bool *there)
{
	size_t i = 0;
	int c = 1;

	while (i < s->n && (c = store_compare(s->kv[i].key, s->kv[i].key_len, key, len)) < 0)
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
	if (store.past.n == store.past.room) {
		store.past.room = 2 * store.past.room + 64;
		store.past.kv = realloc(store.past.kv, store.past.room * sizeof(*store.past.kv));
		if (!store.past.kv)
			abort();
	}
	store.past.kv[store.past.n++] = kv_copy(kv);
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
		store_place(&store.now, key, strlen(key), &there);
		if (!there && (!was || was->seq != v.entry[i].seq))
			sim_fail("node %s asks for a lock, and its key is gone", key);
	}
}

void store_put(const void *key, size_t key_len, const void *value, size_t len, uint64_t lease)
{
	bool there;
	size_t i = store_place(&store.now, key, key_len, &there);
	struct kv *kv;

	if (!there) {
		if (store.now.n == store.now.room) {
			store.now.room = 2 * store.now.room + 64;
			store.now.kv =
			    realloc(store.now.kv, store.now.room * sizeof(*store.now.kv));
			if (!store.now.kv)
				abort();
		}
		memmove(&store.now.kv[i + 1], &store.now.kv[i], (store.now.n++ - i) * sizeof(*kv));
		store.now.kv[i] = (struct kv){
		    .key = copy_of(key, key_len), .key_len = key_len, .create = store.now.revision};
	}
	kv = &store.now.kv[i];
	check_lock(kv, value, len);
	free(kv->value);
	kv->value = copy_of(value, len);
	kv->len = len;
	kv->mod = store.now.revision;
	kv->version++;
	kv->lease = lease;
	remember(kv);
	say_lock(kv, store.asker);
}

void store_delete(size_t i)
{
	struct kv gone = store.now.kv[i];

	memmove(&store.now.kv[i], &store.now.kv[i + 1], (--store.now.n - i) * sizeof(gone));
	gone.mod = store.now.revision;
	gone.create = gone.version = 0;
	gone.len = 0;
	say_lock(&gone, store.asker);
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

struct lease *store_lease(uint64_t id)
{
	for (unsigned int i = 0; id && i < store.now.n_leases; i++)
		if (store.now.lease[i].id == id)
			return &store.now.lease[i];
	return NULL;
}

void store_end_lease(struct lease *l)
{
	uint64_t id = l->id;
	bool any = false;

	*l = store.now.lease[--store.now.n_leases];
	for (size_t i = store.now.n; i-- > 0;)
		if (store.now.kv[i].lease == id) {
			store.now.revision += !any;
			any = true;
			store_delete(i);
		}
	sim_say("etcd: lease %016lx ends, revision %ld", (unsigned long)id,
		(long)store.now.revision);
	sim_net_tell();
}

static void look_at_leases(void *arg)
{
	for (unsigned int i = store.now.n_leases; i-- > 0;)
		if (store.now.lease[i].ends <= sim.now && sim_etcd.no_quorum <= sim.now)
			store_end_lease(&store.now.lease[i]);
	sim_at(sim.now + sim_dice(700) * SIM_MS, look_at_leases, arg);
}

static void renew_all(void *arg)
{
	(void)arg;
	for (unsigned int i = 0; i < store.now.n_leases; i++)
		store.now.lease[i].ends = sim.now + store.now.lease[i].ttl;
}

void sim_store_end_lease(unsigned int which)
{
	if (store.now.n_leases)
		store_end_lease(&store.now.lease[which % store.now.n_leases]);
}

void store_grant_lease(struct sim_call *call, const json_t *ask)
{
	uint64_t id = (uint64_t)sim_dice(0x7fffffff) << 20 | (sim_dice(0xfffff) + 1);

	if (store.now.n_leases == LEASES) {
		call->status = 500;
		return;
	}
	store.now.lease[store.now.n_leases] =
	    (struct lease){.id = id, .ttl = glock__json_number(ask, "TTL") * 1000 * SIM_MS};
	store.now.lease[store.now.n_leases].ends =
	    sim.now + store.now.lease[store.now.n_leases].ttl;
	store.now.n_leases++;
	sim_etcd.raft_writes++;
	glock__text_printf(&call->reply, "{\"ID\":\"%ld\"}", (long)id);
}

/* ---- what happens to etcd ---- */

void sim_store_compact(void)
{
	size_t kept = 0;

	store.compacted = store.now.revision;
	for (size_t i = 0; i < store.past.n; i++)
		if (store.past.kv[i].mod < store.compacted)
			kv_free(&store.past.kv[i]);
		else
			store.past.kv[kept++] = store.past.kv[i];
	store.past.n = kept;
	sim_say("etcd: compacted at %ld", (long)store.compacted);
}

void sim_store_backup(void)
{
	state_copy(&store.backup, &store.now);
	sim_say("etcd: a backup of revision %ld", (long)store.backup.revision);
}

void sim_store_restore(bool other_cluster)
{
	if (!store.backup.revision)
		return;
	sim_say("etcd: revision %ld becomes %ld", (long)store.now.revision,
		(long)store.backup.revision);
	state_copy(&store.now, &store.backup);
	renew_all(NULL);
	for (size_t i = 0; i < store.past.n; i++)
		kv_free(&store.past.kv[i]);
	store.past.n = 0;
	store.compacted = store.now.revision;
	store.cluster += other_cluster;
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
	state_copy(&store.stale, &store.now);
	sim_etcd.stale[node] = until;
}

void sim_store_put(const void *key, size_t key_len, const void *value, size_t len)
{
	store.now.revision++;
	store_put(key, key_len, value, len, FOREIGN);
	sim_net_tell();
}

void sim_store_remove_foreign(void)
{
	store.now.revision++;
	for (size_t i = store.now.n; i-- > 0;)
		if (store.now.kv[i].lease == FOREIGN)
			store_delete(i);
}

unsigned int sim_store_count(const char *prefix)
{
	unsigned int n = 0;

	for (size_t i = 0; i < store.now.n; i++)
		n += store.now.kv[i].key_len >= strlen(prefix) &&
		     !memcmp(store.now.kv[i].key, prefix, strlen(prefix));
	return n;
}

void sim_store_print(void)
{
	for (size_t i = 0; i < store.now.n; i++)
		sim_say("etcd: key %.*s mod %ld, %zu bytes", (int)store.now.kv[i].key_len,
			(const char *)store.now.kv[i].key, (long)store.now.kv[i].mod,
			store.now.kv[i].len);
}

void sim_store_open(void)
{
	sim_etcd = (struct sim_etcd){0};
	store.now.revision = 1;
	store.compacted = 0;
	store.cluster = CLUSTER;
	store.token_made = 0;
	look_at_leases(NULL);
}

void sim_store_close(void)
{
	state_free(&store.now);
	state_free(&store.backup);
	state_free(&store.stale);
	for (size_t i = 0; i < store.past.n; i++)
		kv_free(&store.past.kv[i]);
	free(store.past.kv);
	store.past = (struct past){0};
}
