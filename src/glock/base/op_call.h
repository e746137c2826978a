/* SPDX-License-Identifier: MIT */
/* op_call.h - calls an operation of the program that may not return. */
#ifndef GLOCK__OP_CALL_H
#define GLOCK__OP_CALL_H

#include <stdbool.h>

/*
 * Calls fn(arg) with the cancellation of the thread disabled. Returns false if fn did not return:
 * pthread_exit(), a cancellation that fn allowed again, or an exception of C++ left it. These end
 * here, and the thread goes on.
 */
bool glock__op_call(void (*fn)(void *arg), void *arg);

#endif
