/* SPDX-License-Identifier: MIT */
/*
 * facts.h - the small files of a host that tell its time: realtime, uptime, date, hostinformation.
 */
#ifndef O2TOP_FACTS_H
#define O2TOP_FACTS_H

#include "visit.h"
#include "walk.h"

/* Takes the fact that a file tells of a visit. Returns 0. */
int facts_take(struct visit *v, enum place_what what, struct walk_file *f);

#endif
