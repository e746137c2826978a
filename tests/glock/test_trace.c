/* SPDX-License-Identifier: MIT */
/*
 * test_trace.c - tests trace events against a recorded trace, and the ring with several writers.
 *
 * The test takes each line apart. The library must print each again, byte for byte.
 */
#include "glock/core/internal.h"

#include "capture.h"
#include "check.h"
#include "glock.h"

#include <pthread.h>

static unsigned int mode_of_dlm_name(const char *name)
{
	for (unsigned int m = 0; m < GLOCK_MODE_MAX; m++)
		if (!strcmp(glock__modes[m].dlm_name, name))
			return m;
	fail_msg("no mode %s", name);
	return 0;
}

static uint32_t flags_traced(const char *s)
{
	static const char all[] = "lDdpyfirIFLob";
	static const uint32_t bits[] = {GLOCK__F_LOCK,
					GLOCK__F_DEMOTE,
					GLOCK__F_PENDING_DEMOTE,
					GLOCK__F_DEMOTE_IN_PROGRESS,
					GLOCK__F_DIRTY,
					GLOCK__F_LFLUSH,
					GLOCK__F_INVALIDATING,
					GLOCK__F_HAVE_REPLY,
					GLOCK__F_INITIAL,
					GLOCK__F_FROZEN,
					GLOCK__F_LRU,
					GLOCK__F_OBJECT,
					GLOCK__F_BLOCKING};
	uint32_t flags = GLOCK__F_INITIAL;

	for (; *s && *s != ' ' && *s != '0'; s++)
		flags ^= bits[strchr(all, *s) - all];
	return *s == '0' ? flags | (uint32_t)strtoul(s, NULL, 16) : flags;
}

static void parse_lock_time(const char *rest, struct glock__event *ev)
{
	int64_t *v = ev->stats.v;

	assert_int_equal(sscanf(rest,
				"status:%d flags:%x tdiff:%ld srtt:%ld/%ld srttb:%ld/%ld"
				" sirt:%ld/%ld dcnt:%ld qcnt:%ld",
				&ev->status, &ev->status_flags, &ev->round_trip, &v[0], &v[1],
				&v[2], &v[3], &v[4], &v[5], &v[6], &v[7]),
			 11);
}

static void parse_event(const char *rest, struct glock__event *ev)
{
	char a[8] = "", b[8] = "", c[8] = "", d[8] = "", who[8] = "", flags[48] = "";

	switch ((enum glock__event_name)ev->name) {
	case GLOCK__EV_STATE_CHANGE:
		sscanf(rest, "state %2s to %2s tgt:%2s dmt:%2s flags:%47s", a, b, c, d, flags);
		ev->target = mode_of_dlm_name(c);
		ev->demote = mode_of_dlm_name(d);
		break;
	case GLOCK__EV_PUT:
		sscanf(rest, "state %2s => IV flags:%47s", a, flags);
		break;
	case GLOCK__EV_DEMOTE_RQ:
		sscanf(rest, "demote %2s to %2s flags:%47s %7s", a, b, flags, who);
		ev->remote = !strcmp(who, "remote");
		break;
	case GLOCK__EV_PROMOTE:
		sscanf(rest, "promote %2s", a);
		break;
	case GLOCK__EV_QUEUE:
		ev->out = !strncmp(rest, "de", 2);
		sscanf(rest, "%*s %2s", a);
		break;
	case GLOCK__EV_LOCK_TIME:
		parse_lock_time(rest, ev);
		return;
	case GLOCK__EV_MAX:
		break;
	}
	ev->flags = flags_traced(flags);
	ev->state = mode_of_dlm_name(a);
	if (*b)
		ev->to = mode_of_dlm_name(b);
}

static void trace_as_the_kernel(void **state)
{
	char *all = capture_read(capture_dir("gfs2-trace"), "node2/trace"), *at = all;
	unsigned int seen[GLOCK__EV_MAX] = {0}, lines = 0;
	char buf[512];

	(void)state;
	for (char *l; (l = capture_line(&at));) {
		struct glock__text t = {.buf = buf, .size = sizeof(buf)};
		struct glock__event ev = {.name = GLOCK__EV_MAX};
		unsigned int major, minor, type;
		unsigned long number;
		char *name = strstr(l, ": gfs2_"), *text;
		int n;

		if (*l == '#' || !name)
			continue;
		name += 2;
		text = strstr(name, ": ");
		assert_non_null(text);
		*text = '\0';
		text += 2;
		for (unsigned int i = 0; i < GLOCK__EV_MAX; i++)
			if (!strcmp(name, glock__event_names[i]))
				ev.name = i;
		assert_int_not_equal(ev.name, GLOCK__EV_MAX);
		assert_int_equal(
		    sscanf(text, "%u,%u glock %u:%lu %n", &major, &minor, &type, &number, &n), 4);
		ev.type = type;
		ev.number = number;
		parse_event(text + n, &ev);
		glock__event_print(&t, GLOCK__LINUX_6_1, major, minor, &ev);
		assert_string_equal(buf, text);
		lines++;
		seen[ev.name]++;
	}
	print_message("# %u lines:", lines);
	for (unsigned int i = 0; i < GLOCK__EV_MAX; i++) {
		print_message(" %s %u", glock__event_names[i], seen[i]);
		assert_true(seen[i]);
	}
	print_message("\n");
	assert_true(lines > 80000);
	free(all);
}

