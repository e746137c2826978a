/* SPDX-License-Identifier: MIT */
/*
 * seed_replay.c - writes a recording as the two inputs of fuzz_replay.
 *
 * Usage: seed_replay FOLDER FILE RAW. FOLDER is the recording. FILE gets the frames' payloads, RAW
 * the recording's file.
 */
#include "fuzz.h"
#include "o2top/collect/recording/frames.h"
#include "o2top/collect/recording/record.h"
#include "o2top/model/model.h"
#include "o2top/sources/sources.h"

#include <fcntl.h>

int main(int argc, char **argv)
{
	struct problems problems = {0};
	struct banners banners = {0};
	struct model model = {.sources = source_list, .threads = 1};
	struct collector *c, *recorder;
	struct sample sample;
	struct frames f;
	char buf[4096];
	ssize_t n;
	int fd, raw;
	FILE *out;

	CHECK(argc == 4);
	unlink(argv[3]);
	CHECK(collect_recording(&c, argv + 1, 1, NULL, 0, false, &problems) == 0);
	CHECK(collect_recorder(&recorder, c, &(struct record_options){.path = argv[3]},
			       &problems) == 0);
	while (recorder->ops->next(recorder, &sample, &problems) == 1) {
		CHECK(model_sample(&model, recorder, &sample) == 0);
		CHECK(recorder_sampled(recorder, &problems, &banners) == 0);
	}
	recorder->ops->close(recorder);
	model_free(&model);
	CHECK(frames_open(&f, argv[3], &problems) == 0);
	out = fopen(argv[2], "we");
	CHECK(out);
	fputc(1, out);
	for (size_t i = 0; i < f.n; i++) {
		unsigned char *payload;
		size_t size;

		CHECK(frames_read(&f, i, &payload, &size) == 0 && size < 65536);
		fputc((int)(f.list[i].kind & 1), out);
		fputc((int)(size & 255), out);
		fputc((int)(size >> 8), out);
		CHECK(fwrite(payload, 1, size, out) == size);
		free(payload);
	}
	CHECK(fclose(out) == 0);
	frames_close(&f);

	/* the file itself behind a byte 0 */
	snprintf(buf, sizeof(buf), "%s.new", argv[3]);
	raw = open(argv[3], O_RDONLY | O_CLOEXEC);
	fd = open(buf, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(raw >= 0 && fd >= 0 && write(fd, "", 1) == 1);
	while ((n = read(raw, buf, sizeof(buf))) > 0)
		CHECK(write(fd, buf, (size_t)n) == n);
	close(raw);
	close(fd);
	snprintf(buf, sizeof(buf), "%s.new", argv[3]);
	CHECK(rename(buf, argv[3]) == 0);
	problems_clear(&problems);
	return 0;
}
