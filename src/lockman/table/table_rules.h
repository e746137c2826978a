/* SPDX-License-Identifier: MIT */
/*
 * table_rules.h - the rules of the DLM: which modes agree, which lock is granted, which node is
 * told, and the work that follows from a change.
 */
#ifndef GLOCK__TABLE_RULES_H
#define GLOCK__TABLE_RULES_H

#include "table_store.h"

/* ---- table_rules.c ---- */

enum lvb_op { LVB_NONE, LVB_READ, LVB_WRITE };

extern const uint8_t glock__table_compat[8][8];
extern const uint8_t glock__table_join[8][8];
extern const uint8_t glock__table_quecvt[8][8];
extern const uint8_t glock__table_lvb_op[8][8];

static inline bool modes_agree(int a, int b)
{
	return glock__table_compat[MODE(a)][MODE(b)];
}

int glock__table_lock_args(const struct glock__table *t, const struct glock__table_request *args);
int glock__table_unlock_args(uint32_t flags);

/* ---- table_grant.c ---- */

enum verdict { REFUSED, GRANTABLE, DEADLOCK, DEMOTED };

/* Tells whether lock can be granted. *rq: the mode. first: it is judged for the first time. */
enum verdict glock__table_judge(const struct glock__table *t, const struct res *res,
				const struct lock *lock, bool first, int8_t *rq);

bool glock__table_grantable(const struct glock__table *t, const struct res *res,
			    const struct lock *lock, int8_t rq, bool first);

/* Moves a lock into that queue, or out of all, with these modes. */
void glock__table_move(struct glock__table *t, struct res *res, struct lock *lock,
		       enum lock_status status, int8_t gr, int8_t rq);
void glock__table_demote(struct glock__table *t, struct res *res, struct lock *lock);

/* Grants in mode rq. The reply goes into event; NULL: it becomes an AST. */
void glock__table_grant(struct glock__table *t, struct res *res, struct lock *lock, int8_t rq,
			struct glock__table_event *event);
void glock__table_lvb_write(struct glock__table *t, struct res *res, const void *value);
void glock__table_died(struct glock__table *t, struct res *res);
void glock__table_drop_copy(struct glock__table *t, struct lock *lock);

/* ---- table_callback.c ---- */

void glock__table_add_ast(struct glock__table *t, struct lock *lock);
void glock__table_add_bast(struct glock__table *t, struct lock *lock, int8_t mode);
/* The same for a request with IDLE: the node is told at once, whatever it was told before. */
void glock__table_ask_idle(struct glock__table *t, struct lock *lock, int8_t mode);
/* Tells whether lock is in the way of a request with IDLE for mode. */
bool glock__table_may_answer(const struct lock *lock, int8_t mode);
/* The caller clears a BAST that is there. */
void glock__table_drop_callbacks(struct glock__table *t, struct lock *lock);
bool glock__table_blocks_one(const struct lock *lock, int8_t mode);
bool glock__table_blocks_high(const struct lock *lock, int8_t mode, bool cw);

/* ---- table_work.c ---- */

/* These return the work that has to follow a change. */
struct work glock__table_work_grant(const struct glock__table *t, const struct res *res);
struct work glock__table_work_demoted(const struct glock__table *t, const struct res *res,
				      const struct lock *self);
struct work glock__table_work_bast(const struct glock__table *t, const struct res *res,
				   const struct lock *self, int8_t mode, bool converting);
/*
 * Counts the operation, does the work to the end, and commits. event gets the result of the
 * caller's own conversion.
 */
void glock__table_work_finish(struct glock__table *t, struct work work,
			      struct glock__table_event *event);
/* The same without a count, for the rest of an operation that was counted. */
void glock__table_work_rest(struct glock__table *t, struct work work,
			    struct glock__table_event *event);

#endif
