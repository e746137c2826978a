/* SPDX-License-Identifier: MIT */
/*
 * frames.c - runs o2top for the tests, parses its JSON, and reads fields of it.
 */
#include "frames.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const char *needed(const char *name)
{
	const char *value = getenv(name);

	if (!value)
		fail_msg("%s is not set: run the tests with meson test", name);
	return value;
}

const char *capture(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", needed("O2TOP_CAPTURES"), name);
	return path;
}

char *run_text(const char *args, int *status)
{
	char command[8192], *out = NULL;
	size_t size = 0, n;
	char part[4096];
	FILE *pipe, *text;

	snprintf(command, sizeof(command), "%s %s", needed("O2TOP"), args);
	pipe = popen(command, "r");
	text = open_memstream(&out, &size);
	assert_non_null(pipe);
	assert_non_null(text);
	while ((n = fread(part, 1, sizeof(part), pipe)) > 0)
		fwrite(part, 1, n, text);
	fclose(text);
	*status = pclose(pipe);
	assert_true(WIFEXITED(*status));
	*status = WEXITSTATUS(*status);
	return out;
}

json_t *run_frames(const char *args)
{
	char with_json[8000];
	json_t *frames = json_array();
	char *text, *line, *rest;
	json_error_t error;
	int status;

	snprintf(with_json, sizeof(with_json), "--json %s", args);
	text = run_text(with_json, &status);
	assert_int_equal(status, 0);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		json_t *frame = json_loads(line, 0, &error);

		if (!frame)
			fail_msg("not JSON: %s: %s", error.text, line);
		json_array_append_new(frames, frame);
	}
	free(text);
	return frames;
}

json_t *row_of(json_t *frame, const char *fs, json_int_t ino)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(frame, "rows"), i, row)
	{
		json_t *number = json_object_get(row, "ino");

		if (json_is_integer(number) && json_integer_value(number) == ino &&
		    strcmp(text_of(row, "fs"), fs) == 0)
			return row;
	}
	return NULL;
}

double real_of(json_t *object, const char *key)
{
	json_t *v = json_object_get(object, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

json_t *node_of(json_t *object, const char *name)
{
	json_t *node;
	size_t i;

	json_array_foreach(json_object_get(object, "nodes"), i,
			   node) if (strcmp(text_of(node, "name"), name) == 0) return node;
	return NULL;
}

bool has_text(json_t *array, const char *text)
{
	json_t *v;
	size_t i;

	json_array_foreach(array, i, v) if (json_is_string(v) &&
					    strcmp(json_string_value(v), text) == 0) return true;
	return false;
}
