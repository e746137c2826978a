/* SPDX-License-Identifier: MIT */
/*
 * test_wire.c - tests the bytes of a connection: one parcel however they are cut; texts by changes.
 */
#include "o2top/collect/lines.h"
#include "o2top/collect/parcel.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char nonce[WIRE_NONCE] = "0123456789abcdef0123456789abcdef";

#define N "0123456789abcdef0123456789abcdef"

static const char session[] =
    "Last login: yesterday\n" N " plain\n" N " C 832.84 832900000000\n" N " R\n" N
    " S S 100.5 832.84 ok\n" N " F mountinfo 100.6 832.90 \na mount\n\n" N " E 0 100.7 832.91 \n" N
    " F locking_state 100.7 832.92 AB\n" N "\n\nno " N " E in a line\nlast\n" N
    " E 1 100.8 833.00 sh: cannot\n" N " F glocks 1 2 x:y\n\n" N " E 0 1 2 \n" N
    " Z 101.0 833.10\n";

static void check_session(struct wire *w)
{
	struct parcel *p = wire_next(w);
	const struct parcel_file *f;

	assert_non_null(p);
	assert_null(wire_next(w));
	assert_false(w->agent);
	assert_string_equal(p->state, "ok");
	assert_int_equal(p->n, 3);
	/* as far as C's monotonic clock goes */
	assert_int_equal(p->before.mono_us, 832900000);
	assert_int_equal(p->before.real_us, 100500000);
	assert_int_equal(p->after.mono_us, 833160000);
	f = parcel_find(p, WIRE_MOUNTINFO, "");
	assert_non_null(f);
	assert_int_equal(f->len, 8);
	assert_memory_equal(f->data, "a mount\n", 8);
	f = parcel_find(p, FILE_LOCKING_STATE, "AB");
	assert_non_null(f);
	assert_int_equal(f->status, 1);
	assert_string_equal(f->why, "sh: cannot");
	assert_int_equal(f->len, strlen(N "\n\nno " N " E in a line\nlast"));
	f = parcel_find(p, FILE_GLOCKS, "x:y");
	assert_int_equal(f->len, 0);
	assert_null(parcel_find(p, FILE_GLOCKS, "x:z"));
	parcel_free(p);
}

static void however_it_is_cut(void **state)
{
	(void)state;
	for (size_t step = 1; step < sizeof(session); step++) {
		struct wire w;

		wire_init(&w, nonce);
		for (size_t at = 0; at < sizeof(session) - 1; at += step) {
			size_t n = sizeof(session) - 1 - at;

			assert_int_equal(wire_take(&w, session + at, n < step ? n : step), 0);
			if (w.state == WIRE_PLAIN)
				w.state = WIRE_STARTING;
		}
		check_session(&w);
		wire_free(&w);
	}
}

static void what_is_refused(void **state)
{
	static const struct {
		const char *text;
		int err;
	} all[] = {
	    {"junk\n", -EPROTO},
	    {N " Q\n", -EPROTO},
	    {N " Z 1 1\n", -EPROTO},
	    {N " F glocks 1 1 x\n", -EPROTO},
	    {N " S S 1 1 ok\n" N " S S 1 1 ok\n", -EPROTO},
	    {N " S S 1 1 ok\n" N " F passwd 1 1 x\n", -EPROTO},
	    {N " S S 1 1 ok\n" N " F glocks 1 1 ../x\n", -EPROTO},
	    {N " S S 1 1 ok\n" N " F glocks 1 1 a b\n", -EPROTO},
	    {N " S S 1 1 ok\n" N " F glocks 1 1 *\n", -EPROTO},
	    {N " S S 1 1 ok\n" N " L glocks 1 1 1 1 99999999999 0 x\n", -EPROTO},
	    {N " S S 1 1 ok\n" N " L glocks 1 1 1 1 4 0 x\nR\1R\1", -EPROTO},
	    {N " S S 1 1 ok\n" N " L glocks 1 1 1 1 3 0 x\nN\x70x", -EPROTO},
	    {N " S S 1 1 ok\n" N " L glocks 1 1 1 1 1 0 x\nX", -EPROTO},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct wire w;

		wire_init(&w, nonce);
		assert_int_equal(wire_take(&w, N " agent\n", strlen(N " agent\n")), 0);
		assert_int_equal(wire_take(&w, N " R\n", strlen(N " R\n")), 0);
		assert_int_equal(wire_take(&w, all[i].text, strlen(all[i].text)), all[i].err);
		assert_true(*w.error);
		wire_free(&w);
	}
}

static void no_more_than_the_limit(void **state)
{
	static char block[65536];
	struct wire w;
	int err = 0, blocks = 0;

	(void)state;
	wire_init(&w, nonce);
	w.limit = 1 << 20;
	assert_int_equal(wire_take(&w, N " plain\n" N " R\n", 2 * 32 + 10), 0);
	assert_int_equal(wire_take(&w, N " S S 1 1 ok\n", 44), 0);
	assert_int_equal(wire_take(&w, N " F glocks 1 1 x\n", 48), 0);
	while (!err && blocks++ < 100)
		err = wire_take(&w, block, sizeof(block));
	assert_int_equal(err, -EFBIG);
	assert_int_equal(blocks, 17);
	wire_free(&w);
}

/* A connection to an agent that has greeted, with a limit of 1 MiB. */
static void begin_agent(struct wire *w)
{
	wire_init(w, nonce);
	w->limit = 1 << 20;
	assert_int_equal(wire_take(w, N " agent\n", strlen(N " agent\n")), 0);
	assert_int_equal(wire_take(w, N " R\n", strlen(N " R\n")), 0);
}

