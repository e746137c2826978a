/* SPDX-License-Identifier: MIT */
/*
 * advice.c - the rules of advice, in one table.
 *
 * The most urgent rule comes first, and the first rule that fits is printed.
 *
 * The rules rest on two facts:
 * - PR locks of several nodes coexist, and EX coexists with no other mode. A file that several
 *   nodes write, or one writes and others read, changes hands with every write. Each change of
 *   hands costs messages and a flush to disk.
 * - Creating, removing and renaming in a directory take EX on that directory.
 */
#include "advice.h"

#include "advice_impl.h"
#include "o2top/model/source.h"
#include "o2top/rank/rank.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* ---- the rules ----------------------------------------------------------------------------- */

struct facts {
	const struct model *m;
	const struct row *row;
	enum fs_kind fs;
	enum row_hang hang;
	bool directory;
	unsigned writers, readers, waiting, silent, unusable, losing;
	char wrote[160], read[160], waits[160], lost[160];
	char wait[176];  /* "node1 waits", "node1 and node2 wait" */
	const char *who; /* the nodes that lost time, or wait */
	unsigned n_who;
	char not_answering[160], back[160]; /* nodes that do not answer; nodes that answer again */
	char not_usable[160];               /* nodes that answer, and no line can be used */
};

static bool is_class(const struct facts *f, uint8_t ocfs2, uint8_t gfs2)
{
	return f->row->id.class && f->row->id.class == (f->fs == FS_OCFS2 ? ocfs2 : gfs2);
}

/* Returns the blocker that the row's sentence names, or NULL. Line and advice have to agree. */
static const struct blocker *named_blocker(const struct facts *f)
{
	const struct blocker *root = &f->row->root;

	return f->row->sentence && (root->node >= 0 || root->number) ? root : NULL;
}

/*
 * Advice for libglock names stuck nodes only, because a process is a node there. The sentence names
 * the holder. The locks of a dead process go to other processes. A short wait is traffic, unless a
 * stuck process has this very lock.
 */
static bool waits_for_process(const struct facts *f)
{
	const struct blocker *root = named_blocker(f);
	char stuck[160];

	if (f->fs != FS_GLOCK || !f->waiting ||
	    !name_state(f->m, f->row, node_stuck, stuck, sizeof(stuck)))
		return false;
	return waits_long(&f->row->sum) ||
	       (root && root->node >= 0 && node_stuck(f->m, &f->m->nodes[root->node]));
}

static void say_waits_for_process(const struct facts *f, char *buf, size_t size)
{
	snprintf(buf, size,
		 "%s while a process of this space is stopped or hangs: kill -CONT continues a "
		 "stopped process; the end of a process frees its locks",
		 f->wait);
}

static bool deadlock(const struct facts *f)
{
	const struct blocker *root = named_blocker(f);

	return root && root->deadlock;
}

static void say_deadlock(const struct facts *f, char *buf, size_t size)
{
	if (deadlock_in_kernel(f->m, f->row)) {
		snprintf(buf, size, "%s %s", f->wait, deadlock_of_kernel);
		return;
	}
	snprintf(buf, size,
		 "%s in a deadlock: end one of the processes that the line names, and let the "
		 "programs take their locks in one order",
		 f->wait);
}

/* Returns whether the row's waits are of the first sample, which does not tell their ages. */
static bool ages_not_known(const struct facts *f)
{
	for (uint32_t i = 0; i < f->row->n_nodes; i++) {
		const struct row_node *n = &f->row->nodes[i];

		if (n->sum.waiting && !isnan(f->m->nodes[n->node].interval_s))
			return false;
	}
	return !f->row->sum.oldest_s;
}

/*
 * Returns whether a silent node may be the cause of waits for which no line names the blocker.
 * Traffic has short waits all the time, whether or not some node is away. So a wait must be a hang,
 * or a long one that began in the frame in which a node fell silent, or later.
 */
static bool silence_explains(const struct facts *f)
{
	const struct change *c = &f->row->sum;

	if (f->hang == HANG_NOW)
		return true;
	if (ages_not_known(f))
		return any_node_fails(f->m, f->row);
	for (size_t i = 0; i < f->m->n_nodes && waits_long(c); i++) {
		const struct node *n = &f->m->nodes[i];

		if (node_silent(f->m, n) && node_may_have(n, f->row) &&
		    n->silent_s - f->m->nodes[f->row->nodes[0].node].frame_s <= c->oldest_s + 1)
			return true;
	}
	return false;
}

static bool waits_for_silent(const struct facts *f)
{
	const struct blocker *root = named_blocker(f);

	if (f->fs == FS_GLOCK || !f->waiting)
		return false;
	return root ? root->silent : (f->silent || f->unusable) && silence_explains(f);
}

