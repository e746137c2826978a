/* SPDX-License-Identifier: MIT */
/* test_bad.c - tests bad names and directories, and the files and directories of other users. */
#include "glock/core/space.h"
#include "lockman/local/local_file.h"
#include "lockman/local/local_look.h"

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
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>

static struct actor a, b;

/* Replaces fstatfs, for the library as well. A test chooses the file system of a directory. */
int fstatfs(int fd, struct statfs *fs)
{
	const char *type = getenv("TEST_FS_TYPE");

	if (syscall(SYS_fstatfs, fd, fs))
		return -1;
	if (type)
		fs->f_type = (__typeof__(fs->f_type))strtoul(type, NULL, 10);
	return 0;
}

/* ---- names ---- */

/* Promises: glock_space_open: "The log says". */
static void names(void **state)
{
	static const char *const odd[] = {
	    "..",
	    ".",
	    "a/b",
	    "a%2Fb",
	    "\\n\x01\xff",
	    "a,1",
	    ("1234567890123456789012345678901234567890123456789012345678"
	     "901234")};
	struct stat st;

	(void)state;
	assert_int_equal(try_open("123456789012345678901234567890123456789012345678901234567890"
				  "12345"),
			 -EINVAL);
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		actor_start(&a);
		actor_start(&b);
		assert_int_equal(actor_do(&a, "open %s", odd[i]), 0);
		assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0);
		/* Two names are two spaces. */
		assert_int_equal(actor_do(&b, "open %s", odd[(i + 1) % 7]), 0);
		assert_int_equal(actor_do(&b, "nq 0 1 EX 1"), 0);
		assert_int_equal(actor_do(&a, "dq 0"), 0);
		assert_int_equal(actor_do(&b, "dq 0"), 0);
		actor_end(&a);
		actor_end(&b);
	}
	assert_int_equal(stat(at("a%2Fb"), &st), 0);
	assert_int_equal(stat(at("%2E."), &st), 0);
}

/* ---- directories ---- */

/*
 * Promises: dir: "the directory of", "NULL: the directory", "-EINVAL if GLOCK_DIR";
 * glock_space_open: "-ENOENT, -EACCES, -EPERM".
 */
static void directories(void **state)
{
	char other[4096];

	(void)state;
	snprintf(other, sizeof(other), "%s/other", getenv("GLOCK_DIR"));
	actor_start(&a);
	actor_do(&a, "dir %s", other);
	assert_int_equal(actor_do(&a, "open x"), -EINVAL); /* two directories */
	mkdir(other, 0700);
	assert_int_equal(actor_do(&a, "open x"), -EINVAL);
	assert_true(actor_do(&a, "log") >= 2);
	actor_do(&a, "dir %s/.", getenv("GLOCK_DIR")); /* the same directory */
	assert_int_equal(actor_do(&a, "open x"), 0);
	actor_end(&a);
	/* a directory that others may read, and that belongs to another user */
	assert_int_equal(chmod(other, 0755), 0);
	assert_true(geteuid() || !chown(other, 12345, 12345));
	setenv("GLOCK_DIR", other, 1);
	assert_int_equal(try_open("x"), 0);
	setenv("GLOCK_DIR", "/nowhere/at/all", 1);
	assert_int_equal(try_open("x"), -ENOENT);
	setenv("GLOCK_DIR", "/proc", 1);
	assert_true(try_open("x") < 0);
	*strrchr(other, '/') = 0;
	setenv("GLOCK_DIR", other, 1);
}

/* Checks the types of statfs that are shared file systems, and types that are local. */
/* Promises: glock_space_open: "-EMEDIUMTYPE not the". */
static void shared_file_systems(void **state)
{
	static const uint32_t shared[] = {
	    0x6969,     0x517b,     0xff534d42, 0xfe534d42, 0x65735546, 0x7461636f,
	    0x01161970, 0x00c36400, 0x01021997, 0x5346414f, 0x6b414653, 0x73757245,
	    0x0bd00bd0, 0x47504653, 0x19830326, 0x20030528, 0x786f4256};
	/* tmpfs, ramfs, ext4, xfs, btrfs, overlayfs, f2fs, zfs, hugetlbfs */
	static const uint32_t own[] = {0x01021994, 0x858458f6, 0xef53,     0x58465342, 0x9123683e,
				       0x794c7630, 0xf2f52010, 0x2fc12fc1, 0x958458f6};

	(void)state;
	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++)
		assert_non_null(glock__local_shared_fs(shared[i]));
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		assert_null(glock__local_shared_fs(own[i]));
	/* A program on such a file system opens nothing there and leaves nothing. */
	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++) {
		char type[16];

		snprintf(type, sizeof(type), "%u", shared[i]);
		setenv("TEST_FS_TYPE", type, 1);
		assert_int_equal(try_open("far"), -EMEDIUMTYPE);
		unsetenv("TEST_FS_TYPE");
		assert_int_equal(access(at("far"), F_OK), -1);
	}
	assert_int_equal(try_open("far"), 0);
}

