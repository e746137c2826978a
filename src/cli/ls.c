/* SPDX-License-Identifier: MIT */
/*
 * ls.c - glock ls: lists the spaces of this machine, their nodes and the nodes' conditions.
 */
#include "cli.h"

#include "glock/base/flags.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counts {
	size_t glocks, held, waiting;
	int64_t oldest; /* when the oldest wait began; 0: none */
	int error;      /* why nothing was counted, or 0 */
	char job[256];  /* of `glock run`: the name, the command, the user and the time */
	const struct glock__found_node *node;
	struct waits *waits;
};

static bool count_one(void *arg, const struct glock__peek_glock *gl)
{
	struct counts *c = arg;
	char text[128];

	c->glocks++;
	for (size_t i = 0; i < gl->n_holders; i++) {
		const struct glock__segment_holder *h = &gl->holders[i];

		c->held += (h->flags & GLOCK__H_HOLDER) != 0;
		if (!*c->job && is_job(h))
			snprintf(c->job, sizeof(c->job), "%s; %s", h->where,
				 job_text(text, sizeof(text), c->waits, c->node, gl, h));
		if (!(h->flags & GLOCK__H_WAIT))
			continue;
		c->waiting++;
		if (!c->oldest || h->asked < c->oldest)
			c->oldest = h->asked;
	}
	return true;
}

/* A dead node is not read, and neither is a node that publishes nothing. */
static struct counts count_node(struct waits *waits, const struct glock__found_node *node)
{
	struct counts c = {.node = node, .waits = waits};
	struct glock__peek *peek;

	if (node->condition == GLOCK__NODE_DEAD || !node->file)
		return c;
	c.error = glock__found_open(waits->found, waits->space, node, &peek);
	if (c.error) { /* it may have left just now, or just join */
		c.error = c.error == -ENOENT || c.error == -EAGAIN ? 0 : c.error;
		return c;
	}
	c.error = glock__peek_read(peek, count_one, &c, NULL);
	glock__peek_close(peek);
	return c;
}

static void print_text(const struct glock__found_space *space, const struct glock__found_node *node,
		       const struct counts *c, int64_t now)
{
	const char *owner = glock__user_name(node ? node->uid : space->uid);
	char name[64], oldest[32] = "-", why[128];

	if (!node) {
		printf("%-20s %-7s %-10s %-24s%s%s\n", space->name, space->lockman, owner, "-",
		       space->other_version || space->error ? " " : "",
		       space->error           ? not_readable(space->error, why, sizeof(why))
		       : space->other_version ? "of another version of glock"
					      : "");
		return;
	}
	node_name(node, name, sizeof(name));
	if (c->oldest)
		snprintf(oldest, sizeof(oldest), "%.1f", 1e-9 * (double)(now - c->oldest));
	if (c->error) {
		printf("%-20s %-7s %-10s %-24s %-10s %8s %6s %6s %8s  %s\n", space->name,
		       space->lockman, owner, name, glock__condition_names[node->condition], "-",
		       "-", "-", "-", not_readable(c->error, why, sizeof(why)));
		return;
	}
	printf("%-20s %-7s %-10s %-24s %-10s %8zu %6zu %6zu %8s%s%s%s%s\n", space->name,
	       space->lockman, owner, name, glock__condition_names[node->condition], c->glocks,
	       c->held, c->waiting, oldest, *node->why ? "  " : "", node->why, *c->job ? "  " : "",
	       c->job);
}

static json_t *number_or_null(size_t n, int error)
{
	return error ? json_null() : json_integer((json_int_t)n);
}

