/* SPDX-License-Identifier: MIT */
/* fake_cmap.h - stands for corosync's counts of joins, one a node, and for its list of nodes. */
#ifndef TESTS_DLM_FAKE_CMAP_H
#define TESTS_DLM_FAKE_CMAP_H

#include <stdbool.h>
#include <stdint.h>

/* Sets the node's count from now on. 0 removes it. At first, each node has the count 1. */
void fake_cmap_count(uint32_t node, uint32_t count);
/* Tells whether connections are refused from now on. */
void fake_cmap_refuse(bool refuses);
/* Returns the number of open connections. */
int fake_cmap_open(void);

#endif
