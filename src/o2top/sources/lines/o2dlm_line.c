/* SPDX-License-Identifier: MIT */
/*
 * o2dlm_line.c - parses the lines of o2cb's DLM.
 */
#include "dlm_line.h"

#include "o2top/base/scan.h"
#include "ocfs2_line.h"

#include <string.h>

static const char *parse_name(struct o2dlm_line *out, const char *name, size_t len)
{
	struct ocfs2_name n;

	/* Locks of the DLM itself belong to no file. */
	if (!ocfs2_name_parse(&n, name, len)) {
		out->what = O2DLM_OTHER;
		return NULL;
	}
	out->id = (struct lock_id){n.number, n.type == 'N' ? n.low : 0, (uint8_t)n.type};
	return NULL;
}

const char *o2dlm_parse(struct o2dlm_line *out, const char *line, size_t len)
{
	struct scan s = scan_line(line, len);
	int32_t v[7];

	*out = (struct o2dlm_line){.what = O2DLM_OTHER};
	if (scan_text(&s, "NAME:")) {
		out->what = O2DLM_NAME;
		return parse_name(out, s.p, (size_t)(s.end - s.p));
	}
	if (scan_text(&s, "LRES:")) {
		/*
		 * The numbers are version, owner, state, last used, on the purge list, dirty,
		 * recovering.
		 */
		if (!scan_numbers(&s, v, 7))
			return "LRES: numbers are missing";
		out->what = O2DLM_RESOURCE;
		out->owner = v[1];
		out->recovering = v[6] != 0;
		return NULL;
	}
	if (scan_text(&s, "LOCK:")) {
		/* The numbers are version, queue, mode, mode of the conversion, node. */
		if (!scan_numbers(&s, v, 5))
			return "LOCK: numbers are missing";
		if (v[1] < O2DLM_GRANTED || v[1] > O2DLM_BLOCKED)
			return "LOCK: no such queue";
		out->what = O2DLM_LOCK;
		out->queue = (enum o2dlm_queue)v[1];
		out->type = v[2];
		out->convert = v[3];
		out->node = v[4];
	}
	return NULL;
}
