/* SPDX-License-Identifier: MIT */
/*
 * record.h - a glock as others see it.
 */
#ifndef GLOCK__RECORD_H
#define GLOCK__RECORD_H

#include "stats.h"

#include <stdint.h>

/* type 0xff: the place is free. */
struct glock__record {
	uint32_t seq;
	uint32_t flags; /* enum glock__flag */
	uint64_t number;
	uint8_t type, state, target, demote_state, req, reply, usable, unused;
	uint32_t refs;
	uint32_t pages;
	int64_t hold, granted_at, demote_time, stamp;
	struct glock__stats stats;
	int64_t born, since, used;
	uint32_t basts, demotes, held_off, conversions_failed, tries_failed;
	uint32_t pad;
};

#endif
