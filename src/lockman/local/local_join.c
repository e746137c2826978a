/* SPDX-License-Identifier: MIT */
/*
 * local_join.c - opens, checks and maps a lock space's file, and makes this process a node.
 *
 * A process that opens the file holds the lock on OPEN_BYTE. It holds the lock from before it looks
 * at the file until it is a node. Therefore a process that finds no live node is alone. Alone, it
 * may do what no other process may see. It puts in order what was left. If the file is not what it
 * should be, the process removes the name and makes a new file.
 *
 * Up to four descriptors are opened:
 *	to join		has the locks; closed after mmap, so that only the mapping keeps the locks
 *	l->dir		the directory, to open and remove the node's files in it
 *	l->fd		for fallocate and for asking which nodes live; without any lock
 *	l->alive	on request: of another file, to be inherited (node_file.c)
 * While the first one is open no fork may happen, because the child would keep the locks.
 */
#include "local_death.h"
#include "local_file.h"
#include "local_shard.h"

#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define OPEN_PATIENCE 10000000000ll /* ns: how long to wait for another process that opens it */
#define TOLD_AFTER 1000000000ll
#define PAUSE_MIN 500000    /* ns: between two looks */
#define PAUSE_MAX 128000000 /* a thousand processes that look each 8 ms take all of two CPUs */

/* ---- no fork meanwhile ---- */

static pthread_mutex_t no_fork = PTHREAD_MUTEX_INITIALIZER;

static void fork_waits(void)
{
	pthread_mutex_lock(&no_fork);
}

static void fork_is_over(void)
{
	pthread_mutex_unlock(&no_fork);
}

/*
 * Runs when the library is loaded. fork() calls the handlers of the program, which were registered
 * later, first. A program that opens a space under a mutex of its own, and has a handler that takes
 * this mutex, then takes the two mutexes in one order.
 */
__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(fork_waits, fork_is_over, fork_is_over);
}

/* ---- messages ---- */

/*
 * No fork may happen meanwhile, but the log of the program may fork. So messages wait until the
 * program may fork again.
 */
struct message {
	struct message *next;
	char text[];
};

struct held_messages {
	struct message *first, **end;
	void (*log)(void *arg, const char *message);
	void *log_arg;
};

/* Keeps the message. Without memory the message is lost. */
static void hold_message(void *arg, const char *text)
{
	struct held_messages *held = arg;
	size_t size = strlen(text) + 1;
	struct message *m = malloc(sizeof(*m) + size);

	if (!m)
		return;
	m->next = NULL;
	memcpy(m->text, text, size);
	*held->end = m;
	held->end = &m->next;
}

static void hold_messages(struct local *l, struct held_messages *held)
{
	held->first = NULL;
	held->end = &held->first;
	held->log = l->o.log;
	held->log_arg = l->o.log_arg;
	if (!l->o.log)
		return;
	l->o.log = hold_message;
	l->o.log_arg = held;
}

static void give_messages(struct local *l, struct held_messages *held)
{
	struct message *m;

	l->o.log = held->log;
	l->o.log_arg = held->log_arg;
	while ((m = held->first)) {
		held->first = m->next;
		l->o.log(l->o.log_arg, m->text);
		free(m);
	}
}

/* ---- looking at a file ---- */

static const char *head_wrong(const struct head *head, const struct stat *st)
{
	if ((size_t)st->st_size < sizeof(*head))
		return "it is too short";
	if (head->magic != LOCAL_MAGIC)
		return "it is not a lock space";
	if (head->layout != LOCAL_LAYOUT || head->nodes != NODES || head->shards != SHARDS ||
	    head->buckets != BUCKETS || head->shards_at != HEAD_SIZE ||
	    head->shard_stride != SHARD_STRIDE)
		return "another version of glock made it";
	return (size_t)st->st_size == FILE_SIZE ? NULL : "its size is wrong";
}

/* Checks that the table has a size that it may have, and that a table of that size is there. */
static bool table_sound(const struct local *l, unsigned int i)
{
	const struct shard *s = &l->head->shard[i];
	uint32_t size = s->place[mutex_place(mutex_load(&s->mutex))].size;

	return !size || (size >= SHARD_FIRST && size <= SHARD_STRIDE && size % 64 == 0 &&
			 glock__table_attach(table_at(l, i), size));
}

