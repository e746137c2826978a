/* SPDX-License-Identifier: MIT */
/*
 * mirror.c - computes the statistics of every glock a second time, and counts replies by state.
 *
 * The computation sees only the requests that reach the lock manager, and its replies.
 */
#include "../glock/inside.h"
#include "glock/state/busy.h"

#include "glock/fast/word.h"

#include "world_impl.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

unsigned long world_seen[GLOCK_MODE_MAX][WORLD_REPLY_MAX][3];

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static void sample(struct glock__stats *s, int mean, int64_t with)
{
	int64_t d = with - s->v[mean];

	s->v[mean] += floor_div(d, 8);
	s->v[mean + 1] += floor_div((d < 0 ? -d : d) - s->v[mean + 1], 4);
}

static struct glock__stats *type_stats(unsigned int n, unsigned int type)
{
	struct task *t = task_self();

	return &world_current->node[n].types[type][t ? t->cpu : 0];
}

/* Another glock may now have the address of a freed one. */
struct mirror *mirror_of(const struct glock *gl)
{
	for (int i = 0; i < MIRRORS; i++) {
		struct mirror *m = &world_current->mirror[i];

		if (m->gl == gl && m->born == gl_record(gl)->born)
			return m;
	}
	return NULL;
}

static struct mirror *take(struct glock *gl, unsigned int n)
{
	struct mirror *m = NULL;

	for (int i = 0; i < MIRRORS; i++)
		if (world_current->mirror[i].gl == gl)
			m = &world_current->mirror[i];
	for (int i = 0; !m; i++) {
		assert(i < MIRRORS);
		if (!world_current->mirror[i].gl)
			m = &world_current->mirror[i];
	}
	*m = (struct mirror){.gl = gl, .node = n, .born = gl_record(gl)->born};
	return m;
}

void mirror_new(struct glock *gl, unsigned int n)
{
	struct mirror *m = take(gl, n);

	m->known = true;
	/* With threads, a task may be between the library's count and this one. */
	m->stats = world_current->f.threads ? gl_record(gl)->stats : *type_stats(n, gl->type);
	m->stats.v[GLOCK__DCOUNT] = m->stats.v[GLOCK__QCOUNT] = 0;
}

void mirror_queued(const struct glock *gl, unsigned int n, int by)
{
	struct mirror *m = mirror_of(gl);

	if (m)
		m->stats.v[GLOCK__QCOUNT] += by;
	type_stats(n, gl->type)->v[GLOCK__QCOUNT] += by;
}

/* Notes since when the glock is usable, or that it is not usable any more. */
static void set_usable(struct mirror *m, bool usable)
{
	if (m->usable && !usable)
		m->used += world_now() - m->since;
	if (usable && !m->usable)
		m->since = world_now();
	m->usable = usable;
}

/* ---- what goes to the lock manager, and what comes ---- */

/* Returns the time of the request that reaches the lock manager. */
static int64_t stamp_of(const struct glock *gl)
{
	if (gl->flags & GLOCK__F_BUSY && glock__busy_of(gl)->in_call)
		return glock__busy_of(gl)->requested; /* counted when the call returns */
	return gl_record(gl)->stamp;
}

static void on_request(void *watcher, unsigned int n, struct glock__lm_lock *lk, int mode,
		       uint32_t flags)
{
	struct world *w = watcher;
	struct glock *gl = glock__entry(lk, struct glock, lk);
	struct glock__stats *type = type_stats(n, gl->type);
	struct mirror *m = mirror_of(gl);
	unsigned int to = mode < 0 ? GLOCK_UN : (unsigned int)glock__mode_of_dlm(mode);
	unsigned int may = glock__type_may_cache(gl_type(gl)->info.caches, to);
	/* A thread may have been interrupted between the stamp and here. */
	int64_t at = w->f.threads ? stamp_of(gl) : world_now();

	if (!m)
		m = take(gl, n);
	if (at > world_now() || at < m->stamp)
		trouble("a request is stamped with a time at which it was not made");
	/* Before the first grant, the glock has no mode to use. */
	if (m->granted || mode < 0) {
		sample(&m->stats, GLOCK__SIRT, at - m->stamp);
		sample(type, GLOCK__SIRT, at - m->stamp);
	}
	m->stamp = at;
	m->stats.v[GLOCK__DCOUNT]++;
	type->v[GLOCK__DCOUNT]++;
	m->unlocking = mode < 0;
	m->blocking = to != GLOCK_UN && gl->state != GLOCK_EX && !(flags & GLOCK__LKF_NOQUEUE);
	m->refused = false;
	m->giving = to == GLOCK_UN;
	if (m->giving)
		set_usable(m, false);
	if (mode >= 0 && w->node[n].cache[gl->number].bits & ~may && !cache_lost(w, n))
		trouble("node %u asks for %s with more in its cache than that allows", n,
			glock__modes[to].name);
}

