/* SPDX-License-Identifier: MIT */
/*
 * table_impl.h - the layout of a table's memory, and the addresses in it.
 *
 *	struct glock__table	numbers, the step that is under way, the undo log
 *	struct node[]		heads of a node's locks and of its callbacks
 *	uint32_t[]		hash buckets: first resource of the chain
 *	union cell[]		resources, locks, value blocks, long names, free cells
 *
 * All cells have 64 bytes, a cache line, so that each free cell has the right size. A resource with
 * a name of up to 16 bytes and one lock on it take 128 bytes. More cells are needed for
 *	a longer name		one cell
 *	a value block		one cell for the resource, from the first request with VALBLK until
 *				the resource goes
 *	a waiting request	with VALBLK: one cell for the copy that it will read, until its AST
 *				is fetched
 * The cell for the copy is taken when the request is queued. Therefore neither granting nor
 * unlocking ever needs memory.
 *
 * Cells are named by number (a ref). 0 is none. A lock's id is its ref and a number given once.
 *
 * A resource is there as long as it has locks. With GLOCK__TABLE_KEEP_DIED it also stays after the
 * death of a holder. It stays until a lock was told that could repair what the holder left.
 *
 * glock__table_forget() frees such resources when memory is full, and marks their bucket. The mark
 * stands for the death of each resource that the bucket does not have. Therefore:
 *   - A resource that is made in a marked bucket has RES_DIED from the beginning.
 *   - A resource with RES_DIED goes with its last lock, because the mark says the same.
 *   - Otherwise a lock in PW or EX was told, and the resource stays without locks. So the next lock
 *     is not told again.
 * A bucket keeps its mark for ever.
 *
 * Rule: only put() stores to the memory, because put() writes down the old value first. The only
 * other stores are the log's own (table_undo.c) and those of glock__table_init(). A word that is
 * stored to without the undo log says so.
 */
#ifndef GLOCK__TABLE_IMPL_H
#define GLOCK__TABLE_IMPL_H

#include <assert.h>
#include <string.h>

#include "base/atom.h"
#include "base/sanitizer.h"
#include "table.h"

#define TABLE_MAGIC 0x31656c626174676cull /* "lgtable1" */
#define TABLE_LAYOUT 4u
#define CELL_SIZE 64u
#define REF_END UINT32_MAX /* a cursor behind the last lock of a queue */

enum cell_type { CELL_FREE, CELL_RES, CELL_LOCK, CELL_LVB, CELL_NAME, CELL_TYPE_MAX };

/* The queues of a resource. A lock in LK_NONE is in no queue yet. */
enum lock_status { LK_NONE, LK_GRANTED, LK_CONVERTING, LK_WAITING, LK_STATUS_MAX };

#define RES_NAME_INLINE 16

struct res {
	uint8_t type;
	uint8_t flags;
	uint8_t namelen;
	uint8_t reserved;
	uint32_t hash_next;
	uint32_t queue[LK_STATUS_MAX - 1]; /* first of granted, converting, waiting */
	uint32_t lvb;
	uint32_t name_rest; /* the cell with the rest of a long name */
	/*
	 * For CR and higher: how many locks have this mode granted, also those that convert. NL
	 * conflicts with nothing, so its place has the number of all locks here.
	 */
	uint16_t count[GLOCK__LKMODE_MAX];
	char name[RES_NAME_INLINE];
	/* The token of the lock in EX. Its owner alone uses it, and stores without the undo log. */
	uint64_t token;
};
#define RES_LVB_SET 0x1u     /* the value block was written, or has a reason to be invalid */
#define RES_LVB_INVALID 0x2u /* until the value block is written again */
/* A holder at PW or EX died; no lock in these modes was told, or one said DEATH_UNREPORTED. */
#define RES_DIED 0x4u
/* The flags after such a death. */
#define RES_AFTER_DEATH (RES_LVB_SET | RES_LVB_INVALID | RES_DIED)
static_assert(GLOCK__TABLE_VALUE_DIED == RES_DIED && GLOCK__TABLE_VALUE_SET == RES_LVB_SET &&
		  GLOCK__TABLE_VALUE_FLAGS == RES_AFTER_DEATH,
	      "table.h has them, too");

struct link {
	uint32_t next;
	uint32_t prev;
};

