/* SPDX-License-Identifier: MIT */
/*
 * test_files.c - tests the readers of small files, lines of streams, and the list of problems.
 *
 * The small files are mountinfo, clocks and lists of names.
 */
#include "base/way.h"
#include "o2top/base/problems.h"
#include "o2top/collect/input.h"
#include "o2top/collect/machine/mounts.h"
#include "o2top/collect/machine/this_machine.h"
#include "o2top/collect/machine/tree.h"
#include "o2top/rank/names.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes a file of these bytes. Its path is valid until the next call. */
static const char *file_of(const char *text, size_t len)
{
	static char path[64];
	static int fd = -1;

	if (fd >= 0)
		close(fd);
	fd = memfd_create("test", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

static const char *file_with(const char *text)
{
	return file_of(text, strlen(text));
}

/* ---- mountinfo ----------------------------------------------------------------------------- */

static void mounts_found(void **state)
{
	static const char text[] =
	    "21 1 0:20 / /proc rw,nosuid shared:5 - proc proc rw\n"
	    "36 35 254:16 / /mnt/o2 rw,noatime shared:1 master:2 - ocfs2 /dev/vdb "
	    "rw,heartbeat=none\n"
	    "37 35 254:32 /sub /mnt/o2/a\\040b\\011c\\134d\\012e rw - ocfs2 /dev/vdc rw\n"
	    "38 35 8:0 / /srv/g\\303\\244 rw - gfs2 /dev/sda rw\n"
	    "39 35 8:1 / /srv/ocfs2 rw - ext4 /dev/gfs2 rw\n"
	    "40 35 8:2 / /srv/fuse rw - fuse.ocfs2 /dev/gfs2 rw";
	struct mounts m;

	(void)state;
	assert_int_equal(mounts_read(&m, file_with(text)), 0);
	assert_int_equal(m.n, 3);
	assert_string_equal(m.list[0].point, "/mnt/o2");
	assert_string_equal(m.list[1].point, "/mnt/o2/a b\tc\\d\ne");
	assert_string_equal(m.list[2].point, "/srv/g\303\244");
	assert_int_equal(m.list[2].fs, FS_GFS2);
	assert_ptr_equal(mounts_of_device(&m, FS_OCFS2, 254, 32), &m.list[1]);
	assert_null(mounts_of_device(&m, FS_GFS2, 254, 32));
	assert_ptr_equal(mounts_of_path(&m, "/mnt/o2"), &m.list[0]);
	assert_ptr_equal(mounts_of_path(&m, "/mnt/o2///"), &m.list[0]);
	assert_ptr_equal(mounts_of_path(&m, "/mnt/o2/x/y"), &m.list[0]);
	assert_ptr_equal(mounts_of_path(&m, "/mnt/o2/a b\tc\\d\ne/f"), &m.list[1]);
	assert_null(mounts_of_path(&m, "/mnt/o22"));
	assert_null(mounts_of_path(&m, "/mnt"));
	assert_null(mounts_of_path(&m, ""));
	mounts_free(&m);
	assert_int_equal(mounts_read(&m, "/nowhere/at/all"), -ENOENT);
	assert_int_equal(m.n, 0);
}

/* A backslash that begins no octal escape is plain text. No escape ends a path early. */
static void mounts_with_odd_escapes(void **state)
{
	static const char *const points[] = {"/a\\",    "/a\\0",   "/a\\04",  "/a\\0/1",
					     "/a\\!!!", "/a\\1/!", "/a\\089", "/a\\000b",
					     "/a\\400", "/a\\777", "/a\\x41"};
	struct mounts m;
	char line[128];

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		snprintf(line, sizeof(line), "36 35 254:16 / %s rw - ocfs2 /dev/vdb rw\n",
			 points[i]);
		assert_int_equal(mounts_read(&m, file_with(line)), 0);
		assert_int_equal(m.n, 1);
		assert_string_equal(m.list[0].point, points[i]);
		mounts_free(&m);
	}
}

static void mounts_broken(void **state)
{
	static const char text[] =
	    "\n - \n - ocfs2\n36 35 254 / /a rw - ocfs2 b\n36 35 254:x / /a rw - ocfs2 b\n"
	    "36 35 4294967296:0 / /a rw - ocfs2 b\n36 35 254:16 / /a rw ocfs2 b\n36";
	struct mounts m;

	(void)state;
	assert_int_equal(mounts_read(&m, file_with(text)), 0);
	assert_int_equal(m.n, 0);
	mounts_free(&m);
}

/* ---- clocks -------------------------------------------------------------------------------- */

static void write_below(const char *root, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void clocks(void **state)
{
	static const struct {
		const char *text;
		bool good;
		int64_t us;
	} times[] = {
	    {"1795154849.664465970\n", true, 1795154849664465},
	    {"1795154849.664465970", true, 1795154849664465},
	    {"832.84 1650.12\n", true, 832840000},
	    {"832\n", true, 832000000},
	    {"832.\n", true, 832000000},
	    {"0.5\n", true, 500000},
	    {"0\n", true, 0},
	    {"7.0000009999999999999999999999\n", true, 7000000},
	    {"2305843009213\n", true, 2305843009213000000},
	    {"", false, 0},
	    {"\n", false, 0},
	    {" 7\n", false, 0},
	    {"-7\n", false, 0},
	    {".5\n", false, 0},
	    {"7,5\n", false, 0},
	    {"7.5x\n", false, 0},
	    {"7.5.5\n", false, 0},
	    {"noon\n", false, 0},
	    {"0x7\n", false, 0},
	    {"9223372036855\n", false, 0},
	    {"99999999999999999999\n", false, 0},
	};
	char root[] = "/tmp/o2top-unit-XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct node_sample node = {0};
		struct problems problems = {0};

		write_below(root, "realtime", times[i].text);
		write_below(root, "uptime", times[i].text);
		tree_clock(root, strlen(root) + 1, &node, &problems);
		assert_int_equal(node.has_clock, times[i].good);
		assert_int_equal(problems.count, times[i].good ? 0 : 2);
		assert_int_equal(node.mono_us, times[i].good ? times[i].us : -1);
		if (times[i].good)
			assert_int_equal(node.real_us, times[i].us);
		else
			assert_memory_equal(problems.text[0], "realtime: ", 10);
		problems_clear(&problems);
	}
	snprintf(path, sizeof(path), "%s/realtime", root);
	unlink(path);
	snprintf(path, sizeof(path), "%s/uptime", root);
	unlink(path);
	rmdir(root);
}

/* ---- names --------------------------------------------------------------------------------- */

static const char *path_in(const struct names *names, const char *space, uint64_t inode)
{
	bool sure;

	return names_find(names, space, inode, &sure);
}

static void names_read_and_found(void **state)
{
	static const char text[] = "32264 /mnt/spool\n7 /a b  c \n32264 /mnt/other "
				   "link\n18446744073709551615 /last\n5 /no newline";
	struct problems problems = {0};
	struct names *names = NULL;

	(void)state;
	assert_int_equal(names_read(&names, NULL, file_with(text), &problems), 0);
	assert_int_equal(problems.count, 0);
	assert_string_equal(path_in(names, "any", 32264), "/mnt/spool");
	assert_string_equal(path_in(names, "any", 7), "/a b  c ");
	assert_string_equal(path_in(names, "any", UINT64_MAX), "/last");
	assert_string_equal(path_in(names, "any", 5), "/no newline");
	assert_null(path_in(names, "any", 6));
	assert_null(path_in(NULL, "any", 6));
	names_free(names);
}

static void names_broken(void **state)
{
	static const char text[] =
	    "x /a\n7\n8 \n /b\n-9 /c\n18446744073709551616 /d\n10\t/e\n\n11 /f\n12 /g\0h\n";
	struct problems problems = {0};
	struct names *names = NULL;

	(void)state;
	assert_int_equal(names_read(&names, NULL, file_of(text, sizeof(text) - 1), &problems), 0);
	assert_int_equal(problems.count, 9);
	assert_int_equal(problems.bad_lines, 9);
	assert_non_null(strstr(problems.text[0], ":1: "));
	assert_non_null(strstr(problems.text[8], ":10: "));
	assert_string_equal(path_in(names, "any", 11), "/f");
	assert_null(path_in(names, "any", 8));
	assert_null(path_in(names, "any", 12));
	problems_clear(&problems);
	assert_int_equal(names_read(&names, NULL, "/nowhere/at/all", &problems), -ENOENT);
	assert_string_equal(path_in(names, "any", 11), "/f");
	names_free(names);
}

/* A list of one lock space has no names for others. */
static void names_of_a_space(void **state)
{
	struct problems problems = {0};
	struct names *names = NULL;

	(void)state;
	assert_int_equal(names_read(&names, "one", file_with("5 /one/five\n"), &problems), 0);
	assert_int_equal(
	    names_read(&names, NULL, file_with("5 /any/five\n6 /any/six\n"), &problems), 0);
	assert_string_equal(path_in(names, "one", 5), "/one/five");
	assert_string_equal(path_in(names, "one", 6), "/any/six");
	assert_string_equal(path_in(names, "two", 5), "/any/five");
	names_free(names);
}

static int holds(const void *arg, size_t space, uint64_t inode)
{
	const size_t *of = arg;

	return space == *of && inode < 100;
}

static void names_settled(void **state)
{
	static const char *const spaces[] = {"one", "two"};
	struct problems problems = {0};
	struct names *names = NULL;
	size_t of = 1;

	(void)state;
	assert_int_equal(names_read(&names, NULL, file_with("5 /a\n6 /b\n7 /c\n"), &problems), 0);
	names_settle(names, spaces, 2, holds, &of);
	assert_string_equal(path_in(names, "two", 5), "/a");
	assert_null(path_in(names, "one", 5));
	names_free(names);
	names = NULL;
	/* two names are too few to tell */
	assert_int_equal(names_read(&names, NULL, file_with("5 /a\n6 /b\n7000 /c\n"), &problems),
			 0);
	names_settle(names, spaces, 2, holds, &of);
	assert_string_equal(path_in(names, "one", 5), "/a");
	names_free(names);
	names_settle(NULL, spaces, 2, holds, &of);
}

/* ---- lines --------------------------------------------------------------------------------- */

struct seen {
	size_t n, stop_at;
	size_t len[8];
	bool complete[8];
};

static bool see(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct seen *s = arg;

	(void)line;
	assert_true(s->n < 8);
	s->len[s->n] = len;
	s->complete[s->n++] = complete;
	assert_int_equal(number, s->n);
	return s->n != s->stop_at;
}

static struct seen lines_of(const char *text, size_t len, size_t stop_at)
{
	struct seen s = {.stop_at = stop_at};
	struct input in;

	assert_int_equal(input_open_path(&in, file_of(text, len), "test"), 0);
	assert_int_equal(input_lines(&in, see, &s), 0);
	return s;
}

static void lines(void **state)
{
	struct seen s;

	(void)state;
	assert_int_equal(lines_of("", 0, 0).n, 0);
	s = lines_of("a\n\nbc\n", 6, 0);
	assert_int_equal(s.n, 3);
	assert_true(s.len[0] == 1 && s.len[1] == 0 && s.len[2] == 2 && s.complete[2]);
	s = lines_of("a\nbc", 4, 0);
	assert_int_equal(s.n, 2);
	assert_true(s.len[1] == 2 && !s.complete[1]);
	s = lines_of("a\0b\nc", 5, 0);
	assert_true(s.n == 2 && s.len[0] == 3 && s.complete[0]);
	assert_int_equal(lines_of("a\nb\nc\n", 6, 2).n, 2);
	assert_int_equal(lines_of("a\nb", 3, 1).n, 1);
}

/* Lines of exactly the greatest length, and of one byte more, with and without a next line. */
static void long_lines(void **state)
{
	enum { MAX = INPUT_LINE_MAX, ROOM = 5 * MAX };
	static const size_t lengths[] = {MAX - 1, MAX, MAX + 1, 2 * MAX, 4 * MAX + 17};
	static char text[ROOM + 16];

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		bool fits = lengths[i] <= MAX;
		struct seen s;

		memset(text, 'x', lengths[i]);
		memcpy(text + lengths[i], "\nend\n", 5);
		s = lines_of(text, lengths[i] + 5, 0);
		assert_int_equal(s.n, 2);
		assert_int_equal(s.len[0], fits ? lengths[i] : MAX);
		assert_int_equal(s.complete[0], fits);
		assert_true(s.len[1] == 3 && s.complete[1]);
		s = lines_of(text, lengths[i], 0);
		assert_int_equal(s.n, 1);
		assert_int_equal(s.len[0], fits ? lengths[i] : MAX);
		assert_false(s.complete[0]);
	}
}

