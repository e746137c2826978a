/* SPDX-License-Identifier: MIT */
/*
 * conditions.c - reads the small files that tell a node's condition, and adds the banners.
 */
#include "advice.h"

#include "o2top/base/scan.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 160 };

struct reading {
	struct model *m;
	struct space *space;
	const char *where; /* the name of the file system in messages */
	const char *node;
};

static const char *where_of(const struct space *space)
{
	return space->mount ? space->mount : space->name;
}

/*
 * Copies the text after `key` in the line, up to two blanks or the end of the line. Returns false
 * if the line does not hold the key.
 */
static bool value_of(const char *line, size_t len, const char *key, char out[TEXT_MAX])
{
	const char *at = memmem(line, len, key, strlen(key)), *end = line + len, *stop;

	if (!at)
		return false;
	at += strlen(key);
	stop = memmem(at, (size_t)(end - at), "  ", 2);
	stop = stop ? stop : end;
	snprintf(out, TEXT_MAX, "%.*s", (int)(stop - at < TEXT_MAX ? stop - at : TEXT_MAX - 1), at);
	for (size_t n = strlen(out); n && out[n - 1] == ' ';)
		out[--n] = '\0';
	return true;
}

/* "  Recovery => Pid: 712  Nodes: 2 " */
static bool conditions_take_fs_state(void *arg, const char *line, size_t len, size_t number,
				     bool complete)
{
	struct reading *r = arg;
	char text[TEXT_MAX];

	(void)number;
	(void)complete;
	if (memmem(line, len, "Recovery =>", 11)) {
		if (value_of(line, len, "Nodes: ", text) && strcmp(text, "None") != 0 && *text) {
			r->space->recovering = true;
			banner(&r->m->banners, "%s: %s recovers the journal of node %s", r->where,
			       r->node, text);
		}
	} else if (memmem(line, len, "Volume =>", 9) && value_of(line, len, "State: ", text)) {
		if (strcmp(text, "0") == 0)
			banner_coded(&r->m->banners, NULL, "%s: %s mounts or unmounts it", r->where,
				     r->node);
	}
	return true;
}

/* "Recovery Pid: 210  Master: 255  State: INACTIVE", "Dead Node: 255" */
static bool conditions_take_dlm_state(void *arg, const char *line, size_t len, size_t number,
				      bool complete)
{
	struct reading *r = arg;
	char text[TEXT_MAX];

	(void)number;
	(void)complete;
	if (len > 12 && memcmp(line, "Recovery Pid", 12) == 0 &&
	    value_of(line, len, "State: ", text) && strcmp(text, "INACTIVE") != 0) {
		r->space->recovering = true;
		banner(&r->m->banners, "%s: the DLM recovers on %s", r->where, r->node);
	} else if (len > 11 && memcmp(line, "Dead Node: ", 11) == 0 &&
		   value_of(line, len, "Dead Node: ", text) && strcmp(text, "255") != 0) {
		r->space->recovering = true;
		banner(&r->m->banners, "%s: the DLM lost node %s and recovers", r->where, text);
	}
	return true;
}

/* Takes a line of the files of GFS2 and the DLM in sysfs: a name and a value. */
static bool take_condition(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	static const struct {
		const char *name, *good, *words;
		bool recovers;
	} all[] = {
	    {"withdraw", "0", "withdrawn: only umount still works", false},
	    {"freeze", "0", "frozen (gfs2_freeze, fsfreeze)", false},
	    {"block", "0",
	     "locks are blocked while a node joins or leaves, or is recovered or fenced", true},
	};
	struct reading *r = arg;
	char text[TEXT_MAX], *value;
	unsigned bits;

	(void)number;
	(void)complete;
	snprintf(text, sizeof(text), "%.*s", len < TEXT_MAX ? (int)len : TEXT_MAX - 1, line);
	value = strchr(text, ' ');
	if (!value)
		return true;
	*value++ = '\0';
	if (strncmp(value, "0x", 2) == 0)
		value += 2;
	/* bits of recovery; without DLM_RS_DONE the lock space stands still */
	if (strcmp(text, "recover_status") == 0 && sscanf(value, "%x", &bits) == 1 &&
	    !(bits & 0x40)) {
		r->space->recovering = true;
		banner(
		    &r->m->banners,
		    "%s on %s: the DLM recovers after a node joined or left, or waits until one is "
		    "fenced",
		    r->where, r->node);
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(text, all[i].name) == 0 && *value && strcmp(value, all[i].good) != 0) {
			r->space->recovering |= all[i].recovers;
			banner(&r->m->banners, "%s on %s: %s", r->where, r->node, all[i].words);
		}
	return true;
}

/* Takes the seconds after which the kernel stops listing an idle lock. */
static bool take_filter(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct scan s = scan_line(line, len);
	struct reading *r = arg;
	uint64_t seconds;

	(void)number;
	(void)complete;
	if (scan_u64(&s, &seconds) && seconds)
		banner(&r->m->banners,
		       "%s on %s: another program set locking_filter to %llu s, which hides idle "
		       "locks",
		       r->where, r->node, (unsigned long long)seconds);
	return false;
}

static struct space *space_of(struct model *m, const struct space_sample *from)
{
	for (size_t i = 0; i < m->n_spaces; i++)
		if (m->spaces[i].fs == from->fs && strcmp(m->spaces[i].name, from->name) == 0)
			return &m->spaces[i];
	return NULL;
}

void conditions_read(struct model *m, struct collector *c, const struct sample *sample)
{
	static const struct {
		enum file_kind kind;
		input_line_fn *each;
	} files[] = {{FILE_FS_STATE, conditions_take_fs_state},
		     {FILE_O2DLM_STATE, conditions_take_dlm_state},
		     {FILE_CONDITION, take_condition},
		     {FILE_FILTER, take_filter}};

	for (size_t i = 0; i < m->n_spaces; i++)
		m->spaces[i].recovering = false;
	for (size_t i = 0; i < sample->n_nodes; i++) {
		const struct node_sample *node = &sample->nodes[i];

		for (size_t j = 0; node->present && j < node->n_spaces; j++) {
			struct reading r = {
			    .m = m, .space = space_of(m, &node->spaces[j]), .node = node->name};

			if (!r.space)
				continue;
			r.where = where_of(r.space);
			for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++)
				collect_lines(c, node, &node->spaces[j], files[k].kind,
					      files[k].each, &r);
		}
	}
	if (m->interval_s > 0)
		banner(&m->banners,
		       "reading takes over a tenth of the interval: the interval is now %.1f s",
		       m->interval_s);
}
