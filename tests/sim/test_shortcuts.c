/* SPDX-License-Identifier: MIT */
/*
 * test_shortcuts.c - runs schedules and prints a hash of the log of each.
 *
 *   hashes FIRST N [FAULT]   a line for each seed: the hash, and how many entries of each kind;
 *                            and last how often each shortcut was taken
 *   log SEED [FAULT]         the log itself
 *   faults                   the faults of a SHORTCUT in src/base/faults.h, one a line
 *
 * test_shortcuts.sh runs this program with a library that has shortcuts, and with one that has
 * none. Both must print the same. Threads are switched only where they wait, because the two
 * libraries differ in their number of atomics.
 */
#include "glock/state/shortcuts.h"

#include "../faults.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 400 };

static struct world w;

static bool run(unsigned long seed, FILE *to)
{
	world_log_begin(to);
	world_open_waits(&w, seed);
	if (world_run(&w, STEPS))
		world_settle(&w);
	world_close(&w);
	if (*w.trouble)
		fprintf(stderr, "# seed %lu: %s\n", seed, w.trouble);
	return !*w.trouble;
}

static bool hashes(unsigned long first, unsigned long n)
{
	static const char *const names[] = {"lone_miss", "is_at_rest", "miss", "grant_alone"};
	bool ok = true;

	for (unsigned long seed = first; ok && seed < first + n; seed++) {
		ok = run(seed, NULL);
		printf("seed %lu %016lx grants %lu answers %lu calls %lu requests %lu\n", seed,
		       (unsigned long)world_log.hash, world_log.n[NOTE_GRANT],
		       world_log.n[NOTE_ANSWER], world_log.n[NOTE_CALL], world_log.n[NOTE_REQUEST]);
	}
	for (int i = 0; i < GLOCK__SHORTCUT_MAX; i++)
		printf("taken %s %lu\n", names[i], glock__shortcuts_taken[i]);
	return ok;
}

static enum glock__fault fault_named(const char *name)
{
	for (enum glock__fault fault = 1; name && fault < GLOCK__FAULT_MAX; fault++)
		if (!strcmp(name, faults[fault].name))
			return fault;
	return GLOCK__FAULT_NONE;
}

static void print_faults(void)
{
	for (enum glock__fault fault = 1; fault < GLOCK__FAULT_MAX; fault++)
		if (faults[fault].part == FAULT_IN_SHORTCUT)
			printf("%s %s\n", faults[fault].name, faults[fault].what);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	unsigned long first = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	if (argc == 2 && !strcmp(argv[1], "faults")) {
		print_faults();
		return 0;
	}
	if (!strcmp(what, "hashes") && argc > 3) {
		glock__fault = fault_named(argv[4]);
		return !hashes(first, strtoul(argv[3], NULL, 10));
	}
	if (!strcmp(what, "log")) {
		glock__fault = fault_named(argv[3]);
		return !run(first, stdout);
	}
	fprintf(stderr, "usage: %s hashes FIRST N [FAULT] | log SEED [FAULT] | faults\n", argv[0]);
	return 2;
}
