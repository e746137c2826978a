/* SPDX-License-Identifier: MIT */
/*
 * test_bad.c - tests bad names, directories and files, lack of memory and room, and a removed file.
 *
 * The bad files are foreign, or belong to another user or another version. Each case gives an error
 * code and a message. Nothing is half made, and no process is killed.
 */
#include "base/sanitizer.h"
#include "glock/core/space.h"
#include "lockman/local/local_look.h"

#include "actor.h"
#include "glock.h"
#include "inside.h"
#include "small_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct actor a, b, c;

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

static int64_t try_open(const char *name)
{
	int64_t err;

	actor_start(&a);
	err = actor_do(&a, "open %s", name);
	if (err && err != -EINVAL)
		assert_true(actor_do(&a, "log") > 0); /* a message told the reason */
	else if (!err)
		assert_int_equal(actor_do(&a, "close"), 0);
	actor_kill(&a);
	return err;
}

/* Skips the test: the machine lacks `capability`, a name that tests/count.py knows and checks. */
static const char *at(const char *file)
{
	return inside_path(file);
}

/* ---- names ---- */

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

/* Returns the number of spaces that readers of root find in the user's directory. */
static int spaces_found(void)
{
	int n = 0;

	assert_true(glock__local_each_space(NULL, count_space, &n) >= 0);
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

/* ---- files ---- */

static void make(const char *name, const char *text)
{
	FILE *f = fopen(at(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(at(name), 0600), 0);
}

static void files_of_something_else(void **state)
{
	struct stat st;

	(void)state;
	make("text", "This is not a lock space, and somebody may want to keep it.\n");
	assert_int_equal(try_open("text"), -EMEDIUMTYPE);
	assert_int_equal(stat(at("text"), &st), 0);
	assert_int_equal(st.st_size, 60);
	assert_int_equal(mkdir(at("dir"), 0700), 0);
	assert_int_equal(try_open("dir"), -EISDIR);
	assert_int_equal(symlink("text", at("link")), 0);
	assert_int_equal(try_open("link"), -ELOOP);
	assert_int_equal(mkfifo(at("fifo"), 0600), 0);
	assert_int_equal(try_open("fifo"), -EMEDIUMTYPE);
}

static void patch(const char *name, off_t where, const void *bytes, size_t n)
{
	int fd = open(at(name), O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, n, where), n);
	close(fd);
}

/* The actor's last message names that process, and no other one. */
static void assert_names(struct actor *actor, pid_t pid)
{
	char word[32];

	snprintf(word, sizeof(word), "%d", (int)pid);
	assert_int_equal(actor_do(actor, "said %s", word), 1);
	assert_int_equal(actor_do(actor, "said process"), 1);
	assert_int_equal(actor_do(actor, "said processes"), 0);
}

static void other_versions(void **state)
{
	const uint32_t version = 77;

	(void)state;
	assert_int_equal(try_open("version"), 0);
	actor_start(&b);
	assert_int_equal(actor_do(&b, "open version"), 0);
	patch("version", offsetof(struct head, layout), &version, sizeof(version));
	assert_int_equal(try_open("version"), -EPROTO); /* the file is in use */
	actor_start(&a);
	assert_int_equal(actor_do(&a, "open version"), -EPROTO);
	assert_names(&a, b.pid);
	assert_int_equal(actor_do(&a, "said (layout"), 1);
	actor_kill(&a);
	actor_end(&b);
	actor_start(&b);
	assert_int_equal(actor_do(&b, "open version"), 0); /* the library makes it anew */
	assert_true(actor_do(&b, "log") > 0);
	actor_end(&b);
	assert_int_equal(truncate(at("version"), 5000), 0);
	assert_int_equal(try_open("version"), 0);
	assert_int_equal(truncate(at("version"), 0), 0);
	assert_int_equal(try_open("version"), 0);
}

/* Maps the file and locks the byte of a slot, as a process of each version does. Never returns. */
static void live_in(const char *name, int ready)
{
	struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 3, .l_len = 1};
	int fd = open(at(name), O_RDWR);
	void *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd >= 0 && map != MAP_FAILED && !fcntl(fd, F_OFD_SETLK, &fl) && !close(fd))
		(void)!write(ready, "", 1);
	for (;;)
		pause();
}

/*
 * A file of a version that is not known here: only magic, layout and the locks are as ever. The
 * message names the process that has to end. Then the library makes the file anew.
 */
