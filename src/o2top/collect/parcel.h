/* SPDX-License-Identifier: MIT */
/*
 * parcel.h - a node's files of one sample, in memory, and the reader of a connection's bytes.
 *
 * The bytes come from a stranger. The reader keeps `limit` bytes at most: samples that are not
 *taken yet, and the lines that it keeps for the next sample, each with its place. If the bytes
 *break the protocol, the reader ends the connection with a reason.
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

#include "collect.h"
#include "lines.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- pack.c: numbers and strings as bytes: seven bits a byte, the lowest first.
 *
 * Unpacked data is not trusted. If it is too long or ends too early, only `bad` is set.
 */

struct pack {
	unsigned char *data;
	size_t n, room;
	bool failed; /* no memory: later items are lost */
};

void pack_bytes(struct pack *p, const void *data, size_t n);
void pack_number(struct pack *p, uint64_t v);
void pack_signed(struct pack *p, int64_t v);
/* Packs a string, or NULL, which is not the same as "". */
void pack_string(struct pack *p, const char *s);
void pack_free(struct pack *p);

struct unpack {
	const unsigned char *at, *end;
	bool bad;
};

uint64_t unpack_number(struct unpack *u);
int64_t unpack_signed(struct unpack *u);
/* Returns n bytes, or NULL and sets `bad`. */
const void *unpack_bytes(struct unpack *u, size_t n);
/*
 * Returns a copy of a string, or NULL. NULL means that NULL was packed, or bad data, or no memory
 * (then *failed is set).
 */
char *unpack_string(struct unpack *u, bool *failed);

/* ---- parcel.c. */

enum {
	WIRE_NONCE = 33,
	WIRE_LINE = 4096,
	PARCEL_FILES_MAX = 4096,
};
#define PARCEL_MAX ((size_t)512 << 20)
/* Answers to requests for paths that were not shown yet. */
#define PARCEL_APPEND_MAX ((size_t)16 << 20)
/* A sample, and the lines that are kept for the next one: up to twice as many bytes. */
#define WIRE_LIMIT ((size_t)1 << 30)

struct stamp {
	int64_t real_us, mono_us; /* -1 not known */
};

struct parcel_file {
	int kind; /* enum file_kind, or WIRE_ */
	char *space;
	char *data;
	size_t len, room;
	struct stamp before, after;
	int status; /* 0, or the file could not be read whole */
	char *why;
};

struct parcel {
	struct stamp before, after;
	struct parcel_file *files;
	size_t n;
	uint64_t bytes; /* of the connection */
	char request;   /* the request that it answers: S, D or P */
	char state[16]; /* "ok", "permission", "nodebugfs" */
	struct parcel *next;
};

void parcel_free(struct parcel *p);
const struct parcel_file *parcel_find(const struct parcel *p, int kind, const char *space);
/* Appends the file of a kind in `from` to that in `to`. */
void parcel_append(struct parcel *to, const struct parcel *from, int kind);

/* PLAIN and AGENT: the node has said which it is, and waits for a word from this side. */
enum wire_state { WIRE_GREETING, WIRE_PLAIN, WIRE_AGENT, WIRE_STARTING, WIRE_READY };

struct wire {
	char nonce[WIRE_NONCE];
	enum wire_state state;
	bool agent;
	int64_t mono_shift_us; /* to be added to the uptime for CLOCK_MONOTONIC */
	char line[WIRE_LINE];
	size_t line_len;
	struct parcel *now;       /* being received */
	struct parcel_file *file; /* its file that is being received */
	size_t scanned;           /* how many bytes of the file hold no end */
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
/* Takes bytes in. Returns 0, or -EPROTO, -EFBIG or -ENOMEM with the reason in `error`. */
int wire_take(struct wire *w, const char *bytes, size_t n);
/* Returns the first complete sample, which belongs to the caller then, or NULL. */
struct parcel *wire_next(struct wire *w);

#endif
