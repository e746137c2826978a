/* SPDX-License-Identifier: MIT */
/*
 * options_table.c - all options, a row each, and what each does with its value.
 */
#include "options_impl.h"

#include "base/version.h"
#include "o2top/base/problems.h"
#include "o2top/collect/remote/cluster.h"
#include "o2top/views/columns.h"
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECONDS_MAX = 86400 };

/* ---- values that need more than a place ---------------------------------------------------- */

int option_usage(const char *what, const char *value)
{
	complain("%s: %s", what, value);
	complain("o2top --help lists options and values");
	return EXIT_USAGE;
}

bool option_number(const char *text, unsigned long most, unsigned long *out)
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
	       *out <= SECONDS_MAX;
}

/* Returns the index of a name in a list, or n if the list does not have it. */
static size_t index_of(const char *text, const char *const names[], size_t n)
{
	size_t i = 0;

	while (i < n && strcmp(text, names[i]) != 0)
		i++;
	return i;
}

/* Takes a node. Nodes of the command line replace the configured nodes. */
static int take_node(struct options *o, char *arg)
{
	if (o->nodes_configured)
		o->n_nodes = 0;
	o->nodes_configured = false;
	if (o->n_nodes == OPTION_NODES_MAX)
		return option_usage("too many nodes", arg);
	o->nodes[o->n_nodes++] = arg;
	return OPTION_GO_ON;
}

static int take_names(struct options *o, char *arg)
{
	char *equals = strchr(arg, '=');

	if (o->n_names == OPTION_NAMES_MAX)
		return option_usage("too many --names", arg);
	/* A path may hold an equals sign, too. A lock space's name holds no slash. */
	if (equals && memchr(arg, '/', (size_t)(equals - arg)))
		equals = NULL;
	if (equals)
		*equals = '\0';
	o->names[o->n_names].space = equals ? arg : NULL;
	o->names[o->n_names++].file = equals ? equals + 1 : arg;
	return OPTION_GO_ON;
}

static int list_columns(void)
{
	for (int i = 0; i < SORT_KEYS; i++)
		printf("%-10s %s\n", sort_key_names[i], sort_abouts[i].about);
	return EXIT_DONE;
}

static int take_sort(struct options *o, char *arg)
{
	size_t key = index_of(arg, sort_key_names, SORT_KEYS);

	if (strcmp(arg, "help") == 0)
		return list_columns();
	if (key == SORT_KEYS)
		return option_usage("no such column to sort by (--sort help lists them)", arg);
	o->sort = (enum sort_key)key;
	return OPTION_GO_ON;
}

static int take_type(struct options *o, char *arg)
{
	o->filter.type = arg;
	return filter_knows_type(arg) ? OPTION_GO_ON : option_usage("no such type of lock", arg);
}

static int option_take_inode(struct options *o, char *arg)
{
	unsigned long inode;

	if (!option_number(arg, ~0ul, &inode))
		return option_usage("--inode needs a number", arg);
	o->filter.has_inode = true;
	o->filter.inode = inode;
	return OPTION_GO_ON;
}

static int take_limits(struct options *o, bool crit, char *arg)
{
	const char *wrong = check_take_limits(&o->limits, crit, arg);

	return wrong ? option_usage("not a limit", wrong) : OPTION_GO_ON;
}

static int take_warn(struct options *o, char *arg)
{
	return take_limits(o, false, arg);
}

static int take_crit(struct options *o, char *arg)
{
	return take_limits(o, true, arg);
}

static int take_columns(struct options *o, char *arg)
{
	const char *wrong = columns_check(arg);

	if (strcmp(arg, "help") == 0) {
		columns_list(stdout);
		return EXIT_DONE;
	}
	o->columns = arg;
	return wrong ? option_usage("no such column (--columns help lists them)", wrong)
		     : OPTION_GO_ON;
}

static int take_ssh(struct options *o, char *arg)
{
	o->ssh = arg;
	return arg[strspn(arg, " \t")]
		   ? OPTION_GO_ON
		   : option_usage("--ssh needs a command", "the value is empty");
}

static int take_paths(struct options *o, char *arg)
{
	static const char *const names[] = {
	    [PATHS_CACHED] = "cached", [PATHS_NONE] = "none", [PATHS_WHOLE] = "full"};
	size_t n = sizeof(names) / sizeof(names[0]), effort = index_of(arg, names, n);

	if (effort == n)
		return option_usage("--paths needs none, cached or full", arg);
	o->effort = (enum paths_effort)effort;
	return OPTION_GO_ON;
}

static int touch_nothing(struct options *o, char *none)
{
	(void)none;
	o->effort = PATHS_NONE;
	return OPTION_GO_ON;
}

