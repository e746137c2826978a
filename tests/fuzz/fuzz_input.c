/* SPDX-License-Identifier: MIT */
/*
 * fuzz_input.c - fuzzes input_lines(): the lines do not depend on how the bytes arrive.
 *
 * They are as the header promises: numbered from 1, cut off if longer than INPUT_LINE_MAX,
 * incomplete if the end has no newline.
 *
 * The first byte seeds the sizes of the reads. To make long lines of short inputs, each byte from
 * 0xf0 on stands for 4 KiB.
 */
#include "fuzz.h"

enum { LONG = 4096, LINES_MAX = 1 << 16 };

struct stream {
	struct input in;
	const char *text;
	size_t at, size;
	uint32_t random; /* 0: as many bytes as fit */
};

struct seen {
	size_t n;
	uint64_t hash;
};

static ssize_t stream_read(struct input *in, void *buf, size_t size)
{
	struct stream *s = (struct stream *)in;
	size_t left = s->size - s->at, n = size;

	CHECK(size > 0);
	if (s->random) {
		s->random = s->random * 1664525u + 1013904223u;
		n = 1 + (s->random >> 16) % (s->random & 0x8000 ? 16 : 65537);
	}
	n = n < size ? n : size;
	n = n < left ? n : left;
	memcpy(buf, s->text + s->at, n);
	s->at += n;
	return (ssize_t)n;
}

static void stream_close(struct input *in)
{
	(void)in;
}

static bool see(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct seen *s = arg;

	s->n++;
	CHECK(number == s->n);
	CHECK(len <= INPUT_LINE_MAX);
	s->hash = s->hash * 31 + len;
	s->hash = s->hash * 31 + complete;
	for (size_t i = 0; i < len; i++)
		s->hash = s->hash * 31 + (unsigned char)line[i];
	return true;
}

/* Implements the contract in the shortest way. */
static struct seen expected(const char *text, size_t size)
{
	struct seen s = {0};

	while (size) {
		const char *nl = memchr(text, '\n', size);
		size_t len = nl ? (size_t)(nl - text) : size;

		if (len > INPUT_LINE_MAX)
			see(&s, text, INPUT_LINE_MAX, s.n + 1, false);
		else
			see(&s, text, len, s.n + 1, nl != NULL);
		text += len + (nl != NULL);
		size -= len + (nl != NULL);
	}
	return s;
}

static void compare(const char *text, size_t size, uint32_t random, size_t first)
{
	struct stream s = {.in = {.read = stream_read, .close = stream_close, .first_read = first},
			   .text = text,
			   .size = size,
			   .random = random};
	struct seen got = {0}, want = expected(text, size);

	CHECK(!input_lines(&s.in, see, &got));
	CHECK(got.n == want.n);
	CHECK(got.hash == want.hash);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len = 0;
	char *text;

	if (size < 2 || size > 512)
		return 0;
	text = malloc(size * LONG);
	CHECK(text);
	for (size_t i = 1; i < size; i++) {
		size_t n = data[i] >= 0xf0 ? LONG : 1;

		memset(text + len, data[i] >= 0xf0 ? 'x' : data[i], n);
		len += n;
	}
	compare(text, len, 0, 0);
	compare(text, len, data[0] * 2654435761u + 1, 0);
	compare(text, len, 0, 1 + data[0] * 16);
	free(text);
	return 0;
}
