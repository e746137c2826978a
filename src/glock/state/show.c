/* SPDX-License-Identifier: MIT */
/*
 * show.c - glocks as text and as numbers, for the program.
 *
 * The text of a glock is made under its lock, into memory that exists already. It is handed out
 * after that. If the text does not fit, it is made again with more room.
 */
#include "show.h"

#include "glock/core/space.h"
#include "glock/publish/publish_space.h"
#include "glock/publish/segment.h"

#include "cache.h"
#include "demote.h"
#include "find.h"
#include "glock/fast/word.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const enum glock__text_format formats[GLOCK_FORMAT_MAX] = {
    [GLOCK_FORMAT_LINUX_6_1] = GLOCK__LINUX_6_1,
    [GLOCK_FORMAT_LINUX_7_0] = GLOCK__LINUX_7_0,
};

struct dump {
	enum glock__text_format format;
	enum glock_file file;
	glock_print_fn *print;
	void *to;
	struct glock__text text;
	int err;
};

static void print_into_text(void *to, const char *text, size_t len)
{
	glock__text_print(to, "%.*s", (int)len, text);
}

/* Prints a holder of that thread. */
static void one_holder(struct dump *d, const struct glock__holder *gh, uint32_t state, pid_t tid,
		       const char *comm)
{
	bool nobody = gh->flags & GLOCK_NOPID && state & GLOCK__H_HOLDER;
	const struct glock__dump_holder h = {
	    .mode = gh->mode,
	    .flags = gh->flags | (state & (GLOCK__H_HOLDER | GLOCK__H_WAIT)),
	    .error = state & GLOCK__H_FAST ? 0 : gh->error,
	    .pid = nobody ? 0 : tid,
	    .comm = nobody                     ? "(none)"
		    : glock__thread_lives(tid) ? comm
					       : "(ended)",
	    .where = gh->where ? gh->where : "?",
	};

	glock__dump_holder(&d->text, d->format, &h);
}

/* Prints a holder in a slot of its thread. */
static void one_fast(struct glock *gl, const struct glock__fast_holder *fh, void *d)
{
	(void)gl;
	one_holder(d, fh->gh, GLOCK__H_HOLDER | GLOCK__H_FAST, fh->tid, fh->comm);
}

/* Asks the program how many pages the object has. Readers from outside see the last answer. */
static uint64_t count_pages(struct glock *gl)
{
	uint64_t pages = gl_type(gl)->flags & GLOCK_OPS_ASPACE ? glock__op_pages(gl) : 0;

	gl_busy(gl)->more->pages = pages;
	return pages;
}

/* Under gl->lock. */
static void one_glock(struct dump *d, struct glock *gl)
{
	bool queued = glock__is_held(gl) || !glock__list_empty(&gl_busy(gl)->holders);
	const struct glock__dump_glock g = {
	    .state = gl->state,
	    .target = gl_busy(gl)->target,
	    .demote = gl_busy(gl)->demote_state,
	    .type = gl->type,
	    .number = gl->number,
	    .flags = (gl->flags & ~GLOCK__F_OWN) | (glock_object(gl) ? GLOCK__F_OBJECT : 0) |
		     (queued ? GLOCK__F_QUEUED : 0),
	    .demote_us = ((uint64_t)gl_now(gl) - (uint64_t)gl_busy(gl)->more->demote_time) / 1000,
	    .refs = (int)gl_refs(gl) - 1, /* without the reference of this walk */
	    .hold = glock__jiffies(gl_busy(gl)->hold, GLOCK__HZ),
	    .pages = count_pages(gl),
	};

	glock__dump_glock(&d->text, d->format, &g);
	glock__fast_each(gl, one_fast, d);
	for (struct glock__holder *gh = NULL; (gh = glock__next_holder(gl, gh));)
		one_holder(d, gh, gh_state(gh), gh->pid, gh->comm);
	glock__op_dump(gl, print_into_text, &d->text);
}

void glock__log_glock(struct glock *gl)
{
	char buf[2048], *line, *next;
	struct dump d = {.format = GLOCK__LINUX_7_0, .text = {.buf = buf, .size = sizeof(buf)}};

	assert(gl_held(gl));
	if (!gl_space(gl)->log)
		return;
	one_glock(&d, gl);
	for (line = buf; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		glock__log(gl_space(gl), "fsid=%s: %s", gl_space(gl)->name, line);
	}
}

