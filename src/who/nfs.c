/* SPDX-License-Identifier: MIT */
/*
 * nfs.c - the clients of this machine's NFS server that have a lock or a delegation.
 */
#include "who.h"

#include "base/clean.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS "/proc/fs/nfsd/clients"

/* Copies the text between the quotes behind a key of the file. */
static void copy_value(const char *line, const char *key, char *to, size_t size)
{
	const char *at = strstr(line, key), *from = at ? strchr(at, '"') : NULL;

	if (!from)
		return;
	snprintf(to, size, "%.*s", (int)strcspn(from + 1, "\""), from + 1);
	glock__clean(to, strlen(to));
}

/* Names the client by its address, and by the name that it gives itself. */
static void name_client(struct who_user *u, int client)
{
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), CLIENTS "/%d/info", client);
	f = fopen(path, "re");
	while (f && getline(&line, &size, f) > 0) {
		if (!strncmp(line, "address:", 8))
			copy_value(line, "address:", u->command, sizeof(u->command));
		else if (!strncmp(line, "name:", 5))
			copy_value(line, "name:", u->what, sizeof(u->what));
	}
	free(line);
	if (f)
		fclose(f);
}

/* The line is "- 0x0123: { type: lock, superblock: "fd:10:13649", filename: "a", ... }". */
static void take_state(struct who *w, int client, const char *line)
{
	struct who_user u = {.kind = "NFS", .mode = ""};
	const char *at = strstr(line, "superblock: \"");
	const bool deleg = strstr(line, "{ type: deleg, ");
	struct glock__file_id id;
	struct who_target *t;

	if ((!deleg && !strstr(line, "{ type: lock, ")) || !at ||
	    sscanf(at, "superblock: \"%x:%x:%" SCNu64 "\"", &id.major, &id.minor, &id.inode) != 3)
		return;
	t = who_find_file(w, &id);
	if (!t)
		return;
	name_client(&u, client);
	snprintf(u.note, sizeof(u.note), "%s of a client", deleg ? "delegation" : "lock");
	who_add_user(w, t, &u);
}

void who_add_nfs_clients(struct who *w)
{
	DIR *dir = opendir(CLIENTS);
	char path[64], *line = NULL;
	size_t size = 0;
	int client;
	FILE *f;

	while (dir && (client = glock__next_number(dir)) >= 0) {
		snprintf(path, sizeof(path), CLIENTS "/%d/states", client);
		f = fopen(path, "re");
		while (f && getline(&line, &size, f) > 0)
			take_state(w, client, line);
		if (f)
			fclose(f);
	}
	free(line);
	if (dir)
		closedir(dir);
}
