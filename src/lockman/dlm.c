/* SPDX-License-Identifier: MIT */
/*
 * dlm.c - requests to the kernel's DLM, and what it says of them.
 *
 * A lock that the kernel knows has a slot here. The kernel gets the slot's number and generation to
 * hand back with everything that it says of the lock, so that what comes late for a lock which is
 * gone finds a slot of another generation, and nothing is done.
 *
 * Threads. Requests are made by whoever has the glock's bit lock. One thread reads what the kernel
 * says, and delivers it: replies and demands, in the order in which they come. A slot is freed by
 * that thread only, with the reply after which nothing more comes; or by the requester, when its
 * request is refused at once. d->lock protects the slots; it is not held while anything is
 * delivered. The thread makes no request and waits for nobody.
 *
 * The kernel refuses a request with -EBUSY while a cancel of the one before is not done with, though
 * its result was read; such a request is made again after a while, as GFS2 does.
 */
#include "dlm.h"
#include "dlm_dev.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS_FIRST = 64, BUSY_PAUSE_NS = 20000000 };

struct slot {
	struct glock__lm_lock *lk; /* NULL: free */
	uint32_t generation;
	uint32_t lkid; /* the kernel's; 0: it has not said yet, or has none */
	uint32_t next; /* free slot */
	int8_t mode;   /* granted; GLOCK__IV: none */
	int8_t asked;  /* of the open request */
	bool open;     /* a reply is due */
	bool unlocking;
	unsigned char value[GLOCK__LVB_LEN]; /* of a type without a value block: with the token */
};

struct dlm {
	struct glock__lockman lm;
	struct glock__dlm_options o;
	struct glock__dlm_dev dev;
	pthread_mutex_t lock;
	struct slot *slots; /* a lock's id is its slot's index + 1 */
	uint32_t n_slots, free;
	bool has_left;
	bool have_thread;
	pthread_t thread;
	int stop; /* an eventfd */
};

__attribute__((format(printf, 2, 3))) static void say(const struct dlm *d, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (!d->o.log)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	d->o.log(d->o.log_arg, text);
}

/* ---- slots ---- */