static enum world_reply reply_kind(int status)
{
	switch (status) {
	case 0:
		return GRANTED;
	case -EAGAIN:
	case -EBUSY:
		return TRY_AGAIN;
	case -EDEADLK:
		return DEADLOCK;
	case -GLOCK__DLM_ECANCEL:
		return CANCELED;
	default:
		return FAILED;
	}
}

static void on_reply(void *watcher, unsigned int n, struct glock__lm_lock *lk, int status)
{
	struct glock *gl = glock__entry(lk, struct glock, lk);
	struct glock__stats *type = type_stats(n, gl->type);
	struct mirror *m = mirror_of(gl);
	int mean = m->blocking ? GLOCK__SRTTB : GLOCK__SRTT;

	(void)watcher;
	sample(&m->stats, mean, world_now() - m->stamp);
	sample(type, mean, world_now() - m->stamp);
	if (status == -GLOCK__DLM_EUNLOCK) {
		m->gl = NULL;
		return;
	}
	m->refused = status;
	m->granted |= !status;
	world_seen[gl->state][reply_kind(status)][gl->flags & GLOCK__F_DEMOTE           ? 2
						  : gl->flags & GLOCK__F_PENDING_DEMOTE ? 1
											: 0]++;
}

static void on_bast(void *watcher, unsigned int n, struct glock__lm_lock *lk, int mode)
{
	struct mirror *m = mirror_of(glock__entry(lk, struct glock, lk));

	(void)watcher, (void)n;
	if (m && !m->unlocking)
		m->counts.basts += glock__mode_for_bast(mode) >= 0;
}

/* ---- grants while a request waits at the master ---- */

static void on_arrival(void *watcher, unsigned int n, struct glock__lm_lock *lk, int mode,
		       uint32_t flags)
{
	struct world *w = watcher;
	struct glock *gl = glock__entry(lk, struct glock, lk);

	w->node[n].petition[gl->number] = (struct petition){
	    .open = true,
	    .down = glock__mode_is_down(gl->state, (enum glock_mode)glock__mode_of_dlm(mode)),
	    .fresh = !(flags & GLOCK__LKF_CONVERT)};
}

static void on_decision(void *watcher, unsigned int n, struct glock__lm_lock *lk, int status)
{
	struct world *w = watcher;
	unsigned int g = (unsigned int)glock__entry(lk, struct glock, lk)->number;
	struct petition *p = &w->node[n].petition[g];

	if (!p->open)
		return; /* the lock is given back */
	p->open = false;
	for (unsigned int i = 0; i < w->nodes && !status && !p->down; i++)
		w->node[i].petition[g].granted += i != n;
}

/* Checks how many grants passed each request that still waits. */
void mirror_check_petitions(struct world *w)
{
	for (unsigned int n = 0; n < w->nodes; n++) {
		for (unsigned int g = 0; g < w->glocks && w->node[n].space; g++) {
			const struct petition *p = &w->node[n].petition[g];
			unsigned int *most = p->fresh ? &w->passed_fresh : &w->passed;

			if (!p->open || p->granted <= *most || cache_lost(w, n))
				continue;
			*most = p->granted;
			if (p->granted >= w->nodes && !p->fresh)
				trouble("%u grants to others while node %u waits for glock %u",
					p->granted, n, g);
		}
	}
}

void mirror_watch(struct world *w, struct glock__sim_params *p)
{
	p->watcher = w;
	p->on_request = on_request;
	p->on_reply = on_reply;
	p->on_bast = on_bast;
	p->on_arrival = on_arrival;
	p->on_decision = on_decision;
}

/* ---- comparing ---- */

/* Returns the grants of the fast path that the statistics do not count yet. */
static int64_t to_fold(const struct glock *gl)
{
	int64_t n = glock__fast_granted(glock__fast_counted(gl));

	for (struct glock__thread *t = gl_space(gl)->threads; t; t = t->next) {
		const struct glock__slot *s = glock__slot_of_bias(t, gl);

		for (int i = 0; s->gl == gl && i < 2; i++)
			n += (int32_t)(s->count[i] - s->folded[i]);
	}
	return n;
}

/* Tells whether a task is in a call that may already have counted. */
static bool somebody_calls(const struct world *w, const struct glock *gl)
{
	for (unsigned int i = 0; i < w->clients; i++)
		if (w->client[i].busy && w->client[i].gl == gl)
			return true;
	return false;
}

