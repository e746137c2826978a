/* SPDX-License-Identifier: MIT */
/*
 * test_many.c - fills a space with processes. All of them work, and one more is refused. The place
 * of a dead process is free for the next one.
 */
#include "../glock/check.h"
#include "glock.h"
#include "lockman/local/local.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NODES = GLOCK__LOCAL_NODES, COMMON = 1000000, PATIENCE_MS = 60000 };

static struct shared {
	long counter; /* under COMMON in EX */
	char message[200];
} * shared;

static int ready[2], go[2];

static void on_log(void *arg, const char *message)
{
	(void)arg;
	snprintf(shared->message, sizeof(shared->message), "%s", message);
}

static int open_space(struct glock_space **space)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = "local", .log = on_log};

	return glock_space_open("many", &o, space);
}

static void take(struct glock_space *space, uint64_t number, enum glock_mode mode,
		 struct glock_holder *gh)
{
	struct glock *gl;

	if (glock_get(space, GLOCK_NONDISK, number, &gl))
		_exit(3);
	glock_holder_init(gh, gl, mode, 0);
	if (glock_nq(gh))
		_exit(4);
}

static void let_go(struct glock_holder *gh)
{
	struct glock *gl = glock_of(gh);

	if (glock_dq(gh))
		_exit(5);
	glock_put(gl);
}

/* Takes a lock of its own, one shared by all, and one that all ask for in EX. */
static void node(uint64_t number)
{
	struct glock_holder own, with_all, only;
	struct glock_space *space;
	char c;
	int err;

	/* Among a thousand processes the one that opens the space may not get its turn for long. */
	while ((err = open_space(&space)) == -EBUSY)
		;
	if (err)
		_exit(2);
	take(space, number, GLOCK_EX, &own);
	take(space, COMMON + 1, GLOCK_SH, &with_all);
	if (write(ready[1], "r", 1) != 1 || read(go[0], &c, 1) != 1)
		_exit(6);
	take(space, COMMON, GLOCK_EX, &only);
	shared->counter++;
	let_go(&only);
	let_go(&with_all);
	let_go(&own);
	_exit(glock_space_close(space) ? 7 : 0);
}

static int one_more(void)
{
	struct glock_space *space;
	int status;
	pid_t pid = fork();

	if (!pid) {
		int err = open_space(&space);

		_exit(err ? -err : glock_space_close(space) ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void wait_for_one(void)
{
	struct pollfd p = {.fd = ready[0], .events = POLLIN};
	int status = 0, n = poll(&p, 1, PATIENCE_MS);
	pid_t ended = n ? 0 : waitpid(-1, &status, WNOHANG);
	char c;

	if (!n)
		printf("# no process is ready; %d ended with %#x; the last message: %s\n",
		       (int)ended, (unsigned int)status, shared->message);
	assert_int_equal(n, 1);
	assert_int_equal(read(ready[0], &c, 1), 1);
}

static pid_t start(uint64_t number)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		close(ready[0]);
		close(go[1]);
		node(number);
	}
	return pid;
}

static void all_places(void **state)
{
	static pid_t pids[NODES];
	static char letters[NODES];
	int status;

	(void)state;
	shared =
	    mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go), 0);
	for (int i = 0; i < NODES; i++)
		pids[i] = start((uint64_t)i);
	for (int i = 0; i < NODES; i++)
		wait_for_one();
	shared->message[0] = 0;
	assert_int_equal(one_more(), EUSERS);
	assert_non_null(strstr(shared->message, "1024 places"));
	/* The place of a dead process is free. */
	kill(pids[77], SIGKILL);
	assert_int_equal(waitpid(pids[77], &status, 0), pids[77]);
	pids[77] = start(NODES);
	wait_for_one();
	assert_int_equal(one_more(), EUSERS);
	memset(letters, 'g', sizeof(letters));
	assert_int_equal(write(go[1], letters, NODES), NODES);
	for (int i = 0; i < NODES; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(shared->counter, NODES);
	assert_int_equal(one_more(), 0);
	munmap(shared, sizeof(*shared));
}

/* The nodes use 308 MB. */
static bool has_memory(void)
{
	struct statfs fs;

	return !statfs(getenv("GLOCK_DIR"), &fs) &&
	       (double)fs.f_blocks * (double)fs.f_bsize >= 400e6;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(all_places)};

	if (!has_memory()) {
		puts("1..0 # SKIP needs 400 MB of /dev/shm");
		return 0;
	}
	return RUN_TESTS(tests);
}
