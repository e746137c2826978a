/* SPDX-License-Identifier: MIT */
/*
 * test_space.c - tests spaces: options, idle glocks, withdraw, text and numbers of existing glocks.
 */
#include "glock/core/internal.h"
#include "glock/state/find.h"

#include "rig.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

static struct glock_holder a, b;

/*
 * Promises: lockman: "(default)"; glock_version: "Returns the version"; glock_space_open: "Opens
 * the space", "options may be", "If the program", "-EPROTONOSUPPORT no such".
 */
static void space_options(void **state)
{
	static const char too_long[] =
	    "12345678901234567890123456789012345678901234567890123456789012345";
	struct glock_space_options o = {.size = sizeof(o), .lockman = "carrier pigeon"};
	struct glock_type_options bad = {.size = sizeof(bad), .type = 99};
	struct glock_space *space;

	(void)state;
	assert_int_equal(glock_space_open("x", &o, &space), -EPROTONOSUPPORT);
	setenv("GLOCK_LOCKMAN", "smoke signals", 1);
	assert_int_equal(glock_space_open("x", NULL, &space), -EPROTONOSUPPORT);
	o.lockman = "none";
	assert_int_equal(glock_space_open(NULL, &o, &space), -EINVAL);
	assert_int_equal(glock_space_open("", &o, &space), -EINVAL);
	assert_int_equal(glock_space_open(too_long, &o, &space), -EINVAL);
	o.types = &bad;
	o.n_types = 1;
	assert_int_equal(glock_space_open("x", &o, &space), -EINVAL);
	bad.type = 10;
	bad.hold = -2;
	assert_int_equal(glock_space_open("x", &o, &space), -EINVAL);
	bad.hold = 0;
	bad.modes = 1u << GLOCK_UN;
	assert_int_equal(glock_space_open("x", &o, &space), -EINVAL);
	o.n_types = 0;
	assert_int_equal(glock_space_open(too_long + 1, &o, &space), 0);
	assert_int_equal(glock_space_fd(space), -1);
	assert_int_equal(glock_space_close(space), 0);
	setenv("GLOCK_LOCKMAN", "none", 1);
	assert_int_equal(glock_space_open("x", NULL, &space), 0);
	assert_int_equal(glock_space_close(space), 0);
	unsetenv("GLOCK_LOCKMAN");
	assert_int_equal(glock_supports("lockman:none"), 1);
	assert_int_equal(glock_supports("telepathy"), 0);
	assert_int_equal(glock_version(), GLOCK_VERSION);
}

static char size_message[512];

static void keep_message(void *arg, const char *message)
{
	(void)arg;
	snprintf(size_message, sizeof(size_message), "%s", message);
}

/* A size that was not set switches no callback off: open fails, and the log names the struct. */
/*
 * Promises: glock_supports: "A size of", "In an array"; size: "sizeof(struct glock_type_options),
 * in"; glock_space_open: "-E2BIG a struct", "The log names its", "If the size".
 */
