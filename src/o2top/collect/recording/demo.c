/* SPDX-License-Identifier: MIT */
/* The recording built in, for a first look: demo/make.sh tells what it is. */
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
