/* SPDX-License-Identifier: MIT */
/*
 * test_cli.c - tests o2top's command line: sort columns, filters, lengths, the log, the help.
 *
 * Totals count rows that are not shown, too. Help, manual and completion name each option, column
 * and sort key.
 */
#include "frames.h"

#include "o2top/options/options_impl.h"
#include "o2top/views/columns.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static json_t *frames_of(const char *recording, const char *options)
{
	char args[8000];

	snprintf(args, sizeof(args), "%s %s", options, capture(recording));
	return run_frames(args);
}

static json_t *rows_of(json_t *frames, size_t i)
{
	return json_object_get(json_array_get(frames, i), "rows");
}

/* The column ranks the files, best first. Ranks count from 1 within each section. */
static void rows_are_sorted_by_any_column(void **state)
{
	static const struct {
		const char *name, *key;
		double sign; /* 1: the greatest first */
	} columns[] = {{"lost", "wait_s_per_s", 1},
		       {"acquired", "acquired", 1},
		       {"longest", "longest_wait_s", 1},
		       {"mean", "mean_wait_s", 1},
		       {"size", "size", 1},
		       {"inode", "ino", -1},
		       {"hit", "hit_ratio", -1},
		       {"waiting", "waiting", 1}};

	(void)state;
	for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
		char options[64];
		json_t *frames, *row;
		double before = INFINITY;
		json_int_t rank = 0;
		size_t i;

		snprintf(options, sizeof(options), "--sort %s", columns[c].name);
		frames = frames_of("gfs2-hot", options);
		json_array_foreach(rows_of(frames, 3), i, row)
		{
			double v = columns[c].sign * real_of(row, columns[c].key);

			if (strcmp(text_of(row, "section"), "files") != 0)
				break;
			assert_int_equal(json_integer_value(json_object_get(row, "rank")), ++rank);
			if (isnan(v)) /* unknown values come last */
				before = -INFINITY;
			else
				assert_true(v <= before);
			if (!isnan(v))
				before = v;
		}
		assert_true(rank > 10);
		json_decref(frames);
	}
}

static void totals_count_what_is_not_shown(void **state)
{
	json_t *all = frames_of("ocfs2-hot", ""), *two = frames_of("ocfs2-hot", "-l 2"), *row;
	json_t *a = json_object_get(json_array_get(all, 0), "totals"),
	       *b = json_object_get(json_array_get(two, 0), "totals");
	double sum = 0, share = 0;
	size_t i, files = 0;

	(void)state;
	assert_true(json_equal(a, b));
	json_array_foreach(rows_of(all, 0), i, row)
	{
		sum += real_of(row, "wait_s");
		share += real_of(row, "share");
	}
	assert_true(fabs(sum - real_of(a, "wait_s")) < 1e-3);
	assert_true(fabs(share - 1) < 1e-3);
	assert_int_equal(json_array_size(rows_of(all, 0)),
			 json_integer_value(json_object_get(a, "rows")));
	/* -l counts files; it does not limit the system section */
	json_array_foreach(rows_of(two, 0), i, row) files +=
	    strcmp(text_of(row, "section"), "files") == 0;
	assert_int_equal(files, 2);
	assert_true(json_array_size(rows_of(two, 0)) > 2);
	json_decref(all);
	json_decref(two);
}

static void filters_leave_the_others_out(void **state)
{
	json_t *frames = frames_of("ocfs2-hot", "--fs gfs2"), *row;
	size_t i;

	(void)state;
	json_array_foreach(rows_of(frames, 0), i, row)
	    assert_string_equal(text_of(row, "fs"), "gfs2");
	json_decref(frames);
	frames = frames_of("ocfs2-hot", "--inode 32264");
	assert_int_equal(json_array_size(rows_of(frames, 0)), 1);
	json_decref(frames);
	frames = frames_of("ocfs2-hot", "--writers 3");
	assert_int_equal(json_array_size(rows_of(frames, 0)), 1);
	assert_non_null(row_of(json_array_get(frames, 0), "ocfs2", 32264));
	json_decref(frames);
	frames = frames_of("ocfs2-hot", "--min-lost 0.2");
	assert_int_equal(json_array_size(rows_of(frames, 0)), 2);
	json_decref(frames);
	frames = frames_of("ocfs2-hot", "--hot");
	assert_int_equal(json_array_size(rows_of(frames, 0)), 3);
	json_decref(frames);
	frames = frames_of("ocfs2-hot", "--type RW --hot");
	json_array_foreach(rows_of(frames, 0), i, row)
	{
		json_t *locks = json_object_get(row, "locks");

		assert_int_equal(json_array_size(locks), 1);
		assert_string_equal(text_of(json_array_get(locks, 0), "type"), "RW");
	}
	json_decref(frames);
	frames = frames_of("ocfs2-hot", "--no-system");
	json_array_foreach(rows_of(frames, 0), i, row)
	    assert_string_equal(text_of(row, "section"), "files");
	json_decref(frames);
	frames = frames_of("ocfs2-hot", "-n node2 -n node3");
	assert_int_equal(json_array_size(json_object_get(json_array_get(frames, 0), "nodes")), 2);
	assert_null(node_of(json_array_get(frames, 0), "node1"));
	json_decref(frames);
	frames = frames_of("ocfs2-hot", "-i 2");
	assert_int_equal(json_array_size(frames), 2);
	json_decref(frames);
}

