/* SPDX-License-Identifier: MIT */
/*
 * fuzz_recording.c - fuzzes a recording in memory, through the model, the ranking and both views.
 *
 * Whatever the files hold, JSON can be read. No number in it is negative, or unknown where a number
 * is required. No control character reaches the text.
 *
 * The bytes are files in a row, each under a line "@SNF": sample 0 to 3, node a or b, and a letter
 * for the file:
 *
 *	L  locking_state		F  fs_state
 *	G  glocks			S  glstats
 *	B  sbstats			D  the DLM's dump
 *	T  the trace			O  o2dlm's locking_state
 *	M  o2dlm's dlm_state		X  locking_filter
 *	K  tasks			I  ids
 *	C  condition			P  paths
 *	R  realtime (us)		U  uptime (us)
 *
 * A node is in a sample if it has a file there.
 */
#include "fuzz.h"
#include "o2top/advice/advice.h"
#include "o2top/collect/collect.h"
#include "o2top/model/model.h"
#include "o2top/rank/rank.h"
#include "o2top/sources/sources.h"
#include "o2top/views/view.h"

#include <errno.h>
#include <jansson.h>
#include <locale.h>

enum { SAMPLES = 4, NODES = 2 };

struct slice {
	const char *text;
	size_t len;
};

static const char letters[] = "LFGSBDTOMXKICPRU"; /* the first of them in the order of file_kind */
enum { LETTERS = sizeof(letters) - 1, REALTIME = LETTERS - 2, UPTIME };

struct memory {
	struct collector collector;
	struct slice files[SAMPLES][NODES][LETTERS];
	struct node_sample nodes[NODES];
	struct space_sample spaces[2];
	int at;
};

static ssize_t slice_read(struct input *in, void *buf, size_t size)
{
	struct slice *s;
	size_t n;

	memcpy(&s, in->label + INPUT_LABEL_MAX - sizeof(s), sizeof(s));
	n = s->len < size ? s->len : size;
	memcpy(buf, s->text, n);
	s->text += n;
	s->len -= n;
	return (ssize_t)n;
}

static void slice_close(struct input *in)
{
	struct slice *s;

	memcpy(&s, in->label + INPUT_LABEL_MAX - sizeof(s), sizeof(s));
	free(s);
}

static int memory_open(struct collector *c, const struct node_sample *node,
		       const struct space_sample *space, enum file_kind kind, struct input *in)
{
	struct memory *m = (struct memory *)c;
	const struct slice *file = &m->files[m->at - 1][node - m->nodes][kind];
	struct slice *s;

	(void)space;
	if (!file->text)
		return -ENOENT;
	s = malloc(sizeof(*s));
	CHECK(s);
	*s = *file;
	*in = (struct input){.read = slice_read, .close = slice_close};
	snprintf(in->label, 64, "%d/%s/%d", m->at - 1, node->name, kind);
	memcpy(in->label + INPUT_LABEL_MAX - sizeof(s), &s, sizeof(s));
	return 0;
}

static int64_t clock_of(const struct slice *s)
{
	char text[32];
	unsigned long long us;

	snprintf(text, sizeof(text), "%.*s", s->len < 20 ? (int)s->len : 20, s->text);
	us = strtoull(text, NULL, 10);
	return us < INT64_MAX / 4 ? (int64_t)us : 0;
}

static int memory_next(struct collector *c, struct sample *out, struct problems *problems)
{
	struct memory *m = (struct memory *)c;
	const struct slice(*files)[LETTERS];

	(void)problems;
	if (m->at == SAMPLES)
		return 0;
	files = m->files[m->at++];
	for (int i = 0; i < NODES; i++) {
		m->nodes[i] = (struct node_sample){
		    .name = i ? "node2" : "node1", .spaces = m->spaces, .n_spaces = 2};
		for (int k = 0; k < LETTERS; k++)
			m->nodes[i].present |= files[i][k].text != NULL;
		m->nodes[i].has_clock = files[i][REALTIME].text != NULL;
		m->nodes[i].real_us = m->nodes[i].has_clock ? clock_of(&files[i][REALTIME]) : 0;
		m->nodes[i].mono_us = files[i][UPTIME].text ? clock_of(&files[i][UPTIME]) : -1;
		if (!m->nodes[i].present)
			m->nodes[i].n_spaces = 0;
	}
	*out = (struct sample){.label = "t", .n_nodes = NODES, .nodes = m->nodes};
	return 1;
}

