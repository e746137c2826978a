/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - the users of flock(2), fcntl(2) and leases, as the kernel tells them.
 *
 * /proc/locks tells which process took a lock. A lock of flock(2), an OFD lock and a lease belong
 * to an open file, which other processes may have inherited while the first one ended. So their
 * holders are the processes that have a descriptor of this open file: the lock lines of fdinfo.
 */
#include "who.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* ---- reading ---- */

static void keep_lock(void *arg, const struct glock__file_lock *lock)
{
	struct who *w = arg;
	struct glock__file_lock *to = who_more(w, &w->locks, &w->n_locks, sizeof(*to));

	if (to)
		*to = *lock;
}

static void keep_held(void *arg, pid_t pid, int fd, const struct glock__file_lock *lock)
{
	struct who *w = arg;
	struct who_held *to = who_more(w, &w->held, &w->n_held, sizeof(*to));

	if (to)
		*to = (struct who_held){pid, fd, *lock};
}

/*
 * Reads for which OFD lock a thread waits, by the arguments of its system call, because /proc/locks
 * does not tell the process.
 */
static bool read_request(pid_t pid, int tid, struct who_held *h)
{
	unsigned long fd, command, at;
	struct flock range;
	char path[64];
	long number;
	FILE *f;
	int mem;
	bool is;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, tid);
	f = fopen(path, "re");
	is = f && fscanf(f, "%ld %lx %lx %lx", &number, &fd, &command, &at) == 4 &&
	     number == SYS_fcntl && command == F_OFD_SETLKW;
	if (f)
		fclose(f);
	if (!is)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	is = mem >= 0 && pread(mem, &range, sizeof(range), (off_t)at) == sizeof(range) &&
	     !glock__file_id_of(&h->lock.file, pid, (int)fd);
	if (mem >= 0)
		close(mem);
	h->lock.kind = GLOCK__LOCK_OFD;
	h->lock.waits = true;
	h->lock.pid = -1;
	h->lock.write = range.l_type == F_WRLCK;
	h->lock.first = (uint64_t)range.l_start;
	h->lock.last = range.l_len ? (uint64_t)(range.l_start + range.l_len - 1) : UINT64_MAX;
	h->pid = pid;
	h->fd = (int)fd;
	return is;
}

static void read_threads(struct who *w, pid_t pid)
{
	struct who_held h;
	char path[64];
	int tid;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (tid = glock__next_number(dir)) >= 0)
		if (read_request(pid, tid, &h))
			keep_held(w, h.pid, h.fd, &h.lock);
	if (dir)
		closedir(dir);
}

static void read_process(void *arg, pid_t pid)
{
	struct who *w = arg;

	if (glock__process_locks(pid, keep_held, w) == -EACCES)
		w->hidden = geteuid() ? "; run as root" : "";
	else if (w->ofd_waiters)
		read_threads(w, pid);
}

void who_read_kernel(struct who *w)
{
	int err = glock__file_locks(keep_lock, w);

	for (size_t i = 0; i < w->n_locks; i++)
		w->ofd_waiters |= w->locks[i].kind == GLOCK__LOCK_OFD && w->locks[i].waits;

	if (err) {
		w->say("/proc/locks: %s; flock, fcntl and leases are not shown", strerror(-err));
		return;
	}
	glock__each_process(read_process, w);
}

/* ---- names of files ---- */

/*
 * Stores the path of a file that a descriptor of a process has. The process may exchange the
 * descriptor meanwhile, so the path and the file are those of a copy of the descriptor.
 */
