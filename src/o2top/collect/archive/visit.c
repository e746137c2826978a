/* SPDX-License-Identifier: MIT */
/*
 * visit.c - keeps the files of hosts, and completes what the archives say in part.
 */
#include "archive_impl.h"

#include "o2top/base/grow.h"
#include "o2top/collect/forms/forms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void visit_free(struct visit *v)
{
	for (size_t i = 0; i < v->n; i++) {
		free(v->files[i].space);
		free(v->files[i].text.data);
	}
	free(v->files);
	for (size_t i = 0; i < v->n_spaces; i++)
		free(v->spaces[i].name);
	free(v->spaces);
	free(v->prefix);
	free(v->host);
	free(v->run);
}

void visits_free(struct visits *v)
{
	for (size_t i = 0; i < v->n; i++)
		visit_free(&v->list[i]);
	free(v->list);
	*v = (struct visits){0};
}

struct visit *visit_of(struct visits *v, const char *prefix, const char *host, const char *run)
{
	struct visit *new;

	for (size_t i = 0; i < v->n; i++)
		if (strcmp(v->list[i].prefix, prefix) == 0 && strcmp(v->list[i].host, host) == 0)
			return &v->list[i];
	if (!grow(&v->list, v->n, &v->room, sizeof(*v->list)))
		return NULL;
	new = &v->list[v->n++];
	*new = (struct visit){
	    .prefix = strdup(prefix), .host = strdup(host), .run = strdup(run), .mono_us = -1};
	if (new->prefix &&new->host &&new->run)
		return new;
	visit_free(new);
	v->n--;
	return NULL;
}

const struct visit_file *visit_find(const struct visit *v, enum fs_kind fs, const char *space,
				    enum file_kind kind)
{
	for (size_t i = 0; i < v->n; i++) {
		const struct visit_file *f = &v->files[i];

		if (f->kind == kind && !f->space == !space &&
		    (!space || (f->fs == fs && strcmp(f->space, space) == 0)))
			return f;
	}
	return NULL;
}

struct visit_file *visit_file(struct visit *v, enum fs_kind fs, const char *space,
			      enum file_kind kind)
{
	struct visit_file *f = (struct visit_file *)visit_find(v, fs, space, kind);

	if (f)
		return f;
	if (!grow(&v->files, v->n, &v->room, sizeof(*v->files)))
		return NULL;
	f = &v->files[v->n];
	*f = (struct visit_file){.fs = fs, .kind = kind, .space = space ? strdup(space) : NULL};
	if (space && !f->space)
		return NULL;
	v->n++;
	return f;
}

/* ---- names --------------------------------------------------------------------------------- */

static const char *behind_colon(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon ? colon + 1 : name;
}

/*
 * Returns the whole name of a lock space that a file names in part: "fs1" is "lab:fs1". "-" is the
 * only one of its kind.
 */
static const char *whole_name(const struct visits *all, const struct visit_file *f)
{
	const char *found = NULL;

	for (size_t i = 0; i < all->n; i++)
		for (size_t j = 0; j < all->list[i].n; j++) {
			const char *other = all->list[i].files[j].space;

			if (!other || all->list[i].files[j].fs != f->fs ||
			    strcmp(other, "-") == 0 || strcmp(other, f->space) == 0)
				continue;
			if (strcmp(f->space, "-") == 0) {
				if (found && strcmp(found, other) != 0)
					return NULL;
				found = other;
			} else if (f->fs == FS_GFS2 && strchr(other, ':') &&
				   strcmp(behind_colon(other), f->space) == 0) {
				return other;
			}
		}
	return found;
}

/* A lock space of OCFS2 on the kernel's DLM has its UUID as the name of the DLM's space. */
static bool is_ocfs2_of(const struct visits *all, const char *name)
{
	for (size_t i = 0; i < all->n; i++)
		for (size_t j = 0; j < all->list[i].n; j++) {
			const struct visit_file *f = &all->list[i].files[j];

			if (f->space && f->fs == FS_OCFS2 && strcmp(f->space, name) == 0)
				return true;
		}
	return false;
}

