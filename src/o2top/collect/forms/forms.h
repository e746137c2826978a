/* SPDX-License-Identifier: MIT */
/*
 * forms.h - texts of support that hold facts about locks, told in the kernel's own forms.
 *
 * A text is read line by line. Lines of known forms become lines of the kernel's files:
 *
 *	kernel log, journal, glocktop   gfs2: fsid=c1:data.1: G:  s:EX ...     glocks
 *	debugfs.ocfs2 fs_locks          Lockres: M0... Mode: Protected Read    locking_state
 *	debugfs.ocfs2 dlm_locks         Lockres: M0... Owner: 2 ...            o2dlm
 *	dlm_tool lockdebug              Resource len 24 "    2    3347"        dlm_all
 *	dlm_tool lockdump, LS_locks      id 1c6 gr EX ..., 6d 2 502 1456 ...    dlm_all
 *	dlm_tool plocks                 9288 WR 0-99 nodeid 1 pid 77 ...       dlm_plocks
 *	dlm/LS_all, locking_state       as they are, inside a larger text
 *	trace-cmd report, perf script   gfs2_glock_lock_time: ...              trace
 */
#ifndef O2TOP_FORMS_H
#define O2TOP_FORMS_H

#include "o2top/collect/collect.h"
#include "o2top/collect/lines.h"

enum { FORMS_NAME_MAX = 256 };

/*
 * The time since boot at which a list of locks was written, if nothing tells it. The list has ages,
 * and needs any clock. No machine runs for so long, so that no stamp of a real clock looks old.
 */
#define FORMS_UP_ASSUMED_US (INT64_C(1) << 52)

/* A lock of OCFS2, as locking_state has it. */
struct forms_lock {
	int32_t level, requested, blocking, holders[2];
	uint64_t flags, action, unlock_action;
	uint64_t gets[2], fails[2], total_ns[2], max_us[2], refreshes;
};

struct forms;

/* A form: takes a line. Returns 1 if the line belongs to the form, 0 if not, or a negative errno.
 */
typedef int forms_take(struct forms *f, const char *line, size_t len);

struct forms {
	/*
	 * Returns the text of a file to add to, or NULL without memory. The host is f->host, or ""
	 * if the text names none.
	 */
	struct buffer *(*file)(struct forms *f, enum fs_kind fs, const char *space,
			       enum file_kind kind);
	void *arg;
	char host[FORMS_NAME_MAX];  /* that the last line named */
	char table[FORMS_NAME_MAX]; /* the GFS2 of the last line, cluster:name */
	char uuid[FORMS_NAME_MAX];  /* the OCFS2 of the last heading */
	char dlm[FORMS_NAME_MAX];   /* the DLM's lock space of the last heading or file name */
	int64_t mono_us, real_us;   /* the newest stamp of a line that was taken; -1 none */
	int64_t up_us;              /* the node's time since boot if it is known, or -1 */
	bool up_assumed; /* up_us is FORMS_UP_ASSUMED_US, because lines tell ages and no clock */
	forms_take *in;  /* the form of the block that is being read, or NULL */
	size_t taken;    /* lines */
	/* Writes what was read of a resource. Called when its block ends. NULL: nothing is kept. */
	int (*end)(struct forms *f);
	/* a resource that is being read, and what was read of it */
	char name[2 * FORMS_NAME_MAX];
	bool named;
	int32_t master, queue;
	struct buffer block;
	struct forms_lock lock;
};

void forms_init(struct forms *f);
void forms_free(struct forms *f);
/* Takes a line of a text. Returns 0 or a negative errno. */
int forms_line(struct forms *f, const char *line, size_t len);
/* Ends a text: what was read of a resource is complete. */
int forms_end(struct forms *f);

/* ---- for the forms ------------------------------------------------------------------------- */

extern forms_take forms_log, forms_fs_locks, forms_dlm_locks, forms_lockdebug, forms_lock_list,
    forms_native, forms_trace;
__attribute__((format(printf, 2, 3))) int forms_print(struct buffer *b, const char *format, ...);
/* Copies at most what fits, and ends it. Control characters become '?'. */
void forms_copy(char to[FORMS_NAME_MAX], const char *from, size_t len);
/* Returns the DLM's mode of the two letters, or -1. */
int forms_mode(const char *word, size_t len);
/* Returns the place behind `word` in the line, or NULL. */
const char *forms_after(const char *line, size_t len, const char *word);

/* fs_locks.c: adds a line of locking_state. */
int forms_print_lock(struct buffer *b, const char *name, const struct forms_lock *l);

/*
 * dlm_only.c: sos 4.0, crm report, dlm_tool and dlm_locks give the DLM's locks, and none of the
 * file system. A lock of the file system shows the mode that this node has, its own request, and
 * the demand of another node.
 */

/*
 * Adds glocks of GFS2, or lines of locking_state, for the text of a dlm_all or o2dlm, as `kind`
 * says. `up_us` is the time since boot at which it was written, -1 not known. Returns how many, or
 * a negative errno.
 */
int dlm_only_rows(enum fs_kind fs, enum file_kind kind, const char *text, size_t len, int64_t up_us,
		  struct buffer *out);

#endif