/* Ignores the option, because the configuration file was read before the command line. */
static int read_already(struct options *o, char *arg)
{
	(void)o;
	(void)arg;
	return OPTION_GO_ON;
}

/* Records two samples with all their files. */
static int take_collect(struct options *o, char *arg)
{
	o->record = arg;
	o->collect = o->once = o->batch = true;
	return OPTION_GO_ON;
}

static int print_script(struct options *o, char *none)
{
	(void)o;
	(void)none;
	fputs(collect_script, stdout);
	return EXIT_DONE;
}

static int run_agent(struct options *o, char *none)
{
	(void)none;
	return agent_run(o->effort == PATHS_WHOLE);
}

static int print_protocol(struct options *o, char *none)
{
	(void)o;
	(void)none;
	puts(AGENT_PROTOCOL);
	return EXIT_DONE;
}

static int print_help(struct options *o, char *none)
{
	(void)o;
	(void)none;
	fputs(o2top_help, stdout);
	return EXIT_DONE;
}

static int print_version(struct options *o, char *none)
{
	(void)o;
	(void)none;
	puts("o2top " GLOCK__VERSION_TEXT);
	return EXIT_DONE;
}

/* ---- the table ----------------------------------------------------------------------------- */

/* The place and the size of a value in struct options. */
#define TO(member) \
	.offset = offsetof(struct options, member), .size = sizeof(((struct options *)0)->member)

#define NUMBER(from, to, complaint) .least = (from), .most = (to), .wrong = (complaint)
#define SECONDS(from, complaint) .least_s = (from), .wrong = (complaint)

/* In the order in which an abbreviation is searched. */
const struct option_entry option_entries[] = {
    {"node", 'n', IN_FILE, OPTION_CALL, .call = take_node},
    {"names", 0, IN_FILE, OPTION_CALL, .call = take_names},
    {"recording", 0, ONCE, OPTION_SET, TO(recording)},
    {"interval", 't', IN_FILE, OPTION_SECONDS, TO(interval_s),
     SECONDS(0.05, "-t needs seconds, from 0.05 to 86400")},
    {"iterations", 'i', ONCE, OPTION_NUMBER, TO(iterations),
     NUMBER(1, 1000000000, "-i needs a number of frames")},
    {"once", 0, ONCE, OPTION_SET, TO(once)},
    {"length", 'l', IN_FILE, OPTION_NUMBER, TO(view.length),
     NUMBER(0, 1000000000, "-l needs a number of rows")},
    {"sort", 's', IN_FILE, OPTION_CALL, .call = take_sort},
    {"details", 0, IN_FILE, OPTION_SET, TO(view.details)},
    {"by-dir", 0, IN_FILE, OPTION_SET, TO(view.by_directory)},
    {"hot", 0, IN_FILE, OPTION_SET, TO(filter.hot_only)},
    {"fs", 0, IN_FILE, OPTION_TEXT, TO(filter.fs)},
    {"type", 0, ONCE, OPTION_CALL, .call = take_type},
    {"inode", 0, ONCE, OPTION_CALL, .call = option_take_inode},
    {"writers", 0, IN_FILE, OPTION_NUMBER, TO(filter.writers),
     NUMBER(0, 100000, "--writers needs a number of nodes")},
    {"min-lost", 0, IN_FILE, OPTION_SECONDS, TO(filter.min_lost_per_s),
     SECONDS(0, "--min-lost needs seconds")},
    {"no-system", 0, IN_FILE, OPTION_SET, TO(filter.no_system)},
    {"debug", 'd', IN_FILE, OPTION_SET, TO(view.all_system)},
    {"batch", 'b', ONCE, OPTION_SET, TO(batch)},
    {"json", 0, ONCE, OPTION_SET, TO(json)},
    {"log", 'o', ONCE, OPTION_TEXT, TO(log)},
    {"no-color", 0, IN_FILE, OPTION_CLEAR, TO(view.color)},
    {"ascii", 0, IN_FILE, OPTION_SET, TO(view.ascii)},
    {"csv", 0, ONCE, OPTION_SET, TO(csv)},
    {"csv-raw", 0, IN_FILE, OPTION_SET, TO(view.csv_raw)},
    {"check", 0, ONCE, OPTION_SET, TO(check)},
    {"answer-limit", 0, IN_FILE, OPTION_SECONDS, TO(answer_limit_s),
     SECONDS(0.05, "--answer-limit needs seconds, from 0.05 to 86400")},
    {"warn", 0, IN_FILE, OPTION_CALL, .call = take_warn},
    {"crit", 0, IN_FILE, OPTION_CALL, .call = take_crit},
    {"textfile", 0, IN_FILE, OPTION_TEXT, TO(textfile)},
    {"openmetrics", 0, IN_FILE, OPTION_SET, TO(view.openmetrics)},
    {"demo", 0, ONCE, OPTION_SET, TO(demo)},
    {"collect", 0, ONCE, OPTION_CALL, .call = take_collect},
    {"collect-script", 0, ONCE, OPTION_ACT, .call = print_script},
    {"config", 0, ONCE, OPTION_CALL, .call = read_already},
    {"no-config", 0, ONCE, OPTION_ACT, .call = read_already},
    {"read-only", 0, IN_FILE, OPTION_SET, TO(read_only)},
    {"record", 0, ONCE, OPTION_TEXT, TO(record)},
    {"record-size", 0, ONCE, OPTION_NUMBER, TO(record_size),
     NUMBER(1, 1048576, "--record-size needs MiB, from 1 to 1048576")},
    {"record-keep", 0, ONCE, OPTION_NUMBER, TO(record_keep),
     NUMBER(1, RECORD_KEEP_MOST, "--record-keep needs a number of files, from 1 to 100")},
    {"summary", 0, ONCE, OPTION_SET, TO(summary)},
    {"replay", 0, ONCE, OPTION_TEXT, TO(replay)},
    {"from", 0, ONCE, OPTION_TEXT, TO(from)},
    {"to", 0, ONCE, OPTION_TEXT, TO(to)},
    {"speed", 0, IN_FILE, OPTION_SECONDS, TO(speed),
     SECONDS(0, "--speed needs a number, 2 for twice as fast")},
    {"columns", 0, IN_FILE, OPTION_CALL, .call = take_columns},
    {"no-mouse", 0, IN_FILE, OPTION_SET, TO(no_mouse)},
    {"debugfs", 0, ONCE, OPTION_TEXT, TO(roots.debugfs)},
    {"sysfs", 0, ONCE, OPTION_TEXT, TO(roots.sysfs)},
    {"mountinfo", 0, ONCE, OPTION_TEXT, TO(roots.mountinfo)},
    {"ssh", 0, IN_FILE, OPTION_CALL, .call = take_ssh},
    {"no-agent", 0, IN_FILE, OPTION_SET, TO(no_agent)},
    {"trace", 0, ONCE, OPTION_SET, TO(trace)},
    {"sample-limit", 0, IN_FILE, OPTION_NUMBER, TO(sample_limit),
     NUMBER(1, 65536, "--sample-limit needs MiB, from 1 to 65536")},
    {"paths", 0, IN_FILE, OPTION_CALL, .call = take_paths},
    {"touch-nothing", 0, ONCE, OPTION_ACT, .call = touch_nothing},
    {"local", 0, IN_FILE, OPTION_SET, TO(local)},
    {"configfs", 0, ONCE, OPTION_TEXT, TO(configfs)},
    {"corosync", 0, ONCE, OPTION_TEXT, TO(corosync)},
    {"agent", 0, ONCE, OPTION_ACT, .call = run_agent},
    {"agent-check", 0, ONCE, OPTION_ACT, .call = print_protocol},
    {"help", 'h', ONCE, OPTION_ACT, .call = print_help},
    {"version", 'V', ONCE, OPTION_ACT, .call = print_version},
};
_Static_assert(sizeof(option_entries) / sizeof(option_entries[0]) == OPTION_ENTRIES,
	       "OPTION_ENTRIES is the number of options");

