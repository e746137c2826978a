/* SPDX-License-Identifier: MIT */
/*
 * fuzz_archive.c - fuzzes archives: each file that a sample names can be opened and read.
 */
#include "fuzz.h"
#include "o2top/collect/archive/archive.h"

static bool no_line(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	(void)arg;
	(void)line;
	(void)len;
	(void)number;
	(void)complete;
	return true;
}

static void read_sample(struct collector *c, const struct sample *s)
{
	for (size_t i = 0; i < s->n_nodes; i++) {
		const struct node_sample *node = &s->nodes[i];

		CHECK(node->name && *node->name && !strchr(node->name, '\n'));
		for (size_t j = 0; node->present && j < node->n_spaces; j++)
			for (int kind = 0; kind < FILE_KINDS; kind++) {
				struct input in;

				if (c->ops->open(c, node, &node->spaces[j], (enum file_kind)kind,
						 &in) == 0)
					CHECK(input_lines(&in, no_line, NULL) == 0);
			}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct problems problems = {0};
	struct collector *c;
	struct sample s;
	char path[64];
	char *paths[] = {path};
	int fd = fuzz_file(data, size, path);

	if (collect_archive(&c, paths, 1, NULL, 0, &problems) == 0) {
		while (c->ops->next(c, &s, &problems) == 1)
			read_sample(c, &s);
		c->ops->close(c);
	}
	problems_clear(&problems);
	close(fd);
	return 0;
}
