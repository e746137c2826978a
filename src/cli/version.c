/* SPDX-License-Identifier: MIT */
/*
 * version.c - glock version.
 */
#include "cli.h"

#include "base/version.h"

#include <stdio.h>

static int version_run(int argc, char **argv)
{
	(void)argc, (void)argv;
	printf("glock %s\n", GLOCK__VERSION_TEXT);
	return EX_OK;
}

const struct command cmd_version = {
    .name = "version", .usage = "", .what = "Prints the version.", .help = "", .run = version_run};
