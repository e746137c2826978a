/* SPDX-License-Identifier: MIT */
/*
 * control.h - requests of readers from outside.
 */
#ifndef GLOCK__CONTROL_H
#define GLOCK__CONTROL_H

#include "glock/core/internal.h"

/* control.c: an event of lock managers. */
void glock__on_control(void *owner);

#endif
