/* SPDX-License-Identifier: MIT */
/*
 * rm.c - glock rm: removes lock spaces that no node uses.
 */
#include "cli.h"
#include "lockman/dlm/dlm_dev.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static void name_the_living(const struct glock__found_space *space)
{
	for (size_t i = 0; i < space->n_nodes; i++) {
		char name[64];

		if (space->nodes[i].condition == GLOCK__NODE_DEAD)
			continue;
		node_name(&space->nodes[i], name, sizeof(name));
		complain("space %s: process %s uses it (%s)", space->name, name,
			 glock__condition_names[space->nodes[i].condition]);
	}
}

static int remove_one(const char *name)
{
	struct glock__find_spaces s;
	int status = find_spaces(&s, name, FIND_ONE), err;

	if (status)
		return status;
	err = glock__found_remove(&s.spaces[0]);
	if (err == -EBUSY) {
		name_the_living(&s.spaces[0]);
		complain("space %s is in use; end its processes first", name);
		status = 1;
	} else if (err) {
		complain("cannot remove %s: %s", s.spaces[0].path,
			 err == -ESTALE ? "its file or folder was exchanged meanwhile; try again"
			 : err == -ELOOP
			     ? "its folder is a symbolic link; name the folder itself in GLOCK_DIR"
			     : strerror(-err));
		status = err == -EACCES || err == -EPERM ? EX_NOPERM : EX_OSERR;
	}
	glock__found_free(&s);
	return status;
}

/* Takes this node out of a lockspace of the DLM that no process of this machine has open. */
static int leave_lockspace(const char *name)
{
	char why[256];
	int err = glock__dlm_remove(name, why, sizeof(why));

	if (!err)
		return EX_OK;
	complain("%s", why);
	return err == -EBUSY ? 1 : err == -ENOENT ? EX_NOINPUT : EX_OSERR;
}

static const struct option longs[] = {
    {"help", no_argument, NULL, 'h'}, {"lockman", required_argument, NULL, 'l'}, {0}};

static int rm_run(int argc, char **argv)
{
	const char *lockman = getenv("GLOCK_LOCKMAN");
	int option, status = EX_OK;

	while ((option = next_option(argc, argv, ":h", longs)) != -1) {
		if (option != 'l')
			return option == 'h' ? EX_OK : EX_USAGE;
		lockman = optarg;
	}
	if (lockman && *lockman && strcmp(lockman, "local") && strcmp(lockman, "dlm") &&
	    !is_etcd(lockman))
		return usage_error(
		    "%s: this lock manager leaves no spaces behind; try local, dlm or etcd",
		    lockman);
	if (argc == optind)
		return usage_error("SPACE is missing");
	for (int i = optind; i < argc; i++) {
		bool dlm = lockman && !strcmp(lockman, "dlm");
		int one = dlm                ? leave_lockspace(argv[i])
			  : is_etcd(lockman) ? etcd_rm(argv[i])
					     : remove_one(argv[i]);

		status = status ? status : one;
	}
	return status;
}

const struct command cmd_rm = {
    .name = "rm",
    .usage = "[--lockman dlm|etcd] SPACE...",
    .what = "Removes lock spaces that no living process uses.",
    .help =
	"      --lockman dlm   take this machine out of the DLM's lockspace SPACE; root only\n"
	"      --lockman etcd  remove the space SPACE from etcd\n"
	"\n"
	"SPACE is a name, or a path if several users have a space of that name.\n"
	"\n"
	"Killed processes may leave a lockspace behind, or dlm_controld may have ended before the\n"
	"lockspace. --lockman dlm helps in both cases. Without --lockman, GLOCK_LOCKMAN counts.\n"
	"\n"
	"Exit status: 0 done; 1 the space is in use; 64 usage; 66 no such space; 71 the system\n"
	"failed; 77 no permission. Of several spaces the first status that is not 0 counts.\n",
    .run = rm_run,
};
