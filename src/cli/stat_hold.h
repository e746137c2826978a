/* SPDX-License-Identifier: MIT */
/*
 * stat_hold.h - why the hold time of a glock is what it is, and the bias of its word, as text and
 * as JSON.
 */
#ifndef GLOCK_STAT_HOLD_H
#define GLOCK_STAT_HOLD_H

#include "peek/peek.h"

#include <jansson.h>

/* Appends a line for each glock. Unlike the kernel's lines, the line begins with " T:". */
void hold_print(struct glock__text *t, const struct glock__segment_head *head,
		const struct glock__peek_glock *gl);
/* Returns NULL if the program sets the hold time, or no node has demanded the glock yet. */
json_t *hold_json(const struct glock__segment_head *head, const struct glock__peek_glock *gl);

/* The same for the bias: a line that begins with " B:", and two members of the object o. */
void bias_print(struct glock__text *t, const struct glock__peek_glock *gl);
void bias_json(json_t *o, const struct glock__peek_glock *gl);

#endif
