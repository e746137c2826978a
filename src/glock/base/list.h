/* SPDX-License-Identifier: MIT */
/* list.h - rings of links that lie in what they link. */
#ifndef GLOCK__LIST_H
#define GLOCK__LIST_H

#include <stdbool.h>
#include <stddef.h>

struct glock__list {
	struct glock__list *next, *prev;
};

#define glock__entry(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline void glock__list_init(struct glock__list *l)
{
	l->next = l->prev = l;
}

static inline bool glock__list_empty(const struct glock__list *l)
{
	return l->next == l;
}

/* Before `at`; with a list's head: at its end. */
static inline void glock__list_add(struct glock__list *at, struct glock__list *l)
{
	l->next = at;
	l->prev = at->prev;
	at->prev->next = l;
	at->prev = l;
}

static inline void glock__list_del(struct glock__list *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	glock__list_init(l);
}

#endif
