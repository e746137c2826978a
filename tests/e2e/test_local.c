/* SPDX-License-Identifier: MIT */
/*
 * test_local.c - tests o2top on this machine: mountinfo, fs_state, sysfs, and samples in a row.
 *
 * A folder of a recording stands in for debugfs and is changed under the running program.
 */
#include "frames.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct machine {
	char root[64]; /* debugfs is root/debug, a link */
};

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* Makes the `sample` of a recording's node1 the contents of debugfs. */
static void set_sample(const struct machine *m, const char *recording, const char *sample)
{
	char target[4200], link[128], tmp[128];

	snprintf(target, sizeof(target), "%s/%s/node1", capture(recording), sample);
	snprintf(link, sizeof(link), "%s/debug", m->root);
	snprintf(tmp, sizeof(tmp), "%s/debug.new", m->root);
	assert_int_equal(symlink(target, tmp), 0);
	assert_int_equal(rename(tmp, link), 0);
}

static int set_up(void **state)
{
	static struct machine m;
	char path[128];

	strcpy(m.root, "/tmp/o2top-local-XXXXXX");
	assert_non_null(mkdtemp(m.root));
	snprintf(path, sizeof(path), "%s/mountinfo", m.root);
	/* fs_state says 254,16. A path with a blank is escaped. Other lines are not for o2top. */
	put(path,
	    "22 28 0:21 / /proc rw,nosuid - proc proc rw\n"
	    "90 28 254:16 / /mnt/ocfs2\\040a rw,relatime shared:9 - ocfs2 /dev/vdb rw,_netdev\n"
	    "91 28 254:0 / /mnt/gfs2 rw,relatime - gfs2 /dev/vda rw\n");
	snprintf(path, sizeof(path), "%s/fs", m.root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/fs/gfs2", m.root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/fs/gfs2/lab:fs1", m.root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/fs/gfs2/lab:fs1/id", m.root);
	put(path, "254:0\n");
	*state = &m;
	return 0;
}

static int tear_down(void **state)
{
	const struct machine *m = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", m->root);
	return system(command);
}

static const char *args_for(const struct machine *m, const char *more)
{
	static char args[1024];

	snprintf(args, sizeof(args), "--debugfs %s/debug --sysfs %s --mountinfo %s/mountinfo %s",
		 m->root, m->root, m->root, more);
	return args;
}

static void one_sample_of_all_mounts(void **state)
{
	const struct machine *m = *state;
	json_t *frames, *frame;

	set_sample(m, "ocfs2-hang", "t0");
	frames = run_frames(args_for(m, "--once"));
	assert_int_equal(json_array_size(frames), 1);
	frame = json_array_get(frames, 0);
	assert_non_null(row_of(frame, "ocfs2", 32272));
	assert_int_equal(
	    json_integer_value(json_object_get(row_of(frame, "ocfs2", 32272), "waiting")), 1);
	/* o2top read both file systems: 152 lines of locking_state and 395 glocks */
	assert_int_equal(
	    json_integer_value(json_object_get(json_object_get(frame, "totals"), "locks")),
	    152 + 395);
	json_decref(frames);
}

static void one_mount_point(void **state)
{
	const struct machine *m = *state;
	json_t *frames;
	char *text;
	int status;

	set_sample(m, "ocfs2-hang", "t0");
	frames = run_frames(args_for(m, "--once '/mnt/ocfs2 a'"));
	assert_int_equal(json_integer_value(json_object_get(
			     json_object_get(json_array_get(frames, 0), "totals"), "locks")),
			 152);
	json_decref(frames);
	/* a folder inside the mount, with a slash at the end */
	frames = run_frames(args_for(m, "--once /mnt/gfs2/db/"));
	assert_int_equal(json_integer_value(json_object_get(
			     json_object_get(json_array_get(frames, 0), "totals"), "locks")),
			 395);
	json_decref(frames);
	text = run_text(args_for(m, "--once /mnt/gfs2x 2>&1"), &status);
	assert_int_equal(status, 1);
	assert_non_null(strstr(text, "nothing to watch"));
	assert_non_null(strstr(text, "/mnt/gfs2x"));
	free(text);
}

static json_int_t locks_at(const struct machine *m, const char *point)
{
	char args[256];
	json_t *frames;
	json_int_t n;

	snprintf(args, sizeof(args), "--once %s", point);
	frames = run_frames(args_for(m, args));
	n = json_integer_value(
	    json_object_get(json_object_get(json_array_get(frames, 0), "totals"), "locks"));
	json_decref(frames);
	return n;
}

/*
 * One device is mounted at two places. A link to a mount point is followed without a look inside.
 */
static void mounted_twice_and_linked(void **state)
{
	const struct machine *m = *state;
	char path[128], real[128], text[512];

	set_sample(m, "ocfs2-hang", "t0");
	snprintf(real, sizeof(real), "%s/real", m->root);
	assert_int_equal(mkdir(real, 0700), 0);
	snprintf(path, sizeof(path), "%s/link", m->root);
	assert_int_equal(symlink(real, path), 0);
	snprintf(path, sizeof(path), "%s/mountinfo", m->root);
	snprintf(text, sizeof(text),
		 "90 28 254:16 / /mnt/first rw - ocfs2 /dev/vdb rw\n"
		 "91 28 254:16 / %s rw - ocfs2 /dev/vdb rw\n"
		 "92 28 254:0 / /mnt/gfs2 rw - gfs2 /dev/vda rw\n",
		 real);
	put(path, text);
	assert_int_equal(locks_at(m, "/mnt/first"), 152);
	assert_int_equal(locks_at(m, real), 152);
	snprintf(path, sizeof(path), "%s/link", m->root);
	assert_int_equal(locks_at(m, path), 152);
	/* a missing path inside the mount: o2top does not look there */
	snprintf(path, sizeof(path), "%s/into", m->root);
	strcat(real, "/no/where");
	assert_int_equal(symlink(real, path), 0);
	assert_int_equal(locks_at(m, path), 152);
}

/* Two samples, a second apart. Between them, debugfs moves on to the next sample. */
static void a_frame_between_two_samples(void **state)
{
	const struct machine *m = *state;
	json_t *frames, *row;
	pid_t child;
	int status;

	set_sample(m, "ocfs2-hang", "t0");
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		usleep(600000);
		set_sample(m, "ocfs2-hang", "t1");
		_exit(0);
	}
	frames = run_frames(args_for(m, "-i 1 -t 1.5"));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(json_array_size(frames), 1);
	row = row_of(json_array_get(frames, 0), "ocfs2", 32272);
	assert_non_null(row);
	/* 849.664 - 845.310: the process waited all that time */
	assert_true(fabs(real_of(row, "wait_s") - 4.36) < 0.01);
	assert_true(real_of(row, "oldest_wait_s") >= 4.35 &&
		    real_of(row, "oldest_wait_max_s") <= 10.03);
	json_decref(frames);
}

static void nothing_mounted_is_nothing_to_watch(void **state)
{
	const struct machine *m = *state;
	char *text, args[512];
	int status;

	snprintf(args, sizeof(args),
		 "--debugfs %s/fs --sysfs %s --mountinfo %s/mountinfo --once 2>&1", m->root,
		 m->root, m->root);
	/*
	 * root/fs has a folder gfs2 with a lock table but without a file: something to watch,
	 * nothing usable
	 */
	text = run_text(args, &status);
	assert_int_equal(status, 3);
	free(text);
	snprintf(args, sizeof(args), "--debugfs %s/fs/gfs2 --once 2>&1", m->root);
	text = run_text(args, &status);
	assert_int_equal(status, 1);
	assert_non_null(strstr(text, "nothing to watch"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(one_sample_of_all_mounts, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(one_mount_point, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(mounted_twice_and_linked, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_frame_between_two_samples, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(nothing_mounted_is_nothing_to_watch, set_up, tear_down),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
