/* SPDX-License-Identifier: MIT */
/*
 * test_debug.c - tests GLOCK_DEBUG, and the messages of a close with references and of glock_get().
 */
#include "base/sanitizer.h"
#include "check.h"
#include "glock.h"

#include "../fork_quietly.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char messages[8192];
static struct glock_space *space;

static void on_log(void *arg, const char *message)
{
	(void)arg;
	strncat(messages, message, sizeof(messages) - strlen(messages) - 2);
	strcat(messages, "\n");
}

static int open_it(void)
{
	const struct glock_space_options o = {.size = sizeof(o), .log = on_log};

	*messages = 0;
	return glock_space_open("debug", &o, &space);
}

static void expect(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" has no \"%s\"", text, part);
}

static const char *here(int line)
{
	static char buf[300];

	snprintf(buf, sizeof(buf), "%s:%d", __FILE__, line);
	return buf;
}

/* Makes mistakes in a space, and closes it in the end. Returns the line of a glock_get(). */
static int make_mistakes(void)
{
	struct glock_holder held, waits;
	struct glock *gl, *none;
	int line;

	assert_int_equal(glock_get(space, 20, 1, &none), -EINVAL);
	line = __LINE__ + 1;
	assert_int_equal(glock_get(space, GLOCK_INODE, 7, &gl), 0);
	glock_holder_init(&held, gl, GLOCK_EX, 0);
	assert_int_equal(glock_nq(&held), 0);
	glock_holder_init(&waits, gl, GLOCK_EX, GLOCK_ASYNC);
	glock_holder_owner(&waits, 1);
	assert_int_equal(glock_nq(&waits), 0);
	assert_int_equal(glock_space_close(space), -EBUSY);
	assert_int_equal(glock_dq(&waits), 0);
	assert_int_equal(glock_dq(&held), 0);
	glock_put(gl);
	assert_int_equal(glock_space_close(space), 0);
	return line;
}

/* Promises: glock_space_close: "-EBUSY glocks are"; glock_get: "-EINVAL no such". */
static void debug_log_of_the_program(void **state)
{
	(void)state;
	assert_int_equal(open_it(), 0);
	make_mistakes();
	expect(messages, "no type 20; name it in types");
	expect(messages, "1 reference to 1 glock");
	expect(messages, "GLOCK_DEBUG=stderr");
	expect(messages, "glock 2:7: 1 reference; held from ");
	expect(messages, "; wanted from ");
}

/* With a file both logs have the messages. The call sites of glock_get() come on top. */
/* Promises: glock_space_open: "Any other value"; glock_get: "With GLOCK_DEBUG the". */
static void debug_to_a_file(void **state)
{
	char path[] = "/tmp/glock-debug-XXXXXX", text[8192] = "";
	int fd = mkstemp(path), line;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "of another run\n", 15), 15);
	assert_int_equal(setenv("GLOCK_DEBUG", path, 1), 0);
	assert_int_equal(open_it(), 0);
	line = make_mistakes();
	assert_int_equal(unsetenv("GLOCK_DEBUG"), 0);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	close(fd);
	unlink(path);
	expect(text, "of another run\nglock[");
	expect(text, "no type 20");
	expect(text, "glock 2:7: 1 reference from ");
	expect(text, here(line));
	expect(messages, here(line));
}

/* A file that another user may have put there: the space opens, and nothing is written. */
static void debug_refuses(const char *path, const char *why)
{
	assert_int_equal(setenv("GLOCK_DEBUG", path, 1), 0);
	assert_int_equal(open_it(), 0);
	assert_int_equal(unsetenv("GLOCK_DEBUG"), 0);
	expect(messages, path);
	expect(messages, why);
	make_mistakes();
}

/* Promises: glock_space_open: "A link, a". */
static void debug_to_what_is_not_the_users_file(void **state)
{
	char dir[] = "/tmp/glock-debug-XXXXXX", path[64], other[64];
	struct stat st;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/log", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	fd = open(other, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(symlink(other, path), 0);
	debug_refuses(path, "it is a symbolic link");
	unlink(path);
	assert_int_equal(link(other, path), 0);
	debug_refuses(path, "it has more than one name");
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	debug_refuses(path, "no process reads"); /* and does not wait for one */
	unlink(path);
	if (!geteuid()) {
		assert_int_equal(fchown(fd, 1, 1), 0);
		debug_refuses(other, "it belongs to another user");
	}
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 0);
	close(fd);
	unlink(other);
	rmdir(dir);
}

