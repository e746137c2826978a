/* SPDX-License-Identifier: MIT */
/*
 * connection.h - the connection to one node: ssh or its substitute, with a shell at its other end.
 *
 * ssh or its substitute is a child process. A connection lives for the whole run. When its child
 * ends, the connection starts another, later each time.
 *
 * No function here waits. The poll loop that owns the connection asks which descriptors to watch
 * and until when, and reports the result. Times are seconds of o2top's CLOCK_MONOTONIC.
 */
#ifndef O2TOP_CONNECTION_H
#define O2TOP_CONNECTION_H

#include "o2top/collect/parcel.h"

#include <poll.h>
#include <sys/types.h>

enum { CONNECTION_FDS = 3, WORDS_MAX = 240 };

struct connection_how {
	const char *ssh;     /* the user's command instead of ssh, or NULL */
	size_t sample_limit; /* bytes; 0 for the usual limit */
	bool whole;          /* agents may search whole file systems for paths */
	bool no_agent;       /* only sh, also where o2top is installed */
	const char *self;    /* this program, for the machine that o2top runs on */
};

enum connection_state {
	CONNECTION_WAITING, /* until `due` */
	CONNECTION_STARTING,
	CONNECTION_READY,
};

struct connection {
	const char *node;
	const struct connection_how *how;
	bool here; /* the machine that o2top runs on: no ssh */
	enum connection_state state;
	double due; /* time of the next try; while it starts, time to give up */
	/* when it was tried, or became READY, last; how long the next pause is */
	double tried, backoff;
	/* its child; an earlier child that was killed and is not reaped yet */
	pid_t pid, dying;
	int in, out, err; /* -1 none */
	struct wire wire;
	struct buffer sending;
	size_t sent;
	char words[WORDS_MAX]; /* the last complaint */
	char stderr_line[WORDS_MAX];
	size_t stderr_len;
	bool failed; /* at least once since it was last READY */
};

void connection_init(struct connection *c, const char *node, bool here,
		     const struct connection_how *how);
/* Fills in what to poll, with fd -1 for nothing. Returns when time alone is a reason to call. */
double connection_watch(const struct connection *c, struct pollfd fds[CONNECTION_FDS]);
/*
 * Takes what poll() said, and starts, ends and restarts the child. Returns true if samples may have
 * come in (wire_next) or if the state has changed.
 */
bool connection_work(struct connection *c, const struct pollfd fds[CONNECTION_FDS], double now);
/* Sends a request, which is one line. Call this only when the connection is READY. */
int connection_ask(struct connection *c, const char *request);
/* Ends the connection, so that the other side sees its input end. With `hard`, kills the child. */
void connection_end(struct connection *c, bool hard);
/* Returns true while the child is there. Reaps the child. */
bool connection_alive(struct connection *c);
void connection_free(struct connection *c);

#endif
