/* SPDX-License-Identifier: MIT */
/*
 * rig.c - the bench's lock manager, clock and operations, which write the log.
 */
#include "glock/core/internal.h"
#include "glock/space/open.h"

#include "rig.h"

#include <stdarg.h>

struct rig rig;
struct glock__mem *rig_mem;

static void __attribute__((format(printf, 1, 2))) note(const char *fmt, ...)
{
	size_t len = strlen(rig.log);
	va_list ap;

	if (len + 64 > sizeof(rig.log))
		return; /* the test does not look at the log */
	if (len) {
		strcat(rig.log, " ");
		len++;
	}
	va_start(ap, fmt);
	vsnprintf(rig.log + len, sizeof(rig.log) - len - 1, fmt, ap);
	va_end(ap);
}

static void on_log(void *arg, const char *message)
{
	(void)arg;
	rig.n_messages++;
	if (strlen(rig.messages) + strlen(message) + 2 > sizeof(rig.messages))
		*rig.messages = '\0';
	strcat(strcat(rig.messages, message), "\n");
}

/* ---- the lock manager ---- */

static const char *dlm_names[] = {"NL", "CR", "CW", "PR", "PW", "EX"};

static int rig_lock(struct glock__lockman *lm, struct glock__lm_lock *lk, unsigned int type,
		    uint64_t number, int mode, uint32_t flags)
{
	(void)type, (void)number;
	assert_null(rig.open);
	assert_int_equal(!!lk->id, !!(flags & GLOCK__LKF_CONVERT));
	note("%s:%s%s%s%s%s", flags & GLOCK__LKF_CONVERT ? "convert" : "ask", dlm_names[mode],
	     flags & GLOCK__LKF_QUECVT ? ":quecvt" : "", flags & GLOCK__LKF_NOQUEUE ? ":try" : "",
	     flags & GLOCK__LKF_NOQUEUEBAST ? ":1cb" : "",
	     flags & GLOCK__LKF_DEATH_UNREPORTED ? ":death" : "");
	if (rig.refuse)
		return rig.refuse;
	rig.open = lk;
	rig.asked_mode = mode;
	if (rig.answer_at_once) {
		rig.open = NULL;
		lk->id = 1;
		lm->events->reply(lk, 0, 0);
	}
	return 0;
}

static bool rig_cancel(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	(void)lm;
	assert_ptr_equal(lk, rig.open);
	note("cancel");
	if (rig.answer_in_cancel) {
		rig_answer(0);
		note("cancel-ends");
	}
	return !rig.refuse_cancel;
}

static void rig_unlock(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	note("unlock");
	lm->events->reply(lk, -GLOCK__DLM_EUNLOCK, 0);
}

static void rig_leave(struct glock__lockman *lm, bool failed)
{
	struct glock__lm_lock *lk = rig.open;

	note("leave%s", failed ? ":failed" : "");
	rig.open = NULL;
	if (lk)
		lm->events->reply(lk, -ENODEV, 0);
}

static int64_t rig_make_room(struct glock__lockman *lm, unsigned int type, uint64_t number,
			     int64_t waited)
{
	(void)lm, (void)type, (void)number;
	note("room:%d", (int)(waited / RIG_MS));
	return rig.room;
}

/* Glocks with odd numbers are in part 1. */
static unsigned int rig_part(struct glock__lockman *lm, unsigned int type, uint64_t number)
{
	(void)lm, (void)type;
	return number % 2;
}

static void rig_gave_back(struct glock__lockman *lm, unsigned int part, size_t n)
{
	(void)lm;
	note("gave:%u:%zu", part, n);
}

static void rig_free(struct glock__lockman *lm)
{
	(void)lm;
}

static const struct glock__lm_ops rig_lm = {
    .name = "rig",
    .lock = rig_lock,
    .cancel = rig_cancel,
    .unlock = rig_unlock,
    .leave = rig_leave,
    .free = rig_free,
};

static const struct glock__lm_memory rig_memory = {
    .make_room = rig_make_room, .part = rig_part, .gave_back = rig_gave_back};

/* ---- operations ---- */

