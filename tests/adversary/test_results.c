/* SPDX-License-Identifier: MIT */
/* test_results.c - tests results and limits that no other test has, and the library's output. */
#include "watched.h"

#include <sys/resource.h>

/* ---- results that nothing else tests ---- */

/* A lock manager without tokens, and a token of a lock that was lost. */
/* Promises: glock_token: "Stores the number", "-EIO the lock", "-EOPNOTSUPP this lock". */
static void tokens_that_are_none(void)
{
	struct glock_holder gh;
	uint64_t token;

	begin();
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_token(&gh, &token), !strcmp(lockman, "none") ? -EOPNOTSUPP : 0);
	SAME(glock_holders(gl, NULL, 0), 1);
	glock_withdraw(space);
	SAME(glock_token(&gh, &token), -EIO);
	SAME(glock_dq(&gh), 0);
	end();
}

/*
 * Promises: glock_space_open: "-ENOMEM, -EMFILE no"; glock_notifier_open: "-ENOMEM, -EMFILE,
 * -ENFILE".
 */
static void too_many_files(void)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = lockman};
	struct glock_notifier *notifier;
	struct rlimit limit, few;
	int fd = dup(0);

	CHECK(fd > 0);
	SAME(close(fd), 0);
	SAME(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	few.rlim_cur = (rlim_t)fd; /* no more than now */
	SAME(setrlimit(RLIMIT_NOFILE, &few), 0);
	SAME(glock_space_open("files", &o, &space), -EMFILE);
	SAME(setrlimit(RLIMIT_NOFILE, &limit), 0);
	SAME(glock_space_open("files", &o, &space), 0);
	SAME(setrlimit(RLIMIT_NOFILE, &few), 0);
	SAME(glock_notifier_open(&notifier), -EMFILE);
	SAME(setrlimit(RLIMIT_NOFILE, &limit), 0);
	SAME(glock_space_close(space), 0);
}

/* No cluster is needed to see that a name is wrong. */
/* Promises: lockman: "(default)"; glock_space_open: "the name has". */
static void names_for_dlm(void)
{
	static const char *const bad[] = {"a/b", "/", ".x", "", "."};
	const struct glock_space_options o = {.size = sizeof(o), .lockman = "dlm"};
	char name[66];

	for (size_t i = 0; i < COUNT(bad); i++)
		SAME(glock_space_open(bad[i], &o, &space), -EINVAL);
	memset(name, 'x', sizeof(name));
	name[65] = 0;
	SAME(glock_space_open(name, &o, &space), -EINVAL);
}

static void shares(void *arg)
{
	struct glock_holder gh;

	(void)arg;
	begin();
	SAME(ask(&gh, GLOCK_SH, 0), 0);
	shared->cell[0]++;
	UNTIL(shared->cell[1]);
	SAME(glock_dq(&gh), 0);
	end();
}

/* Promises: glock_holders: "Then come the". */
static void at_most_32_peers(void)
{
	struct glock_holder_info info[40] = {{.size = sizeof(*info)}};
	struct glock_holder gh;
	pid_t pid[34];
	int n = 0;

	for (size_t i = 0; i < COUNT(pid); i++)
		pid[i] = start(shares, NULL);
	UNTIL(shared->cell[0] == COUNT(pid));
	begin();
	SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
	UNTIL((n = glock_holders(gl, info, COUNT(info))) > 1);
	SAME(n, 33); /* with the request of this process */
	SAME(glock_holders(gl, info, 5), 33);
	shared->cell[1] = 1;
	SAME(glock_wait(&gh, 0, 0), 0);
	SAME(glock_dq(&gh), 0);
	for (size_t i = 0; i < COUNT(pid); i++)
		join(pid[i]);
	end();
}

static void wants(void *arg)
{
	struct glock_holder gh;

	(void)arg;
	begin();
	SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
	shared->cell[3] = 1;
	SAME(glock_wait(&gh, 0, 0), 0);
	SAME(glock_dq(&gh), 0);
	end();
}

