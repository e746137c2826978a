/* SPDX-License-Identifier: MIT */
/* sdt.h - replaces SystemTap's header, so that a test sees the probes without SystemTap. */
#ifndef TESTS_SDT_STUB_H
#define TESTS_SDT_STUB_H

void sdt_fired(const char *provider, const char *name, unsigned long a, unsigned long b);

#define DTRACE_PROBE4(provider, name, a, b, c, d) \
	sdt_fired(#provider, #name, (unsigned long)(a), (unsigned long)(b)), (void)(c), (void)(d)
#define DTRACE_PROBE5(provider, name, a, b, c, d, e)                                               \
	sdt_fired(#provider, #name, (unsigned long)(a), (unsigned long)(b)), (void)(c), (void)(d), \
	    (void)(e)

#endif
