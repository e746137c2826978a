/* SPDX-License-Identifier: MIT */
/*
 * demote.c - glock demote: makes nodes give up a glock, like demote_rq in GFS2's sysfs.
 *
 * The nodes treat the request as a bast that another node's request caused.
 */
#include "cli.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <strings.h>

/* The mode that another node would want, and the mode to which holders of the lock then go. */
static const struct {
	const char *name;
	enum glock_mode wanted, to;
} modes[] = {
    {"EX", GLOCK_EX, GLOCK_UN}, {"DF", GLOCK_DF, GLOCK_DF}, {"CW", GLOCK_DF, GLOCK_DF},
    {"SH", GLOCK_SH, GLOCK_SH}, {"PR", GLOCK_SH, GLOCK_SH},
};

struct wanted {
	const char *what; /* the argument */
	const char *node;
	unsigned int type;
	uint64_t number;
	enum glock_mode wanted, to;
};

/* Returns 0 if the node was asked, 66 if it does not have this glock, else the exit status. */
static int demote_ask(const struct glock__find_spaces *s, const struct glock__found_node *node,
		      const struct wanted *w)
{
	const struct glock__found_space *space = &s->spaces[0];
	struct glock__peek *peek;
	char name[64];
	int err, users;

	node_name(node, name, sizeof(name));
	if (node->condition == GLOCK__NODE_INHERITED) {
		if (glock__found_open(s, space, node, &peek))
			return EX_NOINPUT;
		users = glock__peek_users(peek, w->type, w->number);
		glock__peek_close(peek);
		if (users <= 0)
			return EX_NOINPUT;
		complain("node %s (inherited) keeps the glock until its command has ended", name);
		return EX_TEMPFAIL;
	}
	err = glock__found_demote(space, node, w->type, w->number, w->to);
	if (err == -ENOENT)
		return EX_NOINPUT;
	if (err == -ETIMEDOUT)
		complain("node %s (%s) does not answer; it gives the glock up when it goes on",
			 name, glock__condition_names[node->condition]);
	else if (err)
		complain("node %s: %s", name, strerror(-err));
	if (!err || err == -ETIMEDOUT)
		return err ? EX_TEMPFAIL : EX_OK;
	return err == -EACCES || err == -EPERM ? EX_NOPERM : EX_OSERR;
}

static int demote_ask_all(const struct glock__find_spaces *s, const struct wanted *w)
{
	const struct glock__found_space *space = &s->spaces[0];
	size_t wanted = 0, had = 0;
	int worst = EX_OK;

	for (size_t i = 0; i < space->n_nodes; i++) {
		const struct glock__found_node *node = &space->nodes[i];
		int status;

		if (node->error || node->condition == GLOCK__NODE_DEAD ||
		    !node_wanted(node, w->node))
			continue;
		wanted++;
		status = demote_ask(s, node, w);
		had += status != EX_NOINPUT;
		if (status && status != EX_NOINPUT)
			worst = status;
	}
	if (had)
		return worst;
	if (wanted || !w->node)
		complain("%s: no node%s in space %s has this glock; glock stat %s lists the glocks",
			 w->what, w->node ? " of this name" : "", space->name, space->name);
	else
		complain("%s: no such node lives; glock ls %s lists the nodes", w->node,
			 space->name);
	return EX_NOINPUT;
}

static bool take_mode(const char *name, struct wanted *w)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcasecmp(name, modes[i].name))
			continue;
		w->wanted = modes[i].wanted;
		w->to = modes[i].to;
		return true;
	}
	return false;
}

static const struct option longs[] = {
    {"node", required_argument, NULL, 'n'},
    ETCD_LONG,
    {"help", no_argument, NULL, 'h'},
    {0},
};

static int demote_run(int argc, char **argv)
{
	struct wanted w = {0};
	struct glock__find_spaces s;
	const char *lockman = NULL;
	int option, status, etcd;

	while ((option = next_option(argc, argv, ":n:h", longs)) != -1) {
		if (option == 'l')
			lockman = optarg;
		else if (option == 'n')
			w.node = optarg;
		else
			return option == 'h' ? EX_OK : EX_USAGE;
	}
	if (argc - optind != 3)
		return usage_error("SPACE, TYPE:NUMBER and MODE are needed");
	argv += optind;
	w.what = argv[1];
	if (!name_is_number(argv[1], &w.type, &w.number))
		return usage_error("%s: not TYPE:NUMBER; TYPE is a number below %d or a name such "
				   "as inode, NUMBER is decimal or 0x and hexadecimal",
				   argv[1], GLOCK_TYPE_MAX);
	if (!take_mode(argv[2], &w))
		return usage_error("%s: no such mode; try EX, DF (or CW) or SH (or PR)", argv[2]);
	etcd = choose_etcd(lockman);
	if (etcd > 0 && w.node)
		return usage_error("--node: with etcd all nodes are asked; drop it");
	if (etcd)
		return etcd < 0 ? EX_USAGE
				: etcd_demote(argv[0], w.what, w.type, w.number, w.wanted);
	status = find_spaces(&s, argv[0], FIND_ONE_TO_READ);
	if (status)
		return status;
	expect_cut_off();
	status = demote_ask_all(&s, &w);
	glock__found_free(&s);
	return status;
}

const struct command cmd_demote = {
    .name = "demote",
    .usage = "[OPTION]... SPACE TYPE:NUMBER MODE",
    .what = "Makes nodes give up a glock that they have cached.",
    .help =
	"  -n, --node NODE     ask only this node: a pid, a command, or both as in glock ls\n"
	"      --lockman etcd  ask the nodes of all machines, as a node that wants the lock\n"
	"\n"
	"glock asks as if another node wanted the glock in MODE:\n"
	"  EX           the nodes give the glock up\n"
	"  DF (or CW)   the nodes may keep DF\n"
	"  SH (or PR)   the nodes may keep SH\n"
	"\n"
	"Without -n, glock asks all nodes of this machine that have the glock. A holder keeps the\n"
	"lock. Its node gives the glock up after the release, when the hold time is over. glock\n"
	"does not wait for that.\n"
	"\n"
	"Exit status: 0 asked; 64 usage; 66 no such space, node or glock; 71 the system failed;\n"
	"75 a node does not answer, or is inherited, and gives the glock up later; with etcd also\n"
	"if a holder has the glock; 77 no permission.\n",
    .run = demote_run,
};
