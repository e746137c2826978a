/* SPDX-License-Identifier: MIT */
/*
 * actor.c - the process that obeys lines, and the test's side of it.
 */
#include "actor.h"

#include "../fork_quietly.h"
#include "glock.h"
#include "inside.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { HOLDERS = 32, PATIENCE_MS = 60000 };

/* ---- the actor ---- */

static struct {
	struct glock_space *space;
	struct glock_holder gh[HOLDERS];
	char group[64], dir[4096];
	int recovered, messages;
	char last[1024]; /* the last message */
	int lock_error;
	int holding; /* the recovery callback does not return */
	pthread_mutex_t lock;
	pthread_cond_t changed;
} me = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void on_log(void *arg, const char *message)
{
	(void)arg;
	snprintf(me.last, sizeof(me.last), "%s", message);
	__atomic_add_fetch(&me.messages, 1, __ATOMIC_SEQ_CST);
	fprintf(stderr, "# [%d] %s\n", (int)getpid(), message);
}

static void on_recover(void *arg, const struct glock_node *dead)
{
	(void)arg, (void)dead;
	pthread_mutex_lock(&me.lock);
	me.recovered++;
	while (me.holding)
		pthread_cond_wait(&me.changed, &me.lock);
	pthread_mutex_unlock(&me.lock);
}

static int lock_fails(struct glock_holder *gh)
{
	(void)gh;
	return -me.lock_error;
}

static int64_t do_open(const char *name, bool recover)
{
	static const struct glock_ops failing = {.size = sizeof(failing), .lock = lock_fails};
	const struct glock_type_options type = {.size = sizeof(type),
						.type = GLOCK_RGRP,
						.ops = me.lock_error ? &failing : NULL,
						.flags = GLOCK_OPS_LVB,
						.hold = GLOCK_HOLD_NONE};
	const struct glock_space_options o = {.size = sizeof(o),
					      .types = &type,
					      .n_types = 1,
					      .log = on_log,
					      .group = *me.group ? me.group : NULL,
					      .dir = *me.dir ? me.dir : NULL,
					      .recover = recover ? on_recover : NULL};

	return glock_space_open(name, &o, &me.space);
}

static int64_t do_nq(unsigned int i, uint64_t number, const char *mode, unsigned int flags)
{
	static const char *const modes[] = {"UN", "EX", "DF", "SH"};
	struct glock *gl;
	int m = 0;
	int err = glock_get(me.space, GLOCK_RGRP, number, &gl);

	while (m < 3 && strcmp(modes[m], mode))
		m++;
	if (err)
		return err;
	glock_holder_init(&me.gh[i], gl, (enum glock_mode)m, flags);
	glock_holder_owner(&me.gh[i], i + 1);
	err = glock_nq(&me.gh[i]);
	if (err)
		glock_put(gl);
	return err;
}

static int64_t do_dq(unsigned int i)
{
	int err = glock_dq(&me.gh[i]);

	if (!err)
		glock_put(glock_of(&me.gh[i]));
	return err;
}

static int64_t do_many(int n, const char *mode)
{
	static uint64_t number = 1000000;
	int64_t err = 0;

	while (n-- && !err) {
		err = do_nq(7, number++, mode, 0);
		if (!err)
			err = do_dq(7); /* the lock stays with this node, cached */
	}
	return err;
}

/* Locks of glocks with a reference are in use. They are not given back for others. */
static int64_t do_keep(int n, const char *mode)
{
	static uint64_t number = ACTOR_KEEPS;
	struct glock *gl;

	for (int i = 0; i < n; i++) {
		if (glock_get(me.space, GLOCK_RGRP, number++, &gl) || do_nq(7, number - 1, mode, 0))
			return i;
		do_dq(7);
	}
	return n;
}

static int64_t do_walk(uint64_t first, int n, const char *mode)
{
	int64_t died = 0, err;

	for (int i = 0; i < n; i++) {
		err = do_nq(7, first + (uint64_t)i, mode, 0);
		if (err)
			return err;
		died += glock_owner_died(&me.gh[7]);
		do_dq(7);
	}
	return died;
}

static int64_t do_wait(unsigned int i, int64_t ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return glock_wait(&me.gh[i], ts.tv_sec * 1000000000ll + ts.tv_nsec + ms * 1000000, 0);
}

static int64_t do_token(unsigned int i)
{
	uint64_t token;
	int err = glock_token(&me.gh[i], &token);

	return err ? err : (int64_t)token;
}

static int64_t do_read(unsigned int i)
{
	int64_t value[GLOCK_LVB_SIZE / 8];
	int err = glock_lvb_read(&me.gh[i], value);

	return err ? err : value[0];
}

static int64_t do_write(unsigned int i, int64_t value)
{
	int64_t all[GLOCK_LVB_SIZE / 8] = {value};

	return glock_lvb_write(&me.gh[i], all);
}

