/* SPDX-License-Identifier: MIT */
/*
 * colours.c - the colours of each role on the screen.
 *
 * o2top uses the eight colours that every colour terminal has, so that the user's choice of them
 * holds. Red marks a present cost, yellow marks doubtful data, cyan and green mark information.
 */
#include "view.h"

#include <stdio.h>

enum { OWN = -1, BLACK, RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN, WHITE };

static const struct colour with_colours[ROLES] = {
    [ROLE_PLAIN] = {OWN, OWN, 0, 0, 0, 0},       [ROLE_TITLE] = {OWN, OWN, 1, 0, 0, 0},
    [ROLE_HOT] = {RED, OWN, 1, 0, 0, 0},         [ROLE_LONG] = {WHITE, RED, 1, 0, 0, 0},
    [ROLE_BAD] = {YELLOW, OWN, 1, 0, 0, 0},      [ROLE_GOOD] = {GREEN, OWN, 0, 0, 0, 0},
    [ROLE_FAINT] = {OWN, OWN, 0, 1, 0, 0},       [ROLE_TREND] = {CYAN, OWN, 0, 0, 0, 0},
    [ROLE_COLUMNS] = {BLACK, GREEN, 0, 0, 0, 0}, [ROLE_SORTED] = {BLACK, CYAN, 1, 0, 0, 0},
    [ROLE_SECTION] = {CYAN, OWN, 1, 0, 0, 0},    [ROLE_SELECTED] = {BLACK, CYAN, 0, 0, 0, 0},
    [ROLE_KEY] = {OWN, OWN, 1, 0, 0, 0},         [ROLE_KEY_TEXT] = {BLACK, CYAN, 0, 0, 0, 0},
    [ROLE_BANNER] = {WHITE, RED, 1, 0, 0, 0},    [ROLE_ADVICE] = {CYAN, OWN, 0, 0, 0, 0},
    [ROLE_PATH] = {OWN, OWN, 1, 0, 0, 0},
};

static const struct colour without[ROLES] = {
    [ROLE_PLAIN] = {OWN, OWN, 0, 0, 0, 0},   [ROLE_TITLE] = {OWN, OWN, 1, 0, 0, 0},
    [ROLE_HOT] = {OWN, OWN, 1, 0, 0, 0},     [ROLE_LONG] = {OWN, OWN, 1, 0, 0, 1},
    [ROLE_BAD] = {OWN, OWN, 1, 0, 0, 0},     [ROLE_GOOD] = {OWN, OWN, 0, 0, 0, 0},
    [ROLE_FAINT] = {OWN, OWN, 0, 1, 0, 0},   [ROLE_TREND] = {OWN, OWN, 0, 0, 0, 0},
    [ROLE_COLUMNS] = {OWN, OWN, 0, 0, 1, 0}, [ROLE_SORTED] = {OWN, OWN, 1, 0, 1, 1},
    [ROLE_SECTION] = {OWN, OWN, 1, 0, 0, 0}, [ROLE_SELECTED] = {OWN, OWN, 0, 0, 1, 0},
    [ROLE_KEY] = {OWN, OWN, 1, 0, 0, 0},     [ROLE_KEY_TEXT] = {OWN, OWN, 0, 0, 1, 0},
    [ROLE_BANNER] = {OWN, OWN, 1, 0, 1, 0},  [ROLE_ADVICE] = {OWN, OWN, 0, 0, 0, 0},
    [ROLE_PATH] = {OWN, OWN, 1, 0, 0, 0},
};

const struct colour *colour_of(enum role role, bool colours)
{
	return colours ? &with_colours[role] : &without[role];
}

const char *colour_sgr(char buf[COLOUR_SGR_MAX], enum role role)
{
	const struct colour *c = &with_colours[role];
	size_t n = 0;

	buf[0] = '\0';
	if (c->bold)
		n += (size_t)snprintf(buf + n, COLOUR_SGR_MAX - n, "1;");
	if (c->faint)
		n += (size_t)snprintf(buf + n, COLOUR_SGR_MAX - n, "2;");
	if (c->front >= 0)
		n += (size_t)snprintf(buf + n, COLOUR_SGR_MAX - n, "%d;", 30 + c->front);
	if (c->back >= 0)
		n += (size_t)snprintf(buf + n, COLOUR_SGR_MAX - n, "%d;", 40 + c->back);
	if (n) {
		char codes[COLOUR_SGR_MAX];

		snprintf(codes, sizeof(codes), "%.*s", (int)n - 1, buf);
		snprintf(buf, COLOUR_SGR_MAX, "\033[%.24sm", codes);
	}
	return buf;
}
