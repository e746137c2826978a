/* SPDX-License-Identifier: MIT */
/*
 * dlm_dev.c - see dlm_dev.h.
 *
 * The library uses the light libdlm, which starts no thread. The struct that begins each request
 * says for which version of the device it is. This is 6.0.x, which kernels have had since 2009.
 */
#include "dlm_dev.h"
#include "dlm_cluster.h"

#include "base/cancel.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dlm.h>
#include <linux/dlm_device.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static_assert(GLOCK__LVB_LEN == DLM_USER_LVB_LEN, "value blocks have the DLM's size");
static_assert(GLOCK__RESNAME_MAX == DLM_RESNAME_MAXLEN, "names have the DLM's size");
static_assert(GLOCK__LKF_FORCEUNLOCK == DLM_LKF_FORCEUNLOCK, "flags have the DLM's values");

/* ---- libdlm, if there is one ---- */

struct glock__libdlm {
	void *(*new_lockspace)(const char *name, mode_t mode, uint32_t flags);
	void *(*open_lockspace)(const char *name);
	int (*close_lockspace)(void *ls);
	int (*release_lockspace)(const char *name, void *ls, int force);
	int (*get_fd)(void *ls);
};

static struct glock__libdlm libdlm;
static bool libdlm_there;

static void load_libdlm(void)
{
	static const char *const names[] = {
	    "dlm_new_lockspace",     "dlm_open_lockspace", "dlm_close_lockspace",
	    "dlm_release_lockspace", "dlm_ls_get_fd",
	};

	static_assert(sizeof(libdlm) == sizeof(names), "each function has a name");
	libdlm_there =
	    glock__load("libdlm_lt.so.3", names, sizeof(names) / sizeof(*names), &libdlm);
}

static const struct glock__libdlm *library(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load_libdlm);
	return libdlm_there ? &libdlm : NULL;
}

/* ---- one process at a time ---- */

enum { AGAIN_MS = 10, PATIENCE_MS = 30000 };

/*
 * Locks the control device, so that one process of the machine makes a lockspace at a time.
 *
 * The kernel registers a lockspace's device without a lock (dlm_device_register() in
 * fs/dlm/user.c). If several processes make the same lockspace, two of them may register at the
 * same time. Then the kernel's list of misc devices is a circle. A process that opens another misc
 * device next goes round in the circle for ever, and the machine stands still. Or the second
 * process is told a number that the device has not got yet.
 *
 * The lock is an flock(2) on the control device, because each process of the machine has that
 * device. The lock ends with the process, and with the last child that was forked meanwhile.
 *
 * No process waits in the kernel for the lock. Its holder may be stopped, and the waiter may have
 * to leave meanwhile. A process that may open the device can keep others out. On Debian such a
 * process can do so by much else, too.
 *
 * Leaving a lockspace needs no such care, and must not wait for other processes. If a process
 * closes the device while the lockspace is stopped, it waits in the kernel. It waits until another
 * process of this machine has the lockspace started (let_go() in dlm_watch.c).
 *
 * Returns a descriptor. -EALREADY: another process makes a lockspace now.
 */
