/* SPDX-License-Identifier: MIT */
/*
 * tracing.c - makes, starts and removes o2top's instance in tracefs.
 */
#include "this_machine.h"

#include "base/kernel_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVENT "events/gfs2/gfs2_glock_lock_time/enable"

/*
 * The instance's files, written in this order; node.sh does the same. Without an optional event
 * the waits are measured all the same.
 */
static const struct {
	const char *file, *value;
	bool optional;
} settings[] = {
    {"trace_clock", "mono", false},   /* the clock in which intervals are counted */
    {"buffer_size_kb", "512", false}, /* of each CPU: some thousand events between two samples */
    {EVENT, "1", false},
    {"events/gfs2/gfs2_demote_rq/enable", "1", true}, /* another node wants a lock */
    {"events/gfs2/gfs2_log_flush/enable", "1", true}, /* a write-back begins */
};

static void remove_dead(const struct machine_roots *h, const char *path, const char *name,
			void *arg)
{
	char own[PATH_MAX], comm[32];
	int pid, end = 0;

	(void)arg;
	if (sscanf(name, "o2top-%d%n", &pid, &end) != 1 || name[end] || pid == getpid())
		return;
	machine_place(own, "%s/%d/comm", h->proc, pid);
	machine_line(own, comm, sizeof(comm));
	/* If another name is there, another program has the number now. */
	if (strcmp(comm, "o2top") == 0 || strcmp(comm, "sh") == 0)
		return;
	if (machine_place(own, "%s/%s", path, name))
		rmdir(own); /* its files belong to the kernel, so it goes as a whole */
}

void tracing_begin(struct tracing *t, const char *debugfs)
{
	const char *given = getenv("O2TOP_TRACING");
	struct machine_roots roots = machine_roots();
	char instances[PATH_MAX];
	struct stat st;

	*t = (struct tracing){.error = -ENOENT};
	/* A look at tracefs below debugfs would mount it, so the other place comes first. */
	machine_place(t->root, "%s", given ? given : "/sys/kernel/tracing");
	machine_place(instances, "%s/instances", t->root);
	if (stat(instances, &st) && !given) {
		machine_place(t->root, "%s/tracing", debugfs);
		machine_place(instances, "%s/instances", t->root);
	}
	machine_each(&roots, remove_dead, NULL, instances);
}

static int tracing_put(const char *folder, const char *file, const char *value)
{
	char path[PATH_MAX];

	return machine_place(path, "%s/%s", folder, file) ? glock__kernel_file_put(path, value)
							  : -ENAMETOOLONG;
}

int tracing_start(struct tracing *t)
{
	char event[PATH_MAX];

	if (*t->instance)
		return 0;
	/* GFS2's module brings the event. Without the module there is nothing to trace yet. */
	t->error = 0;
	if (!machine_place(event, "%s/" EVENT, t->root) || access(event, F_OK) ||
	    !machine_place(t->instance, "%s/instances/o2top-%d", t->root, (int)getpid()) ||
	    (mkdir(t->instance, 0700) && errno != EEXIST)) {
		t->error = -errno;
		*t->instance = '\0';
		return t->error;
	}
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]) && !t->error; i++) {
		int err = tracing_put(t->instance, settings[i].file, settings[i].value);

		t->error = settings[i].optional ? 0 : err;
	}
	if (t->error)
		tracing_stop(t);
	return t->error;
}

void tracing_stop(struct tracing *t)
{
	if (*t->instance)
		rmdir(t->instance);
	*t->instance = '\0';
}
