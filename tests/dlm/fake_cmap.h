/* SPDX-License-Identifier: MIT */
/* fake_cmap.h - in place of corosync: how often it has counted each node's joining. */
#ifndef TESTS_DLM_FAKE_CMAP_H
#define TESTS_DLM_FAKE_CMAP_H

#include <stdbool.h>
#include <stdint.h>

/* That node's count from now on; 0: there is none. All are there with 1 at first. */
void fake_cmap_count(uint32_t node, uint32_t count);
/* Nobody can connect now. */
void fake_cmap_refuse(bool refuses);
/* Connections that are open. */
int fake_cmap_open(void);

#endif
