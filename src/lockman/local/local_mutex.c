/* SPDX-License-Identifier: MIT */
/*
 * local_mutex.c - waits for a lock among processes, and takes the lock over from a dead owner. See
 * local_mutex.h.
 */
#include "local_impl.h"

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
	STOPPED, /* by a signal or a debugger */
	HIDDEN,  /* lives, and this process cannot see more, for example in another pid namespace */
};

static enum owner look_at_owner(struct local *l, union glock__local_word was)
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
	return glock__is_stopped_state(thread.state) && node != l->me ? STOPPED : RUNS;
}

/* ---- waiting ---- */

struct wait {
	struct local *l;
	struct glock__local_mutex *m;
	const struct theft *theft; /* NULL: the mutex protects no table */
	union glock__local_word *mine;
	enum patience patience;
	int64_t since, tell;
};

static bool try_as_waiter(const struct wait *w)
{
	return mutex_try(w->m, w->l->me, glock__local_tid(w->l), MUTEX_WAITERS, w->mine);
}

/*
 * Looks at the owner. Returns 0: taken; -EOWNERDEAD: taken over; -EAGAIN: wait on; -EBUSY: a try
 * need not wait any more.
 */
static int look(const struct wait *w, int64_t now)
{
	union glock__local_word was = mutex_load(w->m), next;
	enum owner owner;

	if (!was.tid)
		return try_as_waiter(w) ? 0 : -EAGAIN;
	owner = look_at_owner(w->l, was);
	if (owner == DIED) {
		*w->mine = next = mutex_next(was, w->l->me, glock__local_tid(w->l));
		next.state |= MUTEX_WAITERS;
		return mutex_cas(w->m, &was, next) ? -EOWNERDEAD : -EAGAIN;
	}
	if (owner == STOPPED && w->theft &&
	    !w->theft->steal(w->l, w->theft->s, was, w->mine))
		return 0;
	if (w->patience == WAIT_FOR_TRY && owner != RUNS && now - w->since >= TRY_PATIENCE)
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

static void tell_owner(struct wait *w, int64_t now)
{
	const uint32_t node = mutex_owner(mutex_load(w->m));
	char who[64];

	if (now < w->tell || node >= NODES)
		return;
	w->tell = now + 10 * (now - w->tell + TOLD_AFTER);
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
	w->since = now = local_now();
	w->tell = now + TOLD_AFTER;
	for (;;) {
		for (until = now + pause; now < until; now = local_now()) {
			sleep_for(w, until);
			if (try_as_waiter(w))
				return 0;
		}
		err = look(w, now);
		if (err != -EAGAIN)
			return err;
		if (w->patience == WAIT_SHORTLY && now - w->since >= SHORT_PATIENCE)
			return -EBUSY;
		tell_owner(w, now);
		if (pause < SLEEP_MAX)
			pause *= 2;
		now = local_now();
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