static int lock_control_device(void)
{
	char path[GLOCK__CLUSTER_DEVICE];
	int fd;

	if (!glock__cluster_device("dlm-control", path))
		return -ENODEV;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		int err = errno == EWOULDBLOCK ? -EALREADY : -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* Unlocks by hand, because a child that was forked meanwhile has the descriptor open, too. */
static void unlock_control_device(int fd)
{
	if (fd < 0)
		return;
	flock(fd, LOCK_UN);
	close(fd);
}

/* ---- opening ---- */

static bool path_exists(const char *path)
{
	return !access(path, F_OK);
}

static bool no_module(const char *name)
{
	(void)name;
	return !path_exists("/sys/kernel/dlm");
}

static bool cluster_is(enum glock__cluster_state state, const char *name)
{
	struct glock__cluster c;
	bool is;

	glock__cluster_open(&c);
	is = glock__cluster_look(&c, name) == state;
	glock__cluster_close(&c);
	return is;
}

static bool no_daemon(const char *name)
{
	return cluster_is(GLOCK__CLUSTER_NO_DAEMON, name);
}

static bool no_device(const char *name)
{
	char path[GLOCK__CLUSTER_DEVICE];

	(void)name;
	return !glock__cluster_device("dlm-control", path);
}

static bool no_quorum(const char *name)
{
	return cluster_is(GLOCK__CLUSTER_NO_QUORUM, name);
}

/* RHEL has them in its repository of high availability, SLES in its extension of the same name. */
#define DAEMON_PACKAGES \
	"(packages: Debian corosync dlm-controld, RHEL corosync dlm, SLES corosync libdlm)"

/* From the bottom up: an administrator starts with the first thing that is missing. */
static const struct {
	bool (*missing)(const char *lockspace);
	int err;
	const char *why;
} needs[] = {
    {no_module, -ENODEV, "this kernel has no DLM; try modprobe dlm"},
    {no_daemon, -ENODEV,
     "dlm_controld does not run; try systemctl start corosync dlm " DAEMON_PACKAGES},
    {no_device, -ENODEV,
     "/dev/misc/dlm-control does not exist: install udev's rule 51-dlm.rules " DAEMON_PACKAGES},
    {no_quorum, -ENETDOWN,
     "the cluster has no quorum, so no node can join; corosync-quorumtool -s shows the missing "
     "nodes"},
};

/* Looks for what is missing first, because libdlm's calls wait for ever for some of that. */
static int look_for_needs(const char *name, char *why, size_t size)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++) {
		if (!needs[i].missing(name))
			continue;
		snprintf(why, size, "lockspace %s: %s", name, needs[i].why);
		return needs[i].err;
	}
	return 0;
}

static void explain(const char *name, int err, char *why, size_t size)
{
	if (err == -EACCES || err == -EPERM)
		snprintf(why, size,
			 "lockspace %s: no permission; a new lockspace needs root (CAP_SYS_ADMIN), "
			 "an existing one needs read and write permission on /dev/misc/dlm_%s",
			 name, name);
	else if (err == -EALREADY)
		snprintf(why, size,
			 "lockspace %s: another process of this machine is making a lockspace and "
			 "has locked /dev/misc/dlm-control; /proc/locks shows its pid",
			 name);
	else
		snprintf(why, size,
			 "lockspace %s: %s; dlm_tool status shows the state of the cluster", name,
			 strerror(-err));
}

static bool good_name(const char *name)
{
	size_t len = strlen(name);

	return len && len < sizeof(((struct glock__dlm_dev *)NULL)->name) && !strchr(name, '/') &&
	       *name != '.';
}

static int prepare(struct glock__dlm_dev *dev, const char *name, char *why, size_t size)
{
	*dev = (struct glock__dlm_dev){.fd = -1};
	if (!good_name(name)) {
		snprintf(why, size,
			 "lockspace '%s': a name has 1 to 64 characters, no '/', and no dot first",
			 name);
		return -EINVAL;
	}
	snprintf(dev->name, sizeof(dev->name), "%s", name);
	dev->lib = library();
	if (dev->lib)
		return 0;
	snprintf(
	    why, size,
	    "lockspace %s: libdlm_lt.so.3 is missing; install it (packages: Debian libdlm3, RHEL "
	    "dlm-lib, SLES libdlm3)",
	    name);
	return -ENOPKG;
}

