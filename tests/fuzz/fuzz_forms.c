/* SPDX-License-Identifier: MIT */
/*
 * fuzz_forms.c - fuzzes the texts of other tools, whose lines become lines of the kernel's files.
 */
#include "fuzz.h"
#include "o2top/collect/forms/forms.h"
#include "o2top/sources/lines/dlm_line.h"
#include "o2top/sources/lines/ocfs2_line.h"

static struct buffer files[FILE_KINDS];

static struct buffer *file_of(struct forms *f, enum fs_kind fs, const char *space,
			      enum file_kind kind)
{
	(void)fs;
	CHECK(!strchr(space, '/') && !strchr(space, '\n') && strlen(f->host) < FORMS_NAME_MAX);
	return &files[kind];
}

static struct forms forms;

static void line_of(const char *line, size_t len, bool complete)
{
	(void)complete;
	CHECK(forms_line(&forms, line, len) == 0);
}

/* Each line that a form makes ends, and locking_state is never cut off. */
static void check_lines(const struct buffer *b, enum file_kind kind)
{
	static struct ocfs2_line line;
	const char *p = b->data, *end = b->len ? p + b->len : p, *nl;

	CHECK(!b->len || end[-1] == '\n');
	for (; p < end; p = nl + 1) {
		const char *wrong;

		nl = memchr(p, '\n', (size_t)(end - p));
		if (kind != FILE_LOCKING_STATE)
			continue;
		wrong = ocfs2_line_parse(&line, p, (size_t)(nl - p), true);
		CHECK(!wrong || !strstr(wrong, "cut off"));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct {
		enum fs_kind fs;
		enum file_kind from, to;
	} made[] = {{FS_GFS2, FILE_DLM_ALL, FILE_GLOCKS},
		    {FS_OCFS2, FILE_DLM_ALL, FILE_LOCKING_STATE},
		    {FS_OCFS2, FILE_O2DLM, FILE_LOCKING_STATE}};

	forms_init(&forms);
	forms.file = file_of;
	fuzz_lines(data, size, line_of);
	CHECK(forms_end(&forms) == 0);
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		const struct buffer *from = &files[made[i].from];
		struct buffer rows = {0};

		CHECK(dlm_only_rows(made[i].fs, made[i].from, from->data, from->len,
				    size % 2 ? -1 : 5000000, &rows) >= 0);
		check_lines(&rows, made[i].to);
		free(rows.data);
	}
	for (int kind = 0; kind < FILE_KINDS; kind++) {
		check_lines(&files[kind], (enum file_kind)kind);
		free(files[kind].data);
		files[kind] = (struct buffer){0};
	}
	forms_free(&forms);
	return 0;
}
