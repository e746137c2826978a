/* SPDX-License-Identifier: MIT */
/*
 * say.h - tells the reason of a refusal: see say.c.
 */
#ifndef GLOCK_SQLITE_SAY_H
#define GLOCK_SQLITE_SAY_H

#include <stdbool.h>

/* Tells the reason. A message with SQLITE_NOTICE goes to SQLite's log only. */
__attribute__((format(printf, 2, 3))) void say(int code, const char *format, ...);
/*
 * Tells what happens to a path, and why.
 */
void say_because(int code, const char *path, const char *what, const char *why);
/* Passes a message of libglock on. */
void say_of_library(const char *message);
/* Returns whether the environment names a file or stderr for messages. */
bool say_is_seen(void);
/* Returns the last reason that this thread was told since say_forget(), or "". */
const char *say_last(void);
void say_forget(void);

#endif
