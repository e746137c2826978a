/* SPDX-License-Identifier: MIT */
/*
 * fuzz_mounts.c - fuzzes mountinfo: the file systems and their mount points.
 */
#include "fuzz.h"
#include "o2top/collect/machine/mounts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mounts mounts;
	char path[64];
	int fd = fuzz_file(data, size, path);

	CHECK(!mounts_read(&mounts, path));
	for (size_t i = 0; i < mounts.n; i++) {
		const struct mount *m = &mounts.list[i];

		CHECK(m->fs < FS_KINDS);
		CHECK(mounts_of_device(&mounts, m->fs, m->major, m->minor));
		if (*m->point == '/' && !strstr(m->point, "//") &&
		    (!m->point[1] || m->point[strlen(m->point) - 1] != '/'))
			CHECK(mounts_of_path(&mounts, m->point));
	}
	mounts_of_path(&mounts, "/mnt/o2/a b");
	mounts_of_path(&mounts, "");
	mounts_of_path(&mounts, "/");
	mounts_free(&mounts);
	close(fd);
	return 0;
}
