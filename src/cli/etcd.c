/* SPDX-License-Identifier: MIT */
/*
 * etcd.c - spaces of lock manager etcd, whose keys tell of nodes and locks on all machines.
 *
 * The processes take no part in this, so nodes that hang are shown, too. Only a demotion joins the
 * space.
 */
#include "lockman/etcd/etcd.h"
#include "base/clean.h"
#include "cli.h"
#include "glock/base/mode.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool is_etcd(const char *lockman)
{
	return lockman && !strcmp(lockman, "etcd");
}

int choose_etcd(const char *lockman)
{
	if (!lockman)
		lockman = getenv("GLOCK_LOCKMAN");
	if (!lockman || !*lockman || is_etcd(lockman) || !strcmp(lockman, "local") ||
	    !strcmp(lockman, "dlm") || !strcmp(lockman, "none"))
		return is_etcd(lockman);
	usage_error("%s: no such lock manager; try local or etcd", lockman);
	return -1;
}

static void etcd_say(void *arg, const char *message)
{
	(void)arg;
	complain("%s", message);
}

static struct glock__etcd_options options_of(const char *space)
{
	return (struct glock__etcd_options){.name = space ? space : "", .log = etcd_say};
}

static int no_such_space(const char *space)
{
	complain("space %s: etcd has no such space; glock ls --lockman etcd lists the spaces",
		 space);
	return EX_NOINPUT;
}

/* Returns a copy whose names print clean. */
static struct glock__etcd_part clean_part(const struct glock__etcd_part *p)
{
	struct glock__etcd_part clean = *p;

	glock__clean(clean.host, strlen(clean.host));
	glock__clean(clean.command, strlen(clean.command));
	return clean;
}

/* Writes "COMMAND-PID", or the number of a dead node, whose name is not known any more. */
static const char *part_name(const struct glock__etcd_part *p, char buf[64])
{
	if (p->pid)
		snprintf(buf, 64, "%s-%ld", p->command, (long)p->pid);
	else
		snprintf(buf, 64, "%016" PRIx64, p->node);
	return buf;
}

/* ---- glock ls ---- */

struct etcd_node {
	struct glock__etcd_part part;
	char space[NAME_MAX + 1];
	size_t locks, held, waiting;
};

struct etcd_list {
	struct etcd_node *nodes;
	size_t n;
};

static void count_part(void *arg, const struct glock__etcd_part *p)
{
	struct etcd_list *list = arg;
	struct etcd_node *node = NULL, *more;

	/* The nodes of a space come together, and the locks of this space follow. */
	for (size_t i = list->n; p->is_lock && i-- && !node;)
		if (list->nodes[i].part.node == p->node)
			node = &list->nodes[i];
	if (!node) {
		more = reallocarray(list->nodes, list->n + 1, sizeof(*more));
		if (!more)
			return;
		list->nodes = more;
		node = &list->nodes[list->n++];
		*node = (struct etcd_node){.part = clean_part(p)};
		snprintf(node->space, sizeof(node->space), "%s", p->space);
	}
	node->locks += p->is_lock;
	node->held += p->is_lock && p->granted > GLOCK__NL;
	node->waiting += p->is_lock && p->wanted != GLOCK__IV;
}

static void print_node(const struct etcd_node *n, bool json)
{
	const struct glock__etcd_part *p = &n->part;
	const char *state = p->pid ? "ok" : "dead";
	char name[64], space[sizeof(n->space)];
	json_t *o;

	part_name(p, name);
	if (!json) {
		snprintf(space, sizeof(space), "%s", n->space);
		glock__clean(space, strlen(space));
		printf("%-20s %-7s %-20s %-24s %-10s %8zu %6zu %6zu\n", space, "etcd",
		       p->pid ? p->host : "-", name, state, n->locks, n->held, n->waiting);
		return;
	}
	o = json_pack("{s:o,s:s,s:o,s:o,s:i,s:s,s:I,s:I,s:I}", "space",
		      json_text(n->space, strlen(n->space)), "lockman", "etcd", "host",
		      json_text(p->host, strlen(p->host)), "node", json_text(name, strlen(name)),
		      "pid", (int)p->pid, "state", state, "glocks", (json_int_t)n->locks, "held",
		      (json_int_t)n->held, "waiting", (json_int_t)n->waiting);
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
}

static int look(const char *space, struct etcd_list *list)
{
	const struct glock__etcd_options o = options_of(space);
	int err = glock__etcd_look(&o, count_part, list);

	if (err)
		return status_of(err);
	return space && !list->n ? no_such_space(space) : EX_OK;
}

int etcd_ls(const char *space, bool json)
{
	struct etcd_list list = {0};
	int status = look(space, &list);

	if (status == EX_OK && !json && list.n)
		printf("%-20s %-7s %-20s %-24s %-10s %8s %6s %6s\n", "SPACE", "LOCKMAN", "HOST",
		       "NODE", "STATE", "GLOCKS", "HELD", "WAIT");
	for (size_t i = 0; status == EX_OK && i < list.n; i++)
		print_node(&list.nodes[i], json);
	free(list.nodes);
	return status;
}

/* ---- glock stat ---- */

