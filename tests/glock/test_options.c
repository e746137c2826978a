/* SPDX-License-Identifier: MIT */
/*
 * test_options.c - tests that a refused option is named in the log, with its value and its range.
 */
#include "check.h"
#include "glock.h"

#include <limits.h>
#include <unistd.h>

static char said[8][600];
static unsigned int n_said;

static void on_log(void *arg, const char *message)
{
	(void)arg;
	if (n_said < 8)
		snprintf(said[n_said], sizeof(said[0]), "%s", message);
	n_said++;
}

#define SPACE(...)                                                                         \
	{                                                                                  \
		.size = sizeof(struct glock_space_options), .lockman = "none", __VA_ARGS__ \
	}
#define TYPE(...)                                                      \
	{                                                              \
		.size = sizeof(struct glock_type_options), __VA_ARGS__ \
	}

/* Opens a space with the options. Returns the only message, or "" after a space that opens. */
static const char *refusal(const char *name, struct glock_space_options o)
{
	struct glock_space *space = NULL;
	int err;

	o.log = on_log;
	n_said = 0;
	*said[0] = 0;
	err = glock_space_open(name, &o, &space);
	if (!err) {
		assert_int_equal(n_said, 0);
		assert_int_equal(glock_space_close(space), 0);
		return "";
	}
	assert_int_equal(err, -EINVAL);
	assert_int_equal(n_said, 1);
	return said[0];
}

static const char *type_refusal(struct glock_type_options type)
{
	struct glock_type_options types[] = {TYPE(.type = 11), type};
	struct glock_space_options o = SPACE(.types = types, .n_types = 2);

	return refusal("shop", o);
}

/* Promises: glock_space_open: "The log names the". */
static void options_of_a_space(void **state)
{
	static const struct {
		struct glock_space_options o;
		const char *message; /* NULL: the space opens */
	} cases[] = {
	    {SPACE(.flags = 0x31),
	     "space shop: flags is 0x31; set it to GLOCK_SPACE_ flags, which are 0xb in libglock "},
	    {SPACE(.flags = 1u << 31), "space shop: flags is 0x80000000; "},
	    {SPACE(.flags = GLOCK_SPACE_CHECK_OPS), NULL},
	    {SPACE(.cached_age = -1),
	     "space shop: cached_age is -1; set it to 0 (no limit) or more, in ns"},
	    {SPACE(.cached_age = INT64_MIN), "space shop: cached_age is -9223372036854775808; "},
	    {SPACE(.cached_age = INT64_MAX), NULL},
	    {SPACE(.work_threads = 257),
	     "space shop: work_threads is 257; set it to 0 (16 threads) to 256"},
	    {SPACE(.work_threads = SIZE_MAX), "space shop: work_threads is 18446744073709551615; "},
	    {SPACE(.work_threads = 256), NULL},
	    {SPACE(.n_types = 3),
	     "space shop: n_types is 3, but types is NULL; set both, or neither"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *message = cases[i].message ? cases[i].message : "";
		const char *got = refusal("shop", cases[i].o);

		if (strncmp(got, message, strlen(message)) || !*got != !*message)
			fail_msg("\"%s\", not \"%s\"", got, message);
	}
}

/* Promises: glock_space_open: "The log names the". */
static void options_of_a_type(void **state)
{
	static const struct {
		struct glock_type_options type;
		const char *message; /* after "space shop: types[1]: "; NULL: the space opens */
	} cases[] = {
	    {TYPE(.type = 32), "type is 32; set it to 0 to 31, a type of the program 10 to 31"},
	    {TYPE(.type = 31), NULL},
	    {TYPE(.flags = 0x18),
	     "flags is 0x18; set it to GLOCK_OPS_ flags, which are 0xf in libglock "},
	    {TYPE(.hold = -2), "hold is -2; set it to -1 (GLOCK_HOLD_NONE), 0 (set by the library) "
			       "or more, in ns"},
	    {TYPE(.hold = GLOCK_HOLD_NONE), NULL},
	    {TYPE(.hold_max = -1), "hold_max is -1; set it to 0 (200 ms) or more, in ns"},
	    {TYPE(.caches = 4),
	     "caches is 0x4; set it to GLOCK_CACHES_ flags, which are 0x3 in libglock "},
	    {TYPE(.type = 10, .modes = 1u << GLOCK_UN),
	     "modes is 0x1; set it to 0 (SH and EX), or 1 << GLOCK_SH and so on, which are 0xe "
	     "in "},
	    {TYPE(.type = 10, .modes = 1u << GLOCK_DF), NULL},
	    {TYPE(.type = GLOCK_INODE, .modes = 1u << GLOCK_UN), NULL}, /* GFS2's has its own */
	};
	static const char place[] = "space shop: types[1]: ";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *message = cases[i].message ? cases[i].message : "";
		const char *got = type_refusal(cases[i].type);

		if (!*got && !*message)
			continue;
		if (strncmp(got, place, strlen(place)) || !*message ||
		    strncmp(got + strlen(place), message, strlen(message)))
			fail_msg("\"%s\", not \"%s\"", got, message);
	}
}

static void options_name(void **state)
{
	char name[80] = "";
	struct glock_space_options o = SPACE(0);

	(void)state;
	assert_string_equal(refusal("", o), "a space's name has 1 to 64 bytes, and this one has 0; "
					    "choose another name");
	assert_string_equal(refusal(NULL, o), "a space's name has 1 to 64 bytes, and this one is "
					      "NULL; choose another name");
	memset(name, 'x', 65);
	assert_string_equal(refusal(name, o),
			    "a space's name has 1 to 64 bytes, and this one has 65; "
			    "choose another name");
	name[64] = 0;
	assert_string_equal(refusal(name, o), "");
}

/* The messages reach a program without code for them. */
static void options_with_glock_debug(void **state)
{
	struct glock_space_options o = SPACE(.work_threads = 300);
	char path[] = "/tmp/test_options-XXXXXX", text[600] = "";
	struct glock_space *space;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	setenv("GLOCK_DEBUG", path, 1);
	assert_int_equal(glock_space_open("shop", &o, &space), -EINVAL);
	unsetenv("GLOCK_DEBUG");
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_non_null(strstr(text, "space shop: work_threads is 300; set it to 0 (16 threads) "));
	unlink(path);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(options_of_a_space),
	    cmocka_unit_test(options_of_a_type),
	    cmocka_unit_test(options_name),
	    cmocka_unit_test(options_with_glock_debug),
	};

	return RUN_TESTS(tests);
}
