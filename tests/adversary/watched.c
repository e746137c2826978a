/* SPDX-License-Identifier: MIT */
/* watched.c - see watched.h. */
#include "watched.h"

struct glock *other;
struct watched did;

static int th(struct glock *of, enum glock_mode to, unsigned int sync)
{
	int (*fn)(struct glock * of);

	(void)to, (void)sync;
	did.th = pthread_self();
	did.ths++;
	fn = did.in_th;
	return fn ? fn(of) : 0;
}

static void inval(struct glock *of, unsigned int what)
{
	void (*fn)(struct glock * of);

	(void)what;
	did.invals++;
	fn = did.in_inval;
	if (fn)
		fn(of);
}

static int lock_op(struct glock_holder *gh)
{
	int (*fn)(struct glock_holder * gh) = did.in_lock;

	return fn ? fn(gh) : 0;
}

static void unlock_op(struct glock_holder *gh)
{
	did.unlock = pthread_self();
	did.order[did.unlocks++ % COUNT(did.order)] = (int)glock_number(glock_of(gh));
}

static void callback_op(struct glock *of, enum glock_mode to, int remote)
{
	void (*fn)(struct glock * of) = did.in_callback;

	(void)to, (void)remote;
	if (fn)
		fn(of);
}

static void lost_op(struct glock_holder *gh)
{
	(void)gh;
	did.lost = pthread_self();
	did.losses++;
}

const struct glock_ops ops = {.size = sizeof(ops),
			      .xmote_th = th,
			      .inval = inval,
			      .lock = lock_op,
			      .unlock = unlock_op,
			      .callback = callback_op,
			      .lost = lost_op};

void begin_watched(unsigned int flags)
{
	static const struct glock_type_options type = {.size = sizeof(type),
						       .type = GLOCK_INODE,
						       .ops = &ops,
						       .flags = GLOCK_OPS_LVB,
						       .hold = GLOCK_HOLD_NONE};

	space = open_space(&type, 1, flags);
	gl = get(space, GLOCK_INODE, 1);
}

void keeps(void *arg)
{
	struct glock_holder gh;

	(void)arg;
	begin();
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	shared->cell[0] = 1;
	UNTIL(shared->cell[1]);
	shared->cell[2] = 1;
	SAME(glock_dq(&gh), 0);
	end();
}

void drop_text(void *to, const char *text, size_t len)
{
	(void)to, (void)text, (void)len;
}

/* The functions of a request that waits, and of its glock. */

void *lets_go(void *gh)
{
	SAME(glock_dq(gh), 0);
	return NULL;
}
