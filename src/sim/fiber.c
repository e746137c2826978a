/* SPDX-License-Identifier: MIT */
/*
 * fiber.c - makes, runs and stops fibers with makecontext(), _setjmp() and _longjmp().
 *
 * makecontext() begins a fiber on its stack. From then on _setjmp() and _longjmp() change sides.
 * Unlike swapcontext(), they do not call the kernel for the signal mask. These calls would take
 * most of a simulation's time. A fiber whose function is over is kept and runs another function
 * later.
 */
/* The check of _FORTIFY_SOURCE ends the program at a jump to another stack. */
#undef _FORTIFY_SOURCE

#include "fiber.h"

#include "base/sanitizer.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#if GLOCK__ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
enum { STACK = 512 << 10 };
#else
enum { STACK = 256 << 10 };
#endif
enum { GUARD = 64 << 10 }; /* the largest page of a kernel in use */

struct fiber {
	struct fiber *next; /* of the free fibers */
	void (*fn)(void *arg);
	void *arg;
	char *stack;
	bool begun; /* its stack is in use */
	bool over;
	ucontext_t start;
	jmp_buf here;
	void *fake; /* the address sanitizer's */
};

static struct fiber *idle, *inside;
static jmp_buf outside;

#if GLOCK__ASAN
static const void *outside_stack;
static size_t outside_size;
#endif

/*
 * Tells the address sanitizer which stack comes next. arrived() tells it that the stack is there.
 */
static void leaving(void **fake, const void *stack, size_t size)
{
#if GLOCK__ASAN
	__sanitizer_start_switch_fiber(fake, stack, size);
#else
	(void)fake, (void)stack, (void)size;
#endif
}

static void arrived(void *fake, bool within)
{
#if GLOCK__ASAN
	__sanitizer_finish_switch_fiber(fake, within ? &outside_stack : NULL,
					within ? &outside_size : NULL);
#else
	(void)fake, (void)within;
#endif
}

/* These two are not inlined, so that values in a caller's registers survive the jump. */
static void __attribute__((noinline)) leave(struct fiber *f)
{
#if GLOCK__ASAN
	leaving(&f->fake, outside_stack, outside_size);
#endif
	if (!_setjmp(f->here))
		_longjmp(outside, 1);
	arrived(f->fake, true);
}

static void begin(void)
{
	struct fiber *f = inside;

	arrived(NULL, true);
	for (;;) {
		f->fn(f->arg);
		f->over = true;
		leave(f);
	}
}

static void __attribute__((noreturn)) no_memory(void)
{
	fputs("no memory for a simulated thread\n", stderr);
	abort();
}

static struct fiber *make(void)
{
	struct fiber *f = calloc(1, sizeof(*f));

	if (!f)
		no_memory();
	f->stack = mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (f->stack == MAP_FAILED || mprotect(f->stack, GUARD, PROT_NONE) || getcontext(&f->start))
		no_memory();
	return f;
}

struct fiber *fiber_new(void (*fn)(void *arg), void *arg)
{
	struct fiber *f = idle ? idle : make();

	if (f == idle)
		idle = f->next;
	f->fn = fn;
	f->arg = arg;
	f->over = false;
	if (f->begun)
		return f;
	f->start.uc_stack.ss_sp = f->stack + GUARD;
	f->start.uc_stack.ss_size = STACK;
	makecontext(&f->start, begin, 0);
	return f;
}

static void __attribute__((noinline)) enter(struct fiber *f)
{
	if (_setjmp(outside))
		return;
	if (f->begun)
		_longjmp(f->here, 1);
	f->begun = true;
	setcontext(&f->start);
}

bool fiber_run(struct fiber *f)
{
	void *fake = NULL;

	inside = f;
	leaving(&fake, f->stack + GUARD, STACK);
	enter(f);
	arrived(fake, false);
	inside = NULL;
	return !f->over;
}

void fiber_leave(void)
{
	leave(inside);
}

bool fiber_inside(void)
{
	return inside;
}

void fiber_free(struct fiber *f)
{
	if (!f->over) {
		f->begun = false; /* from the top of the stack again */
#if GLOCK__ASAN
		__asan_unpoison_memory_region(f->stack + GUARD, STACK);
#endif
	}
	f->next = idle;
	idle = f;
}
