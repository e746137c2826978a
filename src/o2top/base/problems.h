/* SPDX-License-Identifier: MIT */
/*
 * problems.h - problems: a line, a file or a node that could not be used, counted and named.
 *
 * Each node has its own list, so that the threads that read nodes need no lock. The lists are
 * joined when a frame is complete. Every problem is counted. Of each file, only the first few lines
 * are kept word for word, with the number of the rest.
 */
#ifndef O2TOP_PROBLEMS_H
#define O2TOP_PROBLEMS_H

#include <stddef.h>

/* ---- banners.c: banners: lines about conditions that no counter shows and every view must print.
 *
 * Examples are recovery in progress, a withdrawn file system, and lines hidden by a filter. Each
 * banner is one line. A repeated line is kept once.
 */

enum { BANNERS_MAX = 16 };

struct banners {
	char *text[BANNERS_MAX];
	const char *code[BANNERS_MAX]; /* with which --check warns; NULL: it does not */
	size_t n;
};

/* Adds a banner with a code, or NULL for one that is no warning. */
__attribute__((format(printf, 3, 4))) void banner_coded(struct banners *b, const char *code,
							const char *format, ...);
#define banner(b, ...) banner_coded(b, "CLUSTER_STATE", __VA_ARGS__)
void banners_clear(struct banners *b);

/* ---- complain.c: messages of o2top for its user, on standard error. */

/*
 * Writes a message, unless the same message was written before. A message may hold foreign names,
 * so it is made fit for a terminal.
 */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);
/* Returns the last message, written or not, or "". */
const char *complain_last(void);
/* Ends a time of trouble: each message is written again if it comes again. */
void complain_forget(void);

/* ---- problems.c. */

enum { PROBLEMS_KEPT = 64, PROBLEMS_OF_FILE = 16 };

struct problems {
	size_t count;
	size_t bad_lines; /* how many of them are lines that were left out */
	size_t kept;
	char *text[PROBLEMS_KEPT];
	/* the file of the last bad line, and its bad lines so far */
	char *file;
	size_t in_file;
};

/* Adds a problem with a file as a whole (line 0) or with one of its lines. */
__attribute__((format(printf, 4, 5))) void problem(struct problems *p, const char *file,
						   size_t line, const char *format, ...);
/* Moves all of `from` to the end of `to`. */
void problems_join(struct problems *to, struct problems *from);
void problems_clear(struct problems *p);

#endif