static void in_op(const char *op, struct glock *gl, struct glock_holder *gh)
{
	if (rig.in_op)
		rig.in_op(op, gl, gh);
}

static int op_xmote_th(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	note("th:%s:%u", glock__modes[to].name, sync);
	in_op("xmote_th", gl, NULL);
	return rig.th_error;
}

static int op_xmote_bh(struct glock *gl, enum glock_mode mode)
{
	note("bh:%s", glock__modes[mode].name);
	in_op("xmote_bh", gl, NULL);
	return rig.bh_error;
}

static void op_inval(struct glock *gl, unsigned int what)
{
	note("inval:%u", what);
	in_op("inval", gl, NULL);
}

static unsigned long op_pages(struct glock *gl)
{
	in_op("pages", gl, NULL);
	return rig.pages;
}

static int op_demote_ok(struct glock *gl)
{
	note("demote_ok");
	in_op("demote_ok", gl, NULL);
	return rig.demote_ok;
}

static int op_lock(struct glock_holder *gh)
{
	note("lock");
	in_op("lock", glock_of(gh), gh);
	return rig.lock_error;
}

static int op_instantiate(struct glock_holder *gh)
{
	note("instantiate:%s", glock__modes[glock_mode_of(gh)].name);
	in_op("instantiate", glock_of(gh), gh);
	return rig.instantiate_error;
}

static void op_unlock(struct glock_holder *gh)
{
	note("unlock_op");
	in_op("unlock", glock_of(gh), gh);
}

static void op_dump(struct glock *gl, glock_print_fn *print, void *to)
{
	print(to, " X: object\n", 11);
	in_op("dump", gl, NULL);
}

static void op_callback(struct glock *gl, enum glock_mode to, int remote)
{
	note("callback:%s:%s", glock__modes[to].name, remote ? "remote" : "local");
	in_op("callback", gl, NULL);
}

static void op_lost(struct glock_holder *gh)
{
	note("lost");
	in_op("lost", glock_of(gh), gh);
}

/* Inodes have the operations of the cache. Resource groups and journals have all of them. */
static const struct glock_ops inode_ops = {
    .size = sizeof(inode_ops),
    .xmote_th = op_xmote_th,
    .inval = op_inval,
    .demote_ok = op_demote_ok,
    .pages = op_pages,
    .dump = op_dump,
    .lost = op_lost,
};

static const struct glock_ops rgrp_ops = {
    .size = sizeof(rgrp_ops),
    .xmote_th = op_xmote_th,
    .xmote_bh = op_xmote_bh,
    .inval = op_inval,
    .demote_ok = op_demote_ok,
    .pages = op_pages,
    .lock = op_lock,
    .unlock = op_unlock,
    .dump = op_dump,
    .callback = op_callback,
    .lost = op_lost,
};

static const struct glock_ops read_in_ops = {
    .size = sizeof(read_in_ops),
    .xmote_th = op_xmote_th,
    .inval = op_inval,
    .lost = op_lost,
    .instantiate = op_instantiate,
};

static const struct glock_ops unlock_only_ops = {
    .size = sizeof(unlock_only_ops),
    .unlock = op_unlock,
};

static const struct glock_type_options types[] = {
    {.size = sizeof(types[0]),
     .type = RIG_READ_IN,
     .name = "read in",
     .hold = GLOCK_HOLD_NONE,
     .flags = GLOCK_OPS_LVB,
     .caches = GLOCK_CACHES_METADATA | GLOCK_CACHES_DATA,
     .modes = 1u << GLOCK_SH | 1u << GLOCK_EX | 1u << GLOCK_DF,
     .ops = &read_in_ops},
    {.size = sizeof(types[0]), .type = RIG_UNLOCK_ONLY, .name = "unlock", .ops = &unlock_only_ops},
    {.size = sizeof(types[0]),
     .type = GLOCK_INODE,
     .hold = 200 * RIG_MS,
     .ops = &inode_ops,
     .flags = GLOCK_OPS_ASPACE},
    {.size = sizeof(types[0]),
     .type = GLOCK_RGRP,
     .hold = 200 * RIG_MS,
     .ops = &rgrp_ops,
     .flags = GLOCK_OPS_LVB},
    {.size = sizeof(types[0]), .type = GLOCK_JOURNAL, .hold = 200 * RIG_MS, .ops = &rgrp_ops},
    {.size = sizeof(types[0]),
     .type = 10,
     .name = "own",
     .hold = GLOCK_HOLD_NONE,
     .modes = 1u << GLOCK_SH | 1u << GLOCK_EX | 1u << GLOCK_DF},
};

