/* SPDX-License-Identifier: MIT */
/*
 * Whether terminfo knows the terminal. In a file of its own: <term.h> makes macros of words such as
 * "columns".
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
