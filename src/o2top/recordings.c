/* SPDX-License-Identifier: MIT */
/*
 * recordings.c - opens the recording to show, finds its first sample, begins a new recording.
 */
#include "output.h"

#include "o2top/base/problems.h"
#include "o2top/base/units.h"
#include "o2top/collect/recording/record.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int recording_open(const struct options *o, struct collector **out, const char **title,
		   struct problems *problems)
{
	char *given = o->replay ? o->replay : o->n_paths == 1 ? o->paths[0] : NULL;

	if ((o->replay || o->demo) && (o->n_paths || (o->replay && o->demo))) {
		complain("%s%s and %s: give only one of them", o->replay ? "--replay " : "--demo",
			 o->replay ? o->replay : "", o->n_paths ? o->paths[0] : "--demo");
		return -EINVAL;
	}
	if (o->demo) {
		*title = "demo";
		return collect_demo(out, problems);
	}
	if (!given || (!o->replay && !is_recording(given)))
		return 1;
	*title = given;
	if (is_recording(given))
		return collect_replay(out, given, o->nodes, o->n_nodes, problems);
	return collect_recording(out, &given, 1, o->nodes, o->n_nodes, o->recording, problems);
}

/* Asks on the terminal whether files are of one node. Returns false without a terminal. */
static bool ask_one_node(const struct options *o)
{
	char answer[16], first[PATH_MAX], last[PATH_MAX];

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return false;
	unit_clean(first, sizeof(first), o->paths[0], 0);
	unit_clean(last, sizeof(last), o->paths[o->n_paths - 1], 0);
	fprintf(stderr, "Are %s and %s two times of one node? [y/N] ", first, last);
	return fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y');
}

int recording_of_paths(const struct options *o, struct collector **out, struct problems *problems)
{
	int err = collect_recording(out, o->paths, o->n_paths, o->nodes, o->n_nodes, o->recording,
				    problems);

	if (err != -EXDEV || !ask_one_node(o))
		return err;
	problems_clear(problems);
	return collect_recording(out, o->paths, o->n_paths, o->nodes, o->n_nodes, true, problems);
}

int recording_go_to(const struct options *o, struct collector *c, const char *title,
		    struct times *times)
{
	/* on a terminal the engine reads the past, as much as its time allows */
	const size_t warm = o->interactive ? 1 : TRAIL_SHOTS;
	const char *wrong;

	if (!c->replay) {
		if (!o->from && !o->to)
			return 0;
		complain("--from and --to need a recording: --replay FILE");
		return -EINVAL;
	}
	if (times_between(c, o->from, o->to, warm, times, &wrong)) {
		complain("%s: not a time: use 06:07, 2026-11-20 06:07:30 or @SECONDS", wrong);
		return -EINVAL;
	}
	if ((o->from || o->to) && times->first == times->end) {
		complain("%s: the recording has no sample in that time", title);
		return -EINVAL;
	}
	if (times->begin)
		c->replay->seek(c, times->begin);
	return 0;
}

int recording_begin(const struct options *o, struct collector **c, struct problems *problems)
{
	if (!o->record)
		return 0;
	if ((*c)->replay && o->interactive) {
		complain("--record on a screen needs live nodes; to rewrite a recording add -b");
		return -EINVAL;
	}
	return collect_recorder(
	    c, *c,
	    &(struct record_options){o->record, (uint64_t)o->record_size << 20, o->record_keep},
	    problems);
}

bool recording_is_whole(const struct options *o, const struct collector *c)
{
	int error;
	size_t missing = recorder_missing(c, &error);

	if (missing)
		complain("%s lacks %zu sample%s: %s", o->record, missing, missing == 1 ? "" : "s",
			 strerror(-error));
	return !missing;
}

static bool skip_line(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	(void)arg;
	(void)line;
	(void)len;
	(void)number;
	(void)complete;
	return true;
}

void collect_all(struct collector *c, const struct sample *sample)
{
	if (c->ops->deepen)
		c->ops->deepen(c, true);
	for (size_t i = 0; i < sample->n_nodes; i++) {
		const struct node_sample *node = &sample->nodes[i];

		for (size_t j = 0; node->present && j < node->n_spaces; j++)
			for (int kind = 0; kind < FILE_KINDS; kind++)
				collect_lines(c, node, &node->spaces[j], (enum file_kind)kind,
					      skip_line, NULL);
	}
}
