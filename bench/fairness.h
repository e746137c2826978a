/* SPDX-License-Identifier: MIT */
/* fairness.h - measures how equally and how fast processes get a lock that all of them want. */
#ifndef BENCH_FAIRNESS_H
#define BENCH_FAIRNESS_H

/*
 * Prints its lines of the table: name, ours, unit, peer, limit (tabs; "-": none). This takes 90 s.
 */
void report_fairness(void);

#endif
