/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "collect/agent.h"
#include "help.h"
#include "version.h"
#include "views/tui.h"

#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum long_only {
	OPT_NAMES = 256,
	OPT_RECORDING,
	OPT_ONCE,
	OPT_DETAILS,
	OPT_HOT,
	OPT_FS,
	OPT_TYPE,
	OPT_INODE,
	OPT_WRITERS,
	OPT_MIN_LOST,
	OPT_NO_SYSTEM,
	OPT_JSON,
	OPT_NO_COLOR,
	OPT_ASCII,
	OPT_RECORD,
	OPT_REPLAY,
	OPT_FROM,
	OPT_TO,
	OPT_SPEED,
	OPT_COLUMNS,
	OPT_NO_MOUSE,
	OPT_DEBUGFS,
	OPT_SYSFS,
	OPT_MOUNTINFO,
	OPT_SSH,
	OPT_NO_AGENT,
	OPT_LOCAL,
	OPT_SAMPLE_LIMIT,
	OPT_AGENT,
	OPT_CONFIGFS,
	OPT_COROSYNC,
	OPT_AGENT_CHECK
};

static const struct option longs[] = {
    {"node", required_argument, NULL, 'n'},
    {"names", required_argument, NULL, OPT_NAMES},
    {"recording", no_argument, NULL, OPT_RECORDING},
    {"interval", required_argument, NULL, 't'},
    {"iterations", required_argument, NULL, 'i'},
    {"once", no_argument, NULL, OPT_ONCE},
    {"length", required_argument, NULL, 'l'},
    {"sort", required_argument, NULL, 's'},
    {"details", no_argument, NULL, OPT_DETAILS},
    {"hot", no_argument, NULL, OPT_HOT},
    {"fs", required_argument, NULL, OPT_FS},
    {"type", required_argument, NULL, OPT_TYPE},
    {"inode", required_argument, NULL, OPT_INODE},
    {"writers", required_argument, NULL, OPT_WRITERS},
    {"min-lost", required_argument, NULL, OPT_MIN_LOST},
    {"no-system", no_argument, NULL, OPT_NO_SYSTEM},
    {"debug", no_argument, NULL, 'd'},
    {"batch", no_argument, NULL, 'b'},
    {"json", no_argument, NULL, OPT_JSON},
    {"log", required_argument, NULL, 'o'},
    {"no-color", no_argument, NULL, OPT_NO_COLOR},
    {"ascii", no_argument, NULL, OPT_ASCII},
    {"record", required_argument, NULL, OPT_RECORD},
    {"replay", required_argument, NULL, OPT_REPLAY},
    {"from", required_argument, NULL, OPT_FROM},
    {"to", required_argument, NULL, OPT_TO},
    {"speed", required_argument, NULL, OPT_SPEED},
    {"columns", required_argument, NULL, OPT_COLUMNS},
    {"no-mouse", no_argument, NULL, OPT_NO_MOUSE},
    {"debugfs", required_argument, NULL, OPT_DEBUGFS},
    {"sysfs", required_argument, NULL, OPT_SYSFS},
    {"mountinfo", required_argument, NULL, OPT_MOUNTINFO},
    {"ssh", required_argument, NULL, OPT_SSH},
    {"no-agent", no_argument, NULL, OPT_NO_AGENT},
    {"sample-limit", required_argument, NULL, OPT_SAMPLE_LIMIT},
    {"local", no_argument, NULL, OPT_LOCAL},
    {"configfs", required_argument, NULL, OPT_CONFIGFS},
    {"corosync", required_argument, NULL, OPT_COROSYNC},
    {"agent", no_argument, NULL, OPT_AGENT},
    {"agent-check", no_argument, NULL, OPT_AGENT_CHECK},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {0},
};

static int usage(const char *what, const char *value)
{
	fprintf(stderr, "o2top: %s: %s\no2top: o2top --help lists the options\n", what, value);
	return EXIT_USAGE;
}

static bool number(const char *text, unsigned long most, unsigned long *out)
{
	char *end;

	errno = 0;
	*out = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *out <= most;
}

static bool parse_seconds(const char *text, double least, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return (*text == '.' || (*text >= '0' && *text <= '9')) && !*end && *out >= least &&
	       *out <= 86400;
}

static bool sort_key(const char *text, enum sort_key *out)
{
	for (int k = 0; k < SORT_KEYS; k++)
		if (strcmp(text, sort_key_names[k]) == 0) {
			*out = (enum sort_key)k;
			return true;
		}
	return false;
}

static int add_names(struct options *o, char *arg)
{
	char *equals = strchr(arg, '=');

	if (o->n_names == OPTION_NAMES_MAX)
		return usage("too many --names", arg);
	/* a path may hold an equals sign, too: a lock space's name holds no slash */
	if (equals && memchr(arg, '/', (size_t)(equals - arg)))
		equals = NULL;
	if (equals)
		*equals = '\0';
	o->names[o->n_names].space = equals ? arg : NULL;
	o->names[o->n_names++].file = equals ? equals + 1 : arg;
	return -1;
}