static int64_t do_way(uint64_t number)
{
	struct glock_holder_info info[8] = {{.size = sizeof(*info)}};
	int64_t found = 0;
	struct glock *gl;
	int n;

	if (glock_get(me.space, GLOCK_RGRP, number, &gl))
		return -1;
	n = glock_holders(gl, info, sizeof(info) / sizeof(*info));
	glock_put(gl);
	for (int i = 0; i < n && i < (int)(sizeof(info) / sizeof(*info)) && !found; i++)
		if (!info[i].own)
			found = info[i].pid + (info[i].stopped ? 1ll << 32 : 0);
	return found;
}

/* Returns the number of calls in a child that did not answer -ECHILD. */
static int64_t do_fork(void)
{
	int status = -1;
	pid_t pid = fork_quietly();

	if (!pid) {
		struct glock_holder gh = GLOCK_HOLDER_NONE;
		struct glock *gl;
		int wrong = 0;

		wrong += glock_get(me.space, GLOCK_RGRP, 1, &gl) != -ECHILD;
		wrong += glock_dq(&me.gh[0]) != -ECHILD;
		wrong += glock_space_close(me.space) != -ECHILD;
		glock_withdraw(me.space);
		glock_holder_init(&gh, glock_of(&me.gh[0]), GLOCK_SH, 0);
		wrong += glock_nq(&gh) != -ECHILD;
		exit(wrong);
	}
	waitpid(pid, &status, 0);
	return status;
}

uint32_t actor_lies[ACTOR_LIES], actor_lingers, actor_trap, actor_trapped;
bool actor_dies;

static int64_t do_lie(unsigned int i, uint32_t pid)
{
	if (i >= ACTOR_LIES)
		return -EINVAL;
	__atomic_store_n(&actor_lies[i], pid, __ATOMIC_RELAXED);
	return 0;
}

static int64_t do_hold(int on)
{
	pthread_mutex_lock(&me.lock);
	me.holding = on;
	pthread_cond_broadcast(&me.changed);
	pthread_mutex_unlock(&me.lock);
	return 0;
}

static int64_t act(char *line)
{
	char *words[6] = {0}, *save = NULL;
	unsigned int i;
	int n = 0;

	for (char *w = strtok_r(line, " \n", &save); w && n < 6; w = strtok_r(NULL, " \n", &save))
		words[n++] = w;
#define IS(word, args) (n >= (args) + 1 && !strcmp(words[0], word))
	i = n > 1 ? (unsigned int)strtoul(words[1], NULL, 10) % HOLDERS : 0;
	if (IS("open", 1))
		return do_open(words[1], n > 2);
	if (IS("group", 1))
		return !snprintf(me.group, sizeof(me.group), "%s", words[1]);
	if (IS("dir", 1))
		return !snprintf(me.dir, sizeof(me.dir), "%s", words[1]);
	if (IS("chdir", 1))
		return chdir(words[1]) ? -errno : 0;
	if (IS("fail", 1))
		return me.lock_error = atoi(words[1]), 0;
	if (IS("nq", 4))
		return do_nq(i, strtoull(words[2], NULL, 10), words[3],
			     (unsigned int)strtoul(words[4], NULL, 0));
	if (IS("wait", 2))
		return do_wait(i, strtoll(words[2], NULL, 10));
	if (IS("dq", 1))
		return do_dq(i);
	if (IS("read", 1))
		return do_read(i);
	if (IS("write", 2))
		return do_write(i, strtoll(words[2], NULL, 10));
	if (IS("token", 1))
		return do_token(i);
	if (IS("died", 1))
		return glock_owner_died(&me.gh[i]);
	if (IS("valid", 1))
		return glock_valid(&me.gh[i]);
	if (IS("way", 1))
		return do_way(strtoull(words[1], NULL, 10));
	if (IS("ways", 2)) {
		for (n = atoi(words[2]); n; n--)
			do_way(strtoull(words[1], NULL, 10));
		return 0;
	}
	if (IS("recovered", 0)) {
		pthread_mutex_lock(&me.lock);
		n = me.recovered;
		pthread_mutex_unlock(&me.lock);
		return n;
	}
	if (IS("hold", 1))
		return do_hold(atoi(words[1]));
	if (IS("linger", 1)) {
		__atomic_store_n(&actor_lingers, (uint32_t)atoi(words[1]), __ATOMIC_RELAXED);
		return 0;
	}
	if (IS("trap", 1)) {
		__atomic_store_n(&actor_trapped, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&actor_trap, (uint32_t)atoi(words[1]), __ATOMIC_SEQ_CST);
		return 0;
	}
	if (IS("trapped", 0))
		return __atomic_load_n(&actor_trapped, __ATOMIC_SEQ_CST);
	if (IS("die", 0)) {
		__atomic_store_n(&actor_dies, true, __ATOMIC_RELAXED);
		return 0;
	}
	if (IS("lie", 2))
		return do_lie((unsigned int)atoi(words[1]), (uint32_t)atoi(words[2]));
	if (IS("log", 0))
		return __atomic_load_n(&me.messages, __ATOMIC_SEQ_CST);
	if (IS("said", 1))
		return strstr(me.last, words[1]) != NULL;
	if (IS("fork", 0))
		return do_fork();
	if (IS("withdraw", 0))
		return glock_withdraw(me.space), 0;
	if (IS("close", 0))
		return glock_space_close(me.space);
	if (IS("uid", 1))
		return setuid((uid_t)strtoul(words[1], NULL, 10)) ? -errno : 0;
	if (IS("limit", 2)) {
		struct rlimit limit = {(rlim_t)atoll(words[2]), (rlim_t)atoll(words[2])};

		return setrlimit(strcmp(words[1], "as") ? RLIMIT_FSIZE : RLIMIT_AS, &limit) ? -errno
											    : 0;
	}
	if (IS("many", 2))
		return do_many(atoi(words[1]), words[2]);
	if (IS("keep", 2))
		return do_keep(atoi(words[1]), words[2]);
	if (IS("walk", 3))
		return do_walk(strtoull(words[1], NULL, 10), atoi(words[2]), words[3]);
	if (IS("closefds", 0)) {
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
		return 0;
	}
	return -ENOSYS;
}

