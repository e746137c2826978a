/* SPDX-License-Identifier: MIT */
/* test_arguments.c - tests every argument that is wrong, odd, or of another version's size. */
#include "adversary.h"

#include <stddef.h>
#include <sys/wait.h>

static int open_as(const char *name, const struct glock_space_options *options,
		   struct glock_space **space)
{
	struct glock_space_options copy = *options;

	*space = NULL;
	if (copy.size > offsetof(struct glock_space_options, lockman) && !copy.lockman)
		copy.lockman = lockman;
	return glock_space_open(name, &copy, space);
}

#define OPTIONS(...)                                                    \
	&(const struct glock_space_options)                             \
	{                                                               \
		.size = sizeof(struct glock_space_options), __VA_ARGS__ \
	}

static void opens(const char *name)
{
	struct glock_space *space;

	SAME(open_as(name, OPTIONS(), &space), 0);
	SAME(glock_space_close(space), 0);
}

/* Promises: glock_space_open: "Opens the space", "-EINVAL name or". */
static void names(void)
{
	char name[80];
	struct glock_space *space;

	memset(name, 'x', sizeof(name));
	name[65] = 0;
	SAME(open_as(name, OPTIONS(), &space), -EINVAL);
	SAME(open_as("", OPTIONS(), &space), -EINVAL);
	name[64] = 0;
	opens(name);
	for (int byte = 1; byte < 256; byte++) {
		char one[2] = {(char)byte, 0};

		opens(one);
		memset(name, byte, 64);
		opens(name);
		if (byte % 64 == 0)
			forget_spaces();
	}
	opens(".");
	opens("..");
	opens("../x");
	opens("a,1");
}

/* Names that look like the name of another space's file. */
static void names_differ(void)
{
	static const char *const name[] = {"a",
					   "a/b",
					   "a%2fb",
					   "a%2Fb",
					   "a_b",
					   "a,0",
					   "a%2c0",
					   "a\\b",
					   "a%5cb",
					   "a.b",
					   "A",
					   ("a\x2f"
					    "B")};
	struct glock_space *space[COUNT(name)];
	struct glock *gl[COUNT(name)];
	struct glock_holder gh[COUNT(name)];

	for (size_t i = 0; i < COUNT(name); i++) {
		SAME(open_as(name[i], OPTIONS(), &space[i]), 0);
		gl[i] = get(space[i], GLOCK_INODE, 1);
		glock_holder_init(&gh[i], gl[i], GLOCK_EX, GLOCK_TRY);
		SAME(glock_nq(&gh[i]), 0);
	}
	for (size_t i = 0; i < COUNT(name); i++) {
		SAME(glock_dq(&gh[i]), 0);
		glock_put(gl[i]);
		SAME(glock_space_close(space[i]), 0);
	}
}

/* Where a struct ended in version 0.2.0. Smaller sizes are a mistake. */
#define FIRST_SIZE(type, last) \
	(offsetof(struct type, last) + sizeof(((struct type){.size = 0}).last))

/* Sizes of options of a program without care, of the first version and of a newer program. */
/*
 * Promises: glock_supports: "A member that the library"; glock_space_open: "options may be",
 * "-E2BIG a struct".
 */
static void sizes(void)
{
	struct {
		struct glock_space_options o;
		char more[64];
	} big = {.o = {.lockman = lockman}};
	struct glock_space *space;

	for (size_t size = 0; size <= sizeof(big); size++) {
		big.o.size = size;
		space = NULL;
		if (size < FIRST_SIZE(glock_space_options, work_threads)) {
			SAME(glock_space_open("sizes", &big.o, &space), -EINVAL);
			continue;
		}
		SAME(glock_space_open("sizes", &big.o, &space), 0);
		SAME(glock_space_close(space), 0);
	}
	/* A member of a newer program that this library would leave out in silence. */
	big.o.size = sizeof(big);
	for (size_t i = 0; i < sizeof(big.more); i++) {
		big.more[i] = 1;
		SAME(glock_space_open("sizes", &big.o, &space), -E2BIG);
		big.more[i] = 0;
	}
	SAME(glock_space_open("sizes", NULL, &space), 0);
	SAME(glock_space_close(space), 0);
}

