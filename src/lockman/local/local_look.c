/* SPDX-License-Identifier: MIT */
/* local_look.c - see local_look.h. */
#include "local_look.h"
#include "local_file.h"
#include "local_nodes.h"

#include "base/way.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- spaces ---- */

/* The file of each version is at least as large. */
#define FILE_SIZE_MIN (SHARDS * SHARD_STRIDE)

/*
 * So many names of one payer's directories are looked at, because a user can make millions. Names
 * of all nodes of four full spaces are 8,196. A look at a directory costs more than at a name.
 */
enum { NAMES_MOST = 1 << 16, NAMES_OF_DIRECTORY = 64 };

struct names {
	uint64_t payer;
	size_t n;
};

/*
 * Users that one user may act as, by the list of subuid(5). In a user namespace a user may make
 * files of each of its subordinate users, often 65,536. Therefore a limit for one user counts them
 * together.
 */
struct subuids {
	struct subuid_range {
		uid_t first, n;
	} * list;
	size_t n;
};

struct looking {
	const struct glock__local_look *how;
	struct subuids subuids;
	struct names *names;
	size_t n_names;
	int n, err; /* err: the look is not complete */
};

/* ---- who pays ---- */

static void subuids_add(struct subuids *s, const char *line)
{
	struct subuid_range r, *more;

	/* Behind the user's name or number. No user stands for root, which has no limit. */
	if (sscanf(line, "%*[^:]:%u:%u", &r.first, &r.n) != 2 || !r.first)
		return;
	more = reallocarray(s->list, s->n + 1, sizeof(*more));
	if (!more)
		return;
	s->list = more;
	more[s->n++] = r;
}

/* Reads /etc/subuid. Without memory or such a file, ranges are missing. */
static void subuids_read(struct subuids *s)
{
	FILE *f = fopen("/etc/subuid", "re");
	char *line = NULL;
	size_t size = 0;

	*s = (struct subuids){0};
	while (f && getline(&line, &size, f) > 0)
		subuids_add(s, line);
	free(line);
	if (f)
		fclose(f);
}

/* Returns the first user of the range that has the user, or the user. */
static uid_t subuids_first(const struct subuids *s, uid_t uid)
{
	for (size_t i = 0; i < s->n; i++)
		if (uid - s->list[i].first < s->list[i].n)
			return s->list[i].first;
	return uid;
}

bool glock__local_payer_free(uint64_t payer)
{
	return !payer || payer == geteuid();
}

/* Returns the payer of a file. For the names in a directory, `file` is NULL. */
static uint64_t payer_of(const struct looking *look, const struct stat *dir,
			 const struct stat *file)
{
	const struct stat *st = file && file->st_nlink == 1 ? file : dir;

	if (file && file->st_mode & (S_IWGRP | S_IWOTH))
		st = file;
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return GLOCK__PAYER_GROUP | st->st_gid;
	return subuids_first(&look->subuids, st->st_uid);
}

/* Returns the count of a payer's names, or NULL without memory. */
static size_t *names_of(struct looking *look, uint64_t payer)
{
	struct names *more;

	for (size_t i = 0; i < look->n_names; i++)
		if (look->names[i].payer == payer)
			return &look->names[i].n;
	more = reallocarray(look->names, look->n_names + 1, sizeof(*more));
	if (!more) {
		look->err = -ENOMEM;
		return NULL;
	}
	look->names = more;
	more[look->n_names] = (struct names){.payer = payer};
	return &more[look->n_names++].n;
}

/* Counts names of a payer. Returns false if they are too many, and says so once. */
static bool may_look(struct looking *look, const char *dir, uint64_t payer, size_t n)
{
	size_t *names = glock__local_payer_free(payer) ? NULL : names_of(look, payer);

	if (!names)
		return glock__local_payer_free(payer);
	if (*names <= NAMES_MOST && *names + n > NAMES_MOST)
		look->how->cut(dir, look->how->arg);
	*names = *names > NAMES_MOST ? *names : *names + n;
	return *names <= NAMES_MOST;
}

/* Notes that something was not looked at, for lack of descriptors or memory. */
static void look_failed(struct looking *look)
{
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
		look->err = -errno;
}

/* Not inlined, because each of the two kinds of files takes a path on the stack. */
GLOCK__NOINLINE static void look_at_outside(int fd, const char *dir, const char *file,
					    struct looking *look)
{
	struct glock__node_file node;

	errno = 0;
	if (!glock__node_file_of(fd, dir, file, &node)) {
		look_failed(look);
		return;
	}
	look->n++;
	look->how->outside(&node, payer_of(look, &node.dir_st, &node.st), look->how->arg);
}

