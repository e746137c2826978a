/* SPDX-License-Identifier: MIT */
/*
 * trace.c - glock trace: prints the events of all nodes of a space, in the kernel's text.
 *
 * The program writes a time into each node's file, which asks the node to publish its events until
 * then. It renews the request now and then. So a node stops by itself when no reader is left, and
 * nodes that join are asked too. Events of several nodes are sorted by time within one turn.
 */
#include "cli.h"

#include "glock/trace/trace.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURN_NS 50000000ll   /* the time between two reads of events */
#define ASK_NS 2000000000ll  /* the time between two requests to the nodes */
#define LAST_NS 5000000000ll /* for how long a node traces after the last request */
#define LATE_NS 20000000ll   /* an event becomes readable at most this long after its time */

struct traced {
	const struct glock__found_node *node;
	struct glock__peek *peek;
	char name[64];
	uint64_t cursor;
	bool began; /* the cursor is known */
	bool known; /* the node was found before: events since then are printed */
};

struct line {
	int64_t time;
	size_t order;
	char *text;
};

struct tracing {
	const char *wanted; /* only this node, or NULL */
	struct glock__find_spaces s;
	struct traced *nodes;
	size_t n_nodes;
	struct line *lines;
	size_t n_lines, room;
	uint64_t lost;
	enum glock__text_format format;
};

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

/* ---- events -------------------------------------------------------------------------------- */

/* "     hotload-310     [...] ...1.  1234.567890: gfs2_promote: 254,0 glock 2:23 promote PR" */
static char *text_of(const struct tracing *t, const struct traced *node,
		     const struct glock__event *ev)
{
	const struct glock__segment_head *head = glock__peek_head(node->peek);
	char buf[512], *line = NULL;
	struct glock__text text = {buf, sizeof(buf), 0};

	glock__event_print(&text, t->format, head->major, head->minor, ev);
	if (asprintf(&line, "%16s-%-7" PRIu32 " %6" PRId64 ".%06" PRId64 ": %s: %s", head->command,
		     ev->thread, ev->time / 1000000000, ev->time / 1000 % 1000000,
		     glock__event_names[ev->name], buf) < 0)
		return NULL;
	return line;
}

