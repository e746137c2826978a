/* SPDX-License-Identifier: MIT */
/*
 * tree.c - finds, opens and lists the files of a node under one folder.
 */
#include "tree.h"

#include "o2top/base/grow.h"
#include "o2top/base/scan.h"
#include "o2top/collect/collect.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const fs_folder[FS_KINDS] = {
    [FS_OCFS2] = "ocfs2", [FS_GFS2] = "gfs2", [FS_GLOCK] = "glock"};

/*
 * Returns the DLM's name for a lock space: the UUID, or the part of a lock table behind the
 * cluster.
 */
static const char *dlm_name(const struct space_sample *space)
{
	const char *colon = space->fs == FS_GFS2 ? strchr(space->name, ':') : NULL;

	return colon ? colon + 1 : space->name;
}

/* Makes the path of a file. Returns 0 or -ENAMETOOLONG. */
static int tree_path(char path[PATH_MAX], const char *root, const struct space_sample *space,
		     enum file_kind kind)
{
	int n;

	if (kind == FILE_TRACE || kind == FILE_TASKS || kind == FILE_IDS || kind == FILE_PATHS ||
	    kind == FILE_PLOCKS || kind == FILE_DAEMONS)
		n = snprintf(path, PATH_MAX, "%s/%s", root, kind_names[kind]);
	else if (kind == FILE_O2DLM || kind == FILE_O2DLM_STATE)
		n = snprintf(path, PATH_MAX, "%s/o2dlm/%s/%s", root, space->name,
			     kind == FILE_O2DLM ? "locking_state" : "dlm_state");
	else if (kind == FILE_DLM_ALL || kind == FILE_DLM_PLOCKS)
		n = snprintf(path, PATH_MAX, "%s/dlm/%s_%s", root, dlm_name(space),
			     kind == FILE_DLM_ALL ? "all" : "plocks");
	else
		n = snprintf(path, PATH_MAX, "%s/%s/%s/%s", root, fs_folder[space->fs], space->name,
			     kind_names[kind]);
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int tree_open(const char *root, size_t from, const struct space_sample *space, enum file_kind kind,
	      struct input *in)
{
	char path[PATH_MAX];
	int err = tree_path(path, root, space, kind);

	if (err)
		return err;
	err = input_open_path(in, path, path + from);
	if (err == -ENOENT && kind == FILE_SBSTATS) {
		/* The documentation uses this name. */
		strcpy(strrchr(path, '/') + 1, "lkstats");
		err = input_open_path(in, path, path + from);
	}
	if (!err)
		in->crlf = true;
	return err;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

void tree_free_names(char **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

int tree_names(const char *path, char ***out)
{
	DIR *dir = opendir(path);
	char **names = NULL;
	struct dirent *e;
	size_t room = 0;
	int n = 0;

	if (!dir)
		return -errno;
	for (errno = 0; (e = readdir(dir)); errno = 0) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (!grow(&names, (size_t)n, &room, sizeof(*names)))
			break;
		names[n] = strdup(e->d_name);
		if (!names[n])
			break;
		n++;
	}
	if (e)
		errno = ENOMEM;
	if (errno) {
		int err = -errno;

		tree_free_names(names, n);
		closedir(dir);
		return err;
	}
	closedir(dir);
	if (n)
		qsort(names, (size_t)n, sizeof(*names), by_name);
	*out = names;
	return n;
}

void tree_free_spaces(struct space_sample *spaces, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(spaces[i].name);
		free(spaces[i].mount);
	}
	free(spaces);
}

static bool is_folder(const char *a, const char *b)
{
	char path[PATH_MAX];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/%s", a, b);

	return n > 0 && n < PATH_MAX && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int add_spaces(const char *root, enum fs_kind fs, struct space_sample **spaces,
		      size_t *count)
{
	char path[PATH_MAX];
	char **names;
	int n, len = snprintf(path, sizeof(path), "%s/%s", root, fs_folder[fs]);

	if (len < 0 || len >= PATH_MAX)
		return -ENAMETOOLONG;
	n = tree_names(path, &names);
	if (n < 0)
		return n == -ENOENT || n == -ENOTDIR ? 0 : n;
	for (int i = 0; i < n; i++) {
		struct space_sample *more;

		if (!is_folder(path, names[i]))
			continue;
		more = reallocarray(*spaces, *count + 1, sizeof(**spaces));
		if (!more) {
			tree_free_names(names, n);
			return -ENOMEM;
		}
		*spaces = more;
		more[(*count)++] = (struct space_sample){.fs = fs, .name = names[i]};
		names[i] = NULL;
	}
	tree_free_names(names, n);
	return 0;
}

int tree_spaces(const char *root, struct space_sample **out, size_t *n)
{
	struct space_sample *spaces = NULL;
	size_t count = 0;

	for (int fs = 0; fs < FS_KINDS; fs++) {
		int err = add_spaces(root, (enum fs_kind)fs, &spaces, &count);

		if (err) {
			tree_free_spaces(spaces, count);
			return err;
		}
	}
	*out = spaces;
	*n = count;
	return 0;
}

/* Reads "1795154849.664465970" or "832.84 1650.12" as microseconds. */
static bool parse_seconds(const char *text, int64_t *us)
{
	struct scan s = scan_line(text, strlen(text));
	uint64_t sec, frac = 0, unit = 1000000;

	if (!scan_u64(&s, &sec) || sec > INT64_MAX / 4000000)
		return false;
	if (scan_char(&s, '.'))
		for (int d; !scan_done(&s) && (d = *s.p - '0') >= 0 && d <= 9; s.p++)
			frac += (uint64_t)d * (unit /= 10);
	if (!scan_done(&s) && *s.p != '\r' && *s.p != '\n' && *s.p != ' ')
		return false;
	*us = (int64_t)(sec * 1000000 + frac);
	return true;
}

static bool read_clock(const char *root, size_t from, const char *name, int64_t *us,
		       struct problems *problems)
{
	char path[PATH_MAX], text[128];
	ssize_t n;
	int len = snprintf(path, sizeof(path), "%s/%s", root, name);

	if (len < 0 || len >= PATH_MAX)
		return false;
	n = input_small(path, text, sizeof(text));
	if (n == -ENOENT)
		return false;
	if (n < 0 || !parse_seconds(text, us)) {
		problem(problems, path + from, 0, "%s",
			n < 0 ? strerror((int)-n) : "no time in seconds");
		return false;
	}
	return true;
}

void tree_clock(const char *root, size_t from, struct node_sample *node, struct problems *problems)
{
	node->mono_us = -1;
	node->has_clock = read_clock(root, from, "realtime", &node->real_us, problems);
	if (!read_clock(root, from, "uptime", &node->mono_us, problems))
		node->mono_us = -1;
}

bool tree_is_node(const char *root)
{
	char path[PATH_MAX];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/realtime", root);

	return is_folder(root, "ocfs2") || is_folder(root, "gfs2") ||
	       (n > 0 && n < PATH_MAX && stat(path, &st) == 0 && S_ISREG(st.st_mode));
}
