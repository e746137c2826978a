/* SPDX-License-Identifier: MIT */
/*
 * glock-choose.h - chooses one of several equal glocks, such as the groups of a block allocator.
 *
 * glock.h is the manual of the library, and explains its words. The functions below make no request
 * and change no lock. examples/allocator.c is a program with them.
 */
#ifndef GLOCK_CHOOSE_H
#define GLOCK_CHOOSE_H

#include <glock.h>

#ifdef __cplusplus
/* A struct and a function have the same name, as in stat(2). */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
extern "C" {
#endif

#pragma GCC visibility push(default)

#define GLOCK_CHOOSE_TRY 0x1u /* for glock_choose(): the request will have TRY */

/*
 * Returns the index of the glock that a request in this mode gets soonest, of n glocks that serve
 * equally well. The order:
 *   1. A glock that is cached and free on this node, and not slow. The last answer to this thread
 *      comes first. The use time of a slow glock, less half of the deviation, is more than 2.5
 *      times the shortest known one.
 *   2. The glock with the least sum of expected wait and use time. The wait has its deviation
 *      added. Each failed request since the last grant doubles the wait, up to 64 times. So does
 *      each request of this node that waits for the lock manager. An unknown time counts as short.
 *   3. The glock with fewer holders and waiters on this node.
 *
 * With TRY a glock that this node holds or has asked for is left out. So is a glock that refused a
 * try in the last second. Each further refusal doubles that time, up to 8 s.
 *
 * Some answers are for learning. With TRY the glock has an unknown use time, or is slow. That
 * happens once a second, and more often while few use times are known. Without TRY it is a glock of
 * another node, if the glocks of this node are slow or have waiters. An allocator:
 *
 *	do {
 *		i = glock_choose(n, groups, GLOCK_EX, GLOCK_CHOOSE_TRY);
 *		flags = i == -EAGAIN ? 0 : GLOCK_TRY;
 *		if (i == -EAGAIN)
 *			i = glock_choose(n, groups, GLOCK_EX, 0); // wait for the best one
 *		if (i < 0)
 *			return i;
 *		glock_holder_init(&gh, groups[i], GLOCK_EX, flags);
 *		err = glock_nq(&gh);
 *	} while (err == -EBUSY || err == -EAGAIN);
 *
 * If holders on other nodes may keep a glock for long, wait with ASYNC and a deadline, as
 * examples/allocator.c does. The next answer is then another glock.
 *
 * All glocks are of one type and one space. A NULL entry is left out, such as a full group. The
 * program keeps a reference to each glock during the call. The program gives the same array each
 * time, because the thread remembers address and n. Any number of threads may call this function at
 * a time, each also with an array of its own. The function makes no request and changes no lock.
 * At once; the time grows with n, except for most of the answers that repeat the last one.
 *   -EAGAIN  with TRY: no glock is left, or it is time to wait for one
 *   -EINVAL  no glock, glocks of different types or spaces, mode or flags
 *   -EIO     the space is withdrawn, or has lost the cluster
 */
int glock_choose(size_t n, struct glock *const *glocks, enum glock_mode mode, unsigned int flags);

enum glock_place {
	GLOCK_PLACE_FREE,     /* cached on this node, and no holder is in the way */
	GLOCK_PLACE_HELD,     /* cached on this node, behind holders or waiters of this node */
	GLOCK_PLACE_ELSEWHERE /* a request asks the lock manager */
};

/* The knowledge of this node about a glock. Times are in ns; -1: not known. */
struct glock_forecast {
	size_t size; /* to be set: sizeof(struct glock_forecast) */
	enum glock_place place;
	int refused;            /* not 0: glock_choose() with TRY leaves the glock out for now */
	int64_t wait, wait_var; /* from the request to the grant, and the deviation */
	int64_t use, use_var;   /* from the grant to the release on this node, 4.29 s at most */
	uint64_t queue;         /* holders and waiters of this node */
};

/*
 * Stores the expectations for a request in this mode. A glock without requests of its own has the
 * wait of its type. The use time is known after four measured uses. The library measures some uses
 * that follow an answer of glock_choose(). At once.
 *   -EINVAL  size, see "Structs with a member size"; mode
 */
int glock_forecast(struct glock *gl, enum glock_mode mode, struct glock_forecast *out);

/*
 * Returns 1 if requests for this glock wait significantly longer than requests for its type, else
 * 0. Significantly means: by more than the root of half the sum of both squared deviations
 * (srttvarb). At once.
 *   -ENODATA  not known: the glock has fewer than 8 requests, or its type has fewer than 16
 */
int glock_congested(struct glock *gl);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif

#endif
