/* SPDX-License-Identifier: MIT */
/*
 * config_save.h - writes the settings of the screen to the configuration file.
 */
#ifndef O2TOP_CONFIG_SAVE_H
#define O2TOP_CONFIG_SAVE_H

#include "o2top/views/screen/tui.h"

/*
 * Writes settings to the file. A line that sets one of them is replaced, all other lines stay. The
 * file and its folder are made if they are missing. A reader finds the old or the new file, never a
 * part. Returns 0 or a negative errno. After an error the old file is unchanged.
 */
int config_save(const char *path, const struct tui_setting *list, size_t n);

#endif
