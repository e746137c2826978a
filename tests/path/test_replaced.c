/* SPDX-License-Identifier: MIT */
/*
 * test_replaced.c - tests locks by path whose file is replaced or unlinked under the lock.
 *
 * PATH_TURNS is the number of turns of each test.
 */
#include "scene.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned int turns = 2000;

/*
 * Adds 1 to the number in the file. Writes a new file and renames it over the path, as editors and
 * package managers do.
 */
static void replace(void)
{
	char name[32], number[16] = "0";
	int fd = open("conf", O_RDONLY);

	if (fd < 0 || read(fd, number, sizeof(number) - 1) < 0)
		exit(5);
	close(fd);
	snprintf(name, sizeof(name), "new-%d", (int)getpid());
	snprintf(number, sizeof(number), "%15d", atoi(number) + 1);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, number, sizeof(number)) < 0 || close(fd) || rename(name, "conf"))
		exit(5);
}

static unsigned int number_in_file(void)
{
	char number[16] = "";
	int fd = open("conf", O_RDONLY);

	assert_true(read(fd, number, sizeof(number) - 1) > 0);
	close(fd);
	return (unsigned int)atoi(number);
}

static void unlink_it(void)
{
	if (unlink("conf"))
		exit(6);
}

static void link_it(void)
{
	unlink("other");
	if (link("conf", "other"))
		exit(7);
	replace();
}

static bool goes_on(void)
{
	return __atomic_load_n(&scene->turns, __ATOMIC_SEQ_CST) < turns;
}

static void ours(void *last)
{
	struct glock *gl = scene_get("conf");

	while (goes_on())
		scene_turn(gl, GLOCK_EX, (void (*)(void))last);
	glock_put(gl);
}

static void plain(void *last)
{
	while (goes_on())
		scene_plain_turn("conf", LOCK_EX, (void (*)(void))last);
}

/* Two processes of each kind, and the time goes to those that the kernel lets run. */
static void holders_that(void (*last)(void))
{
	pid_t pids[4];

	unlink("conf");
	scene_reset();
	for (int i = 0; i < 4; i++)
		pids[i] = scene_fork(i % 2 ? plain : ours, (void *)last);
	for (int i = 0; i < 4; i++)
		scene_join(pids[i]);
	assert_int_equal(scene->overlaps, 0);
}

/* Promises: glock_get_path: "replaced or unlinked". */
static void a_file_that_each_holder_replaces(void **state)
{
	(void)state;
	holders_that(replace);
	assert_int_equal(number_in_file(), scene->turns);
}

/* Promises: glock_get_path: "replaced or unlinked". */
static void a_file_that_each_holder_unlinks(void **state)
{
	(void)state;
	holders_that(unlink_it);
}

static void a_file_with_a_second_name_that_is_replaced(void **state)
{
	(void)state;
	holders_that(link_it);
	assert_int_equal(number_in_file(), scene->turns);
}

/* flock(1) itself does not look at the path again, so only one process at a time may wait there. */
static void in_turns_with_flock(void *arg)
{
	struct glock *gl = scene_get("conf");
	int fd;

	(void)arg;
	for (unsigned int i = 0; i < turns / 2; i++) {
		scene_turn(gl, GLOCK_EX, replace);
		fd = scene_plain("conf", LOCK_EX | LOCK_NB);
		if (fd < 0)
			exit(8);
		replace();
		close(fd);
	}
	glock_put(gl);
}

static void flock_in_turns(void **state)
{
	(void)state;
	scene_reset();
	scene_join(scene_fork(in_turns_with_flock, NULL));
	assert_int_equal(scene->overlaps, 0);
}

/* A plain holder keeps the old file for ever. The path has another file, which is free. */
static void a_holder_of_the_file_before(void *arg)
{
	struct glock *gl = scene_get("conf");
	struct glock_holder gh;

	(void)arg;
	if (scene_plain("conf", LOCK_EX) < 0)
		exit(9);
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_TRY);
	if (glock_nq(&gh) != -EBUSY)
		exit(10);
	replace();
	if (glock_nq(&gh) || scene_plain("conf", LOCK_EX | LOCK_NB) >= 0)
		exit(11);
	glock_dq(&gh);
	glock_put(gl);
}

static void a_holder_of_the_old_file_is_in_nobodys_way(void **state)
{
	(void)state;
	scene_join(scene_fork(a_holder_of_the_file_before, NULL));
}

/* Another process makes the file while the library finds out that there is none. */
static bool file_comes;
ssize_t __real_readlink(const char *path, char *link, size_t room);
ssize_t __wrap_readlink(const char *path, char *link, size_t room);
ssize_t __wrap_readlink(const char *path, char *link, size_t room)
{
	if (file_comes)
		close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	return __real_readlink(path, link, room);
}

static void a_file_that_comes_meanwhile(void **state)
{
	struct glock *gl;

	(void)state;
	file_comes = true;
	gl = scene_get("comes");
	file_comes = false;
	scene_turn(gl, GLOCK_EX, NULL);
	glock_put(gl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_file_that_each_holder_replaces),
	    cmocka_unit_test(a_file_that_each_holder_unlinks),
	    cmocka_unit_test(a_file_with_a_second_name_that_is_replaced),
	    cmocka_unit_test(flock_in_turns),
	    cmocka_unit_test(a_holder_of_the_old_file_is_in_nobodys_way),
	    cmocka_unit_test(a_file_that_comes_meanwhile),
	};

	if (getenv("PATH_TURNS"))
		turns = (unsigned int)atoi(getenv("PATH_TURNS"));
	scene_folder();
	return RUN_TESTS(tests);
}
