/* SPDX-License-Identifier: MIT */
/*
 * same_node.c - compares marks of two files, because no other node has the same ones.
 *
 * - locking_state: the counters of a lock on which a process has waited
 * - glocks: the journal that the node holds in EX; without one, a holder's process
 *
 * Two files of glstats may be of two nodes if a counter of a glock fell.
 */
#include "record.h"

#include "o2top/base/grow.h"
#include "o2top/base/hash.h"
#include "o2top/base/scan.h"

#include <stdlib.h>
#include <string.h>

enum { BEFORE_GETS = 74, BEFORE_TOTALS = 78 }; /* fields of locking_state */

struct mark {
	uint64_t hash, count; /* the count of a glock in glstats, else 0 */
};

struct marks {
	enum file_kind kind;
	size_t lines;
	struct mark *list;
	size_t n, room;
	bool journals; /* the marks are journals, and holders count no more */
	uint64_t glock;
};

static bool add_mark(struct marks *m, uint64_t hash, uint64_t count)
{
	if (!grow(&m->list, m->n, &m->room, sizeof(*m->list)))
		return false;
	m->list[m->n++] = (struct mark){hash, count};
	return true;
}

/* Returns the place behind the nth tab from p on, or NULL. */
static const char *behind_tabs(const char *p, const char *end, int n)
{
	while (p && n--) {
		p = memchr(p, '\t', (size_t)(end - p));
		p = p ? p + 1 : NULL;
	}
	return p;
}

static bool mark_locking_state(struct marks *m, const char *line, size_t len)
{
	const char *end = line + len, *name = behind_tabs(line, end, 1);
	const char *gets = behind_tabs(line, end, BEFORE_GETS), *totals, *behind;

	totals = behind_tabs(gets, end, BEFORE_TOTALS - BEFORE_GETS);
	behind = behind_tabs(totals, end, 2);
	if (!behind || (behind - totals == 4 && memcmp(totals, "0\t0\t", 4) == 0))
		return true;
	return add_mark(m,
			hash_more(hash_more(HASH_FIRST, name, strcspn(name, "\t")), gets,
				  (size_t)(behind - gets)),
			0);
}

static bool mark_glstats(struct marks *m, const char *line, size_t len)
{
	const char *name = memmem(line, len, "n:", 2), *count = memmem(line, len, "qcnt: ", 6);
	const char *end = line + len;
	struct scan scan =
	    scan_line(count ? count + 6 : end, count ? (size_t)(end - count - 6) : 0);
	uint64_t n;

	if (!name || !scan_u64(&scan, &n))
		return true;
	return add_mark(m, hash_more(HASH_FIRST, name, strcspn(name, " ")), n);
}

static bool mark_glocks(struct marks *m, const char *line, size_t len)
{
	const char *name = memmem(line, len, " n:", 3), *pid = memmem(line, len, " p:", 3);
	const char *end = line + len,
		   *until = name ? memchr(name + 1, ' ', (size_t)(end - name - 1)) : NULL;

	if (len > 3 && memcmp(line, "G:", 2) == 0 && until) {
		m->glock = hash_more(HASH_FIRST, name, (size_t)(until - name));
		if (!memmem(line, (size_t)(name - line), "s:EX", 4) ||
		    memcmp(name, " n:9/", 5) != 0)
			return true;
		m->n = m->journals ? m->n : 0;
		m->journals = true;
		return add_mark(m, m->glock, 0);
	}
	if (m->journals || len < 3 || memcmp(line, " H:", 3) != 0 || !pid)
		return true;
	return add_mark(m, hash_more(m->glock, pid, (size_t)(end - pid)), 0);
}

static bool mark_line(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct marks *m = arg;

	(void)number;
	(void)complete;
	m->lines++;
	if (m->kind == FILE_LOCKING_STATE)
		return mark_locking_state(m, line, len);
	return m->kind == FILE_GLSTATS ? mark_glstats(m, line, len) : mark_glocks(m, line, len);
}

static int by_mark(const void *x, const void *y)
{
	const struct mark *a = x, *b = y;

	return (a->hash > b->hash) - (a->hash < b->hash);
}

static bool read_marks(struct marks *m, const char *path)
{
	struct input in;
	bool read = !input_open_path(&in, path, path) && !input_lines(&in, mark_line, m);

	if (m->n)
		qsort(m->list, m->n, sizeof(*m->list), by_mark);
	return read;
}

bool may_be_two_nodes(const char *a, const char *b, enum file_kind kind)
{
	struct marks x = {.kind = kind}, y = {.kind = kind};
	bool read = read_marks(&x, a) && read_marks(&y, b) && x.lines && y.lines;
	size_t same = 0, fell = 0;

	for (size_t i = 0; x.n && i < y.n; i++) {
		const struct mark *before =
		    bsearch(&y.list[i], x.list, x.n, sizeof(*x.list), by_mark);

		same += before != NULL;
		fell += before && before->count > y.list[i].count;
	}
	free(x.list);
	free(y.list);
	return read && (kind == FILE_GLSTATS ? fell > 0 : !same);
}
