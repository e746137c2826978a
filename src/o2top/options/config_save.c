/* SPDX-License-Identifier: MIT */
/*
 * config_save.c - writes the settings of the screen to the configuration file.
 *
 * The new text goes to a file beside the old one, and rename(2) replaces the old one.
 */
#include "config.h"

#include "o2top/base/own_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct saving {
	const struct tui_setting *list;
	size_t n;
	bool *written;
	FILE *out;
};

/* Returns the index of the setting that a line sets, or n. A remark sets nothing. */
static size_t setting_of(const struct saving *s, const char *line)
{
	const char *name = line + strspn(line, " \t\r");
	size_t len = strcspn(name, " \t\r\n="), i = 0;

	if (!strchr(line, '='))
		return s->n;
	while (i < s->n &&
	       (strlen(s->list[i].name) != len || memcmp(s->list[i].name, name, len) != 0))
		i++;
	return i;
}

static void save_setting(struct saving *s, size_t i)
{
	if (!s->written[i])
		fprintf(s->out, "%s = %s\n", s->list[i].name, s->list[i].value);
	s->written[i] = true;
}

/* Copies the old file with the new values. Later lines of the same setting are left out. */
static int save_text(struct saving *s, FILE *old)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len = 0;

	while (old && (len = getline(&line, &room, old)) >= 0) {
		size_t i = setting_of(s, line);

		if (i < s->n) {
			save_setting(s, i);
			continue;
		}
		fwrite(line, 1, (size_t)len, s->out);
		if (line[len - 1] != '\n')
			fputc('\n', s->out);
	}
	free(line);
	if (old && ferror(old))
		return -EIO;
	for (size_t i = 0; i < s->n; i++)
		save_setting(s, i);
	return fflush(s->out) || ferror(s->out) || fsync(fileno(s->out)) ? -EIO : 0;
}

/* Gives the new file the rights of the old one. Without an old file the new one is for all. */
static int save_rights(int fd, FILE *old)
{
	struct stat st = {.st_mode = 0644};

	if (old && fstat(fileno(old), &st) < 0)
		return -errno;
	if (old && st.st_gid != getegid() && fchown(fd, (uid_t)-1, st.st_gid) < 0)
		return -errno;
	return fchmod(fd, st.st_mode & 0777) < 0 ? -errno : 0;
}

int config_save(const char *path, const struct tui_setting *list, size_t n)
{
	struct saving s = {.list = list, .n = n, .written = calloc(n + 1, sizeof(*s.written))};
	struct own_new new;
	FILE *old = NULL;
	/* a link stays a link, because the file behind it is replaced */
	int err = own_begin(&new, path, GLOCK__WAY_TO_TARGET | GLOCK__WAY_MAKE_FOLDERS);

	if (!err && !s.written)
		err = -ENOMEM;
	if (!err && new.old >= 0 && !(old = fdopen(new.old, "r")))
		err = -errno;
	if (old)
		new.old = -1;
	err = err ? err : save_rights(new.fd, old);
	if (!err && !(s.out = fdopen(new.fd, "w")))
		err = -errno;
	if (s.out)
		new.fd = -1;
	err = err ? err : save_text(&s, old);
	if (s.out && fclose(s.out) && !err)
		err = -EIO;
	if (old)
		fclose(old);
	free(s.written);
	return own_replace(&new, err);
}
