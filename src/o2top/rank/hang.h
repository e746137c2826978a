/* SPDX-License-Identifier: MIT */
/*
 * hang.h - tells a hang from traffic.
 *
 * A wait of a second or more is not a hang by itself, because traffic on an overloaded machine has
 * such waits, too. A row hangs, or hung, if few waits explain it:
 *
 * - HANG_NOW: waits in progress make most of the time lost.
 * - HANG_ENDED: the nodes that waited long lost most of the row's time. On each of them, at most
 *   three ended waits make most of the node's time.
 *
 * If the row is acquired more than once a second, the wait must also be longer than 5 s.
 */
#ifndef O2TOP_HANG_H
#define O2TOP_HANG_H

#include "row.h"

enum row_hang { HANG_NONE, HANG_NOW, HANG_ENDED };

enum row_hang row_hang(const struct model *m, const struct row *row);

/* Returns whether a request waited long. The limit is twice as high for an estimated wait. */
bool waited_long(const struct change *c);

/* Returns whether a request in progress waits long, or may do so for all that is known. */
bool waits_long(const struct change *c);

#endif
