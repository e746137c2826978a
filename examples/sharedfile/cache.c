/* SPDX-License-Identifier: MIT */
/*
 * cache.c - the bytes of a file in memory, and the locks under which they may be there.
 *
 * The inode lock says which bytes may be in memory: none at UN and DF, clean ones in SH, dirty ones
 * in EX. The library calls write_back() and drop() before the lock goes down, while this process
 * has no holder. The rest of this file runs under a holder. The memory's protection follows the
 * lock.
 */
#include "sharedfile_impl.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int protect(struct sf_file *f, int prot)
{
	if (f->prot == prot)
		return 0;
	if (mprotect(f->data, SF_SIZE_MAX, prot))
		return -errno;
	f->prot = prot;
	return 0;
}

int sf_cache_init(struct sf_file *f)
{
	f->data =
	    mmap(NULL, SF_SIZE_MAX, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (f->data == MAP_FAILED)
		return -errno;
	pthread_mutex_init(&f->mutex, NULL);
	return 0;
}

void sf_cache_free(struct sf_file *f)
{
	munmap(f->data, SF_SIZE_MAX);
	pthread_mutex_destroy(&f->mutex);
}

/* ---- operations ---- */

static int write_all(int fd, const unsigned char *data, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = pwrite(fd, data + done, size - done, (off_t)done);
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int write_dirty(struct sf_file *f)
{
	int err = f->dirty ? write_all(f->fd, f->data, f->size) : 0;

	if (!err)
		f->dirty = 0;
	return err;
}

/* Runs before the lock goes down: dirty bytes must be in the file when this returns. */
static int write_back(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	struct sf_file *f = glock_object(gl);
	int err = 0;

	if (!f)
		return 0; /* closed, and clean since then */
	if (sync & GLOCK_CACHES_DATA)
		err = write_dirty(f);
	if (!err && to == GLOCK_SH && f->cached)
		err = protect(f, PROT_READ);
	return err;
}

/* Runs after that. Other nodes may change the file, so the bytes go, and accesses trap. */
static void drop(struct glock *gl, unsigned int what)
{
	struct sf_file *f = glock_object(gl);

	if (!f || !(what & GLOCK_CACHES_DATA))
		return;
	f->cached = 0;
	f->dirty = 0;
	protect(f, PROT_NONE);
	madvise(f->data, SF_SIZE_MAX, MADV_DONTNEED);
}

/* Tools show the path. This runs under the lock's spinlock and must not block. */
static void describe(struct glock *gl, glock_print_fn *print, void *to)
{
	const struct sf_file *f = glock_object(gl);

	if (!f)
		return;
	print(to, " P: ", 4);
	print(to, f->space->path, strlen(f->space->path));
	print(to, "/", 1);
	print(to, f->name, strlen(f->name));
	print(to, "\n", 1);
}

const struct glock_ops sf_inode_ops = {
    .size = sizeof(sf_inode_ops),
    .xmote_th = write_back,
    .inval = drop,
    .dump = describe,
};

/* ---- under the lock ---- */

static int read_in(struct sf_file *f)
{
	struct stat st;
	size_t done = 0;
	ssize_t n;
	int err;

	if (fstat(f->fd, &st))
		return -errno;
	if (st.st_size > (off_t)SF_SIZE_MAX)
		return -EFBIG;
	err = protect(f, PROT_READ | PROT_WRITE);
	while (!err && done < (size_t)st.st_size) {
		n = pread(f->fd, f->data + done, (size_t)st.st_size - done, (off_t)done);
		if (n < 0 && errno != EINTR)
			err = -errno;
		if (!n)
			err = -EIO; /* a process without the lock truncated it */
		done += n > 0 ? (size_t)n : 0;
	}
	f->size = done;
	f->cached = !err;
	return err;
}

/* Takes the lock, with the bytes in memory. */
static int begin(struct sf_file *f, struct glock_holder *gh, enum glock_mode mode)
{
	int err;

	err = glock_lock(f->inode, mode, gh);
	if (err)
		return err;
	pthread_mutex_lock(&f->mutex);
	if (!f->cached) {
		err = read_in(f);
		if (!err && mode == GLOCK_SH)
			err = protect(f, PROT_READ);
	}
	if (!err && mode == GLOCK_EX)
		err = protect(f, PROT_READ | PROT_WRITE);
	pthread_mutex_unlock(&f->mutex);
	if (err)
		glock_dq(gh);
	return err;
}

static size_t within(size_t len, size_t offset, size_t size)
{
	if (offset >= size)
		return 0;
	return len < size - offset ? len : size - offset;
}

ssize_t sf_read(struct sf_file *f, void *buf, size_t len, size_t offset)
{
	struct glock_holder gh;
	int err = begin(f, &gh, GLOCK_SH);

	if (err)
		return err;
	len = within(len, offset, f->size);
	memcpy(buf, f->data + offset, len);
	glock_dq(&gh);
	return (ssize_t)len;
}

ssize_t sf_write(struct sf_file *f, const void *buf, size_t len, size_t offset)
{
	struct glock_holder gh;
	int err;

	if (len > SF_SIZE_MAX || offset > SF_SIZE_MAX - len)
		return -EFBIG;
	err = begin(f, &gh, GLOCK_EX);
	if (err)
		return err;
	if (offset > f->size)
		memset(f->data + f->size, 0, offset - f->size);
	memcpy(f->data + offset, buf, len);
	if (offset + len > f->size)
		f->size = offset + len;
	f->dirty = 1;
	glock_dq(&gh);
	return (ssize_t)len;
}

ssize_t sf_read_direct(struct sf_file *f, void *buf, size_t len, size_t offset)
{
	struct glock_holder gh;
	ssize_t n;
	int err;

	/* EXACT: in SH or EX there may be a cache, on any node, that is newer than the file. */
	glock_holder_init(&gh, f->inode, GLOCK_DF, GLOCK_EXACT);
	err = glock_nq(&gh);
	if (err)
		return err;
	do
		n = pread(f->fd, buf, len, (off_t)offset);
	while (n < 0 && errno == EINTR);
	err = n < 0 ? -errno : 0;
	glock_dq(&gh);
	return err ? err : n;
}

int sf_look(struct sf_file *f, int (*fn)(const void *data, size_t size, void *arg), void *arg)
{
	struct glock_holder gh;
	int err = begin(f, &gh, GLOCK_SH);

	if (err)
		return err;
	err = fn(f->data, f->size, arg);
	glock_dq(&gh);
	return err;
}

int sf_change(struct sf_file *f, int (*fn)(void *data, size_t size, void *arg), void *arg)
{
	struct glock_holder gh;
	int err = begin(f, &gh, GLOCK_EX);

	if (err)
		return err;
	f->dirty = 1;
	err = fn(f->data, f->size, arg);
	glock_dq(&gh);
	return err;
}

/* In SH, which an idle EX serves. If there are dirty bytes, no other node has the lock. */
int sf_sync(struct sf_file *f)
{
	struct glock_holder gh;
	int err;

	err = glock_lock(f->inode, GLOCK_SH, &gh);
	if (err)
		return err;
	pthread_mutex_lock(&f->mutex);
	err = write_dirty(f);
	pthread_mutex_unlock(&f->mutex);
	glock_dq(&gh);
	return err;
}