static void check_counts(struct mirror *m, struct glock *gl, bool calls)
{
	struct glock__counts counts = look(gl).counts;
	int64_t used, now = world_now();

	if (m->counts.basts != counts.basts ||
	    (!calls && m->counts.tries_failed != counts.tries_failed))
		trouble("%u:%lu: %u demands, %u counted; %u tries failed, %u counted", gl->type,
			(unsigned long)gl->number, m->counts.basts, counts.basts,
			m->counts.tries_failed, counts.tries_failed);
	if (gl->state == GLOCK_UN ||
	    (m->refused && !(gl->flags & (GLOCK__F_HAVE_REPLY | GLOCK__F_FROZEN))))
		m->giving = m->refused = false;
	set_usable(m, gl->state != GLOCK_UN && !m->giving);
	used = glock__share_ns(gl_record(gl)->usable, now, gl->flags & GLOCK__F_USABLE);
	if (m->used + (m->usable ? now - m->since : 0) != used)
		trouble("%u:%lu was usable for %ld ns, not %ld", gl->type,
			(unsigned long)gl->number,
			(long)(m->used + (m->usable ? now - m->since : 0)), (long)used);
}

void mirror_check(struct world *w, struct glock *gl, unsigned int n)
{
	const struct glock__stats *s = &gl_record(gl)->stats;
	struct mirror *m = mirror_of(gl);
	struct glock__stats copy;

	if (!m)
		return;
	m->seen = true;
	if (!m->known || m->node != n)
		return;
	copy = m->stats;
	copy.v[GLOCK__QCOUNT] -= to_fold(gl); /* to be added up later */
	if (w->f.threads) {
		if (gl->flags & GLOCK__F_LOCK)
			return; /* it may be between the stamp and the request */
		if (cache_lost(w, n))
			return; /* a counted request may have come too late to be made */
		if (somebody_calls(w, gl))
			copy.v[GLOCK__QCOUNT] = s->v[GLOCK__QCOUNT];
	} else {
		check_counts(m, gl, somebody_calls(w, gl));
	}
	if (memcmp(&copy, s, sizeof(copy)))
		trouble("statistics of %u:%lu: srtt %ld %ld srttb %ld %ld sirt %ld %ld dlm %ld %ld "
			"queue %ld %ld",
			gl->type, (unsigned long)gl->number, (long)s->v[0], (long)copy.v[0],
			(long)s->v[2], (long)copy.v[2], (long)s->v[4], (long)copy.v[4],
			(long)s->v[6], (long)copy.v[6], (long)s->v[7], (long)copy.v[7]);
}

/* Returns the counts that the fast path has not added up yet. */
static int64_t uncounted(struct glock_space *space, unsigned int type)
{
	int64_t n = 0;

	for (struct glock *gl = NULL; (gl = world_next_glock(space, gl));)
		n += gl->type == type ? to_fold(gl) : 0;
	return n;
}

/*
 * No task may be in the library. With threads, two samples of one CPU may enter the means in
 * another order. Late additions may count on another CPU. The sums of counts must be exact.
 */
void mirror_check_types(struct world *w, unsigned int n)
{
	struct world_node *nd = &w->node[n];

	for (unsigned int type = GLOCK_INODE; type <= GLOCK_RGRP; type++) {
		int64_t later = uncounted(nd->space, type), dlm = 0, queued = -later;

		for (unsigned int cpu = 0; cpu < w->tasks.cpus; cpu++) {
			struct glock__stats mine = nd->types[type][cpu];
			struct glock__stats s =
			    glock__type_stats_read(&nd->space->type_stats, type, cpu);

			dlm += mine.v[GLOCK__DCOUNT] - s.v[GLOCK__DCOUNT];
			queued += mine.v[GLOCK__QCOUNT] - s.v[GLOCK__QCOUNT];
			if (later) /* a glock is left, because demote_ok said no each time */
				mine.v[GLOCK__QCOUNT] = s.v[GLOCK__QCOUNT];
			if (!w->f.threads && memcmp(&s, &mine, sizeof(s)))
				trouble("node %u: statistics of type %u", n, type);
		}
		if (dlm || queued)
			trouble("node %u: of type %u, %ld requests and %ld holders are not counted",
				n, type, (long)dlm, (long)queued);
	}
}

/* A glock that was never granted leaves without a message. */
void mirror_sweep(struct world *w, unsigned int n)
{
	for (int i = 0; i < MIRRORS; i++) {
		struct mirror *m = &w->mirror[i];

		if (m->node != n)
			continue;
		if (!m->seen && !m->unlocking)
			m->gl = NULL;
		m->seen = false;
	}
}
