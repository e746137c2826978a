/* SPDX-License-Identifier: MIT */
/* The public header in C++: it compiles, links, and the scope guard works. TAP. */
#include "glock.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int use()
{
	glock_space_options o = {};
	glock_space *space;
	glock *gl;

	o.size = sizeof(o);
	if (glock_space_open("c++", &o, &space) || glock_get(space, GLOCK_INODE, 1, &gl))
		return 1;
	{
		GLOCK_SCOPE glock_holder gh = GLOCK_HOLDER_NONE;

		glock_holder_init(&gh, gl, GLOCK_EX, 0);
		if (glock_nq(&gh) || !glock_valid(&gh))
			return 2;
	}
	glock_put(gl);
	return glock_space_close(space) ? 3 : 0;
}

static int throws_once;

static int throws(glock_holder *)
{
	if (throws_once--)
		throw 1;
	return 0;
}

/* Opens a space and a glock whose operation throws once. Returns whether that failed. */
static bool open_throwing(glock_space **space, glock **gl)
{
	glock_ops ops = {};
	glock_type_options type = {};
	glock_space_options o = {};

	ops.size = sizeof(ops);
	ops.instantiate = throws;
	type.size = sizeof(type);
	type.type = GLOCK_INODE;
	type.ops = &ops;
	o.size = sizeof(o);
	o.types = &type;
	o.n_types = 1;
	throws_once = 1;
	return glock_space_open("c++", &o, space) || glock_get(*space, GLOCK_INODE, 1, gl);
}

/* An exception ends in the operation that it leaves. Then the next request runs it again. */
/* Promises: glock_ops: "If pthread_exit() or". */
static int leaves(void)
{
	glock_space *space;
	glock *gl;
	glock_holder gh;
	int err = 0;

	if (open_throwing(&space, &gl))
		return 1;
	try {
		err = glock_lock(gl, GLOCK_EX, &gh);
	} catch (int) {
		return 2;
	}
	if (err != -ENOTRECOVERABLE || std::uncaught_exception())
		return 3;
	if (glock_lock(gl, GLOCK_EX, &gh) || glock_unlock(&gh))
		return 4;
	glock_put(gl);
	return glock_space_close(space) ? 5 : 0;
}

static int has_no_memory(glock_holder *)
{
	throw std::bad_alloc();
}

static int has_no_lock(glock_holder *)
{
	glocks::check(-EAGAIN, "a call");
	return 0;
}

static int catches()
{
	return glocks::catching<int (*)(glock_holder *), has_no_memory>::call(nullptr) != -ENOMEM ||
	       glocks::catching<int (*)(glock_holder *), has_no_lock>::call(nullptr) != -EAGAIN;
}

/* No frame catches the exception. */
/* Promises: glock_ops: "An exception that". */
static int ends_the_process(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		rlimit no_core = {};

		setrlimit(RLIMIT_CORE, &no_core);
		glock_space *space;
		glock *gl;
		glock_holder gh;

		if (open_throwing(&space, &gl))
			_exit(1);
		glock_lock(gl, GLOCK_EX, &gh);
		_exit(2);
	}
	return waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) ||
	       WTERMSIG(status) != SIGABRT;
}

int main()
{
	const struct {
		int failed;
		const char *name;
	} tests[] = {{use(), "header in C++"},
		     {leaves(), "an exception leaves an operation"},
		     {catches(), "an operation catches"},
		     {ends_the_process(), "an exception that no frame catches"}};
	int n = 0, failed = 0;

	std::printf("1..4\n");
	for (const auto &test : tests) {
		std::printf("%sok %d - %s\n", test.failed ? "not " : "", ++n, test.name);
		failed |= test.failed;
	}
	return failed != 0;
}
