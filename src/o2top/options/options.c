/* SPDX-License-Identifier: MIT */
/*
 * options.c - the command line: the list of long options, and the check of each value.
 */
#include "options.h"

#include "o2top/collect/remote/agent.h"
#include "help.h"
#include "options_impl.h"
#include "base/version.h"
#include "o2top/views/screen/tui.h"
#include "o2top/base/units.h"

#include <errno.h>
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
	OPT_BY_DIR,
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
	OPT_CSV,
	OPT_CHECK,
	OPT_WARN,
	OPT_CRIT,
	OPT_TEXTFILE,
	OPT_DEMO,
	OPT_CONFIG,
	OPT_NO_CONFIG,
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
	OPT_TRACE,
	OPT_LOCAL,
	OPT_PATHS,
	OPT_TOUCH_NOTHING,
	OPT_SAMPLE_LIMIT,
	OPT_AGENT,
	OPT_CONFIGFS,
	OPT_COROSYNC,
	OPT_AGENT_CHECK
};

const struct option option_list[] = {
    {"node", required_argument, NULL, 'n'},
    {"names", required_argument, NULL, OPT_NAMES},
    {"recording", no_argument, NULL, OPT_RECORDING},
    {"interval", required_argument, NULL, 't'},
    {"iterations", required_argument, NULL, 'i'},
    {"once", no_argument, NULL, OPT_ONCE},
    {"length", required_argument, NULL, 'l'},
    {"sort", required_argument, NULL, 's'},
    {"details", no_argument, NULL, OPT_DETAILS},
    {"by-dir", no_argument, NULL, OPT_BY_DIR},
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
    {"csv", no_argument, NULL, OPT_CSV},
    {"check", no_argument, NULL, OPT_CHECK},
    {"warn", required_argument, NULL, OPT_WARN},
    {"crit", required_argument, NULL, OPT_CRIT},
    {"textfile", required_argument, NULL, OPT_TEXTFILE},
    {"demo", no_argument, NULL, OPT_DEMO},
    {"config", required_argument, NULL, OPT_CONFIG},
    {"no-config", no_argument, NULL, OPT_NO_CONFIG},
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
    {"trace", no_argument, NULL, OPT_TRACE},
    {"sample-limit", required_argument, NULL, OPT_SAMPLE_LIMIT},
    {"paths", required_argument, NULL, OPT_PATHS},
    {"touch-nothing", no_argument, NULL, OPT_TOUCH_NOTHING},
    {"local", no_argument, NULL, OPT_LOCAL},
    {"configfs", required_argument, NULL, OPT_CONFIGFS},
    {"corosync", required_argument, NULL, OPT_COROSYNC},
    {"agent", no_argument, NULL, OPT_AGENT},
    {"agent-check", no_argument, NULL, OPT_AGENT_CHECK},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {0},
};

int option_usage(const char *what, const char *value)
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

static bool paths_effort(const char *text, enum paths_effort *out)
{
	static const char *const names[] = {
	    [PATHS_CACHED] = "cached", [PATHS_NONE] = "none", [PATHS_WHOLE] = "full"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text, names[i]) == 0) {
			*out = (enum paths_effort)i;
			return true;
		}
	return false;
}

static int add_names(struct options *o, char *arg)
{
	char *equals = strchr(arg, '=');

	if (o->n_names == OPTION_NAMES_MAX)
		return option_usage("too many --names", arg);
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
			   : option_usage("-i wants a number of frames", arg);
	case 'l':
		if (!number(arg, 1000000000, &n))
			return option_usage("-l wants a number of rows", arg);
		o->view.length = (unsigned)n;
		return -1;
	case 't':
		return parse_seconds(arg, 0.05, &o->interval_s)
			   ? -1
			   : option_usage("-t wants seconds, from 0.05 to 86400", arg);
	case OPT_INODE:
		o->filter.has_inode = true;
		if (!number(arg, ~0ul, &n))
			return option_usage("--inode wants a number", arg);
		o->filter.inode = n;
		return -1;
	case OPT_SAMPLE_LIMIT:
		return number(arg, 65536, &o->sample_limit) && o->sample_limit
			   ? -1
			   : option_usage("--sample-limit wants MiB", arg);
	case OPT_WRITERS:
		if (!number(arg, 100000, &n))
			return option_usage("--writers wants a number of nodes", arg);
		o->filter.writers = (uint32_t)n;
		return -1;
	default:
		return parse_seconds(arg, 0, &o->filter.min_lost_per_s)
			   ? -1
			   : option_usage("--min-lost wants seconds", arg);
	}
}

