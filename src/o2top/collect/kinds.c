/* SPDX-License-Identifier: MIT */
/*
 * kinds.c - the table of the names of file kinds.
 */
#include "collect.h"

#include <string.h>

const char *const kind_names[WIRE_KINDS] = {
    [FILE_LOCKING_STATE] = "locking_state",
    [FILE_FS_STATE] = "fs_state",
    [FILE_GLOCKS] = "glocks",
    [FILE_GLSTATS] = "glstats",
    [FILE_SBSTATS] = "sbstats",
    [FILE_DLM_ALL] = "dlm_all",
    [FILE_TRACE] = "trace",
    [FILE_O2DLM] = "o2dlm",
    [FILE_O2DLM_STATE] = "o2dlm_state",
    [FILE_FILTER] = "locking_filter",
    [FILE_TASKS] = "tasks",
    [FILE_IDS] = "ids",
    [FILE_NODE] = "node",
    [FILE_CONDITION] = "condition",
    [FILE_PATHS] = "paths",
    [FILE_PLOCKS] = "plocks",
    [FILE_DLM_PLOCKS] = "dlm_plocks",
    [FILE_DAEMONS] = "daemons",
    [WIRE_MOUNTINFO] = "mountinfo",
    [WIRE_GFS2_ID] = "gfs2_id",
    [WIRE_LOCKDOWN] = "lockdown",
};

const char *const node_state_names[NODE_STATE_MAX] = {
    [NODE_OK] = "ok",
    [NODE_SLOW] = "slow",
    [NODE_STALE] = "stale",
    [NODE_UNREACHABLE] = "unreachable",
    [NODE_NO_PERMISSION] = "no permission",
    [NODE_NOT_ANSWERING] = "not answering",
    [NODE_UNUSABLE] = "unusable",
    [NODE_NOTHING] = "nothing mounted",
    [NODE_NO_STATISTICS] = "no statistics",
    [NODE_RESTARTED] = "restarted",
    [NODE_CLOCK_BACK] = "clock went back",
    [NODE_DEAD] = "dead",
    [NODE_STOPPED] = "stopped",
    [NODE_HANGS] = "hangs",
    [NODE_WITHDRAWN] = "withdrawn",
};

int kind_named(const char *name, size_t len)
{
	for (int i = 0; i < WIRE_KINDS; i++)
		if (strlen(kind_names[i]) == len && memcmp(kind_names[i], name, len) == 0)
			return i;
	return -1;
}