static int set_up(struct glock__dlm_dev *dev)
{
	int flags, err = 0;

	dev->fd = dev->lib->get_fd(dev->ls);
	flags = fcntl(dev->fd, F_GETFL);
	if (flags < 0 || fcntl(dev->fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(dev->fd, F_SETFD, FD_CLOEXEC) < 0) {
		err = -errno;
		glock__dlm_close(dev, false);
	}
	return err;
}

/* Makes the lockspace, or opens one that exists. */
static int join_lockspace(struct glock__dlm_dev *dev)
{
	int fd = lock_control_device(), err;

	/* Without access a process may not make a lockspace. It may still open one that exists. */
	if (fd < 0 && fd != -EACCES && fd != -EPERM)
		return fd;
	errno = 0;
	dev->ls = dev->lib->new_lockspace(dev->name, 0600, 0);
	if (!dev->ls)
		dev->ls = dev->lib->open_lockspace(dev->name);
	err = dev->ls ? 0 : errno ? -errno : -EIO;
	unlock_control_device(fd);
	return err ? err : set_up(dev);
}

int glock__dlm_open(struct glock__dlm_dev *dev, const char *name,
		    void (*waits)(void *arg, const char *why), void *arg, char *why, size_t size)
{
	const struct timespec moment = {.tv_nsec = 1000000ll * AGAIN_MS};
	int err = prepare(dev, name, why, size);

	err = err ? err : look_for_needs(name, why, size);
	if (err)
		return err;
	for (int i = 1; (err = join_lockspace(dev)) == -EALREADY; i++) {
		if (i % (PATIENCE_MS / AGAIN_MS) == 0 && waits) {
			explain(name, err, why, size);
			waits(arg, why);
		}
		nanosleep(&moment, NULL);
	}
	if (err)
		explain(name, err, why, size);
	return err;
}

int glock__dlm_open_again(struct glock__dlm_dev *dev)
{
	return join_lockspace(dev);
}

/* ---- leaving ---- */

/* Tells whether /proc/PID/fd has the device, as far as this process may look. */
static bool has_open(const char *pid, const char *lockspace)
{
	char path[320], link[160];
	const char *base;
	struct dirent *e;
	bool has = false;
	ssize_t n;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	while (dir && !has && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, e->d_name);
		n = readlink(path, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		base = strrchr(link, '/');
		has = !strncmp(link, "/dev/", 5) && !strncmp(base, "/dlm_", 5) &&
		      !strcmp(base + 5, lockspace);
	}
	if (dir)
		closedir(dir);
	return has;
}

/* Returns the pid of another process that has the lockspace open, or 0. */
static long other_user(const char *lockspace)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	long found = 0;

	while (dir && !found && (e = readdir(dir)))
		if (*e->d_name > '0' && *e->d_name <= '9' && atol(e->d_name) != getpid() &&
		    has_open(e->d_name, lockspace))
			found = atol(e->d_name);
	if (dir)
		closedir(dir);
	return found;
}

static bool lockspace_exists(const char *lockspace)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/kernel/dlm/%s", lockspace);
	return path_exists(path);
}

/* A process that leaves the lockspace needs a moment. The lockspace has no device then. */
static bool lockspace_leaves(const char *lockspace)
{
	const struct timespec moment = {.tv_nsec = 20000000};

	for (int i = 0; lockspace_exists(lockspace) && i < 100; i++)
		nanosleep(&moment, NULL);
	return !lockspace_exists(lockspace);
}

/*
 * Releases the lockspace once for each process that opened it and did not leave. libdlm reports
 * success, whatever happened.
 */
static int release_forced(const struct glock__libdlm *lib, const char *lockspace)
{
	for (int i = 0; lockspace_exists(lockspace) && i < 1000; i++) {
		void *ls;
		int err;

		errno = 0;
		ls = lib->open_lockspace(lockspace);
		err = errno ? -errno : -EIO;
		if (!ls)
			return lockspace_leaves(lockspace) ? 0 : err;
		lib->release_lockspace(lockspace, ls, 2);
	}
	return lockspace_exists(lockspace) ? -EBUSY : 0;
}

void glock__dlm_close(struct glock__dlm_dev *dev, bool release)
{
	if (!dev->ls)
		return;
	/*
	 * The kernel counts the processes that made the lockspace, or would have. It leaves when
	 * the last of them releases. Without force it does not leave while it has any lock here.
	 * That includes locks of other nodes whose master it is: those move. With force it would
	 * also drop the locks of processes here that may only open the lockspace. Such processes
	 * are not counted.
	 */
	if (!release)
		dev->lib->close_lockspace(dev->ls);
	else
		dev->lib->release_lockspace(dev->name, dev->ls, other_user(dev->name) ? 0 : 2);
	dev->ls = NULL;
	dev->fd = -1;
}