static void say_waits_for_silent(const struct facts *f, char *buf, size_t size)
{
	const struct blocker *root = named_blocker(f);

	if (!root && !f->silent) {
		snprintf(buf, size,
			 "%s while no line of %s can be used: see the problems, because %s may "
			 "have the lock",
			 f->wait, f->not_usable, verb(f->unusable, "that node", "those nodes"));
		return;
	}
	snprintf(buf, size,
		 "%s while %s %s not answer: first check whether %s, or %s dead and not fenced yet",
		 f->wait, root ? f->m->nodes[root->node].name : f->not_answering,
		 root ? "does" : verb(f->silent, "does", "do"),
		 root ? "that node hangs" : verb(f->silent, "that node hangs", "those nodes hang"),
		 root ? "is" : verb(f->silent, "is", "are"));
}

static bool self_deadlock(const struct facts *f)
{
	return f->waiting && waits_for_itself(f->m, f->row);
}

static void say_self_deadlock(const struct facts *f, char *buf, size_t size)
{
	self_deadlock_advice(f->m, f->row, f->wait, buf, size);
}

static bool hangs(const struct facts *f)
{
	return f->hang == HANG_NOW || (f->row->sum.unproved && named_blocker(f));
}

/* Says which nodes wait, and for long if that is known. */
static const char *waits_text(const struct facts *f, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s", f->wait, f->hang == HANG_NOW ? " long" : "");
	return buf;
}

static bool kernel_lock(const struct facts *f)
{
	return hangs(f) && f->waiting && kernel_takes_it(f->m, f->row);
}

static void say_kernel_lock(const struct facts *f, char *buf, size_t size)
{
	char waits[192];

	kernel_lock_advice(f->m, f->row, waits_text(f, waits, sizeof(waits)), buf, size);
}

static bool sqlite(const struct facts *f)
{
	return sqlite_has_it(f->m, f->row);
}

static void say_sqlite(const struct facts *f, char *buf, size_t size)
{
	char waits[192];

	snprintf(waits, sizeof(waits), "%s %s", f->who, verb(f->n_who, "waits", "wait"));
	sqlite_advice(f->m, f->row, f->waiting ? f->wait : waits, buf, size);
}

static void say_hangs(const struct facts *f, char *buf, size_t size)
{
	char waits[192];

	blame(f->m, f->row, waits_text(f, waits, sizeof(waits)), buf, size);
}

static bool hung(const struct facts *f)
{
	return f->hang == HANG_ENDED;
}

static void say_hung(const struct facts *f, char *buf, size_t size)
{
	char waited[160];

	/* list only long waiters, because a node may have lost time in a short wait */
	name_part(f->m, f->row, WAITED_LONG, waited, sizeof(waited));
	snprintf(buf, size,
		 "%s waited up to %.1f s, too long for normal use: check what %s did at that time",
		 waited, f->row->sum.longest_s, *f->back ? f->back : "the node that held the lock");
}

static bool flocks(const struct facts *f)
{
	return f->fs != FS_GLOCK && mostly_of_type(f->m, f->row, "FLOCK");
}

static void say_flocks(const struct facts *f, char *buf, size_t size)
{
	char names[160];
	unsigned n;

	/* the line names a holder */
	if (named_blocker(f) && f->waiting) {
		say_hangs(f, buf, size);
		return;
	}
	n = name_waiters(f->m, f->row, "FLOCK", names, sizeof(names));
	snprintf(buf, size,
		 "%s %s for flock(2) on it: hold the flock for a shorter time, or take it less "
		 "often",
		 names, verb(n, "waits", "wait"));
}

static bool fcntl_locks(const struct facts *f)
{
	return f->fs != FS_GLOCK && mostly_of_type(f->m, f->row, "PLOCK");
}

static bool fcntl_held(const struct facts *f)
{
	return named_blocker(f) && f->waiting && f->row->root.pid && fcntl_locks(f);
}

static void say_fcntl_held(const struct facts *f, char *buf, size_t size)
{
	char waits[192];

	fcntl_held_advice(f->m, f->row, waits_text(f, waits, sizeof(waits)), buf, size);
}

static void say_fcntl_locks(const struct facts *f, char *buf, size_t size)
{
	fcntl_advice(f->m, f->row, buf, size);
}

static bool rename_lock(const struct facts *f)
{
	/* OCFS2's rename lock, GFS2's nondisk glock 3 */
	return is_class(f, 'R', 1) && (f->fs == FS_OCFS2 || f->row->id.number == 3);
}

