/* SPDX-License-Identifier: MIT */
/*
 * local_file.h - the directory and the file of a space, and the files that nodes have beside it.
 *
 * Another user may own a directory above, or the directory itself, and may exchange its name at any
 * time. Therefore a path is opened once. Each file is then opened, checked and removed in the open
 * directory, by its name alone.
 */
#ifndef GLOCK__LOCAL_FILE_H
#define GLOCK__LOCAL_FILE_H

#include "local_impl.h"

/* ---- local_path.c ---- */

/* Opens the directory. Stores the file's name and whole path. On errors: logs, negative errno. */
int glock__local_find(struct local *l);
int glock__local_unescape(const char *file, char name[GLOCK__LOCAL_NAME_MAX + 1]);
int glock__local_dir_path(const char *group, uid_t uid, gid_t gid, char *path, size_t size);
/*
 * Tells whether a default directory may be trusted. It must belong to that user or group, with no
 * access for others. Any user can make something else of that name.
 */
bool glock__local_dir_trusted(const struct stat *st, bool group, uid_t uid, gid_t gid);
/* Returns the name of the file system with that statfs number, if machines share it, or NULL. */
const char *glock__local_shared_fs(uint32_t type);
/* Writes how users share a space, for a user who may not use its file. Returns buf. */
const char *glock__local_way_in(const struct local *l, char *buf, size_t size);
/* Checks that the file may be trusted. Otherwise logs, and returns -EPERM or -EMEDIUMTYPE. */
int glock__local_trust(const struct local *l, const struct stat *st);

/* ---- local_file.c ---- */

/* Takes memory for that part of the file. Returns 0, or -ENOSPC and the like. */
int glock__local_reserve(int fd, size_t at, size_t size);
/* Changes the lock on one byte. 0; -EAGAIN: another description has it; or another errno. */
int glock__local_byte_lock(int fd, int type, off_t at);
/* Returns 1 if another description has a lock on these bytes, 0, or a negative errno. */
int glock__local_bytes_locked(int fd, off_t at, off_t n);
/* Makes the file. Returns 0 also if another process was faster. */
int glock__local_make_file(const struct local *l);
/* Returns a number that no token ever given exceeds, unless the clock was set back. */
uint64_t glock__local_token_seed(void);
/* Returns a descriptor of the directory, even if the program closed l->dir; or a negative errno. */
int glock__local_dir(struct local *l);
/* Returns a descriptor of the file, even if the program closed l->fd; or a negative errno. */
int glock__local_fd(struct local *l);
/* Closes these two, but not what the program opened in their place. */
void glock__local_close_files(struct local *l);
/* Returns 0 if the file still has its name, and otherwise -ESTALE. */
int glock__local_still_there(const struct local *l);

/* ---- node_file.c: the files of a node beside the space's ---- */

/* Writes FILE,NODE or, of the alive file, FILE,NODE,alive. No space's file has a comma. */
void glock__local_own_name(char out[GLOCK__LOCAL_NODE_FILE_MAX], const char *file,
			   unsigned int node);
void glock__local_alive_name(char out[GLOCK__LOCAL_NODE_FILE_MAX], const char *file,
			     unsigned int node);
/*
 * Tells whether an heir keeps a node of that file alive. heirs: the inode of the alive file, as in
 * its slot; 0: any inode.
 */
bool glock__local_has_heir(int dir, const char *file, unsigned int node, uint64_t heirs);
/* Tells whether an heir keeps any node of that file alive, whatever the version of the file. */
bool glock__local_any_heir(int dir, const char *file);
/* The operations file and alive of lockman.h. */
int glock__local_own_file(struct glock__lockman *lm);
int glock__local_keep_alive(struct glock__lockman *lm);
/* Removes the files of that node. */
void glock__local_remove_own_file(struct local *l, unsigned int node);

/* ---- local_join.c ---- */

/* Opens or makes the file, maps it, and makes this process one of its nodes. */
int glock__local_join(struct local *l);

/* ---- local_users.c ---- */

/* The log names the processes that use the file, the reason l->wrong, and the way out. */
GLOCK__COLD void glock__local_say_users(const struct local *l);

#endif