static void not_files(void **state)
{
	struct input in;
	char buf[8];

	(void)state;
	assert_int_equal(input_open_path(&in, "/nowhere/at/all", "x"), -ENOENT);
	assert_int_equal(input_open_path(&in, "/dev/null", "x"), -EINVAL);
	assert_int_equal(input_open_path(&in, "/", "x"), -EINVAL);
	assert_int_equal(input_small(file_with("1234567"), buf, sizeof(buf)), -EFBIG);
	assert_int_equal(input_small(file_with("123456"), buf, sizeof(buf)), 6);
	assert_string_equal(buf, "123456");
}

/* ---- problems ------------------------------------------------------------------------------ */

/* Only some lines of one file are named, so that lines of other files are named as well. */
static void problems_kept_and_counted(void **state)
{
	struct problems p = {0}, q = {0};
	char more[64];

	(void)state;
	for (size_t i = 0; i < 105; i++)
		problem(&p, "file", i, "what %zu", i);
	assert_int_equal(p.count, 105);
	assert_int_equal(p.bad_lines, 104);
	assert_int_equal(p.kept, 1 + PROBLEMS_OF_FILE);
	assert_string_equal(p.text[0], "file: what 0");
	assert_string_equal(p.text[7], "file:7: what 7");
	problem(&q, "other", 3, "%s", "100%s");
	assert_string_equal(q.text[0], "other:3: 100%s");
	problems_join(&q, &p);
	assert_int_equal(q.count, 106);
	assert_int_equal(q.bad_lines, 105);
	assert_int_equal(q.kept, 3 + PROBLEMS_OF_FILE);
	snprintf(more, sizeof(more), "file: and %d more lines", 104 - PROBLEMS_OF_FILE);
	assert_string_equal(q.text[q.kept - 1], more);
	assert_int_equal(p.count, 0);
	/* and not all of many files */
	for (size_t i = 0; i < 2 * PROBLEMS_KEPT; i++) {
		char name[16];

		snprintf(name, sizeof(name), "file%zu", i);
		problem(&p, name, 1, "what");
	}
	assert_int_equal(p.kept, PROBLEMS_KEPT);
	assert_int_equal(p.count, 2 * PROBLEMS_KEPT);
	problems_clear(&p);
	problems_clear(&q);
	assert_int_equal(q.count, 0);
}