static int complete_names(struct visits *all, struct visit *v)
{
	for (size_t i = 0; i < v->n; i++) {
		struct visit_file *f = &v->files[i];
		const char *whole;
		char *copy;

		if (!f->space)
			continue;
		if ((f->kind == FILE_DLM_ALL || f->kind == FILE_DLM_PLOCKS) &&
		    strcmp(f->space, "-") != 0 && is_ocfs2_of(all, f->space))
			f->fs = FS_OCFS2;
		whole = whole_name(all, f);
		if (!whole || visit_find(v, f->fs, whole, f->kind))
			continue;
		copy = strdup(whole);
		if (!copy)
			return -ENOMEM;
		free(f->space);
		f->space = copy;
	}
	return 0;
}

/* ---- what a visit has ---------------------------------------------------------------------- */

/* Returns the kind of the file that lists the locks of a file system. */
static enum file_kind rows_kind(enum fs_kind fs)
{
	return fs == FS_GFS2 ? FILE_GLOCKS : FILE_LOCKING_STATE;
}

/* Makes the locks of a file system from those of the DLM. Names of locks tell OCFS2 from GFS2. */
static int make_rows(const struct visit *v, struct visit_file *f, struct buffer *text)
{
	int got = dlm_only_rows(f->fs, f->kind, f->text.data, f->text.len, v->mono_us, text);

	if (got || f->fs == FS_OCFS2)
		return got;
	got = dlm_only_rows(FS_OCFS2, f->kind, f->text.data, f->text.len, v->mono_us, text);
	if (got > 0)
		f->fs = FS_OCFS2;
	return got;
}

static int add_dlm_rows(struct visit *v)
{
	size_t n = v->n;

	for (size_t i = 0; i < n; i++) {
		struct visit_file *f = &v->files[i], *to;
		struct buffer text = {0};
		int got;

		if ((f->kind != FILE_DLM_ALL && f->kind != FILE_O2DLM) ||
		    visit_find(v, f->fs, f->space, rows_kind(f->fs)))
			continue;
		got = make_rows(v, f, &text);
		f = &v->files[i];
		to = got < 0 ? NULL : visit_file(v, f->fs, f->space, rows_kind(f->fs));
		if (!to) {
			free(text.data);
			return got < 0 ? got : -ENOMEM;
		}
		to->text = text;
		to->made = true;
	}
	return 0;
}

static int add_space(struct visit *v, const struct visit_file *f)
{
	struct space_sample *more;

	for (size_t i = 0; i < v->n_spaces; i++)
		if (v->spaces[i].fs == f->fs && strcmp(v->spaces[i].name, f->space) == 0)
			return 0;
	more = reallocarray(v->spaces, v->n_spaces + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	v->spaces = more;
	more[v->n_spaces] = (struct space_sample){.fs = f->fs, .name = strdup(f->space)};
	return more[v->n_spaces].name ? (int)(v->n_spaces++, 0) : -ENOMEM;
}

/* Returns whether the folder of a lies inside the folder of b. */
static bool lies_in(const struct visit *a, const struct visit *b)
{
	size_t n = strlen(b->prefix);

	return a != b && strncmp(a->prefix, b->prefix, n) == 0 && a->prefix[n] == '/';
}

/* Moves the files of texts in a folder of a host, such as its logs, to the host. */
static int join_texts(struct visits *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct visit *from = &all->list[i], *to = NULL;

		for (size_t j = 0; j < all->n && !to; j++)
			if (all->list[j].kernel && !from->kernel && lies_in(from, &all->list[j]))
				to = &all->list[j];
		for (size_t j = 0; to && j < from->n; j++) {
			struct visit_file *f = &from->files[j], *copy;

			if (visit_find(to, f->fs, f->space, f->kind))
				continue;
			copy = visit_file(to, f->fs, f->space, f->kind);
			if (!copy)
				return -ENOMEM;
			copy->text = f->text;
			f->text = (struct buffer){0};
		}
		if (!to)
			continue;
		for (; from->n; from->n--) {
			free(from->files[from->n - 1].space);
			free(from->files[from->n - 1].text.data);
		}
	}
	return 0;
}

