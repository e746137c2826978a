/* SPDX-License-Identifier: MIT */
/* measure.c - see notify.h. */
#include "notify.h"

#include "glock/stats/choice.h"

void glock__measure_next(struct glock *gl, bool again)
{
	struct glock__lent *l = glock__lent_of(gl);

	if (!l || gl_busy(gl)->measured)
		return;
	if (again)
		glock__policy_edit(l)->choice.uses = 0;
	gl_busy(gl)->measure_next = true;
}

void glock__measure_granted(struct glock *gl, const struct glock__holder *gh)
{
	gl_busy(gl)->measure_next = false;
	gl_busy(gl)->measured = gh;
	gl_busy(gl)->measured_from = gl_now(gl);
}

/* The record may have been taken back meanwhile. */
void glock__measure_released(struct glock *gl)
{
	struct glock__lent *l = glock__lent_of(gl);

	gl_busy(gl)->measured = NULL;
	if (l)
		glock__choice_used(&glock__policy_edit(l)->choice,
				   gl_now_anew(gl) - gl_busy(gl)->measured_from);
}
