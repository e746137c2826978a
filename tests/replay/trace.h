/* SPDX-License-Identifier: MIT */
/*
 * trace.h - a recorded trace of Linux's glocks, cut into lifetimes.
 *
 * A lifetime holds the events of one glock, from its creation or the start of the trace to its end
 * or the end of the trace. Its events are in the order of the trace. Some are the kernel's input:
 * queue, dequeue, demands, replies. The others are its actions: promotions and changes of state.
 * The trace was recorded on one CPU, so its order is that of the events.
 */
#ifndef TESTS_REPLAY_TRACE_H
#define TESTS_REPLAY_TRACE_H

#include "glock/base/mode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum event_kind {
	EV_QUEUE,
	EV_DEQUEUE,
	EV_PROMOTE,
	EV_STATE,
	EV_DEMOTE,
	EV_REPLY,
	EV_PUT,
	EV_REQUEST, /* no line: the reply's time less its round trip */
	EV_KINDS
};

struct event {
	int64_t time;     /* ns */
	const char *text; /* the line from the event's name on; NULL: no line */
	enum event_kind kind;
	unsigned int line, type;
	uint64_t number;
	int pid;
	enum glock_mode from, mode;    /* mode: wanted, granted, new, or demanded */
	bool remote, blocking, locked; /* locked: a demote while the bit lock is held */
	int status;
	int64_t round_trip;
	/* Facts that only later lines tell. */
	bool try, nocache;
};

struct lifetime {
	unsigned int type;
	uint64_t number;
	struct event *events;
	size_t n, room;
	bool born, died;        /* within the trace */
	enum glock_mode before; /* its mode when the trace began, if it existed then */
	bool fought;            /* other nodes wanted it */
};

struct trace {
	char *text;
	struct lifetime *lifetimes;
	size_t n, lines;
};

enum { EUNLOCKED = -65538 };

/*
 * Loads a trace. `after` is the glocks file at the end of the trace, for glocks whose mode never
 * changes in it.
 */
void trace_load(struct trace *t, char *text, const char *after);
void trace_free(struct trace *t);

#endif
