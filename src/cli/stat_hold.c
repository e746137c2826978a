/* SPDX-License-Identifier: MIT */
/*
 * stat_hold.c - why the hold time of a glock is what it is, and the bias of its word.
 */
#include "cli.h"

static const char *const whys[GLOCK__HOLD_WHY_MAX] = {
    [GLOCK__HOLD_UNASKED] = "no demand yet",
    [GLOCK__HOLD_UNKNOWN] = "given up at once: the cost of a hand-over is not known yet",
    [GLOCK__HOLD_SHARED] = "given up at once: it was in SH",
    [GLOCK__HOLD_SELDOM] = "given up at once: no use was expected soon",
    [GLOCK__HOLD_ENDED] = "kept until the hold time was over",
    [GLOCK__HOLD_UNUSED] = "given up early: the expected use did not come",
    [GLOCK__HOLD_IN_USE] = "kept: a use is expected soon",
};

/* A glock with a hold time that the program has set learns nothing. */
static const char *why_of(const struct glock__peek_glock *gl)
{
	const struct glock__hold_policy *h = &gl->lent->policy.hold;

	if (h->why == GLOCK__HOLD_UNASKED && gl->more && gl->more->counts.basts)
		return "the program has set no hold time";
	return h->why < GLOCK__HOLD_WHY_MAX ? whys[h->why] : "unknown";
}

/* The record is that of another process, and may have any content. */
static unsigned int uses_of(const struct glock__hold_policy *h)
{
	return h->uses < GLOCK__USES_MAX ? h->uses : GLOCK__USES_ANY;
}

static double us(uint32_t ns)
{
	return 1e-3 * ns;
}

void hold_print(struct glock__text *t, const struct glock__segment_head *head,
		const struct glock__peek_glock *gl)
{
	int64_t set = head->type[gl->r.type].hold;
	const struct glock__hold_policy *h;
	unsigned int u;

	if (set) {
		glock__text_print(t, " T: the program has set %.3f ms\n",
				  set > 0 ? 1e-6 * (double)set : 0.0);
		return;
	}
	if (!gl->lent || gl->lent->policy.hold.why == GLOCK__HOLD_UNASKED) {
		glock__text_print(t, " T: %s\n", gl->lent ? why_of(gl) : whys[GLOCK__HOLD_UNASKED]);
		return;
	}
	h = &gl->lent->policy.hold;
	u = uses_of(h);
	glock__text_print(t, " T: %.3f ms; %s\n", gl->more ? 1e-6 * (double)gl->more->hold : 0.0,
			  why_of(gl));
	glock__text_print(t,
			  " T: a hand-over takes %.1f us (%.1f giving up, %.1f until the use); "
			  "%.0f %% of the uses%s follow after %.1f us\n",
			  us(h->release) + us(h->enter), us(h->release), us(h->enter),
			  h->likely[u] / 655.36, u == GLOCK__USES_EX ? " in EX" : "",
			  us(h->mean[u]));
}

/* Names a bias of the word (src/glock/fast/bias.h). Returns NULL for a glock without one. */
static const char *bias_of(const struct glock__peek_glock *gl)
{
	switch (gl->more ? gl->more->bias : GLOCK_UN) {
	case GLOCK_SH:
		return "readers";
	case GLOCK_EX:
		return "thread";
	default:
		return NULL;
	}
}

void bias_print(struct glock__text *t, const struct glock__peek_glock *gl)
{
	const char *bias = bias_of(gl);

	glock__text_print(t, " B: %s%s; revocations: %u\n", bias ? "biased, to: " : "not biased",
			  bias ? bias : "", gl->more ? gl->more->revocations : 0);
}

void bias_json(json_t *o, const struct glock__peek_glock *gl)
{
	const char *bias = bias_of(gl);

	json_object_set_new(o, "bias", bias ? json_string(bias) : json_null());
	json_object_set_new(o, "revocations", json_integer(gl->more ? gl->more->revocations : 0));
}

json_t *hold_json(const struct glock__segment_head *head, const struct glock__peek_glock *gl)
{
	const struct glock__hold_policy *h;
	unsigned int u;

	if (!gl->lent || head->type[gl->r.type].hold)
		return NULL;
	h = &gl->lent->policy.hold;
	u = uses_of(h);
	return json_pack("{s:s, s:f, s:f, s:s, s:f, s:f}", "why", why_of(gl), "give_up_s",
			 1e-9 * h->release, "enter_s", 1e-9 * h->enter, "uses",
			 u == GLOCK__USES_EX ? "EX" : "any", "short_gap_s", 1e-9 * h->mean[u],
			 "short_gap_likely", h->likely[u] / 65536.0);
}