/* Promises: glock_space_open: "-EPROTONOSUPPORT no such", "-EINVAL name or". */
static void odd_options(void)
{
	struct glock_space *space;
	static const char *const managers[] = {"NONE", "loca", "locall", "local ", "/", "sim"};

	for (size_t i = 0; i < COUNT(managers); i++)
		SAME(open_as("odd", OPTIONS(.lockman = managers[i]), &space), -EPROTONOSUPPORT);
	CHECK(!space);
	for (unsigned int bit = 4; bit < 32; bit++)
		SAME(open_as("odd", OPTIONS(.flags = 1u << bit), &space), -EINVAL);
	SAME(open_as("odd", OPTIONS(.n_types = 1), &space), -EINVAL);
	CHECK(open_as("odd", OPTIONS(.cached_age = -1), &space) == -EINVAL || space);
	if (space)
		SAME(glock_space_close(space), 0);
	SAME(open_as("odd", OPTIONS(.cached_max = SIZE_MAX, .cached_age = INT64_MAX), &space), 0);
	SAME(glock_space_close(space), 0);
	opens("odd");
}

/* The errors of a directory and of a group that glock.h names. */
/*
 * Promises: group: "-EINVAL if there"; glock_space_open: "-ENOTDIR, -ELOOP what", "-ENAMETOOLONG
 * the path", "-EOPNOTSUPP the file".
 */
static void directories(void)
{
	static char too_long[3500];
	struct glock_space *space;

	if (strcmp(lockman, "local"))
		return;
	unsetenv("GLOCK_DIR");
	memset(too_long, '/', sizeof(too_long) - 1);
	SAME(open_as("dir", OPTIONS(.dir = "/no/such/dir"), &space), -ENOENT);
	SAME(open_as("dir", OPTIONS(.dir = "/dev/null"), &space), -ENOTDIR);
	SAME(open_as("dir", OPTIONS(.dir = too_long), &space), -ENAMETOOLONG);
	SAME(open_as("dir", OPTIONS(.dir = "/proc"), &space), -EOPNOTSUPP);
	SAME(open_as("dir", OPTIONS(.group = "4294967297"), &space), -EINVAL);
	SAME(open_as("dir", OPTIONS(.group = "-1"), &space), -EINVAL);
	SAME(open_as("dir", OPTIONS(.group = "no such group"), &space), -EINVAL);
}

static int type_as(struct glock_type_options type)
{
	struct glock_space *space;
	int err = open_as("type", OPTIONS(.types = &type, .n_types = 1), &space);

	if (!err)
		SAME(glock_space_close(space), 0);
	return err;
}

#define TYPE(...)                                                      \
	(struct glock_type_options)                                    \
	{                                                              \
		.size = sizeof(struct glock_type_options), __VA_ARGS__ \
	}

/*
 * Promises: glock_type: "Numbers from GLOCK_TYPE_OWN"; glock_ops: "Each may be"; hold_max: "Below
 * 0: -EINVAL".
 */
