/* SPDX-License-Identifier: MIT */
/*
 * lock_client.c - a program with glocks that obeys lines on its standard input.
 *
 * Usage: lock_client SPACE DIR NAME [recover]. The program prints the result of each line, and the
 * library's callbacks:
 *
 *	nq N MODE [try|idle]  nq N RESULT token T died D lvb TEXT|none
 *	dq N                dq N RESULT
 *	valid N             valid N 0|1
 *	token N             token N T          as the holder knows it
 *	lvb N TEXT          lvb N RESULT
 *	dirty N             dirty N            a later write-back prints: sync N
 *	loop N MODE MS      op N K             one line for each time it had the lock
 *	                    error N RESULT, again N, met N NAME
 *	stop                stopped            the loop
 *	                    sync N MODE, inval N, lost N, recover NODE, log TEXT
 *
 * While the loop holds the lock in EX, it makes a link of the lock's name in DIR, with its own NAME
 * in it. A link that exists already belongs to another program that holds the lock: met.
 */
#include <glock.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TYPE = GLOCK_TYPE_OWN, LOCKS = 16 };

static struct glock_space *space;
static struct glock *glocks[LOCKS];
static struct glock_holder holders[LOCKS];
static const char *dir, *name;

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	line[n++] = '\n';
	if (write(STDOUT_FILENO, line, (size_t)n) < 0)
		exit(1); /* the reader of this output has gone */
}

/* ---- callbacks ---- */

static int sync_it(struct glock *gl, enum glock_mode to, unsigned int what)
{
	if (what && glock_object(gl))
		say("sync %" PRIu64 " %d", glock_number(gl), (int)to);
	return 0;
}

static void inval(struct glock *gl, unsigned int what)
{
	(void)what;
	if (glock_object(gl))
		say("inval %" PRIu64, glock_number(gl));
}

static void lost(struct glock_holder *gh)
{
	say("lost %" PRIu64, glock_number(glock_of(gh)));
}

static void log_it(void *arg, const char *message)
{
	(void)arg;
	say("log %s", message);
}

static void recover(void *arg, const struct glock_node *dead)
{
	(void)arg;
	say("recover %s", dead->name);
}

static const struct glock_ops ops = {
    .size = sizeof(ops), .xmote_th = sync_it, .inval = inval, .lost = lost};

/* ---- commands ---- */

static enum glock_mode mode_of(const char *text)
{
	return !strcmp(text, "EX") ? GLOCK_EX : GLOCK_SH;
}

static void nq(unsigned int n, const char *mode, unsigned int flags)
{
	struct glock_holder *gh = &holders[n];
	char value[GLOCK_LVB_SIZE + 1] = "none";
	uint64_t token = 0;
	int err;

	glock_holder_init(gh, glocks[n], mode_of(mode), flags);
	err = glock_nq(gh);
	if (!err && glock_lvb_read(gh, value))
		strcpy(value, "none");
	if (!err)
		glock_token(gh, &token);
	say("nq %u %d token %" PRIu64 " died %d lvb %s", n, err, token,
	    err ? 0 : glock_owner_died(gh), value);
}

static void write_value(unsigned int n, const char *text)
{
	char value[GLOCK_LVB_SIZE] = "";

	memcpy(value, text, strlen(text) < sizeof(value) ? strlen(text) : sizeof(value));
	say("lvb %u %d", n, glock_lvb_write(&holders[n], value));
}

/* ---- the loop ---- */

static struct {
	pthread_t thread;
	unsigned int n;
	char mode[8];
	int ms;
	volatile bool stop;
	bool runs;
} loop;

/* Enters alone or not. Only one program can make the link, and the link tells its name. */
static void enter(const char *path)
{
	char who[64] = "", own[300];

	if (!symlink(name, path))
		return;
	if (errno == EEXIST && readlink(path, who, sizeof(who) - 1) > 0)
		say("met %u %s", loop.n, who);
	snprintf(own, sizeof(own), "%s.%s", path, name);
	if (symlink(name, own) || rename(own, path))
		say("met %u nothing but %s", loop.n, strerror(errno));
}

