/* SPDX-License-Identifier: MIT */
/*
 * config.h - the configuration file: options that the user would give on each command line.
 */
#ifndef O2TOP_CONFIG_H
#define O2TOP_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

/* One line: NAME = VALUE. */
struct setting {
	char *name, *value;
	size_t line;
};

struct config {
	char *path;
	struct setting *list;
	size_t n;
};

/*
 * Reads the configuration file `path`. If `path` is NULL, the file may be missing. Its name is then
 * $XDG_CONFIG_HOME/o2top/o2toprc or ~/.config/o2top/o2toprc. Returns 0 or negative errno. -EINVAL
 * means that line *bad_line is not a setting.
 */
int config_read(struct config *c, const char *path, size_t *bad_line);
void config_free(struct config *c);

#endif