static void space_sizes_are_checked(void **state)
{
	struct glock_ops ops = {.xmote_th = NULL};
	struct glock_type_options types[2] = {{.type = 10, .ops = &ops}, {.type = 11}};
	struct glock_space_options o = {
	    .lockman = "none", .types = types, .n_types = 2, .log = keep_message};
	struct {
		struct glock_space_options o;
		uint64_t more[2];
	} newer = {.more = {0, 1}};
	struct glock_statistics statistics = {.size = 8};
	char want[64];
	struct glock_space *space;
	struct glock *gl;

	(void)state;
	assert_int_equal(glock_space_open("x", &o, &space), -EINVAL);
	assert_string_equal(size_message, ""); /* the size does not reach the log */
	o.size = offsetof(struct glock_space_options, group);
	assert_int_equal(glock_space_open("x", &o, &space), -EINVAL);
	assert_non_null(strstr(size_message, "sizeof(struct glock_space_options)"));
	o.size = sizeof(o);
	assert_int_equal(glock_space_open("x", &o, &space), -EINVAL);
	assert_string_equal(size_message,
			    "space x: size 0 in a struct glock_type_options, which has at least 64 "
			    "bytes: set size to sizeof(struct glock_type_options)");
	types[0].size = sizeof(types[0]);
	assert_int_equal(glock_space_open("x", &o, &space), -EINVAL);
	assert_string_equal(size_message,
			    "space x: size 0 in a struct glock_ops, which has at least 96 bytes: "
			    "set size to sizeof(struct glock_ops)");
	ops.size = sizeof(ops);
	assert_int_equal(glock_space_open("x", &o, &space), -EINVAL);
	assert_non_null(strstr(size_message, "entry 1 of types has size 0"));
	newer.o = o;
	newer.o.size = sizeof(newer);
	assert_int_equal(glock_space_open("x", &newer.o, &space), -E2BIG);
	snprintf(want, sizeof(want), "has a member at offset %zu that libglock", sizeof(o) + 8);
	assert_non_null(strstr(size_message, want));
	types[1].size = sizeof(types[1]);
	assert_int_equal(glock_space_open("x", &o, &space), 0);
	assert_int_equal(glock_get(space, 11, 1, &gl), 0);
	assert_int_equal(glock_statistics(gl, &statistics), -EINVAL);
	assert_non_null(strstr(size_message, "size 8 in a struct glock_statistics"));
	glock_put(gl);
	assert_int_equal(glock_space_close(space), 0);
}

/* Promises: glock_space_close: "Gives all locks", "Waits for the", "-EBUSY glocks are". */
static void space_close_is_busy(void **state)
{
	struct glock *gl;

	(void)state;
	rig_open(0);
	gl = rig_glock(GLOCK_INODE, 1);
	rig_hold(&a, gl, GLOCK_EX, 0);
	assert_int_equal(glock_space_close(rig.space), -EBUSY);
	rig_dq(&a);
	assert_int_equal(glock_space_close(rig.space), -EBUSY);
	glock_put(gl);
	*rig.log = '\0';
	rig_close();
	rig_expect("th:UN:3 inval:3 convert:NL unlock leave");
}

/* A type that keeps all its idle glocks does not make the space look for ever. */
static void space_keeps_idle_glocks(void **state)
{
	struct glock_space_options o = {.cached_max = 2};

	(void)state;
	rig_open_with(&o);
	rig.answer_at_once = true;
	rig.demote_ok = 0;
	alarm(20);
	for (uint64_t i = 1; i <= 5; i++) {
		struct glock *gl = rig_glock(GLOCK_INODE, i);

		rig_hold(&a, gl, GLOCK_SH, 0);
		rig_dq(&a);
		glock_put(gl);
		rig_run();
	}
	alarm(0);
	assert_int_equal(rig.space->n_glocks, 5);
	rig.demote_ok = 1;
	rig_close();
}

/*
 * The space keeps the allowed number of idle glocks for the allowed time. The coldest go first. A
 * type may veto.
 */
/*
 * Promises: demote_ok: "Returns not 0"; cached_max: "The space keeps"; glock_shrink: "Has up to";
 * glock_put: "A lock in".
 */
static void space_idle_glocks(void **state)
{
	struct glock_space_options o = {.cached_max = 2, .cached_age = 1000 * RIG_MS};
	struct glock *gl;

	(void)state;
	rig_open_with(&o);
	rig.answer_at_once = true;
	for (uint64_t i = 1; i <= 4; i++) {
		gl = rig_glock(GLOCK_INODE, i);
		rig_hold(&a, gl, GLOCK_SH, 0);
		rig_dq(&a);
		glock_put(gl);
		rig_run();
		assert_int_equal(rig.space->n_glocks, i < 2 ? i : 2);
		rig_pass(100 * RIG_MS);
	}
	/* 3 and 4 are left. 3 is used once more, and 4 gets too old first */
	gl = rig_glock(GLOCK_INODE, 3);
	assert_int_equal(gl->state, GLOCK_SH);
	glock_put(gl);
	rig_pass(899 * RIG_MS);
	assert_int_equal(rig.space->n_glocks, 2);
	rig_pass(2 * RIG_MS);
	assert_int_equal(rig.space->n_glocks, 1);
	rig.demote_ok = 0;
	rig_pass(500 * RIG_MS);
	assert_int_equal(rig.space->n_glocks, 1);
	rig.demote_ok = 1;
	rig_pass(1001 * RIG_MS);
	assert_int_equal(rig.space->n_glocks, 0);
	rig_close();
}

