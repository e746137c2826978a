/* SPDX-License-Identifier: MIT */
/* fake_quorum.h - in place of corosync: what its library is to tell next. */
#ifndef TESTS_DLM_FAKE_QUORUM_H
#define TESTS_DLM_FAKE_QUORUM_H

#include <stdbool.h>
#include <stdint.h>

/* A change of members; lists end with 0. It is told when somebody looks. */
void fake_quorum_nodes(const uint32_t *members, const uint32_t *joined, const uint32_t *left);
void fake_quorum_quorate(int quorate);
/* corosync ends, and is there again. */
void fake_quorum_break(void);
/* It does so when it has told what it is to tell. */
void fake_quorum_break_after_telling(void);
/* A connection can be made now, but not followed. */
void fake_quorum_untold(bool untold);
/* Connections that are open. */
int fake_quorum_open(void);

#endif
