/* SPDX-License-Identifier: MIT */
/*
 * help.h - the text of o2top --help.
 */
#ifndef O2TOP_HELP_H
#define O2TOP_HELP_H

extern const char o2top_help[];

#endif
