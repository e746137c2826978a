/* SPDX-License-Identifier: MIT */
/*
 * test_bad.c - what is not as it should be: names, directories, files of something else, of others,
 * of another version, damaged; no memory, no room; a file that goes. Each is an error code and a
 * message, nothing is half made, and nobody is killed by it.
 */
#include "actor.h"
#include "inside.h"
#include "sanitizer.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { FLIPS = 400 };

static struct actor a, b, c;

static int64_t try_open(const char *name)
{
	int64_t err;

	actor_start(&a);
	err = actor_do(&a, "open %s", name);
	if (err && err != -EINVAL)
		assert_true(actor_do(&a, "log") > 0); /* it was said why */
	else if (!err)
		assert_int_equal(actor_do(&a, "close"), 0);
	actor_kill(&a);
	return err;
}

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
		/* No two names are one space. */
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
	actor_do(&a, "dir %s/.", getenv("GLOCK_DIR")); /* the same one */
	assert_int_equal(actor_do(&a, "open x"), 0);
	actor_end(&a);
	setenv("GLOCK_DIR", "/nowhere/at/all", 1);
	assert_int_equal(try_open("x"), -ENOENT);
	setenv("GLOCK_DIR", "/proc", 1);
	assert_true(try_open("x") < 0);
	*strrchr(other, '/') = 0;
	setenv("GLOCK_DIR", other, 1);
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
	assert_int_equal(rmdir(dir), 0); /* nothing was made */
}

static void others_files(void **state)
{
	(void)state;
	if (geteuid()) /* only root can give files away */
		skip();
	assert_int_equal(try_open("theirs"), 0);
	assert_int_equal(chown(at("theirs"), 12345, 12345), 0);
	assert_int_equal(try_open("theirs"), -EPERM);
	assert_int_equal(chown(at("theirs"), 0, 0), 0);
	assert_int_equal(chmod(at("theirs"), 0666), 0);
	assert_int_equal(try_open("theirs"), -EPERM);
	assert_int_equal(chmod(at("theirs"), 0600), 0);
	assert_int_equal(try_open("theirs"), 0);
	/* A group's is its members'. */
	actor_start(&a);
	actor_do(&a, "group 12345");
	assert_int_equal(actor_do(&a, "open theirs"), -EPERM);
	assert_int_equal(actor_do(&a, "open ours"), 0);
	actor_end(&a);
	assert_int_equal(try_open("ours"), -EPERM);
	actor_start(&a);
	actor_do(&a, "group no-such-group");
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

static void other_versions(void **state)
{
	const uint32_t version = 77;

	(void)state;
	assert_int_equal(try_open("version"), 0);
	actor_start(&b);
	assert_int_equal(actor_do(&b, "open version"), 0);
	patch("version", offsetof(struct head, layout), &version, sizeof(version));
	assert_int_equal(try_open("version"), -EPROTO); /* it is in use */
	actor_end(&b);
	actor_start(&b);
	assert_int_equal(actor_do(&b, "open version"), 0); /* made anew */
	assert_true(actor_do(&b, "log") > 0);
	actor_end(&b);
	assert_int_equal(truncate(at("version"), 5000), 0);
	assert_int_equal(try_open("version"), 0);
	assert_int_equal(truncate(at("version"), 0), 0);
	assert_int_equal(try_open("version"), 0);
}

/* ---- damage ---- */

/* What is in a file, holes left out. */
struct piece {
	off_t at;
	size_t n;
	unsigned char *bytes;
};

static size_t read_pieces(const char *path, struct piece *piece, size_t max)
{
	int fd = open(path, O_RDONLY);
	off_t begin = 0, end;
	size_t n = 0;

	assert_true(fd >= 0);
	while (n < max && (begin = lseek(fd, begin, SEEK_DATA)) >= 0) {
		end = lseek(fd, begin, SEEK_HOLE);
		piece[n] =
		    (struct piece){begin, (size_t)(end - begin), malloc((size_t)(end - begin))};
		assert_int_equal(pread(fd, piece[n].bytes, piece[n].n, begin), piece[n].n);
		begin = end;
		n++;
	}
	close(fd);
	return n;
}

static void write_pieces(const char *path, const struct piece *piece, size_t n)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, FILE_SIZE), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(pwrite(fd, piece[i].bytes, piece[i].n, piece[i].at), piece[i].n);
	close(fd);
}

