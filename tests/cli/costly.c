/* SPDX-License-Identifier: MIT */
/*
 * costly.c - makes a segment that costs its readers as much as possible, as a hostile user would.
 *
 * Usage: costly FILE KIND
 *	holes	each area claims to be large, and has a page in each part that is read at once
 *	same	all glocks and all holders have one name
 *	torn	each record is half written
 */
#include "check.h"
#include "made.h"

#include <fcntl.h>
#include <unistd.h>

#define PART (256l << 10)

enum { RECORDS = 200000, AT = 1 << 20, NEXT = 128 << 20 };

static void put(int fd, const void *from, size_t size, off_t at)
{
	assert_int_equal(pwrite(fd, from, size, at), size);
}

/* Begins an area of so many records. Returns its place in the file. */
static off_t begin(struct glock__segment_head *head, enum glock__area area, uint64_t n, off_t at)
{
	head->area[area].offset = (uint64_t)at;
	head->area[area].used = n * head->area[area].stride;
	return at;
}

static void holes(struct glock__segment_head *head, int fd)
{
	const off_t size = 1l << 30;

	for (off_t at = AT; at < size; at += PART)
		put(fd, "x", 1, at);
	assert_int_equal(ftruncate(fd, size), 0);
	for (int i = 0; i < GLOCK__AREA_MAX; i++)
		begin(head, (enum glock__area)i, (uint64_t)size / head->area[i].stride, AT);
}

static void records(struct glock__segment_head *head, int fd, uint32_t seq)
{
	struct glock__record r = {
	    .seq = seq, .flags = GLOCK__R_LIVE, .type = 1, .number = 1, .state = GLOCK_SH};
	const off_t at = begin(head, GLOCK__AREA_RECORDS, RECORDS, AT);

	for (off_t i = 0; i < RECORDS; i++)
		put(fd, &r, sizeof(r), at + i * (off_t)sizeof(r));
}

static void holders(struct glock__segment_head *head, int fd)
{
	struct glock__segment_holder h = {
	    .seq = 2, .type = 1, .number = 1, .mode = GLOCK_SH, .where = "costly.c"};
	const off_t at = begin(head, GLOCK__AREA_HOLDERS, RECORDS, AT + NEXT);

	for (off_t i = 0; i < RECORDS; i++)
		put(fd, &h, sizeof(h), at + i * (off_t)sizeof(h));
}

int main(int argc, char **argv)
{
	struct made m = made_segment(1);
	struct glock__segment_head head;
	int fd = argc == 3 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	assert_true(fd >= 0);
	head = *m.head;
	for (int i = 0; i < GLOCK__AREA_MAX; i++)
		begin(&head, (enum glock__area)i, 0, AT);
	if (!strcmp(argv[2], "holes"))
		holes(&head, fd);
	else
		records(&head, fd, strcmp(argv[2], "torn") ? 2 : 1);
	if (!strcmp(argv[2], "same"))
		holders(&head, fd);
	put(fd, &head, sizeof(head), 0);
	made_free(&m);
	return close(fd) ? 1 : 0;
}
