/* SPDX-License-Identifier: MIT */
/* test_beside.c - tests locks by path beside programs that use flock(2) alone. */
#include "scene.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS 1000000ll
#define SOON (2000 * MS) /* for a machine with other work; the tests print the time that it took */

/* ---- each call of flock(2) by the library is counted ---- */

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

static unsigned int looks; /* an atom */

int __wrap_flock(int fd, int operation)
{
	if (!(operation & LOCK_UN))
		__atomic_fetch_add(&looks, 1, __ATOMIC_RELAXED);
	return __real_flock(fd, operation);
}

/* Tells whether another program would get the lock now. */
static bool is_free(int operation)
{
	int fd = open("file", O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
	bool free = !__real_flock(fd, operation | LOCK_NB);

	close(fd);
	return free;
}

static int plain = -1;

static void plain_locks(int operation)
{
	plain = open("file", O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
	assert_int_equal(__real_flock(plain, operation), 0);
}

static void plain_leaves(void)
{
	close(plain);
}

static struct glock *gl;

static int setup(void **state)
{
	(void)state;
	scene_reset();
	gl = scene_get("file");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	glock_put(gl);
	return 0;
}

static void soon_after(const char *what, int64_t deadline)
{
	int64_t late = scene_now() - deadline;

	fprintf(stderr, "# %s: %.1f ms after\n", what, 1e-6 * (double)late);
	assert_in_range(late, 0, SOON);
}

/* ---- modes ---- */

/* Promises: glock_get_path: "also has a flock". */
static void the_flock_has_the_mode_of_the_holder(void **state)
{
	struct glock_holder gh, second;

	(void)state;
	assert_true(is_free(LOCK_EX));
	assert_int_equal(glock_lock(gl, GLOCK_EX, &gh), 0);
	assert_false(is_free(LOCK_SH));
	assert_int_equal(glock_downgrade(&gh, GLOCK_SH), 0);
	assert_true(is_free(LOCK_SH));
	assert_false(is_free(LOCK_EX));
	assert_int_equal(glock_unlock(&gh), 0);
	assert_true(is_free(LOCK_EX)); /* the glock stays cached, the flock does not */
	glock_holder_init(&gh, gl, GLOCK_SH, GLOCK_NOPID);
	assert_int_equal(glock_nq(&gh), 0);
	glock_holder_init(&second, gl, GLOCK_SH, GLOCK_NOPID);
	assert_int_equal(glock_nq(&second), 0);
	assert_int_equal(glock_unlock(&gh), 0);
	assert_true(is_free(LOCK_SH));
	assert_false(is_free(LOCK_EX));
	assert_true(glock_valid(&second));
	assert_int_equal(glock_unlock(&second), 0);
	assert_true(is_free(LOCK_EX));
}

/* Promises: glock_get_path: "SKIP does not skip". */
static void what_other_glocks_have(void **state)
{
	struct glock_holder gh;

	(void)state;
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_SKIP);
	assert_int_equal(glock_nq(&gh), 0);
	assert_false(is_free(LOCK_SH));
	assert_int_equal(glock_lvb_write(&gh, (char[GLOCK_LVB_SIZE]){0}), -EOPNOTSUPP);
	assert_int_equal(glock_lvb_read(&gh, (char[GLOCK_LVB_SIZE]){0}), -EOPNOTSUPP);
	glock_unlock(&gh);
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_NOBLOCK);
	assert_int_equal(glock_nq(&gh), -ECHILD);
}

static void shared_beside_a_shared_flock(void **state)
{
	struct glock_holder gh;

	(void)state;
	plain_locks(LOCK_SH);
	assert_int_equal(glock_lock(gl, GLOCK_SH, &gh), 0);
	glock_unlock(&gh);
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_TRY);
	assert_int_equal(glock_nq(&gh), -EBUSY);
	plain_leaves();
	assert_int_equal(glock_nq(&gh), 0);
	glock_unlock(&gh);
}

/* ---- the end of a wait ---- */

