/* SPDX-License-Identifier: MIT */
/*
 * stat.c - glock stat: prints the glocks that nodes publish, in the kernel's text or as JSON.
 */
#include "cli.h"

#include "glock/base/flags.h"
#include "glock/base/mode.h"
#include "glock/stats/choice.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum file { GLOCKS, GLSTATS, SBSTATS };

struct stat_options {
	enum file file;
	enum glock__text_format format;
	const char *node, *lockman;
	bool json, ages, histogram, hold;
};

struct printing {
	const struct stat_options *o;
	struct glock__peek_text how;
	struct glock__text text;
	const char *node; /* the name of the node */
	const struct glock__found_node *found;
	struct waits waits;
};

/* Prints the user of a command of `glock run`, the time and how many wait. */
static void print_jobs(struct printing *p, const struct glock__peek_glock *gl)
{
	char text[128];

	for (size_t i = 0; i < gl->n_holders; i++)
		if (is_job(&gl->holders[i]))
			glock__text_print(
			    &p->text, " R: %s\n",
			    job_text(text, sizeof(text), &p->waits, p->found, gl, &gl->holders[i]));
}

/* ---- text ---------------------------------------------------------------------------------- */

enum { FLUSH = 48 * 1024, ROOM = 4 * FLUSH };

static bool stat_flush(struct printing *p)
{
	bool ok = fwrite(p->text.buf, 1, p->text.len, stdout) == p->text.len;

	p->text.len = 0;
	return ok;
}

static void print_glock(struct printing *p, const struct glock__peek_glock *gl)
{
	glock__peek_print_glock(&p->how, &p->text, gl);
	print_jobs(p, gl);
	if (p->o->hold)
		hold_print(&p->text, glock__peek_head(p->how.peek), gl);
	if (p->o->hold)
		bias_print(&p->text, gl);
}

/* Prints one glock. If the text does not fit, the room grows. */
static bool text_one(void *arg, const struct glock__peek_glock *gl)
{
	struct printing *p = arg;
	size_t before = p->text.len;

	for (;;) {
		if (p->o->file == GLOCKS)
			print_glock(p, gl);
		else
			glock__peek_print_stats(&p->text, gl);
		if (p->text.len < p->text.size)
			break;
		/* The text does not fit: give it more room. */
		char *more = realloc(p->text.buf, 2 * p->text.len);

		if (!more)
			return false;
		p->text.buf = more;
		p->text.size = 2 * p->text.len;
		p->text.len = before;
	}
	return p->text.len < FLUSH || stat_flush(p);
}

