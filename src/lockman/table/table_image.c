/* SPDX-License-Identifier: MIT */
/*
 * table_image.c - the value block and the deaths of a resource, for a table that is made anew from
 * the state of a resource elsewhere.
 */
#include "table_store.h"

int glock__table_put_value(struct glock__table *t, const void *name, size_t namelen,
			   const struct glock__table_value *v)
{
	union cell init = {.lvb = {.type = CELL_LVB, .seq = v->seq}};
	struct res *res = glock__table_res_find(t, name, namelen);

	begin_steps();
	if (!res)
		return -ENOENT;
	memcpy(init.lvb.data, v->data, GLOCK__LVB_LEN);
	if (res->lvb)
		glock__table_cell_free(t, res->lvb);
	put(t, &res->lvb, glock__table_cell_new(t, CELL_LVB, &init));
	if (!res->lvb) {
		glock__table_rollback(t);
		return -ENOSPC;
	}
	put(t, &res->flags, v->flags);
	commit(t);
	return 0;
}

bool glock__table_get_value(const struct glock__table *t, const void *name, size_t namelen,
			    struct glock__table_value *v)
{
	const struct res *res = glock__table_res_find(t, name, namelen);

	*v = (struct glock__table_value){0};
	if (!res)
		return false;
	v->flags = res->flags;
	if (res->lvb) {
		v->seq = cell_at(t, res->lvb)->lvb.seq;
		memcpy(v->data, cell_at(t, res->lvb)->lvb.data, GLOCK__LVB_LEN);
	}
	return true;
}
