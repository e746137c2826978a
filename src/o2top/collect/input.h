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
	/* like read(2), with a negative errno */
	ssize_t (*read)(struct input *in, void *buf, size_t size);
	void (*close)(struct input *in);
	int fd;
	const char *text; /* in memory: the part that is left to read */
	size_t left;
	void *of;          /* the owner's data, if another collector passes it on */
	size_t first_read; /* size of the first read if it matters, else 0 */
	bool crlf;         /* lines may end with CR and LF, after a copy by way of Windows */
	char label[INPUT_LABEL_MAX]; /* its name in messages */
};

/*
 * Opens a file for reading. Returns 0 or a negative errno. A label that is too long loses its
 * beginning.
 */
int input_open_path(struct input *in, const char *path, const char *label);

/* Does the same with an open descriptor, which belongs to the input then. */
void input_open_fd(struct input *in, int fd, const char *label);

/* Does the same with bytes in memory, which must stay there. */
void input_open_memory(struct input *in, const char *text, size_t len, const char *label);

/* Does the same with allocated bytes, which belong to the input then. */
void input_open_owned(struct input *in, char *text, size_t len, const char *label);

/*
 * Calls `each` for every line, numbered from 1, without its newline. Then closes the input. Returns
 * 0, or the negative errno of a read that failed.
 *
 * `complete` is false for a last line without a newline. A line longer than INPUT_LINE_MAX is cut
 * off and not complete. The loop ends early if `each` returns false.
 */
typedef bool input_line_fn(void *arg, const char *line, size_t len, size_t number, bool complete);
int input_lines(struct input *in, input_line_fn *each, void *arg);

/*
 * Reads a whole small file into buf, NUL-terminated. Returns its length, or a negative errno
 * (-EFBIG: too long).
 */
ssize_t input_small(const char *path, char *buf, size_t size);

#endif