/* Options that take a number; -1 where it is one. */
static int take_number(struct options *o, int option, const char *arg)
{
	unsigned long n;

	switch (option) {
	case 'i':
		return number(arg, 1000000000, &o->iterations) && o->iterations
			   ? -1
			   : usage("-i wants a number of frames", arg);
	case 'l':
		if (!number(arg, 1000000000, &n))
			return usage("-l wants a number of rows", arg);
		o->view.length = (unsigned)n;
		return -1;
	case 't':
		return parse_seconds(arg, 0.05, &o->interval_s)
			   ? -1
			   : usage("-t wants seconds, from 0.05 to 86400", arg);
	case OPT_INODE:
		o->filter.has_inode = true;
		if (!number(arg, ~0ul, &n))
			return usage("--inode wants a number", arg);
		o->filter.inode = n;
		return -1;
	case OPT_SAMPLE_LIMIT:
		return number(arg, 65536, &o->sample_limit) && o->sample_limit
			   ? -1
			   : usage("--sample-limit wants MiB", arg);
	case OPT_WRITERS:
		if (!number(arg, 100000, &n))
			return usage("--writers wants a number of nodes", arg);
		o->filter.writers = (uint32_t)n;
		return -1;
	default:
		return parse_seconds(arg, 0, &o->filter.min_lost_per_s)
			   ? -1
			   : usage("--min-lost wants seconds", arg);
	}
}

static int take_option(struct options *o, int option, char *arg)
{
	switch (option) {
	case 'n':
		if (o->n_nodes == OPTION_NODES_MAX)
			return usage("too many nodes", arg);
		o->nodes[o->n_nodes++] = arg;
		return -1;
	case 's':
		return sort_key(arg, &o->sort) ? -1 : usage("no such column to sort by", arg);
	case OPT_NAMES:
		return add_names(o, arg);
	case OPT_RECORDING:
		o->recording = true;
		return -1;
	case OPT_ONCE:
		o->once = true;
		return -1;
	case OPT_DETAILS:
		o->view.details = true;
		return -1;
	case 'd':
		o->view.all_system = true;
		return -1;
	case OPT_HOT:
		o->filter.hot_only = true;
		return -1;
	case OPT_FS:
		o->filter.fs = arg;
		return -1;
	case OPT_TYPE:
		o->filter.type = arg;
		return filter_knows_type(arg) ? -1 : usage("no such type of lock", arg);
	case OPT_NO_SYSTEM:
		o->filter.no_system = true;
		return -1;
	case 'b':
		o->batch = true;
		return -1;
	case OPT_JSON:
		o->json = true;
		return -1;
	case 'o':
		o->log = arg;
		return -1;
	case OPT_NO_COLOR:
		o->view.color = false;
		return -1;
	case OPT_ASCII:
		o->view.ascii = true;
		return -1;
	case OPT_RECORD:
		o->record = arg;
		return -1;
	case OPT_REPLAY:
		o->replay = arg;
		return -1;
	case OPT_FROM:
		o->from = arg;
		return -1;
	case OPT_TO:
		o->to = arg;
		return -1;
	case OPT_SPEED:
		return parse_seconds(arg, 0, &o->speed)
			   ? -1
			   : usage("--speed wants a number, 2 for twice as fast", arg);
	case OPT_COLUMNS:
		o->columns = arg;
		return tui_check_columns(arg) ? usage("no such column", tui_check_columns(arg))
					      : -1;
	case OPT_NO_MOUSE:
		o->no_mouse = true;
		return -1;
	case OPT_DEBUGFS:
		o->roots.debugfs = arg;
		return -1;
	case OPT_SYSFS:
		o->roots.sysfs = arg;
		return -1;
	case OPT_MOUNTINFO:
		o->roots.mountinfo = arg;
		return -1;
	case OPT_SSH:
		o->ssh = arg;
		return -1;
	case OPT_NO_AGENT:
		o->no_agent = true;
		return -1;
	case OPT_LOCAL:
		o->local = true;
		return -1;
	case OPT_CONFIGFS:
		o->configfs = arg;
		return -1;
	case OPT_COROSYNC:
		o->corosync = arg;
		return -1;
	case OPT_AGENT:
		return agent_run();
	case OPT_AGENT_CHECK:
		puts(AGENT_PROTOCOL);
		return EXIT_DONE;
	case 'h':
		fputs(o2top_help, stdout);
		return EXIT_DONE;
	case 'V':
		puts("o2top " GLOCK_VERSION);
		return EXIT_DONE;
	default:
		return take_number(o, option, arg);
	}
}

static int terminal_columns(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize ws;
	unsigned long n;

	if (columns && number(columns, 10000, &n) && n)
		return (int)n;
	return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 ? ws.ws_col : 0;
}

int options_parse(struct options *o, int argc, char **argv)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool length_given = false;
	int option, status;

	*o = (struct options){.interval_s = 5, .speed = 1, .view.length = 20};
	o->view.color =
	    isatty(STDOUT_FILENO) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
	o->view.ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	o->view.columns = terminal_columns();
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":n:t:i:l:s:o:dbhV", longs, NULL)) != -1) {
		if (option == '?')
			return usage("no such option", argv[optind - 1]);
		if (option == ':')
			return usage("this option wants a value", argv[optind - 1]);
		length_given |= option == 'l';
		status = take_option(o, option, optarg);
		if (status >= 0)
			return status;
	}
	o->view.details_of_all = o->filter.has_inode;
	o->view.filtered = o->filter.fs || o->filter.type || o->filter.has_inode ||
			   o->filter.writers || o->filter.min_lost_per_s > 0 || o->filter.hot_only;
	if (o->json && !length_given)
		o->view.length = 0;
	o->interactive = !o->batch && !o->json && !o->once && !o->iterations && !o->log &&
			 isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
			 strcmp(term, "dumb") != 0;
	o->paths = argv + optind;
	o->n_paths = (size_t)(argc - optind);
	return -1;
}
