/* SPDX-License-Identifier: MIT */
/*
 * input.h - a file of a node as a stream of bytes, wherever the file is, and its lines.
 */
#ifndef O2TOP_INPUT_H
#define O2TOP_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { INPUT_LABEL_MAX = 512, INPUT_LINE_MAX = 64 * 1024 };

struct input {
	ssize_t (*read)(struct input *in, void *buf, size_t size); /* as read(2); negative errno */
	void (*close)(struct input *in);
	int fd;
	const char *text; /* in memory: what is left to read */
	size_t left;
	void *of;          /* whose it is, where another collector passes it on */
	size_t first_read; /* size of the first read where it matters, else 0 */
	bool crlf;         /* lines may end with CR and LF: a copy that came by way of Windows */
	char label[INPUT_LABEL_MAX]; /* what messages call it */
};

/* Opens a file for reading; 0 or negative errno. A label that is too long loses its beginning. */
int input_open_path(struct input *in, const char *path, const char *label);

/* The same of a descriptor that is open, which is the input's now. */
void input_open_fd(struct input *in, int fd, const char *label);

/* The same for bytes in memory, which must stay there. */
void input_open_memory(struct input *in, const char *text, size_t len, const char *label);

/* The same of allocated bytes, which are the input's now. */
void input_open_owned(struct input *in, char *text, size_t len, const char *label);

/*
 * Calls `each` for every line, numbered from 1, without its newline; `complete` is false for a last
 * line that has none. A line longer than INPUT_LINE_MAX is given cut off, incomplete. Ends early
 * when `each` returns false. Closes the input. Returns 0, or the negative errno of a read that
 * failed.
 */
typedef bool input_line_fn(void *arg, const char *line, size_t len, size_t number, bool complete);
int input_lines(struct input *in, input_line_fn *each, void *arg);

/*
 * Reads a whole small file into buf, NUL-terminated; its length, or negative errno (-EFBIG too
 * long).
 */
ssize_t input_small(const char *path, char *buf, size_t size);

#endif