/*
 * An inode number means nothing without its file system. The names of one file system are not used
 * for the other.
 */
static void names_give_paths(void **state)
{
	const char *data = getenv("O2TOP_DATA");
	char options[4200];
	json_t *frames;

	(void)state;
	assert_non_null(data);
	snprintf(options, sizeof(options), "--names %s/ocfs2-hot.names", data);
	frames = frames_of("ocfs2-hot", options);
	assert_string_equal(text_of(row_of(json_array_get(frames, 0), "ocfs2", 32264), "path"),
			    "/mnt/ocfs2/db/journal.log");
	assert_string_equal(text_of(row_of(json_array_get(frames, 0), "ocfs2", 5), "path"),
			    "/mnt/ocfs2");
	json_decref(frames);
	snprintf(options, sizeof(options), "--names lab:fs1=%s/gfs2-hot.names", data);
	frames = frames_of("gfs2-hot", options);
	assert_string_equal(text_of(row_of(json_array_get(frames, 0), "gfs2", 9286), "path"),
			    "/mnt/gfs2/spool");
	json_decref(frames);
	snprintf(options, sizeof(options), "--names other:fs=%s/gfs2-hot.names", data);
	frames = frames_of("gfs2-hot", options);
	assert_true(
	    json_is_null(json_object_get(row_of(json_array_get(frames, 0), "gfs2", 9286), "path")));
	json_decref(frames);
}

static void the_log_gets_what_is_shown(void **state)
{
	char log[] = "/tmp/o2top-log-XXXXXX", args[8000], *shown, *again;
	static char logged[1 << 20];
	int fd = mkstemp(log), status;
	FILE *f;
	size_t n;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	snprintf(args, sizeof(args), "-o %s %s", log, capture("ocfs2-hang"));
	shown = run_text(args, &status);
	assert_int_equal(status, 0);
	again = run_text(args, &status);
	f = fopen(log, "r");
	assert_non_null(f);
	n = fread(logged, 1, sizeof(logged) - 1, f);
	fclose(f);
	unlink(log);
	/* the second run appends the same text */
	assert_int_equal(n, 2 * strlen(shown));
	assert_memory_equal(logged, shown, strlen(shown));
	assert_memory_equal(logged + strlen(shown), again, strlen(again));
	free(shown);
	free(again);
}

static void single_files_and_two_to_compare(void **state)
{
	char args[8400], dir[4100];
	json_t *frames, *row;

	(void)state;
	snprintf(dir, sizeof(dir), "%s", capture("ocfs2-hang"));
	snprintf(args, sizeof(args),
		 "%s/t1/node1/ocfs2/2AAE8B67B17D4F169DF133216A14ED3D/locking_state", dir);
	frames = run_frames(args);
	assert_int_equal(json_array_size(frames), 1);
	assert_int_equal(json_array_size(rows_of(frames, 0)), 1);
	assert_non_null(row_of(json_array_get(frames, 0), "ocfs2", 32272));
	json_decref(frames);
	snprintf(args, sizeof(args),
		 "%s/t1/node1/ocfs2/2AAE8B67B17D4F169DF133216A14ED3D/locking_state "
		 "%s/t2/node1/ocfs2/2AAE8B67B17D4F169DF133216A14ED3D/locking_state",
		 dir, dir);
	frames = run_frames(args);
	assert_int_equal(json_array_size(frames), 1);
	row = row_of(json_array_get(frames, 0), "ocfs2", 32272);
	assert_true(fabs(real_of(row, "longest_wait_s") - 8.2248) < 0.001);
	/* now is each file's newest stamp: ...843.804630 and ...852.037283 */
	assert_true(fabs(real_of(node_of(json_array_get(frames, 0), "node1"), "interval_s") -
			 8.233) < 0.01);
	json_decref(frames);
	snprintf(dir, sizeof(dir), "%s", capture("gfs2-hang"));
	snprintf(args, sizeof(args),
		 "%s/t0/node1/gfs2/lab:fs1/glocks %s/t1/node1/gfs2/lab:fs1/glocks", dir, dir);
	frames = run_frames(args);
	row = row_of(json_array_get(frames, 0), "gfs2", 9907);
	assert_int_equal(json_integer_value(json_object_get(row, "waiting")), 1);
	/* glocks holds no time, so the age of the wait is unknown */
	assert_true(json_is_null(json_object_get(row, "oldest_wait_max_s")));
	json_decref(frames);
}