int glock__dlm_remove(const char *name, char *why, size_t size)
{
	struct glock__dlm_dev dev;
	int err = prepare(&dev, name, why, size);
	long user;

	if (err)
		return err;
	if (!lockspace_exists(name)) {
		snprintf(why, size,
			 "lockspace %s: this machine has not joined it; dlm_tool ls lists its "
			 "lockspaces",
			 name);
		return -ENOENT;
	}
	if (glock__cluster_of_gfs2(name)) {
		snprintf(why, size,
			 "lockspace %s: a mounted GFS2 uses it; unmount that file system first",
			 name);
		return -EBUSY;
	}
	user = other_user(name);
	if (user) {
		snprintf(why, size, "lockspace %s: process %ld has it open; end that process first",
			 name, user);
		return -EBUSY;
	}
	glock__cluster_release(name); /* otherwise closing it would wait for ever */
	err = release_forced(dev.lib, name);
	glock__cluster_tidy(name);
	if (err)
		explain(name, err, why, size);
	return err;
}

/* ---- requests ---- */

/* These only have to differ: the kernel hands one of them back with each result. */
#define CAST ((void *)1)
#define BAST ((void *)2)

union request {
	struct dlm_write_request head;
	char room[sizeof(struct dlm_write_request) + DLM_RESNAME_MAXLEN]; /* for the name */
};

static void fill_request(union request *r, const struct glock__dlm_call *call, uint8_t cmd)
{
	struct dlm_lock_params *p = &r->head.i.lock;

	memset(r, 0, sizeof(*r));
	r->head.version[0] = DLM_DEVICE_VERSION_MAJOR;
	r->head.version[1] = DLM_DEVICE_VERSION_MINOR;
	r->head.version[2] = DLM_DEVICE_VERSION_PATCH;
	r->head.cmd = cmd;
	r->head.is64bit = sizeof(void *) == 8;
	p->mode = (uint8_t)call->mode;
	p->flags = call->flags;
	p->lkid = call->lkid;
	p->castparam = (void *)call->tag;
	p->castaddr = CAST;
	p->bastparam = (void *)call->tag;
	p->bastaddr = call->no_bast ? NULL : BAST;
	p->lksb = (struct dlm_lksb *)CAST; /* must not be NULL; handed back, not used */
	if (call->lvb)
		memcpy(p->lvb, call->lvb, GLOCK__LVB_LEN);
}

static ssize_t write_request(struct glock__dlm_dev *dev, const void *request, size_t size)
{
	GLOCK__NO_CANCEL;
	ssize_t n;

	do
		n = write(dev->fd, request, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

int64_t glock__dlm_lock(struct glock__dlm_dev *dev, const struct glock__dlm_call *call)
{
	union request r;
	size_t len = call->flags & GLOCK__LKF_CONVERT ? 0 : call->namelen;

	if (len > DLM_RESNAME_MAXLEN)
		return -EINVAL;
	fill_request(&r, call, DLM_USER_LOCK);
	r.head.i.lock.namelen = (uint8_t)len;
	if (len)
		memcpy((char *)&r + offsetof(struct dlm_write_request, i.lock.name), call->name,
		       len);
	return write_request(dev, &r, sizeof(struct dlm_write_request) + len);
}

int glock__dlm_unlock(struct glock__dlm_dev *dev, const struct glock__dlm_call *call)
{
	union request r;
	ssize_t n;

	fill_request(&r, call, DLM_USER_UNLOCK);
	n = write_request(dev, &r, sizeof(struct dlm_write_request));
	return n < 0 ? (int)n : 0;
}

/* ---- results ---- */

int glock__dlm_read(struct glock__dlm_dev *dev, struct glock__dlm_result *result)
{
	GLOCK__NO_CANCEL;
	union {
		struct dlm_lock_result head;
		char room[sizeof(struct dlm_lock_result) + GLOCK__LVB_LEN];
	} r;
	ssize_t n;

	do
		n = read(dev->fd, &r, sizeof(r));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if ((size_t)n < sizeof(r.head))
		return n ? -EBADMSG : 0;
	*result = (struct glock__dlm_result){
	    .tag = (uintptr_t)r.head.user_astparam,
	    .bast = r.head.user_astaddr == BAST,
	    .mode = r.head.bast_mode,
	    .status = r.head.lksb.sb_status,
	    .lkid = r.head.lksb.sb_lkid,
	    .sbflags = (unsigned char)r.head.lksb.sb_flags,
	};
	if (r.head.lvb_offset && r.head.lvb_offset + GLOCK__LVB_LEN <= (size_t)n) {
		result->has_lvb = true;
		memcpy(result->lvb, (char *)&r + r.head.lvb_offset, GLOCK__LVB_LEN);
	}
	return 1;
}