/* One process has the lock, another one waits for it before this process. */
/* This process waits for two others, in one space. */
static void members_and_holders(pid_t holder, pid_t waiter)
{
	struct glock_holder_info info[4] = {{.size = sizeof(*info)}};
	struct glock_node nodes[4] = {{.size = sizeof(*nodes)}};

	SAME(glock_nodes(space, NULL, 0), 3);
	SAME(glock_nodes(space, nodes, COUNT(nodes)), 3);
	for (size_t i = 0; i < 3; i++) {
		CHECK(nodes[i].pid == holder || nodes[i].pid == waiter || nodes[i].pid == getpid());
		SAME(nodes[i].self, nodes[i].pid == getpid());
		CHECK(*nodes[i].name && nodes[i].size == sizeof(*nodes));
		for (size_t k = 0; k < i; k++)
			CHECK(nodes[i].id != nodes[k].id && nodes[i].slot != nodes[k].slot &&
			      nodes[i].pid != nodes[k].pid);
	}
	SAME(glock_holders(gl, info, COUNT(info)), 3);
	CHECK(info[0].own && info[0].waits && info[0].mode == GLOCK_SH && info[0].where);
	CHECK(info[0].waited > 0 && info[0].flags == GLOCK_ASYNC && info[0].pid == gettid());
	CHECK(info[1].pid != info[2].pid);
	for (size_t i = 1; i < 3; i++) {
		CHECK(!info[i].own && !info[i].where && info[i].mode == GLOCK_EX);
		CHECK(info[i].pid == holder || info[i].pid == waiter);
		SAME(info[i].waits != 0, info[i].pid == waiter);
		CHECK(!info[i].stopped && !info[i].dead && *info[i].comm);
	}
}

/*
 * Promises: id: "of no other"; slot: "a small number"; glock_nodes: "Stores the members", "Returns
 * their number"; pid: "own: the thread"; where: "the call site"; glock_holders: "Those of this",
 * "Then come the".
 */
static void peers_hold_or_wait(void)
{
	pid_t holder = start(keeps, NULL), waiter;
	struct glock_holder gh;

	UNTIL(shared->cell[0]);
	waiter = start(wants, NULL);
	UNTIL(shared->cell[3]);
	nap(50 * MS); /* a thread of the library asks */
	begin();      /* after the forks, for ThreadSanitizer */
	SAME(ask(&gh, GLOCK_SH, GLOCK_ASYNC), 0);
	UNTIL(glock_holders(gl, NULL, 0) == 3);
	members_and_holders(holder, waiter);
	shared->cell[1] = 1;
	SAME(glock_wait(&gh, 0, 0), 0);
	SAME(glock_dq(&gh), 0);
	join(holder);
	join(waiter);
	end();
}

/* Two containers may have a directory each: the same name is another space there. */
/* Promises: glock_space_identity: "Stores a number", "Two containers may". */
static void identity_of_a_space(void)
{
	char other[] = "/dev/shm/glock-test-XXXXXX", *dir = strdup(getenv("GLOCK_DIR"));
	uint64_t first = 0, its = 0;
	struct glock_space *second;

	begin();
	second = open_space(NULL, 0, 0);
	SAME(glock_space_identity(space, &first), 0);
	SAME(glock_space_identity(second, &its), 0);
	CHECK(its == first);
	SAME(glock_space_close(second), 0);
	CHECK(mkdtemp(other) && dir);
	SAME(setenv("GLOCK_DIR", other, 1), 0);
	second = open_space(NULL, 0, 0);
	SAME(glock_space_identity(second, &its), 0);
	CHECK(its != first);
	SAME(glock_space_close(second), 0);
	forget_spaces();
	SAME(rmdir(other), 0);
	SAME(setenv("GLOCK_DIR", dir, 1), 0);
	free(dir);
	end();
}

/* A process that opens the space twice is two members. */
static void a_process_with_two_nodes(void)
{
	struct glock_node nodes[3] = {{.size = sizeof(*nodes)}}, its[3] = {{.size = sizeof(*its)}};
	struct glock_space *second;
	int self;

	begin();
	second = open_space(NULL, 0, 0);
	SAME(glock_nodes(space, nodes, COUNT(nodes)), 2);
	SAME(glock_nodes(second, its, COUNT(its)), 2);
	self = nodes[0].self ? 0 : 1;
	SAME(nodes[self].self, 1);
	SAME(nodes[!self].self, 0);
	for (size_t i = 0; i < 2; i++)
		SAME(its[i].self, its[i].id == nodes[!self].id);
	SAME(glock_space_close(second), 0);
	end();
}

