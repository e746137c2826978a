/* SPDX-License-Identifier: MIT */
/*
 * options.c - checks the options of a space, and takes them into the space. The tables below have
 * the range of each member. The log names the member, its value and its range if a value is
 * refused.
 */
#include "open.h"

#include "base/version.h"
#include "glock/core/space.h"
#include "glock/path/path.h"
#include "glock/state/demote.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WORK_THREADS_MAX = 256 };

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Other flags are refused, because a later header may give them a meaning. */
#define SPACE_FLAGS (GLOCK_SPACE_DISPATCH | GLOCK_SPACE_CHECK_ORDER | GLOCK_SPACE_CHECK_OPS)
#define TYPE_FLAGS (GLOCK_OPS_ASPACE | GLOCK_OPS_LVB | GLOCK_OPS_BY_NUMBER | GLOCK_OPS_RECUR)

/* ---- limits ---- */

enum kind { AT_LEAST, AT_MOST, BITS_OF };

/* The range of a member: int64_t with AT_LEAST, else unsigned int or size_t. */
struct limit {
	const char *member;
	size_t offset, size;
	enum kind kind;
	int64_t bound;
	const char *range; /* in words */
};

#define LIMIT(type, member, kind, bound, range)                                                   \
	{                                                                                         \
#member, offsetof(struct type, member), sizeof(((struct type *)0)->member), kind, \
		    bound, range                                                                  \
	}

static const struct limit space_limits[] = {
    LIMIT(glock_space_options, flags, BITS_OF, SPACE_FLAGS, "GLOCK_SPACE_ flags"),
    LIMIT(glock_space_options, cached_age, AT_LEAST, 0, "0 (no limit) or more, in ns"),
    LIMIT(glock_space_options, work_threads, AT_MOST, WORK_THREADS_MAX, "0 (16 threads) to 256"),
};

static const struct limit type_limits[] = {
    LIMIT(glock_type_options, type, AT_MOST, GLOCK_TYPE_MAX - 1,
	  "0 to 31, a type of the program 10 to 31"),
    LIMIT(glock_type_options, flags, BITS_OF, TYPE_FLAGS, "GLOCK_OPS_ flags"),
    LIMIT(glock_type_options, hold, AT_LEAST, GLOCK_HOLD_NONE,
	  "-1 (GLOCK_HOLD_NONE), 0 (set by the library) or more, in ns"),
    LIMIT(glock_type_options, hold_max, AT_LEAST, 0, "0 (200 ms) or more, in ns"),
    LIMIT(glock_type_options, caches, BITS_OF, GLOCK_CACHES_METADATA | GLOCK_CACHES_DATA,
	  "GLOCK_CACHES_ flags"),
    /* only for the program's own types */
    LIMIT(glock_type_options, modes, BITS_OF, GLOCK__SH_SET | GLOCK__DF_SET | GLOCK__EX_SET,
	  "0 (SH and EX), or 1 << GLOCK_SH and so on"),
};

enum { OWN_LIMITS = 1 }; /* the last rows of type_limits */

/* Returns the member. A signed one is int64_t, so it keeps its bits. */
static uint64_t limit_value(const struct limit *l, const void *options)
{
	const char *at = (const char *)options + l->offset;
	unsigned int small;
	uint64_t value;

	if (l->size == sizeof(value)) {
		memcpy(&value, at, sizeof(value));
		return value;
	}
	memcpy(&small, at, sizeof(small));
	return small;
}

/* Says what the member is, and what it may be. */
static void limit_text(const struct limit *l, uint64_t value, char *text, size_t size)
{
	if (l->kind == AT_LEAST)
		snprintf(text, size, "%s is %" PRId64 "; set it to %s", l->member, (int64_t)value,
			 l->range);
	else if (l->kind == AT_MOST)
		snprintf(text, size, "%s is %" PRIu64 "; set it to %s", l->member, value, l->range);
	else
		snprintf(text, size,
			 "%s is 0x%" PRIx64 "; set it to %s, which are 0x%" PRIx64
			 " in libglock %s",
			 l->member, value, l->range, l->bound, GLOCK__VERSION_TEXT);
}

static bool limit_holds(const struct limit *l, uint64_t value)
{
	switch (l->kind) {
	case AT_LEAST:
		return (int64_t)value >= l->bound;
	case AT_MOST:
		return value <= (uint64_t)l->bound;
	case BITS_OF:
		return !(value & ~(uint64_t)l->bound);
	}
	return false;
}

/* Checks the members of a struct of options. Logs the first one that is out of its range. */
static int check_limits(struct glock_space *space, const char *where, const struct limit *limits,
			size_t n, const void *options)
{
	for (const struct limit *l = limits; l < limits + n; l++) {
		uint64_t value = limit_value(l, options);
		char text[256];

		if (limit_holds(l, value))
			continue;
		limit_text(l, value, text, sizeof(text));
		glock__log(space, "space %s: %s%s", space->name, where, text);
		return -EINVAL;
	}
	return 0;
}

/* A member that is left out in silence might be one that the program relies on. */
static int check_rest(struct glock_space *space, const char *where, const char *name,
		      const void *at, size_t size, size_t known)
{
	size_t offset = glock__unknown_member(at, size, known);

	if (!offset)
		return 0;
	glock__log(space,
		   "space %s: %sstruct %s has a member at offset %zu that libglock %s does not "
		   "know: set it to 0, or install a later libglock",
		   space->name, where, name, offset, GLOCK__VERSION_TEXT);
	return -E2BIG;
}

/* ---- types ---- */

