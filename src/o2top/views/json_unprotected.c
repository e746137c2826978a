/* SPDX-License-Identifier: MIT */
/*
 * json_unprotected.c - the list of unprotected files in the JSON of a frame.
 */
#include "values.h"

#include "o2top/model/waits.h"

static json_t *text_or_null(const char *text)
{
	json_t *j = *text ? json_string(text) : json_null();

	/* JSON is UTF-8, and a process may have any name. */
	return j ? j : json_string("?");
}

static json_t *byte_of(uint64_t at)
{
	return at > INT64_MAX ? json_null() : json_integer((json_int_t)at);
}

static json_t *holder_object(const struct unprotected_holder *h)
{
	return json_pack("{s:o, s:o, s:o, s:b, s:o, s:o}", "node", text_or_null(h->node), "pid",
			 h->pid > 0 ? json_integer(h->pid) : json_null(), "command",
			 text_or_null(h->comm), "writes", h->write, "start", byte_of(h->start),
			 "end", byte_of(h->end));
}

json_t *json_unprotected(const struct model *m)
{
	const struct unprotected *u = m->unprotected;
	json_t *all = json_array();

	for (size_t i = 0; u && i < u->n; i++) {
		const struct unprotected_file *f = &u->list[i];
		json_t *holders = json_array();

		for (size_t j = 0; j < f->n; j++)
			json_array_append_new(holders, holder_object(&f->holders[j]));
		json_array_append_new(all,
				      json_pack("{s:o, s:I, s:I, s:o, s:I}", "lockspace",
						text_or_null(m->spaces[f->space].name), "ino",
						(json_int_t)f->inode, "samples_ago",
						(json_int_t)(m->sample - f->sample), "processes",
						holders, "more", (json_int_t)f->more));
	}
	return all;
}
