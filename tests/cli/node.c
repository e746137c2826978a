/* SPDX-License-Identifier: MIT */
/*
 * node.c - a process in a lock space that obeys commands, one a line of standard input.
 *
 *	take TYPE NUMBER MODE			takes it as programs do, or drops it
 *	nq ID TYPE NUMBER MODE [FLAGS]	asks, without waiting		wait ID
 *	dq ID	poll ID			cached TYPE COUNT MODE		takes and drops COUNT locks
 *	move ID TYPE NUMBER MODE FLAGS	takes it by the fast path, as a movable holder
 *	elsewhere ID			drops it in another thread
 *	dump glocks|glstats|sbstats	hang SECONDS	in a callback, at the next demand
 *	name TYPE NUMBER TEXT		the text in the glock's dump
 *
 * The answer to each is a line: ok, or a negative errno. The answer to dump is its text and a line
 * with a dot.
 */
#include "glock.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { IDS = 256 };

static struct glock_space *space;
static struct {
	struct glock *gl;
	struct glock_holder gh;
} held[IDS];
static _Atomic double hang_s; /* the thread that runs the work reads it */
static char name[128];

static void dump(struct glock *gl, glock_print_fn *print, void *to)
{
	char line[256];
	int n = snprintf(line, sizeof(line), " I: n:%llu\n P: %s\n",
			 (unsigned long long)glock_number(gl), name);

	print(to, line, (size_t)n);
}

/* Runs before the lock is given up. */
static void inval(struct glock *gl, unsigned int what)
{
	double s = hang_s;
	struct timespec ts = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};

	(void)gl, (void)what;
	if (s > 0)
		nanosleep(&ts, NULL);
	hang_s = 0;
}

static void print(void *to, const char *text, size_t len)
{
	fwrite(text, 1, len, to);
}

static enum glock_mode mode_of(const char *text)
{
	return !strcmp(text, "EX") ? GLOCK_EX : !strcmp(text, "DF") ? GLOCK_DF : GLOCK_SH;
}

static int nq(unsigned int id, unsigned int type, unsigned long long number, const char *mode,
	      unsigned int flags)
{
	int err = glock_get(space, type, number, &held[id].gl);

	if (err)
		return err;
	glock_holder_init(&held[id].gh, held[id].gl, mode_of(mode), flags | GLOCK_ASYNC);
	glock_holder_owner(&held[id].gh, id + 1);
	return glock_nq_at(&held[id].gh, "node.c:1");
}

static int dq(unsigned int id)
{
	int err = glock_dq(&held[id].gh);

	glock_put(held[id].gl);
	held[id].gl = NULL;
	return err;
}

/* The first request goes to the lock manager. The last one uses the fast path. */
static int move(unsigned int id, unsigned int type, unsigned long long number, const char *mode,
		unsigned int flags)
{
	int err = glock_get(space, type, number, &held[id].gl);

	for (int i = 0; i < 3 && !err; i++) {
		glock_holder_init(&held[id].gh, held[id].gl, mode_of(mode), flags);
		err = glock_nq_at(&held[id].gh, "moved.c:1");
		if (!err && i < 2)
			err = glock_dq(&held[id].gh);
	}
	return err;
}

static void *dq_of(void *id)
{
	return (void *)(intptr_t)dq(*(unsigned int *)id);
}

static int elsewhere(unsigned int id)
{
	pthread_t t;
	void *err;

	if (pthread_create(&t, NULL, dq_of, &id) || pthread_join(t, &err))
		return -EAGAIN;
	return (int)(intptr_t)err;
}

static int cached(unsigned int type, unsigned long long count, const char *mode)
{
	int err = 0;

	for (unsigned long long i = 0; i < count && !err; i++) {
		struct glock_holder gh;
		struct glock *gl;

		err = glock_get(space, type, i, &gl);
		if (err)
			break;
		glock_holder_init(&gh, gl, mode_of(mode), 0);
		err = glock_nq(&gh);
		if (!err)
			err = glock_dq(&gh);
		glock_put(gl);
	}
	return err;
}

