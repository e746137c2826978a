/* SPDX-License-Identifier: MIT */
/*
 * log.c - a log of grants, answers, calls of operations and requests, in order and with their time.
 *
 * Two builds of the library behave alike if their logs are the same for the same seeds. Each entry
 * goes into a hash. With `to`, each entry is a line as well.
 */
#include "glock/state/queue.h"

#include "world_impl.h"

#include <assert.h>

struct world_log world_log;

static void log_mix(uint64_t value)
{
	world_log.hash = (world_log.hash ^ value) * 0x100000001b3ull;
	world_log.hash ^= world_log.hash >> 29;
}

void world_note(enum world_note kind, const char *what, const struct glock *gl, int a, int b)
{
	unsigned int n;

	if (!world_log.on)
		return;
	n = node_of(gl);
	world_log.n[kind]++;
	log_mix((uint64_t)world_now());
	for (const char *c = what; *c; c++)
		log_mix((unsigned char)*c);
	log_mix((uint64_t)n << 32 | (uint64_t)gl->type << 16 | gl->number);
	log_mix((uint64_t)(uint32_t)a << 32 | (uint32_t)b);
	if (world_log.to)
		fprintf(world_log.to, "%ld node %u glock %u:%lu %s %d %d\n", (long)world_now(), n,
			gl->type, (unsigned long)gl->number, what, a, b);
}

static void log_grant(const struct glock *gl, const struct glock__holder *gh)
{
	world_note(NOTE_GRANT, "grant", gl, gh->mode, (int)gh->flags);
}

void world_log_begin(FILE *to)
{
	world_log = (struct world_log){.on = true, .to = to, .hash = 0xcbf29ce484222325ull};
	glock__grant_hook = log_grant;
}

/* ---- requests ---- */

static const struct glock__lm_ops *sim_ops;

static const struct glock *glock_of_lock(const struct glock__lm_lock *lk)
{
	return glock__entry(lk, const struct glock, lk);
}

static int log_lock(struct glock__lockman *lm, struct glock__lm_lock *lk, unsigned int type,
		    uint64_t number, int mode, uint32_t flags)
{
	world_note(NOTE_REQUEST, "request", glock_of_lock(lk), mode, (int)flags);
	return sim_ops->lock(lm, lk, type, number, mode, flags);
}

static bool log_cancel(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	world_note(NOTE_REQUEST, "cancel", glock_of_lock(lk), 0, 0);
	return sim_ops->cancel(lm, lk);
}

static void log_unlock(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	world_note(NOTE_REQUEST, "unlock", glock_of_lock(lk), 0, 0);
	sim_ops->unlock(lm, lk);
}

void world_log_requests(struct glock__lockman *lm)
{
	static struct glock__lm_ops logged;

	if (!world_log.on)
		return;
	assert(!sim_ops || sim_ops == lm->ops);
	sim_ops = lm->ops;
	logged = *sim_ops;
	logged.lock = log_lock;
	logged.cancel = log_cancel;
	logged.unlock = log_unlock;
	lm->ops = &logged;
}
