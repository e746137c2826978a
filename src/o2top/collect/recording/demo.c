/* SPDX-License-Identifier: MIT */
/*
 * demo.c - the recording that is built in, for a first look; demo/make.sh tells its origin.
 */
#include "demo_data.h"
#include "record.h"

int collect_demo(struct collector **out, struct problems *problems)
{
	return collect_replay_memory(out, demo_recording, sizeof(demo_recording), "demo", problems);
}

const char *demo_paths(size_t *len)
{
	*len = sizeof(demo_names);
	return (const char *)demo_names;
}
