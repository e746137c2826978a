/* SPDX-License-Identifier: MIT */
/*
 * local_mutex.c - waits for a lock among processes, and takes the lock over from a dead owner. See
 * local_mutex.h.
 */
#include "local_nodes.h"
#include "local_shard.h"

#include "base/cpu.h"
#include "base/proc.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

enum { SPINS = 100 };
#define SLEEP_FIRST 300000ll  /* ns: the first sleep for a mutex, before the owner is looked at */
#define SLEEP_MAX 16000000ll  /* ns: the longest one */
#define TRY_PATIENCE 700000ll /* ns: how long a try waits for an owner that it cannot see run */
#define SHORT_PATIENCE 20000000ll
#define FROZEN_NS 2000000ll     /* an owner that did not run for so long counts as stopped */
#define TOLD_AFTER 1000000000ll /* ns: after this time the log says for which process */

/* ---- this thread ---- */

_Thread_local struct glock__local_thread glock__local_thread GLOCK__TLS;

GLOCK__COLD uint32_t glock__local_tid_anew(const struct local *l)
{
	glock__local_thread.tid = (uint32_t)gettid();
	glock__local_thread.pid = l->pid;
	return glock__local_thread.tid;
}

/* ---- the owner ---- */

enum owner {
	RUNS,
	DIED,    /* its process or its thread */
	STOPPED, /* by a signal, a debugger or a control group */
	HIDDEN,  /* lives, and this process cannot see more, for example in another pid namespace */
};

/* An owner that sleeps, as a waiter saw it last. */
struct nap {
	uint64_t word, switches;
	int64_t since; /* 0: the owner ran */
};

/*
 * Tells whether the owner sleeps since FROZEN_NS. A frozen thread is in state D or S, by the
 * version of the control group, as other sleepers are. If an owner sleeps for so long because the
 * kernel looks for memory, a theft does no harm, as local_steal.c shows.
 */
static bool is_frozen(struct nap *nap, union glock__local_word was,
		      const struct glock__proc_thread *thread, int64_t now)
{
	const uint64_t word = was.word & ~(uint64_t)MUTEX_FLAGS;

	if (!glock__is_off_cpu_state(thread->state)) {
		nap->since = 0;
		return false;
	}
	if (!nap->since || nap->word != word || nap->switches != thread->switches)
		*nap = (struct nap){.word = word, .switches = thread->switches, .since = now};
	return now - nap->since >= FROZEN_NS;
}

static enum owner look_at_owner(struct local *l, union glock__local_word was, struct nap *nap,
				int64_t now)
{
	const uint32_t node = mutex_owner(was);
	struct glock__proc_thread thread;
	pid_t pid;

	/* No node stores the number of a slot that does not exist: the word is damaged. */
	if (node >= NODES || !glock__local_process_lives(l, node))
		return DIED;
	if (!glock__local_sees(l, node))
		return HIDDEN;
	pid = (pid_t)l->head->slot[node].pid;
	if (syscall(SYS_tgkill, pid, (pid_t)was.tid, 0) && errno == ESRCH)
		return DIED;
	if (glock__proc_thread(pid, (pid_t)was.tid, &thread))
		return HIDDEN;
	if (thread.state == 'Z' || thread.state == 'X')
		return DIED;
	/* While a process stops or goes on, some of its threads run: they soon stop, or all run. */
	if (node == l->me)
		return RUNS;
	if (glock__is_stopped_state(thread.state) || is_frozen(nap, was, &thread, now))
		return STOPPED;
	return RUNS;
}

/* ---- waiting ---- */

struct wait {
	struct local *l;
	struct glock__local_mutex *m;
	const struct theft *theft; /* NULL: the mutex protects no table */
	union glock__local_word *mine;
	enum patience patience;
	int64_t since;
	struct nap nap;
};

static bool try_as_waiter(const struct wait *w)
{
	return mutex_try(w->m, w->l->me, glock__local_tid(w->l), MUTEX_WAITERS, w->mine);
}

/*
 * Looks at the owner. Returns 0: taken; -EOWNERDEAD: taken over; -EAGAIN: wait on; -EBUSY: a try
 * need not wait any more.
 */