static int trace_add_line(struct tracing *t, const struct traced *node,
			  const struct glock__event *ev)
{
	if (t->n_lines == t->room) {
		size_t room = t->room ? 2 * t->room : 1024;
		struct line *more = reallocarray(t->lines, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		t->lines = more;
		t->room = room;
	}
	t->lines[t->n_lines] = (struct line){ev->time, t->n_lines, text_of(t, node, ev)};
	return t->lines[t->n_lines++].text ? 0 : -ENOMEM;
}

static int take_events(struct tracing *t, struct traced *node)
{
	struct glock__peek *peek = node->peek;
	struct glock__event ev;
	uint64_t lost = 0;
	int ret, err = glock__peek_refresh(peek);

	while (!err && (ret = glock__peek_event(peek, &node->cursor, &ev, &lost))) {
		if (ret == -EOPNOTSUPP)
			break; /* the node has not begun to trace */
		if (ret == -ESTALE)
			t->lost += node->began ? lost : 0;
		else if (ret < 0)
			err = ret;
		else
			err = trace_add_line(t, node, &ev);
		node->began = true;
	}
	return err;
}

/* Skips the events that were in the ring before this program looked. */
static void skip_old(struct traced *node)
{
	struct glock__event ev;
	uint64_t lost;
	int ret;

	while ((ret = glock__peek_event(node->peek, &node->cursor, &ev, &lost)) == 1 ||
	       ret == -ESTALE)
		node->began = true;
}

static int by_time(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Prints the lines up to that time. Later ones wait, because an earlier event may still come. */
static bool print_lines(struct tracing *t, int64_t until)
{
	size_t n = 0;
	bool ok = true;

	if (t->n_lines)
		qsort(t->lines, t->n_lines, sizeof(*t->lines), by_time);
	for (; n < t->n_lines && t->lines[n].time <= until; n++) {
		ok &= puts(t->lines[n].text) >= 0;
		free(t->lines[n].text);
	}
	t->n_lines -= n;
	if (n && t->n_lines)
		memmove(t->lines, t->lines + n, t->n_lines * sizeof(*t->lines));
	for (size_t i = 0; i < t->n_lines; i++)
		t->lines[i].order = i;
	if (t->lost)
		printf("# %" PRIu64 " events were lost\n", t->lost);
	t->lost = 0;
	return ok && !fflush(stdout);
}

/* ---- asking -------------------------------------------------------------------------------- */

static int trace_ask(const struct tracing *t, int64_t until)
{
	int status = EX_NOPERM;

	for (size_t i = 0; i < t->n_nodes; i++) {
		int err = glock__found_trace(&t->s.spaces[0], t->nodes[i].node, until);

		if (!err)
			status = EX_OK;
		else if (until)
			complain("node %s: %s", t->nodes[i].name, strerror(-err));
	}
	return status;
}

static int choose(struct tracing *t)
{
	const struct glock__found_space *space = &t->s.spaces[0];

	t->nodes = calloc(space->n_nodes + 1, sizeof(*t->nodes));
	if (!t->nodes)
		return -ENOMEM;
	for (size_t i = 0; i < space->n_nodes; i++) {
		const struct glock__found_node *node = &space->nodes[i];

		if (node->condition == GLOCK__NODE_DEAD || !node_wanted(node, t->wanted) ||
		    glock__found_open(&t->s, space, node, &t->nodes[t->n_nodes].peek))
			continue;
		t->nodes[t->n_nodes].node = node;
		node_name(node, t->nodes[t->n_nodes].name, sizeof(t->nodes->name));
		t->n_nodes++;
	}
	return 0;
}

static void let_go(struct tracing *t)
{
	for (size_t i = 0; i < t->n_nodes; i++)
		glock__peek_close(t->nodes[i].peek);
	free(t->nodes);
	glock__found_free(&t->s);
}

/* Keeps the place in the events of a node that was found before. */
static void carry_over(struct traced *node, const struct tracing *before)
{
	for (size_t i = 0; i < before->n_nodes; i++) {
		const struct traced *old = &before->nodes[i];

		if (old->node->pid != node->node->pid ||
		    old->node->started != node->node->started ||
		    old->node->pid_namespace != node->node->pid_namespace)
			continue;
		node->cursor = old->cursor;
		node->began = old->began;
		node->known = true;
	}
}

/* Finds the nodes of now. If that fails, the nodes of before stay, and are asked again later. */
static void look_again(struct tracing *t)
{
	struct tracing now = {.wanted = t->wanted};

	if (glock__find_spaces(&now.s, t->s.spaces[0].path) || now.s.n != 1 || choose(&now)) {
		let_go(&now);
		return;
	}
	for (size_t i = 0; i < now.n_nodes; i++)
		carry_over(&now.nodes[i], t);
	let_go(t);
	t->s = now.s;
	t->nodes = now.nodes;
	t->n_nodes = now.n_nodes;
}

static void skip_of_new(struct tracing *t)
{
	for (size_t i = 0; i < t->n_nodes; i++) {
		if (!t->nodes[i].known)
			skip_old(&t->nodes[i]);
		t->nodes[i].known = true;
	}
}

static int trace_show(struct tracing *t, int64_t until)
{
	if (print_lines(t, until))
		return EX_OK;
	complain("standard output: %s", strerror(errno));
	return EX_IOERR;
}

static int trace_follow(struct tracing *t, int64_t end)
{
	const struct timespec turn = {0, TURN_NS};
	int64_t asked = glock__clock(), looked;
	int status = trace_ask(t, asked + LAST_NS);

	skip_of_new(t);
	while (status == EX_OK && !stop && glock__clock() < end) {
		nanosleep(&turn, NULL);
		looked = glock__clock();
		for (size_t i = 0; i < t->n_nodes; i++)
			if (take_events(t, &t->nodes[i]) == -ENOMEM)
				status = EX_OSERR;
		if (glock__clock() - asked > ASK_NS) {
			asked = glock__clock();
			look_again(t);
			trace_ask(t, asked + LAST_NS);
			skip_of_new(t);
		}
		if (status == EX_OK)
			status = trace_show(t, looked - LATE_NS);
	}
	trace_ask(t, 0);
	return status == EX_OK ? trace_show(t, INT64_MAX) : status;
}

/* ---- the command line ---------------------------------------------------------------------- */

static const struct option longs[] = {
    {"node", required_argument, NULL, 'n'},
    {"time", required_argument, NULL, 't'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static int trace_run(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct tracing t = {.format = GLOCK__LINUX_6_1};
	int64_t ns = INT64_MAX;
	int option, status;

	while ((option = next_option(argc, argv, ":n:t:h", longs)) != -1) {
		if (option == 'n')
			t.wanted = optarg;
		else if (option == 't' && !parse_seconds(optarg, &ns))
			return usage_error("-t needs a number of seconds, not %s", optarg);
		else if (option != 't')
			return option == 'h' ? EX_OK : EX_USAGE;
	}
	if (argc - optind != 1)
		return usage_error(argc == optind ? "SPACE is missing"
						  : "give one SPACE at a time");
	status = find_spaces(&t.s, argv[optind], FIND_ONE_TO_READ);
	if (status)
		return status;
	if (choose(&t)) {
		status = EX_OSERR;
	} else if (!t.n_nodes) {
		if (t.wanted)
			complain("%s: no such node lives; glock ls %s lists the nodes", t.wanted,
				 t.s.spaces[0].name);
		else
			complain("no process is in space %s; glock ls lists the spaces",
				 t.s.spaces[0].name);
		status = EX_NOINPUT;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	expect_cut_off();
	if (!status)
		status = trace_follow(&t, ns == INT64_MAX ? ns : glock__clock() + ns);
	for (size_t i = 0; i < t.n_lines; i++)
		free(t.lines[i].text);
	free(t.lines);
	let_go(&t);
	return status;
}

const struct command cmd_trace = {
    .name = "trace",
    .usage = "[OPTION]... SPACE",
    .what = "Follows the events of a space, in the kernel's text.",
    .help =
	"  -n, --node NODE  follow only this node: a pid, a command, or both as in glock ls\n"
	"  -t, --time SEC   end after SEC seconds (default: at SIGINT)\n"
	"\n"
	"The events are those of GFS2: glock_state_change, glock_put, demote_rq, promote,\n"
	"glock_queue and glock_lock_time. Each grant is an event, also of a cached lock.\n"
	"\n"
	"A traced process does not use its fast path. A cached lock then costs the process about "
	"a\n"
	"microsecond. The nodes stop some seconds after the last reader. A node that joins later\n"
	"is followed after two seconds at most.\n"
	"\n"
	"glock switches the events on through the files of the space and of the nodes. So it "
	"needs\n"
	"write permission on these files.\n"
	"\n"
	"Exit status: 0 done; 64 usage; 66 no such space or node; 71 the system failed; 74 "
	"output;\n"
	"77 no permission.\n",
    .run = trace_run,
};
