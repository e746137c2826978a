/* SPDX-License-Identifier: MIT */
/*
 * test_peek.c - tests published segments: each written record is read, in order and whole.
 *
 * The reader notices half-written, cut off, damaged and foreign files. The writer's places come and
 * go.
 */
#include "glock/publish/publish.h"
#include "glock/stats/dump.h"

#include "check.h"
#include "made.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

static _Thread_local unsigned int yields;

/* In place of libc's. A yield may take long on a busy machine, and no test needs one. */
int sched_yield(void)
{
	yields++;
	return 0;
}

#define HOLDS GLOCK__H_HOLDER
#define WAITS GLOCK__H_WAIT

struct seen {
	struct glock__peek_text how;
	struct glock__text text;
	char buf[65536];
	size_t n;
};

static bool print_one(void *arg, const struct glock__peek_glock *gl)
{
	struct seen *s = arg;

	s->n++;
	glock__peek_print_glock(&s->how, &s->text, gl);
	return true;
}

static const char *read_all(struct seen *s, struct glock__peek *p,
			    struct glock__peek_counts *counts)
{
	memset(s, 0, sizeof(*s));
	s->how.peek = p;
	s->text = (struct glock__text){s->buf, sizeof(s->buf), 0};
	assert_int_equal(glock__peek_read(p, print_one, s, counts), 0);
	return s->buf;
}

static struct seen seen; /* too large for a stack */

static void holders_come_granted_first_in_the_order_of_asking(void **state)
{
	struct made m = made_segment(2);
	struct glock__peek *p = made_peek(&m);
	struct glock__peek_counts counts;

	(void)state;
	made_record(&m, 2, 0x17, GLOCK_SH);
	made_record(&m, 9, 5, GLOCK_UN);
	made_record(&m, 2, 0x18, GLOCK_EX);
	made_holder(&m, 2, 0x17, GLOCK_EX, WAITS, 7);
	made_holder(&m, 2, 0x18, GLOCK_EX, HOLDS, 4);
	made_holder(&m, 2, 0x17, GLOCK_SH, WAITS, 3);
	made_holder(&m, 2, 0x17, GLOCK_SH, HOLDS, 5);
	made_holder(&m, 2, 0x17, GLOCK_SH, HOLDS, 2);
	made_extra(&m, 2, 0x18, " I: n:1/2\n B: more\n");
	assert_string_equal(read_all(&seen, p, &counts),
			    "G:  s:SH n:2/17 f:Iq t:SH d:EX/0 a:0 v:0 r:1 m:200 p:0\n"
			    " H: s:SH f:H e:0 p:1002 [made] made.c:1\n"
			    " H: s:SH f:H e:0 p:1005 [made] made.c:1\n"
			    " H: s:SH f:W e:0 p:1003 [made] made.c:1\n"
			    " H: s:EX f:W e:0 p:1007 [made] made.c:1\n"
			    "G:  s:UN n:9/5 f:I t:UN d:EX/0 a:0 v:0 r:1 m:200 p:0\n"
			    "G:  s:EX n:2/18 f:Iq t:EX d:EX/0 a:0 v:0 r:1 m:200 p:0\n"
			    " H: s:EX f:H e:0 p:1004 [made] made.c:1\n"
			    " I: n:1/2\n"
			    " B: more\n");
	assert_int_equal(counts.glocks, 3);
	assert_int_equal(counts.holders, 5);
	assert_int_equal(counts.bad + counts.torn, 0);
	glock__peek_close(p);
	made_free(&m);
}

static void what_was_put_back_is_not_shown(void **state)
{
	struct made m = made_segment(1);
	struct glock__peek *p = made_peek(&m);
	struct glock__record *r = made_record(&m, 2, 1, GLOCK_SH);

	(void)state;
	made_record(&m, 2, 2, GLOCK_SH);
	made_holder(&m, 2, 2, GLOCK_SH, HOLDS, 1)->type = GLOCK__SEGMENT_FREE;
	r->flags = 0;
	assert_string_equal(read_all(&seen, p, NULL),
			    "G:  s:SH n:2/2 f:I t:SH d:EX/0 a:0 v:0 r:1 m:200 p:0\n");
	glock__peek_close(p);
	made_free(&m);
}

/*
 * Foreign text is cleaned: no line of it looks like a line of glock, and no byte controls a
 * terminal.
 */
static void text_is_cleaned(void **state)
{
	struct made m = made_segment(1);
	struct glock__peek *p = made_peek(&m);
	struct glock__segment_holder *h;

	(void)state;
	made_record(&m, 2, 2, GLOCK_SH);
	h = made_holder(&m, 2, 2, GLOCK_SH, HOLDS, 1);
	memset(h->comm, 'c', sizeof(h->comm));
	strcpy(h->where, "x\n\x1b[2Jy");
	made_extra(&m, 2, 2, " a\tb\nG:  s:EX n:2/3\n c\n no end");
	assert_string_equal(read_all(&seen, p, NULL),
			    "G:  s:SH n:2/2 f:Iq t:SH d:EX/0 a:0 v:0 r:1 m:200 p:0\n"
			    " H: s:SH f:H e:0 p:1001 [ccccccccccccccc] x??[2Jy\n"
			    " a?b\n"
			    " c\n");
	glock__peek_close(p);
	made_free(&m);
}

