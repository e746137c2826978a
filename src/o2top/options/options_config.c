/* SPDX-License-Identifier: MIT */
/*
 * options_config.c - takes the settings of a configuration file as options.
 *
 * The name of a setting is the name of a long option.
 */
#include "options_impl.h"

#include <stdio.h>
#include <string.h>

static bool is_yes(const char *value)
{
	return !*value || strcasecmp(value, "yes") == 0 || strcasecmp(value, "true") == 0 ||
	       strcasecmp(value, "on") == 0 || strcmp(value, "1") == 0;
}

/* What makes sense every time; what is for once is not for a file. */
static bool may_be_configured(const char *name)
{
	static const char *const names[] = {
	    "ascii",    "by-dir",   "columns",   "crit",  "debug",    "details",      "fs",
	    "hot",      "interval", "length",    "local", "min-lost", "names",        "no-agent",
	    "no-color", "no-mouse", "no-system", "node",  "paths",    "sample-limit", "sort",
	    "speed",    "ssh",      "textfile",  "warn",  "writers"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static const struct option *option_named(const char *no, const char *name)
{
	size_t skip = strlen(no);

	for (const struct option *l = option_list; l->name; l++)
		if (strncmp(l->name, no, skip) == 0 && strcmp(l->name + skip, name) == 0 &&
		    may_be_configured(l->name))
			return l;
	return NULL;
}

static int take_nodes(struct options *o, char *value)
{
	static const char between[] = " ,\t";

	for (char *at, *name = strtok_r(value, between, &at); name;
	     name = strtok_r(NULL, between, &at)) {
		if (o->n_nodes == OPTION_NODES_MAX)
			return option_usage("too many nodes", name);
		o->nodes[o->n_nodes++] = name;
	}
	return -1;
}

static int take_setting(struct options *o, struct setting *s)
{
	const struct option *l = option_named("", s->name);

	if (strcmp(s->name, "nodes") == 0)
		return take_nodes(o, s->value);
	if (l && l->has_arg)
		return option_take(o, l->val, s->value);
	if (l)
		return is_yes(s->value) ? option_take(o, l->val, NULL) : -1;
	/* "mouse = no" is no-mouse */
	l = option_named("no-", s->name);
	if (l && !l->has_arg)
		return is_yes(s->value) ? -1 : option_take(o, l->val, NULL);
	return option_usage("nothing of that name can be configured", s->name);
}

int options_configured(struct options *o, const char *path)
{
	size_t bad_line;
	int err = config_read(&o->config, path, &bad_line), status = -1;

	if (bad_line) {
		fprintf(stderr, "o2top: %s:%zu: not NAME = VALUE\n", o->config.path, bad_line);
		return EXIT_USAGE;
	}
	if (err) {
		fprintf(stderr, "o2top: %s: %s\n", o->config.path ? o->config.path : path,
			strerror(-err));
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < o->config.n && status < 0; i++) {
		status = take_setting(o, &o->config.list[i]);
		if (status >= 0)
			fprintf(stderr, "o2top: %s:%zu says so; --no-config goes without\n",
				o->config.path, o->config.list[i].line);
	}
	o->nodes_configured = o->n_nodes > 0;
	return status;
}

bool options_find_config(int argc, char **argv, const char **path)
{
	*path = NULL;
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--no-config") == 0 || strncmp(argv[i], "--agent", 7) == 0)
			return false;
		if (strncmp(argv[i], "--config=", 9) == 0)
			*path = argv[i] + 9;
		else if (strcmp(argv[i], "--config") == 0 && i + 1 < argc)
			*path = argv[++i];
	}
	return true;
}
