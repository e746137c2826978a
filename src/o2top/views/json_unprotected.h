/* SPDX-License-Identifier: MIT */
/*
 * json_unprotected.h - the list of unprotected files in the JSON of a frame.
 */
#ifndef O2TOP_JSON_UNPROTECTED_H
#define O2TOP_JSON_UNPROTECTED_H

#include "o2top/model/model.h"

#include <jansson.h>

json_t *json_unprotected(const struct model *m);

#endif
