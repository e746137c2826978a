/* SPDX-License-Identifier: MIT */
/*
 * faults.h - a VFS named `unix` in front of SQLite's own, whose calls fail as a test says.
 *
 * The VFS `glock` takes it for the platform's VFS, so the faults come from below. The byte locks of
 * the VFS `glock` do not go through a VFS. So this file also stands between it and fcntl().
 */
#ifndef TESTS_SQLITE_FAULTS_H
#define TESTS_SQLITE_FAULTS_H

#include <stdbool.h>

enum fault {
	FAULT_WRITE,    /* SQLITE_IOERR_WRITE */
	FAULT_FULL,     /* a write, SQLITE_FULL */
	FAULT_SYNC,     /* SQLITE_IOERR_FSYNC */
	FAULT_READ,     /* SQLITE_IOERR_READ */
	FAULT_SHORT,    /* a read, SQLITE_IOERR_SHORT_READ: the rest is zeros */
	FAULT_TRUNCATE, /* SQLITE_IOERR_TRUNCATE */
	FAULT_SIZE,     /* SQLITE_IOERR_FSTAT */
	FAULT_OPEN,     /* SQLITE_CANTOPEN */
	FAULT_DELETE,   /* SQLITE_IOERR_DELETE */
	FAULT_ACCESS,   /* SQLITE_IOERR_ACCESS */
	FAULT_BYTES,    /* a byte lock, ENOLCK */
	FAULT_SEEN,     /* no error: a question for byte locks sees one of another process */
	FAULTS,
};

extern const char *const fault_names[FAULTS];

/* Registers the VFS. Comes before the extension is loaded. */
void faults_install(void);
/* Lets the n-th call from now on fail, and all later ones if `always`. n 0: none fails. */
void faults_arm(enum fault f, unsigned int n, bool always);
/* Returns whether a call has failed since faults_arm(). */
bool faults_hit(void);
/* Lets fstatfs() say that each file system is of that type. 0: the true one. */
void faults_file_system(long type);
/* Calls f before the n-th write. NULL: none. */
void faults_before_write(unsigned int n, void (*f)(void));

#endif
