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

struct tui_setup {
	struct engine_setup engine;
	const char *title;
	const struct view_options *view;
	const char *columns; /* names with blanks or commas between them; NULL the usual ones */
	bool mouse;
	bool recording; /* what is seen is being written, too */
};

/* Shows frames until one leaves: 0, the signal that asked for the end, or negative errno. */
int tui_run(const struct tui_setup *setup);
/* Whether the terminal of standard output, as TERM names it, can show a screen. */
bool tui_knows_terminal(void);
/* NULL where every name in a list of columns is one; else what is wrong. */
const char *tui_check_columns(const char *names);

#endif