/* Promises: glock_space_open: "-ENOENT, -EACCES, -EPERM". */
static void read_only_directory(void **state)
{
	char dir[4096], old[4096];

	(void)state;
	snprintf(old, sizeof(old), "%s", getenv("GLOCK_DIR"));
	snprintf(dir, sizeof(dir), "%s/ro", getenv("GLOCK_DIR"));
	mkdir(dir, 0755);
	chmod(dir, 0555);
	chmod(old, 0755);
	setenv("GLOCK_DIR", dir, 1);
	actor_start(&a);
	if (!geteuid())
		assert_int_equal(actor_do(&a, "uid 65534"), 0);
	assert_int_equal(actor_do(&a, "open x"), -EACCES);
	assert_true(actor_do(&a, "log") > 0);
	actor_kill(&a);
	setenv("GLOCK_DIR", old, 1);
	assert_int_equal(rmdir(dir), 0); /* the library made nothing */
}

enum { USER = 4294960000u, OTHER = 4294960001u }; /* no user has these numbers */

/* Opens a space without GLOCK_DIR, as that user. The message names the owner and a way out. */
static void refused(uid_t uid, const char *group, unsigned int owner)
{
	actor_start(&a);
	if (group)
		actor_do(&a, "group %s", group);
	assert_int_equal(actor_do(&a, "uid %u", uid), 0);
	assert_int_equal(actor_do(&a, "open x"), -EPERM);
	assert_int_equal(actor_do(&a, "said %u", owner), 1);
	assert_int_equal(actor_do(&a, "said GLOCK_DIR"), 1);
	assert_int_equal(actor_do(&a, "said tmpfiles.d"), 1);
	actor_kill(&a);
}

static void count_space(const struct glock__local_space *space, void *arg)
{
	*(int *)arg += space->uid == USER;
}

static void count_none(const struct glock__node_file *node, uint64_t payer, void *arg)
{
	(void)node;
	(void)payer;
	(void)arg;
}

/* Returns the number of spaces that readers of root find in the user's directory. */
static int spaces_found(void)
{
	int n = 0;
	const struct glock__local_look how = {
	    .space = count_space, .outside = count_none, .arg = &n};

	assert_true(glock__local_look(&how) >= 0);
	return n;
}

/* Tells whether readers of that user look into the default directory. */
static bool readers_trust_it(void)
{
	char path[64];
	struct stat st;
	bool trusted;

	assert_int_equal(seteuid(USER), 0);
	trusted = glock__local_default_dir_trusted(path, sizeof(path), &st);
	assert_int_equal(seteuid(0), 0);
	return trusted;
}

static char test_dir[4000]; /* GLOCK_DIR, while it is not set */

/* Puts all in order, also if the test failed. */
static int remove_default_dirs(void **state)
{
	char command[128];

	(void)state;
	if (*test_dir)
		setenv("GLOCK_DIR", test_dir, 1);
	snprintf(command, sizeof(command), "rm -rf /dev/shm/glock-%u /dev/shm/glock-g%u", USER,
		 USER);
	return system(command);
}

/* Without GLOCK_DIR the user alone names the directory. No other variable does. */
/* Promises: Files of "local": "A space of", "Only the user"; dir: "NULL: the directory". */
static void default_directory(void **state)
{
	static const char *const others[] = {"HOME", "TMPDIR", "XDG_RUNTIME_DIR"};
	char dir[64], path[128], *old[3];
	bool there;

	(void)state;
	snprintf(dir, sizeof(dir), "/dev/shm/glock-%u", geteuid());
	snprintf(path, sizeof(path), "%s/test-bad-%d", dir, (int)getpid());
	snprintf(test_dir, sizeof(test_dir), "%s", getenv("GLOCK_DIR"));
	for (int i = 0; i < 3; i++) {
		old[i] = getenv(others[i]);
		setenv(others[i], test_dir, 1);
	}
	unsetenv("GLOCK_DIR");
	actor_start(&a);
	setenv("GLOCK_DIR", test_dir, 1);
	for (int i = 0; i < 3; i++)
		old[i] ? setenv(others[i], old[i], 1) : unsetenv(others[i]);
	assert_int_equal(actor_do(&a, "open test-bad-%d", (int)getpid()), 0);
	there = !access(path, F_OK);
	actor_end(&a);
	unlink(path);
	rmdir(dir); /* if this test made it */
	assert_true(there);
}

