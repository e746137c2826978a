/* SPDX-License-Identifier: MIT */
/*
 * test_process.c - tests locks by path across fork and exec, with closed descriptors, limits, other
 * users, and paths that are no files.
 */
#include "faked_fs.h"
#include "scene.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 8, PATHS = 300, FILES = 64, NOBODY = 65534 };

static char said[512];

static void keep_message(void *arg, const char *message)
{
	(void)arg;
	snprintf(said, sizeof(said), "%s", message);
}

static const struct glock_path_options options = {.size = sizeof(options), .log = keep_message};

static int get(const char *path, struct glock **gl)
{
	*said = '\0';
	return glock_get_path(NULL, path, &options, gl);
}

static void said_has(const char *words)
{
	if (!strstr(said, words))
		fail_msg("\"%s\" is not in \"%s\"", words, said);
}

static bool is_free(const char *path)
{
	int fd = scene_plain(path, LOCK_EX | LOCK_NB);

	close(fd);
	return fd >= 0;
}

static unsigned int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* ---- fork and exec ---- */

static void sleeps(void)
{
	__atomic_fetch_add(&scene->turns, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&scene->stop, __ATOMIC_SEQ_CST))
		scene_sleep_ms(10);
	_exit(0);
}

/* The children outlive their parent. */
static void has_children(void *arg)
{
	struct glock *gl = scene_get("jobs");
	struct glock_holder gh;

	(void)arg;
	if (glock_lock(gl, GLOCK_EX, &gh))
		exit(2);
	for (int i = 0; i < CHILDREN; i++)
		if (!fork())
			sleeps();
	pause();
}