/*
 * Takes a lock as a program does: without an owner of its own and without flags. The second time
 * uses the fast path.
 */
static int take(unsigned int type, unsigned long long number, const char *mode)
{
	static struct glock_holder gh;
	static struct glock *gl;
	int err;

	if (gl) {
		err = glock_dq(&gh);
		glock_put(gl);
		gl = NULL;
		return err;
	}
	err = glock_get(space, type, number, &gl);
	for (int i = 0; i < 3 && !err; i++) {
		glock_holder_init(&gh, gl, mode_of(mode), 0);
		err = glock_nq_at(&gh, "taken.c:1");
		if (!err && i < 2)
			err = glock_dq(&gh);
	}
	return err;
}

static int dump_all(const char *file)
{
	enum glock_file what = !strcmp(file, "glocks")    ? GLOCK_FILE_GLOCKS
			       : !strcmp(file, "glstats") ? GLOCK_FILE_GLSTATS
							  : GLOCK_FILE_SBSTATS;
	int err = glock_dump(space, what, GLOCK_FORMAT_LINUX_6_1, print, stdout);

	puts(".");
	return err;
}

static int obey(const char *line)
{
	char word[16] = "", mode[16] = "", file[32] = "";
	unsigned int id = 0, type = 0, flags = 0;
	unsigned long long number = 0;
	double seconds;

	sscanf(line, "%15s", word);
	if (sscanf(line, "nq %u %u %llu %15s %x", &id, &type, &number, mode, &flags) >= 4)
		return id < IDS ? nq(id, type, number, mode, flags) : -EINVAL;
	if (sscanf(line, "wait %u", &id) == 1 && id < IDS)
		return glock_wait(&held[id].gh, 0, 0);
	if (sscanf(line, "poll %u", &id) == 1 && id < IDS)
		return glock_poll(&held[id].gh);
	if (sscanf(line, "dq %u", &id) == 1 && id < IDS && held[id].gl)
		return dq(id);
	if (sscanf(line, "elsewhere %u", &id) == 1 && id < IDS && held[id].gl)
		return elsewhere(id);
	if (sscanf(line, "move %u %u %llu %15s %x", &id, &type, &number, mode, &flags) == 5)
		return id < IDS ? move(id, type, number, mode, flags) : -EINVAL;
	if (sscanf(line, "take %u %llu %15s", &type, &number, mode) == 3)
		return take(type, number, mode);
	if (sscanf(line, "cached %u %llu %15s", &type, &number, mode) == 3)
		return cached(type, number, mode);
	if (sscanf(line, "supports %31s", file) == 1)
		return glock_supports(file) ? 0 : -EOPNOTSUPP;
	if (sscanf(line, "dump %31s", file) == 1)
		return dump_all(file);
	if (sscanf(line, "hang %lf", &seconds) == 1) {
		hang_s = seconds;
		return 0;
	}
	if (sscanf(line, "name %127[^\n]", name) == 1)
		return 0;
	return -EINVAL;
}

int main(int argc, char **argv)
{
	static const struct glock_ops ops = {.size = sizeof(ops), .dump = dump, .inval = inval};
	static const struct glock_type_options types[] = {
	    {.size = sizeof(types[0]), .type = GLOCK_INODE, .ops = &ops, .hold = GLOCK_HOLD_NONE},
	    {.size = sizeof(types[0]), .type = GLOCK_FLOCK, .hold = GLOCK_HOLD_NONE},
	};
	struct glock_space_options options = {
	    .size = sizeof(options),
	    .types = types,
	    .n_types = 2,
	};
	char line[256];
	int err = argc < 2 ? -EINVAL : glock_space_open(argv[1], &options, &space);

	printf("%d\n", err);
	fflush(stdout);
	while (!err && fgets(line, sizeof(line), stdin)) {
		int ret = obey(line);

		printf(ret == 0 ? "ok\n" : "%d\n", ret);
		fflush(stdout);
	}
	for (unsigned int i = 0; i < IDS; i++)
		if (held[i].gl)
			dq(i);
	return !err && space && glock_space_close(space) ? 1 : 0;
}
