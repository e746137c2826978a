/* SPDX-License-Identifier: MIT */
/*
 * config.h - the configuration file: options that the user would give on each command line.
 */
#ifndef O2TOP_CONFIG_H
#define O2TOP_CONFIG_H

#include "o2top/views/screen/tui.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- config_save.c: writes the settings of the screen to the configuration file. */

/*
 * Writes settings to the file. A line that sets one of them is replaced, all other lines stay. The
 * file and its folder are made if they are missing. A reader finds the old or the new file, never a
 * part. Returns 0 or a negative errno. After an error the old file is unchanged.
 */
int config_save(const char *path, const struct tui_setting *list, size_t n);

/* ---- config.c. */

/* One line: NAME = VALUE. */
struct setting {
	char *name, *value;
	size_t line;
};

struct config {
	char *path;
	struct setting *list;
	size_t n;
	const char *ignored; /* the reason why the file was not read, or NULL */
};

/*
 * Reads the configuration file `path`. If `path` is NULL, the file may be missing. Its name is then
 * $XDG_CONFIG_HOME/o2top/o2toprc or ~/.config/o2top/o2toprc. Returns 0 or negative errno. -EINVAL
 * means that line *bad_line is not a setting. A file that another user owns or can write is not
 * read: its settings are as powerful as the command line. That is -EPERM, or, if `path` is NULL, no
 * error.
 */
int config_read(struct config *c, const char *path, size_t *bad_line);
void config_free(struct config *c);

#endif
