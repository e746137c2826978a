/* SPDX-License-Identifier: MIT */
/*
 * discover.c - lists the nodes of o2cb, of corosync.conf, or of the DLM's addresses.
 */
#include "mounts.h"

#include "tree.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 256, NODE_NAME_MAX = 256 };

static int discover_add(struct discovered *d, const char *name)
{
	char **more;

	for (size_t i = 0; i < d->n; i++)
		if (strcmp(d->names[i], name) == 0)
			return 0;
	if (!*name || d->n == NODES_MAX)
		return 0;
	more = reallocarray(d->names, d->n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	d->names = more;
	more[d->n] = strdup(name);
	if (!more[d->n])
		return -ENOMEM;
	d->n++;
	return 0;
}

void discover_free(struct discovered *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->names[i]);
	free(d->names);
	*d = (struct discovered){0};
}

/* ---- o2cb: CONFIGFS/cluster/NAME/node/NODE ------------------------------------------------- */

static int from_o2cb(struct discovered *d, const char *configfs)
{
	char path[PATH_MAX], nodes[PATH_MAX];
	char **clusters = NULL, **names = NULL;
	int n_clusters, n, err = 0;

	if (snprintf(path, sizeof(path), "%s/cluster", configfs) >= (int)sizeof(path))
		return 0;
	n_clusters = tree_names(path, &clusters);
	for (int i = 0; i < n_clusters && !err; i++) {
		if (snprintf(nodes, sizeof(nodes), "%s/cluster/%s/node", configfs, clusters[i]) >=
		    (int)sizeof(nodes))
			continue;
		n = tree_names(nodes, &names);
		for (int j = 0; j < n && !err; j++)
			err = discover_add(d, names[j]);
		if (n >= 0)
			tree_free_names(names, n);
	}
	if (n_clusters >= 0)
		tree_free_names(clusters, n_clusters);
	return err;
}

/* ---- the DLM: CONFIGFS/dlm/cluster/comms/ID/addr_list: "AF_INET 10.77.0.1" ------------------ */

static int from_dlm(struct discovered *d, const char *configfs)
{
	char path[PATH_MAX], text[512], address[NODE_NAME_MAX];
	char **ids = NULL;
	int n, err = 0;

	if (snprintf(path, sizeof(path), "%s/dlm/cluster/comms", configfs) >= (int)sizeof(path))
		return 0;
	n = tree_names(path, &ids);
	for (int i = 0; i < n && !err; i++)
		if (snprintf(path, sizeof(path), "%s/dlm/cluster/comms/%s/addr_list", configfs,
			     ids[i]) < (int)sizeof(path) &&
		    input_small(path, text, sizeof(text)) > 0 &&
		    sscanf(text, "%*s %255s", address) == 1)
			err = discover_add(d, address);
	if (n >= 0)
		tree_free_names(ids, n);
	return err;
}

/* ---- corosync.conf ------------------------------------------------------------------------- */

struct corosync {
	struct discovered *d;
	int depth, nodelist, node; /* open braces, and the depth at which each began; 0 not */
	char name[NODE_NAME_MAX], address[NODE_NAME_MAX];
	int err;
};

/* Reads the value of `key`, if the line has it, as in "  ring0_addr: 10.77.0.1". */
static void take_value(const char *line, size_t len, const char *key, char to[NODE_NAME_MAX])
{
	size_t n = strlen(key), from = n;

	if (len <= n || memcmp(line, key, n) != 0 || line[n] != ':')
		return;
	for (from = n + 1; from < len && isblank((unsigned char)line[from]);)
		from++;
	while (len > from && isspace((unsigned char)line[len - 1]))
		len--;
	snprintf(to, NODE_NAME_MAX, "%.*s", (int)(len - from), line + from);
}

static bool discover_take_line(void *arg, const char *line, size_t len, size_t number,
			       bool complete)
{
	struct corosync *c = arg;

	(void)number;
	(void)complete;
	while (len && isblank((unsigned char)*line)) {
		line++;
		len--;
	}
	if (!len || *line == '#')
		return true;
	if (memchr(line, '{', len)) {
		c->depth++;
		if (len > 8 && memcmp(line, "nodelist", 8) == 0) {
			c->nodelist = c->depth;
		} else if (c->nodelist && c->depth == c->nodelist + 1 && len > 4 &&
			   memcmp(line, "node", 4) == 0) {
			c->node = c->depth;
			*c->name = *c->address = '\0';
		}
	} else if (memchr(line, '}', len)) {
		if (c->node == c->depth && c->node) {
			c->err = discover_add(c->d, *c->name ? c->name : c->address);
			c->node = 0;
		}
		if (c->nodelist == c->depth)
			c->nodelist = 0;
		c->depth -= c->depth > 0;
	} else if (c->node && c->node == c->depth) {
		take_value(line, len, "name", c->name);
		take_value(line, len, "ring0_addr", c->address);
	}
	return !c->err;
}

int discover_corosync(struct discovered *out, struct input *in)
{
	struct corosync c = {.d = out};

	input_lines(in, discover_take_line, &c);
	return c.err;
}

int discover_nodes(struct discovered *out, const char *configfs, const char *corosync_conf)
{
	struct input in;
	int err;

	*out = (struct discovered){0};
	configfs = configfs ? configfs : "/sys/kernel/config";
	corosync_conf = corosync_conf ? corosync_conf : "/etc/corosync/corosync.conf";
	err = from_o2cb(out, configfs);
	if (!err && !out->n && input_open_path(&in, corosync_conf, corosync_conf) == 0)
		err = discover_corosync(out, &in);
	if (!err && !out->n)
		err = from_dlm(out, configfs);
	if (err)
		discover_free(out);
	return err;
}
