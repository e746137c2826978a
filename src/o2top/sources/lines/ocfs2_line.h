/* SPDX-License-Identifier: MIT */
/*
 * ocfs2_line.h - a line of OCFS2's locking_state, and the names of OCFS2's locks.
 *
 * The format is the kernel's (fs/ocfs2/dlmglue.c, ocfs2_dlm_seq_show). Each field ends in a TAB:
 *
 *   1 version   2 name   3 level   4 flags   5 action   6 unlock action   7 PR holders
 *   8 EX holders   9 requested   10 blocking   11-74 the LVB, a byte a field
 *   75 PR gets   76 EX gets   77 PR failed   78 EX failed   79 PR total ns   80 EX total ns
 *   81 PR max   82 EX max   83 refreshes   (version 2 and later)
 *   84 PR last us   85 EX last us   86 first waiter since us, 0 if none   (version 4 and later)
 *
 * Maxima are microseconds from version 3 on, and nanoseconds in version 2. A version later than 4
 * is read as version 4. The fields that a later version adds are kept as text.
 */
#ifndef O2TOP_OCFS2_LINE_H
#define O2TOP_OCFS2_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OCFS2_PR, OCFS2_EX, OCFS2_MODES };

enum ocfs2_flag {
	OCFS2_BUSY = 0x2,     /* a request is with the DLM */
	OCFS2_BLOCKED = 0x4,  /* another node wants the lock */
	OCFS2_MADE = 0x8000,  /* of o2top: from the DLM's locks, so its holders are not known */
	OCFS2_FREEING = 0x80, /* the kernel removes the lock from memory */
};

enum ocfs2_action { OCFS2_ACT_NONE, OCFS2_ACT_ATTACH, OCFS2_ACT_CONVERT, OCFS2_ACT_DOWNCONVERT };

/* DLM levels as printed; -1 is a lock that was never requested. */
enum ocfs2_level { OCFS2_LEVEL_NL = 0, OCFS2_LEVEL_PR = 3, OCFS2_LEVEL_EX = 5 };

#define OCFS2_NAME_MAX 32
#define OCFS2_LVB_LEN 64

/*
 * The parts of a lock's name. Inode numbers are block numbers (st_ino).
 *
 * N (dentry): `number` is the parent directory. `low` is the low 32 bits of the child, because the
 * kernel prints no more of it.
 *
 * Others: `number` is the block and `low` the generation. M and O carry generation 0. M of system
 * inodes and of the root directory carries the file system's own generation instead.
 */
struct ocfs2_name {
	char type; /* M W O D N F S R Q Y P T I, or a letter of a later kernel */
	uint64_t number;
	uint32_t low;
};

struct ocfs2_line {
	uint32_t version;
	char name[OCFS2_NAME_MAX];
	struct ocfs2_name id;
	int32_t level;
	uint64_t flags;
	uint64_t action, unlock_action;
	uint32_t holders[OCFS2_MODES];
	int32_t requested, blocking;
	uint8_t lvb[OCFS2_LVB_LEN];
	bool lvb_unsigned; /* bytes from 0x80 on were printed plainly, not sign-extended */
	uint32_t gets[OCFS2_MODES], fails[OCFS2_MODES];
	uint64_t total_ns[OCFS2_MODES];
	uint32_t max[OCFS2_MODES]; /* as printed: us, or ns in version 2 */
	uint32_t refreshes;
	uint64_t last_us[OCFS2_MODES]; /* wall clock, us; 0 never */
	uint64_t wait_us;              /* wall clock, us; 0 no waiter */
	const char *tail;              /* the fields of a later version, inside the parsed line */
	size_t tail_len;
};

/* The facts about the inode in the LVB of an M lock (struct ocfs2_meta_lvb, big-endian). */
struct ocfs2_lvb {
	uint16_t mode, links;
	uint32_t generation;
	uint64_t size;
};

/*
 * Parses a line without its newline. Returns NULL, or the reason why the line is wrong.
 *
 * `complete` says whether a newline followed. Without a newline, a line that does not end in a TAB
 * is refused, because it may have lost digits.
 */
const char *ocfs2_line_parse(struct ocfs2_line *out, const char *line, size_t len, bool complete);

bool ocfs2_name_parse(struct ocfs2_name *out, const char *name, size_t len);

/* Returns false if the LVB holds nothing: it was never filled, or its inode was deleted. */
bool ocfs2_lvb_decode(struct ocfs2_lvb *out, const uint8_t lvb[OCFS2_LVB_LEN]);

#endif
