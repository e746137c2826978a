/* SPDX-License-Identifier: MIT */
/*
 * unprotected.c - words about files that fcntl(2) locks of several nodes do not protect.
 *
 * The file may lose no time at all, because no process waits where no lock excludes. So the banner
 * does not depend on the row.
 */
#include "advice.h"

#include "o2top/base/units.h"
#include "o2top/model/waits.h"

enum { FILES_SAID = 4, SAID_MAX = 1024 };

static void say_holders(struct words *w, const struct unprotected_file *f)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct unprotected_holder *h = &f->holders[i];

		words_add(w, "%s%s", i ? ", " : "", *h->comm ? h->comm : "a process");
		if (h->pid > 0)
			words_add(w, " (%lld)", (long long)h->pid);
		words_add(w, " on %s %s", h->node, h->write ? "writes" : "reads");
	}
	if (f->more)
		words_add(w, ", %zu more", f->more);
}

static void say_file(struct model *m, const struct unprotected_file *f, const struct names *names)
{
	const struct space *space = &m->spaces[f->space];
	char text[SAID_MAX];
	struct words w = {text, sizeof(text)};
	bool sure;
	const char *path = names_find(names, space->name, f->inode, &sure);

	if (path && sure)
		words_add(&w, "%s is unprotected", path);
	else
		words_add(&w, "%s: inode %llu is unprotected",
			  space->mount ? space->mount : space->name, (unsigned long long)f->inode);
	words_add(&w, ", because fcntl locks hold on one node only with o2cb: ");
	say_holders(&w, f);
	if (f->sample != m->sample)
		words_add(&w, "; last seen %u sample%s ago", m->sample - f->sample,
			  m->sample - f->sample == 1 ? "" : "s");
	banner_coded(&m->banners, "UNPROTECTED", "%s", text);
}

void unprotected_banners(struct model *m, const struct names *names)
{
	const struct unprotected *u = m->unprotected;

	for (size_t i = 0; u && i < u->n && i < FILES_SAID; i++)
		say_file(m, &u->list[i], names);
	if (u && u->n > FILES_SAID)
		banner_coded(&m->banners, "UNPROTECTED",
			     "%zu more files are unprotected: --json lists them",
			     u->n - FILES_SAID);
}

bool unprotected_advice(const struct model *m, const struct row *row, char *buf, size_t size)
{
	const struct unprotected *u = m->unprotected;
	struct words w = {buf, size};

	for (size_t i = 0; u && i < u->n && !row->id.class; i++) {
		if (u->list[i].space != row->space || u->list[i].inode != row->id.number)
			continue;
		words_add(&w, "unprotected: ");
		say_holders(&w, &u->list[i]);
		words_add(&w, ", but fcntl locks hold on one node only with o2cb; use flock(2), or "
			      "keep these processes on one node");
		return true;
	}
	return false;
}