int option_take(struct options *o, int option, char *arg)
{
	switch (option) {
	case 'n':
		/* those of the command line are in place of the configured ones */
		if (o->nodes_configured)
			o->n_nodes = 0;
		o->nodes_configured = false;
		if (o->n_nodes == OPTION_NODES_MAX)
			return option_usage("too many nodes", arg);
		o->nodes[o->n_nodes++] = arg;
		return -1;
	case 's':
		return sort_key(arg, &o->sort) ? -1
					       : option_usage("no such column to sort by", arg);
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
	case OPT_BY_DIR:
		o->view.by_directory = true;
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
		return filter_knows_type(arg) ? -1 : option_usage("no such type of lock", arg);
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
	case OPT_CSV:
		o->csv = true;
		return -1;
	case OPT_CHECK:
		o->check = true;
		return -1;
	case OPT_WARN:
		return limits_parse(arg, &o->warn)
			   ? option_usage("no limit", limits_parse(arg, &o->warn))
			   : -1;
	case OPT_CRIT:
		return limits_parse(arg, &o->crit)
			   ? option_usage("no limit", limits_parse(arg, &o->crit))
			   : -1;
	case OPT_TEXTFILE:
		o->textfile = arg;
		return -1;
	case OPT_DEMO:
		o->demo = true;
		return -1;
	case OPT_CONFIG:
	case OPT_NO_CONFIG:
		return -1; /* read already */
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
			   : option_usage("--speed wants a number, 2 for twice as fast", arg);
	case OPT_COLUMNS:
		o->columns = arg;
		return tui_check_columns(arg)
			   ? option_usage("no such column", tui_check_columns(arg))
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
		return arg[strspn(arg, " \t")]
			   ? -1
			   : option_usage("--ssh wants the words of a command", "there are none");
	case OPT_NO_AGENT:
		o->no_agent = true;
		return -1;
	case OPT_PATHS:
		return paths_effort(arg, &o->effort)
			   ? -1
			   : option_usage("--paths wants none, cached or full", arg);
	case OPT_TOUCH_NOTHING:
		o->effort = PATHS_NONE;
		return -1;
	case OPT_TRACE:
		o->trace = true;
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
		puts("o2top " GLOCK__VERSION_TEXT);
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

static bool is_terminal(const char *term)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

/* Frames are printed as if it were dumb: terminals are often newer than what this machine knows of them. */
static bool knows_terminal(struct options *o, const char *term)
{
	char name[64];

	if (tui_knows_terminal())
		return true;
	unit_clean(name, sizeof(name), term, 0);
	fprintf(stderr,
		"o2top: terminal \"%s\" is not known here, so frames are printed: try "
		"TERM=xterm-256color\n",
		name);
	o->view.color = false;
	return false;
}

/* What follows from several options together. */
static int settle(struct options *o, bool length_given)
{
	const char *term = getenv("TERM");
	bool recorded = o->replay || o->demo || o->n_paths;

	o->view.details_of_all = o->filter.has_inode;
	o->view.filtered = o->filter.fs || o->filter.type || o->filter.has_inode ||
			   o->filter.writers || o->filter.min_lost_per_s > 0 || o->filter.hot_only;
	if (o->json + o->csv + o->check + o->batch > 1)
		return option_usage("one of these is enough", "--batch --json --csv --check");
	if ((o->json || o->csv) && !length_given)
		o->view.length = 0;
	if (o->check)
		o->iterations = 1;
	/* the nodes of one's cluster are not those of every recording */
	if (o->nodes_configured && (recorded || o->local))
		o->n_nodes = 0;
	o->interactive = !o->batch && !o->json && !o->csv && !o->check && !o->textfile &&
			 !o->once && !o->iterations && !o->log && is_terminal(term) &&
			 knows_terminal(o, term);
	return -1;
}

int options_parse(struct options *o, int argc, char **argv)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM"), *config;
	bool length_given = false;
	int option, status = -1;

	*o = (struct options){
	    .interval_s = 5, .speed = 1, .view.length = 20, .warn = check_warn, .crit = check_crit};
	o->view.color =
	    isatty(STDOUT_FILENO) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
	o->view.ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	o->view.columns = terminal_columns();
	if (options_find_config(argc, argv, &config))
		status = options_configured(o, config);
	opterr = 0;
	while (status < 0 &&
	       (option = getopt_long(argc, argv, ":n:t:i:l:s:o:dbhV", option_list, NULL)) != -1) {
		if (option == '?')
			return option_usage("no such option", argv[optind - 1]);
		if (option == ':')
			return option_usage("this option wants a value", argv[optind - 1]);
		length_given |= option == 'l';
		status = option_take(o, option, optarg);
	}
	if (status >= 0)
		return status;
	o->paths = argv + optind;
	o->n_paths = (size_t)(argc - optind);
	return settle(o, length_given);
}