/* An age is kept in 32 bits of 2^18 ns. A limit beyond that never comes. */
/* Promises: cached_age: "ns; a limit". */
static void space_limit_above_13_days(void **state)
{
	const int64_t day = 24ll * 3600 * 1000 * RIG_MS;
	struct glock_space_options o = {.cached_age = 14 * day};
	struct glock *gl;

	(void)state;
	for (int days = 14; days >= 12; days -= 2) {
		o.cached_age = days * day;
		rig_open_with(&o);
		rig.answer_at_once = true;
		gl = rig_glock(GLOCK_INODE, 1);
		rig_hold(&a, gl, GLOCK_SH, 0);
		rig_dq(&a);
		glock_put(gl);
		for (int i = 0; i < 40; i++)
			rig_pass(day / 2);
		assert_int_equal(rig.space->n_glocks, days == 14);
		rig_close();
	}
}

/*
 * Promises: demote_ok: "Returns not 0"; cached_max: "0: no limit"; glock_shrink: "Has up to",
 * "Returns how many".
 */
static void space_shrink(void **state)
{
	struct glock *gl;

	(void)state;
	rig_open(0);
	rig.answer_at_once = true;
	for (uint64_t i = 1; i <= 100; i++) {
		gl = rig_glock(GLOCK_INODE, i);
		rig_hold(&a, gl, GLOCK_SH, 0);
		rig_dq(&a);
		glock_put(gl);
	}
	assert_int_equal(glock_shrink(rig.space, 30), 30);
	rig_run();
	assert_int_equal(rig.space->n_glocks, 70);
	rig.demote_ok = 0;
	assert_int_equal(glock_shrink(rig.space, 30), 0);
	rig.demote_ok = 1;
	assert_int_equal(glock_shrink(rig.space, 1000), 70);
	rig_run();
	assert_int_equal(rig.space->n_glocks, 0);
	rig_close();
}

static void use_again(uint64_t first, uint64_t last, uint64_t but)
{
	for (uint64_t i = first; i <= last; i++)
		if (i != but)
			glock_put(rig_glock(GLOCK_INODE, i));
}

static void shrinks(uint64_t number)
{
	struct glock *gl;

	assert_int_equal(glock_shrink(rig.space, 1), 1);
	rig_run();
	assert_int_equal(glock__get_there(rig.space, GLOCK_INODE, number, &gl), -ENOENT);
}

/* A thread that makes many glocks idle at a time does not move all of them in the list. */
/* Promises: glock_shrink: "Without cached_max and". */
static void space_shrink_in_order(void **state)
{
	struct glock *gl;
	uint32_t last;

	(void)state;
	rig_open(0);
	rig.answer_at_once = true;
	rig.now = ((rig.now >> 28) + 1) << 28;
	for (uint64_t i = 1; i <= 100; i++) {
		gl = rig_glock(GLOCK_INODE, i);
		rig_hold(&a, gl, GLOCK_SH, 0);
		rig_dq(&a);
		glock_put(gl);
	}
	rig.now += 2 * 1000000;
	use_again(1, 10, 0);
	shrinks(11);
	rig.now += 300 * 1000000;
	use_again(12, 100, 50);
	use_again(1, 10, 0);
	shrinks(50);
	rig.now += 2 * 1000000;
	use_again(12, 49, 0);
	use_again(51, 76, 0);
	last = rig.space->lru.last;
	use_again(77, 100, 0);
	assert_int_equal(rig.space->lru.last, last);
	rig.now += 300 * 1000000;
	use_again(12, 100, 50);
	shrinks(1);
	assert_int_equal(glock_shrink(rig.space, 1000), 97);
	rig_run();
	rig_close();
}

