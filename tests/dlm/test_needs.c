/* SPDX-License-Identifier: MIT */
/*
 * test_needs.c - tests what glock_space_open() tells of a missing part of the DLM.
 *
 * Each case runs in a child, because the library looks for libdlm once. The functions that look at
 * this machine are replaced. A real lockspace is tested on machines of a cluster.
 */
#include "check.h"
#include "glock.h"
#include "lockman/dlm/dlm_cluster.h"
#include "lockman/dlm/dlm_quorum.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- this machine ---- */

static struct machine {
	bool library, module, device;
	enum glock__cluster_state state;
	int lockspace; /* the errno of libdlm */
} machine;

static void *no_lockspace(void)
{
	errno = machine.lockspace;
	return NULL;
}

bool __wrap_glock__load(const char *library, const char *const *names, size_t n, void *functions);
bool __wrap_glock__load(const char *library, const char *const *names, size_t n, void *functions)
{
	void *(*function)(void) = no_lockspace;

	(void)names;
	if (strcmp(library, "libdlm_lt.so.3") != 0)
		return false;
	for (size_t i = 0; i < n; i++)
		memcpy((char *)functions + i * sizeof(function), &function, sizeof(function));
	return machine.library;
}

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
	if (strcmp(path, "/sys/kernel/dlm") != 0)
		return __real_access(path, mode);
	return machine.module ? 0 : -1;
}

bool __wrap_glock__cluster_device(const char *name, char path[GLOCK__CLUSTER_DEVICE]);
bool __wrap_glock__cluster_device(const char *name, char path[GLOCK__CLUSTER_DEVICE])
{
	assert_string_equal(name, "dlm-control");
	snprintf(path, GLOCK__CLUSTER_DEVICE, "/dev/null");
	return machine.device;
}

enum glock__cluster_state __wrap_glock__cluster_look(struct glock__cluster *c,
						     const char *lockspace);
enum glock__cluster_state __wrap_glock__cluster_look(struct glock__cluster *c,
						     const char *lockspace)
{
	(void)c;
	assert_string_equal(lockspace, "needs");
	return machine.state;
}

/* ---- the cases ---- */

static const char *expected;

static void says(void *arg, const char *message)
{
	(void)arg;
	if (strstr(message, expected))
		expected = NULL;
	else
		printf("# %s\n", message);
}

/* Opens a space on that machine. The message has that text. */
static void opens(struct machine on, int err, const char *text)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = "dlm", .log = says};
	struct glock_space *space;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		machine = on;
		expected = text;
		status = glock_space_open("needs", &o, &space);
		if (status != err)
			printf("# %s: %d, not %d\n", text, status, err);
		fflush(stdout);
		_exit(status != err || expected);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Promises: glock_space_open: "-ENOPKG libdlm is". */
static void library_is_missing(void **state)
{
	(void)state;
	opens((struct machine){.library = false}, -ENOPKG, "libdlm_lt.so.3 is missing");
}

/* Promises: glock_space_open: "-ENODEV the kernel's". */
static void kernel_or_daemon_is_missing(void **state)
{
	struct machine m = {.library = true, .state = GLOCK__CLUSTER_NO_DAEMON};

	(void)state;
	opens(m, -ENODEV, "this kernel has no DLM");
	m.module = true;
	opens(m, -ENODEV, "dlm_controld does not run");
	m.state = GLOCK__CLUSTER_NO_QUORUM;
	opens(m, -ENODEV, "/dev/misc/dlm-control does not exist");
}

/* Promises: glock_space_open: "-ENETDOWN no quorum". */
static void quorum_is_missing(void **state)
{
	const struct machine m = {
	    .library = true, .module = true, .device = true, .state = GLOCK__CLUSTER_NO_QUORUM};

	(void)state;
	opens(m, -ENETDOWN, "no quorum");
}

/* Promises: glock_space_open: "-EACCES, -EPERM no". */
static void permission_is_missing(void **state)
{
	struct machine m = {
	    .library = true, .module = true, .device = true, .state = GLOCK__CLUSTER_NO_LOCKSPACE};

	(void)state;
	m.lockspace = EACCES;
	opens(m, -EACCES, "no permission");
	m.lockspace = EPERM;
	opens(m, -EPERM, "no permission");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(library_is_missing),
	    cmocka_unit_test(kernel_or_daemon_is_missing),
	    cmocka_unit_test(quorum_is_missing),
	    cmocka_unit_test(permission_is_missing),
	};

	return RUN_TESTS(tests);
}
