/* SPDX-License-Identifier: MIT */
/*
 * test_stack.c - tests that a call of the library needs at most 16 KiB of stack.
 *
 * Each call runs in a thread of its own, whose stack was filled with a pattern. The bytes that do
 * not have the pattern afterwards were used. An empty call shows the share of the thread itself.
 */
#include "glock.h"

#include "../glock/check.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STACK = 256 << 10, PATTERN = 0x5a, MAX = 16 << 10, MANY = 20 };

static struct glock_space *space;
static struct glock *gl[MANY];
static struct glock_holder gh[MANY];
static struct glock_space_options options;
static char message[64];

static void keep_message(void *arg, const char *text)
{
	(void)arg;
	strncpy(message, text, sizeof(message) - 1);
}

static int cached(struct glock_holder *h)
{
	(void)h;
	return 0;
}

/* ---- the calls ---- */

static void nothing(void)
{
}

static void open_space(void)
{
	assert_int_equal(glock_space_open("stack", &options, &space), 0);
}

static void open_again_and_close(void)
{
	struct glock_space *again;

	assert_int_equal(glock_space_open("stack", &options, &again), 0);
	assert_int_equal(glock_space_close(again), 0);
}

static void open_in_vain(void)
{
	struct glock_space_options o = options;
	struct glock_space *none;

	o.dir = "/proc/self/fdinfo/no/such/directory";
	unsetenv("GLOCK_DIR");
	assert_int_not_equal(glock_space_open("stack", &o, &none), 0);
	setenv("GLOCK_DIR", options.dir, 1);
	assert_string_not_equal(message, "");
}

static void get(void)
{
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(glock_get(space, GLOCK_TYPE_OWN, i, &gl[i]), 0);
}

static void take(void)
{
	for (unsigned int i = 0; i < MANY; i++) {
		glock_holder_init(&gh[i], gl[i], i % 2 ? GLOCK_EX : GLOCK_SH, GLOCK_NOPID);
		assert_int_equal(glock_nq(&gh[i]), 0);
	}
}

static void use(void)
{
	struct glock_statistics st = {.size = sizeof(st)};
	struct glock_holder_info holder = {.size = sizeof(holder)};
	struct glock_node node = {.size = sizeof(node)};
	char text[GLOCK_LVB_SIZE] = "x";
	uint64_t token;

	assert_int_equal(glock_lvb_write(&gh[1], text), 0);
	assert_int_equal(glock_lvb_read(&gh[1], text), 0);
	(void)glock_token(&gh[1], &token);
	assert_int_equal(glock_owner_died(&gh[1]), 0);
	assert_int_equal(glock_valid(&gh[1]), 1);
	assert_int_equal(glock_downgrade(&gh[1], GLOCK_SH), 0);
	assert_int_equal(glock_wait(&gh[1], 0, 0), 0);
	assert_int_equal(glock_statistics(gl[1], &st), 0);
	assert_int_equal(glock_holders(gl[1], &holder, 1), 1);
	assert_int_equal(glock_nodes(space, &node, 1), 1);
}

static void refuse(void)
{
	struct glock_holder other;

	glock_holder_init(&other, gl[0], GLOCK_EX, GLOCK_TRY);
	assert_int_equal(glock_nq(&other), -EBUSY);
	glock_holder_init(&other, gl[0], GLOCK_EX, GLOCK_TRY_CACHED);
	assert_int_equal(glock_nq(&other), -EAGAIN);
	glock_holder_init(&other, gl[0], GLOCK_DF, 0);
	assert_int_equal(glock_nq(&other), -EINVAL);
}

static void let_go(void)
{
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(glock_dq_wait(&gh[i]), 0);
}

static void take_many(void)
{
	int err;

	for (unsigned int i = 0; i < MANY; i++)
		glock_holder_init(&gh[i], gl[i], GLOCK_EX, 0);
	assert_int_equal(glock_nq_m(MANY, gh), 0);
	glock_dq_m(MANY, gh);
	do { /* on a busy machine the grants may come late */
		for (unsigned int i = 0; i < MANY; i++) {
			glock_holder_init(&gh[i], gl[i], GLOCK_EX, GLOCK_ASYNC);
			assert_int_equal(glock_nq(&gh[i]), 0);
		}
		err = glock_async_wait(MANY, gh, 0);
	} while (err == -ESTALE);
	assert_int_equal(err, 0);
	glock_dq_m(MANY, gh);
}

static void print_nothing(void *to, const char *text, size_t len)
{
	(void)to, (void)text, (void)len;
}

static void dump(void)
{
	for (int file = 0; file < GLOCK_FILE_MAX; file++)
		assert_int_equal(glock_dump(space, (enum glock_file)file, GLOCK_FORMAT_LINUX_7_0,
					    print_nothing, NULL),
				 0);
}

static void put_and_shrink(void)
{
	for (unsigned int i = 0; i < MANY; i++)
		glock_put(gl[i]);
	(void)glock_shrink(space, 3);
}

static void withdraw(void)
{
	glock_withdraw(space);
}

static void close_space(void)
{
	assert_int_equal(glock_space_close(space), 0);
}

/* ---- the measurement ---- */

static void *thread(void *call)
{
	(*(void (**)(void))call)();
	return NULL;
}

static size_t stack_of(void (*call)(void))
{
	unsigned char *at =
	    mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t t;
	size_t unused = 0;

	assert_ptr_not_equal(at, MAP_FAILED);
	memset(at, PATTERN, STACK);
	pthread_attr_init(&attr);
	assert_int_equal(pthread_attr_setstack(&attr, at, STACK), 0);
	assert_int_equal(pthread_create(&t, &attr, thread, &call), 0);
	pthread_attr_destroy(&attr);
	pthread_join(t, NULL);
	while (unused < STACK && at[unused] == PATTERN)
		unused++;
	munmap(at, STACK);
	return STACK - unused;
}

/* Promises: Stack: "A call takes". */
static void stack_of_each_call(void **state)
{
	static const struct {
		const char *name;
		void (*call)(void);
	} calls[] = {
	    {"open", open_space},
	    {"open again, close", open_again_and_close},
	    {"get", get},
	    {"open in vain", open_in_vain},
	    {"nq", take},
	    {"calls of a holder", use},
	    {"nq refused", refuse},
	    {"dq", let_go},
	    {"nq_m", take_many},
	    {"dump", dump},
	    {"put", put_and_shrink},
	    {"withdraw", withdraw},
	    {"close", close_space},
	};
	static const struct glock_ops ops = {.size = sizeof(ops), .lock = cached};
	static const struct glock_type_options type = {.size = sizeof(type),
						       .type = GLOCK_TYPE_OWN,
						       .flags = GLOCK_OPS_LVB,
						       .hold = GLOCK_HOLD_NONE,
						       .ops = &ops};
	static char dir[4096];
	size_t base = (stack_of(nothing), stack_of(nothing)); /* the first thread binds symbols */
	bool bad = false;

	(void)state;
	if (getenv("GLOCK_DIR"))
		snprintf(dir, sizeof(dir), "%s", getenv("GLOCK_DIR"));
	options = (struct glock_space_options){
	    .size = sizeof(options), .types = &type, .n_types = 1, .dir = dir, .log = keep_message};
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		size_t all = stack_of(calls[i].call), used = all > base ? all - base : 0;

		printf("# %-18s %6zu bytes\n", calls[i].name, used);
		bad |= used > MAX;
	}
	assert_false(bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(stack_of_each_call)};

	return RUN_TESTS(tests);
}
