/* SPDX-License-Identifier: MIT */
/* fake_cmap.c - stands for libcmap.so.4: the functions that the library looks for. */
#include "fake_cmap.h"

#include <stdio.h>
#include <string.h>

enum { OK = 1, ERR_TRY_AGAIN = 6, ERR_NOT_EXIST = 12, NODES = 16 };

static uint32_t less[NODES]; /* one less than the count */
static int connections;
static bool refuses;

void fake_cmap_count(uint32_t node, uint32_t count)
{
	less[node % NODES] = count - 1;
}

void fake_cmap_refuse(bool now)
{
	refuses = now;
}

int fake_cmap_open(void)
{
	return connections;
}

int cmap_initialize(uint64_t *handle)
{
	if (refuses)
		return ERR_TRY_AGAIN;
	*handle = 17;
	connections++;
	return OK;
}

int cmap_finalize(uint64_t handle)
{
	connections -= handle == 17;
	return OK;
}

int cmap_get_uint32(uint64_t handle, const char *key, uint32_t *value)
{
	unsigned int node;
	char rest;

	if (handle == 17 && sscanf(key, "nodelist.node.%u.nodei%c", &node, &rest) == 2 &&
	    rest == 'd' && node < 2) {
		*value = node + 7;
		return OK;
	}
	if (handle != 17 || sscanf(key, "runtime.members.%u.join_coun%c", &node, &rest) != 2 ||
	    rest != 't')
		return ERR_NOT_EXIST;
	*value = less[node % NODES] + 1;
	return *value ? OK : ERR_NOT_EXIST;
}

/* Node 7 has a name, node 8 has only the address of its link. The caller frees the text. */
int cmap_get_string(uint64_t handle, const char *key, char **value)
{
	const char *text = NULL;

	if (handle == 17 && !strcmp(key, "nodelist.node.0.name"))
		text = "alpha";
	if (handle == 17 && !strcmp(key, "nodelist.node.1.ring0_addr"))
		text = "10.0.0.8";
	*value = text ? strdup(text) : NULL;
	return *value ? OK : ERR_NOT_EXIST;
}
