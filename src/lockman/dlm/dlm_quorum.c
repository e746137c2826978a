/* SPDX-License-Identifier: MIT */
/*
 * dlm_quorum.c - see dlm_quorum.h.
 *
 * A node may stand still, or its link may be cut, for longer than corosync's token. It may find the
 * others again before it has missed them. To itself it had quorum all the time. dlm_controld hears
 * of nothing, because corosync tells it only the members at the end. The others have taken over the
 * node's locks meanwhile.
 *
 * corosync's lists of nodes that left and joined tell of this (QUORUM_MODEL_V1), as soon as the
 * nodes see each other. The lists are lost if one more ring is formed before that one is complete.
 * Then the next ring's lists are empty. In that case corosync's counts of joins tell (dlm_joins.c).
 * They are looked at after members were told.
 */
#include "dlm_quorum.h"

#include <pthread.h>
#include <string.h>

/* These are the names and numbers of corosync/quorum.h. */
enum {
	CS_OK = 1,
	CS_TRACK_CHANGES = 2,
	CS_DISPATCH_ALL = 2,
	QUORUM_MODEL_V1 = 1,
};

struct quorum_ring_id {
	uint32_t nodeid;
	uint64_t seq;
};

struct quorum_model_v1_data {
	int model;
	void (*quorum_notify_fn)(uint64_t handle, uint32_t quorate, struct quorum_ring_id ring,
				 uint32_t n_members, const uint32_t *members);
	void (*nodelist_notify_fn)(uint64_t handle, struct quorum_ring_id ring, uint32_t n_members,
				   const uint32_t *members, uint32_t n_joined,
				   const uint32_t *joined, uint32_t n_left, const uint32_t *left);
};

struct libquorum {
	int (*model_initialize)(uint64_t *handle, int model, void *data, uint32_t *type,
				void *context);
	int (*finalize)(uint64_t handle);
	int (*getquorate)(uint64_t handle, int *quorate);
	int (*fd_get)(uint64_t handle, int *fd);
	int (*trackstart)(uint64_t handle, unsigned int flags);
	int (*dispatch)(uint64_t handle, int types);
	int (*context_get)(uint64_t handle, const void **context);
};

static struct libquorum lib;
static bool lib_there;

static void load_libquorum(void)
{
	static const char *const names[] = {
	    "quorum_model_initialize", "quorum_finalize", "quorum_getquorate",  "quorum_fd_get",
	    "quorum_trackstart",       "quorum_dispatch", "quorum_context_get",
	};

	_Static_assert(sizeof(lib) == sizeof(names), "each function has a name");
	lib_there = glock__load("libquorum.so.5", names, sizeof(names) / sizeof(*names), &lib);
}

/* ---- corosync's callbacks ---- */

static struct glock__quorum *quorum_of(uint64_t handle)
{
	const void *context = NULL;

	return lib.context_get(handle, &context) == CS_OK ? (struct glock__quorum *)context : NULL;
}

static void quorum_told(uint64_t handle, uint32_t quorate, struct quorum_ring_id ring,
			uint32_t n_members, const uint32_t *members)
{
	struct glock__quorum *q = quorum_of(handle);

	(void)ring, (void)n_members, (void)members;
	if (q && !quorate)
		q->lost = true;
}

static size_t in_both(const uint32_t *a, uint32_t n_a, const uint32_t *b, uint32_t n_b)
{
	size_t n = 0;

	for (uint32_t i = 0; i < n_a; i++)
		for (uint32_t k = 0; k < n_b; k++)
			n += a[i] == b[k];
	return n;
}

bool glock__quorum_is_apart(size_t members, size_t joined, size_t left, size_t both)
{
	size_t stayed = members - joined;

	return both && 2 * stayed <= stayed + left;
}

static void nodes_told(uint64_t handle, struct quorum_ring_id ring, uint32_t n_members,
		       const uint32_t *members, uint32_t n_joined, const uint32_t *joined,
		       uint32_t n_left, const uint32_t *left)
{
	struct glock__quorum *q = quorum_of(handle);
	size_t n_new = in_both(members, n_members, joined, n_joined);
	size_t n_back = in_both(members, n_members, left, n_left);

	(void)ring;
	if (!q)
		return;
	if (glock__quorum_is_apart(n_members, n_new, n_left, n_back))
		q->apart = true;
	glock__joins_told(&q->joins, joined, n_joined);
	q->look = n_members <= GLOCK__JOINS_NODES;
	q->n_members = q->look ? n_members : 0;
	memcpy(q->members, members, q->n_members * sizeof(*members));
}

static void look_at_joins(struct glock__quorum *q)
{
	struct glock__joins_change change;

	if (!q->look || !glock__joins_look(&q->joins, q->members, q->n_members, &change))
		return;
	q->look = false;
	if (glock__quorum_is_apart(q->n_members, change.joined, change.left, change.both))
		q->apart = true;
}

/* ---- the connection ---- */

static void connect(struct glock__quorum *q)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct quorum_model_v1_data calls = {QUORUM_MODEL_V1, quorum_told, nodes_told};
	uint32_t type;

	pthread_once(&once, load_libquorum);
	q->fd = -1;
	if (!lib_there ||
	    lib.model_initialize(&q->handle, QUORUM_MODEL_V1, &calls, &type, q) != CS_OK)
		return;
	if (lib.trackstart(q->handle, CS_TRACK_CHANGES) != CS_OK ||
	    lib.fd_get(q->handle, &q->fd) != CS_OK) {
		q->fd = -1;
		lib.finalize(q->handle);
		return;
	}
	q->there = true;
}

static void disconnect(struct glock__quorum *q)
{
	if (!q->there)
		return;
	glock__joins_close(&q->joins);
	lib.finalize(q->handle);
	q->there = q->look = false;
	q->fd = -1;
}

void glock__quorum_open(struct glock__quorum *q)
{
	*q = (struct glock__quorum){.fd = -1};
	connect(q);
}

void glock__quorum_close(struct glock__quorum *q)
{
	disconnect(q);
	*q = (struct glock__quorum){.fd = -1};
}

bool glock__quorum_there(struct glock__quorum *q)
{
	int quorate = 0;
	bool lost;

	if (!q->there)
		connect(q);
	if (!q->there)
		return true; /* corosync does not answer, but dlm_controld ends with corosync */
	lib.dispatch(q->handle, CS_DISPATCH_ALL);
	look_at_joins(q);
	lost = q->lost;
	q->lost = false;
	if (lib.getquorate(q->handle, &quorate) == CS_OK)
		return quorate && !lost;
	disconnect(q); /* keeps what was told until then */
	return !lost;
}

bool glock__quorum_apart(struct glock__quorum *q)
{
	bool apart = q->apart;

	q->apart = false;
	return apart;
}