void actor_main(int argc, char **argv)
{
	char line[5000];

	if (argc != 2 || strcmp(argv[1], "actor"))
		return;
	while (fgets(line, sizeof(line), stdin)) {
		printf("%lld\n", (long long)act(line));
		fflush(stdout);
	}
	exit(0);
}

/* ---- the test's side ---- */

static pid_t living[32]; /* the first of the actors that were started and not ended */

/* Replaces the first entry that is `old`. */
static void note_living(pid_t old, pid_t new)
{
	for (size_t i = 0; i < sizeof(living) / sizeof(*living); i++)
		if (living[i] == old) {
			living[i] = new;
			return;
		}
}

void actor_start(struct actor *a)
{
	int to[2], from[2];

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	fflush(stdout);
	a->pid = fork();
	assert_true(a->pid >= 0);
	if (!a->pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		for (int fd = 3; fd < 256; fd++)
			close(fd);
		execl("/proc/self/exe", "actor", "actor", (char *)NULL);
		_exit(127);
	}
	note_living(0, a->pid);
	close(to[0]);
	close(from[1]);
	a->in = to[1];
	a->out = fdopen(from[0], "r");
	assert_non_null(a->out);
	setvbuf(a->out, NULL, _IONBF, 0);
}

static void send_line(struct actor *a, const char *fmt, va_list ap)
{
	char line[5000];
	int len = vsnprintf(line, sizeof(line) - 1, fmt, ap);

	line[len++] = '\n';
	assert_int_equal(write(a->in, line, (size_t)len), len);
}

void actor_send(struct actor *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	send_line(a, fmt, ap);
	va_end(ap);
}

bool actor_answers_within(struct actor *a, int ms)
{
	struct pollfd p = {.fd = fileno(a->out), .events = POLLIN};

	return poll(&p, 1, ms) > 0;
}

int64_t actor_answer(struct actor *a)
{
	char line[64];

	if (!actor_answers_within(a, PATIENCE_MS))
		fail_msg("process %d does not answer", (int)a->pid);
	if (!fgets(line, sizeof(line), a->out))
		fail_msg("process %d is gone", (int)a->pid);
	return strtoll(line, NULL, 10);
}

int64_t actor_do(struct actor *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	send_line(a, fmt, ap);
	va_end(ap);
	return actor_answer(a);
}

static void reap(struct actor *a)
{
	int status;

	close(a->in);
	fclose(a->out);
	assert_int_equal(waitpid(a->pid, &status, 0), a->pid);
	note_living(a->pid, 0);
	a->pid = 0;
}

void actor_kill(struct actor *a)
{
	kill(a->pid, SIGKILL);
	reap(a);
}

void actor_end(struct actor *a)
{
	assert_int_equal(actor_do(a, "close"), 0);
	reap(a);
}

void actor_begin(struct actor *a, const char *space, const char *how)
{
	actor_start(a);
	assert_int_equal(actor_do(a, "open %s %s", space, how), 0);
}

/* Kills the actors of a test that failed: a stopped one would keep the next test waiting. */
static bool kill_living(void)
{
	bool any = false;

	for (size_t i = 0; i < sizeof(living) / sizeof(*living); i++) {
		if (!living[i])
			continue;
		print_error("left: process %d\n", (int)living[i]);
		kill(living[i], SIGKILL);
		waitpid(living[i], NULL, 0);
		living[i] = 0;
		any = true;
	}
	return any;
}

int actors_left(const char *space)
{
	struct inside in;
	struct actor a;

	if (kill_living())
		return -1;
	actor_begin(&a, space, ""); /* a process that joins reaps the dead nodes */
	actor_end(&a);
	inside_look(space, &in);
	if (!in.nodes && !in.locks && !in.wrong)
		return 0;
	print_error("left: %u nodes, %u locks; %s\n", in.nodes, in.locks, in.wrong ? in.wrong : "");
	return -1;
}
