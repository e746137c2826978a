/* SPDX-License-Identifier: MIT */
/*
 * log.c - messages of a space to the program.
 */
#include "space.h"

#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void glock__log(struct glock_space *space, const char *fmt, ...)
{
	GLOCK__NO_CANCEL;
	char message[512];
	va_list ap;

	if (!space->log)
		return;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	space->log(space->log_arg, message);
}

size_t glock__unknown_member(const void *at, size_t size, size_t known)
{
	const unsigned char *bytes = at;

	for (size_t i = known; i < size; i++)
		if (bytes[i])
			return i;
	return 0;
}

int glock__check_size(struct glock_space *space, const char *name, size_t size, size_t first)
{
	if (size >= first)
		return 0;
	glock__log(space,
		   "space %s: size %zu in a struct %s, which has at least %zu bytes: set size to "
		   "sizeof(struct %s)",
		   space->name, size, name, first, name);
	return -EINVAL;
}

int glock__not_let_go(const struct glock__holder *gh, int err)
{
	const char *why = err == -EPERM ? "another thread releases the holder; release it in the "
					  "thread that took it, or take it with GLOCK_NOPID"
					: "the holder is a copy; keep a holder at its address from "
					  "glock_nq() until glock_dq() has returned";

	glock__log(gl_space(gh->gl), "glock %u:%" PRIu64 " taken at %s: %s", gh->gl->type,
		   gh->gl->number, gh->where, why);
	return err;
}

/*
 * A longjmp() goes up the stack by less than LEFT_BYTES. A call from farther away is from another
 * stack, as of a coroutine inside an operation.
 */
enum { LEFT_BYTES = 1 << 20 };

/* Tells whether the caller is not inside the operation that the thread began. */
static bool has_left(const struct glock__in_op *op)
{
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	return here > (uintptr_t)op->frame && here - (uintptr_t)op->frame < LEFT_BYTES;
}

void glock__check_left(bool ends)
{
	struct glock__in_op *op = &glock__tls()->id.op;
	const struct glock *gl = op->gl;

	if (!gl || (!ends && !has_left(op)))
		return;
	op->gl = NULL;
	if (gl_space(gl)->generation == glock__generation())
		glock__log(gl_space(gl),
			   "glock %u:%" PRIu64
			   " (%s): operation %s was left by longjmp(), so the lock stays as it is "
			   "until the process ends; return from the operation instead",
			   gl->type, gl->number, gl_type(gl)->info.name, op->name);
}
