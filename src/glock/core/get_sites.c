/* SPDX-License-Identifier: MIT */
/*
 * get_sites.c - a hash table from glocks to the call sites of glock_get().
 */
#include "hash.h"

#include <stdio.h>
#include <stdlib.h>

enum { BUCKETS = 1024 };

struct site {
	struct site *next;
	const char *where;
	unsigned long times;
};

struct entry {
	struct entry *next;
	const struct glock *gl;
	unsigned long references;
	struct site *sites; /* the last one first */
};

struct glock__get_sites {
	struct glock__lock lock;
	struct entry *bucket[BUCKETS];
};

struct glock__get_sites *glock__get_sites_new(void)
{
	return calloc(1, sizeof(struct glock__get_sites));
}

/* Returns the place that points to the entry of the glock, or to NULL. */
static struct entry **find(struct glock__get_sites *s, const struct glock *gl)
{
	struct entry **at = &s->bucket[(uintptr_t)gl / sizeof(*gl) % BUCKETS];

	while (*at && (*at)->gl != gl)
		at = &(*at)->next;
	return at;
}

static void entry_free(struct entry **at)
{
	struct entry *e = *at;

	*at = e->next;
	for (struct site *site = e->sites, *next; site; site = next) {
		next = site->next;
		free(site);
	}
	free(e);
}

void glock__get_sites_free(struct glock__get_sites *s)
{
	for (size_t i = 0; s && i < BUCKETS; i++)
		while (s->bucket[i])
			entry_free(&s->bucket[i]);
	free(s);
}

static void count_site(struct entry *e, const char *where)
{
	struct site *site = e->sites;

	while (site && site->where != where)
		site = site->next;
	if (!site) {
		site = calloc(1, sizeof(*site));
		if (!site)
			return;
		site->where = where;
		site->next = e->sites;
		e->sites = site;
	}
	site->times++;
}

void glock__get_sites_add(struct glock__get_sites *s, const struct glock *gl, const char *where)
{
	struct entry **at;

	glock__lock_take(&s->lock);
	at = find(s, gl);
	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (*at)
			(*at)->gl = gl;
	}
	if (*at) {
		(*at)->references++;
		count_site(*at, where);
	}
	glock__lock_drop(&s->lock);
}

void glock__get_sites_drop(struct glock__get_sites *s, const struct glock *gl)
{
	struct entry **at;

	glock__lock_take(&s->lock);
	at = find(s, gl);
	if (*at && !--(*at)->references)
		entry_free(at);
	glock__lock_drop(&s->lock);
}

void glock__get_sites_print(struct glock__get_sites *s, const struct glock *gl, char *buf,
			    size_t size)
{
	const struct entry *e;
	size_t len = 0;

	*buf = 0;
	glock__lock_take(&s->lock);
	e = *find(s, gl);
	for (const struct site *site = e ? e->sites : NULL; site && len < size; site = site->next) {
		len +=
		    (size_t)snprintf(buf + len, size - len, "%s%s", len ? ", " : "", site->where);
		if (site->times > 1 && len < size)
			len += (size_t)snprintf(buf + len, size - len, " (%lu times)", site->times);
	}
	glock__lock_drop(&s->lock);
}
