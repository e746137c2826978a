/* SPDX-License-Identifier: MIT */
/*
 * forms.c - finds the form of each line of a text.
 */
#include "forms.h"

#include <stdlib.h>
#include <string.h>

/* In the order in which a line is offered to them. */
static forms_take *const all_forms[] = {forms_log,       forms_fs_locks,  forms_dlm_locks,
					forms_lockdebug, forms_lock_list, forms_native,
					forms_trace};

void forms_init(struct forms *f)
{
	*f = (struct forms){.mono_us = -1, .real_us = -1, .up_us = -1};
}

void forms_free(struct forms *f)
{
	free(f->block.data);
	f->block = (struct buffer){0};
}

/* Copies the word behind `key` if the line has it. */
static void note(char to[FORMS_NAME_MAX], const char *line, size_t len, const char *key,
		 const char *until)
{
	const char *from = forms_after(line, len, key), *end = line + len;
	size_t n = 0;

	while (from && from + n < end && !strchr(until, from[n]))
		n++;
	if (n)
		forms_copy(to, from, n);
}

/*
 * Remembers the names in a line that begins a part of a larger text, such as
 * "# /sys/kernel/debug/ocfs2/UUID/locking_state" or "# dlm_tool lockdebug fs1".
 */
static void note_heading(struct forms *f, const char *line, size_t len)
{
	if (!len || len > 300 ||
	    (line[0] != '#' && line[0] != '=' && !memmem(line, len, "UUID", 4) &&
	     !memmem(line, len, "Uuid", 4)))
		return;
	note(f->uuid, line, len, "/ocfs2/", "/ \t\"'");
	note(f->uuid, line, len, "UUID: ", " \t\"'");
	note(f->uuid, line, len, "Uuid: ", " \t\"'");
	note(f->table, line, len, "/gfs2/", "/ \t\"'");
	note(f->dlm, line, len, "dlm_tool lockdump ", " \t\"'");
	note(f->dlm, line, len, "Lockspace ", " \t\"'");
	if (forms_after(line, len, "dlm_tool lockdebug")) {
		/* options come first */
		const char *last = memrchr(line, ' ', len);

		if (last && last + 1 < line + len && last[1] != '-' && last[1] != '\'')
			forms_copy(f->dlm, last + 1, (size_t)(line + len - last - 1));
		else if (last && last + 2 < line + len)
			note(f->dlm, last, (size_t)(line + len - last), " '", "'");
	}
}

int forms_line(struct forms *f, const char *line, size_t len)
{
	int got, err;

	while (len && (line[len - 1] == '\r' || line[len - 1] == '\n'))
		len--;
	if (f->in) {
		got = f->in(f, line, len);
		if (got) {
			f->taken += got > 0;
			return got < 0 ? got : 0;
		}
		err = forms_end(f);
		if (err)
			return err;
	}
	note_heading(f, line, len);
	for (size_t i = 0; i < sizeof(all_forms) / sizeof(all_forms[0]); i++) {
		got = all_forms[i](f, line, len);
		if (got < 0)
			return got;
		if (got) {
			f->in = all_forms[i];
			f->taken++;
			return 0;
		}
	}
	return 0;
}
