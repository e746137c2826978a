/* SPDX-License-Identifier: MIT */
/*
 * load.c - a load of several programs in a shared directory, to be watched with o2top.
 *
 * - All programs append to one log.
 * - The first two put jobs into a spool, and the others take them out.
 * - The first one writes the settings now and then, and all read them all the time.
 * - Each has a file of its own, which it changes most of all. That file causes no waits.
 */
#include "load.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { RECORD = 64, RECORDS = 1000, OWN_CHANGES = 200, PUTTERS = 2, SETTINGS_EVERY = 50 };

enum { LOG, SPOOL, SETTINGS, OWN, FILES };

/* A file of records, and the number of the next record. */
struct records {
	uint64_t next;
	char record[RECORDS][RECORD];
};

static int append(void *data, size_t size, void *arg)
{
	struct records *r = data;

	(void)size;
	snprintf(r->record[r->next++ % RECORDS], RECORD, "%s\n", (const char *)arg);
	return 0;
}

static int take(void *data, size_t size, void *arg)
{
	struct records *r = data;

	(void)size, (void)arg;
	if (r->next)
		memset(r->record[--r->next % RECORDS], 0, RECORD);
	return 0;
}

static int look(const void *data, size_t size, void *arg)
{
	(void)data, (void)size, (void)arg;
	return 0;
}

/*
 * Opens a file at its final size. The first program makes it so large. For the others this changes
 * nothing.
 */
static int open_file(struct sf_space *space, const char *name, struct sf_file **f)
{
	int err = sf_open(space, name, 1, f);
	ssize_t n;

	if (err)
		return err;
	n = sf_write(*f, "", 1, sizeof(struct records) - 1);
	if (n < 0) {
		sf_close(*f);
		return (int)n;
	}
	return 0;
}

static int round_of(struct sf_file *const *f, unsigned int id, unsigned long round)
{
	char line[RECORD];
	int err;

	snprintf(line, sizeof(line), "program %u, round %lu", id, round);
	err = sf_change(f[LOG], append, line);
	if (!err)
		err = sf_change(f[SPOOL], id < PUTTERS ? append : take, line);
	if (!err && !id && !(round % SETTINGS_EVERY))
		err = sf_change(f[SETTINGS], append, line);
	if (!err)
		err = sf_look(f[SETTINGS], look, NULL);
	for (int i = 0; i < OWN_CHANGES && !err; i++)
		err = sf_change(f[OWN], append, line);
	return err;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int load(struct sf_space *space, unsigned int id, double seconds, const volatile int *stop)
{
	const struct timespec pause = {.tv_nsec = 2000000};
	char own[32];
	const char *names[FILES] = {"events.log", "spool", "settings", own};
	struct sf_file *f[FILES] = {NULL};
	double end = now() + seconds;
	int err = 0, closed, n = 0;

	snprintf(own, sizeof(own), "program%u.dat", id);
	for (; n < FILES && !err; n += !err)
		err = open_file(space, names[n], &f[n]);
	for (unsigned long round = 0; !err && !*stop && now() < end; round++) {
		err = round_of(f, id, round);
		nanosleep(&pause, NULL);
	}
	while (n--) {
		closed = sf_close(f[n]);
		err = err ? err : closed;
	}
	return err;
}
