/* SPDX-License-Identifier: MIT */
/*
 * place.c - reads the path of a file in a support archive.
 *
 *	HOST/sys/kernel/debug/gfs2/TABLE/glocks          the kernel's own paths below a host
 *	RUN/HOST/gfs2/TABLE/glocks, RUN/HOST/dlm/LS/LS_all   gfs2_lockcapture
 *	HOST/sos_commands/dlm/dlm_locks_LS               sosreport
 *	HOST/ocfs2.txt, HOST/dlm_dump.txt                supportconfig, crm report
 */
#include "archive_impl.h"

#include "o2top/collect/collect.h"

#include <stdio.h>
#include <string.h>

/* Folders that begin the files of a host. */
static const char *const anchors[] = {"sys", "sos_commands", "proc",      "var",
				      "etc", "gfs2",         "ocfs2",     "o2dlm",
				      "dlm", "glock",        "sosreport", "tracing"};

enum { PARTS_MOST_DEEP = 64 };

struct parts {
	const char *at[PARTS_MOST_DEEP];
	size_t len[PARTS_MOST_DEEP];
	size_t n;
};

static void split(struct parts *p, const char *path)
{
	p->n = 0;
	while (*path && p->n < PARTS_MOST_DEEP) {
		size_t len = strcspn(path, "/");

		if (len) {
			p->at[p->n] = path;
			p->len[p->n++] = len;
		}
		path += len + (path[len] == '/');
	}
}

static bool part_is(const struct parts *p, size_t i, const char *name)
{
	return i < p->n && p->len[i] == strlen(name) && memcmp(p->at[i], name, p->len[i]) == 0;
}

static void part_copy(const struct parts *p, size_t i, char to[PLACE_NAME_MAX])
{
	snprintf(to, PLACE_NAME_MAX, "%.*s", p->len[i] < PLACE_NAME_MAX ? (int)p->len[i] : 0,
		 p->at[i]);
}

static bool ends_with(const char *name, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len > n && memcmp(name + len - n, end, n) == 0;
}

/* Returns the first anchor, or the file itself. */
static size_t find_anchor(const struct parts *p, size_t from)
{
	for (size_t i = from; i + 1 < p->n; i++)
		for (size_t j = 0; j < sizeof(anchors) / sizeof(anchors[0]); j++)
			if (part_is(p, i, anchors[j]))
				return i;
	return p->n ? p->n - 1 : 0;
}

/* The kernel's files: the folder two levels above, the file, its kind. */
static const struct {
	const char *folder, *file;
	enum fs_kind fs;
	enum file_kind kind;
} kernel_files[] = {
    {"gfs2", "glocks", FS_GFS2, FILE_GLOCKS},
    {"gfs2", "glstats", FS_GFS2, FILE_GLSTATS},
    {"gfs2", "sbstats", FS_GFS2, FILE_SBSTATS},
    {"gfs2", "lkstats", FS_GFS2, FILE_SBSTATS},
    {"gfs2", "condition", FS_GFS2, FILE_CONDITION},
    {"ocfs2", "locking_state", FS_OCFS2, FILE_LOCKING_STATE},
    {"ocfs2", "fs_state", FS_OCFS2, FILE_FS_STATE},
    {"ocfs2", "locking_filter", FS_OCFS2, FILE_FILTER},
    {"o2dlm", "locking_state", FS_OCFS2, FILE_O2DLM},
    {"o2dlm", "dlm_state", FS_OCFS2, FILE_O2DLM_STATE},
};

static bool is_kernel_file(struct place_in *out, const struct parts *p)
{
	for (size_t i = 0; i < sizeof(kernel_files) / sizeof(kernel_files[0]) && p->n >= 3; i++)
		if (part_is(p, p->n - 3, kernel_files[i].folder) &&
		    part_is(p, p->n - 1, kernel_files[i].file)) {
			out->what = PLACE_KERNEL;
			out->fs = kernel_files[i].fs;
			out->kind = kernel_files[i].kind;
			out->has_space = true;
			part_copy(p, p->n - 2, out->space);
			return true;
		}
	return false;
}

/* Files of a node that o2top's recordings and agents have. */
static bool is_node_file(struct place_in *out, const char *name)
{
	static const enum file_kind kinds[] = {FILE_TRACE, FILE_TASKS,  FILE_IDS,
					       FILE_PATHS, FILE_PLOCKS, FILE_DAEMONS};

	if (strcmp(name, "realtime") == 0 || strcmp(name, "uptime") == 0) {
		out->what = *name == 'r' ? PLACE_REALTIME : PLACE_UPTIME;
		return true;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(name, kind_names[kinds[i]]) == 0) {
			out->what = PLACE_KERNEL;
			out->kind = kinds[i];
			return true;
		}
	if (strcmp(name, "hostinformation.txt") == 0)
		out->what = PLACE_HOSTINFO;
	else if (strcmp(name, "hostname") == 0)
		out->what = PLACE_HOSTNAME;
	else if (strcmp(name, "date") == 0)
		out->what = PLACE_DATE;
	else
		return false;
	return true;
}

