/* SPDX-License-Identifier: MIT */
/*
 * which.c - tells an archive or a text from a recording in folders and from a file of the kernel.
 */
#include "archive.h"
#include "o2top/collect/machine/tree.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns whether a path has a file or folder of the name. */
static bool holds(const char *path, const char *name)
{
	char whole[PATH_MAX];
	int n = snprintf(whole, sizeof(whole), "%s/%s", path, name);

	return n > 0 && n < PATH_MAX && access(whole, F_OK) == 0;
}

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);

	return len > n && strcmp(name + len - n, end) == 0;
}

/* Returns whether a node's folder has the DLM's locks in no other form than as lists. */
static bool has_lists_only(const char *path)
{
	char dlm[PATH_MAX];
	int len = snprintf(dlm, sizeof(dlm), "%s/dlm", path), n;
	bool lists = false, dumps = false;
	char **names;

	n = len > 0 && len < PATH_MAX ? tree_names(dlm, &names) : -1;
	if (n < 0)
		return false;
	for (int i = 0; i < n; i++) {
		lists |= ends_with(names[i], "_locks");
		dumps |= ends_with(names[i], "_all");
	}
	tree_free_names(names, n);
	return lists && !dumps;
}

/*
 * Returns whether the folder is a node's in a recording, or holds such folders `depth` levels
 * below.
 */
static bool is_recorded(const char *path, int depth)
{
	char sub[PATH_MAX];
	bool yes = false;
	char **names;
	int n;

	if (holds(path, "hostinformation.txt") || holds(path, "sos_commands"))
		return false;
	if (tree_is_node(path))
		return !has_lists_only(path);
	n = depth ? tree_names(path, &names) : -1;
	if (n < 0)
		return false;
	for (int i = 0; i < n && !yes; i++) {
		int len = snprintf(sub, sizeof(sub), "%s/%s", path, names[i]);

		yes = len > 0 && len < PATH_MAX && is_recorded(sub, depth - 1);
	}
	tree_free_names(names, n);
	return yes;
}

/* Returns whether a file begins as the kernel's own, unpacked. */
static bool is_kernels(const char *path)
{
	static const char *const heads[] = {"0x", "G:  s:", "G: n:"};
	char head[8] = "";
	struct input in;
	ssize_t n;

	if (input_open_path(&in, path, path))
		return true; /* the other collector says why */
	n = in.read(&in, head, sizeof(head) - 1);
	in.close(&in);
	if (n <= 0)
		return true;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (strncmp(head, heads[i], strlen(heads[i])) == 0)
			return true;
	return false;
}

bool is_archive(const char *path)
{
	char *whole = realpath(path, NULL);
	struct stat st;
	bool yes = false;

	if (whole && stat(whole, &st) == 0) {
		const char *debug = strstr(whole, "/sys/kernel/debug");

		if (debug && debug != whole)
			yes = true;
		else if (S_ISDIR(st.st_mode))
			yes = !is_recorded(whole, 2);
		else
			yes = S_ISREG(st.st_mode) && !is_kernels(whole);
	}
	free(whole);
	return yes;
}
