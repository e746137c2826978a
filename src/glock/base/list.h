/* SPDX-License-Identifier: MIT */
/* list.h - circular lists, with the links inside the elements. */
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

/* Inserts l before `at`. If `at` is the head of a list, l becomes the last element. */
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
