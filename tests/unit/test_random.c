/* SPDX-License-Identifier: MIT */
/*
 * test_random.c - tests random lines: a printed line parses to its source. The seed is fixed.
 */
#include "print_lines.h"
#include "unit.h"

#include <stdio.h>

enum { ROUNDS = 100000 };

static uint64_t seed = 0x6f32746f70;
static char buf[1 << 16];

static uint64_t sized(unsigned bits)
{
	return random_sized(&seed, bits);
}

static unsigned below(unsigned n)
{
	return (unsigned)(random_u64(&seed) % n);
}

/* Returns a number of `bits` with either sign, but not the smallest: its negation does not fit. */
static int64_t both_signs(unsigned bits)
{
	int64_t v = (int64_t)sized(bits - 1);

	return below(2) ? v : -v;
}

static void letters(char *out, unsigned most, const char *set)
{
	unsigned n = below(most);

	for (unsigned i = 0; i < n; i++)
		out[i] = set[below((unsigned)strlen(set))];
	out[n] = '\0';
}

static void check_len(size_t n)
{
	assert_true(n > 1);
	assert_int_equal(buf[n - 1], '\n');
	assert_null(memchr(buf, '\n', n - 1));
}

static void random_state(struct ocfs2_line *l)
{
	static const char types[] = "MWOFDSRQYPTIZN";

	memset(l, 0, sizeof(*l));
	l->version = 1 + (uint32_t)sized(below(2) ? 2 : 15);
	l->id = (struct ocfs2_name){types[below(14)], sized(64), (uint32_t)sized(32)};
	if (l->id.type == 'N')
		snprintf(l->name, sizeof(l->name), "N%016llx%08x", (unsigned long long)l->id.number,
			 l->id.low);
	else
		snprintf(l->name, sizeof(l->name), "%c000000%016llx%08x", l->id.type,
			 (unsigned long long)l->id.number, l->id.low);
	l->level = (int32_t)both_signs(32);
	l->flags = sized(64);
	l->action = sized(64);
	l->unlock_action = sized(64);
	l->requested = (int32_t)both_signs(32);
	l->blocking = (int32_t)both_signs(32);
	for (int i = 0; i < OCFS2_LVB_LEN && l->version % 2; i++)
		l->lvb[i] = (uint8_t)sized(8);
	for (int i = 0; i < OCFS2_LVB_LEN && l->version % 4 == 1; i++)
		l->lvb_unsigned |= l->lvb[i] >= 0x80;
	for (int m = 0; m < OCFS2_MODES; m++) {
		l->holders[m] = (uint32_t)sized(32);
		if (l->version < 2)
			continue;
		l->gets[m] = (uint32_t)sized(32);
		l->fails[m] = (uint32_t)sized(32);
		l->total_ns[m] = sized(64);
		l->max[m] = (uint32_t)sized(32);
		l->last_us[m] = l->version < 4 ? 0 : sized(64);
	}
	l->refreshes = l->version < 2 ? 0 : (uint32_t)sized(32);
	l->wait_us = l->version < 4 ? 0 : sized(64);
	l->tail = l->version > 4 && below(2) ? "17\t0xab\tlater\t" : NULL;
	l->tail_len = l->tail ? strlen(l->tail) : 0;
}

static void locking_state(void **state)
{
	static struct ocfs2_line a, b;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		size_t n;

		random_state(&a);
		n = ocfs2_line_print(&a, buf, sizeof(buf));
		check_len(n);
		memset(&b, 0, sizeof(b));
		if (ocfs2_line_parse(&b, buf, n - 1, below(2)))
			fail_msg("refused: %s", buf);
		assert_int_equal(a.tail_len, b.tail_len);
		if (a.tail_len)
			assert_memory_equal(a.tail, b.tail, a.tail_len);
		a.tail = b.tail = NULL;
		assert_memory_equal(&a, &b, sizeof(a));
	}
}

static enum gfs2_state random_mode(char text[3])
{
	static const char *const texts[] = {"UN", "EX", "DF", "SH", "??"};
	unsigned mode = below(5);

	memcpy(text, texts[mode], 3);
	return (enum gfs2_state)mode;
}

static const char flag_letters[] = "abcdefgxyzIRLoqN0123456789";

