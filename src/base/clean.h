/* SPDX-License-Identifier: MIT */
/*
 * clean.h - tells which characters of a foreign text a terminal must not get.
 *
 * Other users choose names of spaces, processes and files. All programs use these functions.
 */
#ifndef GLOCK_CLEAN_H
#define GLOCK_CLEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns how many bytes the UTF-8 character (RFC 3629) has with which `n` bytes begin, and sets
 * *c. Returns 0 if they begin with none.
 */
size_t glock__utf8(const char *text, size_t n, uint32_t *c);
/*
 * Tells whether a terminal obeys a character, or shows the rest of a line in another place. These
 * are C0, DEL, C1, the controls of writing direction, and the ends of a line or paragraph.
 */
bool glock__is_control(uint32_t c);
/* Replaces each byte of such characters, and each byte that is no UTF-8, by a question mark. */
void glock__clean(char *text, size_t n);

#endif