/* Sends a sample with a file of `n` bytes, as new lines of `line` bytes. Returns as wire_take(). */
static int send_lines(struct wire *w, const char *space, size_t n, size_t line)
{
	char head[256], *bytes = malloc(n + 8);
	size_t at = 0, left = n;
	int err, len;

	assert_non_null(bytes);
	bytes[at++] = 'N';
	for (; left > 127; left >>= 7)
		bytes[at++] = (char)(left | 128);
	bytes[at++] = (char)left;
	for (size_t i = 0; i < n; i++)
		bytes[at++] = i % line == line - 1 ? '\n' : (char)('a' + i % 7);
	len = snprintf(head, sizeof(head), N " S S 1 1 ok\n" N " L glocks 1 1 1 1 %zu 0 %s\n", at,
		       space);
	err = wire_take(w, head, (size_t)len);
	err = err ? err : wire_take(w, bytes, at);
	err = err ? err : wire_take(w, N " Z 1 1\n", strlen(N " Z 1 1\n"));
	free(bytes);
	return err;
}

/* The limit counts the table of lines: a line of one byte takes five in the pool. */
static void short_lines_count(void **state)
{
	struct wire w;

	(void)state;
	begin_agent(&w);
	assert_int_equal(send_lines(&w, "x", 250 << 10, 1024), 0);
	wire_free(&w);
	begin_agent(&w);
	assert_int_equal(send_lines(&w, "x", 250 << 10, 1), -EFBIG);
	wire_free(&w);
}

/* The limit counts all lock spaces, and a lock space that the last sample did not have goes. */
static void all_spaces_count(void **state)
{
	char space[16];
	struct wire w;
	int err = 0;

	(void)state;
	begin_agent(&w);
	for (int i = 0; i < 50; i++) {
		snprintf(space, sizeof(space), "x%d", i);
		assert_int_equal(send_lines(&w, space, 150 << 10, 1024), 0);
		parcel_free(wire_next(&w));
		assert_int_equal(w.pools.n, 1);
		assert_true(lines_memory(&w.pools) < 160 << 10);
	}
	wire_free(&w);
	/* samples that were not taken yet count */
	begin_agent(&w);
	for (int i = 0; i < 10 && !err; i++)
		err = send_lines(&w, "x", 150 << 10, 1024);
	assert_int_equal(err, -EFBIG);
	wire_free(&w);
}

/* Texts that change a little, like listings of locks: lines go, return and change. */
static void told_by_changes(void **state)
{
	struct lines_pool ours = {0}, theirs = {0};
	struct buffer text = {0}, delta = {0}, heard = {0};
	size_t told = 0, whole = 0;

	(void)state;
	srand(7);
	for (int round = 0; round < 60; round++) {
		text.len = delta.len = heard.len = 0;
		for (int i = 0; i < 4000; i++) {
			char line[64];
			int changes = i % 100 == 0 ? round : 0;

			if (rand() % 12 == 0)
				continue;
			snprintf(line, sizeof(line), "lock %d of %d, a line of some length\n", i,
				 changes);
			assert_int_equal(buffer_add(&text, line, strlen(line)), 0);
		}
		if (round % 3 == 0)
			assert_int_equal(buffer_add(&text, "cut off", 7), 0);
		assert_int_equal(lines_encode(&ours, text.data, text.len, &delta), 0);
		assert_int_equal(lines_decode(&theirs, delta.data, delta.len, &heard, 1 << 24), 0);
		assert_int_equal(heard.len, text.len);
		assert_memory_equal(heard.data, text.data, text.len);
		if (round > 10) {
			told += delta.len;
			whole += text.len;
		}
	}
	assert_true(told * 20 < whole);
	assert_true(theirs.n < 3 * 4000);
	/* an empty text, with a limit */
	delta.len = heard.len = 0;
	assert_int_equal(lines_encode(&ours, "", 0, &delta), 0);
	assert_int_equal(lines_decode(&theirs, delta.data, delta.len, &heard, 0), 0);
	assert_int_equal(heard.len, 0);
	delta.len = 0;
	assert_int_equal(lines_encode(&ours, "eleven byte\n", 12, &delta), 0);
	assert_int_equal(lines_decode(&theirs, delta.data, delta.len, &heard, 11), -EFBIG);
	free(text.data);
	free(delta.data);
	free(heard.data);
	lines_free(&ours);
	lines_free(&theirs);
}

/* A node answers for each of its file systems. No answer is lost. */
static void answers_are_joined(void **state)
{
	static const char text[] =
	    N " plain\n" N " R\n" N " S P 1 1 ok\n" N " F paths 1 1 \nA 1 0 /a\n\n" N
	      " E 0 1 1 \n" N " Z 1 1\n" N " S P 1 1 ok\n" N " F paths 1 1 \nB 2 0 /b\n\n" N
	      " E 0 1 1 \n" N " Z 1 1\n";
	struct parcel *a, *b;
	struct wire w;

	(void)state;
	wire_init(&w, nonce);
	assert_int_equal(wire_take(&w, text, strlen(text)), 0);
	a = wire_next(&w);
	b = wire_next(&w);
	assert_non_null(b);
	parcel_append(a, b, FILE_PATHS);
	parcel_free(b);
	assert_int_equal(parcel_find(a, FILE_PATHS, "")->len, 18);
	assert_memory_equal(parcel_find(a, FILE_PATHS, "")->data, "A 1 0 /a\nB 2 0 /b\n", 18);
	parcel_free(a);
	wire_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(however_it_is_cut),      cmocka_unit_test(what_is_refused),
	    cmocka_unit_test(no_more_than_the_limit), cmocka_unit_test(told_by_changes),
	    cmocka_unit_test(short_lines_count),      cmocka_unit_test(all_spaces_count),
	    cmocka_unit_test(answers_are_joined),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