static void dump_one(struct glock *gl, void *arg)
{
	struct dump *d = arg;
	char *more;

	for (;;) {
		d->text.len = 0;
		gl_lock(gl);
		if (d->file != GLOCK_FILE_GLSTATS)
			glock__fast_close(gl);
		glock__fast_fold(gl);
		if (d->file == GLOCK_FILE_GLSTATS)
			glock__dump_glstats(&d->text, gl->type, gl->number, &gl_record(gl)->stats);
		else
			one_glock(d, gl);
		gl_unlock(gl);
		if (d->text.len < d->text.size)
			break;
		more = realloc(d->text.buf, 2 * d->text.len);
		if (!more) {
			d->err = -ENOMEM;
			return;
		}
		d->text.buf = more;
		d->text.size = 2 * d->text.len;
	}
	d->print(d->to, d->text.buf, d->text.len);
}

static void fold_one(struct glock *gl, void *arg)
{
	(void)arg;
	gl_lock(gl);
	glock__fast_fold(gl);
	gl_unlock(gl);
}

static void dump_sbstats(struct glock_space *space, struct dump *d)
{
	glock__each(space, fold_one, NULL);
	for (unsigned int line = 0;; line++) {
		d->text.len = 0;
		if (!glock__dump_sbstats(&d->text, &space->type_stats, line))
			return;
		d->print(d->to, d->text.buf,
			 d->text.len < d->text.size ? d->text.len : d->text.size - 1);
	}
}

int glock_dump(struct glock_space *space, enum glock_file file, enum glock_format format,
	       glock_print_fn *print, void *to)
{
	GLOCK__NO_CANCEL;
	struct dump d = {.file = file, .print = print, .to = to};
	int err = glock__check(space, "glock_dump");

	if (err)
		return err;
	if (file >= GLOCK_FILE_MAX || format >= GLOCK_FORMAT_MAX || !print)
		return -EINVAL;
	d.format = formats[format];
	d.text.size = 4096 + (size_t)space->type_stats.cpus * 16;
	d.text.buf = malloc(d.text.size);
	if (!d.text.buf)
		return -ENOMEM;
	if (file == GLOCK_FILE_SBSTATS)
		dump_sbstats(space, &d);
	else
		glock__each(space, dump_one, &d);
	free(d.text.buf);
	return d.err;
}

int glock_statistics(struct glock *gl, struct glock_statistics *out)
{
	struct glock_statistics s = {.size = out->size};
	int err = glock__check(gl_space(gl), "glock_statistics");
	const struct glock__record *r = gl_record(gl);
	int64_t now;

	if (err)
		return err;
	err = glock__check_size(gl_space(gl), "glock_statistics", out->size,
				GLOCK__FIRST_SIZE(glock_statistics, tries_failed));
	if (err)
		return err;
	gl_lock(gl);
	glock__fast_fold(gl);
	now = glock__now(gl_space(gl));
	s.srtt = r->stats.v[GLOCK__SRTT];
	s.srttvar = r->stats.v[GLOCK__SRTTVAR];
	s.srttb = r->stats.v[GLOCK__SRTTB];
	s.srttvarb = r->stats.v[GLOCK__SRTTVARB];
	s.sirt = r->stats.v[GLOCK__SIRT];
	s.sirtvar = r->stats.v[GLOCK__SIRTVAR];
	s.dcount = r->stats.v[GLOCK__DCOUNT];
	s.qcount = r->stats.v[GLOCK__QCOUNT];
	s.age = (int64_t)((uint64_t)now - (uint64_t)r->born);
	s.usable = glock__share_ns(r->usable, now, gl->flags & GLOCK__F_USABLE);
	s.basts = gl_busy(gl)->more->counts.basts;
	s.demotes = gl_busy(gl)->more->counts.demotes;
	s.held_off = gl_busy(gl)->more->counts.held_off;
	s.conversions_failed = gl_busy(gl)->more->counts.conversions_failed;
	s.tries_failed = gl_busy(gl)->more->counts.tries_failed;
	gl_unlock(gl);
	memcpy(out, &s, out->size < sizeof(s) ? out->size : sizeof(s));
	return 0;
}

/* ---- published ---- */

static void add_text(void *to, const char *text, size_t len)
{
	glock__text_print(to, "%.*s", (int)len, text);
}

/* Publishes the lines of the operation dump. */
static void publish_dump(struct glock *gl)
{
	char buf[GLOCK__SEGMENT_OBJECT + 1];
	struct glock__text text = {.buf = buf, .size = sizeof(buf)};

	buf[0] = 0;
	glock__op_dump(gl, add_text, &text);
	glock__publish_object_text(gl, buf, text.len < sizeof(buf) ? text.len : sizeof(buf));
}

void glock__publish_object(struct glock *gl)
{
	const struct glock_ops *ops = &gl_type(gl)->ops;

	if (!gl_space(gl)->publisher)
		return;
	if (ops->pages)
		count_pages(gl);
	if (ops->dump)
		publish_dump(gl);
}
