/* SPDX-License-Identifier: MIT */
/*
 * subuid.c - tells which user may act as other ones, by the list of subuid(5).
 */
#include "subuid.h"

#include <stdio.h>
#include <stdlib.h>

static void subuids_add(struct glock__subuids *s, const char *line)
{
	struct glock__subuid_range r, *more;

	/* Behind the user's name or number. No user stands for root, which has no limit. */
	if (sscanf(line, "%*[^:]:%u:%u", &r.first, &r.n) != 2 || !r.first)
		return;
	more = reallocarray(s->list, s->n + 1, sizeof(*more));
	if (!more)
		return;
	s->list = more;
	more[s->n++] = r;
}

void glock__subuids_read(struct glock__subuids *s)
{
	FILE *f = fopen("/etc/subuid", "re");
	char *line = NULL;
	size_t size = 0;

	*s = (struct glock__subuids){0};
	while (f && getline(&line, &size, f) > 0)
		subuids_add(s, line);
	free(line);
	if (f)
		fclose(f);
}

uid_t glock__subuids_first(const struct glock__subuids *s, uid_t uid)
{
	for (size_t i = 0; i < s->n; i++)
		if (uid - s->list[i].first < s->list[i].n)
			return s->list[i].first;
	return uid;
}