/* Sets the type of entry i. */
static int set_type(struct glock_space *space, size_t i, const struct glock_type_options *o)
{
	size_t rows = COUNT(type_limits) - (o->type < GLOCK_TYPE_OWN ? OWN_LIMITS : 0);
	struct glock__type *t;
	char where[32];
	int err;

	snprintf(where, sizeof(where), "types[%zu]: ", i);
	err = check_limits(space, where, type_limits, rows, o);
	if (err)
		return err;
	if (o->ops && glock__check_size(space, "glock_ops", o->ops->size,
					GLOCK__FIRST_SIZE(glock_ops, pages)))
		return -EINVAL;
	err = o->ops ? check_rest(space, where, "glock_ops", o->ops, o->ops->size, sizeof(*o->ops))
		     : 0;
	if (err)
		return err;
	t = &space->types[o->type];
	if (t->path) /* a type of the program's own in its place */
		*t = (struct glock__type){.info = glock__types[o->type]};
	t->known = true;
	t->flags = o->flags;
	t->hold = o->hold;
	t->hold_max = o->hold_max;
	if (o->ops)
		memcpy(&t->ops, o->ops,
		       o->ops->size < sizeof(t->ops) ? o->ops->size : sizeof(t->ops));
	if (o->type < GLOCK_TYPE_OWN)
		return 0;
	snprintf(t->info.name, sizeof(t->info.name), "%.8s", o->name ? o->name : "own");
	t->info.caches = o->caches;
	t->info.modes = o->modes ? o->modes : GLOCK__SH_SET | GLOCK__EX_SET;
	t->info.order = o->order;
	t->info.by_number = o->flags & GLOCK_OPS_BY_NUMBER;
	t->info.may_recur = o->flags & GLOCK_OPS_RECUR;
	return 0;
}

/*
 * Tells whether the fast path may serve a type. For such a type no operation has to be called and
 * no list searched when a holder comes or goes.
 */
static bool may_be_fast(const struct glock__type *t)
{
	const unsigned int both = GLOCK__SH_SET | GLOCK__EX_SET;

	return !t->ops.lock && !t->ops.unlock && !t->info.may_recur &&
	       (t->info.modes & both) == both;
}

/* Copies entry i of the array. All entries have the size of the first one. */
static int type_entry(struct glock_space *space, const struct glock_space_options *o, size_t i,
		      struct glock_type_options *type)
{
	size_t stride = o->types->size;
	char where[32];
	int err = glock__check_size(space, "glock_type_options", stride,
				    GLOCK__FIRST_SIZE(glock_type_options, hold_max));

	if (err)
		return err;
	memcpy(type, (const char *)o->types + i * stride,
	       stride < sizeof(*type) ? stride : sizeof(*type));
	if (type->size == stride) {
		snprintf(where, sizeof(where), "types[%zu]: ", i);
		return check_rest(space, where, "glock_type_options",
				  (const char *)o->types + i * stride, stride, sizeof(*type));
	}
	glock__log(space,
		   "space %s: entry %zu of types has size %zu, and the first one has %zu: set size "
		   "to sizeof(struct glock_type_options) in each",
		   space->name, i, type->size, stride);
	return -EINVAL;
}

/* Tells whether the type has an operation of the program that may block, other than unlock. */
static bool has_ops(const struct glock__type *t)
{
	return t->ops.xmote_th || t->ops.xmote_bh || t->ops.inval || t->ops.instantiate ||
	       (t->ops.lock && !t->path);
}

/* Two entries for one type: the second one would replace what the first one set. */
static int check_once(struct glock_space *space, unsigned int type, size_t i, uint32_t *given)
{
	if (type >= GLOCK_TYPE_MAX)
		return 0; /* set_type() refuses it */
	if (*given & 1u << type) {
		glock__log(
		    space,
		    "space %s: types[%zu]: type %u has an entry already; give each type once",
		    space->name, i, type);
		return -EINVAL;
	}
	*given |= 1u << type;
	return 0;
}

static int set_types(struct glock_space *space, const struct glock_space_options *o)
{
	uint32_t given = 0;
	int err = 0;

	for (unsigned int i = 0; i < GLOCK_TYPE_OWN; i++) {
		space->types[i].info = glock__types[i];
		space->types[i].known = true;
	}
	glock__path_type(&space->types[GLOCK_RESERVED]);
	for (size_t i = 0; i < o->n_types && !err; i++) {
		struct glock_type_options type = {0};

		err = type_entry(space, o, i, &type);
		if (!err)
			err = check_once(space, type.type, i, &given);
		if (!err)
			err = set_type(space, i, &type);
	}
	for (unsigned int i = 0; i < GLOCK_TYPE_MAX; i++) {
		space->types[i].fast = may_be_fast(&space->types[i]);
		space->types[i].has_ops = has_ops(&space->types[i]);
	}
	glock__hold_types(space);
	return err;
}

/* ---- the space ---- */

int glock__options_take(struct glock_space *space, const char *name,
			const struct glock_space_options *o)
{
	size_t len = name ? strlen(name) : 0;
	int err;

	if (!len || len >= sizeof(space->name))
		return -EINVAL;
	memcpy(space->name, name, len + 1);
	space->log = o->log;
	space->log_arg = o->log_arg;
	err = check_limits(space, "", space_limits, COUNT(space_limits), o);
	if (err)
		return err;
	if (o->n_types && !o->types) {
		glock__log(space,
			   "space %s: n_types is %zu, but types is NULL; set both, or neither",
			   space->name, o->n_types);
		return -EINVAL;
	}
	space->flags = o->flags;
	space->recover = o->recover;
	space->recover_arg = o->recover_arg;
	space->lru.max = o->cached_max;
	space->lru.age = o->cached_age;
	return set_types(space, o);
}