/*
 * A link in a folder of the path leads where its owner likes. Links of root and of this user are
 * followed.
 */
/* Promises: glock_space_open: "A link, a". */
static void debug_through_a_link_of_another_user(void **state)
{
	char dir[] = "/tmp/glock-debug-XXXXXX", folder[64], way[64], path[80], log[80];

	(void)state;
	if (geteuid()) {
		print_message("# only root can give a link to another user\n");
		return;
	}
	assert_non_null(mkdtemp(dir));
	snprintf(folder, sizeof(folder), "%s/folder", dir);
	snprintf(way, sizeof(way), "%s/way", dir);
	snprintf(path, sizeof(path), "%s/log", way);
	snprintf(log, sizeof(log), "%s/log", folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(symlink("folder", way), 0);
	assert_int_equal(lchown(way, 1, 1), 0);
	debug_refuses(path, "another user made a symbolic link on the way");
	assert_int_equal(access(log, F_OK), -1);
	assert_int_equal(lchown(way, 0, 0), 0);
	assert_int_equal(setenv("GLOCK_DEBUG", path, 1), 0);
	assert_int_equal(open_it(), 0);
	assert_int_equal(unsetenv("GLOCK_DEBUG"), 0);
	make_mistakes();
	assert_int_equal(unlink(log), 0);
	unlink(way);
	rmdir(folder);
	rmdir(dir);
}

/* Other users choose names in a message. A terminal that shows the file obeys none of them. */
/* Promises: log: "A message has". */
static void debug_has_clean_names(void **state)
{
	const struct glock_space_options o = {.size = sizeof(o), .log = on_log};
	char path[] = "/tmp/glock-debug-XXXXXX", text[1024] = "";
	int fd = mkstemp(path);
	struct glock *gl;

	(void)state;
	assert_true(fd >= 0);
	*messages = 0;
	assert_int_equal(setenv("GLOCK_DEBUG", path, 1), 0);
	assert_int_equal(glock_space_open("a\x1b[2J\xc2\x9b\xe2\x80\xae\xff\nz", &o, &space), 0);
	assert_int_equal(unsetenv("GLOCK_DEBUG"), 0);
	assert_int_equal(glock_get(space, GLOCK_INODE, 1, &gl), 0);
	assert_int_equal(glock_space_close(space), -EBUSY);
	glock_put(gl);
	assert_int_equal(glock_space_close(space), 0);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	close(fd);
	unlink(path);
	expect(text, "space a?[2J???????z is not closed");
	expect(messages, "space a?[2J???????z is not closed");
	for (const char *at = text; *at; at++)
		assert_true((*at >= ' ' && *at <= '~') || *at == '\n');
}

/* Promises: log: "A message has". */
static void log_has_clean_names(void **state)
{
	const struct glock_space_options o = {.size = sizeof(o), .log = on_log};
	struct glock *gl;

	(void)state;
	*messages = 0;
	assert_int_equal(glock_space_open("a\x1b[2J", &o, &space), 0);
	assert_int_equal(glock_get(space, GLOCK_INODE, 1, &gl), 0);
	assert_int_equal(glock_space_close(space), -EBUSY);
	expect(messages, "space a?[2J is not closed");
	glock_put(gl);
	assert_int_equal(glock_space_close(space), 0);
}

/* A glock that lost its last reference starts anew. More than eight glocks: some are counted. */
/* Promises: glock_get: "With GLOCK_DEBUG the". */
static void debug_counts_references(void **state)
{
	struct glock *gls[10], *again;

	(void)state;
	assert_int_equal(setenv("GLOCK_DEBUG", "/dev/null", 1), 0);
	assert_int_equal(open_it(), 0);
	assert_int_equal(unsetenv("GLOCK_DEBUG"), 0);
	assert_int_equal(glock_get(space, GLOCK_INODE, 3, &again), 0);
	glock_put(again);
	for (uint64_t i = 0; i < ARRAY_SIZE(gls); i++)
		assert_int_equal(glock_get(space, GLOCK_INODE, i, &gls[i]), 0);
	assert_int_equal(glock_get_at(space, GLOCK_INODE, 3, &again, "?"), 0);
	assert_int_equal(glock_space_close(space), -EBUSY);
	expect(messages, "11 references to 10 glocks");
	expect(messages, "and 2 more glocks");
	glock_put(again);
	*messages = 0;
	for (size_t i = 0; i < ARRAY_SIZE(gls); i++)
		if (i != 3)
			glock_put(gls[i]);
	assert_int_equal(glock_space_close(space), -EBUSY);
	expect(messages, "glock 2:3: 1 reference from ?, ");
	glock_put(gls[3]);
	assert_int_equal(glock_space_close(space), 0);
}

/* A program without a log. The message goes to the child's standard error. */
/* Promises: glock_space_open: "If the environment", "The log says". */
static void debug_to_stderr(void **state)
{
	char text[1024] = "";
	int ends[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork_quietly();
	if (!pid) {
		dup2(ends[1], 2);
		setenv("GLOCK_DEBUG", "stderr", 1);
		_exit(glock_space_open("", NULL, &space) != -EINVAL);
	}
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
	close(ends[0]);
	expect(text, "glock[");
	expect(text, "a space's name has 1 to 64 bytes, and this one has 0; choose another name\n");
}

static void debug_to_no_file(void **state)
{
	(void)state;
	assert_int_equal(setenv("GLOCK_DEBUG", "/no/such/folder/file", 1), 0);
	assert_int_equal(open_it(), 0);
	assert_int_equal(unsetenv("GLOCK_DEBUG"), 0);
	expect(messages, "GLOCK_DEBUG=/no/such/folder/file: No such file");
	assert_int_equal(glock_space_close(space), 0);
}

/* Makes a file of this user that runs this program as another user. Returns false without one. */
static bool make_setuid(char *path)
{
	int to = mkstemp(path), from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char buf[65536];
	ssize_t n;
	bool made;

	assert_true(to >= 0 && from >= 0);
	while ((n = read(from, buf, sizeof(buf))) > 0)
		assert_int_equal(write(to, buf, (size_t)n), n);
	made = !fchown(to, 65534, 65534) && !fchmod(to, 04755);
	close(from);
	close(to);
	return made;
}

enum { SKIPS = 77 };

/* The setuid program. Only an open that fails has a message. */
static int run_as_setuid(void)
{
	return !getauxval(AT_SECURE) ? SKIPS : glock_space_open("", NULL, &space) != -EINVAL;
}

/* The environment of a setuid program is that of another user, who must not choose a file. */
/* Promises: glock_space_open: "A setuid program". */
static void debug_in_a_setuid_program(void **state)
{
	char path[] = "/tmp/glock-setuid-XXXXXX", text[1024] = "";
	int ends[2], status = 0;
	bool made = make_setuid(path);
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = made ? fork_quietly() : -1;
	if (!pid) {
		dup2(ends[1], 2);
		setenv("GLOCK_DEBUG", "stderr", 1);
		execl(path, path, "setuid", NULL);
		_exit(SKIPS);
	}
	close(ends[1]);
	if (made)
		assert_int_equal(waitpid(pid, &status, 0), pid);
	unlink(path);
	/*
	 * Only root can make such a file, and only where the mount allows setuid. AddressSanitizer
	 * cannot look for leaks in such a program.
	 */
	if (!made || status == SKIPS << 8 || GLOCK__ASAN) {
		print_message("# no setuid program can run here\n");
		close(ends[0]);
		return;
	}
	assert_int_equal(status, 0);
	assert_int_equal(read(ends[0], text, sizeof(text) - 1), 0);
	close(ends[0]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(debug_log_of_the_program),
	    cmocka_unit_test(debug_to_a_file),
	    cmocka_unit_test(debug_counts_references),
	    cmocka_unit_test(debug_to_stderr),
	    cmocka_unit_test(debug_to_no_file),
	    cmocka_unit_test(debug_in_a_setuid_program),
	    cmocka_unit_test(debug_to_what_is_not_the_users_file),
	    cmocka_unit_test(debug_through_a_link_of_another_user),
	    cmocka_unit_test(debug_has_clean_names),
	    cmocka_unit_test(log_has_clean_names),
	};

	if (argc > 1 && !strcmp(argv[1], "setuid"))
		return run_as_setuid();
	unsetenv("GLOCK_DEBUG");
	return RUN_TESTS(tests);
}
