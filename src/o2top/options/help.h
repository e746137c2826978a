/* SPDX-License-Identifier: MIT */
#ifndef O2TOP_HELP_H
#define O2TOP_HELP_H

extern const char o2top_help[];

#endif