/* ---- the world ---- */

static int64_t rig_now(void *arg)
{
	(void)arg;
	rig.looks++;
	return rig.now;
}

static uint32_t rig_random(void *arg)
{
	(void)arg;
	return 12345;
}

static unsigned int rig_cpu(void)
{
	return 0;
}

static struct glock__env env = {.now = rig_now, .random = rig_random, .cpu = rig_cpu, .cpus = 1};

void rig_open_with(struct glock_space_options *o)
{
	memset(&rig, 0, sizeof(rig));
	rig.lm.ops = &rig_lm;
	rig.lm.memory = &rig_memory;
	rig.now = 1000 * RIG_MS; /* a futex with a deadline of that time does not wait */
	rig.demote_ok = 1;
	o->size = sizeof(*o);
	o->flags |= GLOCK_SPACE_DISPATCH;
	if (!o->types) {
		o->types = types;
		o->n_types = ARRAY_SIZE(types);
	}
	o->log = on_log;
	env.mem = rig_mem;
	assert_int_equal(glock__space_open("rig", o, &rig.lm, &env, &rig.space), 0);
	assert_int_equal(trace_begin(rig.space, 8), 0);
}

void rig_open(unsigned int flags)
{
	struct glock_space_options o = {.flags = flags};

	rig_open_with(&o);
}

void rig_close(void)
{
	rig.answer_at_once = true;
	assert_null(rig.open);
	assert_int_equal(glock_space_close(rig.space), 0);
}

void rig_run(void)
{
	assert_true(glock_dispatch(rig.space) >= 0);
}

void rig_pass(int64_t ns)
{
	rig.now += ns;
	rig_run();
}

void rig_answer(int status)
{
	struct glock__lm_lock *lk = rig.open;

	assert_non_null(lk);
	rig.open = NULL;
	if (!status)
		lk->id = 1;
	rig.lm.events->reply(lk, status, 0);
	rig_run();
}

void rig_bast(struct glock *gl, int dlm_mode)
{
	rig.lm.events->bast(&gl->lk, dlm_mode);
	rig_run();
}

void rig_expect(const char *log)
{
	assert_string_equal(rig.log, log);
	*rig.log = '\0';
}

void rig_expect_message(const char *part)
{
	if (!strstr(rig.messages, part))
		fail_msg("messages \"%s\" have no \"%s\"", rig.messages, part);
	*rig.messages = '\0';
}

struct glock *rig_glock(unsigned int type, uint64_t number)
{
	struct glock *gl;

	assert_int_equal(glock_get(rig.space, type, number, &gl), 0);
	return gl;
}

void rig_nq(struct glock_holder *gh, struct glock *gl, enum glock_mode mode, unsigned int flags)
{
	static uint64_t owners = 1;

	glock__holder_init(gh, gl, mode, flags | GLOCK_ASYNC);
	glock_holder_owner(gh, owners++);
	assert_int_equal(glock_nq(gh), 0);
	rig_run();
}

void rig_hold(struct glock_holder *gh, struct glock *gl, enum glock_mode mode, unsigned int flags)
{
	rig_nq(gh, gl, mode, flags);
	if (!glock_poll(gh))
		rig_answer(0);
	assert_int_equal(glock_wait(gh, 0, 0), 0);
}

void rig_dq(struct glock_holder *gh)
{
	assert_int_equal(glock_dq(gh), 0);
	rig_run();
}

void rig_leave_cached(struct glock_holder *gh, struct glock *gl)
{
	rig_hold(gh, gl, GLOCK_EX, 0);
	rig_dq(gh);
	rig_pass(201 * RIG_MS);
}

int rig_setup(void **state)
{
	(void)state;
	rig_open(0);
	return 0;
}

int rig_teardown(void **state)
{
	(void)state;
	rig_close();
	return 0;
}