static void odd_types(void)
{
	struct glock_ops ops = {.size = sizeof(ops)};
	struct {
		struct glock_ops ops;
		void *more[8];
	} later;

	SAME(type_as(TYPE(.type = GLOCK_TYPE_MAX)), -EINVAL);
	SAME(type_as(TYPE(.type = UINT32_MAX)), -EINVAL);
	SAME(type_as(TYPE(.type = 10, .name = "own")), 0);
	SAME(type_as(TYPE(.type = 31, .name = "a name longer than eight bytes")), 0);
	SAME(type_as(TYPE(.type = 10, .name = "own", .modes = 1u << 4)), -EINVAL);
	SAME(type_as(TYPE(.type = 10, .name = "own", .caches = 4)), -EINVAL);
	SAME(type_as(TYPE(.type = 10, .name = "own", .flags = 0x10)), -EINVAL);
	SAME(type_as(TYPE(.type = 10, .name = "own", .hold = -2)), -EINVAL);
	SAME(type_as(TYPE(.type = 10, .name = "own", .hold = GLOCK_HOLD_NONE)), 0);
	SAME(type_as(TYPE(.type = 10, .name = "own", .hold = INT64_MAX)), 0);
	SAME(type_as(TYPE(.type = 10, .name = "own", .hold_max = -1)), -EINVAL);
	SAME(type_as(TYPE(.type = 10, .name = "own", .hold_max = INT64_MAX)), 0);
	SAME(type_as(TYPE(.type = GLOCK_INODE, .flags = 1u << 31)), -EINVAL);
	/* Operations of other sizes: later ones do not exist, and a smaller struct never did. */
	for (size_t size = 0; size <= sizeof(later); size += sizeof(void *)) {
		memset(&later, 0xff, sizeof(later));
		memset(&later, 0, size);
		later.ops.size = size;
		SAME(type_as(TYPE(.type = 10, .name = "own", .ops = &later.ops)),
		     size < FIRST_SIZE(glock_ops, pages) ? -EINVAL : 0);
	}
	/* The same type twice. */
	{
		const struct glock_type_options two[] = {TYPE(.type = 10, .name = "a"),
							 TYPE(.type = 10, .name = "b")};
		struct glock_space *space;

		SAME(open_as("type", OPTIONS(.types = two, .n_types = 2), &space), -EINVAL);
	}
}

/* An array of entries of a newer program: its stride is the size in the entries. */
static void strides(void)
{
	struct {
		struct glock_type_options t;
		uint64_t more[3];
	} two[2] = {
	    {TYPE(.type = 10, .name = "ten", .flags = GLOCK_OPS_LVB), {0}},
	    {TYPE(.type = 11, .name = "eleven", .flags = GLOCK_OPS_LVB), {0}},
	};
	struct glock_space *space;
	struct glock *gl;

	two[0].t.size = two[1].t.size = sizeof(two[0]);
	SAME(open_as("strides", OPTIONS(.types = &two[0].t, .n_types = 2), &space), 0);
	gl = get(space, 11, 0);
	SAME(glock_type_of(gl), 11);
	glock_put(gl);
	SAME(glock_get(space, 12, 0, &gl), -EINVAL);
	SAME(glock_space_close(space), 0);
	two[1].t.size = sizeof(two[1].t); /* each entry has the size of the first one */
	SAME(open_as("strides", OPTIONS(.types = &two[0].t, .n_types = 2), &space), -EINVAL);
	for (size_t size = 0; size < FIRST_SIZE(glock_type_options, order); size++) {
		two[0].t.size = size;
		SAME(open_as("strides", OPTIONS(.types = &two[0].t, .n_types = 1), &space),
		     -EINVAL);
	}
}

static int th_of_inodes(struct glock *of, enum glock_mode to, unsigned int sync)
{
	(void)to, (void)sync;
	SAME(glock_type_of(of), GLOCK_INODE);
	shared->cell[0]++;
	return 0;
}

/* One type has an operation. The operation runs for no other type. */
/* Promises: glock_ops: "Each may be"; types: "types without an". */
static void types_without_an_entry(void)
{
	const struct glock_ops ops = {.size = sizeof(ops), .xmote_th = th_of_inodes};
	const struct glock_type_options inode = TYPE(.type = GLOCK_INODE, .ops = &ops);
	struct glock_space *space = open_space(&inode, 1, 0);
	struct glock_holder gh;
	struct glock *gl;

	for (unsigned int type = 1; type < 10; type++) {
		gl = get(space, type, 1);
		glock_holder_init(&gh, gl, GLOCK_EX, 0);
		SAME(glock_nq(&gh), 0);
		SAME(glock_dq(&gh), 0);
		SAME(shared->cell[0], type >= GLOCK_INODE);
		glock_put(gl);
	}
	SAME(glock_space_close(space), 0);
}