/* A node with a million locks has a locking_state of some 350 MiB, and the limit is 512 MiB. */
static void large_files(void **state)
{
	char path[64];
	struct buffer b = {0};
	int fd = memfd_create("large", MFD_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(ftruncate(fd, (off_t)300 << 20), 0);
	assert_int_equal(machine_read(path, 2048, &b), 0);
	assert_int_equal(b.len, (size_t)300 << 20);
	free(b.data);
	close(fd);
}

/* Another user may give a file a second name, and remove it while a program looks at the file. */
static void names_that_are_removed(void **state)
{
	char dir[] = "/tmp/o2top-files-XXXXXX", name[64], second[64];
	int fd, again;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/name", dir);
	snprintf(second, sizeof(second), "%s/second", dir);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(glock__way_is_only_name(fd));
	assert_int_equal(link(name, second), 0);
	again = open(second, O_RDWR | O_CLOEXEC);
	assert_true(again >= 0);
	assert_false(glock__way_is_only_name(fd));
	assert_false(glock__way_is_only_name(again));
	assert_int_equal(unlink(second), 0);
	assert_true(glock__way_is_only_name(fd));
	assert_false(glock__way_is_only_name(again));
	/* the same name again is another name */
	assert_int_equal(link(name, second), 0);
	assert_int_equal(unlink(name), 0);
	assert_false(glock__way_is_only_name(again));
	close(again);
	close(fd);
	unlink(second);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(mounts_found),
	    cmocka_unit_test(mounts_with_odd_escapes),
	    cmocka_unit_test(mounts_broken),
	    cmocka_unit_test(clocks),
	    cmocka_unit_test(names_read_and_found),
	    cmocka_unit_test(names_broken),
	    cmocka_unit_test(names_of_a_space),
	    cmocka_unit_test(names_settled),
	    cmocka_unit_test(lines),
	    cmocka_unit_test(long_lines),
	    cmocka_unit_test(not_files),
	    cmocka_unit_test(large_files),
	    cmocka_unit_test(names_that_are_removed),
	    cmocka_unit_test(problems_kept_and_counted),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
