/* SPDX-License-Identifier: MIT */
#include "take.h"

#include "conditions.h"
#include "waits.h"

int take_sample(struct model *m, struct collector *c, struct sample *out, struct problems *problems)
{
	int got = c->ops->next(c, out, problems), err;

	if (got <= 0)
		return got;
	err = model_sample(m, c, out);
	if (!err) {
		conditions_read(m, c, out);
		err = waits_read(m, c, out);
	}
	problems_join(problems, &m->problems);
	return err ? err : 1;
}