static int take(struct glock *gl, enum glock_mode mode)
{
	struct glock_holder gh;
	int err;

	glock_holder_init(&gh, gl, mode, 0);
	err = glock_nq(&gh);
	if (!err)
		SAME(glock_dq(&gh), 0);
	return err;
}

/* A type of the program has the values of its entry. GFS2's types have their own values. */
/* Promises: GLOCK_OPS_RECUR: "one owner may"; name: "Only for the"; modes: "1 << GLOCK_SH". */
static void values_of_entries(void)
{
	const struct glock_type_options types[] = {
	    TYPE(.type = GLOCK_INODE, .name = "mine", .modes = 1 << GLOCK_EX),
	    TYPE(.type = 10, .name = "own"),
	    TYPE(.type = 11, .modes = 1 << GLOCK_SH, .flags = GLOCK_OPS_RECUR),
	};
	struct glock_space *space = open_space(types, COUNT(types), 0);
	struct glock *gl[COUNT(types)];
	struct glock_holder gh;

	for (size_t i = 0; i < COUNT(types); i++) {
		gl[i] = get(space, types[i].type, 1);
		SAME(take(gl[i], GLOCK_SH), 0);
		SAME(take(gl[i], GLOCK_EX), i == 2 ? -EINVAL : 0);
		SAME(take(gl[i], GLOCK_DF), i ? -EINVAL : 0);
		glock_holder_init(&gh, gl[i], GLOCK_SH, 0);
		SAME(glock_nq(&gh), 0);
		SAME(take(gl[i], GLOCK_SH), i == 2 ? 0 : -EDEADLK);
		SAME(glock_dq(&gh), 0);
		glock_put(gl[i]);
	}
	SAME(glock_space_close(space), 0);
}

/* Promises: glock_get: "-EINVAL no such"; glock_type_of: "Return type and". */
static void types_that_are_not(void)
{
	struct glock_space *space = open_space(NULL, 0, 0);
	struct glock *gl = NULL;
	static const unsigned int none[] = {10, 31, 32, 33, 255, 256, 65536, UINT32_MAX};

	for (size_t i = 0; i < COUNT(none); i++)
		SAME(glock_get(space, none[i], 1, &gl), -EINVAL);
	for (unsigned int type = 1; type < 10; type++)
		for (uint64_t number = 0; number < 3; number++) {
			gl = get(space, type, number - 1);
			SAME(glock_type_of(gl), type);
			SAME(glock_number(gl), number - 1);
			CHECK(!glock_object(gl));
			CHECK(get(space, type, number - 1) == gl);
			glock_put(gl);
			glock_put(gl);
		}
	SAME(glock_space_close(space), 0);
}

/*
 * Every mode with every set of flags gives a result of the header's list. No holder is ever lost.
 */
/*
 * Promises: What to know before using it: "Functions that can"; glock_holder_init: "glock_nq()
 * reports a"; glock_nq: "-EINVAL mode, flags", "After an error"; glock_poll: "Returns 1 if";
 * glock_valid: "Returns 1 if".
 */