/* ---- lists of names that the program has, repeated in texts for readers ---------------------- */

/* A text file of the source tree. To be freed. */
static char *source_text(const char *name)
{
	char path[4096], *text = calloc(1, 1 << 20);
	FILE *f;

	snprintf(path, sizeof(path), "%s/../../%s", getenv("O2TOP_DATA"), name);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	assert_int_equal(fclose(f), 0);
	return text;
}

static bool is_of_word(char c)
{
	return isalnum((unsigned char)c) || c == '-';
}

/* Fails unless `word` stands as a whole word behind `from` and before `until` in the text. */
static void assert_word(const char *where, const char *text, const char *from, const char *until,
			const char *word)
{
	const char *begin = strstr(text, from), *end;

	assert_non_null(begin);
	begin += strlen(from);
	end = strstr(begin, until);
	assert_non_null(end);
	for (const char *p = begin; (p = strstr(p, word)) && p < end; p++)
		if (!is_of_word(p[-1]) && !is_of_word(p[strlen(word)]))
			return;
	fail_msg("%s does not name %s behind \"%s\"", where, word, from);
}

static void texts_name_every_column_and_key(void **state)
{
	int status;
	char *help = run_text("--help", &status), *man = source_text("man/o2top.1.scd");
	char *bash = source_text("contrib/o2top.bash");

	(void)state;
	for (const struct column *c = columns; c < columns + COLUMNS; c++) {
		if (!c->name)
			continue;
		assert_word("--help", help, "--columns LIST", "--no-mouse", c->name);
		assert_word("--help", help, "\nColumns\n", "\nRecommendations", c->title);
		assert_word("o2top(1)", man, "*--columns* _LIST_", "*--no-mouse*", c->name);
		assert_word("o2top(1)", man, "## Columns", "Units are scaled", c->title);
		assert_word("o2top.bash", bash, "local columns=", "\n", c->name);
	}
	for (int k = 0; k < SORT_KEYS; k++) {
		assert_word("--help", help, "--sort COLUMN", "--details", sort_key_names[k]);
		assert_word("o2top(1)", man, "*--sort* _COLUMN_", "*--details*", sort_key_names[k]);
		assert_word("o2top.bash", bash, "local keys=", "\n", sort_key_names[k]);
	}
	free(help);
	free(man);
	free(bash);
}

static void texts_name_every_option(void **state)
{
	int status;
	char *help = run_text("--help", &status), *man = source_text("man/o2top.1.scd");
	char *bash = source_text("contrib/o2top.bash");

	(void)state;
	for (int i = 0; i < OPTION_ENTRIES; i++) {
		const struct option_entry *o = &option_entries[i];
		char option[64];

		/* these options are for o2top on another machine, not for readers */
		if (strncmp(o->name, "agent", 5) == 0)
			continue;
		snprintf(option, sizeof(option), "--%s", o->name);
		assert_word("--help", help, "usage:", "Exit status", option);
		assert_word("o2top(1)", man, "# OPTIONS", "# FILES", option);
		assert_word("o2top.bash", bash, "[[ $cur == -* ]]", "return", option);
	}
	free(help);
	free(man);
	free(bash);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_are_sorted_by_any_column),
	    cmocka_unit_test(totals_count_what_is_not_shown),
	    cmocka_unit_test(filters_leave_the_others_out),
	    cmocka_unit_test(names_give_paths),
	    cmocka_unit_test(the_log_gets_what_is_shown),
	    cmocka_unit_test(single_files_and_two_to_compare),
	    cmocka_unit_test(texts_name_every_column_and_key),
	    cmocka_unit_test(texts_name_every_option),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
