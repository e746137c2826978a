/* SPDX-License-Identifier: MIT */
/*
 * test_limits.c - tests lack of memory, of room, of threads and of nodes. Also a process that opens
 * a space and makes no progress.
 */
#include "base/sanitizer.h"
#include "glock/core/space.h"
#include "lockman/local/local_death.h"

#include "actor.h"
#include "glock.h"
#include "opening.h"
#include "small_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>

static struct actor a, b;

/* ---- no memory, no room ---- */

static void no_memory_for_a_space(void)
{
	struct statfs before, after;

	statfs(getenv("GLOCK_DIR"), &before);
	assert_int_equal(try_open("x"), -ENOSPC);
	statfs(getenv("GLOCK_DIR"), &after);
	assert_int_equal(access(at("x"), F_OK), -1);
	assert_int_equal(before.f_bfree, after.f_bfree);
}

/* A request without memory fails: all locks are in use. All else goes on. */
static void no_memory_for_locks(void)
{
	int64_t err = -ENOSPC;

	actor_start(&a);
	actor_start(&b);
	assert_int_equal(actor_do(&a, "open x"), 0);
	assert_int_equal(actor_do(&b, "open x"), 0);
	assert_int_equal(actor_do(&a, "nq 0 1 SH 0"), 0);
	assert_in_range(actor_do(&a, "keep 1000000 SH"), 1000, 100000);
	assert_int_equal(actor_do(&a, "many 1000 SH"), -ENOSPC);
	assert_int_equal(actor_do(&a, "valid 0"), 1);
	assert_true(actor_do(&b, "nq 0 1 EX 1") < 0);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	/* the node has the lock cached, so it needs no memory */
	assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	actor_kill(&a);
	/* The memory of the dead process gets free, soon after its locks. */
	assert_int_equal(actor_do(&b, "nq 0 1 EX 0"), 0);
	for (int i = 0; i < 200 && (err = actor_do(&b, "many 100 SH")) == -ENOSPC; i++)
		usleep(50000);
	assert_int_equal(err, 0);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	actor_end(&b);
}

/*
 * Promises: Memory of "local": "A lock that", "Once memory is"; glock_space_open: "-ENOSPC, -EFBIG
 * no"; glock_nq: "memory is full".
 */
static void no_memory(void **state)
{
	(void)state;
	in_small_memory("64k", no_memory_for_a_space);
	/* Enough for a file, its tables and some locks. */
	in_small_memory("2m", no_memory_for_locks);
}

/* Promises: glock_space_open: "-ENOMEM, -EMFILE no", "-ENOSPC, -EFBIG no". */
static void limits(void **state)
{
	(void)state;
	actor_start(&a);
	assert_int_equal(actor_do(&a, "limit fsize 1000000"), 0);
	assert_int_equal(actor_do(&a, "open limits"), -EFBIG);
	assert_true(actor_do(&a, "log") > 0);
	actor_kill(&a);
	assert_int_equal(access(at("limits"), F_OK), -1);
#if !GLOCK__ASAN && !GLOCK__TSAN
	actor_start(&a);
	assert_int_equal(actor_do(&a, "limit as 500000000"), 0);
	assert_int_equal(actor_do(&a, "open limits"), -ENOMEM);
	actor_kill(&a);
#endif
}

/* ---- no more threads ---- */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg);
void __real_glock__call_sites_free(struct glock_space *space);
void __wrap_glock__call_sites_free(struct glock_space *space);

static struct {
	bool on;
	unsigned int begun, ended; /* atoms: threads */
	/* of these, still running when the space was freed; -1: not freed yet */
	int run_on;
} scarce;

struct begin {
	void *(*run)(void *);
	void *arg;
};

static void *run_counted(void *arg)
{
	struct begin b = *(struct begin *)arg;
	void *ret;

	free(arg);
	ret = b.run(b.arg);
	__atomic_add_fetch(&scarce.ended, 1, __ATOMIC_SEQ_CST);
	return ret;
}