/* A damaged file may have any number of them. */
static void records_that_stay_half_written_take_little_time(void **state)
{
	struct made m = made_segment(1);
	struct glock__peek *p = made_peek(&m);
	struct glock__peek_counts counts;

	(void)state;
	for (unsigned int i = 0; i < 3000; i++)
		made_record(&m, 2, i, GLOCK_SH)->seq = 3;
	for (int i = 0; i < 2; i++) {
		yields = 0;
		read_all(&seen, p, &counts);
		assert_int_equal(counts.torn, 3000);
		assert_in_range(yields, 16, 300);
	}
	glock__peek_close(p);
	made_free(&m);
}

static void half_written_records_are_shown_and_counted(void **state)
{
	struct made m = made_segment(1);
	struct glock__peek *p = made_peek(&m);
	struct glock__peek_counts counts;

	(void)state;
	made_record(&m, 2, 1, GLOCK_SH)->seq = 3;
	made_record(&m, 2, 2, GLOCK_SH);
	read_all(&seen, p, &counts);
	assert_int_equal(counts.glocks, 2);
	assert_int_equal(counts.torn, 1);
	glock__peek_close(p);
	made_free(&m);
}

static void a_file_that_is_none_is_refused(void **state)
{
	struct glock__peek *p = NULL;
	struct made m = made_segment(1);

	(void)state;
	assert_int_equal(glock__peek_open(&p, AT_FDCWD, "/dev/null"), -EINVAL);
	assert_int_equal(glock__peek_open(&p, AT_FDCWD, "/proc/self/exe"), -ELOOP);
	assert_int_equal(glock__peek_open_fd(&p, memfd_create("x", MFD_CLOEXEC)), -EAGAIN);
	assert_int_equal(glock__peek_open(&p, AT_FDCWD, "/etc/passwd"), -EINVAL);
	m.head->version++;
	assert_int_equal(glock__peek_open_fd(&p, fcntl(m.fd, F_DUPFD_CLOEXEC, 0)), -EPROTO);
	m.head->version--;
	m.head->area[GLOCK__AREA_RECORDS].stride++;
	assert_int_equal(glock__peek_open_fd(&p, fcntl(m.fd, F_DUPFD_CLOEXEC, 0)), -EINVAL);
	made_free(&m);
}

static uint64_t seed = 88172645463325252ull;

static uint64_t dice(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Whatever another process writes there, the reader reads it to its end or refuses it. */
static void garbage_is_survived(void **state)
{
	struct made m = made_segment(2);
	size_t used = offsetof(struct glock__segment_area, used), refused = 0, read = 0;

	(void)state;
	for (unsigned int i = 0; i < 200; i++) {
		made_record(&m, i % 10, i, GLOCK_SH);
		made_holder(&m, i % 10, i, GLOCK_SH, i % 2 ? HOLDS : WAITS, i);
		made_extra(&m, i % 10, i, " I: n:1/2\n");
	}
	for (int round = 0; round < 3000; round++) {
		struct glock__segment_head saved;
		struct glock__peek *p = NULL;
		uint64_t at, what = dice();
		int err;

		memcpy((void *)&saved, m.head, sizeof(saved));
		for (int i = 0; i < 4; i++) {
			struct glock__segment_area *a = &saved.area[dice() % GLOCK__AREA_MAX];

			/* a byte in an area, or a number in the head */
			at = a->offset + dice() % 16384;
			if (round % 3 == 0)
				at = (uint64_t)((char *)a - (char *)&saved) +
				     (dice() % 2 ? used : dice() % sizeof(*a));
			what = dice() % 2 ? dice() : dice() % 3000;
			assert_true(pwrite(m.fd, &what, 1 + dice() % 8, (off_t)at) > 0);
		}
		err = glock__peek_open_fd(&p, fcntl(m.fd, F_DUPFD_CLOEXEC, 0));
		if (!err) {
			seen = (struct seen){.how.peek = p};
			err = glock__peek_read(p, print_one, &seen, NULL);
			for (unsigned int line = 0; line < 90; line++)
				glock__peek_print_sbstats(p, &seen.text, line);
			glock__peek_close(p);
		}
		refused += err != 0;
		read += !err;
		memcpy((void *)m.head, &saved, sizeof(saved));
	}
	assert_true(refused > 100);
	assert_true(read > 100);
	made_free(&m);
}

static void a_file_cut_off_anywhere_is_survived(void **state)
{
	struct made m = made_segment(2);
	off_t end = (off_t)m.head->area[GLOCK__AREA_RECORDS].offset + 40000;

	(void)state;
	for (unsigned int i = 0; i < 200; i++)
		made_record(&m, i % 10, i, GLOCK_SH);
	glock__publisher_free(m.p); /* or the publisher's mapping would be a trap */
	for (off_t at = end; at >= 0; at -= at > end - 40000 ? 777 : 7777777) {
		struct glock__peek *p = NULL;

		assert_int_equal(ftruncate(m.fd, at), 0);
		if (!glock__peek_open_fd(&p, fcntl(m.fd, F_DUPFD_CLOEXEC, 0))) {
			glock__peek_read(p, print_one, &(struct seen){.how.peek = p}, NULL);
			glock__peek_close(p);
		}
	}
	close(m.fd);
}

/* Each place is used once. Freed places are used first. */
static void places_are_used_again(void **state)
{
	struct made m = made_segment(1);
	static uint32_t places[5000];
	static bool mine[5001 + 500];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		places[i] = glock__publisher_get(m.p, GLOCK__AREA_HOLDERS);
		assert_in_range(places[i], 1, ARRAY_SIZE(mine) - 1);
		assert_false(mine[places[i]]);
		mine[places[i]] = true;
	}
	for (int round = 0; round < 20000; round++) {
		size_t i = dice() % ARRAY_SIZE(places);

		if (places[i]) {
			mine[places[i]] = false;
			glock__publisher_put(m.p, GLOCK__AREA_HOLDERS, places[i]);
			places[i] = 0;
		} else {
			places[i] = glock__publisher_get(m.p, GLOCK__AREA_HOLDERS);
			assert_in_range(places[i], 1, ARRAY_SIZE(mine) - 1);
			assert_false(mine[places[i]]);
			mine[places[i]] = true;
		}
	}
	made_free(&m);
}