struct lock {
	uint8_t type;
	uint8_t status; /* enum lock_status */
	int8_t gr;      /* granted mode */
	int8_t rq;      /* mode asked for, or IV */
	uint32_t gen;   /* upper half of the id */
	uint32_t res;
	struct link queue;
	struct link node_locks;
	struct link callbacks; /* linked if LOCK_AST is set or bast is not 0 */
	uint32_t flags;        /* GLOCK__LKF_ of the last request */
	uint32_t lvb;          /* the copy that is read on grant, if the request had to wait */
	uint8_t highbast;      /* highest mode that a BAST was sent for since the last grant */
	uint8_t lastbast;      /* last BAST queued since the last completion */
	uint8_t bast;          /* the mode that the next event says; 0: no BAST */
	uint8_t sbflags;
	uint16_t node;
	uint8_t bits;
	uint8_t reserved;
	/*
	 * The owner's hint that the lock is in use. The owner looks for callbacks when the use has
	 * ended. A word of its own, because it is stored to without the undo log.
	 */
	uint32_t held;
	uint32_t cookie[2];
};
#define LOCK_AST 0x1u      /* the grant has to be told */
#define LOCK_LVB_READ 0x2u /* lvb has a copy for the AST */
#define LOCK_NO_BAST 0x4u
#define LOCK_HAS_LVB 0x8u  /* was requested with VALBLK once, so the resource has a value block */
#define LOCK_REFUSED 0x10u /* with AST: the request was refused, see IDLE */
#define LOCK_ASKED 0x20u   /* the BAST wants an answer, see IDLE */

struct lvb {
	uint8_t type;
	uint8_t reserved[3];
	uint32_t seq;
	uint32_t data[GLOCK__LVB_LEN / 4];
	uint32_t reserved2[6];
};

struct name {
	uint8_t type;
	uint8_t reserved[3];
	char rest[GLOCK__RESNAME_MAX - RES_NAME_INLINE];
	uint32_t reserved2[3];
};

struct freecell {
	uint8_t type;
	uint8_t reserved[3];
	uint32_t next;
};

union cell {
	struct res res;
	struct lock lock;
	struct lvb lvb;
	struct name name;
	struct freecell free;
	uint32_t word[CELL_SIZE / 4];
};

static_assert(sizeof(struct res) == CELL_SIZE, "a resource is a cell");
static_assert(sizeof(struct lock) == CELL_SIZE, "a lock is a cell");
static_assert(sizeof(union cell) == CELL_SIZE, "every cell has this size");

struct node {
	uint32_t locks;
	uint32_t callbacks;
	uint32_t nlocks;
	uint32_t wake; /* 0: not to be woken; else 1 + the next node to be woken, or WAKE_LAST */
};
#define WAKE_LAST 0x7fffffffu
#define WAKE_URGENT 0x80000000u /* something of the node cannot wait until the node looks */

/*
 * The work that an operation still has to do. The operation has it in a variable of its own. At a
 * commit in between, the rest of the work is stored in the table. A process that finds it there can
 * go on. See table_work.c.
 */
enum work_phase {
	WORK_NONE,
	WORK_CONVERTERS, /* grant what can be granted of the convert queue */
	WORK_SELF,       /* then try again the conversion that was demoted by a deadlock */
	WORK_WAITERS,    /* grant what can be granted of the wait queue */
	WORK_BLOCKED,    /* find the highest mode that still waits */
	WORK_BAST_HIGH,  /* BASTs to the granted locks that block that mode */
	WORK_BAST_ONE,   /* BASTs to the locks that block one request */
	WORK_PHASE_MAX,
};

struct work {
	uint32_t res;
	uint32_t cursor; /* next lock to look at; 0: the first; REF_END: none is left */
	uint32_t self;   /* the lock of the operation, where that matters */
	uint8_t phase;
	uint8_t mode; /* for BASTs */
	uint8_t bits;
	uint8_t reserved;
};
#define WORK_AGAIN 0x1u      /* the convert queue changed: look at it from its head again */
#define WORK_DEMOTED 0x2u    /* self waits for WORK_SELF */
#define WORK_CW 0x4u         /* a lock waits for CW */
#define WORK_CONVERTING 0x8u /* BASTs for the convert queue too */

/*
 * Undo log: the words that the current step changed, with their old values.
 *
 * An operation begins by touching at most one lock, one resource, three more cells and their
 * neighbours in lists. A new cell has 16 words. Together these are less than 150 entries. The work
 * that follows goes into the same step as long as the log is short. One more change then always
 * has room, because no part of a change repeats with the length of a queue. The tests see 74.
 */
#define LOG_MAX 256u
#ifdef GLOCK_ATOM_HOOKS
extern unsigned int glock__table_log_short; /* a test sets 0: a step for each change */
#else
enum { glock__table_log_short = 48 };
#endif

struct undo_log {
	uint32_t n;
	uint32_t reserved;
	uint64_t entry[LOG_MAX]; /* number of the word in the upper half, old value in the lower */
};

struct glock__table {
	uint64_t magic;
	uint32_t layout;
	uint32_t flags;
	uint32_t nodes;
	uint32_t bucket_mask;
	uint32_t nodes_at; /* offsets */
	uint32_t buckets_at;
	uint64_t cells_at;
	uint32_t cells_end;  /* cells that the memory holds; cell 0 is never used */
	uint32_t cells_used; /* cells from here on were never used */
	uint32_t free;
	uint32_t nfree;
	uint32_t gen;
	uint32_t nres;
	uint32_t nlocks;
	uint32_t nidle;
	uint32_t wake; /* 1 + the first node that is to be woken, or 0 */
	uint32_t ops;  /* the number of operations; each raises it in its first step */
	struct work work;
	struct undo_log log;
	uint32_t reserved[2];
};
/* The nodes follow. An offset is cut to a multiple of the size of its target, see below. */
static_assert(sizeof(struct glock__table) % sizeof(struct node) == 0, "no node lies in the log");