static void modes_and_flags(void)
{
	struct glock_space *space = open_space(NULL, 0, 0);
	struct glock *gl = get(space, GLOCK_INODE, 7), *plain = get(space, GLOCK_NONDISK, 7);
	struct glock_holder gh;
	static const int bad[] = {GLOCK_UN, 4, 5, -1, 255, 256, 257, 0x7fffffff};

	for (size_t i = 0; i < COUNT(bad); i++) {
		glock_holder_init(&gh, gl, (enum glock_mode)bad[i], 0);
		SAME(glock_nq(&gh), -EINVAL);
		SAME(glock_dq(&gh), -EINVAL);
	}
	for (unsigned int bit = 0; bit < 32; bit++) {
		if (1u << bit & GLOCK_FLAGS_ALL)
			continue;
		glock_holder_init(&gh, gl, GLOCK_SH, 1u << bit);
		SAME(glock_nq(&gh), -EINVAL);
	}
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_ANY);
	SAME(glock_nq(&gh), -EINVAL);
	for (unsigned int flags = 0; flags <= GLOCK_FLAGS_ALL; flags++)
		for (int mode = GLOCK_EX; mode <= GLOCK_SH; mode++) {
			int err;

			glock_holder_init(&gh, flags % 2 ? gl : plain, (enum glock_mode)mode,
					  flags);
			err = glock_nq(&gh);
			if (err) {
				if (err != -EINVAL && err != -EAGAIN && err != -ECHILD)
					wrong(__FILE__, __LINE__, "mode %d flags 0x%x: %d", mode,
					      flags, err);
				SAME(glock_dq(&gh), -EINVAL);
				continue;
			}
			if (flags & GLOCK_ASYNC)
				err = glock_wait(&gh, 0, 0);
			if (err) {
				if (err != -EAGAIN && err != -ECHILD)
					wrong(__FILE__, __LINE__, "mode %d flags 0x%x: %d", mode,
					      flags, err);
				glock_dq(&gh);
				continue;
			}
			SAME(glock_poll(&gh), 1);
			SAME(glock_wait(&gh, 1, 0), 0);
			SAME(glock_valid(&gh), 1);
			SAME(glock_nq(&gh) < 0, 1);
			SAME(glock_dq_wait(&gh), 0);
			SAME(glock_valid(&gh), 0);
			SAME(glock_dq(&gh), -EINVAL);
			SAME(glock_dq_wait(&gh), -EINVAL);
		}
	glock_put(gl);
	glock_put(plain);
	SAME(glock_space_close(space), 0);
}

/* A holder that was never asked for, was dropped, or failed. */
/*
 * Promises: What to know before using it: "Functions that can"; glock_nq: "The program may";
 * glock_dq: "-EINVAL the holder", "a holder that"; glock_wait: "-EINVAL the holder"; glock_token:
 * "-EPERM not held"; glock_lvb_read: "-EPERM not held".
 */
static void holders_not_queued(void)
{
	static const struct glock_type_options type =
	    TYPE(.type = 10, .name = "own", .flags = GLOCK_OPS_LVB);
	struct glock_space *space = open_space(&type, 1, 0);
	struct glock *gl = get(space, 10, 0);
	char value[GLOCK_LVB_SIZE] = {0};
	uint64_t token;

	for (int when = 0; when < 4; when++) {
		struct glock_holder gh = GLOCK_HOLDER_NONE;

		if (when)
			glock_holder_init(&gh, gl, GLOCK_EX, when == 3 ? GLOCK_NOPID : 0);
		for (int again = 0; when >= 2 && again < 2; again++) { /* as it is */
			SAME(glock_nq(&gh), 0);
			SAME(glock_dq(&gh), 0);
		}
		SAME(glock_dq(&gh), -EINVAL);
		SAME(glock_dq_wait(&gh), -EINVAL);
		SAME(glock_valid(&gh), 0);
		if (when < 2)
			SAME(glock_wait(&gh, 0, 0), -EINVAL);
		CHECK(glock_downgrade(&gh, GLOCK_SH) == -EINVAL);
		SAME(glock_lvb_read(&gh, value), -EPERM);
		SAME(glock_lvb_write(&gh, value), -EPERM);
		SAME(glock_token(&gh, &token), -EPERM);
		SAME(glock_owner_died(&gh), 0);
		CHECK(glock_cancel(&gh) < 0);
		SAME(glock_dq(&gh), -EINVAL);
		glock_dq_m(1, &gh);
		glock_dq_m(0, NULL);
	}
	SAME(glock_nq_m(0, NULL), 0);
	SAME(glock_async_wait(0, NULL, 0), 0);
	glock_put(gl);
	SAME(glock_space_close(space), 0);
}

