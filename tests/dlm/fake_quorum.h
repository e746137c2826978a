/* SPDX-License-Identifier: MIT */
/* fake_quorum.h - stands for corosync: a test says here what libquorum reports next. */
#ifndef TESTS_DLM_FAKE_QUORUM_H
#define TESTS_DLM_FAKE_QUORUM_H

#include <stdbool.h>
#include <stdint.h>

/* Sets a change of members. Lists end with 0. The next poll reports the change. */
void fake_quorum_nodes(const uint32_t *members, const uint32_t *joined, const uint32_t *left);
void fake_quorum_quorate(int quorate);
/* corosync ends and starts again. */
void fake_quorum_break(void);
/* corosync ends after the next report. */
void fake_quorum_break_after_telling(void);
/* Tells whether a new connection can be made but reports nothing. */
void fake_quorum_untold(bool untold);
/* Returns the number of open connections. */
int fake_quorum_open(void);

#endif