static int more_slots(struct dlm *d)
{
	uint32_t n = d->n_slots ? 2 * d->n_slots : SLOTS_FIRST;
	struct slot *slots = realloc(d->slots, n * sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	memset(slots + d->n_slots, 0, (n - d->n_slots) * sizeof(*slots));
	for (uint32_t i = n; i-- > d->n_slots;) {
		slots[i].next = d->free;
		d->free = i + 1;
	}
	d->slots = slots;
	d->n_slots = n;
	return 0;
}

/* Under d->lock, as all of these. NULL: no memory. */
static struct slot *new_slot(struct dlm *d, struct glock__lm_lock *lk)
{
	struct slot *s;

	if (!d->free && more_slots(d))
		return NULL;
	s = &d->slots[d->free - 1];
	d->free = s->next;
	*s = (struct slot){.lk = lk, .generation = s->generation + 1, .mode = GLOCK__IV};
	lk->id = (uint32_t)(s - d->slots) + 1;
	return s;
}

static void free_slot(struct dlm *d, struct slot *s)
{
	s->lk->id = 0;
	s->lk = NULL;
	s->next = d->free;
	d->free = (uint32_t)(s - d->slots) + 1;
}

static uintptr_t tag_of(const struct dlm *d, const struct slot *s)
{
	uintptr_t index = (uintptr_t)(s - d->slots);

	return sizeof(uintptr_t) == 8 ? (uintptr_t)((uint64_t)s->generation << 32 | index)
				      : (s->generation & 0xfff) << 20 | index;
}

static struct slot *slot_of_tag(struct dlm *d, uintptr_t tag)
{
	uint32_t index = sizeof(tag) == 8 ? (uint32_t)tag : tag & 0xfffff;
	struct slot *s = index < d->n_slots ? &d->slots[index] : NULL;

	return s && s->lk && tag_of(d, s) == tag ? s : NULL;
}

static struct slot *slot_of(struct dlm *d, const struct glock__lm_lock *lk)
{
	assert(lk->id && lk->id <= d->n_slots);
	return &d->slots[lk->id - 1];
}

/* ---- values and tokens ---- */

/*
 * Higher than any token of this lock before: than the last one, which is in the value block, and if
 * a holder died with it, than any that a clock which is not far behind ours may have begun with.
 */
static uint64_t next_token(const unsigned char *value)
{
	uint64_t last = 0, now;
	struct timespec ts;

	for (int i = 8; i-- > 0;)
		last = last << 8 | value[i];
	clock_gettime(CLOCK_REALTIME, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	return last >= now ? last + 1 : now;
}

static void put_token(unsigned char *value, uint64_t token)
{
	for (int i = 0; i < 8; i++)
		value[i] = (unsigned char)(token >> 8 * i);
}

/* What the grant brought, or did not. */
static void take_value(struct slot *s, const struct glock__dlm_result *r)
{
	struct glock__lm_lock *lk = s->lk;

	if (r->has_lvb)
		memcpy(lk->has_lvb ? glock__lm_lvb(lk) : s->value, r->lvb, GLOCK__LVB_LEN);
	lk->lvb_valid = !(r->sbflags & GLOCK__SBF_VALNOTVALID);
	lk->token = 0;
	if (s->asked == GLOCK__EX && !lk->has_lvb) {
		lk->token = next_token(s->value);
		put_token(s->value, lk->token);
	}
}

/* ---- what the kernel says ---- */

static void completed(struct dlm *d, const struct glock__dlm_result *r)
{
	struct glock__lm_lock *lk = NULL;
	unsigned int sbflags = r->sbflags;
	int status = r->status;
	struct slot *s;
	bool gone;

	pthread_mutex_lock(&d->lock);
	s = slot_of_tag(d, r->tag);
	if (s && s->open) {
		lk = s->lk;
		s->open = false;
		s->lkid = r->lkid ? r->lkid : s->lkid;
		gone = status && (s->unlocking || s->mode == GLOCK__IV);
		if (!status) {
			take_value(s, r);
			s->mode = s->asked;
			/* A holder that died is told to whoever gets the lock in earnest. */
			if (sbflags & GLOCK__SBF_VALNOTVALID && s->mode > GLOCK__NL)
				sbflags |= GLOCK__SBF_OWNER_DIED;
		}
		if (gone)
			free_slot(d, s);
	}
	pthread_mutex_unlock(&d->lock);
	if (lk)
		d->lm.events->reply(lk, status, sbflags);
}

static void told(struct dlm *d, const struct glock__dlm_result *r)
{
	struct glock__lm_lock *lk = NULL;
	struct slot *s;

	pthread_mutex_lock(&d->lock);
	s = slot_of_tag(d, r->tag);
	if (s && !s->unlocking)
		lk = s->lk;
	pthread_mutex_unlock(&d->lock);
	/* The lock stays until this thread has read that it is gone. */
	if (lk)
		d->lm.events->bast(lk, r->mode);
}

static void *read_results(void *arg)
{
	struct dlm *d = arg;
	struct pollfd p[2] = {{.fd = d->dev.fd, .events = POLLIN},
			      {.fd = d->stop, .events = POLLIN}};
	struct glock__dlm_result r;
	int got;

	while (poll(p, 2, -1) > 0 || errno == EINTR) {
		while ((got = glock__dlm_read(&d->dev, &r)) > 0)
			(r.bast ? told : completed)(d, &r);
		if (got < 0) {
			say(d, "lockspace %s: reading the device: %s", d->dev.name, strerror(-got));
			d->lm.events->gone(d->lm.owner);
			return NULL;
		}
		if (p[1].revents)
			break;
	}
	return NULL;
}

/* ---- requests ---- */

/* Under d->lock: what the call says of the value block. */
static void add_value(struct glock__dlm_call *call, const struct slot *s, unsigned char *value)
{
	const struct glock__lm_lock *lk = s->lk;

	call->flags |= GLOCK__LKF_VALBLK;
	/* A value that is not valid is not to become so by being written back. */
	if (lk->has_lvb && s->mode != GLOCK__IV && !lk->lvb_valid)
		call->flags |= GLOCK__LKF_IVVALBLK;
	memcpy(value, lk->has_lvb ? (const unsigned char *)(lk + 1) : s->value, GLOCK__LVB_LEN);
	call->lvb = value;
}

static int64_t ask(struct dlm *d, const struct glock__dlm_call *call)
{
	const struct timespec pause = {.tv_nsec = BUSY_PAUSE_NS};
	int64_t result;

	while ((result = glock__dlm_lock(&d->dev, call)) == -EBUSY)
		nanosleep(&pause, NULL);
	return result;
}

static int dlm_lock(struct glock__lockman *lm, struct glock__lm_lock *lk, unsigned int type,
		    uint64_t number, int mode, uint32_t flags)
{
	struct dlm *d = (struct dlm *)lm;
	char name[GLOCK__LM_NAME_LEN + 1];
	unsigned char value[GLOCK__LVB_LEN];
	struct glock__dlm_call call = {.mode = mode,
				       .flags = flags & ~GLOCK__LM_CALLER_WAITS,
				       .name = name,
				       .namelen = GLOCK__LM_NAME_LEN};
	struct slot *s = NULL;
	int64_t result;

	glock__lm_name(name, type, number);
	pthread_mutex_lock(&d->lock);
	if (!d->has_left)
		s = lk->id ? slot_of(d, lk) : new_slot(d, lk);
	if (!s) {
		pthread_mutex_unlock(&d->lock);
		return d->has_left ? -ENODEV : -ENOMEM;
	}
	assert(!s->open && !s->unlocking);
	s->open = true;
	s->asked = (int8_t)mode;
	call.tag = tag_of(d, s);
	call.lkid = s->lkid;
	add_value(&call, s, value);
	pthread_mutex_unlock(&d->lock);

	result = ask(d, &call);

	pthread_mutex_lock(&d->lock);
	s = slot_of_tag(d,
			call.tag); /* slots may have moved; or the reply has come, and freed it */
	if (s && result > 0) {
		s->lkid = (uint32_t)result;
	} else if (s && result < 0) {
		s->open = false;
		if (s->mode == GLOCK__IV)
			free_slot(d, s);
	}
	pthread_mutex_unlock(&d->lock);
	return result < 0 ? (int)result : 0;
}

static void dlm_cancel(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	struct dlm *d = (struct dlm *)lm;
	struct glock__dlm_call call = {.flags = GLOCK__LKF_CANCEL};
	bool open = false;

	pthread_mutex_lock(&d->lock);
	if (lk->id && !d->has_left) {
		struct slot *s = slot_of(d, lk);

		open = s->open && s->lkid;
		call.tag = tag_of(d, s);
		call.lkid = s->lkid;
	}
	pthread_mutex_unlock(&d->lock);
	/* If it fails it was decided already, and the reply to that comes. */
	if (open)
		glock__dlm_unlock(&d->dev, &call);
}

static void dlm_unlock(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	struct dlm *d = (struct dlm *)lm;
	const struct timespec pause = {.tv_nsec = BUSY_PAUSE_NS};
	struct glock__dlm_call call = {0};
	bool has_left;
	struct slot *s;
	int err;

	pthread_mutex_lock(&d->lock);
	s = slot_of(d, lk);
	has_left = d->has_left;
	if (has_left) {
		free_slot(d, s);
	} else {
		s->open = true;
		s->unlocking = true;
		call.tag = tag_of(d, s);
		call.lkid = s->lkid;
	}
	pthread_mutex_unlock(&d->lock);
	if (!has_left) {
		while ((err = glock__dlm_unlock(&d->dev, &call)) == -EBUSY)
			nanosleep(&pause, NULL);
		if (!err)
			return;
		/* The lockspace is gone, and the lock with it. */
		pthread_mutex_lock(&d->lock);
		s = slot_of_tag(d, call.tag);
		if (s)
			free_slot(d, s);
		pthread_mutex_unlock(&d->lock);
		if (!s)
			return;
	}
	lm->events->reply(lk, -GLOCK__DLM_EUNLOCK, 0);
}

/* ---- joining and leaving ---- */

static void stop_thread(struct dlm *d)
{
	uint64_t one = 1;

	if (!d->have_thread)
		return;
	while (write(d->stop, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(d->thread, NULL);
	d->have_thread = false;
}

/* Closing the device gives all locks back; of those in EX the kernel says that the holder died. */
static void dlm_leave(struct glock__lockman *lm, bool failed)
{
	struct dlm *d = (struct dlm *)lm;

	pthread_mutex_lock(&d->lock);
	d->has_left = true;
	pthread_mutex_unlock(&d->lock);
	stop_thread(d);
	for (uint32_t i = 0; i < d->n_slots; i++) {
		struct glock__lm_lock *lk = NULL;
		bool unlocking = false;

		pthread_mutex_lock(&d->lock);
		if (d->slots[i].lk && d->slots[i].open) {
			lk = d->slots[i].lk;
			unlocking = d->slots[i].unlocking;
			d->slots[i].open = false;
			if (unlocking || d->slots[i].mode == GLOCK__IV)
				free_slot(d, &d->slots[i]);
		}
		pthread_mutex_unlock(&d->lock);
		if (lk)
			lm->events->reply(lk, unlocking ? -GLOCK__DLM_EUNLOCK : -ENODEV, 0);
	}
	glock__dlm_close(&d->dev, !failed);
}

static void dlm_free(struct glock__lockman *lm)
{
	struct dlm *d = (struct dlm *)lm;

	stop_thread(d);
	glock__dlm_close(&d->dev, false);
	if (d->stop >= 0)
		close(d->stop);
	pthread_mutex_destroy(&d->lock);
	free(d->slots);
	free(d);
}

static int dlm_start(struct glock__lockman *lm)
{
	struct dlm *d = (struct dlm *)lm;
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&d->thread, NULL, read_results, d);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	d->have_thread = !err;
	if (d->have_thread)
		pthread_setname_np(d->thread, "glock-dlm");
	return err;
}

static const struct glock__lm_ops dlm_ops = {
    .name = "dlm",
    .lock = dlm_lock,
    .cancel = dlm_cancel,
    .unlock = dlm_unlock,
    .leave = dlm_leave,
    .free = dlm_free,
    .start = dlm_start,
};

int glock__dlm_new(const struct glock__dlm_options *o, struct glock__lockman **lm)
{
	struct dlm *d = calloc(1, sizeof(*d));
	char why[512];
	int err;

	if (!d)
		return -ENOMEM;
	d->lm.ops = &dlm_ops;
	d->o = *o;
	d->dev.fd = -1;
	pthread_mutex_init(&d->lock, NULL);
	d->stop = eventfd(0, EFD_CLOEXEC);
	err = d->stop < 0 ? -errno : glock__dlm_open(&d->dev, o->name, why, sizeof(why));
	if (err) {
		if (d->stop >= 0)
			say(d, "%s", why);
		dlm_free(&d->lm);
		return err;
	}
	*lm = &d->lm;
	return 0;
}
