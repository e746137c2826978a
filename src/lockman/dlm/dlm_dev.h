/* SPDX-License-Identifier: MIT */
/*
 * dlm_dev.h - a lockspace of the kernel's DLM, which is a character device.
 *
 * libdlm makes, opens and releases the lockspace. The library looks for libdlm when the program
 * runs, so that only programs that want the DLM need it. Requests and results go over the device in
 * the structs of linux/dlm_device.h. libdlm is not enough, because it keeps the mode of a bast to
 * itself.
 *
 * The kernel knows a lock by its id. This library knows it by a tag: a number of the caller, as
 * wide as a pointer. The tag comes back with each result for the lock. The tag is no address,
 * because a late result for a lock that is no more must be recognizable.
 *
 * Threads: any thread may make requests, also at the same time. One thread at a time reads results.
 * A result may be read before the request that it answers has returned.
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
 * Opens the lockspace. Makes it if it is not there. Joining a cluster takes seconds. On errors
 * `why` says what is missing and what helps.
 *   -ENOPKG           there is no libdlm
 *   -ENODEV           there is no DLM in this kernel, or its daemon does not run
 *   -ENETDOWN         there is no quorum
 *   -EACCES, -EPERM   not allowed
 *   -EINVAL           the name is not valid
 *   other             the errno of libdlm
 * Only one process of a machine makes a lockspace at a time. This process waits for the others.
 * Now and then it tells `waits` why, if that is not NULL.
 */
int glock__dlm_open(struct glock__dlm_dev *dev, const char *name,
		    void (*waits)(void *arg, const char *why), void *arg, char *why, size_t size);

/*
 * Opens the lockspace again after it was closed, for a caller that has seen that nothing is
 * missing. Does not wait for other processes. -EALREADY: another process makes a lockspace now.
 */
int glock__dlm_open_again(struct glock__dlm_dev *dev);

/*
 * Closes the lockspace: the kernel gives back all locks made here. release: also leaves the
 * lockspace, if no other process of this node uses it. Waits while the lockspace is stopped.
 */
void glock__dlm_close(struct glock__dlm_dev *dev, bool release);

/*
 * Removes this node from a lockspace that killed processes left behind, or that is stuck after the
 * death of dlm_controld. -ENOENT: this node is not in it; -EBUSY: a process has it open.
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

/* Returns the lock's id. After a negative errno no result comes. Does not wait for the grant. */
int64_t glock__dlm_lock(struct glock__dlm_dev *dev, const struct glock__dlm_call *call);
/* Unlocks, or cancels. Returns 0 or a negative errno. */
int glock__dlm_unlock(struct glock__dlm_dev *dev, const struct glock__dlm_call *call);

struct glock__dlm_result {
	uintptr_t tag;
	bool bast;
	int mode;   /* of a bast: the mode that others want */
	int status; /* without bast: 0 or negative, as in glock__table_event */
	uint32_t lkid;
	unsigned int sbflags;
	bool has_lvb;
	unsigned char lvb[GLOCK__LVB_LEN];
};

/* Reads the next result: 1; 0: none now; or a negative errno. Does not wait: poll dev->fd. */
int glock__dlm_read(struct glock__dlm_dev *dev, struct glock__dlm_result *result);

#endif
