/* SPDX-License-Identifier: MIT */
/*
 * glock demote: asks for a glock as another node would, so that those who have it cached give it
 * up, and takes no for an answer. As demote_rq in GFS2's sysfs, but for all nodes at once.
 */
#include "cli.h"

#include "mode.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *name;
	enum glock_mode mode;
} modes[] = {
    {"EX", GLOCK_EX}, {"DF", GLOCK_DF}, {"CW", GLOCK_DF}, {"SH", GLOCK_SH}, {"PR", GLOCK_SH},
};

struct wanted {
	unsigned int type;
	uint64_t number;
	bool found;
};

static bool is_it(void *arg, const struct glock__peek_glock *gl)
{
	struct wanted *w = arg;

	w->found = gl->r.type == w->type && gl->r.number == w->number;
	return !w->found;
}

/* Asking would make a glock that is not there. */
static int check_there(const char *name, const char *what, struct wanted *w)
{
	struct glock__survey s;
	int status = find_spaces(&s, name, true);

	if (status)
		return status;
	for (size_t i = 0; i < s.spaces[0].n_nodes && !w->found; i++)
		if (s.spaces[0].nodes[i].peek)
			glock__peek_read(s.spaces[0].nodes[i].peek, is_it, w, NULL);
	glock__survey_free(&s);
	if (w->found)
		return EX_OK;
	complain("%s: no node in %s has this glock", what, name);
	return EX_NOINPUT;
}

static int demote(const char *name, const struct wanted *w, enum glock_mode mode)
{
	const struct glock_type_options type = {
	    .size = sizeof(type),
	    .type = w->type,
	    .modes = GLOCK__SH_SET | GLOCK__DF_SET | GLOCK__EX_SET,
	};
	struct glock_space *space;
	struct glock_holder gh;
	struct glock *gl;
	int err, status = open_space(name, NULL, 0, &type, 1, &space);

	if (status)
		return status;
	err = glock_get(space, w->type, w->number, &gl);
	if (!err) {
		glock_holder_init(&gh, gl, mode, GLOCK_TRY_1CB | GLOCK_NOCACHE);
		err = glock_nq(&gh);
		if (!err)
			glock_dq_wait(&gh);
		glock_put(gl);
	}
	glock_space_close(space);
	if (!err || err == -EAGAIN)
		return EX_OK; /* had at once, or asked for */
	complain("%s: %s", name, err == -EINVAL ? "this type has no such mode" : strerror(-err));
	return err == -EINVAL ? EX_USAGE : EX_OSERR;
}

static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {0}};

static int run(int argc, char **argv)
{
	int option = next_option(argc, argv, ":h", longs), status;
	struct wanted w = {0};

	if (option != -1)
		return option == 'h' ? EX_OK : EX_USAGE;
	if (argc - optind != 3)
		return usage_error("SPACE, TYPE:NUMBER and MODE are wanted");
	argv += optind;
	if (!name_is_number(argv[1], &w.type, &w.number))
		return usage_error("%s: not TYPE:NUMBER; the type is a number below %d or a name "
				   "as inode, the number decimal or 0x and hexadecimal",
				   argv[1], GLOCK_TYPE_MAX);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcasecmp(argv[2], modes[i].name))
			continue;
		status = check_there(argv[0], argv[1], &w);
		return status ? status : demote(argv[0], &w, modes[i].mode);
	}
	return usage_error("%s: EX, DF (or CW) and SH (or PR) are known", argv[2]);
}

const struct command cmd_demote = {
    .name = "demote",
    .usage = "SPACE TYPE:NUMBER MODE",
    .what = "Has the nodes give up a glock that they cache.",
    .help =
	"MODE is what another node would want: EX, so that all give it up; DF (or CW), so that\n"
	"they may keep DF; SH (or PR), so that they may keep SH. Who holds the lock is not\n"
	"interrupted: his node gives it up when he lets go. Does not wait for that.\n"
	"\n"
	"Exit status: 0 asked; 64 usage, 66 no such space or glock, 71 the system failed.\n",
    .run = run,
};