static void *run_loop(void *arg)
{
	const struct timespec pause = {.tv_sec = loop.ms / 1000,
				       .tv_nsec = loop.ms % 1000 * 1000000l};
	bool failing = false, ex = mode_of(loop.mode) == GLOCK_EX;
	struct glock_holder gh;
	char path[256];
	unsigned long k = 0;

	(void)arg;
	snprintf(path, sizeof(path), "%s/in.%u", dir, loop.n);
	while (!loop.stop) {
		int err;

		glock_holder_init(&gh, glocks[loop.n], mode_of(loop.mode), 0);
		err = glock_nq(&gh);
		if (err && !failing)
			say("error %u %d", loop.n, err);
		if (!err && failing)
			say("again %u", loop.n);
		failing = err != 0;
		if (!err) {
			if (ex)
				enter(path);
			if (glock_valid(&gh)) /* as far as the program can know */
				say("op %u %lu", loop.n, ++k);
			if (ex && glock_valid(&gh))
				unlink(path);
			glock_dq(&gh);
		}
		nanosleep(&pause, NULL);
	}
	say("stopped");
	return NULL;
}

static void start_loop(unsigned int n, const char *mode, int ms)
{
	loop.n = n;
	loop.ms = ms;
	loop.stop = false;
	snprintf(loop.mode, sizeof(loop.mode), "%s", mode);
	loop.runs = !pthread_create(&loop.thread, NULL, run_loop, NULL);
}

static void stop_loop(void)
{
	loop.stop = true;
	if (loop.runs)
		pthread_join(loop.thread, NULL);
	loop.runs = false;
}

static void command(char *line)
{
	char word[16] = "", mode[8] = "", text[64] = "";
	uint64_t token = 0;
	unsigned int n = 0;
	int ms = 0;

	if (sscanf(line, "nq %u %7s %15s", &n, mode, text) >= 2 && n < LOCKS)
		nq(n, mode, !strcmp(text, "cached") ? GLOCK_TRY_CACHED : *text ? GLOCK_TRY : 0);
	else if (sscanf(line, "loop %u %7s %d", &n, mode, &ms) == 3 && n < LOCKS)
		start_loop(n, mode, ms);
	else if (sscanf(line, "lvb %u %63s", &n, text) == 2 && n < LOCKS)
		write_value(n, text);
	else if (!strcmp(line, "stop\n"))
		stop_loop();
	else if (sscanf(line, "%15s %u", word, &n) != 2 || n >= LOCKS)
		say("what? %s", line);
	else if (!strcmp(word, "dq"))
		say("dq %u %d", n, glock_dq(&holders[n]));
	else if (!strcmp(word, "valid"))
		say("valid %u %d", n, glock_valid(&holders[n]));
	else if (!strcmp(word, "token"))
		say("token %u %" PRIu64, n, glock_token(&holders[n], &token) ? 0 : token);
	else if (!strcmp(word, "dirty"))
		glock_set_object(glocks[n], glocks[n]), say("dirty %u", n);
	else
		say("what? %s", line);
}

int main(int argc, char **argv)
{
	const struct glock_type_options type = {.size = sizeof(type),
						.type = TYPE,
						.flags = GLOCK_OPS_LVB,
						.ops = &ops,
						.caches =
						    GLOCK_CACHES_DATA | GLOCK_CACHES_METADATA};
	struct glock_space_options o = {.size = sizeof(o),
					.lockman = "dlm",
					.types = &type,
					.n_types = 1,
					.log = log_it,
					.recover = argc > 4 ? recover : NULL};
	char line[256];
	int err;

	if (argc < 4)
		return 2;
	dir = argv[2];
	name = argv[3];
	err = glock_space_open(argv[1], &o, &space);
	for (unsigned int n = 0; !err && n < LOCKS; n++)
		err = glock_get(space, TYPE, n, &glocks[n]);
	say("ready %d", err);
	while (!err && fgets(line, sizeof(line), stdin))
		command(line);
	return err != 0; /* ends without notice, as if it had been killed */
}
