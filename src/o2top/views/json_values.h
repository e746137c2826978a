/* SPDX-License-Identifier: MIT */
/*
 * json_values.h - JSON values of numbers and texts that may be unknown or not UTF-8.
 */
#ifndef O2TOP_JSON_VALUES_H
#define O2TOP_JSON_VALUES_H

#include <jansson.h>
#include <stdint.h>

json_t *json_text_of(const char *s); /* null for NULL */
json_t *json_number_of(double v);    /* in microseconds at most; null if it is not finite */
json_t *json_whole(uint64_t v);

#endif