static void unknown_version(void **state)
{
	const struct head_start head = {.magic = LOCAL_MAGIC, .layout = 99};
	int ready[2];
	pid_t pid;
	char byte;

	(void)state;
	make("future", "");
	make("future2", "");
	patch("future", 0, &head, sizeof(head));
	assert_int_equal(truncate(at("future"), 123456789), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid)
		live_in("future", ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	actor_start(&b);
	assert_int_equal(actor_do(&b, "open future2"), 0); /* another space in the directory */
	actor_start(&a);
	assert_int_equal(actor_do(&a, "open future"), -EPROTO);
	assert_names(&a, pid);
	assert_int_equal(actor_do(&a, "said 99"), 1);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(actor_do(&a, "open future"), 0);
	actor_end(&a);
	actor_end(&b);
	close(ready[0]);
	close(ready[1]);
}

/*
 * The memory of a table is allocated, but no table uses it. A process was killed that released or
 * made the table.
 */
static void memory_of_no_table(void **state)
{
	const uint64_t none = 0;
	struct stat before, after;

	(void)state;
	actor_start(&a);
	assert_int_equal(actor_do(&a, "open none"), 0);
	assert_int_equal(actor_do(&a, "many 100 SH"), 0);
	actor_end(&a);
	assert_int_equal(stat(at("none"), &before), 0);
	for (unsigned int i = 0; i < SHARDS; i++)
		patch("none",
		      offsetof(struct head, shard[0].place[0].size) + i * sizeof(struct shard),
		      &none, sizeof(none));
	assert_int_equal(try_open("none"), 0);
	assert_int_equal(stat(at("none"), &after), 0);
	assert_true(after.st_blocks < before.st_blocks);
}

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
	/* The memory of the dead process is free. */
	assert_int_equal(actor_do(&b, "nq 0 1 EX 0"), 0);
	assert_int_equal(actor_do(&b, "many 100 SH"), 0);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	actor_end(&b);
}

static void no_memory(void **state)
{
	(void)state;
	in_small_memory("64k", no_memory_for_a_space);
	/* Enough for a file, its tables and some locks. */
	in_small_memory("2m", no_memory_for_locks);
}

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

static void never(void *arg, const struct glock_peer *dead)
{
	(void)arg, (void)dead;
	abort();
}

/* The threads that started end before the memory that they use is freed. */
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

/* ---- a file that goes ---- */

/* A node notices within a second. The time is for a busy machine. */
static void wait_until_invalid(struct actor *who)
{
	for (int i = 0; i < 500 && actor_do(who, "valid 0"); i++)
		usleep(10000);
	assert_int_equal(actor_do(who, "valid 0"), 0);
}

static void removed(void **state)
{
	(void)state;
	actor_start(&a);
	actor_start(&b);
	actor_start(&c);
	assert_int_equal(actor_do(&a, "open gone"), 0);
	assert_int_equal(actor_do(&b, "open gone"), 0);
	assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0);
	actor_send(&b, "nq 0 1 EX 0"); /* looks around, because it waits */
	usleep(50000);
	assert_int_equal(unlink(at("gone")), 0);
	assert_int_equal(actor_do(&c, "open gone"), 0); /* another space of the same name */
	assert_int_equal(actor_do(&c, "nq 0 1 EX 0"), 0);
	assert_int_equal(actor_answer(&b), -EIO);
	assert_true(actor_do(&b, "log") > 0);
	/* An idle holder notices the removal at its next request. */
	while (actor_do(&a, "valid 0") && actor_do(&a, "nq 1 2 EX 0") == 0)
		assert_int_equal(actor_do(&a, "dq 1"), 0), usleep(10000);
	wait_until_invalid(&a);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	actor_end(&a);
	actor_end(&b);
	/* The removed space took no file of the new one with it. */
	assert_int_equal(access(at("gone,0"), F_OK), 0);
	assert_int_equal(actor_do(&c, "valid 0"), 1);
	assert_int_equal(actor_do(&c, "dq 0"), 0);
	actor_end(&c);
}

/*
 * The holder notices the removal first, and gives its lock back. Its waiter was stopped meanwhile.
 * No grant in the removed space counts, because another process may have the lock in the new space.
 */
static void removed_and_the_holder_notices_first(void **state)
{
	(void)state;
	actor_start(&a);
	actor_start(&b);
	assert_int_equal(actor_do(&a, "open first"), 0);
	assert_int_equal(actor_do(&b, "open first"), 0);
	assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0);
	actor_send(&b, "nq 0 1 EX 0");
	usleep(50000);
	assert_int_equal(kill(b.pid, SIGSTOP), 0);
	assert_int_equal(unlink(at("first")), 0);
	wait_until_invalid(&a);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	actor_end(&a);
	assert_int_equal(kill(b.pid, SIGCONT), 0);
	assert_int_equal(actor_answer(&b), -EIO);
	actor_end(&b);
}

/* A name comes back to a file whose nodes have withdrawn. The next process makes a new space. */
static void removed_and_brought_back(void **state)
{
	char away[4096];

	(void)state;
	snprintf(away, sizeof(away), "%s.away", at("back"));
	actor_start(&a);
	assert_int_equal(actor_do(&a, "open back"), 0);
	assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0);
	assert_int_equal(rename(at("back"), away), 0);
	wait_until_invalid(&a);
	assert_int_equal(rename(away, at("back")), 0);
	actor_start(&b);
	assert_int_equal(actor_do(&b, "open back"), 0);
	assert_int_equal(actor_do(&b, "nq 0 1 EX 0"), 0);
	usleep(600000); /* until the process has looked for the file */
	assert_int_equal(actor_do(&b, "valid 0"), 1);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	actor_end(&a);
	actor_end(&b);
}

