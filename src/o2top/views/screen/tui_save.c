/* SPDX-License-Identifier: MIT */
/*
 * tui_save.c - collects the settings of the screen for the configuration file.
 *
 * The screen asks before it writes, also for a new file.
 */
#include "tui_impl.h"

#include "o2top/base/own_file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SETTINGS_MAX = 6 };

bool save_question(struct ui *ui, char *buf, size_t size)
{
	const char *path = ui->setup->config;

	if (ui->setup->no_save) {
		snprintf(ui->message, sizeof(ui->message), "not saved: %s", ui->setup->no_save);
		return false;
	}
	if (!path || !ui->setup->save) {
		snprintf(ui->message, sizeof(ui->message),
			 "no configuration file: HOME is not set, or --no-config is given");
		return false;
	}
	snprintf(buf, size, "%s%s", path,
		 access(path, F_OK) == 0 ? " (other lines stay)" : " (new)");
	return true;
}

static void add_setting(struct tui_setting *list, size_t *n, const char *name, const char *value)
{
	list[*n].name = name;
	snprintf(list[(*n)++].value, sizeof(list->value), "%s", value);
}

static const char *yes_no(bool on)
{
	return on ? "yes" : "no";
}

void save_now(struct ui *ui)
{
	struct tui_setting list[SETTINGS_MAX];
	char interval[32];
	size_t n = 0;
	int err;

	/* without --columns the file names none, so that a later o2top may show more */
	if (ui->setup->columns)
		add_setting(list, &n, "columns", ui->setup->columns);
	add_setting(list, &n, "sort", sort_key_names[ui->sort]);
	/* a recording has its own interval */
	snprintf(interval, sizeof(interval), "%g", ui->status.interval_s);
	if (!ui->setup->engine.collector->replay)
		add_setting(list, &n, "interval", interval);
	add_setting(list, &n, "by-dir", yes_no(ui->by_directory));
	add_setting(list, &n, "hot", yes_no(ui->hot_only));
	add_setting(list, &n, "debug", yes_no(ui->all_system));
	err = ui->setup->save(ui->setup->config, list, n);
	if (err)
		snprintf(ui->message, sizeof(ui->message), "%.1000s: not saved: %s",
			 ui->setup->config, own_why(err));
	else
		snprintf(ui->message, sizeof(ui->message), "saved in %.1000s", ui->setup->config);
}