static void *holds_for_another(void *arg)
{
	SAME(glock_nq(arg), 0);
	shared->cell[1] = (uint64_t)gettid();
	UNTIL(shared->cell[2]);
	SAME(glock_dq(arg), 0);
	return NULL;
}

/* A holder is named by its thread, whichever thread asks, also if it came by the fast path. */
static void holders_of_threads(void)
{
	struct glock_holder_info info[2] = {{.size = sizeof(*info)}};
	struct glock_holder gh;
	pthread_t thread;

	begin();
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_dq(&gh), 0);
	glock_holder_init(&gh, gl, GLOCK_EX, 0);
	SAME(pthread_create(&thread, NULL, holds_for_another, &gh), 0);
	UNTIL(shared->cell[1]);
	SAME(glock_holders(gl, info, COUNT(info)), 1);
	SAME(info[0].pid, shared->cell[1]);
	CHECK(info[0].pid != gettid());
	shared->cell[2] = 1;
	SAME(pthread_join(thread, NULL), 0);
	end();
}

/* Only "local" has tokens. */
/* Promises: lockman: "(default)". */
static void local_is_the_default(void)
{
	struct glock_holder gh;
	uint64_t token;

	SAME(unsetenv("GLOCK_LOCKMAN"), 0);
	SAME(glock_space_open("default", NULL, &space), 0);
	gl = get(space, GLOCK_INODE, 1);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_token(&gh, &token), 0);
	SAME(glock_dq(&gh), 0);
	end();
}

/* ---- output ---- */

static void log_nothing(void *arg, const char *message)
{
	(void)arg;
	CHECK(*message);
	shared->cell[0]++;
}

/* The library prints nothing, even for mistakes. The log is told of the mistakes. */
/*
 * Promises: What to know before using it: "No function aborts", "The log callback";
 * glock_space_open: "The log says".
 */
static void prints_nothing(void)
{
	const struct glock_space_options o = {
	    .size = sizeof(o), .lockman = lockman, .log = log_nothing};
	const struct glock_space_options bad = {
	    .size = sizeof(bad), .lockman = "no such", .log = log_nothing};
	struct glock_space *none;
	struct glock_holder gh, twice;
	int out = dup(1), err = dup(2), ends[2];
	char byte;

	CHECK(out >= 0 && err >= 0);
	SAME(pipe(ends), 0);
	CHECK(dup2(ends[1], 1) == 1 && dup2(ends[1], 2) == 2);
	SAME(glock_space_open("silent", &bad, &none), -EPROTONOSUPPORT);
	SAME(glock_space_open("silent", &o, &space), 0);
	gl = get(space, GLOCK_INODE, 1);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(ask(&twice, GLOCK_EX, 0), -EDEADLK);
	SAME(ask(&twice, (enum glock_mode)99, 0), -EINVAL);
	SAME(glock_nq(&gh), -EINVAL);
	SAME(glock_dq(&gh), 0);
	SAME(glock_dq(&gh), -EINVAL);
	glock_withdraw(space);
	SAME(ask(&gh, GLOCK_EX, 0), -EIO);
	end();
	CHECK(dup2(out, 1) == 1 && dup2(err, 2) == 2);
	SAME(close(ends[1]), 0);
	SAME(read(ends[0], &byte, 1), 0);
	CHECK(shared->cell[0] >= 3);
}

int main(void)
{
	static const struct test tests[] = {
	    {"tokens_that_are_none", tokens_that_are_none, NULL},
	    {"too_many_files", too_many_files, "local"},
	    {"names_for_dlm", names_for_dlm, "none"},
	    {"at_most_32_peers", at_most_32_peers, "local"},
	    {"peers_hold_or_wait", peers_hold_or_wait, "local"},
	    {"identity_of_a_space", identity_of_a_space, "local"},
	    {"a_process_with_two_nodes", a_process_with_two_nodes, "local"},
	    {"holders_of_threads", holders_of_threads, NULL},
	    {"local_is_the_default", local_is_the_default, "local"},
	    {"prints_nothing", prints_nothing, NULL},
	};

	return run_tests(tests, COUNT(tests));
}