/* ---- taking one ---------------------------------------------------------------------------- */

bool option_has_value(const struct option_entry *entry)
{
	return entry->kind != OPTION_SET && entry->kind != OPTION_CLEAR &&
	       entry->kind != OPTION_ACT;
}

static bool store_number(void *to, size_t size, unsigned long n)
{
	uint32_t small = (uint32_t)n;

	if (size == sizeof(small))
		memcpy(to, &small, sizeof(small));
	else
		memcpy(to, &n, sizeof(n));
	return true;
}

int option_take(struct options *o, const struct option_entry *entry, char *value)
{
	void *to = (char *)o + entry->offset;
	unsigned long n;
	double seconds;
	bool on, fits = true;

	switch (entry->kind) {
	case OPTION_SET:
	case OPTION_CLEAR:
		on = entry->kind == OPTION_SET;
		memcpy(to, &on, sizeof(on));
		break;
	case OPTION_TEXT:
		memcpy(to, &value, sizeof(value));
		break;
	case OPTION_NUMBER:
		fits = option_number(value, entry->most, &n) && n >= entry->least &&
		       store_number(to, entry->size, n);
		break;
	case OPTION_SECONDS:
		fits = parse_seconds(value, entry->least_s, &seconds);
		if (fits)
			memcpy(to, &seconds, sizeof(seconds));
		break;
	case OPTION_CALL:
	case OPTION_ACT:
		return entry->call(o, value);
	}
	return fits ? OPTION_GO_ON : option_usage(entry->wrong, value);
}