/* Waiters get -EIO. Holders are told. Dirty data is not written, and the cache goes. */
/*
 * Promises: lost: "Called for a"; glock_withdraw: "Withdraws this node", "All waiters get", "Dirty
 * caches are", "The lost operation", "Waits for the"; glock_valid: "Returns 1 if".
 */
static void space_withdraw(void **state)
{
	struct glock *gl, *idle, *asked;
	struct glock_holder c;

	(void)state;
	rig_open(0);
	gl = rig_glock(GLOCK_INODE, 1);
	idle = rig_glock(GLOCK_INODE, 2);
	asked = rig_glock(GLOCK_INODE, 3);
	rig_hold(&a, idle, GLOCK_EX, 0);
	rig_dq(&a);
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_nq(&b, gl, GLOCK_EX, 0);
	rig_nq(&c, asked, GLOCK_SH, 0);
	assert_true(glock_valid(&a));
	*rig.log = '\0';
	glock_withdraw(rig.space);
	rig_run();
	rig_expect("lost leave:failed inval:3");
	assert_false(glock_valid(&a));
	assert_int_equal(glock_wait(&b, 0, 0), -EIO);
	assert_int_equal(glock_wait(&c, 0, 0), -EIO);
	assert_int_equal(idle->state, GLOCK_UN);
	assert_int_equal(glock_nq(&b), -EIO);
	rig_dq(&a);
	rig_expect("inval:3");
	assert_int_equal(gl->state, GLOCK_UN);
	glock_put(gl);
	glock_put(idle);
	glock_put(asked);
	rig_close();
}

/* Dirty data could not be written back, so this node cannot be trusted any more. */
/*
 * Promises: xmote_th: "Return an error"; glock_space_close: "After 0 or", "-EIO closed, but";
 * glock_withdraw: "The library withdraws".
 */
static void space_withdraws_when_sync_fails(void **state)
{
	struct glock *gl;

	(void)state;
	rig_open(0);
	gl = rig_glock(GLOCK_INODE, 1);
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_dq(&a);
	rig_pass(201 * RIG_MS);
	*rig.log = '\0';
	rig.th_error = -ENOSPC;
	rig_bast(gl, GLOCK__EX);
	rig_expect("th:UN:3 inval:3 leave:failed");
	/* a message shows the glock's state */
	rig_expect_message("fsid=rig: G:  s:EX n:2/1 f:lDp t:UN d:UN/0 a:0 v:0 r:1 m:200 p:0\n"
			   "fsid=rig:  X: object\n");
	assert_int_equal(gl->state, GLOCK_UN);
	glock_holder_init(&a, gl, GLOCK_SH, 0);
	assert_int_equal(glock_nq(&a), -EIO);
	glock_put(gl);
	/* the close is done, and tells that data was lost */
	rig.answer_at_once = true;
	assert_int_equal(glock_space_close(rig.space), -EIO);
}

static char text[8192];

static void collect(void *to, const char *s, size_t len)
{
	(void)to;
	assert_in_range(strlen(text) + len, 0, sizeof(text) - 1);
	strncat(text, s, len);
}

/*
 * Promises: dump: "Describes the object", "Called only while"; pages: "Returns how many"; glock_nq:
 * "`where` is kept"; glock_dump: "Prints a file", "-EINVAL file or".
 */
