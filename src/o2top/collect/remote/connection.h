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
	const char *ssh;     /* a command of the user's instead of ssh, or NULL */
	size_t sample_limit; /* bytes; 0 the usual */
	bool no_agent;       /* only the shell, also where o2top is installed */
	const char *self;    /* our own program, for the machine that we run on */
};

enum connection_state {
	CONNECTION_WAITING, /* until `due` */
	CONNECTION_STARTING,
	CONNECTION_READY,
};

struct connection {
	const char *node;
	const struct connection_how *how;
	bool here; /* the machine that we run on: no ssh */
	enum connection_state state;
	double due;            /* to be tried again; of a connection that starts: given up */
	double tried, backoff; /* since when, how long the next pause is */
	pid_t pid, dying;      /* its child; one before that was killed and is not reaped yet */
	int in, out, err;      /* -1 none */
	struct wire wire;
	struct buffer sending;
	size_t sent;
	char words[WORDS_MAX]; /* what it said last of what is wrong */
	char stderr_line[WORDS_MAX];
	size_t stderr_len;
	bool failed; /* at least once since it was ready last */
};

void connection_init(struct connection *c, const char *node, bool here,
		     const struct connection_how *how);
/* Fills in what to poll (fd -1 where nothing); returns when time alone is a reason to call. */
double connection_watch(const struct connection *c, struct pollfd fds[CONNECTION_FDS]);
/*
 * Takes what poll said; starts, ends, starts again. True where samples may have come in (wire_next)
 * or the state has changed.
 */
bool connection_work(struct connection *c, const struct pollfd fds[CONNECTION_FDS], double now);
/* Sends a request; a line. Only when READY. */
int connection_ask(struct connection *c, const char *request);
/* Ends it: the other side sees its input end. With `hard`, is killed. */
void connection_end(struct connection *c, bool hard);
/* True while its child is there; reaps it. */
bool connection_alive(struct connection *c);
void connection_free(struct connection *c);

#endif