static void say_rename_lock(const struct facts *f, char *buf, size_t size)
{
	/* OCFS2 takes this lock to move a directory, GFS2 to move a file, too */
	if (f->fs == FS_OCFS2)
		snprintf(buf, size,
			 "%s %s directories: the cluster runs one such rename at a time; rename "
			 "fewer directories, from one node",
			 f->who, verb(f->n_who, "moves", "move"));
	else
		snprintf(buf, size,
			 "%s %s files or directories into other directories: the cluster runs one "
			 "such rename at a time; rename within one directory, or from one node",
			 f->who, verb(f->n_who, "moves", "move"));
}

static bool resource_groups(const struct facts *f)
{
	return is_class(f, 0, 3);
}

static void say_resource_groups(const struct facts *f, char *buf, size_t size)
{
	snprintf(buf, size,
		 "%s %s or %s blocks in the same %u resource group%s: if the disk is nearly full, "
		 "free space, or add space with gfs2_grow, so that each node finds its own",
		 f->who, verb(f->n_who, "allocates", "allocate"), verb(f->n_who, "frees", "free"),
		 f->row->n_locksets, f->row->n_locksets == 1 ? "" : "s");
}

static bool several_create(const struct facts *f)
{
	return f->directory && f->writers > 1 && f->row->section == SECTION_FILES;
}

static void say_several_create(const struct facts *f, char *buf, size_t size)
{
	snprintf(buf, size,
		 "%s create, remove or rename in this directory and take EX from each other: give "
		 "each node its own directory",
		 f->wrote);
}

static bool several_write(const struct facts *f)
{
	return f->writers > 1 && f->row->section == SECTION_FILES;
}

static void say_several_write(const struct facts *f, char *buf, size_t size)
{
	snprintf(buf, size,
		 "%s write it and take the lock from each other: let one node write it, or give "
		 "each node its own file",
		 f->wrote);
}

static bool one_writes(const struct facts *f)
{
	return f->writers == 1 && f->readers && f->row->section == SECTION_FILES;
}

static void say_one_writes(const struct facts *f, char *buf, size_t size)
{
	/* modes are sampled, so another writer may have gone unseen */
	const char *seen = f->row->sum.seen ? "as far as seen, " : "";

	if (f->directory)
		snprintf(buf, size,
			 "%s%s creates or removes in this directory, and %s %s it: create and "
			 "remove less often, or in another directory",
			 seen, f->wrote, f->read, verb(f->readers, "reads", "read"));
	else
		snprintf(buf, size,
			 "%s%s writes it, and %s %s it: write less often and more at a time, "
			 "because a write takes the lock from %s",
			 seen, f->wrote, f->read, verb(f->readers, "reads", "read"),
			 verb(f->readers, "the reader", "all readers"));
}

/*
 * Returns whether the row shows one node alone. Another node has the lock meanwhile. That node is
 * not watched, or the kernel left its line out.
 */
static bool one_alone(const struct facts *f)
{
	return f->losing == 1 && f->writers <= 1 && f->row->section == SECTION_FILES;
}

/* A process tells its grants, but one sample has those that wait only. */
static bool next_frame_tells(const struct facts *f)
{
	bool first = true;

	for (uint32_t i = 0; i < f->row->n_nodes; i++)
		first &= isnan(f->m->nodes[f->row->nodes[i].node].interval_s);
	return f->fs == FS_GLOCK && first && f->m->n_nodes > 1;
}

static void say_one_alone(const struct facts *f, char *buf, size_t size)
{
	const char *unseen = f->m->n_nodes < 2     ? "o2top watches no other node"
			     : next_frame_tells(f) ? "the next frame tells the other users"
						   : "this frame does not show the other user";

	if (f->directory && f->writers)
		snprintf(buf, size,
			 "%s creates, removes or renames in this directory and loses time (%s): "
			 "give each node its own directory",
			 f->lost, unseen);
	else if (f->fs == FS_GLOCK && f->row->sentence && f->row->root.node >= 0)
		say_hangs(f, buf, size);
	else
		snprintf(buf, size,
			 "%s %s it and loses time (%s): find the other node that uses it", f->lost,
			 f->writers ? "writes" : "uses", unseen);
}

static bool system_inode(const struct facts *f)
{
	return f->row->section == SECTION_SYSTEM && !f->row->id.class;
}

static void say_system_inode(const struct facts *f, char *buf, size_t size)
{
	snprintf(buf, size,
		 "%s %s this system inode to create, delete or grow files: see the files above",
		 f->who, verb(f->n_who, "uses", "share"));
}

static bool orphan_scan(const struct facts *f)
{
	return is_class(f, 'P', 0);
}

static void say_orphan_scan(const struct facts *f, char *buf, size_t size)
{
	(void)f;
	snprintf(buf, size, "the periodic search for deleted files: it ends by itself");
}

static bool nfs_sync(const struct facts *f)
{
	return is_class(f, 'Y', 0);
}

