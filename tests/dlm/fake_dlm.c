/* SPDX-License-Identifier: MIT */
/*
 * fake_dlm.c - a DLM without a kernel: dlm_dev.h and dlm_cluster.h on a lock table in this process.
 *
 * Each opener of a lockspace is a node of its own, so several spaces of one program are a cluster.
 * The users of this DLM see the behaviour of the device:
 *
 * - A request that can be decided immediately is decided before the call returns. Its reply can
 *   then
 *   be read, and a polling thread wakes.
 * - The death of a lock's first writer is reported only if this writer wrote a value block before.
 *   The kernel has the same rule.
 * - The cluster is well, unless the test says otherwise.
 */
#include "fake_dlm.h"
#include "lockman/dlm/dlm_cluster.h"
#include "lockman/dlm/dlm_dev.h"

#include <stdio.h>

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { NODES = 8, CELLS = 4096, RESULTS = 4096 };

struct node {
	bool there;
	int fd; /* readable: there may be results that no thread has read */
	unsigned int first, n;
	struct glock__dlm_result result[RESULTS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct glock__table *table;
static struct node nodes[NODES];
static _Thread_local unsigned int calls;
static int (*before_mark)(void *arg);
static void *before_mark_arg;
static struct glock__cluster_nodes cluster;
static enum glock__cluster_state cluster_state;

const char *const glock__cluster_states[] = {"fine",  "stopped",   "no quorum",
					     "apart", "no daemon", "no lockspace"};

unsigned int glock__fake_dlm_calls(void)
{
	return calls;
}

void glock__fake_dlm_before_mark(int (*fn)(void *arg), void *arg)
{
	pthread_mutex_lock(&lock);
	before_mark = fn;
	before_mark_arg = arg;
	pthread_mutex_unlock(&lock);
}

void glock__fake_dlm_members(const uint32_t *ids, size_t n)
{
	assert(n <= GLOCK__CLUSTER_NODES);
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n; i++)
		cluster.id[i] = ids[i];
	cluster.n = n;
	pthread_mutex_unlock(&lock);
}

void glock__fake_dlm_state(enum glock__cluster_state state)
{
	pthread_mutex_lock(&lock);
	cluster_state = state;
	pthread_mutex_unlock(&lock);
}

/* ---- results; under the lock ---- */

static struct glock__dlm_result *result_for(struct node *node)
{
	uint64_t one = 1;