static void print_json(const struct glock__found_space *space, const struct glock__found_node *node,
		       const struct counts *c, int64_t now)
{
	json_t *o =
	    json_pack("{s:o,s:s,s:o,s:i}", "space", json_text(space->name, strlen(space->name)),
		      "lockman", space->lockman, "path",
		      json_text(space->path, strlen(space->path)), "uid", (int)space->uid);
	const char *user;
	char name[64], why[128];
	int error = node ? c->error : space->error;

	if (o && space->other_version)
		json_object_set_new(o, "other_version", json_true());
	if (o && error)
		json_object_set_new(o, "error", json_string(not_readable(error, why, sizeof(why))));
	if (o && node) {
		node_name(node, name, sizeof(name));
		json_object_set_new(o, "node", json_text(name, strlen(name)));
		json_object_set_new(o, "pid", json_integer(node->pid));
		user = glock__user_name(node->uid);
		json_object_set_new(o, "user", json_text(user, strlen(user)));
		json_object_set_new(o, "job",
				    *c->job ? json_text(c->job, strlen(c->job)) : json_null());
		json_object_set_new(o, "other_pid_namespace", json_boolean(node->elsewhere));
		json_object_set_new(o, "state",
				    json_string(glock__condition_names[node->condition]));
		json_object_set_new(o, "why", *node->why ? json_string(node->why) : json_null());
		json_object_set_new(o, "glocks", number_or_null(c->glocks, error));
		json_object_set_new(o, "held", number_or_null(c->held, error));
		json_object_set_new(o, "waiting", number_or_null(c->waiting, error));
		json_object_set_new(o, "oldest_wait_s",
				    c->oldest ? json_real(1e-9 * (double)(now - c->oldest))
					      : json_null());
	}
	if (o)
		json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
}

static void list(const struct glock__find_spaces *s, bool json)
{
	void (*print)(const struct glock__found_space *, const struct glock__found_node *,
		      const struct counts *, int64_t) = json ? print_json : print_text;

	if (!json && s->n)
		printf("%-20s %-7s %-10s %-24s %-10s %8s %6s %6s %8s\n", "SPACE", "LOCKMAN",
		       "OWNER", "NODE", "STATE", "GLOCKS", "HELD", "WAIT", "OLDEST/s");
	for (size_t i = 0; i < s->n; i++) {
		const struct glock__found_space *space = &s->spaces[i];
		struct waits waits = {.found = s, .space = space};

		if (!space->n_nodes)
			print(space, NULL, NULL, 0);
		for (size_t j = 0; j < space->n_nodes; j++) {
			const struct glock__found_node *node = &space->nodes[j];
			const struct counts c = count_node(&waits, node);

			print(space, node, &c, glock__clock());
		}
		free(waits.list);
	}
}

static int ls_run(int argc, char **argv)
{
	struct glock__find_spaces s;
	const char *name, *lockman;
	bool json;
	int status = json_and_name(argc, argv, &json, &name, &lockman), etcd;

	if (status >= 0)
		return status;
	etcd = choose_etcd(lockman);
	if (etcd)
		return etcd < 0 ? EX_USAGE : etcd_ls(name, json);
	status = find_spaces(&s, name, FIND_ALL);
	if (status)
		return status;
	list(&s, json);
	glock__found_free(&s);
	return EX_OK;
}

const struct command cmd_ls = {
    .name = "ls",
    .usage = "[OPTION]... [SPACE]",
    .what = "Lists the lock spaces of this machine and their nodes.",
    .help =
	"      --json          print one JSON object a line for each node\n"
	"      --lockman etcd  list the spaces and nodes of all machines, by the keys of etcd\n"
	"\n"
	"A node is a process that uses the space. Its line has the columns:\n"
	"  NODE      the process: its command and its pid\n"
	"  STATE     ok, stopped, hangs, inherited, dead or withdrawn\n"
	"  GLOCKS    the glocks that the node has\n"
	"  HELD      the holders of these glocks\n"
	"  WAIT      the waiters\n"
	"  OLDEST/s  the age of the longest wait, in seconds\n"
	"\n"
	"The process of an inherited node has ended, but a child of it lives and keeps the\n"
	"locks. If a node hangs, its line ends with the reason. That of glock run ends with the\n"
	"name of the lock and the command. Root sees the spaces of all users.\n"
	"\n"
	"Exit status: 0 done; 64 usage; 66 no such space; 71 the system failed; 74 output.\n",
    .run = ls_run,
};