/* Frees the memory of a place that has no table. */
static void free_place_memory(int fd, unsigned int shard, unsigned int place)
{
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)place_at(shard, place),
		  (off_t)SHARD_STRIDE);
}

/* Frees the places that are not current, and the locks of the table, which have no owner now. */
static void tidy_places(struct shard *s, int fd, unsigned int shard, unsigned int current)
{
	s->mutex.now = (union glock__local_word){.state = mutex_at_place(current)};
	s->thief.now = (union glock__local_word){0};
	for (unsigned int i = 0; i < TABLE_PLACES; i++) {
		s->place[i].user = 0;
		if (i == current)
			continue;
		if (s->place[i].size)
			free_place_memory(fd, shard, i);
		s->place[i].size = 0;
	}
}

/*
 * Brings the table into the state in which its last user would have found it, without the dead
 * nodes. No other node lives.
 */
static const char *tidy_table(struct local *l, int fd, unsigned int i)
{
	struct shard *s = &l->head->shard[i];
	const unsigned int current = mutex_place(mutex_load(&s->mutex));
	struct shard_place *p = &s->place[current];
	struct glock__table *t = table_at(l, i);
	struct glock__table_usage usage;
	const char *wrong;

	tidy_places(s, fd, i, current);
	if (!p->size) {
		/* The last process that removed or made the table may have been killed then. */
		free_place_memory(fd, i, current);
		return NULL;
	}
	if (glock__local_reserve(fd, place_at(i, current), p->size))
		return "no memory";
	wrong = glock__table_salvage(t);
	if (wrong)
		return wrong;
	for (unsigned int node = 0; node < NODES; node++)
		while (glock__table_purge(t, node, UINT32_MAX) > 0)
			;
	while (glock__table_wake(t) >= 0)
		glock__table_woken(t);
	glock__table_usage(t, &usage);
	if (usage.resources)
		return NULL;
	/* The table is empty. The next use makes it anew; until then it takes no memory. */
	p->size = 0;
	free_place_memory(fd, i, current);
	return NULL;
}

/* Empties all slots. Their generations stay, because the ids of later members follow from them. */
static void forget_members(struct local *l)
{
	for (unsigned int i = 0; i < slots_end(l); i++)
		l->head->slot[i] = (struct slot){.generation = l->head->slot[i].generation};
}

/* Puts the file in order. No other node lives. */
static const char *tidy_file(struct local *l, int fd)
{
	const char *wrong = NULL;
	uint64_t seed = glock__local_token_seed();

	for (unsigned int i = 0; i < SHARDS && !wrong; i++)
		wrong = tidy_table(l, fd, i);
	if (wrong)
		return wrong;
	l->head->members.now = (union glock__local_word){0};
	if (l->head->token < seed)
		l->head->token = seed;
	l->head->recovering = 0;
	for (unsigned int i = 0; i < slots_end(l); i++)
		if (l->head->slot[i].state != SLOT_FREE)
			glock__local_remove_own_file(l, i);
	if (!l->o.recovers)
		forget_members(l);
	/* The remains of the dead nodes still have to be recovered, by this node if it can. */
	for (unsigned int i = 0; i < slots_end(l); i++) {
		struct slot *slot = &l->head->slot[i];

		slot->comm[sizeof(slot->comm) - 1] = 0;
		slot->recoverer = 0;
		if (slot->state != SLOT_FREE)
			slot->state = SLOT_RECOVERING;
		l->head->recovering += slot->state == SLOT_RECOVERING;
	}
	if (!l->head->recovering)
		l->head->slots_end = 0;
	return NULL;
}

/* ---- becoming a node ---- */

static void fill_slot(struct local *l, struct slot *slot)
{
	uint32_t generation = slot->generation + 1;
	struct glock__proc self;

	glock__proc_read(getpid(), &self); /* all zero where /proc is not there */
	*slot = (struct slot){.generation = generation,
			      .pid = (uint32_t)getpid(),
			      .uid = (uint32_t)geteuid(),
			      .start = self.start - (uint64_t)l->ns.booted,
			      .pid_namespace = l->ns.pid,
			      .flags = l->o.recovers ? SLOT_RECOVERS : 0};
	memcpy(slot->comm, self.comm, sizeof(slot->comm));
	atom_store32(&slot->state, SLOT_LIVE);
}

