/* SPDX-License-Identifier: MIT */
/*
 * fs_locks.c - the output of debugfs.ocfs2's fs_locks, as lines of locking_state.
 *
 *	Lockres: M000000000000000006672078b84822  Mode: Protected Read
 *	Flags: Initialized Attached Blocked Queued
 *	RO Holders: 1  EX Holders: 0
 *	Pending Action: None  Pending Unlock Action: None
 *	Requested Mode: Protected Read  Blocking Mode: Exclusive
 *	PR > Gets: 81203  Fails: 0    Waits Total: 9104us  Max: 12us  Avg: 112ns
 *	EX > Gets: 31  Fails: 0    Waits Total: 77us  Max: 3us  Avg: 2483ns
 *	Disk Refreshes: 0
 */
#include "forms.h"
#include "o2top/base/scan.h"

#include <inttypes.h>
#include <string.h>

struct word {
	const char *text;
	uint64_t value;
};

/* As ocfs2-tools' debugfs.ocfs2/dump_fs_locks.c prints them. */
static const struct word levels[] = {{"No Lock", 0},          {"Concurrent Read", 1},
				     {"Concurrent Write", 2}, {"Protected Read", 3},
				     {"Protected Write", 4},  {"Exclusive", 5}};
static const struct word flags[] = {
    {"Initialized", 0x40}, {"Attached", 0x1}, {"Busy", 0x2},
    {"Blocked", 0x4},      {"Local", 0x8},    {"Needs Refresh", 0x10},
    {"Refreshing", 0x20},  {"Freeing", 0x80}, {"Queued", 0x100}};
static const struct word actions[] = {
    {"None", 0}, {"Attach", 1}, {"Convert", 2}, {"Downconvert", 3}};
static const struct word unlock_actions[] = {{"None", 0}, {"Cancel Convert", 1}, {"Drop Lock", 2}};

/* Returns the value of the word at p, or `other`. */
static uint64_t value_at(const struct word *list, size_t n, const char *p, const char *end,
			 uint64_t other)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(list[i].text);

		if ((size_t)(end - p) >= len && memcmp(p, list[i].text, len) == 0)
			return list[i].value;
	}
	return other;
}

#define VALUE(list, p, end, other) value_at(list, sizeof(list) / sizeof((list)[0]), p, end, other)

/* Returns the number behind `key`, in the unit that follows it, or 0. */
static uint64_t number_after(const char *line, size_t len, const char *key)
{
	const char *at = forms_after(line, len, key);
	uint64_t n = 0;
	struct scan s = scan_line(at ? at : line, at ? (size_t)(line + len - at) : 0);

	scan_blanks(&s);
	return scan_u64(&s, &n) ? n : 0;
}

