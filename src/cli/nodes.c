/* SPDX-License-Identifier: MIT */
/*
 * nodes.c - finds spaces and nodes by the names that the command line gives.
 */
#include "cli.h"

#include "base/way.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Tells whether GLOCK_DIR is unset, or names a directory that can be read. Complains if not. */
static bool dir_is_there(void)
{
	const char *said = secure_getenv("GLOCK_DIR");
	char why[128];
	int fd;

	if (!said || !*said) {
		if (glock__default_dir_refused(why, sizeof(why)))
			complain("%s; name another one in GLOCK_DIR, or see FILES in glock(1)",
				 why);
		return true;
	}
	fd = glock__way_open_folder(said);
	if (fd < 0) {
		complain("GLOCK_DIR=%s: %s; unset it, or name an existing directory%s", said,
			 strerror(-fd), fd == -ELOOP ? " without a link of another user" : "");
		return false;
	}
	close(fd);
	return true;
}

/* `glock trace` keeps a file of each node open, and a space has up to 1,024 nodes. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* otherwise a message names what was not read */
}

int find_spaces(struct glock__find_spaces *s, const char *name, enum find find)
{
	int err, status = EX_OK;

	raise_file_limit();
	if (!dir_is_there())
		return EX_OSERR;
	err = glock__find_spaces(s, name);
	if (s->left_out)
		complain("%s", s->left_out);
	if (err) {
		complain("cannot look for spaces: %s", strerror(-err));
		status = EX_OSERR;
	} else if (name && !s->n) {
		complain("space %s: no space of this name, or no permission to read it; glock ls "
			 "lists the spaces",
			 name);
		status = EX_NOINPUT;
	} else if (find != FIND_ALL && s->n > 1) {
		complain("%zu spaces have the name %s; give the path of one, such as %s", s->n,
			 name, s->spaces[0].path);
		status = EX_USAGE;
	} else if (find == FIND_ONE_TO_READ && s->spaces[0].other_version) {
		complain("space %s is of another version of glock; use that version", name);
		status = EX_OSERR;
	}
	if (status)
		glock__found_free(s);
	return status;
}

void node_name(const struct glock__found_node *node, char *buf, size_t size)
{
	snprintf(buf, size, "%s-%ld", node->command, (long)node->pid);
}

const char *not_readable(int error, char *buf, size_t size)
{
	const char *name = strerrorname_np(-error);

	if (error == -EDQUOT)
		snprintf(buf, size,
			 "not all read: its owner has too much; give the space alone, or ask as "
			 "its owner");
	else
		snprintf(buf, size, "not readable: %s (%s)", name ? name : "?", strerror(-error));
	return buf;
}

bool node_wanted(const struct glock__found_node *node, const char *wanted)
{
	char name[64], pid[24];

	if (!wanted)
		return true;
	node_name(node, name, sizeof(name));
	snprintf(pid, sizeof(pid), "%ld", (long)node->pid);
	return !strcmp(wanted, name) || !strcmp(wanted, pid) || !strcmp(wanted, node->command);
}

static void on_bus(int sig)
{
	static const char message[] = "glock: the file of the space was cut off; try again\n";

	(void)sig;
	if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0)
		_exit(EX_OSERR);
	_exit(EX_IOERR);
}

void expect_cut_off(void)
{
	const struct sigaction action = {.sa_handler = on_bus};

	sigaction(SIGBUS, &action, NULL);
}

json_t *json_text(const char *text, size_t len)
{
	json_t *string = json_stringn(text, len);
	char *ascii;

	if (string)
		return string;
	/* The text is not UTF-8. */
	ascii = strndup(text, len);
	for (char *c = ascii; c && *c; c++)
		if (*c & 0x80)
			*c = '?';
	string = ascii ? json_string(ascii) : NULL;
	free(ascii);
	return string;
}