/* Promises: glock_get_path: "keeps no lock of its parent". */
static void a_parent_that_is_killed(void **state)
{
	pid_t pid;

	(void)state;
	scene_reset();
	pid = scene_fork(has_children, NULL);
	while (__atomic_load_n(&scene->turns, __ATOMIC_SEQ_CST) < CHILDREN)
		scene_sleep_ms(1);
	assert_false(is_free("jobs"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(is_free("jobs"));
	__atomic_store_n(&scene->stop, 1, __ATOMIC_SEQ_CST);
}

static void a_daemon_that_locks_first(void *arg)
{
	struct glock_holder gh;
	struct glock *gl;

	(void)arg;
	if (get("daemon", &gl) || glock_lock(gl, GLOCK_EX, &gh) || daemon(1, 1))
		exit(2);
	/* The lock ends with the parent. */
	while (!is_free("daemon"))
		scene_sleep_ms(1);
	if (!glock_valid(&gh) && glock_unlock(&gh) == -ECHILD &&
	    strstr(said, "call fork() or daemon() first") && !get("daemon", &gl) &&
	    !glock_lock(gl, GLOCK_EX, &gh) && !is_free("daemon"))
		__atomic_store_n(&scene->turns, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&scene->stop, 1, __ATOMIC_SEQ_CST);
	_exit(0);
}

/* Promises: glock_get_path: "gets -ECHILD". */
static void locks_and_then_daemon(void **state)
{
	(void)state;
	scene_reset();
	scene_join(scene_fork(a_daemon_that_locks_first, NULL));
	while (!__atomic_load_n(&scene->stop, __ATOMIC_SEQ_CST))
		scene_sleep_ms(1);
	assert_int_equal(scene->turns, 1);
}

/* Promises: glock_get_path: "keeps no lock of its parent". */
static void descriptors_end_with_exec(void **state)
{
	struct glock_holder gh;
	struct glock *gl;

	(void)state;
	assert_int_equal(get("executed", &gl), 0);
	assert_int_equal(glock_lock(gl, GLOCK_EX, &gh), 0);
	assert_int_equal(system("! ls -l /proc/self/fd | grep -q executed"), 0);
	glock_unlock(&gh);
	glock_put(gl);
}

/* ---- descriptors ---- */

static int fd_of(const char *path)
{
	struct stat want, st;

	assert_int_equal(stat(path, &want), 0);
	for (int fd = 3; fd < 100; fd++)
		if (!fstat(fd, &st) && st.st_ino == want.st_ino && st.st_dev == want.st_dev)
			return fd;
	return -1;
}

/* Promises: glock_get_path: "closes the descriptor". */
static void a_descriptor_that_the_program_closes(void **state)
{
	struct glock_holder gh;
	struct glock *gl;
	int fd, own, pid_file;

	(void)state;
	assert_int_equal(get("closed", &gl), 0);
	assert_int_equal(glock_lock(gl, GLOCK_EX, &gh), 0);
	fd = fd_of("closed");
	assert_true(fd > 2);
	assert_int_equal(close(fd), 0);
	assert_int_equal(glock_valid(&gh), 0);
	own = open("own", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(own, fd);
	assert_int_equal(flock(own, LOCK_EX), 0);
	assert_int_equal(glock_valid(&gh), 0);
	assert_int_equal(glock_unlock(&gh), 0);
	said_has("was lost, because this process closed its descriptor");
	assert_false(is_free("own")); /* neither closed nor unlocked */
	assert_int_equal(glock_lock(gl, GLOCK_EX, &gh), 0);
	assert_int_equal(glock_valid(&gh), 1);
	assert_false(is_free("own"));
	/* a daemon that closes all descriptors, and writes its number into the file */
	fd = fd_of("closed");
	assert_int_equal(close(fd), 0);
	assert_int_equal(glock_valid(&gh), 0);
	pid_file = open("closed", O_RDWR | O_CLOEXEC);
	assert_int_equal(pid_file, fd);
	assert_int_equal(flock(pid_file, LOCK_EX), 0);
	assert_int_equal(glock_valid(&gh), 0);
	glock_unlock(&gh);
	said_has("was lost, because this process closed its descriptor");
	assert_false(is_free("closed"));
	assert_int_equal(close(pid_file), 0);
	glock_put(gl);
	assert_int_equal(close(own), 0);
}

/* Promises: glock_get_path: "-EMFILE". */
static void more_paths_than_descriptors(void **state)
{
	const struct rlimit few = {FILES, FILES};
	struct glock **gls = calloc(PATHS, sizeof(*gls)), *gl;
	struct glock_holder gh;
	struct rlimit was;
	unsigned int before;
	char path[32];

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(get("many", &gls[0]), 0); /* opens the space */
	glock_put(gls[0]);
	before = count_fds();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){FILES, was.rlim_max}), 0);
	for (int i = 0; i < PATHS; i++) {
		snprintf(path, sizeof(path), "many-%d", i);
		assert_int_equal(get(path, &gls[i]), 0);
		assert_int_equal(glock_lock(gls[i], GLOCK_EX, &gh), 0);
		assert_false(is_free(path));
		assert_int_equal(glock_unlock(&gh), 0);
	}
	assert_in_range(count_fds(), before, before + few.rlim_cur / 4);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, was.rlim_max}), 0);
	*said = '\0';
	assert_int_equal(glock_lock(gls[PATHS - 1], GLOCK_EX, &gh), -EMFILE);
	said_has("RLIMIT_NOFILE");
	assert_int_equal(get("one more", &gl), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	for (int i = 0; i < PATHS; i++)
		glock_put(gls[i]);
	assert_int_equal(count_fds(), before);
	free(gls);
}

/* ---- paths ---- */

/* Promises: glock_get_path: "Gets the lock", "makes the file". */
static void paths_of_one_file(void **state)
{
	struct glock *gl, *other;

	(void)state;
	assert_int_equal(mkdir("dir", 0755), 0);
	assert_int_equal(symlink("dir/target", "dangling"), 0);
	assert_int_equal(symlink("dir", "way"), 0);
	assert_int_equal(get("dangling", &gl), 0); /* makes dir/target */
	assert_int_equal(access("dir/target", F_OK), 0);
	assert_int_equal(get("way/../dir/target", &other), 0);
	assert_ptr_equal(gl, other);
	glock_put(other);
	assert_int_equal(get("./dir/other", &other), 0);
	assert_ptr_not_equal(gl, other);
	glock_put(other);
	glock_put(gl);
	assert_int_equal(get("dir/", &gl), 0); /* a folder */
	assert_int_equal(get("way", &other), 0);
	assert_ptr_equal(gl, other);
	glock_put(other);
	glock_put(gl);
}

