/* SPDX-License-Identifier: MIT */
/*
 * forms_text.c - what all forms need: words of a line, lines of a file, the end of a block.
 */
#include "forms.h"

#include <errno.h>
#include <string.h>

int forms_print(struct buffer *b, const char *format, ...)
{
	va_list args;
	int err;

	if (!b)
		return -ENOMEM;
	va_start(args, format);
	err = buffer_vprintf(b, format, args);
	va_end(args);
	return err;
}

void forms_copy(char to[FORMS_NAME_MAX], const char *from, size_t len)
{
	size_t n = 0;

	for (; n < len && n + 1 < FORMS_NAME_MAX; n++)
		to[n] = (unsigned char)from[n] <= ' ' || from[n] == 127 || from[n] == '/' ? '?'
											  : from[n];
	to[n] = '\0';
}

int forms_mode(const char *word, size_t len)
{
	static const char *const modes[] = {"NL", "CR", "CW", "PR", "PW", "EX"};

	for (int i = 0; i < 6; i++)
		if (len == 2 && memcmp(word, modes[i], 2) == 0)
			return i;
	return -1;
}

const char *forms_after(const char *line, size_t len, const char *word)
{
	const char *at = memmem(line, len, word, strlen(word));

	return at ? at + strlen(word) : NULL;
}

int forms_end(struct forms *f)
{
	int err = f->named && f->end ? f->end(f) : 0;

	f->named = false;
	f->end = NULL;
	f->in = NULL;
	f->block.len = 0;
	return err;
}