struct etcd_locks {
	const char *node;
	bool json, any;
	uint32_t type; /* of the lock before */
	uint64_t number;
	size_t lines;
};

static bool part_wanted(const struct glock__etcd_part *p, const char *wanted)
{
	char name[64], pid[24];

	snprintf(pid, sizeof(pid), "%ld", (long)p->pid);
	return !wanted || !strcmp(wanted, part_name(p, name)) || !strcmp(wanted, pid) ||
	       !strcmp(wanted, p->command) || !strcmp(wanted, p->host);
}

static void print_user(struct etcd_locks *l, const struct glock__etcd_part *p, bool waits)
{
	const char *mode =
	    glock__mode_name((unsigned int)glock__mode_of_dlm(waits ? p->wanted : p->granted));
	char name[64];
	json_t *o;

	part_name(p, name);
	if (l->json) {
		o = json_pack("{s:i,s:I,s:s,s:b,s:o,s:i,s:o}", "type", (int)p->type, "number",
			      (json_int_t)p->number, "mode", mode, "waits", waits, "node",
			      json_text(name, strlen(name)), "pid", (int)p->pid, "host",
			      json_text(p->host, strlen(p->host)));
		json_dumpf(o, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(o);
		return;
	}
	if (!l->lines || l->type != p->type || l->number != p->number)
		printf("G:  n:%u/%" PRIx64 "\n", p->type, p->number);
	printf(" H: s:%s f:%c p:%ld [%s] %s\n", mode, waits ? 'W' : 'H', (long)p->pid,
	       p->pid ? p->command : "dead", p->pid ? p->host : name);
}

static void print_part(void *arg, const struct glock__etcd_part *found)
{
	const struct glock__etcd_part clean = clean_part(found), *p = &clean;
	struct etcd_locks *l = arg;

	l->any = true;
	if (!p->is_lock || !part_wanted(p, l->node))
		return;
	for (int waits = 0; waits < 2; waits++) {
		if (waits ? p->wanted == GLOCK__IV : p->granted <= GLOCK__NL)
			continue;
		print_user(l, p, waits);
		l->type = p->type;
		l->number = p->number;
		l->lines++;
	}
}

int etcd_stat(const char *space, const char *node, bool json)
{
	const struct glock__etcd_options o = options_of(space);
	struct etcd_locks l = {.node = node, .json = json};
	int err = glock__etcd_look(&o, print_part, &l);

	if (err)
		return status_of(err);
	return l.any ? EX_OK : no_such_space(space);
}

/* ---- glock rm ---- */

static void name_the_users(const char *space)
{
	struct etcd_list list = {0};
	char name[64];

	if (look(space, &list) == EX_OK)
		for (size_t i = 0; i < list.n; i++)
			if (list.nodes[i].part.pid)
				complain("space %s: process %s of %s uses it", space,
					 part_name(&list.nodes[i].part, name),
					 list.nodes[i].part.host);
	free(list.nodes);
	complain("space %s is in use; end its processes first", space);
}

int etcd_rm(const char *space)
{
	const struct glock__etcd_options o = options_of(space);
	int err = glock__etcd_remove(&o);

	if (err == -EBUSY)
		name_the_users(space);
	if (!err || err == -EBUSY)
		return err ? 1 : EX_OK;
	return err == -ENOENT ? no_such_space(space) : status_of(err);
}

/* ---- glock demote ---- */

enum { DEMOTE_NS = 1000000000 };

struct has_lock {
	unsigned int type;
	uint64_t number;
	size_t n;
};

static void count_users(void *arg, const struct glock__etcd_part *p)
{
	struct has_lock *h = arg;

	h->n += p->is_lock && p->type == h->type && p->number == h->number;
}

int etcd_demote(const char *space, const char *what, unsigned int type, uint64_t number,
		enum glock_mode mode)
{
	const struct glock_type_options own = {.size = sizeof(own), .type = type};
	const struct glock__etcd_options o = options_of(space);
	struct has_lock has = {.type = type, .number = number};
	struct glock_space *joined;
	struct glock_holder gh;
	struct glock *gl;
	int err = glock__etcd_look(&o, count_users, &has), status;

	if (err)
		return status_of(err);
	if (!has.n) {
		complain("%s: no node in space %s has this glock; glock stat --lockman etcd %s "
			 "lists the glocks",
			 what, space, space);
		return EX_NOINPUT;
	}
	status = open_space(space, "etcd", NULL, 0, &own, 1, &joined);
	if (status)
		return status;
	err = glock_get(joined, type, number, &gl);
	if (!err) {
		glock_holder_init(&gh, gl, mode, GLOCK_ASYNC | GLOCK_NOCACHE);
		err = glock_nq(&gh);
		if (!err)
			err = glock_wait(&gh, glock__clock() + DEMOTE_NS, 0);
		glock_dq(&gh);
		glock_put(gl);
	}
	glock_space_close(joined);
	if (err == -ETIMEDOUT)
		complain("%s: a holder has the glock, or its node hangs; the node gives the glock "
			 "up later",
			 what);
	else if (err)
		complain("%s: %s", what, strerror(-err));
	return err == -ETIMEDOUT ? EX_TEMPFAIL : err ? EX_OSERR : EX_OK;
}