static void an_object_of_the_program(void **state)
{
	struct glock *gl;
	int object;

	(void)state;
	assert_int_equal(get("object", &gl), 0);
	assert_null(glock_object(gl));
	glock_set_object(gl, &object);
	assert_ptr_equal(glock_object(gl), &object);
	glock_set_object(gl, NULL);
	glock_put(gl);
}

/* Promises: glock_get_path: "-EINVAL", "-E2BIG", "-EACCES". */
static void paths_without_a_lock(void **state)
{
	struct glock_path_options wrong = options;
	struct {
		struct glock_path_options now;
		uint64_t more;
	} later = {0};
	struct glock *gl;

	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(get("fifo", &gl), -EINVAL);
	said_has("a lock needs a regular file or a folder");
	assert_int_equal(get("/dev/null", &gl), -EINVAL);
	assert_int_equal(get("missing/file", &gl), -ENOENT);
	said_has("make the folder first");
	assert_int_equal(get("", &gl), -ENOENT);
	assert_int_equal(get(NULL, &gl), -EINVAL);
	assert_int_equal(symlink("loop", "loop"), 0);
	assert_int_equal(get("loop", &gl), -ELOOP);
	wrong.flags = 1u << 31;
	assert_int_equal(glock_get_path(NULL, "file", &wrong, &gl), -EINVAL);
	wrong = options;
	wrong.size = 4;
	assert_int_equal(glock_get_path(NULL, "file", &wrong, &gl), -EINVAL);
	later.now = options;
	later.now.size = sizeof(later);
	assert_int_equal(glock_get_path(NULL, "file", &later.now, &gl), 0);
	glock_put(gl);
	later.more = 1;
	assert_int_equal(glock_get_path(NULL, "file", &later.now, &gl), -E2BIG);
}

static void first_log(void *arg, const char *message)
{
	(void)message;
	++*(int *)arg;
}

static void calls_without_a_space_share_one(void *arg)
{
	int first = 0;
	const struct glock_path_options other = {
	    .size = sizeof(other), .log = first_log, .log_arg = &first};
	struct glock *gl, *same;

	(void)arg;
	if (glock_get_path(NULL, "file", &other, &gl) || get("file", &same) || gl != same)
		exit(2);
	if (get("missing/file", &same) != -ENOENT || first != 1 || *said)
		exit(3); /* the log of the first call was told */
	glock_put(gl);
	glock_put(gl);
}

/* Promises: group: "log of the first call"; glock_get_path: "space NULL". */
static void one_space_and_one_log(void **state)
{
	(void)state;
	*said = '\0';
	scene_join(scene_fork(calls_without_a_space_share_one, NULL));
}

/* ---- without interop ---- */

/*
 * Promises: GLOCK_PATH_NO_INTEROP: "Takes no flock"; glock_get_path: "No file is made",
 * "With NO_INTEROP", "several machines", "-EMEDIUMTYPE".
 */
static void a_path_without_interop(void **state)
{
	struct glock_path_options o = options;
	struct glock_holder gh;
	struct glock *gl, *same;

	(void)state;
	o.flags = GLOCK_PATH_NO_INTEROP;
	assert_int_equal(glock_get_path(NULL, "alone", &o, &gl), 0);
	assert_int_equal(access("alone", F_OK), -1);
	assert_int_equal(glock_type_of(gl), GLOCK_INODE);
	assert_int_equal(glock_lock(gl, GLOCK_EX, &gh), 0);
	assert_true(is_free("alone")); /* makes it */
	glock_unlock(&gh);
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_TRY_CACHED);
	assert_int_equal(glock_nq(&gh), 0);
	glock_unlock(&gh);
	assert_int_equal(glock_get_path(NULL, "./alone", &o, &same), 0);
	assert_ptr_equal(gl, same);
	glock_put(same);
	o.type = GLOCK_FLOCK;
	assert_int_equal(glock_get_path(NULL, "alone", &o, &same), 0);
	assert_int_equal(glock_type_of(same), GLOCK_FLOCK);
	glock_put(same);
	glock_put(gl);
	file_system = 0x6969; /* NFS */
	assert_int_equal(glock_get_path(NULL, "alone", &o, &gl), -EMEDIUMTYPE);
	o.flags = o.type = 0;
	assert_int_equal(glock_get_path(NULL, "alone", &o, &gl), 0); /* flock decides */
	glock_put(gl);
	file_system = 0;
}