/* Returns a time behind `key` in nanoseconds: "9104us", "112ns", "3ms", "2s". */
static uint64_t time_after(const char *line, size_t len, const char *key)
{
	static const struct word units[] = {
	    {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	const char *at = forms_after(line, len, key), *end = line + len;
	uint64_t n = number_after(line, len, key), unit;

	while (at && at < end && (*at == ' ' || (*at >= '0' && *at <= '9')))
		at++;
	unit = at ? VALUE(units, at, end, 1) : 1;
	return n < UINT64_MAX / 2000000000 ? n * unit : 0;
}

static uint64_t flags_of(const char *p, const char *end)
{
	uint64_t all = 0;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (memmem(p, (size_t)(end - p), flags[i].text, strlen(flags[i].text)))
			all |= flags[i].value;
	return all;
}

int forms_print_lock(struct buffer *b, const char *name, const struct forms_lock *l)
{
	int err = forms_print(
	    b, "0x3\t%s\t%d\t0x%" PRIx64 "\t0x%" PRIx64 "\t0x%" PRIx64 "\t%d\t%d\t%d\t%d\t", name,
	    l->level, l->flags, l->action, l->unlock_action, l->holders[0], l->holders[1],
	    l->requested, l->blocking);

	for (int i = 0; i < 64 && !err; i++)
		err = forms_print(b, "0x0\t");
	return err ? err
		   : forms_print(b,
				 "%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
				 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t\n",
				 l->gets[0], l->gets[1], l->fails[0], l->fails[1], l->total_ns[0],
				 l->total_ns[1], l->max_us[0], l->max_us[1], l->refreshes);
}

static int fs_locks_end(struct forms *f)
{
	const char *space = *f->uuid ? f->uuid : "-";

	return forms_print_lock(f->file(f, FS_OCFS2, space, FILE_LOCKING_STATE), f->name, &f->lock);
}

/* Takes the first line of a lock. */
static int begin_lock(struct forms *f, const char *line, size_t len)
{
	const char *end = line + len, *mode = forms_after(line, len, "Mode: "), *name;
	struct scan s = scan_line(line, len);
	size_t n;
	int err;

	if (!scan_text(&s, "Lockres: ") || !mode)
		return 0;
	err = f->in == forms_fs_locks ? forms_end(f) : 0;
	n = scan_word(&s, &name);
	if (err || n < 4 || n >= 32)
		return err;
	forms_copy(f->name, name, n);
	f->named = true;
	f->in = forms_fs_locks;
	f->end = fs_locks_end;
	memset(&f->lock, 0, sizeof(f->lock));
	f->lock.level = (int32_t)VALUE(levels, mode, end, (uint64_t)-1);
	f->lock.requested = f->lock.blocking = -1;
	return 1;
}

/* Takes the counters of PR or EX. */
static void take_counts(struct forms *f, int mode, const char *line, size_t len)
{
	f->lock.gets[mode] = number_after(line, len, "Gets:") & UINT32_MAX;
	f->lock.fails[mode] = number_after(line, len, "Fails:") & UINT32_MAX;
	f->lock.total_ns[mode] = time_after(line, len, "Waits Total:");
	f->lock.max_us[mode] = time_after(line, len, "Max:") / 1000 & UINT32_MAX;
}

int forms_fs_locks(struct forms *f, const char *line, size_t len)
{
	const char *end = line + len, *at;
	int got = begin_lock(f, line, len);

	if (got)
		return got;
	if (f->in != forms_fs_locks)
		return 0;
	if (!len)
		return 1;
	if (len > 6 && memcmp(line, "Flags:", 6) == 0) {
		f->lock.flags = flags_of(line + 6, end);
	} else if ((at = forms_after(line, len, "RO Holders: "))) {
		f->lock.holders[0] = (int32_t)(number_after(line, len, "RO Holders:") & INT32_MAX);
		f->lock.holders[1] = (int32_t)(number_after(line, len, "EX Holders:") & INT32_MAX);
	} else if ((at = forms_after(line, len, "Pending Action: "))) {
		f->lock.action = VALUE(actions, at, end, 0);
		at = forms_after(line, len, "Unlock Action: ");
		f->lock.unlock_action = at ? VALUE(unlock_actions, at, end, 0) : 0;
	} else if ((at = forms_after(line, len, "Requested Mode: "))) {
		f->lock.requested = (int32_t)VALUE(levels, at, end, (uint64_t)-1);
		at = forms_after(line, len, "Blocking Mode: ");
		f->lock.blocking = at ? (int32_t)VALUE(levels, at, end, (uint64_t)-1) : -1;
	} else if (len > 4 && memcmp(line, "PR > ", 5) == 0) {
		take_counts(f, 0, line, len);
	} else if (len > 4 && memcmp(line, "EX > ", 5) == 0) {
		take_counts(f, 1, line, len);
	} else if (forms_after(line, len, "Disk Refreshes:")) {
		f->lock.refreshes = number_after(line, len, "Disk Refreshes:") & UINT32_MAX;
	} else if (line[0] != ' ' && line[0] != '\t' && !forms_after(line, len, "LVB")) {
		return 0;
	}
	return 1;
}