GLOCK__NOINLINE static void look_at_space(int fd, const struct stat *dir_st, const char *dir,
					  const char *file, struct looking *look)
{
	struct glock__local_space space = {.dir = fd, .file = file, .dir_st = *dir_st};
	struct stat st;

	if (glock__local_unescape(file, space.name) ||
	    fstatat(fd, file, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    (size_t)st.st_size < FILE_SIZE_MIN)
		return;
	snprintf(space.path, sizeof(space.path), "%s/%s", dir, file);
	space.uid = st.st_uid;
	space.gid = st.st_gid;
	space.payer = payer_of(look, dir_st, &st);
	space.group = st.st_mode & 0070;
	look->n++;
	look->how->space(&space, look->how->arg);
}

static void look_at(const char *dir, int fd, struct looking *look)
{
	struct stat st;
	DIR *d = fstat(fd, &st) ? NULL : fdopendir(fd);
	struct dirent *entry;
	uint64_t payer;

	if (!d) {
		look_failed(look);
		close(fd);
		return;
	}
	payer = payer_of(look, &st, NULL);
	while ((entry = readdir(d)) && may_look(look, dir, payer, 1)) {
		look_at_outside(fd, dir, entry->d_name, look);
		look_at_space(fd, &st, dir, entry->d_name, look);
	}
	closedir(d);
}

/* Looks in the directory that the caller named. */
static void look_in(const char *dir, struct looking *look)
{
	int fd = glock__way_open_folder(dir);

	errno = fd < 0 ? -fd : 0;
	if (fd >= 0)
		look_at(dir, fd, look);
	else
		look_failed(look);
}

/*
 * Looks in a default directory, which is readable for its user, for the members of its group, and
 * for root. A directory of such a name may belong to another user. Then it is left out, because no
 * process of the named user has a space there.
 */
static void look_in_default(int base, const char *name, struct looking *look)
{
	const bool group = name[6] == 'g';
	const unsigned long id = strtoul(name + 6 + group, NULL, 10);
	char path[64];
	struct stat st;
	int fd;

	if (!group && geteuid() && id != geteuid())
		return;
	/* A user may make any number of such names. A look is cheaper than an open directory. */
	if (fstatat(base, name, &st, AT_SYMLINK_NOFOLLOW) || id != (group ? st.st_gid : st.st_uid))
		return;
	glock__local_dir_path(group ? name : NULL, (uid_t)id, (gid_t)id, path, sizeof(path));
	if (strcmp(strrchr(path, '/') + 1, name) != 0)
		return; /* such as glock-01 */
	if (!may_look(look, path, payer_of(look, &st, NULL), NAMES_OF_DIRECTORY))
		return;
	fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && !fstat(fd, &st) &&
	    glock__local_dir_trusted(&st, group, (uid_t)id, (gid_t)id))
		look_at(path, fd, look);
	else if (fd >= 0)
		close(fd);
	else
		look_failed(look);
}

/* Looks in each directory in which spaces of this machine may lie. */
int glock__local_look(const struct glock__local_look *how)
{
	struct looking l = {.how = how}, *look = &l;
	const char *said = secure_getenv("GLOCK_DIR");
	struct dirent *entry;
	DIR *base;

	subuids_read(&l.subuids);
	base = said && *said ? NULL : opendir(GLOCK__LOCAL_BASE);
	if (said && *said) /* takes the place of all others */
		look_in(said, look);
	else if (!base)
		look_failed(look);
	while (base && (entry = readdir(base)))
		if (!strncmp(entry->d_name, "glock-", 6))
			look_in_default(dirfd(base), entry->d_name, look);
	if (base)
		closedir(base);
	free(l.subuids.list);
	free(l.names);
	return look->err ? look->err : look->n;
}

bool glock__local_default_dir_trusted(char *path, size_t size, struct stat *st)
{
	glock__local_dir_path(NULL, geteuid(), 0, path, size);
	return lstat(path, st) || glock__local_dir_trusted(st, false, geteuid(), 0);
}

/* ---- nodes ---- */

