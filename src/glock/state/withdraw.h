/* SPDX-License-Identifier: MIT */
/*
 * withdraw.h - the lock manager loses the cluster, and is back.
 */
#ifndef GLOCK__WITHDRAW_H
#define GLOCK__WITHDRAW_H

#include "glock/core/internal.h"

/* Events of the lock manager: all locks are lost; the cluster is back; grants pause or go on. */
void glock__cluster_lost(struct glock_space *space);
void glock__cluster_back(struct glock_space *space);
void glock__pause_grants(struct glock_space *space, bool pause);

#endif