static void trace_linux_7_0(void **state)
{
	struct glock__event ev = {.name = GLOCK__EV_STATE_CHANGE,
				  .type = GLOCK_INODE,
				  .number = 480032,
				  .state = GLOCK_UN,
				  .to = GLOCK_EX,
				  .target = GLOCK_EX,
				  .demote = GLOCK_EX,
				  .flags = GLOCK__F_LOCK | GLOCK__F_OBJECT |
					   GLOCK__F_INSTANTIATE_NEEDED | GLOCK__F_QUEUED};
	char buf[256];
	struct glock__text t = {.buf = buf, .size = sizeof(buf)};

	(void)state;
	glock__event_print(&t, GLOCK__LINUX_7_0, 8, 17, &ev);
	assert_string_equal(buf, "8,17 glock 2:480032 state NL to EX tgt:EX dmt:EX flags:lon");
	/* the largest number has a sign in some events and not in others, as in the kernel */
	ev.number = UINT64_MAX;
	ev.name = GLOCK__EV_PUT;
	t.len = 0;
	glock__event_print(&t, GLOCK__LINUX_7_0, 8, 17, &ev);
	assert_string_equal(buf, "8,17 glock 2:-1 state NL => IV flags:lon");
	ev.name = GLOCK__EV_PROMOTE;
	t.len = 0;
	glock__event_print(&t, GLOCK__LINUX_7_0, 8, 17, &ev);
	assert_string_equal(buf, "8,17 glock 2:18446744073709551615 promote NL");
}

static void trace_ring_keeps_order(void **state)
{
	struct glock__ring *r = glock__ring_new(3);
	struct glock__event ev = {.name = GLOCK__EV_PROMOTE};
	uint64_t cursor = 0, lost;

	(void)state;
	assert_non_null(r);
	assert_int_equal(glock__ring_get(r, &cursor, &ev, &lost), 0);
	for (uint64_t i = 0; i < 8; i++) {
		ev.number = i;
		glock__trace(r, &ev);
	}
	for (uint64_t i = 0; i < 8; i++) {
		assert_int_equal(glock__ring_get(r, &cursor, &ev, &lost), 1);
		assert_int_equal(ev.number, i);
	}
	assert_int_equal(glock__ring_get(r, &cursor, &ev, &lost), 0);
	glock__ring_free(r);
}

static void trace_ring_keeps_the_newest(void **state)
{
	struct glock__ring *r = glock__ring_new(3);
	struct glock__event ev = {.name = GLOCK__EV_PROMOTE};
	uint64_t cursor = 0, lost = 0;

	(void)state;
	assert_non_null(r);
	for (uint64_t i = 0; i < 21; i++) {
		ev.number = i;
		glock__trace(r, &ev);
	}
	assert_int_equal(glock__ring_get(r, &cursor, &ev, &lost), -ESTALE);
	assert_int_equal(lost, 13);
	for (uint64_t i = 13; i < 21; i++) {
		assert_int_equal(glock__ring_get(r, &cursor, &ev, &lost), 1);
		assert_int_equal(ev.number, i);
	}
	assert_int_equal(glock__ring_get(r, &cursor, &ev, &lost), 0);
	glock__ring_free(r);
}

/* Several writers go around a small ring many times. A reader must never see a mixed event. */
enum { WRITERS = 3, PUTS = 30000 };

static void *write_many(void *arg)
{
	struct glock__event ev = {.name = GLOCK__EV_LOCK_TIME};
	static _Atomic uint32_t threads;

	ev.thread = threads++;
	for (int64_t i = 1; i <= PUTS; i++) {
		ev.number = (uint64_t)i;
		ev.round_trip = i * (ev.thread + 1);
		for (int s = 0; s < GLOCK__STAT_MAX; s++)
			ev.stats.v[s] = i * (ev.thread + 1) + s;
		glock__trace(arg, &ev);
	}
	return NULL;
}

static void trace_ring_many_writers(void **state)
{
	struct glock__ring *r = glock__ring_new(6);
	uint64_t cursor = 0, got = 0, lost_all = 0, last[WRITERS] = {0};
	pthread_t t[WRITERS];

	(void)state;
	assert_non_null(r);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, write_many, r), 0);
	while (cursor < WRITERS * PUTS) {
		struct glock__event ev;
		uint64_t lost = 0;
		int ret = glock__ring_get(r, &cursor, &ev, &lost);

		lost_all += lost;
		/* A writer's newest event may be lost without an event behind it. */
		if (ret == 0 && cursor + 32 > WRITERS * PUTS)
			break;
		if (ret != 1)
			continue;
		got++;
		assert_in_range(ev.thread, 0, WRITERS - 1);
		assert_true(ev.number > last[ev.thread]);
		last[ev.thread] = ev.number;
		assert_int_equal(ev.round_trip, ev.number * (ev.thread + 1));
		for (int s = 0; s < GLOCK__STAT_MAX; s++)
			assert_int_equal(ev.stats.v[s], ev.number * (ev.thread + 1) + (uint64_t)s);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(t[i], NULL);
	print_message("# read %lu events, %lu lost\n", (unsigned long)got, (unsigned long)lost_all);
	assert_true(got > 0);
	assert_int_equal(got + lost_all, cursor);
	glock__ring_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(trace_as_the_kernel),
	    cmocka_unit_test(trace_linux_7_0),
	    cmocka_unit_test(trace_ring_keeps_order),
	    cmocka_unit_test(trace_ring_keeps_the_newest),
	    cmocka_unit_test(trace_ring_many_writers),
	};

	return RUN_TESTS(tests);
}