/* Promises: glock_get_path: "counts as a holder". */
static void tries_and_deadlines(void **state)
{
	struct glock_holder gh;
	int64_t begun = scene_now(), deadline;

	(void)state;
	plain_locks(LOCK_EX);
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_TRY);
	assert_int_equal(glock_nq(&gh), -EBUSY);
	soon_after("TRY", begun);
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_TRY_1CB);
	assert_int_equal(glock_nq(&gh), -EAGAIN);
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_ASYNC);
	assert_int_equal(glock_nq(&gh), 0);
	deadline = scene_now() + 30 * MS;
	assert_int_equal(glock_wait(&gh, deadline, 0), -ETIMEDOUT);
	soon_after("deadline of glock_wait()", deadline);
	assert_int_equal(glock_poll(&gh), 0);
	plain_leaves();
	deadline = scene_now();
	assert_int_equal(glock_wait(&gh, 0, 0), 0);
	soon_after("release", deadline);
	assert_false(is_free(LOCK_SH));
	assert_int_equal(glock_dq(&gh), 0);
}

/* Promises: glock_get_path: "counts as a holder". */
static void a_notifier(void **state)
{
	struct glock_holder first, second, *next;
	struct glock_notifier *n;
	struct pollfd p = {.events = POLLIN};
	int64_t deadline = scene_now() + 30 * MS;

	(void)state;
	assert_int_equal(glock_notifier_open(&n), 0);
	p.fd = glock_notifier_fd(n);
	plain_locks(LOCK_EX);
	glock_holder_init(&first, gl, GLOCK_EX, GLOCK_ASYNC);
	glock_holder_owner(&first, 1);
	glock_holder_notify(&first, n, deadline);
	assert_int_equal(glock_nq(&first), 0);
	glock_holder_init(&second, gl, GLOCK_SH, GLOCK_ASYNC);
	glock_holder_owner(&second, 2);
	glock_holder_notify(&second, n, 0);
	assert_int_equal(glock_nq(&second), 0);
	assert_int_equal(poll(&p, 1, 10000), 1);
	soon_after("deadline of a notifier", deadline);
	assert_int_equal(glock_notifier_next(n, &next), 1);
	assert_ptr_equal(next, &first);
	assert_int_equal(glock_wait(&first, 0, 0), -ETIMEDOUT);
	assert_int_equal(glock_notifier_next(n, &next), 0);
	deadline = scene_now();
	plain_leaves();
	assert_int_equal(poll(&p, 1, 10000), 1);
	soon_after("release, for a notifier", deadline);
	assert_int_equal(glock_notifier_next(n, &next), 1);
	assert_ptr_equal(next, &second);
	assert_int_equal(glock_wait(&second, 0, 0), 0);
	assert_int_equal(glock_dq(&second), 0);
	assert_int_equal(glock_notifier_close(n), 0);
}

static void *lock_it(void *gh)
{
	glock_holder_init(gh, gl, GLOCK_EX, 0);
	return (void *)(intptr_t)glock_nq(gh);
}

/* Promises: glock_get_path: "counts as a holder". */
static void a_cancel(void **state)
{
	struct glock_holder gh, second;
	pthread_t thread;
	int64_t asked;
	void *result;

	(void)state;
	plain_locks(LOCK_EX);
	assert_int_equal(pthread_create(&thread, NULL, lock_it, &gh), 0);
	scene_sleep_ms(20);
	glock_holder_init(&second, gl, GLOCK_EX, GLOCK_ASYNC);
	assert_int_equal(glock_nq(&second), 0);
	asked = scene_now();
	assert_int_equal(glock_cancel(&gh), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	soon_after("cancel", asked);
	assert_int_equal((intptr_t)result, -ECANCELED);
	plain_leaves();
	assert_int_equal(glock_wait(&second, 0, 0), 0); /* the next one is first now */
	assert_int_equal(glock_dq(&second), 0);
}

/* ---- fcntl ---- */

/* Returns whether another program would get the lock of fcntl(2) now, on an open file. */
static bool fcntl_lock(int fd, short type)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET};

	return !fcntl(fd, F_SETLK, &l);
}

