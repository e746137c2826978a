/* SPDX-License-Identifier: MIT */
/*
 * visit.h - the files of one host at one time, in memory, as they were found in an archive.
 */
#ifndef O2TOP_VISIT_H
#define O2TOP_VISIT_H

#include "o2top/collect/collect.h"
#include "o2top/collect/lines.h"
#include "place.h"

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

#endif