static void space_dump(void **state)
{
	struct glock *gl;
	char want[256];

	(void)state;
	rig_open(0);
	gl = rig_glock(GLOCK_INODE, 0x6259);
	glock_set_object(gl, &a);
	rig.pages = 3;
	rig_hold(&a, gl, GLOCK_SH, GLOCK_EXACT | GLOCK_NOPID);
	glock_holder_init(&b, gl, GLOCK_EX, GLOCK_ASYNC);
	assert_int_equal(glock_nq_at(&b, "here.c:7"), 0);
	rig_run();
	*text = '\0';
	assert_int_equal(
	    glock_dump(rig.space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_6_1, collect, NULL), 0);
	snprintf(want, sizeof(want), " H: s:EX f:aW e:0 p:%d [%s] here.c:7\n X: object\n",
		 (int)getpid(), glock__thread_name());
	assert_non_null(strstr(text, "G:  s:SH n:2/6259 f:Iqo t:SH d:EX/0 a:0 v:0 r:1 m:200 p:3\n"
				     " H: s:SH f:aEH e:0 p:0 [(none)] "));
	assert_non_null(strstr(text, want));
	*text = '\0';
	glock_dump(rig.space, GLOCK_FILE_GLSTATS, GLOCK_FORMAT_LINUX_6_1, collect, NULL);
	assert_string_equal(text, "G: n:2/6259 rtt:0/0 rttb:0/0 irt:0/0 dcnt: 1 qcnt: 2\n");
	*text = '\0';
	glock_dump(rig.space, GLOCK_FILE_SBSTATS, GLOCK_FORMAT_LINUX_6_1, collect, NULL);
	assert_non_null(strstr(text, "inode         queue:               2\n"));
	assert_int_equal(glock_dump(rig.space, 9, 0, collect, NULL), -EINVAL);
	rig_dq(&b);
	rig_dq(&a);
	/* At UN the object cannot be up to date. */
	rig_pass(201 * RIG_MS);
	rig_bast(gl, GLOCK__EX);
	rig_answer(0);
	assert_int_equal(gl->state, GLOCK_UN);
	*text = '\0';
	glock_dump(rig.space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_6_1, collect, NULL);
	assert_non_null(strstr(text, "G:  s:UN n:2/6259 "));
	assert_null(strstr(text, "X: object"));
	glock_put(gl);
	rig_close();
}

static const char *dump_of(enum glock_file file)
{
	*text = '\0';
	assert_int_equal(glock_dump(rig.space, file, GLOCK_FORMAT_LINUX_6_1, collect, NULL), 0);
	return text;
}

/* UN means no lock, or a kept lock at NL. Flag I tells which. */
static void space_unlocked_with_and_without_a_lock(void **state)
{
	struct glock *gl;

	(void)state;
	rig_open(0);
	gl = rig_glock(GLOCK_RGRP, 7);
	assert_non_null(strstr(dump_of(GLOCK_FILE_GLOCKS), "G:  s:UN n:3/7 f: t:UN "));
	rig_hold(&a, gl, GLOCK_SH, GLOCK_NOCACHE | GLOCK_SKIP);
	rig_dq(&a);
	rig_answer(0);
	assert_non_null(strstr(dump_of(GLOCK_FILE_GLOCKS), "G:  s:UN n:3/7 f:I t:UN "));
	*rig.log = '\0';
	glock_put(gl);
	rig_expect("unlock");
	rig_close();
}

/* Each number of each type has a lock of its own. A holder of one blocks no other. */
/* Promises: glock_get: "Stores in *gl", "Makes the glock". */
static void space_a_glock_for_each_number(void **state)
{
	static const unsigned int types[] = {GLOCK_INODE, GLOCK_RGRP};
	struct glock *gl[4], *again;
	struct glock_holder gh[4];

	(void)state;
	rig_open(0);
	for (unsigned int i = 0; i < 4; i++) {
		gl[i] = rig_glock(types[i / 2], 50 + i % 2);
		assert_int_equal(glock_type_of(gl[i]), types[i / 2]);
		assert_int_equal(glock_number(gl[i]), 50 + i % 2);
		for (unsigned int k = 0; k < i; k++)
			assert_ptr_not_equal(gl[i], gl[k]);
		rig_hold(&gh[i], gl[i], GLOCK_EX, GLOCK_SKIP);
	}
	again = rig_glock(GLOCK_INODE, 50);
	assert_ptr_equal(again, gl[0]);
	glock_put(again);
	for (unsigned int i = 0; i < 4; i++) {
		rig_dq(&gh[i]);
		glock_put(gl[i]);
	}
	rig_close();
}

