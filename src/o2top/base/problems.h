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
