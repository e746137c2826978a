/* SPDX-License-Identifier: MIT */
/*
 * options_config.c - takes the settings of a configuration file as options.
 *
 * The name of a setting is the name of a long option.
 */
#include "options_impl.h"

#include "o2top/base/problems.h"

#include <stdio.h>
#include <string.h>

static bool is_yes(const char *value)
{
	return !*value || strcasecmp(value, "yes") == 0 || strcasecmp(value, "true") == 0 ||
	       strcasecmp(value, "on") == 0 || strcmp(value, "1") == 0;
}

/* Returns the option named `no` + `name`, or NULL if the file may not have that option. */
static const struct option_entry *option_named(const char *no, const char *name)
{
	size_t skip = strlen(no);

	for (int i = 0; i < OPTION_ENTRIES; i++) {
		const struct option_entry *entry = &option_entries[i];

		if (entry->use == IN_FILE && strncmp(entry->name, no, skip) == 0 &&
		    strcmp(entry->name + skip, name) == 0)
			return entry;
	}
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
	return OPTION_GO_ON;
}

static int take_setting(struct options *o, struct setting *s)
{
	const struct option_entry *entry = option_named("", s->name);

	if (strcmp(s->name, "nodes") == 0)
		return take_nodes(o, s->value);
	if (entry && option_has_value(entry))
		return option_take(o, entry, s->value);
	if (entry)
		return is_yes(s->value) ? option_take(o, entry, NULL) : OPTION_GO_ON;
	/* "mouse = no" means no-mouse */
	entry = option_named("no-", s->name);
	if (entry && !option_has_value(entry))
		return is_yes(s->value) ? OPTION_GO_ON : option_take(o, entry, NULL);
	return option_usage("no such setting", s->name);
}

int options_configured(struct options *o, const char *path)
{
	size_t bad_line;
	int err = config_read(&o->config, path, &bad_line), status = OPTION_GO_ON;

	if (bad_line) {
		complain("%s:%zu: the line is not NAME = VALUE", o->config.path, bad_line);
		return EXIT_USAGE;
	}
	if (o->config.ignored)
		complain("%s is ignored: %s", o->config.path, o->config.ignored);
	else if (err)
		complain("%s: %s", o->config.path ? o->config.path : path, strerror(-err));
	if (err)
		return EXIT_USAGE;
	for (size_t i = 0; i < o->config.n && status < 0; i++) {
		status = take_setting(o, &o->config.list[i]);
		if (status >= 0)
			complain("%s:%zu has this setting; --no-config ignores the file",
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