/* A grant from the cache counts as queued, and sends no request. */
/* Promises: glock_statistics: "dcount counts requests". */
static void space_more_queued_than_requested(void **state)
{
	struct glock_statistics s = {.size = sizeof(s)};
	struct glock *gl;

	(void)state;
	rig_open(0);
	gl = rig_glock(GLOCK_INODE, 1);
	for (int i = 0; i < 100; i++) {
		rig_hold(&a, gl, GLOCK_SH, 0);
		rig_dq(&a);
	}
	assert_int_equal(glock_statistics(gl, &s), 0);
	assert_int_equal(s.dcount, 1);
	assert_int_equal(s.qcount, 100);
	assert_non_null(strstr(dump_of(GLOCK_FILE_GLSTATS), " dcnt: 1 qcnt: 100\n"));
	assert_non_null(
	    strstr(dump_of(GLOCK_FILE_SBSTATS), "inode         queue:             100\n"));
	glock_put(gl);
	rig_close();
}

/* A request is stamped right before the call of the lock manager. A reply is stamped on arrival. */
/*
 * Promises: glock_statistics: "srtt the round", "srttb the round", "sirt the time", "Stores the
 * statistics"; age: "since the glock"; basts: "demands of other"; demotes: "times it was".
 */
static void space_statistics(void **state)
{
	struct glock_statistics s = {.size = sizeof(s)};
	struct glock *gl, *fresh;
	struct {
		struct glock_statistics s;
		int64_t more;
	} newer = {.s.size = sizeof(newer)};

	(void)state;
	rig_open(0);
	gl = rig_glock(GLOCK_INODE, 1);
	rig_pass(1000);
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig.now += 8000;
	rig_answer(0);
	rig.now += 500;
	assert_int_equal(glock_statistics(gl, &s), 0);
	assert_int_equal(s.srttb, 1000);
	assert_int_equal(s.srttvarb, 2000);
	assert_int_equal(s.srtt, 0);
	assert_int_equal(s.dcount, 1);
	assert_int_equal(s.qcount, 1);
	assert_int_equal(s.age, 9500);
	assert_int_equal(s.usable, 500);
	rig_dq(&a);
	rig_pass(201 * RIG_MS);
	rig_bast(gl, GLOCK__EX);
	rig.now += 800;
	rig_answer(0);
	assert_int_equal(glock_statistics(gl, &s), 0);
	assert_int_equal(s.srtt, 100);
	assert_int_equal(s.sirt, (8000 + 500 + 201 * RIG_MS) / 8);
	assert_int_equal(s.usable, 500 + 201 * RIG_MS);
	assert_int_equal(s.dcount, 2);
	assert_int_equal(s.basts, 1);
	assert_int_equal(s.demotes, 1);
	assert_int_equal(glock_statistics(gl, &newer.s), 0);
	assert_int_equal(newer.s.basts, 1);
	/* A new glock begins with the means of its type, and with counters of its own. */
	fresh = rig_glock(GLOCK_INODE, 2);
	assert_int_equal(glock_statistics(fresh, &newer.s), 0);
	assert_int_equal(newer.s.srttb, s.srttb);
	assert_int_equal(newer.s.srttvar, s.srttvar);
	assert_int_equal(newer.s.sirt, s.sirt);
	assert_int_equal(newer.s.dcount + newer.s.qcount, 0);
	glock_put(fresh);
	glock_put(gl);
	rig_close();
}

#define LOCK_TIME_LINE                                                                     \
	"gfs2_glock_lock_time: 0,0 glock 2:5 status:0 flags:00 tdiff:0 srtt:0/0 srttb:0/0" \
	" sirt:0/0 dcnt:1 qcnt:1"

