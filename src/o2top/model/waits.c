/* SPDX-License-Identifier: MIT */
/*
 * waits.c - frees the facts that the DLMs' dumps told.
 */
#include "waits.h"

#include <stdlib.h>

void waits_free(struct waits *w)
{
	if (!w)
		return;
	free(w->views);
	free(w->entries);
	free(w->tasks);
	free(w);
}
