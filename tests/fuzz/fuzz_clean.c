/* SPDX-License-Identifier: MIT */
/*
 * fuzz_clean.c - fuzzes unit_clean(), which makes foreign text fit for a terminal.
 *
 * The result has no control character, only UTF-8, no more columns than requested, and no byte
 * behind the buffer. The first two bytes are the width and the buffer's size.
 */
#include "fuzz.h"
#include "o2top/base/units.h"

#include <locale.h>
#include <wchar.h>

static int columns_of(const char *text)
{
	mbstate_t state = {0};
	int columns = 0;

	while (*text) {
		wchar_t wide;
		size_t n = mbrtowc(&wide, text, strlen(text), &state);

		CHECK(n > 0 && n <= 4);
		CHECK(wide >= ' ' && wcwidth(wide) >= 0);
		CHECK(!(wide >= 0x202a && wide <= 0x202e) && !(wide >= 0x2066 && wide <= 0x2069));
		columns += wcwidth(wide);
		text += n;
	}
	return columns;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t room;
	char *text, *buf;
	int width, columns;

	setlocale(LC_CTYPE, "C.UTF-8");
	if (size < 2)
		return 0;
	width = data[0] % 64;
	room = 1 + data[1] * 8u;
	text = strndup((const char *)data + 2, size - 2);
	buf = malloc(room);
	CHECK(text && buf);
	columns = unit_clean(buf, room, text, width);
	CHECK(strlen(buf) < room);
	/* a buffer too small for the dots is useless */
	if (room > 4) {
		CHECK(columns_of(buf) == columns || room < 4 * strlen(text) + 32);
		CHECK(width < 4 || columns <= width);
	}
	free(text);
	free(buf);
	return 0;
}