/* Opens the file if it is a space's, of any version. Otherwise returns a negative errno. */
static int open_any_version(int dir, const char *file, int flags, struct head_start *head)
{
	int fd = openat(dir, file, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (pread(fd, head, sizeof(*head), 0) == sizeof(*head) && head->magic == LOCAL_MAGIC)
		return fd;
	close(fd);
	return -EPROTO;
}

/*
 * Opens a space's file of this version. Another version gives -EPROTONOSUPPORT. F_OFD_GETLK for a
 * write lock writes nothing, so O_RDONLY is enough.
 */
static int open_space(int dir, const char *file, int flags)
{
	struct head_start head;
	int fd = open_any_version(dir, file, flags, &head);

	if (fd < 0 || (head.layout == LOCAL_LAYOUT && head.nodes == NODES))
		return fd;
	close(fd);
	return -EPROTONOSUPPORT;
}

/* A call for each slot would take seconds for a user's thousands of spaces without nodes. */
enum { SLOTS_READ = 16 };
static_assert(NODES % SLOTS_READ == 0, "the last read is whole");

int glock__local_each_node(const struct glock__local_space *space,
			   void (*fn)(const struct glock__local_node *node, void *arg), void *arg)
{
	int fd = open_space(space->dir, space->file, O_RDONLY), n = 0;
	struct slot slots[SLOTS_READ];
	uint32_t end = 0;

	if (fd < 0)
		return fd;
	if (pread(fd, &end, sizeof(end), offsetof(struct head, slots_end)) != sizeof(end))
		end = 0;
	for (uint32_t i = 0; i < end && i < NODES; i++) {
		const off_t at = (off_t)(offsetof(struct head, slot) + i * sizeof(struct slot));
		const struct slot *slot = &slots[i % SLOTS_READ];
		struct glock__local_node node = {.slot = i};

		if (slot == slots && pread(fd, slots, sizeof(slots), at) != sizeof(slots))
			break;
		if (slot->state == SLOT_FREE)
			continue;
		node.generation = slot->generation;
		node.pid = (pid_t)slot->pid;
		node.uid = slot->uid;
		node.start = slot->start;
		node.pid_namespace = slot->pid_namespace;
		memcpy(node.comm, slot->comm, sizeof(node.comm));
		node.comm[sizeof(node.comm) - 1] = 0;
		node.process = slot->state == SLOT_LIVE && glock__local_bytes_locked(fd, i, 1);
		node.alive = node.process ||
			     (slot->state == SLOT_LIVE && slot->heirs &&
			      glock__local_has_heir(space->dir, space->file, i, slot->heirs));
		glock__local_own_name(node.file, space->file, i);
		if (faccessat(space->dir, node.file, F_OK, AT_SYMLINK_NOFOLLOW))
			node.file[0] = 0;
		n++;
		fn(&node, arg);
	}
	close(fd);
	return n;
}

int glock__local_open_dir(const char *path, const struct stat *found, const char **file)
{
	char dir[GLOCK__LOCAL_PATH_MAX];
	struct stat st;
	int fd, err;

	*file = strrchr(path, '/') + 1;
	snprintf(dir, sizeof(dir), "%.*s", (int)(*file - path), path);
	/* A slash at the end would follow a link. */
	for (char *end = strchr(dir, '\0') - 1; end > dir && *end == '/'; end--)
		*end = '\0';
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOTDIR ? -ELOOP : -errno;
	err = fstat(fd, &st) ? -errno : 0;
	if (!err && (st.st_dev != found->st_dev || st.st_ino != found->st_ino))
		err = -ESTALE;
	if (err)
		close(fd);
	return err ? err : fd;
}

int glock__local_ring_control(int dir, const char *file, unsigned int slot)
{
	int fd = slot < NODES ? open_space(dir, file, O_RDWR) : -EINVAL, err;
	struct head *head;

	if (fd < 0)
		return fd;
	head = mmap(NULL, HEAD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = head == MAP_FAILED ? -errno : 0;
	close(fd);
	if (err)
		return err;
	if (glock__local_ring(&head->slot[slot], BELL_CONTROL))
		glock__local_wake(&head->slot[slot]);
	munmap(head, HEAD_SIZE);
	return 0;
}

/* ---- removing ---- */

/*
 * Removes the space's file last. As soon as its name is free, a new space may take the name and
 * have files of its nodes.
 */
static int unlink_all(int dir, const char *file)
{
	for (unsigned int i = 0; i < NODES; i++) {
		char name[GLOCK__LOCAL_NODE_FILE_MAX];

		glock__local_own_name(name, file, i);
		unlinkat(dir, name, 0); /* of a node that died last */
		glock__local_alive_name(name, file, i);
		unlinkat(dir, name, 0);
	}
	return unlinkat(dir, file, 0) ? -errno : 0;
}

/*
 * In each version, a process that lives in a space or opens it has a lock on the file. If this
 * process can lock the whole file, there is no such process. While it has that lock, no process
 * becomes a node. Only heirs may be left, and they have locks on alive files.
 */
int glock__local_remove(int dir, const char *file)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct head_start head;
	int fd = open_any_version(dir, file, O_RDWR, &head), err = 0;
	struct stat st, named;

	if (fd < 0)
		return fd;
	if (fcntl(fd, F_OFD_SETLK, &all))
		err = errno == EACCES || errno == EAGAIN ? -EBUSY : -errno;
	else if (fstat(fd, &st) || fstatat(dir, file, &named, AT_SYMLINK_NOFOLLOW) ||
		 st.st_ino != named.st_ino || st.st_dev != named.st_dev)
		err = -ESTALE;
	else if (glock__local_any_heir(dir, file))
		err = -EBUSY;
	else
		err = unlink_all(dir, file);
	close(fd);
	return err;
}
