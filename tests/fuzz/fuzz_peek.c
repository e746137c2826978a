/* SPDX-License-Identifier: MIT */
/*
 * fuzz_peek.c - fuzzes a published segment with arbitrary contents.
 *
 * The head is a whole one with small areas in a row. The first bytes change the head as they like.
 * The rest is the areas' contents. Everything that is read must lie within the reader's promises,
 * and text must be text.
 */
#include "fuzz.h"
#include "glock/base/mode.h"
#include "glock/fast/thread.h"
#include "peek/peek.h"

static struct glock__segment_head whole_head(size_t size)
{
	static const uint32_t strides[GLOCK__AREA_MAX] = {
	    [GLOCK__AREA_RECORDS] = sizeof(struct glock__record),
	    [GLOCK__AREA_BUSY_RECORDS] = sizeof(struct glock__busy_record),
	    [GLOCK__AREA_THREADS] = sizeof(struct glock__thread_record),
	    [GLOCK__AREA_TYPE_STATS] = sizeof(struct glock__cpu_record),
	    [GLOCK__AREA_HOLDERS] = sizeof(struct glock__segment_holder),
	    [GLOCK__AREA_EXTRAS] = sizeof(struct glock__segment_extra),
	    [GLOCK__AREA_TRACE] = 1,
	    [GLOCK__AREA_SITES] = sizeof(struct glock__segment_site),
	    [GLOCK__AREA_LENT] = sizeof(struct glock__lent_record),
	    [GLOCK__AREA_HISTOGRAMS] = sizeof(struct glock__type_histogram),
	};
	struct glock__segment_head head = {
	    .magic = GLOCK__SEGMENT_MAGIC,
	    .version = GLOCK__SEGMENT_VERSION,
	    .head_size = sizeof(head),
	    .hz = 1000,
	    .cpus = 2,
	    .types = GLOCK_TYPE_MAX,
	    .trace_order = 3,
	};

	for (int i = 0; i < GLOCK__AREA_MAX; i++) {
		head.area[i].stride = strides[i];
		head.area[i].offset =
		    (sizeof(head) + size / GLOCK__AREA_MAX * (size_t)i + 63) & ~(size_t)63;
		head.area[i].room = head.area[i].used = size / GLOCK__AREA_MAX;
	}
	return head;
}

static char buf[1 << 16];

static void check_text(const char *text)
{
	for (const char *line = text, *next; *line; line = next) {
		const char *nl = strchr(line, '\n');

		CHECK(nl || strlen(text) == sizeof(buf) - 1);
		CHECK(*line == ' ' || !strncmp(line, "G:", 2) || line[0] != 'G');
		next = nl ? nl + 1 : line + strlen(line);
		for (const char *c = line; c + 1 < next; c++)
			CHECK((unsigned char)*c >= 0x20 && *c != 0x7f);
	}
}

static bool each(void *arg, const struct glock__peek_glock *gl)
{
	struct glock__peek_text how = {.peek = arg, .now = 1000, .ages = true};
	struct glock__text text = {buf, sizeof(buf), 0};

	CHECK(gl->r.type < GLOCK_TYPE_MAX && gl->r.state < GLOCK_MODE_MAX);
	for (size_t i = 0; i < gl->n_holders; i++)
		CHECK(gl->holders[i].type == gl->r.type && gl->holders[i].number == gl->r.number &&
		      gl->holders[i].mode < GLOCK_MODE_MAX);
	CHECK(!gl->lent || (gl->lent->type == gl->r.type && gl->lent->number == gl->r.number));
	glock__peek_print_glock(&how, &text, gl);
	check_text(buf);
	text.len = 0;
	glock__peek_print_stats(&text, gl);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct glock__segment_head head;
	struct glock__event ev = {0};
	uint64_t cursor = 0, lost;
	struct glock__peek *p;
	size_t changes;
	int fd;

	if (size < 1)
		return 0;
	changes = data[0] % 16;
	data++;
	size--;
	if (size < changes * 4)
		return 0;
	head = whole_head(size - changes * 4);
	for (; changes; changes--, data += 4, size -= 4)
		((uint8_t *)&head)[(data[0] | data[1] << 8) % sizeof(head)] =
		    data[2] & 1 ? data[3] : 0xff;
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	CHECK(fd >= 0);
	CHECK(write(fd, &head, sizeof(head)) == sizeof(head));
	CHECK(write(fd, data, size) == (ssize_t)size);
	if (glock__peek_open_fd(&p, fd))
		return 0;
	glock__peek_read(p, each, p, NULL);
	for (unsigned int line = 0; line < 20; line++) {
		struct glock__text text = {buf, sizeof(buf), 0};

		glock__peek_print_sbstats(p, &text, line);
	}
	for (unsigned int type = 0; type <= GLOCK_TYPE_MAX; type++) {
		uint64_t histograms[GLOCK__HISTOGRAM_MAX][GLOCK__BUCKETS];

		glock__peek_histograms(p, type, histograms);
	}
	for (int i = 0; i < 64 && glock__peek_event(p, &cursor, &ev, &lost) != 0; i++) {
		struct glock__text text = {buf, sizeof(buf), 0};

		if (i % 2 == 0)
			memset(&ev, 0, sizeof(ev));
		glock__event_print(&text, GLOCK__LINUX_7_0, 254, 0, &ev);
	}
	glock__peek_close(p);
	return 0;
}
