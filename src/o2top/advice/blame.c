/* SPDX-License-Identifier: MIT */
/*
 * blame.c - the command that shows what holds a row's lock, for the node that the row names.
 *
 * OCFS2 and GFS2 get the same words. The command names the file if its path is known. Otherwise
 * debugfs.ocfs2(8) finds the path, and gfs2_edit(8) shows the inode. Both read the device without
 * locks. A walk through the mounted file system would wait for the lock, too.
 */
#include "advice_impl.h"

#include <stdio.h>
#include <string.h>

enum { COMMAND_MAX = 320, PATH_MAX_BYTES = 256 };

/* Quotes a path for the shell, if it needs quotes. Returns false if the path does not fit. */
static bool quote(const char *path, char *buf, size_t size)
{
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@%";
	size_t n = 0;

	if (!path[strspn(path, plain)])
		return (size_t)snprintf(buf, size, "%s", path) < size;
	if (size < 3)
		return false;
	buf[n++] = '\'';
	for (; *path; path++) {
		const char *put = *path == '\'' ? "'\\''" : NULL;
		size_t need = put ? strlen(put) : 1;

		/* A control character may not go to a terminal, so such a path gets no command. */
		if ((unsigned char)*path < ' ' || *path == 0x7f || n + need + 2 > size)
			return false;
		memcpy(buf + n, put ? put : path, need);
		n += need;
	}
	buf[n++] = '\'';
	buf[n] = '\0';
	return true;
}

/*
 * Writes the command. If the chain of waits ends at another file, the command is about that file.
 * Returns false for a row that is no file, because no command finds its user.
 */
static bool command(const struct model *m, const struct row *row, char *buf, size_t size)
{
	const struct space *space = &m->spaces[row->space];
	bool other = row->sentence && row->root.other;
	struct row_id id = other ? row->root.row : row->id;
	unsigned long long inode = id.number;
	char path[PATH_MAX_BYTES];

	if (id.class || space->fs == FS_GLOCK)
		return false;
	if (!other && row->path && quote(row->path, path, sizeof(path)))
		snprintf(buf, size, "fuser -v %s", path);
	else if (space->fs == FS_OCFS2)
		snprintf(buf, size, "debugfs.ocfs2 -R 'locate <%llu>' DEVICE", inode);
	else
		snprintf(buf, size, "gfs2_edit -p %llu DEVICE", inode);
	return true;
}

/* A node of libglock is a process. A command of `glock run` is a child of it. */
static void blame_process(const struct model *m, const struct blocker *root, const char *waits,
			  char *buf, size_t size)
{
	if (root && root->node >= 0 && root->pid)
		snprintf(buf, size, "%s for %s: ps -fp %lld --ppid %lld shows what it does", waits,
			 m->nodes[root->node].name, (long long)root->pid, (long long)root->pid);
	else if (root && root->node >= 0)
		snprintf(buf, size,
			 "%s for %s, which keeps the lock without a use: look at this process",
			 waits, m->nodes[root->node].name);
	else
		snprintf(buf, size,
			 "%s, and no watched process has the lock; glock ls shows all of a machine",
			 waits);
}

void blame(const struct model *m, const struct row *row, const char *waits, char *buf, size_t size)
{
	const struct blocker *root = row->sentence ? &row->root : NULL;
	char text[COMMAND_MAX];
	bool has = command(m, row, text, sizeof(text));

	if (root && root->node < 0 && root->number && root->watched)
		snprintf(buf, size,
			 "%s for the DLM's node %d: find the node with this number "
			 "(dlm_tool status)",
			 waits, root->number);
	else if (root && root->node < 0 && root->number)
		snprintf(buf, size,
			 "%s for the DLM's node %d: check whether it is dead, or watch it "
			 "with --node",
			 waits, root->number);
	else if (m->spaces[row->space].fs == FS_GLOCK)
		blame_process(m, root, waits, buf, size);
	else if (root && root->node >= 0 && (root->inside || node_absent(m, &m->nodes[root->node])))
		snprintf(buf, size, "%s; on %s%s%s", waits, m->nodes[root->node].name,
			 has ? ": " : ", ", has ? text : "find the process that holds the lock");
	else if (root && root->node >= 0)
		snprintf(buf, size, "%s; on %s: dmesg -T | tail, because its write-back may hang",
			 waits, m->nodes[root->node].name);
	else
		snprintf(buf, size, "%s; on each node%s%s", waits, has ? ": " : ", ",
			 has ? text : "find the process that holds the lock");
}