/* When threads are scarce, the last one of a space fails: the recovery thread. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg)
{
	struct begin *b;

	if (!scarce.on)
		return __real_pthread_create(thread, attr, run, arg);
	if (run == glock__local_recovery_thread)
		return EAGAIN;
	b = malloc(sizeof(*b));
	assert_non_null(b);
	*b = (struct begin){run, arg};
	__atomic_add_fetch(&scarce.begun, 1, __ATOMIC_SEQ_CST);
	return __real_pthread_create(thread, attr, run_counted, b);
}

void __wrap_glock__call_sites_free(struct glock_space *space)
{
	if (scarce.on)
		scarce.run_on = (int)(__atomic_load_n(&scarce.begun, __ATOMIC_SEQ_CST) -
				      __atomic_load_n(&scarce.ended, __ATOMIC_SEQ_CST));
	__real_glock__call_sites_free(space);
}

static void never(void *arg, const struct glock_node *dead)
{
	(void)arg, (void)dead;
	abort();
}

/* The threads that started end before the memory that they use is freed. */
/* Promises: glock_space_open: "-EAGAIN no more". */
static void too_few_threads(void **state)
{
	const struct glock_space_options o = {.size = sizeof(o), .recover = never};
	struct glock_space *space;
	struct inside in;

	(void)state;
	scarce.run_on = -1;
	scarce.on = true;
	assert_int_equal(glock_space_open("threads", &o, &space), -EAGAIN);
	scarce.on = false;
	assert_true(scarce.begun > 0);
	assert_int_equal(scarce.run_on, 0);
	inside_look("threads", &in);
	assert_int_equal(in.nodes, 0);
	assert_int_equal(access(at("threads,0"), F_OK), -1);
	assert_int_equal(try_open("threads"), 0);
}

/* Promises: glock_space_open: "-EUSERS 1,024 processes". */
static void too_many_nodes(void **state)
{
	struct flock fl = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = NODES};
	int fd;

	(void)state;
	assert_int_equal(try_open("many"), 0);
	fd = open(at("many"), O_RDWR);
	/* For the kernel, living processes have all places but the last one. */
	fl.l_len = NODES - 1;
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &fl), 0);
	actor_start(&b);
	assert_int_equal(actor_do(&b, "open many"), 0);
	assert_int_equal(try_open("many"), -EUSERS);
	assert_int_equal(actor_do(&b, "nq 0 1 EX 0"), 0);
	actor_kill(&b); /* if this process dies, there is room again */
	assert_int_equal(try_open("many"), 0);
	close(fd);
}

/* ---- a process that opens and makes no progress ---- */

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

/* If a test is in a hurry, the library's clock runs 20 times as fast. */
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	int err = __real_clock_gettime(id, ts);
	int64_t ns;

	if (id == CLOCK_REALTIME || !getenv("TEST_HURRY"))
		return err;
	ns = (ts->tv_sec * 1000000000ll + ts->tv_nsec) * 20;
	*ts = (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
	return err;
}

/* Promises: glock_space_open: "Waits for the", "-EBUSY another process". */
static void opened_by_a_stopped_process(void **state)
{
	const struct flock fl = {
	    .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = OPEN_BYTE, .l_len = 1};
	int fd;

	(void)state;
	assert_int_equal(try_open("slow"), 0);
	fd = open(at("slow"), O_RDWR);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &fl), 0);
	setenv("TEST_HURRY", "1", 1);
	assert_int_equal(try_open("slow"), -EBUSY);
	unsetenv("TEST_HURRY");
	close(fd);
	assert_int_equal(try_open("slow"), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(no_memory),
	    cmocka_unit_test(limits),
	    cmocka_unit_test(too_few_threads),
	    cmocka_unit_test(too_many_nodes),
	    cmocka_unit_test(opened_by_a_stopped_process),
	};

	actor_main(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
