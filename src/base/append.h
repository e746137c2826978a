/* SPDX-License-Identifier: MIT */
/*
 * append.h - writes messages to a file that the user named in the environment.
 */
#ifndef GLOCK_APPEND_H
#define GLOCK_APPEND_H

/*
 * Opens or makes a file. "stderr" stands for standard error. Each folder of the path may belong to
 * another user, who puts a link, a FIFO or a second name of some file there. Such things are
 * refused. Returns a descriptor, or -1 and stores the reason.
 */
int glock__append_open(const char *to, const char **why);
/* Writes the process, the time and the message in one write, so that processes can share a file. */
void glock__append(int fd, const char *message);
/* Does nothing for standard error. */
void glock__append_close(int fd);

#endif
