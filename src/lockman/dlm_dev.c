/* SPDX-License-Identifier: MIT */
/*
 * dlm_dev.c - see dlm_dev.h.
 *
 * The light libdlm is used, which starts no thread. The struct that begins every request says which
 * version of the device it is for: this is 6.0.x, which kernels have had since 2009.
 */
#include "dlm_dev.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dlm.h>
#include <linux/dlm_device.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static_assert(GLOCK__LVB_LEN == DLM_USER_LVB_LEN, "value block");
static_assert(GLOCK__RESNAME_MAX == DLM_RESNAME_MAXLEN, "resource name");
static_assert(GLOCK__LKF_FORCEUNLOCK == DLM_LKF_FORCEUNLOCK, "flags have the DLM's values");

/* ---- libdlm, if there is one ---- */

struct glock__libdlm {
	void *(*new_lockspace)(const char *name, mode_t mode, uint32_t flags);
	void *(*open_lockspace)(const char *name);
	int (*close_lockspace)(void *ls);
	int (*release_lockspace)(const char *name, void *ls, int force);
	int (*get_fd)(void *ls);
};

static const struct {
	const char *name;
	size_t at;
} symbols[] = {
    {"dlm_new_lockspace", offsetof(struct glock__libdlm, new_lockspace)},
    {"dlm_open_lockspace", offsetof(struct glock__libdlm, open_lockspace)},
    {"dlm_close_lockspace", offsetof(struct glock__libdlm, close_lockspace)},
    {"dlm_release_lockspace", offsetof(struct glock__libdlm, release_lockspace)},
    {"dlm_ls_get_fd", offsetof(struct glock__libdlm, get_fd)},
};

static struct glock__libdlm libdlm;
static bool libdlm_there;

/* Once for the process; the library stays. */
static void load(void)
{
	void *handle = dlopen("libdlm_lt.so.3", RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *symbol = dlsym(handle, symbols[i].name);

		if (!symbol) {
			dlclose(handle);
			return;
		}
		memcpy((char *)&libdlm + symbols[i].at, &symbol, sizeof(symbol));
	}
	libdlm_there = true;
}

static const struct glock__libdlm *library(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return libdlm_there ? &libdlm : NULL;
}

/* ---- opening ---- */

static bool there(const char *path)
{
	struct stat st;

	return !stat(path, &st);
}

/* What is missing, from the bottom up: an administrator goes on from the first thing that is. */
static int explain(const char *name, int err, char *why, size_t size)
{
	if (!there("/sys/kernel/dlm"))
		snprintf(why, size,
			 "lockspace %s: this kernel has no DLM: modprobe dlm (Debian: linux-image)",
			 name);
	else if (!there("/sys/kernel/config/dlm/cluster"))
		snprintf(
		    why, size,
		    "lockspace %s: the DLM is not configured: start corosync, then dlm_controld "
		    "(systemctl start dlm)",
		    name);
	else if (!there("/dev/misc/dlm-control") && !there("/dev/dlm-control"))
		snprintf(
		    why, size,
		    "lockspace %s: no /dev/misc/dlm-control: udev's rule 51-dlm.rules is missing",
		    name);
	else if (err == -EACCES || err == -EPERM)
		snprintf(
		    why, size,
		    "lockspace %s: not allowed: making one needs root (CAP_SYS_ADMIN), opening "
		    "one needs read and write on /dev/misc/dlm_%s",
		    name, name);
	else
		snprintf(why, size, "lockspace %s: %s; dlm_tool status says how the cluster is",
			 name, strerror(-err));
	return !there("/sys/kernel/config/dlm/cluster") ? -ENODEV : err;
}

static bool good_name(const char *name)
{
	size_t len = strlen(name);

	return len && len < sizeof(((struct glock__dlm_dev *)NULL)->name) && !strchr(name, '/') &&
	       *name != '.';
}

int glock__dlm_open(struct glock__dlm_dev *dev, const char *name, char *why, size_t size)
{
	int flags;

	*dev = (struct glock__dlm_dev){.fd = -1};
	if (!good_name(name)) {
		snprintf(why, size,
			 "lockspace '%s': 1 to 64 characters without '/', not a dot first", name);
		return -EINVAL;
	}
	dev->lib = library();
	if (!dev->lib) {
		snprintf(
		    why, size,
		    "lockspace %s: libdlm_lt.so.3 is missing (Debian: apt-get install libdlm3)",
		    name);
		return -ENOPKG;
	}
	snprintf(dev->name, sizeof(dev->name), "%s", name);
	errno = 0;
	dev->ls = dev->lib->new_lockspace(name, 0600, 0);
	if (!dev->ls)
		dev->ls = dev->lib->open_lockspace(name);
	if (!dev->ls)
		return explain(name, errno ? -errno : -EIO, why, size);
	dev->fd = dev->lib->get_fd(dev->ls);
	flags = fcntl(dev->fd, F_GETFL);
	if (flags < 0 || fcntl(dev->fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(dev->fd, F_SETFD, FD_CLOEXEC) < 0) {
		int err = -errno;

		snprintf(why, size, "lockspace %s: %s", name, strerror(-err));
		glock__dlm_close(dev, false);
		return err;
	}
	return 0;
}

void glock__dlm_close(struct glock__dlm_dev *dev, bool release)
{
	if (!dev->ls)
		return;
	/* Not forced: it fails, and is meant to, where another process has it open. */
	if (!release || dev->lib->release_lockspace(dev->name, dev->ls, 0))
		dev->lib->close_lockspace(dev->ls);
	dev->ls = NULL;
	dev->fd = -1;
}

int glock__dlm_remove(const char *name, char *why, size_t size)
{
	struct glock__dlm_dev dev;
	int err = glock__dlm_open(&dev, name, why, size);

	if (err)
		return err;
	if (!dev.lib->release_lockspace(name, dev.ls, 2))
		return 0;
	err = errno ? -errno : -EBUSY;
	snprintf(why, size, "lockspace %s: cannot be released: %s", name, strerror(-err));
	dev.lib->close_lockspace(dev.ls);
	return err;
}

/* ---- requests ---- */

/* Only their being different matters: the kernel hands one of them back with each result. */
#define CAST ((void *)1)
#define BAST ((void *)2)

union request {
	struct dlm_write_request head;
	char room[sizeof(struct dlm_write_request) + DLM_RESNAME_MAXLEN]; /* its last member's */
};

static void fill(union request *r, const struct glock__dlm_call *call, uint8_t cmd)
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

static ssize_t give(struct glock__dlm_dev *dev, const void *request, size_t size)
{
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
	fill(&r, call, DLM_USER_LOCK);
	r.head.i.lock.namelen = (uint8_t)len;
	if (len)
		memcpy((char *)&r + offsetof(struct dlm_write_request, i.lock.name), call->name,
		       len);
	return give(dev, &r, sizeof(struct dlm_write_request) + len);
}

int glock__dlm_unlock(struct glock__dlm_dev *dev, const struct glock__dlm_call *call)
{
	union request r;
	ssize_t n;

	fill(&r, call, DLM_USER_UNLOCK);
	n = give(dev, &r, sizeof(struct dlm_write_request));
	return n < 0 ? (int)n : 0;
}

/* ---- results ---- */

int glock__dlm_read(struct glock__dlm_dev *dev, struct glock__dlm_result *result)
{
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
