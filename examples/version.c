/* SPDX-License-Identifier: MIT */
/*
 * version.c - 32 bytes that travel with the lock: a holder knows whether its copy is old.
 *
 *	cc version.c $(pkg-config --cflags --libs glock) -o version
 *	./version TIMES
 *
 * A value block holds the version of some settings. A reader takes the lock in SH and looks at the
 * version. It reads the settings themselves only if its own version is another one. A writer, in
 * EX, increments the version. If a node died that may have changed the value, there is no value
 * (-ENODATA) until a holder writes one again. No cached data is valid then.
 */
#include <errno.h>
#include <glock.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct value {
	uint64_t version;
	char unused[GLOCK_LVB_SIZE - sizeof(uint64_t)];
};

static int change(struct glock *gl)
{
	GLOCK_SCOPE struct glock_holder gh =
	    GLOCK_HOLDER_NONE; /* drops the lock at the end of the scope */
	struct value v;
	int err;

	err = glock_lock(gl, GLOCK_EX, &gh);
	if (err)
		return err;
	err = glock_lvb_read(&gh, &v);
	if (err == -ENODATA)
		/* the first value, or the first after a death: all is new */
		memset(&v, 0, sizeof(v));
	else if (err)
		return err;
	v.version++;
	return glock_lvb_write(&gh, &v);
}

/* Returns 1 if the copy of that version is old. */
static int look(struct glock *gl, uint64_t *version)
{
	GLOCK_SCOPE struct glock_holder gh = GLOCK_HOLDER_NONE;
	struct value v;
	int err;

	err = glock_lock(gl, GLOCK_SH, &gh);
	if (!err)
		err = glock_lvb_read(&gh, &v);
	if (err == -ENODATA)
		return 1;
	if (err || v.version == *version)
		return err;
	*version = v.version;
	return 1;
}

int main(int argc, char **argv)
{
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .flags = GLOCK_OPS_LVB};
	const struct glock_space_options options = {
	    .size = sizeof(options), .types = &type, .n_types = 1};
	int times = argc > 1 ? atoi(argv[1]) : 3, reads = 0, err;
	struct glock_space *space;
	struct glock *gl;
	uint64_t version = 0;

	err = glock_space_open("version", &options, &space);
	if (!err)
		err = glock_get(space, GLOCK_INODE, 1, &gl);
	for (int i = 0; i < times && err >= 0; i++) {
		err = change(gl);
		for (int k = 0; k < 10 && err >= 0; k++) {
			err = look(gl, &version);
			reads += err == 1;
		}
	}
	if (err < 0) {
		fprintf(stderr, "version: %s\n", strerror(-err));
		return 1;
	}
	printf("changed %d times, looked %d times, read anew %d times\n", times, 10 * times, reads);
	glock_put(gl);
	return glock_space_close(space) != 0;
}
