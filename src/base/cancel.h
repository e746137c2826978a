/* SPDX-License-Identifier: MIT */
/*
 * cancel.h - keeps a thread of the program from being cancelled in the middle of a call.
 *
 * open(2), read(2), fallocate(2) and the sleeps of the C library are cancellation points. A thread
 * that ended there would leave its locks, and its request in the queue. Waits by futex(2) are none.
 */
#ifndef GLOCK__CANCEL_H
#define GLOCK__CANCEL_H

#include <pthread.h>

static inline int glock__cancel_off(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

static inline void glock__cancel_as_before(const int *state)
{
	pthread_setcancelstate(*state, NULL);
}

/* Until the end of the block a request to cancel the thread waits. */
#define GLOCK__NO_CANCEL                                                                    \
	int glock__cancel_state __attribute__((cleanup(glock__cancel_as_before), unused)) = \
	    glock__cancel_off()

#endif
