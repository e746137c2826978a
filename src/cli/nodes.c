/* SPDX-License-Identifier: MIT */
/*
 * Finding spaces and nodes by what they were called on the command line.
 */
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Only the one at that path is left. */
static void keep_path(struct glock__survey *s, const char *path)
{
	for (size_t i = 0; i < s->n; i++) {
		struct glock__survey_space first = s->spaces[0];

		if (strcmp(s->spaces[i].path, path))
			continue;
		s->spaces[0] = s->spaces[i];
		s->spaces[i] = first;
		while (s->n > 1) {
			struct glock__survey last = {.spaces = malloc(sizeof(first)), .n = 1};

			if (!last.spaces)
				return;
			last.spaces[0] = s->spaces[--s->n];
			glock__survey_free(&last);
		}
		return;
	}
}

int find_spaces(struct glock__survey *s, const char *name, bool only_one)
{
	bool is_path = name && strchr(name, '/');
	int err = glock__survey(s, is_path ? NULL : name);

	if (is_path)
		keep_path(s, name);
	if (err) {
		complain("cannot look for spaces: %s", strerror(-err));
		glock__survey_free(s);
		return EX_OSERR;
	}
	if (name && (!s->n || (is_path && strcmp(s->spaces[0].path, name)))) {
		complain("no space %s here%s%s%s; glock ls lists those there are", name,
			 s->denied ? ", or in " : "", s->denied ? s->denied : "",
			 s->denied ? ", which may not be read" : "");
		glock__survey_free(s);
		return EX_NOINPUT;
	}
	if (only_one && s->n > 1) {
		complain("%zu spaces are called %s: give the path of one, as %s", s->n, name,
			 s->spaces[0].path);
		glock__survey_free(s);
		return EX_USAGE;
	}
	return EX_OK;
}

void node_name(const struct glock__survey_node *node, char *buf, size_t size)
{
	const struct glock__segment_head *head;

	if (!node->peek) {
		snprintf(buf, size, "node%u", node->slot);
		return;
	}
	head = glock__peek_head(node->peek);
	snprintf(buf, size, "%s-%" PRIu32, head->command, head->pid);
}

bool node_wanted(const struct glock__survey_node *node, const char *wanted)
{
	char name[64], pid[16];

	if (!wanted)
		return true;
	node_name(node, name, sizeof(name));
	if (!strcmp(wanted, name))
		return true;
	if (!node->peek)
		return false;
	snprintf(pid, sizeof(pid), "%" PRIu32, glock__peek_head(node->peek)->pid);
	return !strcmp(wanted, pid) || !strcmp(wanted, glock__peek_head(node->peek)->command);
}

json_t *json_text(const char *text, size_t len)
{
	json_t *string = json_stringn(text, len);
	char *ascii;

	if (string)
		return string;
	/* not UTF-8 */
	ascii = strndup(text, len);
	for (char *c = ascii; c && *c; c++)
		if (*c & 0x80)
			*c = '?';
	string = ascii ? json_string(ascii) : NULL;
	free(ascii);
	return string;
}
