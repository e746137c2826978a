/* SPDX-License-Identifier: MIT */
/*
 * dlm_quorum.c - see dlm_quorum.h.
 *
 * A node that stood still, or whose link was cut, for longer than corosync's token may find the others
 * again before it has missed them: to itself it had quorum all the time, and dlm_controld, which is told
 * of members only as they are in the end, hears of nothing. The others have taken over its locks
 * meanwhile. corosync's lists of those who left and joined tell (QUORUM_MODEL_V1), as soon as
 * they see each other. They are lost where one more ring is formed before that one is complete; then
 * the numbers of the rings tell.
 */
#include "dlm_quorum.h"

#include <dlfcn.h>
#include <pthread.h>

/* The names and numbers are those of corosync/quorum.h. */
enum {
	CS_OK = 1,
	CS_TRACK_CURRENT = 1,
	CS_TRACK_CHANGES = 2,
	CS_DISPATCH_ALL = 2,
	QUORUM_MODEL_V1 = 1,
};

/* Each ring's number is so much more than that of the one before it (totemsrp.c). */
enum { RING_STEP = 4 };

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

static const char *const symbols[] = {
    "quorum_model_initialize", "quorum_finalize", "quorum_getquorate",  "quorum_fd_get",
    "quorum_trackstart",       "quorum_dispatch", "quorum_context_get",
};

static struct libquorum lib;
static bool lib_there;

static void load(void)
{
	void *handle = dlopen("libquorum.so.5", RTLD_NOW | RTLD_LOCAL);
	void **at = (void **)&lib;

	_Static_assert(sizeof(lib) == sizeof(symbols), "a symbol for each function");
	for (size_t i = 0; handle && i < sizeof(symbols) / sizeof(*symbols); i++) {
		at[i] = dlsym(handle, symbols[i]);
		if (!at[i]) {
			dlclose(handle);
			return;
		}
	}
	lib_there = handle != NULL;
}

/* ---- what it tells ---- */

static struct glock__quorum *whose(uint64_t handle)
{
	const void *context = NULL;

	return lib.context_get(handle, &context) == CS_OK ? (struct glock__quorum *)context : NULL;
}

static void quorum_told(uint64_t handle, uint32_t quorate, struct quorum_ring_id ring,
			uint32_t n_members, const uint32_t *members)
{
	struct glock__quorum *q = whose(handle);

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

bool glock__quorum_missed_a_ring(uint64_t before, uint64_t now)
{
	return before && now >= before + 3 * RING_STEP;
}

static void nodes_told(uint64_t handle, struct quorum_ring_id ring, uint32_t n_members,
		       const uint32_t *members, uint32_t n_joined, const uint32_t *joined,
		       uint32_t n_left, const uint32_t *left)
{
	struct glock__quorum *q = whose(handle);
	size_t n_new = in_both(members, n_members, joined, n_joined);

	if (!q)
		return;
	if (glock__quorum_is_apart(n_members, n_new, n_left,
				   in_both(members, n_members, left, n_left)) ||
	    (!n_joined && !n_left && glock__quorum_missed_a_ring(q->ring, ring.seq)))
		q->apart = true;
	q->ring = ring.seq;
}

/* ---- the connection ---- */

static void connect(struct glock__quorum *q)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct quorum_model_v1_data calls = {QUORUM_MODEL_V1, quorum_told, nodes_told};
	uint32_t type;

	pthread_once(&once, load);
	q->fd = -1;
	q->there = lib_there &&
		   lib.model_initialize(&q->handle, QUORUM_MODEL_V1, &calls, &type, q) == CS_OK;
	if (q->there && (lib.trackstart(q->handle, CS_TRACK_CURRENT | CS_TRACK_CHANGES) != CS_OK ||
			 lib.fd_get(q->handle, &q->fd) != CS_OK))
		q->fd = -1;
}

void glock__quorum_open(struct glock__quorum *q)
{
	*q = (struct glock__quorum){.fd = -1};
	connect(q);
}

void glock__quorum_close(struct glock__quorum *q)
{
	if (q->there)
		lib.finalize(q->handle);
	*q = (struct glock__quorum){.fd = -1};
}

bool glock__quorum_there(struct glock__quorum *q)
{
	int quorate = 0;
	bool lost;

	if (!q->there)
		connect(q);
	if (!q->there)
		return true; /* corosync does not talk to us: dlm_controld ends with it */
	if (q->fd >= 0)
		lib.dispatch(q->handle, CS_DISPATCH_ALL);
	lost = q->lost;
	q->lost = false;
	if (lib.getquorate(q->handle, &quorate) == CS_OK)
		return quorate && !lost;
	glock__quorum_close(q);
	return !lost;
}

bool glock__quorum_apart(struct glock__quorum *q)
{
	bool apart = q->apart;

	q->apart = false;
	return apart;
}
