/* SPDX-License-Identifier: MIT */
/*
 * sharedfile.h - files that several processes read and write through caches of their own.
 *
 * Each process keeps the bytes of a file in its memory for as long as no other process wants to
 * change them. A file has two locks, as in GFS2, both named by its inode number:
 *
 *   inode   SH: the bytes may be cached and read; EX: and written, in memory only, until somebody
 *           else wants them; DF: nothing is cached, reads go to the file itself
 *   iopen   held in SH by everybody who has the file open. Who unlinks a file only gives it another
 *           name; who closes it last, on whichever node, gets this lock in EX, and destroys it
 *
 * A program that reads the cache without the lock reads something old one day. Here it dies of it:
 * what may not be cached any more is made inaccessible.
 *
 * What was written is in the file when sf_sync() or sf_close() has returned, or when another
 * process has seen it. What a process that is killed had not synced is lost. The functions return
 * negative errnos; all may be called from any thread.
 */
#ifndef SHAREDFILE_H
#define SHAREDFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SF_SIZE_MAX ((size_t)1 << 20) /* of a file */

struct sf_space; /* a directory */
struct sf_file;

/* All files of a directory must be on its file system; its subdirectories are not looked into. */
int sf_space_open(const char *dir, void (*log)(void *arg, const char *message),
		  struct sf_space **space);
int sf_space_close(struct sf_space *space);

int sf_open(struct sf_space *space, const char *name, int create, struct sf_file **file);
/* Writes back what is dirty; the error is that of writing, and it is closed all the same. */
int sf_close(struct sf_file *file);
/* The name is gone at once, the file when nobody has it open any more. */
int sf_unlink(struct sf_space *space, const char *name);
/* Destroys unlinked files that nobody has open, as their last users were killed. */
int sf_clean(struct sf_space *space);

/* Through the cache. How many bytes. */
ssize_t sf_read(struct sf_file *file, void *buf, size_t len, size_t offset);
ssize_t sf_write(struct sf_file *file, const void *buf, size_t len, size_t offset);
/* From the file itself, together with others who do the same. */
ssize_t sf_read_direct(struct sf_file *file, void *buf, size_t len, size_t offset);

/* Calls fn with the cached bytes, in SH to look, in EX to change them (but not how many). */
int sf_look(struct sf_file *file, int (*fn)(const void *data, size_t size, void *arg), void *arg);
int sf_change(struct sf_file *file, int (*fn)(void *data, size_t size, void *arg), void *arg);

int sf_sync(struct sf_file *file);

#endif
