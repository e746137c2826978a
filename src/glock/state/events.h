/* SPDX-License-Identifier: MIT */
/*
 * events.h - trace events of a glock. The caller has gl->lock.
 */
#ifndef GLOCK__EVENTS_H
#define GLOCK__EVENTS_H

#include "glock/core/internal.h"

void glock__trace_state_change(struct glock *gl, enum glock_mode to);
void glock__trace_put(struct glock *gl);
void glock__trace_demote(struct glock *gl, bool remote);
void glock__trace_holder(struct glock *gl, enum glock__event_name name,
			 const struct glock__holder *gh, bool out);
void glock__trace_lock_time(struct glock *gl, int64_t now, int64_t round_trip, int status,
			    unsigned int sbflags);

#endif