static void space_trace(void **state)
{
	static const char *const want[] = {
	    "gfs2_glock_queue: 0,0 glock 2:5 queue PR",
	    LOCK_TIME_LINE,
	    "gfs2_glock_state_change: 0,0 glock 2:5 state NL to PR tgt:PR dmt:EX flags:lI",
	    "gfs2_promote: 0,0 glock 2:5 promote PR",
	    "gfs2_glock_queue: 0,0 glock 2:5 dequeue PR",
	    "gfs2_demote_rq: 0,0 glock 2:5 demote PR to NL flags:DIL remote",
	};
	struct glock *gl;
	uint64_t cursor = 0;
	char buf[256];

	(void)state;
	rig_open(0);
	gl = rig_glock(GLOCK_INODE, 5);
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_dq(&a);
	glock_put(gl);
	rig_pass(201 * RIG_MS);
	rig_bast(gl, GLOCK__EX);
	rig_answer(0);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		assert_int_equal(trace_next(rig.space, &cursor, buf, sizeof(buf)), 1);
		assert_string_equal(buf, want[i]);
	}
	rig_close();
}

/* Writes the trace line of a new glock's state change, for a request with these flags. */
static void state_change_of(unsigned int flags, char *line, size_t size)
{
	static const struct glock_space_options o = {.size = sizeof(o), .lockman = "none"};
	struct glock_space *space;
	struct glock *gl;
	uint64_t cursor = 0;

	assert_int_equal(glock_space_open("miss", &o, &space), 0);
	assert_int_equal(trace_begin(space, 8), 0);
	assert_int_equal(glock_get(space, GLOCK_INODE, 5, &gl), 0);
	glock_holder_init(&a, gl, GLOCK_SH, flags);
	assert_int_equal(glock_nq(&a), 0);
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	do
		assert_int_equal(trace_next(space, &cursor, line, size), 1);
	while (strncmp(line, "gfs2_glock_state_change:", 24) != 0);
	assert_int_equal(glock_dq(&a), 0);
	glock_put(gl);
	assert_int_equal(glock_space_close(space), 0);
}

/*
 * A thread's own request is answered immediately. The trace line is the same as through the queue.
 */
static void space_trace_of_a_miss(void **state)
{
	char alone[256], queued[256];

	(void)state;
	state_change_of(0, alone, sizeof(alone));
	state_change_of(GLOCK_ASYNC, queued, sizeof(queued));
	assert_string_equal(alone, queued);
	assert_non_null(strstr(queued, ": 0,0 glock 2:5 state NL to PR tgt:PR dmt:EX flags:lI"));
}

/* A child of fork may not touch a space. The library finds this out by itself. */
static void space_fork(void **state)
{
	struct glock *gl, *other;
	int status;
	pid_t pid;

	(void)state;
	rig_open(0);
	gl = rig_glock(GLOCK_INODE, 1);
	glock_holder_init(&a, gl, GLOCK_SH, 0);
	pid = fork();
	if (!pid)
		_exit(glock_nq(&a) == -ECHILD && glock_get(rig.space, 2, 2, &other) == -ECHILD &&
			      glock_dispatch(rig.space) == -ECHILD &&
			      glock_space_close(rig.space) == -ECHILD
			  ? 0
			  : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	glock_put(gl);
	rig_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(space_options),
	    cmocka_unit_test(space_sizes_are_checked),
	    cmocka_unit_test(space_close_is_busy),
	    cmocka_unit_test(space_idle_glocks),
	    cmocka_unit_test(space_keeps_idle_glocks),
	    cmocka_unit_test(space_limit_above_13_days),
	    cmocka_unit_test(space_shrink),
	    cmocka_unit_test(space_shrink_in_order),
	    cmocka_unit_test(space_withdraw),
	    cmocka_unit_test(space_withdraws_when_sync_fails),
	    cmocka_unit_test(space_dump),
	    cmocka_unit_test(space_statistics),
	    cmocka_unit_test(space_trace),
	    cmocka_unit_test(space_trace_of_a_miss),
	    cmocka_unit_test(space_fork),
	    cmocka_unit_test(space_unlocked_with_and_without_a_lock),
	    cmocka_unit_test(space_a_glock_for_each_number),
	    cmocka_unit_test(space_more_queued_than_requested),
	};

	return RUN_TESTS(tests);
}
