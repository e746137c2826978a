/* SPDX-License-Identifier: MIT */
/*
 * archive_impl.h - the steps from an archive to samples: files, their places, hosts and times.
 *
 * libarchive unpacks tar and cpio in gzip, bzip2, xz or zstd, and single packed files. Nothing is
 * written to disk. An archive is not trusted: its names, sizes and number of files have limits.
 */
#ifndef O2TOP_ARCHIVE_IMPL_H
#define O2TOP_ARCHIVE_IMPL_H

#include "o2top/base/problems.h"
#include "o2top/collect/collect.h"
#include "o2top/collect/lines.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- walk.c: the files of a folder, of an archive, or of one packed file, in memory. */

struct walk_file {
	const char *path; /* clean, relative to the folder or archive, without its name */
	bool alone;       /* it was given by itself, packed or not */
	/*
	 * Reads on as read(2) does, with a negative errno. A file that is not read costs nothing.
	 */
	ssize_t (*read)(struct walk_file *f, void *buf, size_t size);
	void *of;
	int fd;
};

struct walk {
	/* Returns 0 to go on, or a negative errno, which ends the walk. */
	int (*each)(void *arg, struct walk_file *f);
	void *arg;
	struct problems *problems;
	size_t files; /* that were seen */
	unsigned depth;
};

/* Calls each() for the regular files below `path`. Returns 0 or a negative errno. */
int walk_path(struct walk *w, const char *path);

/* ---- place.c: what the path of a file tells: host, run, lock space, kind. */

enum { PLACE_NAME_MAX = 256 };

enum place_what {
	PLACE_TEXT,     /* any text: its lines tell */
	PLACE_KERNEL,   /* a file of the kernel, of `kind` */
	PLACE_LOCKS,    /* dlm/LOCKSPACE_locks and other files of a DLM's lock space, as text */
	PLACE_REALTIME, /* the node's clocks, as o2top's recordings have them */
	PLACE_UPTIME,
	PLACE_HOSTINFO, /* gfs2_lockcapture: HOSTNAME= and TIMESTAMP= */
	PLACE_DATE,     /* the output of date(1) */
	PLACE_HOSTNAME,
	PLACE_SKIP,
};

struct place_in {
	enum place_what what;
	char prefix[4096];         /* the part of the path that all files of a host and run share */
	char host[PLACE_NAME_MAX]; /* "" if the path names none */
	char run[PLACE_NAME_MAX];  /* "" if it is the only one */
	enum fs_kind fs;
	bool has_space;
	bool guessed; /* the host is the folder of the file, for want of a better one */
	bool is_list; /* NAME_locks, which tells more than NAME */
	char space[PLACE_NAME_MAX];
	enum file_kind kind;
};

/* Reads a path. `given` leads to the archive or folder, without the ending of an archive. */
void place_of(struct place_in *out, const char *given, const char *path);

/* ---- visit.c: the files of one host at one time, as they were found in an archive. */

struct visit_file {
	enum fs_kind fs;
	char *space; /* NULL: of the node */
	enum file_kind kind;
	struct buffer text;
	bool made;       /* from the DLM's locks alone */
	bool is_list;    /* from a list of locks */
	bool has_stamps; /* of the kernel's clock */
	size_t source;   /* the number of the file in the archive from which the text comes */
};

struct visit {
	char *prefix, *host, *run;
	bool kernel; /* it has files of the kernel, and not only texts */
	bool has_clock;
	bool up_assumed; /* mono_us is FORMS_UP_ASSUMED_US, because texts told ages and no clock */
	int64_t real_us, mono_us; /* mono_us -1 not known */
	struct visit_file *files;
	size_t n, room;
	/* as a sample needs them */
	struct space_sample *spaces;
	size_t n_spaces;
};

struct visits {
	struct visit *list;
	size_t n, room;
};

void visits_free(struct visits *v);
/* Returns the visit of a prefix and a host, which is made if there is none. NULL: no memory. */
struct visit *visit_of(struct visits *v, const char *prefix, const char *host, const char *run);
/* Returns a file, which is made if there is none. NULL: no memory. `space` NULL: of the node. */
struct visit_file *visit_file(struct visit *v, enum fs_kind fs, const char *space,
			      enum file_kind kind);
const struct visit_file *visit_find(const struct visit *v, enum fs_kind fs, const char *space,
				    enum file_kind kind);
/*
 * Completes the visits: names of lock spaces that files tell in part, glocks that the DLM alone
 * proves, the list of lock spaces. Removes visits without a lock space. Problems tell what each
 * visit lacks, with the command that gets it. Returns 0 or -ENOMEM.
 */
int visits_complete(struct visits *v, struct problems *problems);

/* ---- facts.c: the small files of a host that tell its time. */

/* Takes the fact that a file tells of a visit. Returns 0. */
int facts_take(struct visit *v, enum place_what what, struct walk_file *f);

#endif
