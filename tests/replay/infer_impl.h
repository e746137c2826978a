/* SPDX-License-Identifier: MIT */
/*
 * infer_impl.h - what the parts of infer.c share.
 */
#ifndef TESTS_REPLAY_INFER_IMPL_H
#define TESTS_REPLAY_INFER_IMPL_H

#include "trace.h"

#include <sys/types.h>

enum { NONE = -1, NOBODY = -1 };

/* The holders that are in the queue, in its order. */
struct open {
	size_t *asked, n, room;
};

/* open.c */
bool event_has(const struct event *ev, char flag);
size_t asked_add(struct lifetime *l, const struct event *ev);
void open_add(struct open *o, size_t asked);
void open_remove(struct open *o, size_t i);

/* Returns the place of the first waiter (of that mode, if it is not UN), or NONE. */
ssize_t open_first_waiter(const struct lifetime *l, const struct open *o, enum glock_mode mode);

/* Returns the place of the holder that leaves at that event, or NONE. */
ssize_t open_leaver(const struct lifetime *l, const struct open *o, size_t at);

/* begin.c */
void find_orphans(struct lifetime *l);
void find_beginning(struct lifetime *l, const char *after);

#endif
