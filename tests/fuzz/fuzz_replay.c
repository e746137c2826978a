/* SPDX-License-Identifier: MIT */
/*
 * fuzz_replay.c - fuzzes a recording in one file: going through it both ways ends, and shows well.
 *
 * If the first byte is 0, the rest is the file unchanged. Otherwise the rest is payloads of frames,
 * each under its kind (a byte) and its length (two bytes). So data that checksums would keep out is
 * tried, too.
 */
#include "fuzz.h"
#include "o2top/collect/recording/frames.h"
#include "o2top/collect/recording/record.h"
#include "o2top/model/model.h"
#include "o2top/rank/rank.h"
#include "o2top/sources/sources.h"
#include "o2top/views/view.h"

#include <fcntl.h>

static void show_all(struct collector *c)
{
	struct problems problems = {0};
	struct filter filter = {0};
	struct model model = {.sources = source_list, .threads = 1};
	struct sample sample;
	size_t n = c->replay->count(c);
	FILE *out = fopen("/dev/null", "we");

	CHECK(out);
	for (size_t i = 0; c->ops->next(c, &sample, &problems) == 1; i++) {
		struct view_options options = {.length = 5, .details = true};
		struct group group;
		struct frame frame = {&model, &group, &problems, sample.label, "fuzz", false};

		CHECK(i < n);
		model_sample(&model, c, &sample);
		problems_join(&problems, &model.problems);
		CHECK(group_rank(&group, &model, NULL, &filter, SORT_LOST) == 0);
		CHECK(view_batch(out, &frame, &options) == 0);
		group_free(&group);
		problems_clear(&problems);
	}
	model_free(&model);
	for (size_t i = n; i--;) {
		c->replay->seek(c, i);
		CHECK(c->ops->next(c, &sample, &problems) == 1);
		(void)c->replay->time(c, i);
	}
	problems_clear(&problems);
	fclose(out);
}

static void write_frames(const char *path, const uint8_t *data, size_t size)
{
	uint64_t length;
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	CHECK(frames_prepare(fd, &length) == 0);
	while (size >= 3) {
		size_t n = (size_t)(data[1] | data[2] << 8);
		struct pack payload;

		n = n < size - 3 ? n : size - 3;
		payload = (struct pack){.data = (unsigned char *)data + 3, .n = n};
		CHECK(frames_append(fd, data[0] & 1 ? FRAME_KEY : FRAME_DELTA, 5, &payload) > 0);
		data += 3 + n;
		size -= 3 + n;
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct problems problems = {0};
	struct collector *c;
	char path[64];
	int fd, err;

	if (!size)
		return 0;
	fd = data[0] ? fuzz_file(data, 0, path) : -1;
	if (data[0]) {
		write_frames(path, data + 1, size - 1);
		err = collect_replay(&c, path, NULL, 0, &problems);
		CHECK(err == 0);
	} else {
		err = collect_replay_memory(&c, data + 1, size - 1, "fuzz", &problems);
	}
	if (!err) {
		show_all(c);
		c->ops->close(c);
	}
	if (fd >= 0)
		close(fd);
	problems_clear(&problems);
	return 0;
}
