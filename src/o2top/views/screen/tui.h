/* SPDX-License-Identifier: MIT */
/*
 * tui.h - the terminal view.
 *
 * The engine's thread makes samples, and the screen shows a snapshot. So no key waits for a sample.
 */
#ifndef O2TOP_TUI_H
#define O2TOP_TUI_H

#include "o2top/engine/engine.h"
#include "o2top/views/view.h"

/* A setting for the configuration file. The name is that of a long option. */
struct tui_setting {
	const char *name;
	char value[256];
};

struct tui_setup {
	struct engine_setup engine;
	const char *title;
	const struct view_options *view;
	const char *columns; /* names with blanks or commas between them; NULL: the default */
	bool mouse;
	bool recording; /* a recording of the samples is being written */
	/* writes settings to the configuration file; returns 0 or a negative errno */
	const char *config;  /* path of the file, or NULL */
	const char *no_save; /* why nothing is written, or NULL */
	const char *ignored; /* why the file was not read, or NULL */
	int (*save)(const char *path, const struct tui_setting *list, size_t n);
};

/*
 * Shows frames until the user leaves. Returns 0, the signal that asked for the end, or a negative
 * errno.
 */
int tui_run(const struct tui_setup *setup);
/* Returns whether terminfo knows the terminal of standard output by the name in TERM. */
bool tui_knows_terminal(void);

#endif