/*
 * Takes a host's name out of the name that a tool of support gives its archive:
 * "sosreport-web1-2026-11-20-abcdef", "scc_web1_261120_0607".
 */
static void host_of_archive(char *name)
{
	static const struct {
		const char *begin;
		char end;
	} tools[] = {{"sosreport-", '-'}, {"scc_", '_'}, {"nts_", '_'}};

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
		size_t n = strlen(tools[i].begin), len;

		if (strncmp(name, tools[i].begin, n) != 0)
			continue;
		for (len = n; name[len]; len++)
			if (name[len] == tools[i].end && name[len + 1] >= '0' &&
			    name[len + 1] <= '9')
				break;
		if (len == n)
			continue;
		memmove(name, name + n, len - n);
		name[len - n] = '\0';
		return;
	}
}

/*
 * Files of a DLM's lock space: NAME_all, NAME_locks, NAME_plocks, or dlm_locks_NAME and
 * dlm_tool_plocks_NAME of sosreport.
 */
static bool is_dlm_file(struct place_in *out, const char *name, bool in_dlm)
{
	static const char sos[] = "dlm_locks_", tool[] = "dlm_tool_plocks_";
	size_t len = strlen(name), n = 0;
	bool plocks = false;

	if (strncmp(name, sos, sizeof(sos) - 1) == 0) {
		name += sizeof(sos) - 1;
		n = len - (sizeof(sos) - 1);
		if (ends_with(name, n, ".txt"))
			n -= 4;
	} else if (ends_with(name, len, "_all")) {
		n = len - 4;
		out->has_space = true;
	} else if (strncmp(name, tool, sizeof(tool) - 1) == 0) {
		name += sizeof(tool) - 1;
		n = len - (sizeof(tool) - 1);
		plocks = true;
	} else if (in_dlm && ends_with(name, len, "_plocks")) {
		n = len - 7;
		plocks = true;
	} else if (ends_with(name, len, "_locks")) {
		n = len - 6;
		out->is_list = true;
	} else if (ends_with(name, len, "_lockdebug")) {
		n = len - 10;
	} else if (ends_with(name, len, "_toss") || ends_with(name, len, "_waiters") ||
		   ends_with(name, len, "_queued_asts")) {
		out->what = PLACE_SKIP;
		return true;
	}
	if (!n && in_dlm)
		n = len;
	if (!n || n >= PLACE_NAME_MAX)
		return false;
	out->has_space |= plocks;
	out->what = out->has_space ? PLACE_KERNEL : PLACE_LOCKS;
	out->fs = FS_GFS2;
	out->kind = plocks ? FILE_DLM_PLOCKS : FILE_DLM_ALL;
	snprintf(out->space, sizeof(out->space), "%.*s", (int)n, name);
	return true;
}

void place_of(struct place_in *out, const char *given, const char *path)
{
	struct parts all, rel;
	char whole[8192], name[PLACE_NAME_MAX];
	size_t anchor, own;

	*out = (struct place_in){.what = PLACE_TEXT};
	snprintf(whole, sizeof(whole), "%s/%s", given, path);
	split(&all, whole);
	split(&rel, path);
	if (!all.n || !rel.n || rel.n > all.n)
		return;
	own = all.n - rel.n;
	/* the path that was given may lead into a host's folders */
	anchor = find_anchor(&all, own);
	for (size_t i = own; i > 0; i--)
		if (part_is(&all, i - 1, "sys") && part_is(&all, i, "kernel"))
			anchor = i - 1;
	out->guessed = anchor + 1 == all.n;
	if (anchor > 0)
		part_copy(&all, anchor - 1, out->host);
	host_of_archive(out->host);
	/* a folder of several runs, below what was given */
	if (anchor > own + 1)
		part_copy(&all, anchor - 2, out->run);
	snprintf(out->prefix, sizeof(out->prefix), "%.*s",
		 anchor ? (int)(all.at[anchor - 1] + all.len[anchor - 1] - whole) : 0, whole);
	part_copy(&all, all.n - 1, name);
	if (!is_kernel_file(out, &all) && !is_node_file(out, name))
		is_dlm_file(
		    out, name,
		    all.n >= 3 && !part_is(&all, all.n - 3, "sos_commands") &&
			(part_is(&all, all.n - 2, "dlm") || part_is(&all, all.n - 3, "dlm")));
}
