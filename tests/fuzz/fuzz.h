/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - shared by all fuzz targets.
 *
 * It has a check that ends the run with a reproducer, and lines cut out of the fuzzer's bytes. It
 * hands these bytes over as an input or as a file with a path.
 */
#ifndef O2TOP_FUZZ_H
#define O2TOP_FUZZ_H

#include "o2top/collect/input.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(what)                                                                          \
	do {                                                                                 \
		if (!(what)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #what); \
			abort();                                                             \
		}                                                                            \
	} while (0)

/*
 * Calls `each` with every line, in memory of exactly its length, so that a sanitizer sees each read
 * behind it. A last line without a newline is incomplete.
 */
static inline void fuzz_lines(const uint8_t *data, size_t size,
			      void (*each)(const char *line, size_t len, bool complete))
{
	while (size) {
		const uint8_t *nl = memchr(data, '\n', size);
		size_t len = nl ? (size_t)(nl - data) : size;
		char *line = malloc(len ? len : 1);

		if (!line)
			return;
		memcpy(line, data, len);
		each(line, len, nl != NULL);
		free(line);
		data += len + (nl != NULL);
		size -= len + (nl != NULL);
	}
}

/* Makes a file of these bytes. `path` is valid until the returned descriptor is closed. */
static inline int fuzz_file(const uint8_t *data, size_t size, char path[64])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	CHECK(fd >= 0);
	while (size) {
		ssize_t n = write(fd, data, size);

		CHECK(n > 0);
		data += n;
		size -= (size_t)n;
	}
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

#endif
