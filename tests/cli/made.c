/* SPDX-License-Identifier: MIT */
/*
 * made.c - makes a segment as a process would publish it, for the tests of its readers.
 */
#include "glock/publish/publish.h"

#include "check.h"
#include "made.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

struct made made_segment(unsigned int cpus)
{
	struct made m = {.fd = memfd_create("segment", MFD_CLOEXEC)};
	int fd = fcntl(m.fd, F_DUPFD_CLOEXEC, 0);

	assert_true(m.fd >= 0 && fd >= 0);
	m.p = glock__publisher_new(fd, cpus);
	assert_non_null(m.p);
	m.head = glock__publisher_head(m.p);
	m.head->hz = 1000;
	for (int i = 0; i < GLOCK_TYPE_MAX; i++)
		m.head->type[i].hold = 200000000;
	strcpy(m.head->space, "made");
	m.head->magic = GLOCK__SEGMENT_MAGIC;
	return m;
}

void made_free(struct made *m)
{
	glock__publisher_free(m->p);
	close(m->fd);
}

struct glock__peek *made_peek(const struct made *m)
{
	struct glock__peek *p = NULL;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", m->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(glock__peek_open_fd(&p, fd), 0);
	return p;
}

struct glock__record *made_record(struct made *m, unsigned int type, uint64_t number,
				  unsigned int state)
{
	struct glock__record *r = glock__publisher_grow(m->p, GLOCK__AREA_RECORDS, sizeof(*r));

	assert_non_null(r);
	r->type = (uint8_t)type;
	r->number = number;
	r->state = r->target = (uint8_t)state;
	r->demote = GLOCK_EX;
	r->refs = 1;
	r->flags = GLOCK__R_LIVE;
	r->seq = 2;
	return r;
}

struct glock__segment_holder *made_holder(struct made *m, unsigned int type, uint64_t number,
					  unsigned int mode, uint32_t flags, uint64_t order)
{
	struct glock__segment_holder *h;
	uint32_t place = glock__publisher_get(m->p, GLOCK__AREA_HOLDERS);

	assert_true(place);
	h = glock__publisher_at(m->p, GLOCK__AREA_HOLDERS, place);
	h->type = (uint8_t)type;
	h->number = number;
	h->mode = (uint8_t)mode;
	h->flags = flags;
	h->order = order;
	h->pid = (int32_t)(1000 + order);
	strcpy(h->comm, "made");
	strcpy(h->where, "made.c:1");
	h->seq = 2;
	return h;
}

struct glock__segment_extra *made_extra(struct made *m, unsigned int type, uint64_t number,
					const char *object)
{
	struct glock__segment_extra *e;
	uint32_t place = glock__publisher_get(m->p, GLOCK__AREA_EXTRAS);

	assert_true(place);
	e = glock__publisher_at(m->p, GLOCK__AREA_EXTRAS, place);
	e->type = (uint8_t)type;
	e->number = number;
	e->object_len = (uint16_t)strlen(object);
	memcpy(e->object, object, e->object_len);
	e->object_at = 1;
	e->seq = 2;
	return e;
}
