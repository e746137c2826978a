/* SPDX-License-Identifier: MIT */
/*
 * caps.c - gives up capabilities, with a table of those that each purpose keeps.
 */
#include "caps.h"

#include <cap-ng.h>
#include <errno.h>

static const struct {
	unsigned caps[2];
	unsigned n;
	bool raised; /* not in effect until caps_raise() */
} kept[] = {
    [CAPS_NONE] = {.n = 0},
    [CAPS_FIND_PATHS] = {{CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE}, 2, false},
    [CAPS_SEE_PROCESSES] = {{CAP_DAC_READ_SEARCH}, 1, true},
    /* The first includes the second. A sandbox may leave only the second. */
    [CAPS_WRITE_ANYWHERE] = {{CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH}, 2, false},
};

static int drop(enum caps_for what, bool for_good)
{
	bool there[2] = {false, false}, bounds;

	if (capng_get_caps_process())
		return -EIO;
	bounds = for_good && capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP);
	/* A request for an absent capability would be refused, and nothing would be dropped. */
	for (unsigned i = 0; i < kept[what].n; i++)
		there[i] = capng_have_capability(CAPNG_PERMITTED, kept[what].caps[i]);
	capng_clear(CAPNG_SELECT_BOTH);
	for (unsigned i = 0; i < kept[what].n; i++)
		if (there[i])
			capng_update(CAPNG_ADD,
				     CAPNG_PERMITTED | CAPNG_BOUNDING_SET |
					 (kept[what].raised ? 0 : CAPNG_EFFECTIVE),
				     kept[what].caps[i]);
	/*
	 * Each set has its own call, because the first one needs a capability that a container may
	 * not have.
	 */
	if (bounds && capng_apply(CAPNG_SELECT_BOUNDS))
		return -EPERM;
	return capng_apply(CAPNG_SELECT_CAPS) ? -EPERM : 0;
}

int caps_drop(enum caps_for what)
{
	return drop(what, false);
}

int caps_drop_for_good(enum caps_for what)
{
	return drop(what, true);
}

int caps_raise(bool on)
{
	if (capng_get_caps_process())
		return -EIO;
	if (!capng_have_capability(CAPNG_PERMITTED, CAP_DAC_READ_SEARCH))
		return 0;
	capng_update(on ? CAPNG_ADD : CAPNG_DROP, CAPNG_EFFECTIVE, CAP_DAC_READ_SEARCH);
	return capng_apply(CAPNG_SELECT_CAPS) ? -EPERM : 0;
}