/*
 * A word of one of the pieces that is likely to mean something: half of the time one that is not 0
 * gets another bit, else any byte becomes anything.
 */
static void damage(const struct piece *piece, size_t n, int fd)
{
	const struct piece *p = &piece[(size_t)random() % n];
	size_t where = (size_t)random() % p->n;
	unsigned char byte = (unsigned char)random();

	if (random() % 2) {
		for (size_t i = 0; i < p->n && !p->bytes[where]; i++)
			where = (where + 1) % p->n;
		byte = (unsigned char)(p->bytes[where] ^ 1 << random() % 8);
	}
	assert_int_equal(pwrite(fd, &byte, 1, p->at + (off_t)where), 1);
}

/* Locks held, converted and waited for by processes that are killed, one of them at work. */
static size_t a_used_space(struct piece *piece, size_t max)
{
	unlink(at("damage"));
	actor_start(&a);
	actor_start(&b);
	assert_int_equal(actor_do(&a, "open damage"), 0);
	assert_int_equal(actor_do(&b, "open damage recover"), 0);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(actor_do(&a, "nq %d %d %s 0", i, i, i % 2 ? "EX" : "SH"), 0);
		assert_int_equal(actor_do(&b, "nq %d %d EX 0x40", i, i), 0);
	}
	actor_send(&a, "many 100000 SH");
	usleep(20000);
	actor_kill(&a);
	actor_kill(&b);
	return read_pieces(at("damage"), piece, max);
}

static void damaged(void **state)
{
	struct piece piece[256];
	size_t n = a_used_space(piece, 256);
	int made_anew = 0, refused = 0;

	(void)state;
	assert_true(n > 1 && n < 256);
	for (int i = 0; i < FLIPS; i++) {
		int64_t err;
		int fd;

		write_pieces(at("damage"), piece, n);
		fd = open(at("damage"), O_RDWR);
		for (int k = 1 << i % 6; k; k--)
			damage(piece, n, fd);
		close(fd);
		actor_start(&a);
		err = actor_do(&a, i % 2 ? "open damage" : "open damage recover");
		refused += err != 0;
		assert_true(!err || actor_do(&a, "log"));
		if (!err) {
			made_anew += actor_do(&a, "log") != 0;
			assert_int_equal(actor_do(&a, "nq 0 3 EX 0"), 0);
			assert_int_equal(actor_do(&a, "many 50 EX"), 0);
			assert_int_equal(actor_do(&a, "dq 0"), 0);
			actor_end(&a);
		} else {
			actor_kill(&a);
			unlink(at("damage"));
		}
	}
	printf("# %d damaged files: %d were used as they are, %d made anew, %d refused\n", FLIPS,
	       FLIPS - made_anew - refused, made_anew, refused);
	assert_true(made_anew > 0 && made_anew < FLIPS);
	while (n--)
		free(piece[n].bytes);
}

/* ---- no memory, no room ---- */

/* In a directory in memory of that size; in a process of its own, since mounts are a process's. */
static void in_small_memory(const char *size, void (*test)(void))
{
	char dir[4096], options[64];
	int status;
	pid_t pid;

	if (geteuid())
		skip();
	snprintf(dir, sizeof(dir), "%s/small", getenv("GLOCK_DIR"));
	mkdir(dir, 0700);
	snprintf(options, sizeof(options), "size=%s", size);
	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("small", dir, "tmpfs", 0, options))
			_exit(77);
		setenv("GLOCK_DIR", dir, 1);
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rmdir(dir);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(); /* not allowed here */
	assert_int_equal(status, 0);
}