/* A process whose locks are all cached sends no request to the lock manager and never waits. */
static void removed_while_at_rest(void **state)
{
	(void)state;
	actor_start(&a);
	assert_int_equal(actor_do(&a, "open rest"), 0);
	assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0);
	usleep(1200000); /* until the idle sleep is a long one */
	assert_int_equal(actor_do(&a, "valid 0"), 1);
	assert_int_equal(unlink(at("rest")), 0);
	wait_until_invalid(&a);
	assert_true(actor_do(&a, "log") > 0);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	actor_end(&a);
}

/* A process that has withdrawn reports no removal. */
static void removed_when_it_has_left(void **state)
{
	int64_t said;

	(void)state;
	actor_start(&a);
	assert_int_equal(actor_do(&a, "open left"), 0);
	actor_do(&a, "withdraw");
	said = actor_do(&a, "log");
	assert_int_equal(unlink(at("left")), 0);
	usleep(1500000);
	assert_int_equal(actor_do(&a, "log"), said);
	actor_end(&a);
}

/*
 * The program changes its directory. Then the directory's relative name means another directory, or
 * none.
 */
static void elsewhere_meanwhile(void **state)
{
	char dir[4096];

	(void)state;
	snprintf(dir, sizeof(dir), "%s", getenv("GLOCK_DIR"));
	for (int i = 0; i < 2; i++) {
		setenv("GLOCK_DIR", i ? "" : ".", 1);
		actor_start(&a);
		setenv("GLOCK_DIR", dir, 1);
		assert_int_equal(actor_do(&a, "chdir %s", dir), 0);
		if (i)
			actor_do(&a, "dir ./.");
		assert_int_equal(actor_do(&a, "open moves"), 0);
		assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0);
		assert_int_equal(actor_do(&a, "nq 1 2 EX 0"), 0);
		assert_int_equal(actor_do(&a, "dq 1"), 0); /* the lock is cached */
		assert_int_equal(actor_do(&a, "chdir /"), 0);
		usleep(1700000);
		assert_int_equal(actor_do(&a, "valid 0"), 1);
		assert_int_equal(actor_do(&a, "nq 1 3 EX 0"), 0);
		assert_int_equal(actor_do(&a, "log"), 0);
		assert_int_equal(actor_do(&a, "dq 1"), 0);
		if (i) { /* the library notices a removal */
			assert_int_equal(unlink(at("moves")), 0);
			wait_until_invalid(&a);
		}
		assert_int_equal(actor_do(&a, "dq 0"), 0);
		actor_end(&a);
		assert_int_equal(access(at("moves,0"), F_OK), -1);
	}
}

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);

static const char *watched; /* when this path is removed, the test opens that space */

int __wrap_unlink(const char *path)
{
	int ret = __real_unlink(path);

	if (!ret && watched && !strcmp(path, watched))
		assert_int_equal(actor_do(&a, "open again"), 0);
	return ret;
}

/* `glock rm` removes a space that a process makes anew meanwhile. The new space keeps its files. */
static void made_anew_while_it_is_removed(void **state)
{
	char path[GLOCK__LOCAL_PATH_MAX];

	(void)state;
	actor_start(&b);
	assert_int_equal(actor_do(&b, "open again"), 0);
	actor_kill(&b);
	actor_start(&a);
	snprintf(path, sizeof(path), "%s", at("again"));
	assert_int_equal(access(at("again,0"), F_OK), 0); /* left by the dead process */
	watched = path;
	assert_int_equal(glock__local_remove(path), 0);
	watched = NULL;
	assert_int_equal(access(at("again"), F_OK), 0);
	assert_int_equal(access(at("again,0"), F_OK), 0);
	assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	actor_end(&a);
	assert_int_equal(access(at("again,0"), F_OK), -1);
	assert_int_equal(glock__local_remove(path), 0);
	assert_int_equal(access(path, F_OK), -1);
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
	    cmocka_unit_test(files_of_something_else),
	    cmocka_unit_test(other_versions),
	    cmocka_unit_test(unknown_version),
	    cmocka_unit_test(memory_of_no_table),
	    cmocka_unit_test(no_memory),
	    cmocka_unit_test(limits),
	    cmocka_unit_test(too_few_threads),
	    cmocka_unit_test(too_many_nodes),
	    cmocka_unit_test(opened_by_a_stopped_process),
	    cmocka_unit_test(removed),
	    cmocka_unit_test(removed_and_the_holder_notices_first),
	    cmocka_unit_test(removed_and_brought_back),
	    cmocka_unit_test(removed_while_at_rest),
	    cmocka_unit_test(removed_when_it_has_left),
	    cmocka_unit_test(elsewhere_meanwhile),
	    cmocka_unit_test(made_anew_while_it_is_removed),
	};

	actor_main(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
