/* SPDX-License-Identifier: MIT */
/*
 * local.c - reads debugfs and the mounts of the machine that o2top runs on.
 *
 * The kernel prints locking_state in parts of 4 KiB and loses the line at each boundary. While the
 * list stays, the kernel loses the same lines each time. The boundaries depend on the size of the
 * first read. So each sample begins with a read of another size. A Lock keeps its Shot over the
 * samples that miss the Lock.
 */
#include "o2top/collect/collect.h"

#include "mounts.h"
#include "o2top/base/caps.h"
#include "o2top/base/clock.h"
#include "paths_find.h"
#include "processes.h"
#include "this_machine.h"
#include "tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_UPS = 4 };

struct local {
	struct collector collector;
	char *debugfs, *sysfs, *mountinfo, *mount_point;
	char host[256];
	struct node_sample node, *nodes;
	struct processes *processes;
	bool kernel_only; /* another root, or one mount point */
	struct processes_wanted wanted;
	bool here; /* debugfs is this machine's, and so are the tasks */
	bool trace;
	struct tracing tracing;
	unsigned taken;
	/* The first finds paths, and the second tasks. Neither waits for the other. */
	struct paths_finder finder, watcher;
	struct once once;
	struct dlm_tool dlm_tool; /* files of the kernel that are wanted more than once a sample */
	struct buffer answers;    /* the answers of this sample */
};

size_t collect_first_read(unsigned n)
{
	/*
	 * The sizes are spread over 4 KiB, with neighbours far apart. The first one is the plain
	 * read.
	 */
	static const size_t sizes[] = {0, 2048, 1024, 3072, 512, 2560, 1536, 3584};

	return sizes[n % (sizeof(sizes) / sizeof(sizes[0]))];
}

static void device_of(struct local *l, const struct space_sample *space, unsigned device[2])
{
	char path[PATH_MAX], text[64];
	struct input in;

	device[0] = device[1] = 0;
	if (space->fs == FS_OCFS2) {
		if (once_open(&l->once, l->debugfs, space, FILE_FS_STATE, &in) == 0)
			mounts_device_of_fs_state(&in, device);
		return;
	}
	if ((size_t)snprintf(path, sizeof(path), "%s/fs/gfs2/%s/id", l->sysfs, space->name) <
		sizeof(path) &&
	    input_small(path, text, sizeof(text)) > 0)
		mounts_device_of_id(text, device);
}

/* Sets where each lock space is mounted, and drops the ones that the user did not ask for. */
static void match_mounts(struct local *l, struct problems *problems)
{
	struct mounts mounts;
	size_t kept = 0;
	int err = mounts_read(&mounts, l->mountinfo);

	if (err)
		problem(problems, l->mountinfo, 0, "%s", strerror(-err));
	for (size_t i = 0; i < l->node.n_spaces; i++) {
		struct space_sample *space = &l->node.spaces[i];
		unsigned device[2];

		device_of(l, space, device);
		if (mounts_place(&mounts, l->mount_point, space, device))
			l->node.spaces[kept++] = *space;
		else
			free(space->name);
	}
	l->node.n_spaces = kept;
	mounts_free(&mounts);
}

/* Adds the processes that the user asks for to the n nodes. */
static int add_processes(struct local *l, size_t *n, struct problems *problems)
{
	size_t all = *n;
	int err = caps_raise(true);

	err = err ? err : processes_take(&l->processes, &l->nodes, &all, problems);
	/* The capabilities must not stay in effect. */
	if (caps_raise(false) && !err)
		err = -EPERM;
	for (size_t i = *n; i < all && !err; i++)
		if (processes_want(&l->wanted, l->node.n_spaces, l->nodes[i].spaces,
				   l->nodes[i].n_spaces))
			l->nodes[(*n)++] = l->nodes[i];
	return err;
}

/*
 * Lists this machine, and the processes on it that are in lock spaces of their own. If there are
 * only such processes, the machine is not listed, because it has nothing to show.
 */
static int list_nodes(struct local *l, struct sample *out, struct problems *problems)
{
	size_t n = 0;
	int err = 0;

	free(l->nodes);
	l->nodes = malloc(sizeof(*l->nodes));
	if (!l->nodes)
		return -ENOMEM;
	l->nodes[n++] = l->node;
	if (!l->kernel_only && (l->wanted.which != PROCESSES_ALONE || !l->node.n_spaces))
		err = add_processes(l, &n, problems);
	*out = (struct sample){.label = "", .n_nodes = n, .nodes = l->nodes};
	if (n > 1 && !l->node.n_spaces) {
		out->nodes++;
		out->n_nodes--;
	}
	return err ? err : 1;
}

static int local_next(struct collector *c, struct sample *out, struct problems *problems)
{
	struct local *l = (struct local *)c;
	int err;

	tree_free_spaces(l->node.spaces, l->node.n_spaces);
	once_forget(&l->once);
	l->node = (struct node_sample){.name = l->host, .present = true};
	/* A folder in place of debugfs may have files with the time of its node. */
	tree_clock(l->debugfs, 0, &l->node, problems);
	if (!l->node.has_clock) {
		l->node.has_clock = true;
		l->node.real_us = now_us(CLOCK_REALTIME);
	}
	if (l->node.mono_us < 0)
		l->node.mono_us = now_us(CLOCK_MONOTONIC);
	if (l->trace)
		tracing_start(&l->tracing);
	err = tree_spaces(l->debugfs, &l->node.spaces, &l->node.n_spaces);
	if (err == -EACCES || err == -EPERM)
		problem(problems, l->debugfs, 0, "%s: %s", strerror(-err),
			geteuid() ? "run o2top as root"
				  : "root is refused, too; see lockdown of the kernel, or the "
				    "limits of this container or service");
	else if (err)
		return err;
	else
		match_mounts(l, problems);
	l->taken++;
	dlm_tool_begin(&l->dlm_tool);
	l->answers.len = 0;
	while (l->finder.due && paths_receive(&l->finder, 0, &l->answers) > 0)
		;
	return list_nodes(l, out, problems);
}