	assert(node->n < RESULTS);
	while (write(node->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	return &node->result[(node->first + node->n++) % RESULTS];
}

static void told(struct node *node, const struct glock__table_event *ev)
{
	if (ev->what & GLOCK__EVENT_AST && ev->status != -EINPROGRESS) {
		struct glock__dlm_result *r = result_for(node);

		*r = (struct glock__dlm_result){.tag = ev->cookie,
						.status = ev->status,
						.lkid = (uint32_t)ev->lkid,
						.sbflags = ev->sbflags & ~GLOCK__SBF_OWNER_DIED,
						.has_lvb = ev->what & GLOCK__EVENT_LVB};
		if (r->has_lvb && !ev->lvb_seq) /* no value block to mark */
			r->sbflags &= ~GLOCK__SBF_VALNOTVALID;
		if (r->has_lvb)
			memcpy(r->lvb, ev->lvb, sizeof(r->lvb));
	}
	if (ev->what & GLOCK__EVENT_BAST)
		*result_for(node) = (struct glock__dlm_result){
		    .tag = ev->cookie, .bast = true, .mode = ev->bast, .lkid = (uint32_t)ev->lkid};
}

/* Delivers the events that an operation causes for other locks. */
static void tell_all(void)
{
	struct glock__table_event ev;
	int n;

	while ((n = glock__table_wake(table)) >= 0) {
		glock__table_woken(table);
		while (glock__table_take(table, (uint32_t)n, &ev) > 0)
			told(&nodes[n], &ev);
	}
}

/* ---- dlm_dev.h ---- */

static void make_table(void)
{
	const struct glock__table_params params = {
	    .nodes = NODES, .buckets = 64, .flags = GLOCK__TABLE_UNLOCK_ANY};
	size_t size = glock__table_size(&params, CELLS);
	void *mem = aligned_alloc(64, (size + 63) / 64 * 64);

	if (!mem || glock__table_init(mem, size, &params))
		abort();
	table = glock__table_attach(mem, size);
}

int glock__dlm_open(struct glock__dlm_dev *dev, const char *name,
		    void (*waits)(void *arg, const char *why), void *arg, char *why, size_t size)
{
	struct node *node = NULL;

	(void)waits, (void)arg;
	pthread_mutex_lock(&lock);
	if (!table)
		make_table();
	for (int i = 0; !node && i < NODES; i++)
		node = nodes[i].there ? NULL : &nodes[i];
	if (node) {
		node->there = true;
		node->n = 0;
		node->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	}
	pthread_mutex_unlock(&lock);
	if (!node || node->fd < 0) {
		snprintf(why, size, "no more nodes");
		return -ENOSPC;
	}
	*dev = (struct glock__dlm_dev){.ls = node, .fd = node->fd};
	snprintf(dev->name, sizeof(dev->name), "%s", name);
	return 0;
}

int glock__dlm_open_again(struct glock__dlm_dev *dev)
{
	char name[sizeof(dev->name)], why[64];

	memcpy(name, dev->name, sizeof(name));
	return glock__dlm_open(dev, name, NULL, NULL, why, sizeof(why));
}

void glock__dlm_close(struct glock__dlm_dev *dev, bool release)
{
	struct node *node = dev->ls;

	(void)release;
	if (!node)
		return;
	pthread_mutex_lock(&lock);
	while (glock__table_purge(table, (uint32_t)(node - nodes), 64) > 0)
		;
	close(node->fd);
	node->there = false;
	tell_all();
	pthread_mutex_unlock(&lock);
	dev->ls = NULL;
	dev->fd = -1;
}

int glock__dlm_remove(const char *name, char *why, size_t size)
{
	snprintf(why, size, "%s: in use", name);
	return -EBUSY;
}

/* Runs the function that a test set for the moment before a conversion from EX to EX. */
static int let_happen(const struct glock__dlm_call *call)
{
	int (*fn)(void *arg);
	void *arg;

	if (call->mode != GLOCK__EX || call->flags != (GLOCK__LKF_CONVERT | GLOCK__LKF_VALBLK))
		return 0;
	pthread_mutex_lock(&lock);
	fn = before_mark;
	arg = before_mark_arg;
	before_mark = NULL;
	pthread_mutex_unlock(&lock);
	return fn ? fn(arg) : 0;
}

int64_t glock__dlm_lock(struct glock__dlm_dev *dev, const struct glock__dlm_call *call)
{
	struct node *node = dev->ls;
	struct glock__table_request r = {.node = (uint32_t)(node - nodes),
					 .mode = call->mode,
					 .flags = call->flags,
					 .name = call->name,
					 .namelen = call->namelen,
					 .cookie = call->tag,
					 .no_bast = call->no_bast,
					 .lvb = call->lvb};
	struct glock__table_event ev;
	int err;

	calls++;
	err = let_happen(call);
	if (err)
		return err;
	pthread_mutex_lock(&lock);
	if (call->flags & GLOCK__LKF_CONVERT)
		r.lkid = glock__table_lkid(table, call->lkid);
	err = glock__table_lock(table, &r, &ev);
	if (!err) {
		told(node, &ev);
		tell_all();
	}
	pthread_mutex_unlock(&lock);
	return err ? err : (int64_t)(uint32_t)ev.lkid;
}

int glock__dlm_unlock(struct glock__dlm_dev *dev, const struct glock__dlm_call *call)
{
	struct glock__table_event ev;
	int err;

	calls++;
	pthread_mutex_lock(&lock);
	err = glock__table_unlock(table, glock__table_lkid(table, call->lkid), call->flags,
				  call->lvb, &ev);
	if (!err) {
		if (ev.status) /* or there was nothing to cancel */
			told(dev->ls, &ev);
		tell_all();
	}
	pthread_mutex_unlock(&lock);
	return err;
}

int glock__dlm_read(struct glock__dlm_dev *dev, struct glock__dlm_result *result)
{
	struct node *node = dev->ls;
	uint64_t n;
	int got;

	calls++;
	pthread_mutex_lock(&lock);
	got = node->n != 0;
	if (got) {
		*result = node->result[node->first];
		node->first = (node->first + 1) % RESULTS;
		node->n--;
	}
	if (!node->n)
		while (read(node->fd, &n, sizeof(n)) < 0 && errno == EINTR)
			;
	pthread_mutex_unlock(&lock);
	return got;
}

/* ---- dlm_cluster.h ---- */

void glock__cluster_open(struct glock__cluster *c)
{
	*c = (struct glock__cluster){.daemon = -1, .quorum.fd = -1};
}

void glock__cluster_close(struct glock__cluster *c)
{
	(void)c;
}

enum glock__cluster_state glock__cluster_look(struct glock__cluster *c, const char *lockspace)
{
	enum glock__cluster_state state;

	(void)c;
	(void)lockspace;
	pthread_mutex_lock(&lock);
	state = cluster_state;
	pthread_mutex_unlock(&lock);
	return state;
}

bool glock__cluster_runs(const char *lockspace)
{
	return glock__cluster_look(NULL, lockspace) == GLOCK__CLUSTER_FINE;
}

void glock__cluster_name(char *name, size_t size)
{
	snprintf(name, size, "fake");
}

bool glock__cluster_members(const char *lockspace, struct glock__cluster_nodes *members)
{
	bool known;

	(void)lockspace;
	pthread_mutex_lock(&lock);
	known = cluster.n;
	if (known)
		*members = cluster;
	pthread_mutex_unlock(&lock);
	return known;
}

uint32_t glock__dlm_own_node(void)
{
	return 1;
}

void glock__dlm_node_name(uint32_t id, char *name, size_t size)
{
	snprintf(name, size, "machine%u", (unsigned int)id);
}

bool glock__cluster_has(const struct glock__cluster_nodes *members, uint32_t id)
{
	for (size_t i = 0; i < members->n; i++)
		if (members->id[i] == id)
			return true;
	return false;
}

int glock__cluster_release(const char *lockspace)
{
	(void)lockspace;
	return 0;
}

void glock__cluster_tidy(const char *lockspace)
{
	(void)lockspace;
}
