/* SPDX-License-Identifier: MIT */
/*
 * test_kept.c - tests what the library keeps and finds: options, objects, hold times, holders that
 * another thread lets go.
 */
#include "watched.h"

/* ---- what the library keeps and finds ---- */

static char *heap_text(const char *text)
{
	char *copy = strdup(text);

	CHECK(copy);
	return copy;
}

/* All memory of the options is overwritten and freed after the open. */
/* Promises: glock_space_open: "Of options the". */
static void options_are_not_kept(void)
{
	struct glock_space_options *o = calloc(1, sizeof(*o));
	struct glock_type_options *t = calloc(1, sizeof(*t));
	struct glock_ops *mine = malloc(sizeof(*mine));
	char *name = heap_text("not_kept"), *manager = heap_text(lockman);
	char *type = heap_text("mine");
	struct glock_holder gh;

	CHECK(o && t && mine);
	*mine = ops;
	*t = (struct glock_type_options){
	    .size = sizeof(*t), .type = 10, .name = type, .ops = mine, .hold = GLOCK_HOLD_NONE};
	*o = (struct glock_space_options){
	    .size = sizeof(*o), .lockman = manager, .types = t, .n_types = 1};
	SAME(glock_space_open(name, o, &space), 0);
	memset(name, 'x', strlen(name));
	memset(manager, 'x', strlen(manager));
	memset(type, 'x', strlen(type));
	memset(mine, 0xff, sizeof(*mine));
	memset(t, 0xff, sizeof(*t));
	memset(o, 0xff, sizeof(*o));
	free(name), free(manager), free(type), free(mine), free(t), free(o);
	gl = get(space, 10, 1);
	SAME(ask(&gh, GLOCK_EX, GLOCK_NOCACHE), 0);
	CHECK(did.ths > 0);
	SAME(glock_dq_wait(&gh), 0);
	SAME(did.unlocks, 1);
	end();
}

static void *object_found;

static int finds_object(struct glock *of)
{
	object_found = glock_object(of);
	return 0;
}

/* The program has no reference any more. Operations still find the object of a cached lock. */
/*
 * Promises: glock_shrink: "At once, because"; glock_put: "A lock in"; glock_set_object: "Attach an
 * object", "Callbacks find the", "At once, in".
 */
static void object_stays_while_cached(void)
{
	struct glock_holder gh;
	int object;

	begin_watched(0);
	other = get(space, GLOCK_INODE, 2);
	CHECK(!glock_object(other));
	glock_set_object(other, &object);
	glock_holder_init(&gh, other, GLOCK_EX, 0);
	SAME(glock_nq(&gh), 0);
	SAME(glock_dq(&gh), 0);
	glock_put(other);
	did.in_th = finds_object;
	SAME(glock_shrink(space, 1), 1);
	UNTIL(did.invals);
	CHECK(object_found == &object);
	did.in_th = NULL;
	end();
}

struct calling_print {
	struct glock_holder gh;
	int calls;
};

/* print waits for a lock of the glock that the dump shows, and calls the library. */
static void print_and_call(void *to, const char *text, size_t len)
{
	struct calling_print *p = to;
	struct glock_statistics stats = {.size = sizeof(stats)};

	(void)text, (void)len;
	SAME(ask_as(&p->gh, GLOCK_EX, 0, 9), 0);
	SAME(glock_statistics(gl, &stats), 0);
	SAME(glock_dq(&p->gh), 0);
	p->calls++;
}

/* Promises: glock_dump: "The function calls print". */
static void print_may_call(void)
{
	struct calling_print p = {.calls = 0};

	begin();
	SAME(ask(&p.gh, GLOCK_SH, 0), 0);
	SAME(glock_dq(&p.gh), 0);
	for (int file = 0; file < GLOCK_FILE_MAX; file++)
		SAME(glock_dump(space, (enum glock_file)file, GLOCK_FORMAT_LINUX_7_0,
				print_and_call, &p),
		     0);
	CHECK(p.calls >= GLOCK_FILE_MAX);
	end();
}

/* ---- flags and hold times ---- */

/* Promises: GLOCK_NOPID: "a lock that"; GLOCK_CACHES_METADATA: "With NOPID a". */
static void movable(void)
{
	struct glock_holder a, b, many[6];

	begin();
	SAME(ask(&a, GLOCK_SH, 0), 0);
	SAME(ask(&b, GLOCK_SH, 0), -EDEADLK);
	SAME(glock_dq(&a), 0);
	for (int i = 0; i < 3; i++) {
		SAME(ask(&a, GLOCK_SH, GLOCK_NOPID), 0);
		SAME(ask(&b, GLOCK_SH, i % 2 ? GLOCK_NOPID : 0), 0);
		join_thread(thread(lets_go, &a));
		SAME(glock_dq(&a), -EINVAL);
		SAME(glock_dq(&b), 0);
	}
	for (size_t i = 0; i < COUNT(many); i++) /* a thread has room for four in the fast path */
		SAME(ask(&many[i], GLOCK_SH, GLOCK_NOPID), 0);
	SAME(ask(&b, GLOCK_SH, 0), 0);
	SAME(glock_dq(&b), 0);
	for (size_t i = 0; i < COUNT(many); i++)
		SAME(glock_dq(&many[i]), 0);
	end();
}

enum { HOLD_MS = 250 };

/* Two nodes take turns. Each turn lasts for the hold time, which does not adapt. */
/* Promises: hold: "any other value", "If these come". */
static void hold_time_is_fixed(void)
{
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .hold = HOLD_MS * MS};
	struct glock_space *spaces[2];
	struct glock *gls[2];
	struct glock_holder gh;
	int64_t began, asked;

	for (size_t i = 0; i < 2; i++) {
		spaces[i] = open_space(&type, 1, 0);
		gls[i] = get(spaces[i], GLOCK_INODE, 1);
	}
	began = now();
	for (int64_t i = 0; i < 5; i++) {
		glock_holder_init(&gh, gls[i % 2], GLOCK_EX, 0);
		asked = now();
		SAME(glock_nq(&gh), 0);
		/* the turns before: the moment of each grant is known only to the library */
		CHECK(now() - began >= i * HOLD_MS * MS);
		CHECK(now() - asked < HOLD_MS * MS + 5 * SECOND);
		SAME(glock_dq(&gh), 0);
	}
	for (size_t i = 0; i < 2; i++) {
		glock_put(gls[i]);
		SAME(glock_space_close(spaces[i]), 0);
	}
}

int main(void)
{
	static const struct test tests[] = {
	    {"movable", movable, NULL},
	    {"hold_time_is_fixed", hold_time_is_fixed, "local"},
	    {"options_are_not_kept", options_are_not_kept, NULL},
	    {"object_stays_while_cached", object_stays_while_cached, NULL},
	    {"print_may_call", print_may_call, NULL},
	};

	return run_tests(tests, COUNT(tests));
}
