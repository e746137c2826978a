/* SPDX-License-Identifier: MIT */
/*
 * sharedfile.h - files that several processes read and write through caches of their own.
 *
 * Each process keeps the bytes of a file in its memory until another process wants to change them.
 * A file has two locks, as in GFS2. The inode number names both:
 *
 *	inode	SH: the bytes may be cached and read.
 *		EX: they may also be written, in memory only, until another process wants them.
 *		DF: nothing is cached, and reads go to the file itself.
 *	iopen	each process that has the file open holds this in SH
 *
 * To unlink a file only gives it another name. The process that closes it last, on any node, gets
 * iopen in EX and destroys the file.
 *
 * A program that reads the cache without the lock will some day read old bytes. Here such a program
 * dies, because bytes that may not be cached any more are made inaccessible.
 *
 * Written bytes are in the file after sf_sync() or sf_close() returns, or after another process has
 * seen them. If a process is killed, the bytes since its last sync are lost. The functions return
 * negative errnos. Any thread may call them.
 */
#ifndef SHAREDFILE_H
#define SHAREDFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SF_SIZE_MAX ((size_t)1 << 20) /* of a file */

struct sf_space; /* a directory */
struct sf_file;

/* Opens a directory. All its files must be on its file system. Its subdirectories are ignored. */
int sf_space_open(const char *dir, void (*log)(void *arg, const char *message),
		  struct sf_space **space);
int sf_space_close(struct sf_space *space);

int sf_open(struct sf_space *space, const char *name, int create, struct sf_file **file);
/* Writes back dirty bytes and closes the file. The error is that of writing; the file is closed. */
int sf_close(struct sf_file *file);
/* Removes the name immediately, and the file when no process has it open any more. */
int sf_unlink(struct sf_space *space, const char *name);
/* Destroys unlinked files that no process has open, because their last users were killed. */
int sf_clean(struct sf_space *space);

/* Reads through the cache. Returns the number of bytes. */
ssize_t sf_read(struct sf_file *file, void *buf, size_t len, size_t offset);
ssize_t sf_write(struct sf_file *file, const void *buf, size_t len, size_t offset);
/* Reads the file itself, beside other processes that do the same. */
ssize_t sf_read_direct(struct sf_file *file, void *buf, size_t len, size_t offset);

/* Calls fn with the cached bytes: in SH to look, in EX to change them, but not their number. */
int sf_look(struct sf_file *file, int (*fn)(const void *data, size_t size, void *arg), void *arg);
int sf_change(struct sf_file *file, int (*fn)(void *data, size_t size, void *arg), void *arg);

int sf_sync(struct sf_file *file);

#endif