static void no_memory_for_a_space(void)
{
	struct statfs before, after;

	statfs(getenv("GLOCK_DIR"), &before);
	assert_int_equal(try_open("x"), -ENOSPC);
	statfs(getenv("GLOCK_DIR"), &after);
	assert_int_equal(access(at("x"), F_OK), -1);
	assert_int_equal(before.f_bfree, after.f_bfree);
}

/* The request fails that finds no memory; all else goes on. */
static void no_memory_for_locks(void)
{
	actor_start(&a);
	actor_start(&b);
	assert_int_equal(actor_do(&a, "open x"), 0);
	assert_int_equal(actor_do(&b, "open x"), 0);
	assert_int_equal(actor_do(&a, "nq 0 1 SH 0"), 0);
	assert_int_equal(actor_do(&a, "many 1000000 SH"), -ENOSPC);
	assert_int_equal(actor_do(&a, "many 1000 SH"), -ENOSPC);
	assert_int_equal(actor_do(&a, "valid 0"), 1);
	assert_true(actor_do(&b, "nq 0 1 EX 1") < 0);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0); /* it has the lock: no memory is needed */
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	actor_end(&a);
	/* What it had is free. */
	assert_int_equal(actor_do(&b, "nq 0 1 EX 0"), 0);
	assert_int_equal(actor_do(&b, "many 100 SH"), 0);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	actor_end(&b);
}

static void no_memory(void **state)
{
	(void)state;
	in_small_memory("64k", no_memory_for_a_space);
	/* Room for a file and its tables, and for some locks. */
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

static void too_many_nodes(void **state)
{
	struct flock fl = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = NODES};
	int fd;

	(void)state;
	assert_int_equal(try_open("many"), 0);
	fd = open(at("many"), O_RDWR);
	/* As the kernel sees it, every place is a living process's but the last one. */
	fl.l_len = NODES - 1;
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &fl), 0);
	actor_start(&b);
	assert_int_equal(actor_do(&b, "open many"), 0);
	assert_int_equal(try_open("many"), -EUSERS);
	assert_int_equal(actor_do(&b, "nq 0 1 EX 0"), 0);
	actor_kill(&b); /* and when that one dies there is room again */
	assert_int_equal(try_open("many"), 0);
	close(fd);
}

/* ---- a file that goes ---- */

static void wait_until_invalid(struct actor *who)
{
	while (actor_do(who, "valid 0"))
		usleep(10000);
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
	actor_send(&b, "nq 0 1 EX 0"); /* looks around, since it waits */
	usleep(50000);
	assert_int_equal(unlink(at("gone")), 0);
	assert_int_equal(actor_do(&c, "open gone"), 0); /* another one of the same name */
	assert_int_equal(actor_do(&c, "nq 0 1 EX 0"), 0);
	assert_int_equal(actor_answer(&b), -EIO);
	assert_true(actor_do(&b, "log") > 0);
	/* Who holds and waits for nothing sees it when it next asks for something. */
	while (actor_do(&a, "valid 0") && actor_do(&a, "nq 1 2 EX 0") == 0)
		assert_int_equal(actor_do(&a, "dq 1"), 0), usleep(10000);
	wait_until_invalid(&a);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	actor_end(&a);
	actor_end(&b);
	assert_int_equal(actor_do(&c, "valid 0"), 1);
	assert_int_equal(actor_do(&c, "dq 0"), 0);
	actor_end(&c);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names),
	    cmocka_unit_test(directories),
	    cmocka_unit_test(read_only_directory),
	    cmocka_unit_test(others_files),
	    cmocka_unit_test(files_of_something_else),
	    cmocka_unit_test(other_versions),
	    cmocka_unit_test(damaged),
	    cmocka_unit_test(no_memory),
	    cmocka_unit_test(limits),
	    cmocka_unit_test(too_many_nodes),
	    cmocka_unit_test(removed),
	};

	actor_main(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
