/* SPDX-License-Identifier: MIT */
/*
 * native.c - lines of the kernel's own files inside a larger text: dlm_all, dlm_tool plocks,
 * locking_state of OCFS2 and of o2dlm.
 */
#include "forms.h"
#include "o2top/base/scan.h"

#include <errno.h>
#include <string.h>

static int put(struct forms *f, enum fs_kind fs, const char *space, enum file_kind kind,
	       const char *line, size_t len)
{
	return forms_print(f->file(f, fs, *space ? space : "-", kind), "%.*s\n", (int)len, line)
		   ? -ENOMEM
		   : 1;
}

static bool begins(const char *line, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len > n && memcmp(line, with, n) == 0;
}

int forms_native(struct forms *f, const char *line, size_t len)
{
	struct scan s = scan_line(line, len);
	uint64_t version;

	if (len > 4096)
		return 0;
	if (scan_0xhex(&s, &version) && scan_char(&s, '\t') && version && version < 16)
		return put(f, FS_OCFS2, f->uuid, FILE_LOCKING_STATE, line, len);
	if (begins(line, len, "rsb ") || (f->in == forms_native && begins(line, len, "lkb ")))
		return put(f, FS_GFS2, f->dlm, FILE_DLM_ALL, line, len);
	if (begins(line, len, "NAME:") ||
	    (f->in == forms_native && (begins(line, len, "LRES:") || begins(line, len, "LOCK:"))))
		return put(f, FS_OCFS2, f->uuid, FILE_O2DLM, line, len);
	/* dlm_tool plocks: "9288 WR 0-99 nodeid 1 pid 77 owner ffff8c0a rown 0" */
	s = scan_line(line, len);
	if (scan_u64(&s, &version) && (scan_text(&s, " WR ") || scan_text(&s, " RD ")) &&
	    forms_after(line, len, " nodeid ") && forms_after(line, len, " owner "))
		return put(f, FS_GFS2, f->dlm, FILE_DLM_PLOCKS, line, len);
	/* other lines of these files */
	return f->in == forms_native && (!len || begins(line, len, "lvb ") ||
					 begins(line, len, "RMAP:") || begins(line, len, "LVBX:"));
}
