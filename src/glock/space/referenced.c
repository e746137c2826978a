/* SPDX-License-Identifier: MIT */
/*
 * referenced.c - names the glocks that keep a space from being closed.
 *
 * The log is called under no lock. So the text of the first glocks is made under the locks, and is
 * logged afterwards.
 */
#include "open.h"

#include "glock/core/hash.h"
#include "glock/core/space.h"
#include "glock/fast/word.h"
#include "glock/state/busy.h"
#include "glock/state/demote.h"
#include "glock/state/find.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 8, LINE = 300 };

struct referenced {
	size_t n;          /* glocks with references or holders */
	size_t references; /* to all of them */
	size_t held;       /* of them without a reference */
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

/* Tells whether a holder has the glock or waits for it. Ends a bias, which hides holders. */
static bool is_held(struct glock *gl)
{
	glock__fast_close(gl);
	return !glock__list_empty(&gl_busy(gl)->holders) || glock__fast_mode(gl) != GLOCK_UN;
}

static void look_for_holder(struct glock *gl, void *held)
{
	gl_lock(gl);
	*(bool *)held |= is_held(gl);
	gl_unlock(gl);
}

bool glock__any_held(struct glock_space *space)
{
	bool held = false;

	glock__each(space, look_for_holder, &held);
	return held;
}

static void collect(struct glock *gl, void *arg)
{
	struct referenced *r = arg;
	bool held;

	gl_lock(gl);
	held = is_held(gl);
	if ((gl->users || held) && r->n < SHOWN)
		describe(gl, r->line[r->n]);
	r->n += gl->users || held;
	r->held += !gl->users && held;
	r->references += gl->users;
	gl_unlock(gl);
}

static void log_holders(struct glock_space *space, size_t n)
{
	glock__log(space,
		   "space %s is not closed: %zu glock%s without a reference %s held; call "
		   "glock_dq() before the last glock_put()",
		   space->name, n, n == 1 ? "" : "s", n == 1 ? "is" : "are");
}

void glock__log_referenced(struct glock_space *space)
{
	struct referenced r = {0};

	if (!space->log)
		return;
	glock__each(space, collect, &r);
	if (r.held)
		log_holders(space, r.held);
	if (r.references)
		glock__log(
		    space,
		    "space %s is not closed: the program has %zu reference%s to %zu glock%s; call "
		    "glock_put() for each glock_get()%s",
		    space->name, r.references, r.references == 1 ? "" : "s", r.n - r.held,
		    r.n - r.held == 1 ? "" : "s",
		    space->get_sites ? "" : "; with GLOCK_DEBUG=stderr the log names their lines");
	for (size_t i = 0; i < r.n && i < SHOWN; i++)
		glock__log(space, "%s", r.line[i]);
	if (r.n > SHOWN)
		glock__log(space, "space %s: and %zu more glocks", space->name, r.n - SHOWN);
}