static void glocks(void **state)
{
	static struct gfs2_glock_line a, b;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		size_t n;

		memset(&a, 0, sizeof(a));
		a.state = random_mode(a.states[0]);
		a.target = random_mode(a.states[1]);
		a.demote = random_mode(a.states[2]);
		a.type = (uint32_t)sized(32);
		a.number = sized(64);
		letters(a.flags, GFS2_FLAGS_MAX, flag_letters);
		a.demote_us = sized(64);
		a.ail = both_signs(64);
		a.refs = both_signs(64);
		a.has_revokes = below(2);
		a.revokes = a.has_revokes ? both_signs(64) : 0;
		a.has_hold = below(2);
		a.hold_jiffies = a.has_hold ? both_signs(64) : 0;
		a.has_pages = below(2);
		a.pages = a.has_pages ? sized(64) : 0;
		n = gfs2_glock_print(&a, buf, sizeof(buf));
		check_len(n);
		if (gfs2_glock_parse(&b, buf, n - 1))
			fail_msg("refused: %s", buf);
		assert_memory_equal(&a, &b, sizeof(a));
	}
}

static void holders(void **state)
{
	static struct gfs2_holder_line a, b;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		size_t n;

		memset(&a, 0, sizeof(a));
		a.state = random_mode(a.state_text);
		letters(a.flags, GFS2_FLAGS_MAX, "tTeAnaEcHWsp0");
		a.holds = strchr(a.flags, 'H');
		a.waits = strchr(a.flags, 'W');
		a.error = (int32_t)both_signs(32);
		a.pid = both_signs(64);
		letters(a.comm, 17, "ab ]:[\\/.(%\x1b\xff\t");
		letters(a.symbol, GFS2_SYMBOL_MAX, "abc_+0x/. [");
		n = gfs2_holder_print(&a, buf, sizeof(buf));
		check_len(n);
		if (gfs2_holder_parse(&b, buf, n - 1))
			fail_msg("refused: %s", buf);
		assert_memory_equal(&a, &b, sizeof(a));
	}
}

static void inodes(void **state)
{
	static struct gfs2_inode_line a, b;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		size_t n;

		memset(&a, 0, sizeof(a));
		a.formal = sized(64);
		a.number = sized(64);
		a.dtype = (uint32_t)sized(32);
		a.flags = sized(64);
		a.has_size = below(8);
		a.disk_flags = a.has_size ? sized(64) : 0;
		a.size = a.has_size ? sized(64) : 0;
		a.has_pages = a.has_size && below(2);
		a.pages = a.has_pages ? sized(64) : 0;
		n = gfs2_inode_print(&a, buf, sizeof(buf));
		check_len(n);
		if (gfs2_inode_parse(&b, buf, n - 1))
			fail_msg("refused: %s", buf);
		assert_memory_equal(&a, &b, sizeof(a));
	}
}

static void glstats(void **state)
{
	static struct gfs2_stats_line a, b;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		size_t n;

		memset(&a, 0, sizeof(a));
		memset(&b, 0, sizeof(b));
		a.type = (uint32_t)sized(32);
		a.number = sized(64);
		a.srtt = (int64_t)sized(64);
		a.srttvar = (int64_t)sized(64);
		a.srttb = (int64_t)sized(64);
		a.srttvarb = (int64_t)sized(64);
		a.sirt = (int64_t)sized(64);
		a.sirtvar = (int64_t)sized(64);
		a.dcount = sized(64);
		a.qcount = sized(64);
		n = gfs2_stats_print(&a, buf, sizeof(buf));
		check_len(n);
		if (gfs2_stats_parse(&b, buf, n - 1))
			fail_msg("refused: %s", buf);
		assert_memory_equal(&a, &b, sizeof(a));
	}
}

static void sbstats(void **state)
{
	static struct gfs2_sbstats_line a, b;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		size_t n;

		a.type = below(GFS2_TYPE_MAX + 1);
		a.stat = a.type == GFS2_TYPE_MAX ? 0 : (enum gfs2_stat)below(GFS2_STAT_MAX);
		a.n_cpus = below(i % 1000 ? 9 : 1025);
		for (uint32_t cpu = 0; cpu < a.n_cpus; cpu++)
			a.value[cpu] = sized(64);
		n = gfs2_sbstats_print(&a, buf, sizeof(buf));
		check_len(n);
		if (gfs2_sbstats_parse(&b, buf, n - 1))
			fail_msg("refused: %s", buf);
		assert_true(a.type == b.type && a.stat == b.stat && a.n_cpus == b.n_cpus);
		assert_memory_equal(a.value, b.value, a.n_cpus * sizeof(a.value[0]));
	}
}

