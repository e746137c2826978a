/* SPDX-License-Identifier: MIT */
/*
 * options_impl.h - declarations that the command line and the configuration file share.
 */
#ifndef O2TOP_OPTIONS_PARTS_H
#define O2TOP_OPTIONS_PARTS_H

#include "options.h"

#include <getopt.h>

/* All that have a long name. */
extern const struct option option_list[];

/* Says what is wrong with a value; the status to exit with. */
int option_usage(const char *what, const char *value);
/* Takes one option: -1 to go on, or the status to exit with. */
int option_take(struct options *o, int option, char *arg);

/*
 * Which file: it is read before the command line, as that wins. True where there is to be one; what a
 * node of a cluster is asked to run has none.
 */
bool options_find_config(int argc, char **argv, const char **path);
/* Takes what the file says; as option_take(). */
int options_configured(struct options *o, const char *path);

#endif