/* Returns whether the file makes rows. The others add to them. */
static bool makes_rows(const struct visit_file *f)
{
	return f->space && f->kind == rows_kind(f->fs);
}

/* Tells the file of a lock space that is missing, and the command that gets it. */
static void tell_missing(const struct visit *v, const struct visit_file *f,
			 struct problems *problems)
{
	bool gfs2 = f->fs == FS_GFS2, alone = strcmp(f->space, "-") == 0;
	bool whole = gfs2 ? strchr(f->space, ':') != NULL : !alone;
	const struct visit_file *rows = visit_find(v, f->fs, f->space, rows_kind(f->fs));

	if (!rows || rows->made)
		problem(problems, v->host, 0, "no %s%s%s; on %s: cat /sys/kernel/debug/%s/%s/%s",
			gfs2 ? "glocks" : "locking_state", alone ? "" : " of ",
			alone ? "" : f->space, v->host, gfs2 ? "gfs2" : "ocfs2",
			whole ? f->space : "*", gfs2 ? "glocks" : "locking_state");
	else if (visit_find(v, f->fs, f->space, FILE_DLM_ALL) ||
		 visit_find(v, f->fs, f->space, FILE_O2DLM))
		return;
	else if (gfs2)
		problem(problems, v->host, 0,
			"no file tells the holders on other nodes; on %s: cat "
			"/sys/kernel/debug/dlm/%s_all",
			v->host, alone ? "*" : behind_colon(f->space));
	else
		problem(problems, v->host, 0,
			"no file tells the holders on other nodes; on %s: cat "
			"/sys/kernel/debug/o2dlm/%s/locking_state",
			v->host, alone ? "*" : f->space);
}

/* Tells each file that a visit lacks once. */
static void tell_lacks(const struct visit *v, struct problems *problems)
{
	bool named = false;

	for (size_t i = 0; i < v->n; i++)
		named |= v->files[i].space != NULL;
	if (v->n && !named)
		problem(problems, v->host, 0,
			"no file of a lock space; on %s: cat /sys/kernel/debug/gfs2/*/glocks, or "
			"/sys/kernel/debug/ocfs2/*/locking_state",
			v->host);
	for (size_t i = 0; i < v->n; i++) {
		const struct visit_file *f = &v->files[i];
		bool told = !f->space;

		for (size_t j = 0; j < i && !told; j++)
			told = v->files[j].space && v->files[j].fs == f->fs &&
			       strcmp(v->files[j].space, f->space) == 0;
		if (!told)
			tell_missing(v, f, problems);
	}
}

/* Returns whether a file has stamps of the kernel's clock, so that no time may be assumed. */
static bool has_stamps(const struct visit *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->files[i].has_stamps)
			return true;
	return false;
}

int visits_complete(struct visits *all, struct problems *problems)
{
	size_t kept = 0;
	int err = join_texts(all);

	for (size_t i = 0; i < all->n && !err; i++)
		err = complete_names(all, &all->list[i]);
	for (size_t i = 0; i < all->n && !err; i++) {
		struct visit *v = &all->list[i];

		if (v->up_assumed && (v->has_clock || has_stamps(v)))
			v->mono_us = -1;
		err = add_dlm_rows(v);
		for (size_t j = 0; j < v->n && !err; j++)
			if (makes_rows(&v->files[j]))
				err = add_space(v, &v->files[j]);
		tell_lacks(v, problems);
	}
	for (size_t i = 0; i < all->n && !err; i++) {
		if (all->list[i].n_spaces)
			all->list[kept++] = all->list[i];
		else
			visit_free(&all->list[i]);
	}
	if (!err)
		all->n = kept;
	return err;
}
