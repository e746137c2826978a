/* SPDX-License-Identifier: MIT */
/*
 * walk.c - walks over the files of a folder or of an archive.
 */
#include "archive_impl.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MOST = 200000, DEPTH_MOST = 32, BLOCK = 64 * 1024 };

/*
 * Makes a name printable: no control characters, no step up. Returns false if nothing is left.
 */
static bool clean_path(const char *from, char *to, size_t size)
{
	size_t n = 0;

	for (; from && *from && n + 1 < size; from++) {
		unsigned char c = (unsigned char)*from;

		if (*from == '/' && (!n || to[n - 1] == '/'))
			continue;
		if (from[0] == '.' && (!n || to[n - 1] == '/') && (from[1] == '/' || !from[1]))
			continue;
		to[n++] = (char)(c < ' ' || c == 127 ? '?' : c);
	}
	to[n] = '\0';
	return n > 0 && !strstr(to, "../") && strcmp(to, "..") != 0;
}

/* Counts a file. Returns false if there are too many. */
static bool count_file(struct walk *w, const char *path)
{
	if (++w->files < FILES_MOST)
		return true;
	if (w->files == FILES_MOST)
		problem(w->problems, path, 0, "more than %d files: o2top skips the others",
			FILES_MOST - 1);
	return false;
}

/* ---- folders ------------------------------------------------------------------------------- */

static ssize_t read_fd(struct walk_file *f, void *buf, size_t size)
{
	ssize_t n;

	do
		n = read(f->fd, buf, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int walk_file_at(struct walk *w, int dir, const char *name, const char *path)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	struct walk_file f = {.path = path, .read = read_fd, .fd = fd};
	struct stat st;
	int err = 0;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && count_file(w, path))
		err = w->each(w->arg, &f);
	close(fd);
	return err;
}

static int is_visible(const struct dirent *e)
{
	return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

/* Orders names by their numbers. The time since boot comes first, because other files have ages. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	int first = (strcmp((*b)->d_name, "uptime") == 0) - (strcmp((*a)->d_name, "uptime") == 0);

	return first ? first : versionsort(a, b);
}

/* Walks a folder. `fd` belongs to it. `path` is the folder's own path, or "". */
static int walk_folder(struct walk *w, int fd, const char *path)
{
	struct dirent **list = NULL;
	int err = 0, n = scandirat(fd, ".", &list, is_visible, by_name);

	if (n < 0) {
		err = -errno;
		problem(w->problems, path, 0, "%s", strerror(-err));
		close(fd);
		return err == -ENOMEM ? err : 0;
	}
	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;
		char sub[PATH_MAX], clean[PATH_MAX];
		int len = snprintf(sub, sizeof(sub), "%s%s%s", path, *path ? "/" : "", name);
		int folder;

		if (!err && len > 0 && len < PATH_MAX && clean_path(sub, clean, sizeof(clean))) {
			folder = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
			if (folder < 0) {
				err = walk_file_at(w, fd, name, clean);
			} else if (w->depth >= DEPTH_MOST) {
				close(folder);
			} else {
				w->depth++;
				err = walk_folder(w, folder, clean);
				w->depth--;
			}
		}
		free(list[i]);
	}
	free(list);
	close(fd);
	return err;
}

/* ---- archives ------------------------------------------------------------------------------ */

static ssize_t read_entry(struct walk_file *f, void *buf, size_t size)
{
	la_ssize_t n = archive_read_data(f->of, buf, size);

	return n < 0 ? -EBADMSG : (ssize_t)n;
}

/* The name of a packed file without the ending that its packer added. */
static void raw_name(const char *path, char *name, size_t size)
{
	static const char *const endings[] = {".gz", ".bz2", ".xz", ".zst"};
	const char *slash = strrchr(path, '/');
	size_t len;

	snprintf(name, size, "%s", slash ? slash + 1 : path);
	len = strlen(name);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t n = strlen(endings[i]);

		if (len > n && strcmp(name + len - n, endings[i]) == 0)
			name[len - n] = '\0';
	}
}

static int walk_entries(struct walk *w, struct archive *a, const char *path)
{
	struct archive_entry *entry;
	char clean[PATH_MAX], name[NAME_MAX + 1];
	int err = 0, got;

	while (!err && (got = archive_read_next_header(a, &entry)) != ARCHIVE_EOF) {
		struct walk_file f = {.path = clean, .read = read_entry, .of = a};
		const char *given;

		if (got < ARCHIVE_WARN) {
			problem(w->problems, path, 0, "damaged: %s", archive_error_string(a));
			return w->files ? 0 : -EBADMSG;
		}
		given = archive_entry_pathname(entry);
		if (archive_format(a) == ARCHIVE_FORMAT_RAW) {
			raw_name(path, name, sizeof(name));
			given = name;
			f.alone = true;
		} else if (archive_entry_filetype(entry) != AE_IFREG) {
			continue;
		}
		if (!clean_path(given, clean, sizeof(clean)))
			continue;
		if (!count_file(w, path))
			break;
		err = w->each(w->arg, &f);
		if (err == -EBADMSG) {
			problem(w->problems, clean, 0, "damaged: %s", archive_error_string(a));
			err = 0;
		}
	}
	return err;
}

static int walk_archive(struct walk *w, int fd, const char *path)
{
	struct archive *a = archive_read_new();
	int err = -ENOMEM;

	if (a) {
		archive_read_support_filter_gzip(a);
		archive_read_support_filter_bzip2(a);
		archive_read_support_filter_xz(a);
		archive_read_support_filter_zstd(a);
		archive_read_support_format_tar(a);
		archive_read_support_format_cpio(a);
		archive_read_support_format_raw(a);
		archive_read_support_format_empty(a);
		err = 0;
		if (archive_read_open_fd(a, fd, BLOCK) != ARCHIVE_OK) {
			problem(w->problems, path, 0, "%s", archive_error_string(a));
			err = -EBADMSG;
		}
		err = err ? err : walk_entries(w, a, path);
		archive_read_free(a);
	}
	close(fd);
	return err;
}

int walk_path(struct walk *w, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return walk_folder(w, fd, "");
	if (S_ISREG(st.st_mode))
		return walk_archive(w, fd, path);
	close(fd);
	return -EINVAL;
}
