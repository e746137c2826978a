/* SPDX-License-Identifier: MIT */
/*
 * config.c - reads a configuration file into a list of settings, one NAME = VALUE a line.
 */
#include "config.h"

#include "o2top/base/own_file.h"
#include "o2top/collect/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct reading {
	struct config *config;
	size_t bad_line;
	int err;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static char *trimmed(const char *from, const char *end)
{
	while (from < end && is_blank(*from))
		from++;
	while (end > from && is_blank(end[-1]))
		end--;
	return strndup(from, (size_t)(end - from));
}

/* Takes a line "name = value". A line that begins with # is a remark. */
static bool config_take_line(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct reading *r = arg;
	const char *end = line + len, *equals = memchr(line, '=', len), *p = line;
	struct setting *more;

	(void)complete;
	while (p < end && is_blank(*p))
		p++;
	if (p == end || *p == '#')
		return true;
	if (!equals || equals == p || memchr(line, '\0', len)) {
		r->bad_line = number;
		r->err = -EINVAL;
		return false;
	}
	more = reallocarray(r->config->list, r->config->n + 1, sizeof(*more));
	if (more) {
		r->config->list = more;
		more[r->config->n] =
		    (struct setting){trimmed(line, equals), trimmed(equals + 1, end), number};
		r->config->n++;
	}
	if (!more || !more[r->config->n - 1].name || !more[r->config->n - 1].value) {
		r->err = -ENOMEM;
		return false;
	}
	return true;
}

static char *usual_path(void)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char *path = NULL;

	if (xdg && *xdg == '/')
		return asprintf(&path, "%s/o2top/o2toprc", xdg) < 0 ? NULL : path;
	if (home && *home == '/')
		return asprintf(&path, "%s/.config/o2top/o2toprc", home) < 0 ? NULL : path;
	return NULL;
}

/* Returns why a file is not to be trusted, or NULL. It is the file that was opened. */
static const char *why_ignored(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return strerror(errno);
	if (st.st_uid && st.st_uid != geteuid())
		return "another user owns it";
	return st.st_mode & (S_IWGRP | S_IWOTH) ? "other users can write it (chmod go-w)" : NULL;
}

int config_read(struct config *c, const char *path, size_t *bad_line)
{
	struct reading r = {.config = c};
	struct input in;
	int err, fd;

	*c = (struct config){.path = path ? strdup(path) : usual_path()};
	*bad_line = 0;
	if (!c->path)
		return 0;
	fd = own_read(c->path);
	err = fd < 0 ? fd : 0;
	if (err == -ELOOP)
		c->ignored = own_why(err);
	if (!path && err == -ELOOP)
		return 0;
	if (!path && (err == -ENOENT || err == -ENOTDIR || err == -EACCES))
		return 0;
	if (err)
		return err;
	c->ignored = why_ignored(fd);
	if (c->ignored) {
		close(fd);
		return path ? -EPERM : 0;
	}
	input_open_fd(&in, fd, c->path);
	err = input_lines(&in, config_take_line, &r);
	*bad_line = r.bad_line;
	return err ? err : r.err;
}

void config_free(struct config *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->list[i].name);
		free(c->list[i].value);
	}
	free(c->list);
	free(c->path);
	*c = (struct config){0};
}