static void say_nfs_sync(const struct facts *f, char *buf, size_t size)
{
	snprintf(buf, size,
		 "%s %s this lock to delete files or look them up by number, as NFS servers do: "
		 "delete fewer files, or export from one node",
		 f->who, verb(f->n_who, "uses", "use"));
}

static bool anything(const struct facts *f)
{
	(void)f;
	return true;
}

static void say_anything(const struct facts *f, char *buf, size_t size)
{
	if (f->waiting && !f->readers)
		snprintf(buf, size, "%s for it: %s", f->wait,
			 next_frame_tells(f) ? "the next frame tells which nodes read or write it"
					     : "this frame does not show which nodes read or write "
					       "it");
	else if (f->readers && f->row->sum.seen)
		/* modes are sampled, so any of these nodes may write it between two samples */
		snprintf(buf, size,
			 "samples show SH on %s and no writer: one of these nodes or another one "
			 "takes EX between samples; find the node that writes it",
			 f->read);
	else if (f->readers)
		snprintf(buf, size,
			 "%s %s it and %s time: this frame does not show the writer; find the node "
			 "that writes it",
			 f->read, verb(f->readers, "reads", "read"),
			 verb(f->readers, "loses", "lose"));
	else
		snprintf(
		    buf, size,
		    "%s lost time on it: this frame does not show which nodes read or write it",
		    f->lost);
}

/* The codes are stable, because monitoring systems look for them. o2top(1) lists them. */
static const struct {
	const char *code;
	bool (*fits)(const struct facts *f);
	void (*say)(const struct facts *f, char *buf, size_t size);
} rules[] = {
    {"PROCESS_STOPPED", waits_for_process, say_waits_for_process},
    {"DEADLOCK", deadlock, say_deadlock},
    {"WAIT_NODE_SILENT", waits_for_silent, say_waits_for_silent},
    {"SELF_DEADLOCK", self_deadlock, say_self_deadlock},
    {"FCNTL_HELD", fcntl_held, say_fcntl_held},
    {"HOT_FCNTL", fcntl_locks, say_fcntl_locks},
    {"KERNEL_LOCK", kernel_lock, say_kernel_lock},
    {"SQLITE", sqlite, say_sqlite},
    {"WAIT_HANGS", hangs, say_hangs},
    {"WAIT_HUNG", hung, say_hung},
    {"HOT_FLOCK", flocks, say_flocks},
    {"RENAME_LOCK", rename_lock, say_rename_lock},
    {"RGRP_SHARED", resource_groups, say_resource_groups},
    {"ORPHAN_SCAN", orphan_scan, say_orphan_scan},
    {"NFS_SYNC", nfs_sync, say_nfs_sync},
    {"HOT_DIR_SHARED", several_create, say_several_create},
    {"HOT_WRITE_SHARED", several_write, say_several_write},
    {"HOT_WRITE_READ", one_writes, say_one_writes},
    {"HOT_ONE_NODE", one_alone, say_one_alone},
    {"SYSTEM_INODE", system_inode, say_system_inode},
    {"HOT_OTHER", anything, say_anything},
};

const char *advise(const struct model *m, const struct row *row, char *buf, size_t size)
{
	struct facts f = {.m = m, .row = row, .fs = m->spaces[row->space].fs};

	*buf = '\0';
	if (unprotected_advice(m, row, buf, size))
		return "UNPROTECTED";
	if (!row->hot)
		return NULL;
	f.directory = row->kind == DT_DIR;
	f.hang = row_hang(m, row);
	f.writers = name_part(m, row, WROTE, f.wrote, sizeof(f.wrote));
	f.readers = name_part(m, row, READ_ONLY, f.read, sizeof(f.read));
	/* beside long waits, the short ones are traffic */
	f.waiting = name_part(m, row, WAITS_LONG, f.waits, sizeof(f.waits));
	if (!f.waiting)
		f.waiting = name_part(m, row, WAITS, f.waits, sizeof(f.waits));
	if (!f.waiting && row->sum.demanded) {
		f.waiting = 1;
		snprintf(f.waits, sizeof(f.waits), "another node");
	}
	snprintf(f.wait, sizeof(f.wait), "%s %s", f.waits, verb(f.waiting, "waits", "wait"));
	f.losing = name_part(m, row, LOST, f.lost, sizeof(f.lost));
	f.who = f.losing ? f.lost : f.waits;
	f.n_who = f.losing ? f.losing : f.waiting;
	f.silent = name_state(m, row, node_silent, f.not_answering, sizeof(f.not_answering));
	f.unusable = name_state(m, row, node_unusable, f.not_usable, sizeof(f.not_usable));
	name_back(m, row, f.back, sizeof(f.back));
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].fits(&f)) {
			rules[i].say(&f, buf, size);
			return rules[i].code;
		}
	return NULL;
}
