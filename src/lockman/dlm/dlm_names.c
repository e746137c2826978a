/* SPDX-License-Identifier: MIT */
/*
 * dlm_names.c - this machine's number, from configfs, and names, from corosync's configuration.
 *
 * corosync lists its nodes as nodelist.node.0, nodelist.node.1 and so on. Each has a nodeid. It has
 * a name, or only the name or address of its first link (ring0_addr).
 */
#include "dlm_cluster.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { CS_OK = 1, NODES_MAX = 64 };

struct libcmap {
	int (*initialize)(uint64_t *handle);
	int (*finalize)(uint64_t handle);
	int (*get_uint32)(uint64_t handle, const char *key, uint32_t *value);
	int (*get_string)(uint64_t handle, const char *key, char **value);
};

static struct libcmap lib;
static bool lib_there;

static void load_libcmap(void)
{
	static const char *const names[] = {"cmap_initialize", "cmap_finalize", "cmap_get_uint32",
					    "cmap_get_string"};

	_Static_assert(sizeof(lib) == sizeof(names), "each function has a name");
	lib_there = glock__load("libcmap.so.4", names, sizeof(names) / sizeof(*names), &lib);
}

/* Stores a text of corosync. Returns false if there is none. */
static bool cmap_text(uint64_t handle, int node, const char *field, char *out, size_t size)
{
	char key[64], *text = NULL;
	bool there;

	snprintf(key, sizeof(key), "nodelist.node.%d.%s", node, field);
	there = lib.get_string(handle, key, &text) == CS_OK && text && *text;
	if (there)
		snprintf(out, size, "%s", text);
	free(text);
	return there;
}

static bool cmap_name(uint64_t handle, uint32_t id, char *name, size_t size)
{
	char key[64];
	uint32_t found;

	for (int i = 0; i < NODES_MAX; i++) {
		snprintf(key, sizeof(key), "nodelist.node.%d.nodeid", i);
		if (lib.get_uint32(handle, key, &found) == CS_OK && found == id)
			return cmap_text(handle, i, "name", name, size) ||
			       cmap_text(handle, i, "ring0_addr", name, size);
	}
	return false;
}

void glock__dlm_node_name(uint32_t id, char *name, size_t size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	bool there = false;
	uint64_t handle;

	pthread_once(&once, load_libcmap);
	if (lib_there && lib.initialize(&handle) == CS_OK) {
		there = cmap_name(handle, id, name, size);
		lib.finalize(handle);
	}
	if (!there)
		snprintf(name, size, "node %u", (unsigned int)id);
}

static unsigned long number_in(const char *comm, const char *file)
{
	unsigned long n = 0;
	char path[384];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/config/dlm/cluster/comms/%s/%s", comm, file);
	f = fopen(path, "re");
	if (f && fscanf(f, "%lu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

uint32_t glock__dlm_own_node(void)
{
	DIR *dir = opendir("/sys/kernel/config/dlm/cluster/comms");
	unsigned long id = 0;
	struct dirent *e;

	while (dir && !id && (e = readdir(dir)))
		if (*e->d_name != '.' && number_in(e->d_name, "local"))
			id = number_in(e->d_name, "nodeid");
	if (dir)
		closedir(dir);
	return (uint32_t)id;
}
