/* SPDX-License-Identifier: MIT */
/*
 * parcel.h - a node's files of one sample, in memory, and the reader of a connection's bytes.
 *
 * The bytes come from a stranger. The reader keeps at most PARCEL_MAX of them. If the bytes break
 * the protocol, the reader ends the connection with a reason.
 *
 * Lines of the protocol begin with the connection's number, everything between F and E is a file:
 *
 *	N agent | N plain         what answers
 *	N C UPTIME MONO_NS        one moment on two clocks
 *	N R                       ready for requests
 *	N S REQUEST REAL UP STATE a sample begins
 *	N F KIND REAL UP SPACE    a file, unchanged, up to a newline and
 *	N E STATUS REAL UP WHY
 *	N L KIND REAL UP REAL UP LENGTH STATUS SPACE   LENGTH bytes follow: a file's changes
 *	N Z REAL UP               the sample ends
 */
#ifndef O2TOP_PARCEL_H
#define O2TOP_PARCEL_H

#include "kinds.h"
#include "lines.h"

enum {
	WIRE_NONCE = 33,
	WIRE_LINE = 4096,
	PARCEL_FILES_MAX = 4096,
};
#define PARCEL_MAX ((size_t)512 << 20)

struct stamp {
	int64_t real_us, mono_us; /* -1 not known */
};

struct parcel_file {
	int kind; /* enum file_kind, or WIRE_ */
	char *space;
	char *data;
	size_t len, room;
	struct stamp before, after;
	int status; /* 0, or it could not be read whole */
	char *why;
};

struct parcel {
	struct stamp before, after;
	struct parcel_file *files;
	size_t n;
	uint64_t bytes; /* of the connection */
	char request;   /* S, D or P: what it answers */
	char state[16]; /* "ok", "permission", "nodebugfs" */
	struct parcel *next;
};

void parcel_free(struct parcel *p);
const struct parcel_file *parcel_find(const struct parcel *p, int kind, const char *space);
/* Puts what `from` has of a kind behind what `to` has; `from` is gone then. */
void parcel_join(struct parcel *to, struct parcel *from, int kind);

/* PLAIN and AGENT: it has said which, and waits for our word. */
enum wire_state { WIRE_GREETING, WIRE_PLAIN, WIRE_AGENT, WIRE_STARTING, WIRE_READY };

struct wire {
	char nonce[WIRE_NONCE];
	enum wire_state state;
	bool agent;
	int64_t mono_shift_us; /* what to add to uptime for CLOCK_MONOTONIC */
	char line[WIRE_LINE];
	size_t line_len;
	struct parcel *now;       /* being received */
	struct parcel_file *file; /* of it; what comes is its bytes */
	size_t scanned;           /* of the file's bytes that hold no end */
	size_t left;              /* of a file told by its changes: bytes to come */
	bool changes;
	char *delta;
	size_t delta_len;
	uint64_t bytes; /* since the last sample's end */
	struct parcel *done, **done_end;
	struct lines_pools pools; /* of files told by their changes */
	size_t limit;
	char error[160];
};

void wire_init(struct wire *w, const char nonce[WIRE_NONCE]);
void wire_free(struct wire *w);
/* Takes bytes in; 0, or -EPROTO, -EFBIG, -ENOMEM with `error` in words. */
int wire_take(struct wire *w, const char *bytes, size_t n);
/* The first complete sample, the caller's now; or NULL. */
struct parcel *wire_next(struct wire *w);

#endif
