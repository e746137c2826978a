/* SPDX-License-Identifier: MIT */
/* test_bad_files.c - tests files that are no spaces, or spaces of another version. */
#include "actor.h"
#include "opening.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct actor a, b;

static void make(const char *name, const char *text)
{
	FILE *f = fopen(at(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(at(name), 0600), 0);
}

/* Promises: glock_space_open: "The log says", "-EMEDIUMTYPE not the". */
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

/* Promises: glock_space_open: "-EPROTO processes with". */
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

/* The message names eight processes, and counts only those behind them. */
static void eight_users(void **state)
{
	const uint32_t version = 77;
	struct actor users[8];

	(void)state;
	for (int i = 0; i < 8; i++) {
		actor_start(&users[i]);
		assert_int_equal(actor_do(&users[i], "open eight"), 0);
	}
	patch("eight", offsetof(struct head, layout), &version, sizeof(version));
	actor_start(&a);
	assert_int_equal(actor_do(&a, "open eight"), -EPROTO);
	assert_int_equal(actor_do(&a, "said processes"), 1);
	assert_int_equal(actor_do(&a, "said more"), 0);
	actor_kill(&a);
	for (int i = 0; i < 8; i++)
		actor_kill(&users[i]);
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(files_of_something_else),
	    cmocka_unit_test(other_versions),
	    cmocka_unit_test(eight_users),
	    cmocka_unit_test(unknown_version),
	    cmocka_unit_test(memory_of_no_table),
	};

	actor_main(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