typedef uint32_t __attribute__((may_alias)) word_t;

/*
 * Damage. Another process that maps the memory may store anything there, at any time. Nothing that
 * is read from the memory leads outside:
 *   - An offset is cut to a multiple of the size of its target below SPAN. The memory is reserved
 *     for SPAN bytes, if not all of its users trust each other.
 *   - A mode is cut to three bits (MODE). The tables of rules have eight rows and columns.
 *   - A walk along links ends after STEPS_MAX steps of one operation, see step().
 * For a table that is sound, all that changes nothing. The results of operations on a damaged table
 * mean nothing. In tests sound() checks that the table is sound. In the library it checks nothing,
 * because the library must not abort for damage.
 */
#define SPAN GLOCK__TABLE_MAX
#define MODE(mode) ((mode)&7)
#define STEPS_MAX (1u << 28)
#ifdef GLOCK_ATOM_HOOKS
#define sound(condition) assert(condition)
#else
#define sound(condition) ((void)sizeof(!(condition)))
#endif

/* The steps that the operation of this thread may still make. */
extern _Thread_local uint32_t glock__table_steps GLOCK__TLS __attribute__((visibility("hidden")));

static inline void begin_steps(void)
{
	glock__table_steps = STEPS_MAX;
}

/* Tells whether the operation may follow one more link. */
static inline bool step(void)
{
	return glock__table_steps && glock__table_steps--;
}

/* ---- memory ---- */

static inline void *at_offset(const struct glock__table *t, uint64_t offset, size_t align)
{
	return (char *)t + (offset & (SPAN - align));
}

static inline union cell *cell_at(const struct glock__table *t, uint32_t ref)
{
	sound(ref && ref < t->cells_used);
	return at_offset(t, t->cells_at + (uint64_t)ref * CELL_SIZE, CELL_SIZE);
}

static inline struct lock *lock_at(const struct glock__table *t, uint32_t ref)
{
	struct lock *lock = &cell_at(t, ref)->lock;

	sound(lock->type == CELL_LOCK);
	return lock;
}

static inline struct res *res_at(const struct glock__table *t, uint32_t ref)
{
	struct res *res = &cell_at(t, ref)->res;

	sound(res->type == CELL_RES);
	return res;
}

static inline uint32_t ref_of(const struct glock__table *t, const void *cell)
{
	return (uint32_t)(((const char *)cell - (const char *)t - t->cells_at) / CELL_SIZE);
}

static inline struct node *node_at(const struct glock__table *t, uint32_t node)
{
	sound(node < t->nodes);
	return at_offset(t, t->nodes_at + (uint64_t)node * sizeof(struct node),
			 sizeof(struct node));
}

static inline uint32_t *bucket_at(const struct glock__table *t, uint64_t hash)
{
	return at_offset(t, t->buckets_at + (hash & t->bucket_mask) * sizeof(uint32_t),
			 sizeof(uint32_t));
}

/* The mark of a bucket: deaths of its resources were forgotten. The other bits: the first ref. */
#define BUCKET_FORGOT 0x80000000u

static inline uint32_t bucket_first(const uint32_t *bucket)
{
	return *bucket & ~BUCKET_FORGOT;
}

static inline uint64_t lkid_of(const struct glock__table *t, const struct lock *lock)
{
	return (uint64_t)lock->gen << 32 | ref_of(t, lock);
}

/* Returns the lock of that id, or NULL. Any number is safe to ask for. */
static inline struct lock *lock_find(const struct glock__table *t, uint64_t lkid)
{
	uint32_t ref = (uint32_t)lkid;
	struct lock *lock;

	if (!ref || ref >= t->cells_used)
		return NULL;
	lock = &cell_at(t, ref)->lock;
	if (lock->type != CELL_LOCK || lock->gen != lkid >> 32)
		return NULL;
	return lock;
}

static inline uint64_t cookie_of(const struct lock *lock)
{
	return lock->cookie[0] | (uint64_t)lock->cookie[1] << 32;
}

/* Fills in an operation's completion. If the value block was read, it is there already. */
static inline void fill_event(const struct glock__table *t, const struct lock *lock, int status,
			      struct glock__table_event *event)
{
	event->lkid = lkid_of(t, lock);
	event->cookie = cookie_of(lock);
	event->what |= GLOCK__EVENT_AST;
	event->status = status;
	event->sbflags = lock->sbflags;
	event->mode = lock->gr;
}

#endif
