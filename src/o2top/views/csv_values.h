/* SPDX-License-Identifier: MIT */
/*
 * csv_values.h - values of a line of CSV; each but the last one of a line ends with a comma.
 */
#ifndef O2TOP_CSV_VALUES_H
#define O2TOP_CSV_VALUES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

void csv_text(FILE *out, const char *s);
void csv_number(FILE *out, double v); /* empty if it is not finite */
void csv_whole(FILE *out, uint64_t v, bool known);

#endif
