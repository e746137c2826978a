/* SPDX-License-Identifier: MIT */
/*
 * tui_known.c - checks whether terminfo knows the terminal.
 *
 * The check has a file of its own, because <term.h> makes macros of words such as "columns".
 */
#include "tui.h"

#include <curses.h>
#include <term.h>
#include <unistd.h>

bool tui_knows_terminal(void)
{
	int unknown;
	bool known = setupterm(NULL, STDOUT_FILENO, &unknown) == OK;

	if (cur_term)
		del_curterm(cur_term);
	return known;
}
