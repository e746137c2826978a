/* SPDX-License-Identifier: MIT */
/*
 * daemons_said.c - reads the output of corosync-quorumtool and dlm_tool.
 *
 * The output of both is for people. So a line that is not known is passed over, and a fact that no
 * line tells is not said. The nodes that answer are asked, and they may disagree.
 */
#include "advice_impl.h"

#include "o2top/base/units.h"

#include <stdio.h>
#include <string.h>

enum { LINE_MOST = 200, FENCED_MOST = 64, NAME_MOST = 64 };

struct said {
	struct model *m;
	unsigned quorate, not_quorate, late;
	char without[160]; /* the nodes without quorum */
	struct words without_to;
	uint64_t fencing; /* bits of the DLM's numbers of nodes */
	char spaces[160]; /* "fs1: wait fencing" */
	struct words spaces_to;
	char space[NAME_MOST]; /* the lock space whose lines follow */
	const char *node;
	int answer; /* the node's word of quorum: 1, 0, or -1 none */
};

/* Takes "new status    wait fencing" of a lock space. Each one is said once, whoever tells it. */
static void take_status(struct said *s, const char *status)
{
	char text[LINE_MOST];

	snprintf(text, sizeof(text), "lock space %.60s: %.100s", s->space, status);
	if (*s->space && !strstr(s->spaces, text))
		words_add(&s->spaces_to, "%s%s", *s->spaces ? ", " : "", text);
}

static bool take_said(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct said *s = arg;
	char text[LINE_MOST], word[LINE_MOST];
	unsigned v;

	(void)number;
	(void)complete;
	snprintf(text, sizeof(text), "%.*s", len < LINE_MOST ? (int)len : LINE_MOST - 1, line);
	if (strcmp(text, "late") == 0)
		s->late++;
	else if (sscanf(text, "Quorate: %199s", word) == 1)
		s->answer = strcmp(word, "Yes") == 0;
	else if (sscanf(text, "cluster nodeid %*u quorate %u", &v) == 1 && s->answer < 0)
		s->answer = v != 0;
	else if (sscanf(text, "fence %u %199s", &v, word) == 2 && v < FENCED_MOST &&
		 strcmp(word, "nodedown") == 0)
		s->fencing |= UINT64_C(1) << v;
	else if (sscanf(text, "name %63s", word) == 1)
		snprintf(s->space, sizeof(s->space), "%.63s", word);
	else if (sscanf(text, "new status %199[^\n]", word) == 1)
		take_status(s, word);
	return true;
}

static void take_node(struct said *s, struct input *in, const char *node)
{
	s->node = node;
	s->answer = -1;
	*s->space = '\0';
	input_lines(in, take_said, s);
	s->quorate += s->answer > 0;
	s->not_quorate += s->answer == 0;
	if (s->answer == 0)
		words_add(&s->without_to, "%s%s", *s->without ? ", " : "", node);
}

/* Names a node by the number that the kernel's DLM uses. */
static void name_number(struct words *w, const struct model *m, int number)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		if (m->nodes[i].dlm_id[0] == number) {
			words_add(w, "%s", m->nodes[i].name);
			return;
		}
	words_add(w, "node %d", number);
}

static void put_together(const struct said *s)
{
	struct words w = {s->m->daemons_said, sizeof(s->m->daemons_said)};

	if (s->not_quorate)
		words_add(&w, "; no quorum on %s", s->without);
	else if (s->quorate)
		words_add(&w, "; the others have quorum");
	for (int i = 0; i < FENCED_MOST; i++)
		if (s->fencing >> i & 1) {
			words_add(&w, "; fencing of ");
			name_number(&w, s->m, i);
			words_add(&w, " is not done");
		}
	if (*s->spaces)
		words_add(&w, "; %s", s->spaces);
	if (s->late)
		words_add(&w, "; corosync or dlm_controld does not answer on %u node%s", s->late,
			  s->late == 1 ? "" : "s");
}

void daemons_read(struct model *m, struct collector *c, const struct sample *sample)
{
	struct said s = {.m = m};
	struct input in;

	s.without_to = (struct words){s.without, sizeof(s.without)};
	s.spaces_to = (struct words){s.spaces, sizeof(s.spaces)};
	*m->daemons_said = '\0';
	for (size_t i = 0; i < sample->n_nodes; i++)
		if (sample->nodes[i].present &&
		    c->ops->open(c, &sample->nodes[i], NULL, FILE_DAEMONS, &in) == 0)
			take_node(&s, &in, sample->nodes[i].name);
	put_together(&s);
}
