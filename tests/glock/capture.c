/* SPDX-License-Identifier: MIT */
/*
 * capture.c - finds, unpacks and reads the recordings of real kernels.
 */
#include "capture.h"

#include "check.h"

#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static char unpacked[] = "/tmp/glock-capture-XXXXXX";
static bool have_unpacked;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void remove_unpacked(void)
{
	nftw(unpacked, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *data_dir(void)
{
	const char *dir = getenv("GLOCK_CAPTURES");

	return dir && *dir ? dir : GLOCK_TEST_DATA;
}

/* Formats a path, or fails the test. */
static void path_print(char path[PATH_MAX], const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, PATH_MAX, fmt, ap);
	va_end(ap);
	assert_in_range(n, 1, PATH_MAX - 1);
}

const char *capture_dir(const char *name)
{
	static char path[PATH_MAX];
	char archive[PATH_MAX], command[2 * PATH_MAX];

	path_print(path, "%s/%s", data_dir(), name);
	if (!access(path, R_OK))
		return path;
	path_print(archive, "%s/%s.tar.xz", data_dir(), name);
	if (access(archive, R_OK))
		fail_msg("recording missing: neither %s nor %s; set GLOCK_CAPTURES", path, archive);
	if (!have_unpacked) {
		assert_non_null(mkdtemp(unpacked));
		have_unpacked = true;
		atexit(remove_unpacked);
	}
	path_print(path, "%s/%s", unpacked, name);
	snprintf(command, sizeof(command), "tar -xJf '%s' -C '%s'", archive, unpacked);
	if (access(path, R_OK) && system(command))
		fail_msg("cannot unpack %s", archive);
	return path;
}

static char *read_all(FILE *f)
{
	size_t len = 0, room = 1 << 20;
	char *text = malloc(room);

	assert_non_null(text);
	for (size_t n; (n = fread(text + len, 1, room - len - 1, f)) > 0;) {
		len += n;
		if (len + 1 == room)
			text = realloc(text, room *= 2);
		assert_non_null(text);
	}
	text[len] = '\0';
	return text;
}

static char *read_path(const char *path)
{
	char command[PATH_MAX + 32];
	FILE *f = fopen(path, "r");
	bool pipe = !f;
	char *text;

	if (pipe) {
		snprintf(command, sizeof(command), "xz -dc '%s.xz'", path);
		f = popen(command, "r");
	}
	assert_non_null(f);
	text = read_all(f);
	if ((pipe ? pclose(f) : fclose(f)) || !*text)
		fail_msg("recording missing: neither %s nor %s.xz", path, path);
	return text;
}

char *capture_read(const char *dir, const char *file)
{
	char path[PATH_MAX];

	path_print(path, "%s/%s", dir, file);
	return read_path(path);
}

static const char *each_name;
static void (*each_fn)(const char *path, char *text);

static int each_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char *text;

	if (type != FTW_F || strcmp(path + ftw->base, each_name) || !st->st_size)
		return 0;
	text = read_path(path);
	each_fn(path, text);
	free(text);
	return 0;
}

void capture_each(const char *dir, const char *name, void (*fn)(const char *path, char *text))
{
	each_name = name;
	each_fn = fn;
	assert_int_equal(nftw(dir, each_one, 16, FTW_PHYS), 0);
}

char *capture_line(char **text)
{
	char *line = *text, *end;

	if (!*line)
		return NULL;
	end = line + strcspn(line, "\n");
	*text = *end ? end + 1 : end;
	*end = '\0';
	return line;
}
