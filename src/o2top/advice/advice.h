/* SPDX-License-Identifier: MIT */
/*
 * advice.h - one line of advice about a hot row, which names the nodes.
 */
#ifndef O2TOP_ADVICE_H
#define O2TOP_ADVICE_H

#include "o2top/model/model.h"
#include "o2top/rank/names.h"
#include "o2top/rank/row.h"

/* ---- one_cause.c: says once what many waits have in common: a node fell silent, and they
 * began. */

/*
 * Adds a banner for each node that fell silent when waits began. A node that is dead or not watched
 * gets a banner, too, if it holds locks for which requests wait. Call this after the DLMs' dumps
 * were read.
 */
void one_cause(struct model *m);

/* ---- scan.c: banners about processes that ask once for each of many files. */

void scan_banners(struct model *m, const struct names *names);

/* ---- unprotected.c: banners about files that fcntl(2) locks of several nodes do not protect. */

/* Adds a banner for each file of m->unprotected. `names` has the known paths, or is NULL. */
void unprotected_banners(struct model *m, const struct names *names);
/* Writes advice if the row's file is unprotected. Returns whether it is. */
bool unprotected_advice(const struct model *m, const struct row *row, char *buf, size_t size);

/* ---- conditions.c: conditions of nodes that no counter shows, printed as banners.
 *
 * Small files of each node tell them. The conditions are recovery in progress, fencing, a frozen or
 * withdrawn file system, and a filter that hides locks.
 */

/* Reads the conditions for the model's last sample: sets banners, and marks recovering spaces. */
void conditions_read(struct model *m, struct collector *c, const struct sample *sample);

/* ---- advice.c. */

enum { ADVICE_MAX = 512 };

/*
 * Writes the advice, and returns the code of its rule. For a row that is not hot, writes an empty
 * string and returns NULL.
 */
const char *advise(const struct model *m, const struct row *row, char *buf, size_t size);

#endif