/* ---- spaces ---- */

static void a_space_with_a_type_in_its_place(void **state)
{
	const struct glock_type_options type = {.size = sizeof(type), .type = GLOCK_RESERVED};
	const struct glock_space_options o = {
	    .size = sizeof(o), .types = &type, .n_types = 1, .log = keep_message};
	struct glock_space *space;
	struct glock *gl;

	(void)state;
	assert_int_equal(glock_space_open("taken", &o, &space), 0);
	assert_int_equal(glock_get_path(space, "file", NULL, &gl), -EINVAL);
	said_has("drop the entry");
	assert_int_equal(glock_get(space, GLOCK_RESERVED, 1, &gl), 0);
	glock_put(gl);
	assert_int_equal(glock_space_close(space), 0);
}

static void a_space_of_the_program(void **state)
{
	struct glock_space *space;
	struct glock_holder gh;
	struct glock *gl;

	(void)state;
	assert_int_equal(glock_space_open("own", NULL, &space), 0);
	assert_int_equal(glock_get(space, GLOCK_RESERVED, 1, &gl), -EINVAL);
	assert_int_equal(glock_get_path(space, "file", NULL, &gl), 0);
	assert_int_equal(glock_lock(gl, GLOCK_EX, &gh), 0);
	assert_false(is_free("file"));
	glock_unlock(&gh);
	assert_int_equal(glock_space_close(space), -EBUSY);
	glock_put(gl);
	assert_int_equal(glock_space_close(space), 0);
}

/* Two spaces meet by the flock. So do two users, and a user whose space is damaged. */
static void in_another_folder(void *arg)
{
	struct glock_holder gh;
	struct glock *gl;

	setenv("GLOCK_DIR", arg, 1);
	gl = scene_get("both");
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_TRY);
	if (glock_nq(&gh) != -EBUSY)
		exit(2);
	__atomic_store_n(&scene->at, 1, __ATOMIC_SEQ_CST);
	glock_holder_init(&gh, gl, GLOCK_EX, 0);
	if (glock_nq(&gh) || glock_dq(&gh))
		exit(3);
	glock_put(gl);
}

static void two_folders_of_spaces(void **state)
{
	struct glock_holder gh;
	struct glock *gl;
	pid_t pid;

	(void)state;
	scene_reset();
	assert_int_equal(mkdir("spaces", 0700), 0);
	assert_int_equal(get("both", &gl), 0);
	assert_int_equal(glock_lock(gl, GLOCK_EX, &gh), 0);
	pid = scene_fork(in_another_folder, (char *)"spaces");
	while (!__atomic_load_n(&scene->at, __ATOMIC_SEQ_CST))
		scene_sleep_ms(1);
	glock_unlock(&gh);
	scene_join(pid);
	glock_put(gl);
}

static void without_a_place_for_spaces(void *arg)
{
	struct glock_holder gh;
	struct glock *gl;

	(void)arg;
	setenv("GLOCK_DIR", "/nonexistent", 1);
	if (get("alone", &gl) || !strstr(said, "without a queue"))
		exit(2);
	if (glock_lock(gl, GLOCK_EX, &gh) || is_free("alone") || glock_unlock(&gh))
		exit(3);
	glock_put(gl);
}