/*
 * Takes a slot whose byte this process can lock now. A slot whose owner died, and was not recovered
 * yet, is not free.
 */
static int slot_take(struct local *l, int fd)
{
	for (unsigned int i = 0; i < NODES; i++) {
		struct slot *slot = &l->head->slot[i];
		int err;

		if (atom_load32(&slot->state) != SLOT_FREE)
			continue;
		err = glock__local_byte_lock(fd, F_WRLCK, i);
		if (err == -EAGAIN)
			continue; /* its node left a moment ago, and its lock is still there */
		if (err)
			return err;
		glock__local_forget_victims(l, i);
		l->me = i;
		l->slot = slot;
		if (i >= l->head->slots_end)
			atom_store32(&l->head->slots_end, i + 1);
		fill_slot(l, slot);
		return 0;
	}
	return -EUSERS;
}

static int map_file(struct local *l, int fd)
{
	void *at = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

	if (at == MAP_FAILED || madvise(at, FILE_SIZE, MADV_DONTFORK)) {
		glock__local_say(&l->o, "space %s: cannot map %zu MiB: %s; try ulimit -v unlimited",
				 l->name, FILE_SIZE >> 20, strerror(errno));
		if (at != MAP_FAILED)
			munmap(at, FILE_SIZE);
		return -ENOMEM;
	}
	madvise(at, FILE_SIZE, MADV_RANDOM); /* a disk would read megabytes around each page */
	l->head = at;
	return 0;
}

/*
 * The file is not what it should be. Alone, makes way for a new file: 1. Otherwise returns -EPROTO,
 * and try_to_join() tells the log.
 */
static int replace(struct local *l, bool alone, const char *wrong)
{
	if (!alone) {
		l->wrong = wrong;
		return -EPROTO;
	}
	glock__local_say(&l->o,
			 "space %s: file %s: %s; no process uses it, so this process makes a new "
			 "one",
			 l->name, l->path, wrong);
	if (unlinkat(l->dir, l->file, 0) && errno != ENOENT)
		return -errno;
	return 1;
}

/*
 * Tells whether an heir keeps a node of a mapped file of this version alive. Otherwise the file
 * cannot say which alive files belong to it: glock__local_any_heir().
 */
static bool has_heirs(const struct local *l)
{
	for (unsigned int i = 0; i < slots_end(l); i++) {
		const struct slot *slot = &l->head->slot[i];

		if (slot->state == SLOT_LIVE && slot->heirs &&
		    glock__local_has_heir(l->dir, l->file, i, slot->heirs))
			return true;
	}
	return false;
}

/* Under OPEN_BYTE. Returns 0: this process is a node; 1: begin again; or a negative errno. */
static int join_opened(struct local *l, int fd, const struct stat *st)
{
	const char *wrong = "it is too short";
	int locked = glock__local_bytes_locked(fd, 0, NODES), err;

	if (locked < 0)
		return locked;
	if ((size_t)st->st_size != FILE_SIZE) {
		struct head_start head = {0};
		bool ours = pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
			    head.magic == LOCAL_MAGIC;

		l->layout = head.layout;
		if (ours)
			wrong = head.layout == LOCAL_LAYOUT ? "its size is wrong"
							    : "another version of glock made it";
		locked |= glock__local_any_heir(l->dir, l->file);
		if (ours || !st->st_size)
			return replace(l, !locked, wrong);
		glock__local_say(&l->o, "space %s: %s is not a file of glock; move it away",
				 l->name, l->path);
		return -EMEDIUMTYPE;
	}
	err = map_file(l, fd);
	if (err)
		return err;
	wrong = head_wrong(l->head, st);
	l->layout = l->head->layout;
	if (!locked)
		locked = wrong ? glock__local_any_heir(l->dir, l->file) : has_heirs(l);
	if (!wrong && l->head->removed) {
		/* Moved away and back. Its nodes withdraw, or have withdrawn. */
		wrong = "it was removed, and has come back";
		locked = false;
	} else if (!wrong) {
		l->head->opener = (uint32_t)getpid();
		for (unsigned int i = 0; i < SHARDS && !wrong; i++)
			wrong = table_sound(l, i)
				    ? NULL
				    : "a lock table is damaged, or of another version";
	}
	if (!wrong && !locked)
		wrong = tidy_file(l, fd);
	if (wrong) {
		munmap(l->head, FILE_SIZE);
		l->head = NULL;
		return replace(l, !locked, wrong);
	}
	err = slot_take(l, fd);
	if (!err || (err == -EUSERS && locked))
		glock__local_reap_all(l, err);
	if (err == -EUSERS && locked)
		err = slot_take(l, fd); /* where a node had died */
	if (err == -EUSERS)
		glock__local_say(&l->o,
				 "space %s: all %d places for processes are taken; end a process, "
				 "or take another space",
				 l->name, NODES);
	return err;
}