static void lock_times(void **state)
{
	static struct gfs2_lock_time a, b;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		const char *wrong = NULL;
		size_t n, head;

		memset(&a, 0, sizeof(a));
		memset(&b, 0, sizeof(b));
		a.at_us = sized(62);
		a.major = (uint32_t)sized(32);
		a.minor = (uint32_t)sized(32);
		a.type = (uint32_t)sized(32);
		a.number = sized(64);
		a.status = (int32_t)both_signs(32);
		a.lksb_flags = (uint32_t)sized(32);
		a.tdiff = both_signs(64);
		a.srtt = both_signs(64);
		a.srttvar = both_signs(64);
		a.srttb = both_signs(64);
		a.srttvarb = both_signs(64);
		a.sirt = both_signs(64);
		a.sirtvar = both_signs(64);
		a.dcount = sized(64);
		a.qcount = sized(64);
		head = (size_t)snprintf(
		    buf, sizeof(buf), "%16s-%-7u [%03u] .....  %5llu.%06llu: ", "a: b",
		    below(100000), below(8), (unsigned long long)(a.at_us / 1000000),
		    (unsigned long long)(a.at_us % 1000000));
		n = gfs2_lock_time_print(&a, buf + head, sizeof(buf) - head);
		assert_true(n > 0);
		check_len(head + n);
		if (!gfs2_lock_time_parse(&b, buf, head + n - 1, &wrong) || wrong)
			fail_msg("refused: %s", buf);
		assert_memory_equal(&a, &b, sizeof(a));
	}
}

static void resources(void **state)
{
	static struct dlm_rsb_line a, b;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		size_t n;

		memset(&a, 0, sizeof(a));
		snprintf(a.pointer, sizeof(a.pointer), "%016llx", (unsigned long long)sized(64));
		a.nodeid = (int32_t)both_signs(32);
		a.first_lkid = sized(64);
		a.flags = sized(64);
		a.root = (int32_t)both_signs(32);
		a.recover = (int32_t)both_signs(32);
		a.recover_count = (uint32_t)sized(32);
		a.len = below(DLM_NAME_MAX + 1);
		a.hex = below(2);
		for (uint32_t j = 0; j < a.len; j++)
			a.name[j] = (char)(a.hex ? sized(8) : ' ' + below(95));
		n = dlm_rsb_print(&a, buf, sizeof(buf));
		check_len(n);
		if (dlm_rsb_parse(&b, buf, n - 1))
			fail_msg("refused: %s", buf);
		assert_memory_equal(&a, &b, sizeof(a));
	}
}

static void locks(void **state)
{
	static struct dlm_lkb_line a, b;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		size_t n;

		memset(&a, 0, sizeof(a));
		memset(&b, 0, sizeof(b));
		a.id = sized(64);
		a.nodeid = (int32_t)both_signs(32);
		a.remid = sized(64);
		a.pid = (uint32_t)sized(32);
		a.xid = sized(64);
		a.exflags = sized(64);
		a.flags = sized(64);
		a.status = (int32_t)both_signs(32);
		a.granted = (int32_t)both_signs(32);
		a.requested = (int32_t)both_signs(32);
		a.bast_mode = (int32_t)both_signs(32);
		a.rsb_lookup = (int32_t)both_signs(32);
		a.wait_type = (int32_t)both_signs(32);
		a.lvb_seq = (uint32_t)sized(32);
		a.since_ns = sized(64);
		a.bast_ns = sized(64);
		n = dlm_lkb_print(&a, buf, sizeof(buf));
		check_len(n);
		if (dlm_lkb_parse(&b, buf, n - 1))
			fail_msg("refused: %s", buf);
		assert_memory_equal(&a, &b, sizeof(a));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(locking_state), cmocka_unit_test(glocks),    cmocka_unit_test(holders),
	    cmocka_unit_test(inodes),        cmocka_unit_test(glstats),   cmocka_unit_test(sbstats),
	    cmocka_unit_test(lock_times),    cmocka_unit_test(resources), cmocka_unit_test(locks),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