/* Opens text that is no file, but is made of several. */
static int open_made(struct local *l, const struct space_sample *space, enum file_kind kind,
		     struct input *in)
{
	struct machine_roots roots = machine_roots();
	struct buffer b = {0};
	int err = 0;

	roots.debugfs = l->debugfs;
	roots.sysfs = l->sysfs;
	if (kind == FILE_IDS)
		machine_ids(&roots, &b);
	else if (kind == FILE_CONDITION && space->fs == FS_GFS2)
		machine_condition(&roots, space->name, &b);
	else if (kind == FILE_PLOCKS)
		machine_plocks(&roots, l->mountinfo, &b);
	else if (kind == FILE_DLM_PLOCKS)
		err = machine_dlm_plocks(&l->dlm_tool, &roots, space->name, &b);
	else if (kind == FILE_TASKS && paths_send(&l->watcher, PATHS_TASKS))
		paths_receive(&l->watcher, PATHS_FIND_MS, &b);
	else if (kind == FILE_PATHS && l->answers.len &&
		 buffer_add(&b, l->answers.data, l->answers.len))
		return -ENOMEM;
	if (err || (!b.len && kind != FILE_DLM_PLOCKS)) {
		free(b.data);
		return err ? err : -ENOENT;
	}
	input_open_owned(in, b.data, b.len, kind_names[kind]);
	return 0;
}

static int open_trace(struct local *l, struct input *in)
{
	char path[PATH_MAX];

	if (!l->trace)
		return -ENOENT;
	if (l->tracing.error)
		return l->tracing.error;
	machine_place(path, "%s/trace", l->tracing.instance);
	return input_open_path(in, path, path);
}

static int local_open(struct collector *c, const struct node_sample *node,
		      const struct space_sample *space, enum file_kind kind, struct input *in)
{
	struct local *l = (struct local *)c;
	int err;

	if (node->transient)
		return processes_open(l->processes, node, space, kind, in);
	if (kind == FILE_TRACE)
		return open_trace(l, in);
	err = space && once_wants(kind) ? once_open(&l->once, l->debugfs, space, kind, in)
					: tree_open(l->debugfs, 0, space, kind, in);
	if (err == -ENOENT && l->here)
		err = open_made(l, space, kind, in);
	if (!err && kind == FILE_LOCKING_STATE)
		in->first_read = collect_first_read(l->taken - 1);
	return err;
}

static void local_close(struct collector *c)
{
	struct local *l = (struct local *)c;

	tree_free_spaces(l->node.spaces, l->node.n_spaces);
	once_free(&l->once);
	processes_free(l->processes);
	tracing_stop(&l->tracing);
	paths_stop(&l->finder);
	paths_stop(&l->watcher);
	free(l->answers.data);
	free(l->nodes);
	free(l->debugfs);
	free(l->sysfs);
	free(l->mountinfo);
	free(l->mount_point);
	free(l);
}

static int local_look_up(struct collector *c, const struct node_sample *node, const char *space,
			 const char *mount, const char *inodes)
{
	struct local *l = (struct local *)c;
	char request[4096];
	int n = snprintf(request, sizeof(request), "%s %s %s", space, inodes, mount);

	(void)node;
	/* A path finder that hangs gets no more requests. */
	if (l->finder.due >= LOOK_UPS)
		return -EBUSY;
	if (strpbrk(mount, "\n\r") || n < 0 || n >= (int)sizeof(request))
		return -EINVAL;
	return paths_send(&l->finder, request) ? 0 : -EPIPE;
}

static const struct collector_ops local_ops = {.next = local_next,
					       .open = local_open,
					       .close = local_close,
					       .live = true,
					       .look_up = local_look_up};

int collect_local(struct collector **out, const struct local_roots *roots)
{
	struct local *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->collector.ops = &local_ops;
	l->kernel_only = roots->debugfs || roots->mount_point;
	l->wanted = roots->processes;
	l->here = !roots->debugfs || getenv("O2TOP_PROC");
	l->finder = l->watcher = paths_none;
	l->debugfs = strdup(roots->debugfs ? roots->debugfs : "/sys/kernel/debug");
	l->sysfs = strdup(roots->sysfs ? roots->sysfs : "/sys");
	l->mountinfo = strdup(roots->mountinfo ? roots->mountinfo : "/proc/self/mountinfo");
	l->mount_point = roots->mount_point ? strdup(roots->mount_point) : NULL;
	if (!l->debugfs || !l->sysfs || !l->mountinfo || (roots->mount_point && !l->mount_point)) {
		local_close(&l->collector);
		return -ENOMEM;
	}
	if (gethostname(l->host, sizeof(l->host) - 1) || !*l->host)
		strcpy(l->host, "localhost");
	if (l->here && !roots->no_paths)
		paths_start(&l->finder, l->mountinfo, true);
	if (l->here)
		paths_start(&l->watcher, l->mountinfo, false);
	l->trace = roots->trace;
	if (l->here)
		tracing_begin(&l->tracing, l->debugfs);
	*out = &l->collector;
	return 0;
}
