/* SPDX-License-Identifier: MIT */
/*
 * test_slab.c - tests objects by number: each once, fitting addresses, published parts in place.
 */
#include "glock/core/slab.h"

#include "check.h"

#include <malloc.h>

enum { SIZE = 96, PUBLISHED = 24, MANY = 20000, PIECES = 3 };

struct thing {
	uint32_t link, number;
	void *published;
};

static int owner;
static char *area;
static size_t area_used, pieces;

/* Room for a few chunks. */
static void *piece(struct glock__mem *mem, enum glock__area a, size_t size)
{
	char *p = area + area_used;

	(void)mem;
	assert_int_equal(a, GLOCK__AREA_BUSY_RECORDS);
	if (pieces == PIECES)
		return NULL;
	pieces++;
	area_used += size;
	return p;
}

static struct glock__mem mem = {.slab = piece};

static void begin(struct glock__slab *s, struct glock__mem *m)
{
	area = calloc(1, PIECES * GLOCK__CHUNK);
	area_used = pieces = 0;
	glock__slab_init(s, SIZE, PUBLISHED, GLOCK__AREA_BUSY_RECORDS, m, &owner);
}

static struct thing *get(struct glock__slab *s)
{
	uint32_t n = glock__slab_get(s);
	struct thing *t;

	assert_true(n > 0);
	t = glock__slab_at(s, n);
	assert_int_equal(glock__slab_number(t), n);
	assert_ptr_equal(glock__chunk_of(t)->owner, &owner);
	t->number = n;
	t->published = glock__slab_published(t);
	*(struct thing **)t->published = t;
	return t;
}

/* Each object has memory of its own, at a fixed address while other objects are added. */
static void slab_each_its_own(void **state)
{
	static struct thing *things[MANY];
	struct glock__slab s;

	(void)state;
	begin(&s, NULL);
	for (size_t i = 0; i < MANY; i++)
		things[i] = get(&s);
	for (size_t i = 0; i < MANY; i++) {
		assert_ptr_equal(things[i], glock__slab_at(&s, things[i]->number));
		assert_ptr_equal(*(struct thing **)things[i]->published, things[i]);
	}
	glock__slab_end(&s);
	free(area);
}

/* The object that was freed last is used first. No object is given out twice. */
static void slab_used_again(void **state)
{
	struct thing *a, *b, *c;
	struct glock__slab s;

	(void)state;
	begin(&s, NULL);
	a = get(&s);
	b = get(&s);
	glock__slab_put(&s, a->number);
	glock__slab_put(&s, b->number);
	assert_ptr_equal(get(&s), b);
	assert_ptr_equal(get(&s), a);
	c = get(&s);
	assert_ptr_not_equal(c, a);
	assert_ptr_not_equal(c, b);
	glock__slab_end(&s);
	free(area);
}

/* Published parts are one array while there is room. Later objects work without a part. */
static void slab_published_as_an_array(void **state)
{
	struct glock__slab s;
	size_t inside = 0;

	(void)state;
	begin(&s, &mem);
	assert_int_equal(glock__slab_reserve(&s, 10), 0);
	for (size_t i = 0; i < MANY; i++) {
		char *p = get(&s)->published;

		if (p < area || p >= area + area_used)
			continue;
		assert_int_equal((p - area) % PUBLISHED, 0);
		inside++;
	}
	assert_int_equal(inside, PIECES * s.per_chunk - 1);
	glock__slab_end(&s);
	free(area);
}

/* A new object is zero, also where malloc() gives memory with old bytes. */
static void slab_begins_zeroed(void **state)
{
	static const char zeros[SIZE];
	struct glock__slab s;

	(void)state;
#ifdef M_PERTURB /* glibc alone */
	mallopt(M_PERTURB, 0x55);
#endif
	begin(&s, &mem);
	for (int i = 0; i < 100; i++)
		assert_memory_equal(glock__slab_at(&s, glock__slab_get(&s)), zeros, SIZE);
#ifdef M_PERTURB
	mallopt(M_PERTURB, 0);
#endif
	glock__slab_end(&s);
	free(area);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(slab_each_its_own),
	    cmocka_unit_test(slab_begins_zeroed),
	    cmocka_unit_test(slab_used_again),
	    cmocka_unit_test(slab_published_as_an_array),
	};

	return RUN_TESTS(tests);
}