static bool text_sbstats(struct printing *p)
{
	for (unsigned int line = 0; glock__peek_print_sbstats(p->how.peek, &p->text, line); line++)
		if (p->text.len >= p->text.size || !stat_flush(p))
			return false;
	return true;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void stat_set(json_t *o, const char *key, json_t *value)
{
	if (value)
		json_object_set_new(o, key, value);
}

static void set_number(json_t *o, const char *key, uint64_t n)
{
	stat_set(o, key, json_integer((json_int_t)n));
}

static void set_letters(json_t *o, const char *key, const char *letters)
{
	stat_set(o, key, json_string(letters));
}

static double age_of(const struct printing *p, int64_t at)
{
	return p->how.now > at ? 1e-9 * (double)(p->how.now - at) : 0;
}

static void set_statistics(json_t *o, const struct glock__stats *s)
{
	for (int i = 0; i < GLOCK__STAT_MAX; i++)
		stat_set(o, glock__stat_names[i], json_integer(s->v[i]));
}

static json_t *json_holder(const struct printing *p, const struct glock__segment_holder *h)
{
	char letters[GLOCK__LETTERS];
	json_t *o = json_object();
	bool waits = h->flags & GLOCK__H_WAIT;

	glock__holder_letters(letters, p->o->format, h->flags);
	stat_set(o, "mode", json_string(glock__mode_name(h->mode)));
	set_letters(o, "flags", letters);
	stat_set(o, "waits", json_boolean(waits));
	stat_set(o, "error", json_integer(h->error));
	stat_set(o, "pid", json_integer(h->pid));
	stat_set(o, "command", json_text(h->comm, strlen(h->comm)));
	stat_set(o, "where", json_text(h->where, strlen(h->where)));
	if (waits || h->granted)
		stat_set(o, waits ? "waits_s" : "holds_s",
			 json_real(age_of(p, waits ? h->asked : h->granted)));
	return o;
}

static void set_extra(const struct printing *p, json_t *o, const struct glock__segment_extra *e)
{
	json_t *lines;

	set_number(o, "waits", e->waits);
	stat_set(o, "waited_s", json_real(1e-9 * (double)e->waited));
	stat_set(o, "longest_wait_s", json_real(1e-9 * (double)e->longest));
	if (!e->object_len)
		return;
	lines = json_array();
	for (const char *line = e->object, *end = line + e->object_len, *nl;
	     line < end && (nl = memchr(line, '\n', (size_t)(end - line))); line = nl + 1)
		json_array_append_new(lines, json_text(line, (size_t)(nl - line)));
	stat_set(o, "object", lines);
	stat_set(o, "object_age_s", json_real(age_of(p, e->object_at)));
}

static void set_counts(json_t *o, const struct glock__busy_record *more)
{
	static const struct glock__counts none;
	const struct glock__counts *c = more ? &more->counts : &none;

	set_number(o, "demands", c->basts);
	set_number(o, "demotes", c->demotes);
	set_number(o, "held_off", c->held_off);
	set_number(o, "conversions_failed", c->conversions_failed);
	set_number(o, "tries_failed", c->tries_failed);
}

/* Adds the knowledge that glock_choose() has of the glock; null: not known. */
static void set_choice(json_t *o, const struct glock__choice_policy *c)
{
	bool known = c->uses >= GLOCK__USES_KNOWN;

	stat_set(o, "use_s", known ? json_real(1e-9 * c->use) : json_null());
	stat_set(o, "use_deviation_s", known ? json_real(1e-9 * c->use_var) : json_null());
	set_number(o, "uses_measured", c->uses);
	set_number(o, "failures", c->failures);
}

static bool json_one(void *arg, const struct glock__peek_glock *gl)
{
	const struct printing *p = arg;
	const struct glock__segment_head *head = glock__peek_head(p->how.peek);
	const char *user = glock__user_name(p->found->uid);
	char letters[GLOCK__LETTERS];
	json_t *o = json_object(), *holders;
	bool ok;

	glock__flag_letters(letters, p->o->format, gl->r.flags & GLOCK__PEEK_FLAGS);
	stat_set(o, "node", json_text(p->node, strlen(p->node)));
	stat_set(o, "pid", json_integer(head->pid));
	stat_set(o, "user", json_text(user, strlen(user)));
	set_number(o, "type", gl->r.type);
	stat_set(o, "type_name",
		 json_text(head->type[gl->r.type].name, strlen(head->type[gl->r.type].name)));
	set_number(o, "number", gl->r.number);
	stat_set(o, "state", json_string(glock__mode_name(gl->r.state)));
	stat_set(o, "target", json_string(glock__mode_name(gl->r.target)));
	stat_set(o, "demote", json_string(glock__mode_name(gl->r.demote)));
	set_letters(o, "flags", letters);
	set_number(o, "refs", gl->r.refs);
	stat_set(
	    o, "hold_s",
	    json_real(1e-9 * (double)(gl->more ? gl->more->hold : head->type[gl->r.type].hold)));
	set_counts(o, gl->more);
	set_statistics(o, &gl->r.stats);
	stat_set(o, "half_written", json_boolean(gl->torn));
	holders = json_array();
	for (size_t i = 0; i < gl->n_holders; i++)
		json_array_append_new(holders, json_holder(p, &gl->holders[i]));
	stat_set(o, "holders", holders);
	if (gl->extra)
		set_extra(p, o, gl->extra);
	stat_set(o, "hold", hold_json(head, gl));
	bias_json(o, gl);
	if (gl->lent)
		set_choice(o, &gl->lent->policy.choice);
	if (gl->lent)
		stat_set(o, "granted",
			 json_pack("{s:I, s:I, s:I}", "EX", (json_int_t)gl->lent->grants[GLOCK_EX],
				   "DF", (json_int_t)gl->lent->grants[GLOCK_DF], "SH",
				   (json_int_t)gl->lent->grants[GLOCK_SH]));
	ok = !json_dumpf(o, stdout, JSON_COMPACT) && putchar('\n') != EOF;
	json_decref(o);
	return ok;
}

static bool json_sbstats(const struct printing *p)
{
	const struct glock__segment_head *head = glock__peek_head(p->how.peek);
	bool ok = true;

	for (unsigned int type = 0; type < GLOCK_TYPE_MAX; type++) {
		for (unsigned int cpu = 0; cpu < head->cpus && ok && head->type[type].known;
		     cpu++) {
			struct glock__stats s;
			json_t *o = json_object();

			glock__peek_stats(p->how.peek, type, cpu, &s);
			stat_set(o, "node", json_text(p->node, strlen(p->node)));
			stat_set(o, "pid", json_integer(head->pid));
			set_number(o, "type", type);
			stat_set(o, "type_name",
				 json_text(head->type[type].name, strlen(head->type[type].name)));
			set_number(o, "cpu", cpu);
			set_statistics(o, &s);
			ok = !json_dumpf(o, stdout, JSON_COMPACT) && putchar('\n') != EOF;
			json_decref(o);
		}
	}
	return ok;
}

/* ---- nodes --------------------------------------------------------------------------------- */

static int one_node(struct printing *p, struct glock__peek *peek, bool elsewhere)
{
	struct glock__peek_counts counts = {0};
	bool ok = true;
	char why[128];
	int err = 0;

	p->how.peek = peek;
	p->how.now = glock__clock();
	p->how.processes = !elsewhere;
	if (p->o->histogram)
		err = histogram_node(peek, p->node, p->how.now, p->o->json, &ok, &counts);
	else if (p->o->file == SBSTATS)
		ok = p->o->json ? json_sbstats(p) : text_sbstats(p);
	else
		err = glock__peek_read(peek, p->o->json ? json_one : text_one, p, &counts);
	ok &= stat_flush(p) && !fflush(stdout);
	if (err || !ok) {
		if (ok)
			complain("%s: %s", p->node, not_readable(err, why, sizeof(why)));
		else
			complain("standard output: %s", strerror(errno));
		return EX_IOERR;
	}
	if (counts.bad)
		complain("node %s: %zu damaged records are left out", p->node, counts.bad);
	if (counts.torn)
		complain("node %s: %zu records are half written; they are shown as they are",
			 p->node, counts.torn);
	if (glock__peek_head(peek)->not_published)
		complain("node %s: its file is full, so some glocks or holders are missing here",
			 p->node);
	return EX_OK;
}

static int all_nodes(const struct stat_options *o, const struct glock__find_spaces *s)
{
	struct printing p = {
	    .o = o,
	    .how = {.format = o->format, .ages = o->ages},
	    .text = {.buf = malloc(ROOM), .size = ROOM},
	    .waits = {.found = s, .space = &s->spaces[0]},
	};
	const struct glock__found_space *space = &s->spaces[0];
	size_t shown = 0, several = 0;
	int status = EX_OK, err;
	struct glock__peek *peek;
	char name[64];

	if (!p.text.buf)
		return EX_OSERR;
	for (size_t i = 0; i < space->n_nodes; i++)
		several += node_wanted(&space->nodes[i], o->node);
	for (size_t i = 0; i < space->n_nodes && status == EX_OK; i++) {
		const struct glock__found_node *node = &space->nodes[i];

		if (!node_wanted(node, o->node))
			continue;
		shown++;
		node_name(node, name, sizeof(name));
		p.node = name;
		p.found = node;
		err = glock__found_open(s, space, node, &peek);
		if (err) {
			complain("node %s publishes nothing: %s", name, strerror(-err));
			continue;
		}
		if (node->condition == GLOCK__NODE_DEAD)
			complain("node %s is dead; this is its last state", name);
		if (several > 1 && !o->json)
			printf("# node %s %s\n", name, glock__condition_names[node->condition]);
		status = one_node(&p, peek, node->elsewhere);
		glock__peek_close(peek);
	}
	free(p.waits.list);
	free(p.text.buf);
	if (!shown && o->node) {
		complain("%s: no such node in space %s; glock ls %s lists the nodes", o->node,
			 space->name, space->name);
		return EX_NOINPUT;
	}
	return status;
}

/* ---- the command line ---------------------------------------------------------------------- */

enum { OPT_JSON = 256, OPT_AGES, OPT_FORMAT, OPT_HISTOGRAM, OPT_HOLD };

static const struct option longs[] = {
    {"node", required_argument, NULL, 'n'},
    {"json", no_argument, NULL, OPT_JSON},
    ETCD_LONG,
    {"ages", no_argument, NULL, OPT_AGES},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"histogram", no_argument, NULL, OPT_HISTOGRAM},
    {"hold", no_argument, NULL, OPT_HOLD},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static int take_format(struct stat_options *o, const char *format)
{
	if (!strcmp(format, "6.1"))
		o->format = GLOCK__LINUX_6_1;
	else if (!strcmp(format, "6.18"))
		o->format = GLOCK__LINUX_6_18;
	else if (!strcmp(format, "7.0"))
		o->format = GLOCK__LINUX_7_0;
	else
		return usage_error("--format %s: no such version; try 6.1, 6.18 or 7.0", format);
	return -1;
}

static int stat_take_file(struct stat_options *o, const char *file)
{
	static const struct {
		const char *name;
		enum file file;
	} files[] = {
	    {"glocks", GLOCKS}, {"glstats", GLSTATS}, {"sbstats", SBSTATS}, {"lkstats", SBSTATS}};

	for (size_t i = 0; file && i < sizeof(files) / sizeof(files[0]); i++) {
		if (strcmp(file, files[i].name))
			continue;
		o->file = files[i].file;
		return -1;
	}
	return file ? usage_error("%s: no such file; try glocks, glstats, sbstats or lkstats", file)
		    : -1;
}

static int stat_parse(struct stat_options *o, int argc, char **argv)
{
	int option, status = -1;

	while ((option = next_option(argc, argv, ":n:h", longs)) != -1 && status < 0) {
		switch (option) {
		case 'n':
			o->node = optarg;
			break;
		case 'l':
			o->lockman = optarg;
			break;
		case OPT_JSON:
			o->json = true;
			break;
		case OPT_AGES:
			o->ages = true;
			break;
		case OPT_HISTOGRAM:
			o->histogram = true;
			break;
		case OPT_HOLD:
			o->hold = true;
			break;
		case OPT_FORMAT:
			status = take_format(o, optarg);
			break;
		default:
			return option == 'h' ? EX_OK : EX_USAGE;
		}
	}
	if (status >= 0)
		return status;
	if (argc == optind)
		return usage_error("SPACE is missing");
	if (argc - optind > 2)
		return usage_error("%s: too many arguments", argv[optind + 2]);
	if (o->histogram && argc - optind > 1)
		return usage_error("%s: --histogram takes no file", argv[optind + 1]);
	return stat_take_file(o, argv[optind + 1]);
}

static int stat_run(int argc, char **argv)
{
	struct stat_options o = {.file = GLOCKS};
	struct glock__find_spaces s;
	int status = stat_parse(&o, argc, argv), etcd;

	if (status >= 0)
		return status;
	etcd = choose_etcd(o.lockman);
	if (etcd > 0 && (o.file != GLOCKS || o.ages || o.hold || o.histogram))
		return usage_error("etcd has no statistics of processes; --lockman local shows "
				   "those of this machine");
	if (etcd)
		return etcd < 0 ? EX_USAGE : etcd_stat(argv[optind], o.node, o.json);
	status = find_spaces(&s, argv[optind], FIND_ONE_TO_READ);
	if (status)
		return status;
	status = all_nodes(&o, &s);
	glock__found_free(&s);
	return status;
}

const struct command cmd_stat = {
    .name = "stat",
    .usage = "[OPTION]... SPACE [glocks|glstats|sbstats|lkstats]",
    .what = "Shows glocks, holders and statistics, in the text of the kernel's GFS2.",
    .help =
	"  -n, --node NODE    show only this node: a pid, a command, or both as in glock ls\n"
	"      --json         print one JSON object a line for each glock, or each type and CPU\n"
	"      --ages         print the age of each line about an object\n"
	"      --hold         print why the hold time of each glock is what it is\n"
	"      --histogram    print waits, holds and hand-overs by powers of two, for each type "
	"and\n"
	"                     each busy glock\n"
	"      --lockman etcd show who has each lock and waits for it, on all machines, by the\n"
	"                     keys of etcd; only -n and --json go with this\n"
	"      --format LINUX print letters of flags as Linux 6.1 (default), 6.18 or 7.0\n"
	"\n"
	"  glocks             of each glock: state, flags, holders and waiters (default)\n"
	"  glstats            of each glock: the estimators and counters\n"
	"  sbstats, lkstats   of each type and CPU: the estimators and counters\n"
	"\n"
	"If there are several nodes, a line \"# node NAME STATE\" stands before each. glock reads\n"
	"the files that the processes publish, so it shows processes that are stopped or hang,\n"
	"too. A line about an object is as old as the last change of state. A line with R: tells\n"
	"the user of a command of glock run, the time since the grant, and how many wait.\n"
	"\n"
	"Exit status: 0 done; 64 usage; 66 no such space or node; 71 the system failed;\n"
	"74 output.\n",
    .run = stat_run,
};
