/* SPDX-License-Identifier: MIT */
/*
 * dlm_locks.c - the output of debugfs.ocfs2's dlm_locks, as o2dlm's locking_state.
 *
 *	Lockres: M000000000000000006672078b84822   Owner: 2    State: 0x0
 *	Last Used: 0      ASTs Reserved: 0    Inflight: 0    Migration Pending: No
 *	Refs: 5    Locks: 2    On Lists: None
 *	Reference Map: 1
 *	 Lock-Queue  Node  Level  Conv  Cookie           Refs  AST  BAST  Pending-Action
 *	 Granted     2     PR     -1    2:77             2     No   No    None
 */
#include "forms.h"
#include "o2top/base/scan.h"

#include <errno.h>
#include <string.h>

enum { STATE_RECOVERING = 0x2 };

static const char *const queues[] = {"Granted", "Converting", "Blocked"};

/* Returns a level that is written as a mode or as a number, -1 for none. */
static int level_of(const char *word, size_t n)
{
	struct scan s = scan_line(word, n);
	int32_t number;

	if (forms_mode(word, n) >= 0)
		return forms_mode(word, n);
	return scan_i32(&s, &number) && number >= -1 && number <= 5 ? number : -1;
}

static int dlm_locks_end(struct forms *f)
{
	const char *space = *f->uuid ? f->uuid : "-";
	struct buffer *out = f->file(f, FS_OCFS2, space, FILE_O2DLM);
	int err = forms_print(out, "NAME:%s\nLRES:1,%d,%d,0,0,0,%d,0,0,0,0\n", f->name, f->master,
			      (int)f->lock.flags, (f->lock.flags & STATE_RECOVERING) != 0);

	return err ? err : buffer_add(out, f->block.data, f->block.len);
}

static int begin_resource(struct forms *f, const char *line, size_t len)
{
	const char *owner = forms_after(line, len, "Owner: "),
		   *state = forms_after(line, len, "State: ");
	struct scan s = scan_line(line, len), number;
	const char *name;
	size_t n;
	int err;

	if (!scan_text(&s, "Lockres: ") || !owner || !state)
		return 0;
	err = f->in == forms_dlm_locks ? forms_end(f) : 0;
	n = scan_word(&s, &name);
	number = scan_line(owner, (size_t)(line + len - owner));
	if (err || !n || n > 64 || !scan_i32(&number, &f->master))
		return err;
	forms_copy(f->name, name, n);
	f->named = true;
	f->in = forms_dlm_locks;
	f->end = dlm_locks_end;
	f->block.len = 0;
	number = scan_line(state, (size_t)(line + len - state));
	if (!scan_0xhex(&number, &f->lock.flags))
		f->lock.flags = 0;
	f->lock.flags &= 0xffff;
	return 1;
}

/* Takes the next word and the blanks before it. */
static size_t next_word(struct scan *s, const char **word)
{
	scan_blanks(s);
	return scan_word(s, word);
}

int forms_dlm_locks(struct forms *f, const char *line, size_t len)
{
	struct scan s = scan_line(line, len), number;
	const char *word, *cookie;
	int queue = -1, level, convert, got = begin_resource(f, line, len);
	int32_t node;
	size_t n;

	if (got)
		return got;
	if (f->in != forms_dlm_locks)
		return 0;
	n = next_word(&s, &word);
	for (int i = 0; i < 3; i++)
		if (n == strlen(queues[i]) && memcmp(word, queues[i], n) == 0)
			queue = i;
	if (queue < 0)
		return !len || line[0] == ' ' ||
		       (len > 4 && (memcmp(line, "Last", 4) == 0 || memcmp(line, "Ref", 3) == 0));
	n = next_word(&s, &word);
	number = scan_line(word, n);
	if (!scan_i32(&number, &node))
		return 1;
	n = next_word(&s, &word);
	level = level_of(word, n);
	n = next_word(&s, &word);
	convert = level_of(word, n);
	n = next_word(&s, &cookie);
	return forms_print(&f->block, "LOCK:1,%d,%d,%d,%d,%.*s,0,0,0,0,0,0,0,0,0\n", queue, level,
			   convert, (int)node, n < 64 ? (int)n : 0, cookie)
		   ? -ENOMEM
		   : 1;
}