static const struct collector_ops memory_ops = {.next = memory_next, .open = memory_open};

static void cut(struct memory *m, const char *text, size_t size)
{
	struct slice *now = NULL;

	while (size) {
		const char *nl = memchr(text, '\n', size), *letter;
		size_t len = nl ? (size_t)(nl - text) + 1 : size;

		if (*text == '@' && len >= 4 && text[1] >= '0' && text[1] < '0' + SAMPLES &&
		    text[2] >= 'a' && text[2] < 'a' + NODES && text[3] &&
		    (letter = strchr(letters, text[3]))) {
			now = &m->files[text[1] - '0'][text[2] - 'a'][letter - letters];
			*now = (struct slice){text + len, 0};
		} else if (now) {
			now->len += len;
		}
		text += len;
		size -= len;
	}
}

/* ---- checks -------------------------------------------------------------------------------- */

static void check_wait(const json_t *o)
{
	static const char *const keys[] = {"waiting", "wait_s", "acquired", "longest_wait_s"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const json_t *v = json_object_get(o, keys[i]);

		/* null: the input does not tell, but it always tells how many wait */
		CHECK(json_is_number(v) || (i > 0 && json_is_null(v)));
		CHECK(json_number_value(v) >= 0);
	}
	if (json_integer_value(json_object_get(o, "waiting"))) {
		CHECK(json_number_value(json_object_get(o, "oldest_wait_s")) >= 0);
		if (json_is_number(json_object_get(o, "oldest_wait_max_s")))
			CHECK(json_number_value(json_object_get(o, "oldest_wait_max_s")) >=
			      json_number_value(json_object_get(o, "oldest_wait_s")));
	}
}

static void check_json(const char *text, size_t size)
{
	json_error_t error;
	json_t *o = json_loadb(text, size, JSON_DISABLE_EOF_CHECK, &error), *row;
	size_t i;

	CHECK(o);
	check_wait(json_object_get(o, "totals"));
	json_array_foreach(json_object_get(o, "rows"), i, row)
	{
		check_wait(row);
		CHECK(json_number_value(json_object_get(row, "wait_s_per_s")) >= 0);
		CHECK(json_integer_value(json_object_get(row, "rank")) > 0);
	}
	json_decref(o);
}

static void check_text(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		CHECK(text[i] == '\n' || (unsigned char)text[i] >= ' ');
}

static void show(const struct model *model, unsigned number, enum sort_key key)
{
	struct problems problems = model->problems;
	struct view_options options = {
	    .details = true, .all_system = true, .ascii = number & 1, .columns = 160};
	struct filter filter = {0};
	struct group group;
	struct frame frame = {.model = model,
			      .group = &group,
			      .problems = &problems,
			      .label = "t",
			      .title = "fuzz",
			      .single = number == 1};
	char *text = NULL;
	size_t size;
	FILE *out;

	CHECK(!group_rank(&group, model, NULL, &filter, key));
	out = open_memstream(&text, &size);
	CHECK(out && !view_json(out, &frame, &options) && !fclose(out));
	check_json(text, size);
	free(text);
	out = open_memstream(&text, &size);
	CHECK(out && !view_batch(out, &frame, &options) && !fclose(out));
	check_text(text, size);
	free(text);
	group_free(&group);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory m = {.collector = {.ops = &memory_ops},
			   .spaces = {{.fs = FS_OCFS2, .name = (char *)"2AAE"},
				      {.fs = FS_GFS2, .name = (char *)"lab:fs1"}}};
	struct model model = {.sources = source_list, .threads = 1};
	struct problems problems = {0};
	struct sample sample;
	unsigned number = 0;

	setlocale(LC_CTYPE, "C.UTF-8");
	cut(&m, (const char *)data, size);
	while (m.collector.ops->next(&m.collector, &sample, &problems) > 0) {
		CHECK(!model_sample(&model, &m.collector, &sample));
		conditions_read(&model, &m.collector, &sample);
		CHECK(!waits_read(&model, &m.collector, &sample));
		show(&model, ++number, (enum sort_key)(size % SORT_KEYS));
	}
	model_free(&model);
	return 0;
}
