/* SPDX-License-Identifier: MIT */
/*
 * fuzz_names.c - fuzzes lists of names, "INODE PATH": each line is a name or a problem.
 *
 * Each name is found.
 */
#include "fuzz.h"
#include "o2top/rank/names.h"

static struct names *names;
static size_t lines, found;

static void each(const char *line, size_t len, bool complete)
{
	char number[32];
	const char *path, *blank = memchr(line, ' ', len);
	unsigned long long inode;
	bool sure;

	(void)complete;
	lines++;
	if (!blank || blank - line >= (ptrdiff_t)sizeof(number) || len < 3 || *line < '0' ||
	    *line > '9')
		return;
	memcpy(number, line, (size_t)(blank - line));
	number[blank - line] = '\0';
	if (strspn(number, "0123456789") != (size_t)(blank - line) || strlen(number) > 18)
		return;
	inode = strtoull(number, NULL, 10);
	path = names_find(names, "any", inode, &sure);
	CHECK(!sure); /* nothing tells their lock space */
	if (blank + 1 == line + len || memchr(blank, '\0', len - (size_t)(blank - line)))
		return;
	CHECK(path);
	found++;
}

static int holds(const void *arg, size_t space, uint64_t inode)
{
	(void)arg;
	return (inode >> (8 * space)) & 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const spaces[] = {"one", "two"};
	struct problems problems = {0};
	char path[64];
	bool sure;
	int fd;

	if (size > 50000)
		return 0;
	fd = fuzz_file(data, size, path);
	CHECK(!names_read(&names, NULL, path, &problems));
	lines = found = 0;
	fuzz_lines(data, size, each);
	CHECK(problems.count <= lines && lines - problems.count >= found);
	names_settle(names, spaces, 2, holds, NULL);
	CHECK(names_find(names, "one", 1, &sure) || !sure);
	CHECK(names_find(names, "two", UINT64_MAX, &sure) || !sure);
	problems_clear(&problems);
	names_free(names);
	names = NULL;
	close(fd);
	return 0;
}
