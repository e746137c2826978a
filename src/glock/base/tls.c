/* SPDX-License-Identifier: MIT */
/*
 * tls.c - the calling thread, and the check that the process is still the one that it was.
 *
 * A word of memory that the kernel hands to children as zeros shows a fork. This takes no system
 * call and no handler, and clone() shows as well.
 */
#include "tls.h"

#include "base/proc.h"
#include "lock.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#ifndef GLOCK_ATOM_HOOKS
_Thread_local struct glock__tls glock__this_thread GLOCK__TLS;
#endif

/* ---- threads ---- */

static uint32_t thread_numbers;

uint32_t glock__new_thread_number(void)
{
	struct glock__tls *tls = glock__tls();

	while (!tls->id.number)
		tls->id.number = (atom_add32(&thread_numbers, 1) + 1) & ~GLOCK__LOCK_SLEEPERS;
	glock__lend_know(tls->id.number);
	return tls->id.number;
}

static struct glock__tls *know_this_thread(void)
{
	struct glock__tls *tls = glock__tls();
	uint32_t now = glock__generation();

	if (tls->id.tid && tls->id.generation == now && now)
		return tls;
	tls->id.generation = now;
	tls->id.tid = (pid_t)syscall(SYS_gettid);
	prctl(PR_GET_NAME, tls->id.name);
	return tls;
}

pid_t glock__thread_id(void)
{
	return know_this_thread()->id.tid;
}

const char *glock__thread_name(void)
{
	return know_this_thread()->id.name;
}

#ifndef GLOCK_ATOM_HOOKS
/*
 * A joined thread may exist for a moment more. A main thread that ended exists while other threads
 * run. Both have the flag of an exiting task.
 */
bool glock__thread_lives(pid_t tid)
{
	struct glock__proc proc;
	int err;

	if (syscall(SYS_tgkill, getpid(), tid, 0) && errno == ESRCH)
		return false;
	err = glock__proc_read(tid, &proc);
	return err ? err != -ESRCH : !proc.exits;
}
#endif

/* ---- forks ---- */

static uint32_t no_generation; /* stays 0 */
uint32_t *glock__generation_word = &no_generation;
static uint32_t last_generation; /* a child begins with the value of its parent */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void tls_wipe(void)
{
	atom_store32(glock__generation_word, 0);
	glock__tls()->fast.thread = NULL;
}

static void make_word(void)
{
	void *page = mmap(NULL, sizeof(uint32_t), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	glock__generation_word = page;
	if (madvise(page, sizeof(uint32_t), MADV_WIPEONFORK))
		pthread_atfork(NULL, NULL, tls_wipe); /* Linux before 4.14 */
}

void glock__tls_renew(void)
{
	struct glock__tls *tls = glock__tls();

	tls->id.process = glock__generation();
	tls->id.working = 0;
	tls->id.worker = NULL;
	tls->id.entered = NULL;
	tls->id.recovers = NULL;
	tls->id.spinlocked = NULL;
	tls->id.op = (struct glock__in_op){0};
	tls->deferred = (struct glock__deferred){0};
}

int glock__new_generation(uint32_t *generation, void (*forked)(void))
{
	uint32_t none = 0;

	pthread_once(&once, make_word);
	if (glock__generation_word == &no_generation)
		return -ENOMEM;
	*generation = glock__generation();
	if (*generation)
		return 0;
	*generation = atom_add32(&last_generation, 1) + 1;
	if (!atom_cas32(glock__generation_word, &none, *generation))
		*generation = none; /* another thread was first */
	else if (*generation > 1)
		forked();
	return 0;
}