static void text(void *to, const char *text, size_t len)
{
	(void)text;
	*(size_t *)to += len;
}

/*
 * Promises: glock_space_fd: "With GLOCK_SPACE_DISPATCH glock_space_fd()", "-EINVAL the library";
 * glock_dump: "-EINVAL file or".
 */
static void dumps(void)
{
	struct glock_space *space = open_space(NULL, 0, 0);
	size_t bytes = 0;

	SAME(glock_dump(space, GLOCK_FILE_MAX, GLOCK_FORMAT_LINUX_6_1, text, &bytes), -EINVAL);
	SAME(glock_dump(space, (enum glock_file) - 1, GLOCK_FORMAT_LINUX_6_1, text, &bytes),
	     -EINVAL);
	SAME(glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_MAX, text, &bytes), -EINVAL);
	SAME(glock_dump(space, GLOCK_FILE_GLOCKS, (enum glock_format) - 1, text, &bytes), -EINVAL);
	SAME(bytes, 0);
	SAME(glock_dispatch(space), -EINVAL);
	SAME(glock_space_fd(space), -1);
	SAME(glock_shrink(space, SIZE_MAX), 0);
	SAME(glock_space_close(space), 0);
}

/* Promises: glock_statistics: "-EINVAL: size, see". */
static void statistics_sizes(void)
{
	struct glock_space *space = open_space(NULL, 0, 0);
	struct glock *gl = get(space, GLOCK_INODE, 5);
	struct {
		struct glock_statistics s;
		uint64_t after[8];
	} out;

	for (size_t size = 0; size <= sizeof(out); size += 8) {
		bool first = size >= FIRST_SIZE(glock_statistics, tries_failed);

		memset(&out, 0xa5, sizeof(out));
		out.s.size = size;
		SAME(glock_statistics(gl, &out.s), first ? 0 : -EINVAL);
		for (size_t i = first ? size : sizeof(size_t); i < sizeof(out); i++)
			CHECK(((unsigned char *)&out)[i] == 0xa5);
	}
	glock_put(gl);
	SAME(glock_space_close(space), 0);
}

/*
 * Promises: GLOCK_VERSION: "of this header"; glock_version: "Returns the version"; glock_supports:
 * "Returns 1 if", "(cached locks without", "An unknown name", "At once; also".
 */
static void features(void)
{
	CHECK(glock_version() >= GLOCK_VERSION);
	SAME(glock_supports("lockman:none"), 1);
	SAME(glock_supports("lockman:local"), 1);
	SAME(glock_supports("lockman:dlm"), 1);
	CHECK(glock_supports("probes") == 0 || glock_supports("probes") == 1);
	CHECK(glock_supports("biased") == 0 || glock_supports("biased") == 1);
	SAME(glock_supports("lockman:"), 0);
	SAME(glock_supports("lockman"), 0);
	SAME(glock_supports("none"), 0);
	SAME(glock_supports(""), 0);
	SAME(glock_supports("lockman:sim"), 0);
}

int main(void)
{
	static const struct test tests[] = {
	    {"names", names, NULL},
	    {"directories", directories, NULL},
	    {"names_differ", names_differ, NULL},
	    {"sizes", sizes, NULL},
	    {"odd_options", odd_options, NULL},
	    {"odd_types", odd_types, NULL},
	    {"strides", strides, NULL},
	    {"types_without_an_entry", types_without_an_entry, NULL},
	    {"values_of_entries", values_of_entries, NULL},
	    {"types_that_are_not", types_that_are_not, NULL},
	    {"modes_and_flags", modes_and_flags, NULL},
	    {"holders_not_queued", holders_not_queued, NULL},
	    {"dumps", dumps, NULL},
	    {"statistics_sizes", statistics_sizes, NULL},
	    {"features", features, "none"},
	};

	return run_tests(tests, COUNT(tests));
}
