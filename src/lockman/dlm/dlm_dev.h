/* SPDX-License-Identifier: MIT */
/*
 * dlm_dev.h - a lockspace of the kernel's DLM, as the character device that it is.
 *
 * libdlm makes, opens and releases the lockspace; it is looked for when the program runs, so that
 * only programs which want the DLM need it. Requests and results go over the device in the
 * structs of linux/dlm_device.h, since libdlm keeps the mode of a blocking callback to itself.
 *
 * A lock is known to the kernel by its id, and to us by a tag: a number of the caller's, as wide
 * as a pointer, that comes back with everything the kernel says of the lock. It is no address: what comes late for a
 * lock that is no more must be recognizable as such.
 *
 * Threads: requests may be made by any, also at once; one thread at a time reads results. A result
 * may be read before the request that it answers has returned.
 */
#ifndef GLOCK__DLM_DEV_H
#define GLOCK__DLM_DEV_H

#include "lockman/table/table.h"

struct glock__dlm_dev {
	const struct glock__libdlm *lib;
	void *ls;
	int fd;
	char name[65];
};

/*
 * Opens the lockspace, which is made if it is not there. Joining a cluster takes seconds. why: what
 * is missing and what to do about it, where it fails. -ENOPKG: no libdlm; -ENODEV: no DLM in this
 * kernel, or its daemon does not run; -ENETDOWN: no quorum; -EACCES, -EPERM; -EINVAL: a name that is
 * none; or what libdlm said. Only one process of a machine makes one at a time: it waits for the others, and
 * tells `waits`, if there is one, now and then why.
 */
int glock__dlm_open(struct glock__dlm_dev *dev, const char *name,
		    void (*waits)(void *arg, const char *why), void *arg, char *why, size_t size);

/*
 * The same once more after it was closed, for who has just seen that nothing is missing. Does not wait for
 * others: -EALREADY: another process is just making one.
 */
int glock__dlm_open_again(struct glock__dlm_dev *dev);

/*
 * Closes it: the kernel gives back all locks made here. release: leave the lockspace, if nobody
 * else on this node uses it. Waits while the lockspace is stopped.
 */
void glock__dlm_close(struct glock__dlm_dev *dev, bool release);

/*
 * Removes this node from a lockspace that processes left behind when they were killed, or that is
 * stuck since dlm_controld died. -ENOENT: it is not in it; -EBUSY: a process has it open.
 */
int glock__dlm_remove(const char *name, char *why, size_t size);

struct glock__dlm_call {
	uintptr_t tag;
	uint32_t lkid;  /* of CONVERT and unlock */
	int mode;       /* enum glock__lkmode */
	uint32_t flags; /* GLOCK__LKF_, which have the DLM's values */
	const void *name;
	size_t namelen;  /* at most GLOCK__RESNAME_MAX */
	const void *lvb; /* GLOCK__LVB_LEN bytes, with VALBLK */
	bool no_bast;
};

/* The lock's id, or a negative errno: then nothing comes of it. Does not wait for the grant. */
int64_t glock__dlm_lock(struct glock__dlm_dev *dev, const struct glock__dlm_call *call);
/* Unlock or cancel. 0 or a negative errno. */
int glock__dlm_unlock(struct glock__dlm_dev *dev, const struct glock__dlm_call *call);

struct glock__dlm_result {
	uintptr_t tag;
	bool bast;
	int mode;   /* of a bast: what others want */
	int status; /* else: 0 or negative, as in glock__table_event */
	uint32_t lkid;
	unsigned int sbflags;
	bool has_lvb;
	unsigned char lvb[GLOCK__LVB_LEN];
};

/* The next result: 1; 0: there is none now; or a negative errno. Does not wait: poll dev->fd. */
int glock__dlm_read(struct glock__dlm_dev *dev, struct glock__dlm_result *result);

#endif