static bool path_of_held(const struct who_held *h, char *path, size_t size)
{
	struct glock__file_id there;
	char link[64];
	ssize_t n = -1;
	int fd;

	snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)h->pid, h->fd);
	fd = open(link, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (!glock__file_id_of(&there, 0, fd) && glock__same_file(&there, &h->lock.file))
		n = readlink(link, path, size - 1);
	close(fd);
	path[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Finds a path of a file by the descriptors of its holders. */
static bool path_of(const struct who *w, const struct glock__file_id *id, char *path, size_t size)
{
	for (size_t i = 0; i < w->n_held; i++)
		if (glock__same_file(&w->held[i].lock.file, id) &&
		    path_of_held(&w->held[i], path, size))
			return true;
	return false;
}

/*
 * Adds a target for a file that a lock names. The file may have no path here. A path of another
 * user is not opened, because its file system may not answer.
 */
static void add_file(struct who *w, const struct glock__file_id *id)
{
	char path[PATH_MAX];
	struct who_target *t;

	if (who_find_file(w, id))
		return;
	if (!path_of(w, id, path, sizeof(path)))
		snprintf(path, sizeof(path), "inode %" PRIu64 " of device %u:%u", id->inode,
			 id->major, id->minor);
	t = who_add_target(w, path);
	if (!t)
		return;
	t->is_file = true;
	t->file = *id;
	t->dev = makedev(id->major, id->minor);
	t->ino = (ino_t)id->inode;
}

void who_find_waited_files(struct who *w)
{
	for (size_t i = 0; i < w->n_locks; i++)
		if (w->locks[i].waits)
			add_file(w, &w->locks[i].file);
}

/* ---- SQLite's bytes ---- */

struct byte_name {
	uint64_t first, last;
	const char *name;
};

/* As SQLite has them. */
static const struct byte_name of_database[] = {
    {0x40000000, 0x40000000, "PENDING"},
    {0x40000001, 0x40000001, "RESERVED"},
    {0x40000002, 0x40000002 + 509, "SHARED"},
};
static const struct byte_name of_shm[] = {
    {120, 120, "WRITE"}, {121, 121, "CHECKPOINT"}, {122, 122, "RECOVER"},
    {123, 123, "READ0"}, {124, 124, "READ1"},      {125, 125, "READ2"},
    {126, 126, "READ3"}, {127, 127, "READ4"},      {128, 128, "OPEN"},
};

/* No file is so long: the VFS for SQLite marks a database there, and excludes no process by it. */
#define MARKS (UINT64_C(1) << 61)

static void name_bytes(const struct who_target *t, struct who_user *u)
{
	const size_t len = strlen(t->name);
	const bool shm = len > 4 && !strcmp(t->name + len - 4, "-shm");
	const struct byte_name *names = shm ? of_shm : of_database;
	const size_t n =
	    shm ? sizeof(of_shm) / sizeof(*of_shm) : sizeof(of_database) / sizeof(*of_database);

	if (u->first < names[0].first || u->last > names[n - 1].last)
		return;
	for (size_t i = 0; i < n; i++)
		if (u->first <= names[i].last && u->last >= names[i].first)
			snprintf(strchr(u->what, '\0'), sizeof(u->what) - strlen(u->what), "%s%s",
				 *u->what ? ", " : "", names[i].name);
}

/* ---- users ---- */

static struct who_user user_of(const struct who_target *t, const struct glock__file_lock *lock)
{
	static const char *const kinds[] = {
	    [GLOCK__LOCK_FLOCK] = "flock",
	    [GLOCK__LOCK_POSIX] = "fcntl",
	    [GLOCK__LOCK_OFD] = "OFD",
	    [GLOCK__LOCK_LEASE] = "lease",
	    [GLOCK__LOCK_DELEGATION] = "delegation",
	};
	struct who_user u = {.waits = lock->waits,
			     .kind = kinds[lock->kind],
			     .mode = lock->write ? "write" : "read"};

	if (lock->kind == GLOCK__LOCK_POSIX || lock->kind == GLOCK__LOCK_OFD) {
		u.has_bytes = true;
		u.first = lock->first;
		u.last = lock->last;
		name_bytes(t, &u);
	}
	return u;
}

static void __attribute__((format(printf, 2, 3)))
add_note(struct who_user *u, const char *format, ...)
{
	size_t n = strlen(u->note);
	va_list args;

	if (n)
		n += (size_t)snprintf(u->note + n, sizeof(u->note) - n, "; ");
	va_start(args, format);
	if (n < sizeof(u->note))
		vsnprintf(u->note + n, sizeof(u->note) - n, format, args);
	va_end(args);
}

static bool same_lock(const struct glock__file_lock *a, const struct glock__file_lock *b)
{
	return a->kind == b->kind && a->waits == b->waits && a->write == b->write &&
	       a->pid == b->pid && a->first == b->first && a->last == b->last &&
	       glock__same_file(&a->file, &b->file);
}

/* Adds the processes that have a descriptor with the lock. Returns whether there are any. */
static bool add_descriptors(struct who *w, struct who_target *t,
			    const struct glock__file_lock *lock)
{
	bool any = false;

	for (size_t i = 0; i < w->n_held; i++) {
		struct who_user u = user_of(t, lock);

		if (!same_lock(&w->held[i].lock, lock) || !who_set_process(&u, w->held[i].pid))
			continue;
		if (lock->pid > 0 && u.pid != lock->pid)
			add_note(&u, "inherited from pid %d", (int)lock->pid);
		who_add_user(w, t, &u);
		any = true;
	}
	return any;
}

/* The descriptors of the holder do not show. Tells what is known. */
static void add_taker(struct who *w, struct who_target *t, const struct glock__file_lock *lock)
{
	struct who_user u = user_of(t, lock);

	if (lock->pid > 0 && who_set_process(&u, lock->pid)) {
		if (w->hidden && lock->kind != GLOCK__LOCK_POSIX && !lock->waits)
			add_note(&u, "took the lock, and may have passed it on%s", w->hidden);
	} else if (w->hidden) {
		add_note(&u, "the process is not visible%s", w->hidden);
	} else if (lock->pid > 0) {
		add_note(&u, "process %d took the lock, and has ended", (int)lock->pid);
	}
	who_add_user(w, t, &u);
}

void who_add_kernel(struct who *w)
{
	for (size_t i = 0; i < w->n_locks; i++) {
		const struct glock__file_lock *lock = &w->locks[i];
		struct who_target *t = who_find_file(w, &lock->file);

		if (t && lock->first < MARKS && !add_descriptors(w, t, lock))
			add_taker(w, t, lock);
	}
}