/* Any user can make a name in /dev/shm first. No process opens a space there; no reader looks. */
/* Promises: Files of "local": "If another user". */
static void default_directory_of_others(void **state)
{
	char dir[64], elsewhere[4096], group[16], group_dir[64];
	int fd;

	(void)state;
	if (geteuid())
		skip_for_lack_of("root");
	assert_int_equal(remove_default_dirs(NULL), 0);
	snprintf(test_dir, sizeof(test_dir), "%s", getenv("GLOCK_DIR"));
	snprintf(dir, sizeof(dir), "/dev/shm/glock-%u", USER);
	snprintf(group, sizeof(group), "%u", USER);
	snprintf(group_dir, sizeof(group_dir), "/dev/shm/glock-g%u", USER);
	unsetenv("GLOCK_DIR");
	actor_start(&a);
	assert_int_equal(actor_do(&a, "uid %u", USER), 0);
	assert_int_equal(actor_do(&a, "open x"), 0);
	actor_end(&a);
	assert_int_equal(spaces_found(), 1);
	assert_true(readers_trust_it());
	/* the mode */
	assert_int_equal(chmod(dir, 0777), 0);
	refused(USER, NULL, USER);
	assert_int_equal(spaces_found(), 0);
	assert_false(readers_trust_it());
	/* another owner: the directory cannot even be opened */
	assert_int_equal(chmod(dir, 0700), 0);
	assert_int_equal(chown(dir, OTHER, OTHER), 0);
	refused(USER, NULL, OTHER);
	assert_int_equal(spaces_found(), 0);
	assert_false(readers_trust_it());
	assert_int_equal(chown(dir, USER, USER), 0);
	assert_int_equal(spaces_found(), 1);
	assert_true(readers_trust_it());
	/* a link to a directory of the user */
	snprintf(elsewhere, sizeof(elsewhere), "%s/moved", test_dir);
	assert_int_equal(rename(dir, elsewhere), 0);
	assert_int_equal(symlink(elsewhere, dir), 0);
	assert_int_equal(lchown(dir, OTHER, OTHER), 0);
	refused(USER, NULL, OTHER);
	assert_int_equal(spaces_found(), 0);
	assert_false(readers_trust_it());
	assert_int_equal(unlink(dir), 0);
	/* in_dir.sh removes the rest */
	/* no directory */
	fd = open(dir, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(chown(dir, USER, USER), 0);
	refused(USER, NULL, USER);
	assert_int_equal(unlink(dir), 0);
	/* a group's directory */
	assert_int_equal(mkdir(group_dir, 0777), 0);
	assert_int_equal(chown(group_dir, OTHER, OTHER), 0);
	refused(USER, group, OTHER);
}

/*
 * Promises: group: "the group whose", "NULL: the group", "-EINVAL if there"; glock_space_open:
 * "-ENOENT, -EACCES, -EPERM".
 */
static void others_files(void **state)
{
	(void)state;
	if (geteuid()) /* only root can give files away */
		skip_for_lack_of("root");
	assert_int_equal(try_open("theirs"), 0);
	assert_int_equal(chown(at("theirs"), 12345, 12345), 0);
	assert_int_equal(try_open("theirs"), -EPERM);
	assert_int_equal(chown(at("theirs"), 0, 0), 0);
	assert_int_equal(chmod(at("theirs"), 0666), 0);
	assert_int_equal(try_open("theirs"), -EPERM);
	assert_int_equal(chmod(at("theirs"), 0600), 0);
	assert_int_equal(try_open("theirs"), 0);
	/* Members of a group share the group's files. */
	actor_start(&a);
	actor_do(&a, "group 12345");
	assert_int_equal(actor_do(&a, "open theirs"), -EPERM);
	assert_int_equal(actor_do(&a, "open ours"), 0);
	actor_end(&a);
	assert_int_equal(try_open("ours"), -EPERM);
	actor_start(&a);
	actor_do(&a, "group no-such-group");
	assert_int_equal(actor_do(&a, "open ours"), -EINVAL);
	/* A number that is no group's must not become the number of another group. */
	actor_do(&a, "group 4294979641"); /* 12345 and 2^32 */
	assert_int_equal(actor_do(&a, "open ours"), -EINVAL);
	actor_do(&a, "group 4294967295"); /* (gid_t)-1 */
	assert_int_equal(actor_do(&a, "open ours"), -EINVAL);
	actor_do(&a, "group 99999999999999999999");
	assert_int_equal(actor_do(&a, "open ours"), -EINVAL);
	actor_kill(&a);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names),
	    cmocka_unit_test(directories),
	    cmocka_unit_test(shared_file_systems),
	    cmocka_unit_test(read_only_directory),
	    cmocka_unit_test(default_directory),
	    cmocka_unit_test_teardown(default_directory_of_others, remove_default_dirs),
	    cmocka_unit_test(others_files),
	};

	actor_main(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
