/* SPDX-License-Identifier: MIT */
/*
 * control.h - requests of readers, which are other processes.
 */
#ifndef GLOCK__CONTROL_H
#define GLOCK__CONTROL_H

#include "glock/core/internal.h"

/* The event control of the lock manager: serves the requests in the segment of this node. */
void glock__on_control(void *owner);

#endif