/* Returns 0; 1: begin again; -EAGAIN: another process opens the space; or another errno. */
static int join_file(struct local *l, int fd)
{
	struct stat st, named;
	int err = fstat(fd, &st) ? -errno : glock__local_trust(l, &st);

	if (!err)
		err = glock__local_byte_lock(fd, F_WRLCK, OPEN_BYTE);
	if (err)
		return err;
	if (fstatat(l->dir, l->file, &named, AT_SYMLINK_NOFOLLOW) || named.st_ino != st.st_ino ||
	    named.st_dev != st.st_dev || fstat(fd, &st))
		return 1; /* the file was replaced meanwhile */
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	l->fd = openat(l->dir, l->file, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (l->fd < 0)
		return -errno;
	err = join_opened(l, fd, &st);
	if (err) {
		if (l->head)
			munmap(l->head, FILE_SIZE);
		l->head = NULL;
		close(l->fd);
		l->fd = -1;
	}
	/* From here on other processes may open the space, because this process is a node. */
	glock__local_byte_lock(fd, F_UNLCK, OPEN_BYTE);
	return err;
}

static int try_to_join(struct local *l)
{
	struct held_messages held;
	char way[256];
	int fd, err;

	hold_messages(l, &held);
	pthread_mutex_lock(&no_fork);
	fd = openat(l->dir, l->file, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	err = fd < 0 ? -errno : join_file(l, fd);
	if (fd >= 0)
		close(fd);
	pthread_mutex_unlock(&no_fork);
	give_messages(l, &held);
	if (err == -EPROTO && l->wrong)
		glock__local_say_users(l);
	if (fd >= 0)
		return err;
	if (err == -ENOENT) {
		err = glock__local_make_file(l);
		return err ? err : 1;
	}
	glock__local_say(&l->o, "space %s: cannot open %s: %s%s", l->name, l->path,
			 err == -ELOOP ? "it is a symbolic link" : strerror(-err),
			 err == -EACCES ? glock__local_way_in(l, way, sizeof(way)) : "");
	return err;
}

/* Returns the pid that the file names as the process that opens the space now, or 0. */
static uint32_t opener_pid(const struct local *l)
{
	int fd = openat(l->dir, l->file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	uint32_t pid = 0;

	if (fd < 0)
		return 0;
	if (pread(fd, &pid, sizeof(pid), offsetof(struct head, opener)) != sizeof(pid))
		pid = 0;
	close(fd);
	return pid;
}

/*
 * A process that opens or replaces the file is soon done, unless the process is stopped. Then the
 * next one comes, and it may take a while until it is the turn of this process.
 */
int glock__local_join(struct local *l)
{
	struct timespec pause = {.tv_nsec = PAUSE_MIN};
	int64_t since = glock__clock(), now;
	uint32_t at_it = 0, pid;
	bool told = false;
	int err;

	glock__proc_namespaces(&l->ns);
	while ((err = try_to_join(l)) == 1 || err == -EAGAIN) {
		if (err == 1)
			continue;
		now = glock__clock();
		pid = opener_pid(l);
		if (pid != at_it)
			since = now;
		at_it = pid;
		if (now - since > TOLD_AFTER && !told) {
			told = true;
			glock__local_say(
			    &l->o,
			    "space %s: this process waits for process %u, which opens the space",
			    l->name, pid);
		}
		if (now - since > OPEN_PATIENCE)
			return -EBUSY;
		nanosleep(&pause, NULL);
		/* Many processes that come at once would keep the first from its work. */
		if (pause.tv_nsec < PAUSE_MAX)
			pause.tv_nsec *= 2;
	}
	return err;
}