static void what_is_full_says_so(void **state)
{
	struct made m = made_segment(1);
	size_t n = 0;

	(void)state;
	while (glock__publisher_grow(m.p, GLOCK__AREA_TRACE, 1 << 20))
		n++;
	assert_int_equal(n, m.head->area[GLOCK__AREA_TRACE].room >> 20);
	while (glock__publisher_get(m.p, GLOCK__AREA_HOLDERS))
		n++;
	assert_int_equal(glock__publisher_get(m.p, GLOCK__AREA_HOLDERS), GLOCK__UNPUBLISHED);
	assert_int_equal(m.head->not_published, 2);
	glock__publisher_put(m.p, GLOCK__AREA_HOLDERS, 1);
	assert_int_equal(glock__publisher_get(m.p, GLOCK__AREA_HOLDERS), 1);
	made_free(&m);
}

/* ---- readers beside a writer ---------------------------------------------------------------- */

static struct {
	struct glock__record *r;
	uint32_t stop;
} writer;

static void *write_on(void *arg)
{
	struct glock__record *r = writer.r;

	(void)arg;
	for (int64_t n = 0; !atom_load32(&writer.stop); n++) {
		glock__publish_begin(&r->seq);
		for (size_t i = 0; i < GLOCK__STAT_MAX; i++)
			r->stats.v[i] = n;
		r->usable = n;
		glock__publish_end(&r->seq);
		for (int i = 0; i < 50 && n % 8 == 0; i++)
			sched_yield(); /* or a reader would hardly ever find the record whole */
	}
	return NULL;
}

static bool all_the_same(void *arg, const struct glock__peek_glock *gl)
{
	int64_t *last = arg;

	if (gl->torn) /* the writer changed it too often during the read */
		return true;
	for (size_t i = 0; i < GLOCK__STAT_MAX; i++)
		assert_int_equal(gl->r.stats.v[i], gl->r.usable);
	assert_true(gl->r.usable >= *last);
	*last = gl->r.usable;
	return true;
}

static void a_record_is_read_whole_while_it_is_written(void **state)
{
	struct made m = made_segment(1);
	struct glock__peek *p = made_peek(&m);
	int64_t last = 0;
	pthread_t thread;

	(void)state;
	writer.r = made_record(&m, 2, 1, GLOCK_SH);
	writer.stop = 0;
	assert_int_equal(pthread_create(&thread, NULL, write_on, NULL), 0);
	for (int i = 0; i < 20000 || atom_load32(&writer.r->seq) < 2000; i++)
		assert_int_equal(glock__peek_read(p, all_the_same, &last, NULL), 0);
	atom_store32(&writer.stop, 1);
	pthread_join(thread, NULL);
	assert_int_equal(glock__peek_read(p, all_the_same, &last, NULL), 0);
	assert_true(last > 0);
	glock__peek_close(p);
	made_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(holders_come_granted_first_in_the_order_of_asking),
	    cmocka_unit_test(what_was_put_back_is_not_shown),
	    cmocka_unit_test(text_is_cleaned),
	    cmocka_unit_test(half_written_records_are_shown_and_counted),
	    cmocka_unit_test(records_that_stay_half_written_take_little_time),
	    cmocka_unit_test(a_file_that_is_none_is_refused),
	    cmocka_unit_test(garbage_is_survived),
	    cmocka_unit_test(a_file_cut_off_anywhere_is_survived),
	    cmocka_unit_test(places_are_used_again),
	    cmocka_unit_test(what_is_full_says_so),
	    cmocka_unit_test(a_record_is_read_whole_while_it_is_written),
	};

	return RUN_TESTS(tests);
}
