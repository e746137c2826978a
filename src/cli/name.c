/* SPDX-License-Identifier: MIT */
/*
 * name.c - names of glocks, seconds and numbers, as users write them on the command line.
 */
#include "cli.h"

#include "glock/base/mode.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * FNV-1a, then a round of mixing, because short names differ in their last bytes only. The hash is
 * part of the interface: a program that shares a lock with `glock run` computes it in the same way.
 */
uint64_t name_hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		h = (h ^ *p) * 0x100000001b3ull;
	h = (h ^ h >> 33) * 0xff51afd7ed558ccdull;
	return h ^ h >> 33;
}

static bool parse_u64(const char *text, uint64_t *out)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;

	if (hex)
		text += 2;
	if (hex ? !isxdigit((unsigned char)*text) : !isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*out = strtoull(text, &end, hex ? 16 : 10);
	return !*end && !errno;
}

static bool parse_type(const char *text, size_t len, unsigned int *type)
{
	char word[16];
	uint64_t n;

	if (len >= sizeof(word))
		return false;
	memcpy(word, text, len);
	word[len] = '\0';
	for (unsigned int i = 0; i < GLOCK_TYPE_OWN; i++) {
		if (strcasecmp(word, glock__types[i].name))
			continue;
		*type = i;
		return true;
	}
	if (!parse_u64(word, &n) || n >= GLOCK_TYPE_MAX)
		return false;
	*type = (unsigned int)n;
	return true;
}

bool name_is_number(const char *text, unsigned int *type, uint64_t *number)
{
	const char *colon = strchr(text, ':');

	return colon && parse_type(text, (size_t)(colon - text), type) &&
	       parse_u64(colon + 1, number);
}

/* Such a text is a mistake rather than a name: inode:-1, inodes:1, 32:1. */
static bool looks_like_number(const char *text)
{
	const char *colon = strchr(text, ':');
	size_t word = 0, digits;

	while (isalnum((unsigned char)text[word]) || text[word] == '_')
		word++;
	if (!word || text + word != colon)
		return false;
	text = colon + 1 + (colon[1] == '-' || colon[1] == '+');
	digits = strspn(text, "0123456789abcdefABCDEFxX");
	return isdigit((unsigned char)*text) && !text[digits];
}

bool name_to_glock(const char *text, unsigned int *type, uint64_t *number)
{
	if (name_is_number(text, type, number))
		return true;
	if (looks_like_number(text))
		return false;
	*type = GLOCK_FLOCK;
	*number = name_hash(text);
	return true;
}

bool parse_seconds(const char *text, int64_t *ns)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end || !(s >= 0) || !(s <= 1e9) ||
	    (!isdigit((unsigned char)*text) && *text != '.'))
		return false;
	*ns = (int64_t)(s * 1e9);
	return true;
}

bool parse_number(const char *text, unsigned long most, unsigned long *out)
{
	uint64_t n;

	if (!parse_u64(text, &n) || n > most)
		return false;
	*out = n;
	return true;
}
