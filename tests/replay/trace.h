/* SPDX-License-Identifier: MIT */
/*
 * trace.h - a recorded trace of Linux's glocks, cut into lifetimes.
 *
 * A lifetime holds the events of one glock, from its creation or the start of the trace to its end
 * or the end of the trace. Its events are in the order of the trace. Some are the kernel's input:
 * queue, dequeue, demands, replies. The others are its actions: promotions and changes of state.
 *
 * Facts that no line tells come from later lines: infer.c. Examples are the flags of a holder, and
 * the mode that a glock had when the trace began.
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
	unsigned int line, type, major, minor;
	uint64_t number;
	int pid;
	bool by_worker;                   /* a task of the kernel's work queue wrote the line */
	enum glock_mode from, mode;       /* mode: wanted, granted, new, or demanded */
	enum glock_mode target, demanded; /* of a change of state */
	char flags[32];
	bool remote;
	int status;
	unsigned int status_flags;
	int64_t round_trip;
	size_t asked; /* queue, promote, dequeue: the holder's index */
};

/* A holder of the trace. */
struct asked {
	enum glock_mode mode;
	int pid;
	unsigned int flags; /* GLOCK_... */
	bool granted;
	bool cancelled; /* its task gave up before the grant */
	bool before;    /* the holder is older than the trace */
	bool held;      /* and it was granted then */
};

struct lifetime {
	unsigned int type, major, minor;
	uint64_t number;
	struct event *events;
	size_t n, room;
	struct asked *asked;
	size_t n_asked, asked_room;
	size_t n_older; /* holders at its start that its first lines show */
	struct orphan {
		enum glock_mode mode;
		int pid;
	} * orphans; /* holders at its start that only their ends show */
	size_t n_orphans;
	bool born, died; /* within the trace */
	bool cut;        /* the trace lost events behind it */
	bool follows;    /* the glock's earlier lifetime ended in the trace */
	/* If the lifetime began before the trace, its state at the start of the trace. */
	enum glock_mode before;   /* its mode */
	bool had_lock;            /* it had a lock of the DLM */
	enum glock_mode demanded; /* the mode that other nodes had demanded; EX: none */
	bool due;                 /* that demand was due, and not only pending */
	bool waitless;            /* its last request could not wait for other nodes */
	int64_t changed;          /* the time of its last change of state; 0: unknown */
	size_t skipped;           /* lines of a change that was going on, before that state */
	bool fought;              /* other nodes wanted it */
};

struct trace {
	char *text;
	struct lifetime *lifetimes;
	size_t n, lines, skipped;
	size_t others; /* lines of other events, and of glocks that ended before the trace */
	size_t *table, table_size;
};

enum { ECANCELLED = -65537, EUNLOCKED = -65538 };

/*
 * Loads a trace. `after` is the glocks file at the end of the trace, or NULL. It tells the mode of
 * glocks whose mode never shows in the trace.
 */
void trace_load(struct trace *t, char *text, const char *after);
void trace_free(struct trace *t);

/* Finds what no line of the lifetime tells. */
void infer(struct lifetime *l, const char *after);

/*
 * Does so once more. Of the holders at its start that only their ends show, the last `waiting` ones
 * waited then. infer() takes them all for granted.
 */
void infer_waiting(struct lifetime *l, size_t waiting);

#endif
