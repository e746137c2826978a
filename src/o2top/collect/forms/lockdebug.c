/* SPDX-License-Identifier: MIT */
/*
 * lockdebug.c - the output of dlm_tool lockdebug, and dlm/LOCKSPACE of debugfs, as dlm_all.
 *
 *	Resource len 24  "       6            1b3c"
 *	Master           flags 000000c8 first_lkid 0 root 0 recover 0 locks 0
 *	Granted
 *	0000003d EX                            time 0000116497418072 flags 00000000 00000000 bast 5
 *... Waiting 00000043 -- (EX) Remote:   2 00000021  time 0000123854152540 flags 00000000 00010000
 *... pid 100
 *
 * Older programs print "2a0007 gr IV rq EX pid 6414 master 2 1b0004". debugfs prints "Resource
 * 00000000f36e546c Name (len=24) ...", "Local Copy, Master is node 1" and "Granted Queue".
 */
#include "forms.h"
#include "o2top/base/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { GRANTED = 2, CONVERTING = 3, WAITING = 1, NOT_QUEUED = 0, MASTER_COPY = 0x10000 };

static const struct {
	const char *text;
	int queue;
} queues[] = {
    {"Granted", GRANTED}, {"Conver", CONVERTING}, {"Waiting", WAITING}, {"Lookup", NOT_QUEUED}};

/* Returns a mode, -1 for IV, or -2 for another word. */
static int mode_of(const char *word, size_t n)
{
	if (n >= 2 && word[0] == '(') {
		word++;
		n -= word[n - 2] == ')' ? 2 : 1;
	}
	if (forms_mode(word, n) >= 0)
		return forms_mode(word, n);
	return n == 2 && (memcmp(word, "IV", 2) == 0 || memcmp(word, "--", 2) == 0 ||
			  memcmp(word, "XX", 2) == 0)
		   ? -1
		   : -2;
}

static int lockdebug_end(struct forms *f)
{
	/* locks of the kernel's own DLM belong to the space of the text, or of its name */
	struct buffer *out = f->file(f, FS_GFS2, *f->dlm ? f->dlm : "-", FILE_DLM_ALL);
	int err = forms_print(out, "rsb 0 %d 0 0 0 0 0 %s\n", f->master, f->name);

	return err ? err : buffer_add(out, f->block.data, f->block.len);
}

/* Takes the first line of a resource. Keeps its name as "LENGTH str NAME". */
static int begin_resource(struct forms *f, const char *line, size_t len)
{
	const char *quote, *last;
	size_t n;
	int err;

	if (len < 12 || memcmp(line, "Resource ", 9) != 0)
		return 0;
	quote = memchr(line, '"', len);
	last = memrchr(line, '"', len);
	err = f->in == forms_lockdebug ? forms_end(f) : 0;
	if (err || !quote || last == quote)
		return err ? err : forms_after(line, len, "len") != NULL;
	n = (size_t)(last - quote - 1);
	f->named = n > 0 && n <= 64 && !memchr(quote + 1, '\0', n);
	f->in = forms_lockdebug;
	f->end = lockdebug_end;
	f->block.len = 0;
	f->master = 0;
	f->queue = NOT_QUEUED;
	if (f->named)
		snprintf(f->name, sizeof(f->name), "%zu str %.*s", n, (int)n, quote + 1);
	return 1;
}

/* Takes "Master", "Master:1", "Master Copy" or "Local Copy, Master is node 1". */
static bool take_master(struct forms *f, const char *line, size_t len)
{
	const char *node = forms_after(line, len, "Master is node ");
	struct scan s;

	if (!node && len > 7 && memcmp(line, "Master:", 7) == 0)
		node = line + 7;
	if (node) {
		s = scan_line(node, (size_t)(line + len - node));
		return scan_i32(&s, &f->master);
	}
	return len >= 6 && memcmp(line, "Master", 6) == 0;
}

static bool is_queue(struct forms *f, const char *line, size_t len)
{
	for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
		size_t n = strlen(queues[i].text);

		if (len >= n && memcmp(line, queues[i].text, n) == 0) {
			f->queue = queues[i].queue;
			return true;
		}
	}
	return false;
}

struct lock_words {
	uint64_t id, remid;
	int granted, requested;
	int32_t node;
	uint64_t pid, since_ns, exflags, flags;
	bool remote;
};

/* Takes a number behind blanks. */
static bool scan_next(struct scan *s, bool hex, uint64_t *out)
{
	scan_blanks(s);
	return hex ? scan_hex(s, out) : scan_u64(s, out);
}

/* Reads the words of a lock, in any order. Returns false if the line is none. */
static bool read_lock(struct lock_words *l, const char *line, size_t len)
{
	struct scan s = scan_line(line, len);
	const char *word;
	bool asked = false, seen = false;
	size_t n;

	*l = (struct lock_words){.granted = -1, .requested = -1};
	if (!scan_hex(&s, &l->id) || !scan_char(&s, ' '))
		return false;
	while (scan_left(&s)) {
		int mode;

		scan_blanks(&s);
		n = scan_word(&s, &word);
		mode = n ? mode_of(word, n) : -2;
		if (n == 2 && memcmp(word, "rq", 2) == 0) {
			asked = true;
		} else if (n == 3 && memcmp(word, "pid", 3) == 0) {
			scan_next(&s, false, &l->pid);
		} else if (n == 4 && memcmp(word, "time", 4) == 0) {
			scan_next(&s, false, &l->since_ns);
		} else if (n == 5 && memcmp(word, "flags", 5) == 0) {
			scan_next(&s, true, &l->exflags);
			scan_next(&s, true, &l->flags);
		} else if (n >= 6 &&
			   (memcmp(word, "master", 6) == 0 || memcmp(word, "Master", 6) == 0 ||
			    memcmp(word, "Remote", 6) == 0)) {
			l->remote = *word == 'R';
			scan_blanks(&s);
			if (!scan_i32(&s, &l->node))
				return false;
			scan_blanks(&s);
			scan_hex(&s, &l->remid);
		} else if (mode > -2) {
			if (asked || *word == '(')
				l->requested = mode;
			else
				l->granted = mode;
			asked = false;
			seen = true;
		}
		if (!n)
			break;
	}
	return seen;
}

int forms_lockdebug(struct forms *f, const char *line, size_t len)
{
	int got = begin_resource(f, line, len);
	struct lock_words l;
	bool copy;

	if (got)
		return got;
	if (f->in != forms_lockdebug)
		return 0;
	if (!len || line[0] == ' ' || take_master(f, line, len) || is_queue(f, line, len) ||
	    (len > 3 && memcmp(line, "LVB", 3) == 0))
		return 1;
	if (!read_lock(&l, line, len))
		return len > 2 && line[2] == ' '; /* bytes of a value block */
	if (f->queue == NOT_QUEUED || !f->named)
		return 1;
	if (f->queue == WAITING && l.requested < 0) {
		l.requested = l.granted;
		l.granted = -1;
	}
	/* if this node is the master, a lock with another node's number is that node's */
	copy = l.remote || (f->master == 0 && l.node > 0);
	return forms_print(&f->block,
			   "lkb %" PRIx64 " %d %" PRIx64 " %u 0 %" PRIx64
			   " %x %d %d %d 0 0 0 0 %" PRIu64 " 0\n",
			   l.id, (int)l.node, l.remid, (unsigned)l.pid, l.exflags,
			   copy ? MASTER_COPY : 0, f->queue, l.granted, l.requested, l.since_ns)
		   ? -ENOMEM
		   : 1;
}