/* Promises: glock_get_path: "goes on without a queue". */
static void a_space_that_cannot_be_used(void **state)
{
	(void)state;
	scene_join(scene_fork(without_a_place_for_spaces, NULL));
}

/* The space's file is removed, as systemd-logind does at the end of a session. */
static void a_space_that_is_removed(void **state)
{
	struct glock *gl, *again;
	struct glock_holder gh;

	(void)state;
	assert_int_equal(get("removed", &gl), 0);
	assert_int_equal(glock_lock(gl, GLOCK_EX, &gh), 0);
	assert_int_equal(system("rm -f \"$GLOCK_DIR\"/*"), 0);
	while (glock_valid(&gh))
		scene_sleep_ms(10);
	assert_false(is_free("removed")); /* the flock stays until the release */
	assert_int_equal(glock_unlock(&gh), 0);
	assert_true(is_free("removed"));
	assert_int_equal(glock_lock(gl, GLOCK_EX, &gh), -EIO);
	assert_int_equal(get("removed", &again), 0);
	assert_int_equal(glock_lock(again, GLOCK_EX, &gh), 0);
	glock_unlock(&gh);
	glock_put(again);
	glock_put(gl);
}

/* ---- users ---- */

static void hostile_user(void *arg)
{
	struct glock_holder gh;
	struct glock *gl;

	setenv("GLOCK_DIR", arg, 1);
	if (setgid(NOBODY) || setuid(NOBODY))
		exit(2);
	gl = scene_get("shared");
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_TRY);
	if (glock_nq(&gh) != -EBUSY) /* root has the lock, in another space */
		exit(3);
	if (system("truncate -s 0 \"$GLOCK_DIR\"/*"))
		exit(4);
	__atomic_store_n(&scene->at, 1, __ATOMIC_SEQ_CST);
	(void)glock_lock(gl, GLOCK_EX, &gh); /* SIGBUS may end this process */
	pause();
}

/* Promises: glock_get_path: "Users meet". */
static void a_user_who_cuts_off_its_space(void **state)
{
	struct glock_holder gh;
	struct glock *gl;
	pid_t pid;

	(void)state;
	if (getuid())
		skip();
	scene_reset();
	assert_int_equal(chmod(".", 01777), 0);
	assert_int_equal(get("shared", &gl), 0);
	assert_int_equal(chmod("shared", 0644), 0);
	assert_int_equal(mkdir("nobodys", 0700), 0);
	assert_int_equal(chown("nobodys", NOBODY, NOBODY), 0);
	assert_int_equal(glock_lock(gl, GLOCK_EX, &gh), 0);
	pid = scene_fork(hostile_user, (char *)"nobodys");
	while (!__atomic_load_n(&scene->at, __ATOMIC_SEQ_CST))
		scene_sleep_ms(1);
	assert_int_equal(glock_unlock(&gh), 0);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(glock_lock(gl, GLOCK_EX, &gh), 0);
		assert_int_equal(glock_valid(&gh), 1);
		assert_int_equal(glock_unlock(&gh), 0);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	glock_put(gl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_parent_that_is_killed),
	    cmocka_unit_test(locks_and_then_daemon),
	    cmocka_unit_test(descriptors_end_with_exec),
	    cmocka_unit_test(a_descriptor_that_the_program_closes),
	    cmocka_unit_test(more_paths_than_descriptors),
	    cmocka_unit_test(paths_of_one_file),
	    cmocka_unit_test(an_object_of_the_program),
	    cmocka_unit_test(paths_without_a_lock),
	    cmocka_unit_test(a_path_without_interop),
	    cmocka_unit_test(one_space_and_one_log),
	    cmocka_unit_test(a_space_with_a_type_in_its_place),
	    cmocka_unit_test(a_space_of_the_program),
	    cmocka_unit_test(two_folders_of_spaces),
	    cmocka_unit_test(a_space_that_cannot_be_used),
	    cmocka_unit_test(a_space_that_is_removed),
	    cmocka_unit_test(a_user_who_cuts_off_its_space),
	};

	scene_folder();
	return RUN_TESTS(tests);
}