/* Promises: GLOCK_PATH_FCNTL: "Excludes"; glock_get_path: "stays open until", "two queues". */
static void an_fcntl_lock(void **state)
{
	const struct glock_path_options o = {.size = sizeof(o), .flags = GLOCK_PATH_FCNTL};
	int other = open("file", O_RDWR | O_CLOEXEC), events = inotify_init1(IN_NONBLOCK);
	struct inotify_event event;
	struct glock_holder gh;
	struct glock *both;

	(void)state;
	assert_int_equal(glock_get_path(NULL, "file", &o, &both), 0);
	assert_ptr_not_equal(both, gl);
	assert_true(inotify_add_watch(events, "file", IN_CLOSE_WRITE) >= 0);
	assert_true(fcntl_lock(other, F_WRLCK));
	glock_holder_init(&gh, both, GLOCK_EX, GLOCK_TRY);
	assert_int_equal(glock_nq(&gh), -EBUSY);
	assert_true(is_free(LOCK_EX)); /* the refused request keeps no flock */
	assert_int_equal(glock_lock(gl, GLOCK_EX, &gh), 0);
	glock_unlock(&gh);
	assert_true(fcntl_lock(other, F_UNLCK));
	assert_int_equal(glock_lock(both, GLOCK_EX, &gh), 0);
	assert_false(fcntl_lock(other, F_RDLCK));
	assert_false(is_free(LOCK_SH));
	assert_int_equal(glock_downgrade(&gh, GLOCK_SH), 0);
	assert_true(fcntl_lock(other, F_RDLCK));
	assert_false(fcntl_lock(other, F_WRLCK));
	assert_int_equal(glock_unlock(&gh), 0);
	assert_true(fcntl_lock(other, F_WRLCK));
	assert_int_equal(read(events, &event, sizeof(event)), -1);
	glock_put(both);
	assert_int_equal(read(events, &event, sizeof(event)), sizeof(event));
	close(events);
	close(other);
}

/* ---- one queue ---- */

static void second_node(void *arg)
{
	struct glock *own = scene_get("file");
	struct glock_holder gh;

	(void)arg;
	close(plain); /* the child has it, too */
	looks = 0;
	glock_holder_init(&gh, own, GLOCK_EX, GLOCK_ASYNC);
	if (glock_nq(&gh))
		exit(2);
	__atomic_store_n(&scene->at, 1, __ATOMIC_RELEASE);
	if (glock_wait(&gh, scene_now() + 100 * MS, 0) != -ETIMEDOUT || looks)
		exit(3); /* the first waiter is in another process */
	__atomic_store_n(&scene->at, 2, __ATOMIC_RELEASE);
	if (glock_wait(&gh, 0, 0) || scene->turns != 1 || looks != 1)
		exit(4);
	glock_dq(&gh);
	glock_put(own);
}

static void wait_until(int64_t at, pid_t pid)
{
	while (__atomic_load_n(&scene->at, __ATOMIC_ACQUIRE) != at) {
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* it is there */
		scene_sleep_ms(1);
	}
}

/*
 * A demand of another node does not take the place of the first waiter, which is no holder yet.
 *
 * Promises: glock_get_path: "counts as a holder".
 */
static void only_the_first_looks(void **state)
{
	struct glock_holder gh;
	pid_t pid;

	(void)state;
	plain_locks(LOCK_EX);
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_ASYNC);
	assert_int_equal(glock_nq(&gh), 0);
	pid = scene_fork(second_node, NULL);
	wait_until(2, pid);
	plain_leaves();
	assert_int_equal(glock_wait(&gh, 0, 0), 0);
	scene->turns = 1;
	assert_int_equal(glock_dq(&gh), 0);
	scene_join(pid);
}

/* ---- pauses ---- */

static void dies_in_ex(void *arg)
{
	struct glock *own = scene_get("file");
	struct glock_holder gh;

	(void)arg;
	if (glock_lock(own, GLOCK_EX, &gh))
		exit(2);
	kill(getpid(), SIGKILL);
}

/* The value block stays invalid, and with it the times of pauses, until a holder has EX. */
static void readers_after_the_death_of_a_writer(void **state)
{
	enum { TURNS = 100 };
	struct glock_statistics before = {.size = sizeof(before)}, after = before;
	int status;

	(void)state;
	assert_true(waitpid(scene_fork(dies_in_ex, NULL), &status, 0) > 0);
	scene_turn(gl, GLOCK_SH, NULL);
	glock_statistics(gl, &before);
	for (int i = 0; i < TURNS; i++)
		scene_turn(gl, GLOCK_SH, NULL);
	glock_statistics(gl, &after);
	assert_in_range(after.dcount - before.dcount, 0, TURNS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(the_flock_has_the_mode_of_the_holder, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_other_glocks_have, setup, teardown),
	    cmocka_unit_test_setup_teardown(shared_beside_a_shared_flock, setup, teardown),
	    cmocka_unit_test_setup_teardown(tries_and_deadlines, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_notifier, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_cancel, setup, teardown),
	    cmocka_unit_test_setup_teardown(an_fcntl_lock, setup, teardown),
	    cmocka_unit_test_setup_teardown(only_the_first_looks, setup, teardown),
	    cmocka_unit_test_setup_teardown(readers_after_the_death_of_a_writer, setup, teardown),
	};

	scene_folder();
	return RUN_TESTS(tests);
}
