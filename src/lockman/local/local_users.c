/* SPDX-License-Identifier: MIT */
/*
 * local_users.c - names the processes that use a space's file of another version.
 *
 * The layout of such a file is not known here. So no slot tells the processes, but /proc does. In
 * each version a process maps the file. An heir has a descriptor of the file, or of an alive file.
 * A user who is not root sees the user's own processes only.
 */
#include "base/version.h"
#include "local_file.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NAMED 8 /* the message names so many processes, and counts the others */

/* The search, and the users that it found. */
struct users {
	const struct local *l;
	char *path; /* of the file, without symbolic links */
	FILE *text; /* the processes that the message names */
	unsigned int n;
};

struct user {
	bool is_user;
	char version[32]; /* the end of its shared library's name; "": not known */
};

/* Takes the end of a shared library's name: 1.2.0 of /usr/lib/libglock.so.1.2.0 (deleted). */
static void read_version(const char *name, struct user *user)
{
	static const char soname[] = "/libglock.so.";
	const char *at = strstr(name, soname);

	if (!at || *user->version)
		return;
	at += strlen(soname);
	snprintf(user->version, sizeof(user->version), "%.*s", (int)strspn(at, ".0123456789"), at);
}

/* Reads a line of /proc/PID/maps: addresses, rights, offset, device, inode and name. */
static void read_mapping(const struct users *u, const char *line, struct user *user)
{
	unsigned int major = 0, minor = 0;
	unsigned long inode = 0;
	const char *name = strchr(line, '/');

	if (!name || sscanf(line, "%*s %*s %*s %x:%x %lu", &major, &minor, &inode) != 3)
		return;
	read_version(name, user);
	/* On some file systems stat() tells another device than this file. */
	if (inode == u->l->ino &&
	    (makedev(major, minor) == u->l->dev || (u->path && !strcmp(name, u->path))))
		user->is_user = true;
}

static void read_maps(const struct users *u, const char *pid, struct user *user)
{
	char path[64], *line = NULL;
	size_t size = 0;
	ssize_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.16s/maps", pid);
	f = fopen(path, "re");
	while (f && (n = getline(&line, &size, f)) > 0) {
		line[n - 1] = '\0'; /* the end of the line */
		read_mapping(u, line, user);
	}
	free(line);
	if (f)
		fclose(f);
}

/* Tells whether a descriptor refers to the file, or to an alive file, which is PATH,SLOT,alive. */
static bool is_of_space(const struct users *u, int dir, const char *name)
{
	const size_t len = u->path ? strlen(u->path) : 0;
	char to[GLOCK__LOCAL_PATH_MAX];
	ssize_t n = readlinkat(dir, name, to, sizeof(to) - 1);

	if (n <= 0 || !len)
		return false;
	to[n] = '\0';
	return !strncmp(to, u->path, len) && (!to[len] || to[len] == ',');
}

static void read_descriptors(const struct users *u, const char *pid, struct user *user)
{
	struct dirent *entry;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	d = opendir(path);
	while (d && !user->is_user && (entry = readdir(d)))
		user->is_user = is_of_space(u, dirfd(d), entry->d_name);
	if (d)
		closedir(d);
}

static void add_user(struct users *u, const char *pid, const struct user *user)
{
	struct glock__proc proc = {0};

	if (u->n++ >= NAMED)
		return;
	glock__proc_read((pid_t)strtol(pid, NULL, 10), &proc);
	fprintf(u->text, "%s%s (%s%s%s)", u->n > 1 ? ", " : "", pid, proc.comm,
		*user->version ? ", libglock.so." : "", user->version);
}

/* Looks at each process that /proc shows. */
static void find_users(struct users *u)
{
	DIR *d = opendir("/proc");
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		struct user user = {0};

		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		read_maps(u, entry->d_name, &user);
		if (!user.is_user)
			read_descriptors(u, entry->d_name, &user);
		if (user.is_user)
			add_user(u, entry->d_name, &user);
	}
	if (d)
		closedir(d);
}

/* The log gets one message: cause, processes and way out. `who` is the text of the processes. */
static void say_in_use(const struct local *l, const struct users *u, const char *who)
{
	char layouts[96] = "", more[32] = "";

	if (l->layout != LOCAL_LAYOUT)
		snprintf(layouts, sizeof(layouts),
			 " (layout %u; libglock " GLOCK__VERSION_TEXT " needs %u)", l->layout,
			 LOCAL_LAYOUT);
	if (u->n > NAMED)
		snprintf(more, sizeof(more), " and %u more", u->n - NAMED);
	if (u->n)
		glock__local_say(
		    &l->o, "space %s: file %s: %s%s; end process%s %s%s, or take another name",
		    l->name, l->path, l->wrong, layouts, u->n > 1 ? "es" : "", who, more);
	else
		glock__local_say(&l->o,
				 "space %s: file %s: %s%s; end the processes that use it, or take "
				 "another name; as root, fuser -v %s* lists them",
				 l->name, l->path, l->wrong, layouts, l->path);
}

void glock__local_say_users(const struct local *l)
{
	struct users u = {.l = l};
	char *who = NULL;
	size_t size = 0;

	if (!l->o.log)
		return;
	u.path = realpath(l->path, NULL);
	u.text = open_memstream(&who, &size);
	if (u.text) {
		find_users(&u);
		if (fclose(u.text))
			u.n = 0;
	}
	say_in_use(l, &u, who);
	free(who);
	free(u.path);
}