static int look(struct wait *w, int64_t now)
{
	union glock__local_word was = mutex_load(w->m), next;
	enum owner owner;

	if (!was.tid)
		return try_as_waiter(w) ? 0 : -EAGAIN;
	owner = look_at_owner(w->l, was, &w->nap, now);
	if (owner == DIED) {
		*w->mine = next = mutex_next(was, w->l->me, glock__local_tid(w->l));
		next.state |= MUTEX_WAITERS;
		return mutex_cas(w->m, &was, next) ? -EOWNERDEAD : -EAGAIN;
	}
	if (owner == STOPPED && w->theft && !w->theft->steal(w->l, w->theft->s, was, w->mine))
		return 0;
	if (w->patience == WAIT_FOR_TRY && now - w->since >= TRY_PATIENCE &&
	    (owner != RUNS || glock__is_realtime()))
		return -EBUSY;
	return -EAGAIN;
}

/* Sleeps until the lock is dropped, or until that time. */
static void sleep_for(const struct wait *w, int64_t until)
{
	const struct timespec ts = local_time(until);
	union glock__local_word was = mutex_load(w->m), now;

	if (!was.tid)
		return;
	now = was;
	now.state |= MUTEX_WAITERS;
	if (was.state == now.state || mutex_cas(w->m, &was, now))
		atom_wait(&w->m->now.state, now.state, &ts);
}

/* One owner may keep many threads, each of which waits for a short time again and again. */
static void tell_owner(const struct wait *w, int64_t now)
{
	struct stuck *stuck = &w->l->stuck[w->theft ? w->theft->s - w->l->head->shard : SHARDS];
	union glock__local_word owned = mutex_load(w->m);
	const uint32_t node = mutex_owner(owned);
	int64_t tell = __atomic_load_n(&stuck->tell, __ATOMIC_RELAXED);
	char who[64];

	owned.state &= ~MUTEX_FLAGS;
	if (__atomic_exchange_n(&stuck->word, owned.word, __ATOMIC_RELAXED) != owned.word) {
		__atomic_store_n(&stuck->tell, now + TOLD_AFTER, __ATOMIC_RELAXED);
		return;
	}
	if (now < tell || node >= NODES ||
	    !__atomic_compare_exchange_n(&stuck->tell, &tell, now + 10 * (now - tell + TOLD_AFTER),
					 false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	glock__local_say(&w->l->o, "space %s: waits for %s which has %s", w->l->name,
			 glock__local_describe(w->l, node, who, sizeof(who)),
			 w->theft ? "a lock table" : "the list of processes");
}

GLOCK__COLD static int wait_for_mutex(struct wait *w)
{
	int64_t now, until, pause = SLEEP_FIRST;
	int err;

	for (int i = 0; !w->l->one_cpu && i < SPINS; i++) {
		glock__cpu_relax();
		if (mutex_try(w->m, w->l->me, glock__local_tid(w->l), 0, w->mine))
			return 0;
	}
	w->since = now = glock__clock();
	for (;;) {
		for (until = now + pause; now < until; now = glock__clock()) {
			sleep_for(w, until);
			if (try_as_waiter(w))
				return 0;
		}
		err = look(w, now);
		if (!err || err == -EOWNERDEAD)
			return err;
		tell_owner(w, now);
		if (err == -EBUSY ||
		    (w->patience == WAIT_SHORTLY && now - w->since >= SHORT_PATIENCE))
			return -EBUSY;
		if (pause < SLEEP_MAX)
			pause *= 2;
		now = glock__clock();
	}
}

GLOCK__NOINLINE int glock__local_mutex_wait(struct local *l, struct glock__local_mutex *m,
					    const struct theft *theft, enum patience patience,
					    union glock__local_word *mine)
{
	struct wait w = {.l = l, .m = m, .theft = theft, .mine = mine, .patience = patience};
	int err;

	if (patience != DO_NOT_WAIT)
		return wait_for_mutex(&w);
	err = look(&w, 0);
	return err == -EAGAIN ? -EBUSY : err;
}
