/* SPDX-License-Identifier: MIT */
/*
 * referenced.c - names the glocks that keep a space from being closed.
 *
 * The log is called under no lock. So the text of the first glocks is made under the locks, and is
 * logged afterwards.
 */
#include "referenced.h"

#include "glock/core/get_sites.h"
#include "glock/core/log.h"
#include "glock/state/busy.h"
#include "glock/state/find.h"
#include "glock/state/word.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 8, LINE = 300 };

struct referenced {
	size_t n;          /* glocks with references */
	size_t references; /* to all of them */
	char line[SHOWN][LINE];
};

static void append(char *line, const char *text)
{
	size_t len = strlen(line);

	snprintf(line + len, LINE - len, "%s", text);
}

static void append_holder(char *line, const struct glock__holder *gh, bool held)
{
	append(line, held ? "; held from " : "; wanted from ");
	append(line, gh->where ? gh->where : "?");
}

static void append_fast(struct glock *gl, const struct glock__fast_holder *fh, void *line)
{
	(void)gl;
	append_holder(line, fh->gh, true);
}

static void describe(struct glock *gl, char *line)
{
	struct glock_space *space = gl_space(gl);
	struct glock__holder *gh = NULL;
	char sites[LINE];

	snprintf(line, LINE, "glock %u:%" PRIu64 ": %u reference%s", gl->type, gl->number,
		 gl->users, gl->users > 1 ? "s" : "");
	if (space->get_sites) {
		glock__get_sites_print(space->get_sites, gl, sites, sizeof(sites));
		append(line, " from ");
		append(line, sites);
	}
	glock__fast_close(gl);
	glock__fast_each(gl, append_fast, line);
	while ((gh = glock__next_holder(gl, gh)))
		append_holder(line, gh, gh_state(gh) & GLOCK__H_HOLDER);
}

static void collect(struct glock *gl, void *arg)
{
	struct referenced *r = arg;

	gl_lock(gl);
	if (gl->users && r->n < SHOWN)
		describe(gl, r->line[r->n]);
	r->n += gl->users > 0;
	r->references += gl->users;
	gl_unlock(gl);
}

void glock__log_referenced(struct glock_space *space)
{
	struct referenced r = {0};

	if (!space->log)
		return;
	glock__each(space, collect, &r);
	glock__log(space,
		   "space %s is not closed: the program has %zu reference%s to %zu glock%s; call "
		   "glock_put() for each glock_get()%s",
		   space->name, r.references, r.references == 1 ? "" : "s", r.n,
		   r.n == 1 ? "" : "s",
		   space->get_sites ? "" : "; with GLOCK_DEBUG=stderr the log names their lines");
	for (size_t i = 0; i < r.n && i < SHOWN; i++)
		glock__log(space, "%s", r.line[i]);
	if (r.n > SHOWN)
		glock__log(space, "space %s: and %zu more glocks", space->name, r.n - SHOWN);
}
