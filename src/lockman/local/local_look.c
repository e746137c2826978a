/* SPDX-License-Identifier: MIT */
/* local_look.c - see local_look.h. */
#include "local_look.h"
#include "local_impl.h"

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

struct looking {
	void (*fn)(const struct glock__local_space *space, void *arg);
	void (*outside)(const struct glock__node_file *node, void *arg);
	void *arg;
	int n;
	bool opened;
};

static void look_at_outside(const char *dir, const char *file, struct looking *look)
{
	struct glock__node_file node;

	if (!glock__node_file_of(dir, file, &node))
		return;
	look->n++;
	look->outside(&node, look->arg);
}

/* found: only its name says which user the directory belongs to, and it may be a symbolic link. */
static void look_in(const char *dir, bool found, struct looking *look)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (found ? O_NOFOLLOW : 0));
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (fd >= 0 && !d)
		close(fd);
	look->opened = d;
	while (d && (entry = readdir(d))) {
		struct glock__local_space space = {0};
		struct stat st;

		if (look->outside)
			look_at_outside(dir, entry->d_name, look);
		if (!look->fn || glock__local_unescape(entry->d_name, space.name) ||
		    fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode) || (size_t)st.st_size < FILE_SIZE_MIN)
			continue;
		snprintf(space.path, sizeof(space.path), "%s/%s", dir, entry->d_name);
		space.uid = st.st_uid;
		space.gid = st.st_gid;
		space.group = st.st_mode & 0070;
		look->n++;
		look->fn(&space, look->arg);
	}
	if (d)
		closedir(d);
}

/* Looks in each directory in which spaces of this machine may lie. */
static int look_everywhere(struct looking *look)
{
	const char *said = secure_getenv("GLOCK_DIR");
	char path[GLOCK__LOCAL_PATH_MAX], own[64];
	struct dirent *entry;
	DIR *base;

	if (said && *said) { /* takes the place of all others */
		look_in(said, false, look);
		return look->n;
	}
	base = opendir(GLOCK__LOCAL_BASE);
	snprintf(own, sizeof(own), "glock-%u", (unsigned int)geteuid());
	while (base && (entry = readdir(base))) {
		/* Readable: the user's own directory; a group's for its members; all for root. */
		if (strncmp(entry->d_name, "glock-", 6) ||
		    (strcmp(entry->d_name, own) && entry->d_name[6] != 'g' && geteuid()))
			continue;
		if (entry->d_name[6 + (entry->d_name[6] == 'g')] < '0' ||
		    entry->d_name[6 + (entry->d_name[6] == 'g')] > '9')
			continue;
		snprintf(path, sizeof(path), GLOCK__LOCAL_BASE "/%s", entry->d_name);
		look_in(path, true, look);
	}
	if (base)
		closedir(base);
	return look->n;
}

int glock__local_each_space(const char *dir,
			    void (*fn)(const struct glock__local_space *space, void *arg),
			    void *arg)
{
	struct looking look = {.fn = fn, .arg = arg};

	if (!dir)
		return look_everywhere(&look);
	look_in(dir, false, &look);
	return look.opened ? look.n : -errno;
}

int glock__local_each_outside(void (*fn)(const struct glock__node_file *node, void *arg), void *arg)
{
	struct looking look = {.outside = fn, .arg = arg};

	return look_everywhere(&look);
}

/* ---- nodes ---- */

static bool byte_locked(int fd, off_t at, off_t n)
{
	struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = n};

	return fcntl(fd, F_OFD_GETLK, &fl) || fl.l_type != F_UNLCK;
}

/* Opens the file if it is a space's, of any version. Otherwise returns a negative errno. */
static int open_any_version(const char *path, int flags, struct head *head)
{
	int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (pread(fd, head, offsetof(struct head, token), 0) ==
		(ssize_t)offsetof(struct head, token) &&
	    head->magic == LOCAL_MAGIC)
		return fd;
	close(fd);
	return -EPROTO;
}

/*
 * Opens a space's file of this version. Another version gives -EPROTONOSUPPORT. F_OFD_GETLK for a
 * write lock writes nothing, so O_RDONLY is enough.
 */
static int open_space(const char *path, int flags)
{
	struct head head;
	int fd = open_any_version(path, flags, &head);

	if (fd < 0 || (head.layout == LOCAL_LAYOUT && head.nodes == NODES))
		return fd;
	close(fd);
	return -EPROTONOSUPPORT;
}

int glock__local_each_node(const char *path,
			   void (*fn)(const struct glock__local_node *node, void *arg), void *arg)
{
	int fd = open_space(path, O_RDONLY), n = 0;
	uint32_t end = 0;

	if (fd < 0)
		return fd;
	if (pread(fd, &end, sizeof(end), offsetof(struct head, slots_end)) != sizeof(end))
		end = 0;
	for (uint32_t i = 0; i < end && i < NODES; i++) {
		const off_t at = (off_t)(offsetof(struct head, slot) + i * sizeof(struct slot));
		struct glock__local_node node = {.slot = i};
		struct slot slot;

		if (pread(fd, &slot, sizeof(slot), at) != sizeof(slot) || slot.state == SLOT_FREE)
			continue;
		node.generation = slot.generation;
		node.pid = (pid_t)slot.pid;
		node.uid = slot.uid;
		node.start = slot.start;
		memcpy(node.comm, slot.comm, sizeof(node.comm));
		node.comm[sizeof(node.comm) - 1] = 0;
		node.alive = slot.state == SLOT_LIVE && byte_locked(fd, i, 1);
		snprintf(node.file, sizeof(node.file), "%.*s,%u", GLOCK__LOCAL_PATH_MAX - 16, path,
			 i);
		if (access(node.file, F_OK))
			node.file[0] = 0;
		n++;
		fn(&node, arg);
	}
	close(fd);
	return n;
}

int glock__local_ring_control(const char *path, unsigned int slot)
{
	int fd = slot < NODES ? open_space(path, O_RDWR) : -EINVAL, err;
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
static int unlink_all(const char *path)
{
	for (unsigned int i = 0; i < NODES; i++) {
		char own[GLOCK__LOCAL_PATH_MAX];

		snprintf(own, sizeof(own), "%.*s,%u", GLOCK__LOCAL_PATH_MAX - 16, path, i);
		unlink(own); /* of a node that died last */
	}
	return unlink(path) ? -errno : 0;
}

/*
 * In each version, a process that lives in a space or opens it has a lock on the file. If this
 * process can lock the whole file, there is no such process. While it has that lock, no process
 * becomes a node.
 */
int glock__local_remove(const char *path)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct head head;
	int fd = open_any_version(path, O_RDWR, &head), err = 0;
	struct stat st, named;

	if (fd < 0)
		return fd;
	if (fcntl(fd, F_OFD_SETLK, &all))
		err = errno == EACCES || errno == EAGAIN ? -EBUSY : -errno;
	else if (fstat(fd, &st) || lstat(path, &named) || st.st_ino != named.st_ino ||
		 st.st_dev != named.st_dev)
		err = -ESTALE;
	else
		err = unlink_all(path);
	close(fd);
	return err;
}
