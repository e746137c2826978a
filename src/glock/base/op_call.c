/* SPDX-License-Identifier: MIT */
/*
 * op_call.c - see op_call.h. The build has -fexceptions for this file.
 *
 * The callers of an operation have a bit lock, references and work that runs. They cannot give
 * these back if the stack goes away under them. So the stack goes away only down to this file: a
 * cleanup handler of the frame below jumps back.
 *
 * C++ counts the exceptions that are thrown and not caught. It does not count this way of catching,
 * so the count is put back by hand. The exception itself is not freed.
 */
#include "op_call.h"

#include "base/compiler.h"

#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>

/* Of the ABI of C++. Missing in a program without C++. */
struct cxa_globals {
	void *caught;
	unsigned int uncaught;
};
struct cxa_globals *__cxa_get_globals(void) __attribute__((weak));

static void jump_back(jmp_buf **back)
{
	if (*back)
		longjmp(**back, 1);
}

GLOCK__NOINLINE static void call_below(void (*fn)(void *arg), void *arg, jmp_buf *to)
{
	jmp_buf *back __attribute__((cleanup(jump_back))) = to;

	fn(arg);
	back = NULL;
}

GLOCK__NOINLINE static bool call_or_come_back(void (*fn)(void *arg), void *arg)
{
	jmp_buf back;

	if (_setjmp(back))
		return false;
	call_below(fn, arg, &back);
	return true;
}

bool glock__op_call(void (*fn)(void *arg), void *arg)
{
	struct cxa_globals *cxa = __cxa_get_globals ? __cxa_get_globals() : NULL;
	unsigned int uncaught = cxa ? cxa->uncaught : 0;
	bool returned;
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	returned = call_or_come_back(fn, arg);
	if (!returned && cxa)
		cxa->uncaught = uncaught;
	pthread_setcancelstate(state, NULL);
	return returned;
}
