/* SPDX-License-Identifier: MIT */
/*
 * probes.h - the USDT probes of the fast path. A probe is a nop that a tracer turns into a trap.
 * Without sys/sdt.h, and with -Dprobes=disabled, a probe is no code at all.
 */
#ifndef GLOCK__PROBES_H
#define GLOCK__PROBES_H

#if defined(__has_include) && !defined(GLOCK_NO_PROBES)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define GLOCK__HAVE_PROBES true
#endif
#endif
#ifndef GLOCK__HAVE_PROBES
#define GLOCK__HAVE_PROBES false
#define DTRACE_PROBE4(provider, name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#define DTRACE_PROBE5(provider, name, a, b, c, d, e) ((void)(e))
#endif

#define PROBE_QUEUE(type, number, mode, out) DTRACE_PROBE4(glock, queue, type, number, mode, out)
#define PROBE_PROMOTE(type, number, mode, thread) \
	DTRACE_PROBE4(glock, promote, type, number, mode, thread)

#endif
