/* SPDX-License-Identifier: MIT */
/* fairness.h - whether processes that all want a lock get it equally often, and how long they wait. */
#ifndef BENCH_FAIRNESS_H
#define BENCH_FAIRNESS_H

/* Prints its lines of the table: name, ours, unit, peer, limit (tabs; "-": none). A minute and a half. */
void report_fairness(void);

#endif
