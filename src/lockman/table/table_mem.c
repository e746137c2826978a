/* SPDX-License-Identifier: MIT */
/*
 * table_mem.c - the table's memory: layout, cells, resources by name, rings of locks.
 *
 * Cells that were used once and are free again form a list. The list is last in, first out, because
 * the cell that was used last is in the cache. Cells from cells_used on were never touched. Memory
 * that was not needed yet costs nothing, and growing only means a larger cells_end.
 */
#include "table_store.h"

#define ALIGN_CELL(n) (((n) + CELL_SIZE - 1) & ~(uint64_t)(CELL_SIZE - 1))

static bool params_valid(const struct glock__table_params *params)
{
	return params->nodes >= 1 && params->nodes <= UINT16_MAX + 1u && params->buckets >= 1 &&
	       !(params->buckets & (params->buckets - 1)) && params->buckets <= 1u << 28 &&
	       !(params->flags & ~(GLOCK__TABLE_UNLOCK_ANY | GLOCK__TABLE_KEEP_DIED));
}

static uint64_t cells_offset(const struct glock__table_params *params)
{
	return ALIGN_CELL(sizeof(struct glock__table) + params->nodes * sizeof(struct node) +
			  params->buckets * (uint64_t)sizeof(uint32_t));
}

size_t glock__table_size(const struct glock__table_params *params, uint64_t cells)
{
	return cells_offset(params) + (cells + 1) * CELL_SIZE;
}

/* Returns how many cells memory of that size has, including the unused cell 0. */
static uint32_t cells_fitting(uint64_t cells_at, size_t size)
{
	uint64_t usable = size < GLOCK__TABLE_MAX ? size : GLOCK__TABLE_MAX;

	return usable < cells_at ? 0 : (uint32_t)((usable - cells_at) / CELL_SIZE);
}

int glock__table_init(void *mem, size_t size, const struct glock__table_params *params)
{
	struct glock__table *t = mem;

	if ((uintptr_t)mem % CELL_SIZE || !params_valid(params))
		return -EINVAL;
	if (cells_fitting(cells_offset(params), size) < 2)
		return -ENOSPC;
	atom_put64(&t->magic, 0);
	memset((char *)mem + sizeof(t->magic), 0, cells_offset(params) - sizeof(t->magic));
	t->layout = TABLE_LAYOUT;
	t->flags = params->flags;
	t->nodes = params->nodes;
	t->bucket_mask = params->buckets - 1;
	t->nodes_at = sizeof(*t);
	t->buckets_at = t->nodes_at + (uint32_t)(params->nodes * sizeof(struct node));
	t->cells_at = cells_offset(params);
	t->cells_end = cells_fitting(t->cells_at, size);
	t->cells_used = 1;
	atom_store64(&t->magic, TABLE_MAGIC);
	return 0;
}

struct glock__table *glock__table_attach(void *mem, size_t size)
{
	struct glock__table *t = mem;
	struct glock__table_params params;

	if ((uintptr_t)mem % CELL_SIZE || size < sizeof(*t))
		return NULL;
	if (atom_load64(&t->magic) != TABLE_MAGIC || t->layout != TABLE_LAYOUT)
		return NULL;
	params = (struct glock__table_params){
	    .nodes = t->nodes, .buckets = t->bucket_mask + 1, .flags = t->flags};
	if (!params_valid(&params) || t->cells_at != cells_offset(&params) ||
	    t->nodes_at != sizeof(*t) ||
	    t->buckets_at != t->nodes_at + params.nodes * sizeof(struct node))
		return NULL;
	if (t->cells_end > cells_fitting(t->cells_at, size) || !t->cells_used ||
	    t->cells_used > t->cells_end || t->log.n > LOG_MAX)
		return NULL;
	return t;
}

int glock__table_grow(struct glock__table *t, size_t size)
{
	uint32_t end = cells_fitting(t->cells_at, size);

	if (needs_recovery(t))
		return -EOWNERDEAD;
	if (end < t->cells_end)
		return -EINVAL;
	/*
	 * The operation's only store. Not in the log, because an undo must not say that there is
	 * less memory than there was.
	 */
	atom_put32(&t->cells_end, end);
	return 0;
}

GLOCK__RACY size_t glock__table_used(const struct glock__table *t, size_t size)
{
	const uint64_t at = t->cells_at, used = at + (uint64_t)t->cells_used * CELL_SIZE;

	return at < sizeof(*t) || at > size || used > size ? 0 : (size_t)used;
}

uint32_t glock__table_ops(const struct glock__table *t)
{
	return t->ops;
}

void glock__table_usage(const struct glock__table *t, struct glock__table_usage *usage)
{
	usage->resources = t->nres;
	usage->locks = t->nlocks;
	usage->idle = t->nidle;
	usage->cells_used = t->cells_used - 1 - t->nfree;
	usage->cells_free = t->cells_end - t->cells_used + t->nfree;
}

uint32_t glock__table_cell_new(struct glock__table *t, enum cell_type type, const void *init)
{
	union cell content;
	uint32_t ref = t->free;
	union cell *cell;

	if (ref) {
		cell = cell_at(t, ref);
		sound(cell->free.type == CELL_FREE && t->nfree);
		put(t, &t->free, cell->free.next);
		put(t, &t->nfree, t->nfree - 1);
	} else {
		if (t->cells_used == t->cells_end)
			return 0;
		ref = t->cells_used;
		put(t, &t->cells_used, ref + 1);
		cell = cell_at(t, ref);
	}
	memcpy(&content, init, sizeof(content));
	content.free.type = (uint8_t)type;
	for (size_t i = 0; i < CELL_SIZE / 4; i++)
		put(t, &cell->word[i], content.word[i]);
	return ref;
}

void glock__table_cell_free(struct glock__table *t, uint32_t ref)
{
	union cell *cell = cell_at(t, ref);

	sound(cell->free.type != CELL_FREE);
	put(t, &cell->free.type, CELL_FREE);
	put(t, &cell->free.next, t->free);
	put(t, &t->free, ref);
	put(t, &t->nfree, t->nfree + 1);
}

/*
 * Takes eight bytes at a time. Each step multiplies by an odd number, which loses nothing. Then a
 * shift brings the upper half down. The last step makes each bit depend on each other.
 */
uint64_t glock__table_hash(const void *name, size_t namelen)
{
	const unsigned char *byte = name;
	uint64_t hash = 0x9e3779b97f4a7c15ull ^ namelen;

	while (namelen) {
		uint64_t part = 0;
		size_t n = namelen < sizeof(part) ? namelen : sizeof(part);

		memcpy(&part, byte, n);
		hash = (hash ^ part) * 0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
		byte += n;
		namelen -= n;
	}
	hash *= 0xc4ceb9fe1a85ec53ull;
	return hash ^ hash >> 29;
}

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

bool glock__table_res_named(const struct glock__table *t, const struct res *res, const void *name,
			    size_t namelen)
{
	if (res->namelen != namelen)
		return false;
	if (namelen && memcmp(res->name, name, min_size(namelen, RES_NAME_INLINE)))
		return false;
	return namelen <= RES_NAME_INLINE ||
	       !memcmp(cell_at(t, res->name_rest)->name.rest, (const char *)name + RES_NAME_INLINE,
		       namelen - RES_NAME_INLINE);
}

struct res *glock__table_res_find(const struct glock__table *t, const void *name, size_t namelen)
{
	uint32_t ref = bucket_first(bucket_at(t, glock__table_hash(name, namelen)));

	while (ref && step()) {
		struct res *res = res_at(t, ref);

		if (glock__table_res_named(t, res, name, namelen))
			return res;
		ref = res->hash_next;
	}
	return NULL;
}

struct res *glock__table_res_new(struct glock__table *t, const void *name, size_t namelen)
{
	uint32_t *bucket = bucket_at(t, glock__table_hash(name, namelen));
	const uint32_t mark = *bucket & BUCKET_FORGOT;
	union cell init = {.res = {.namelen = (uint8_t)namelen,
				   .flags = mark ? RES_AFTER_DEATH : 0,
				   .hash_next = bucket_first(bucket)}};
	uint32_t ref;

	if (namelen > RES_NAME_INLINE) {
		union cell rest = {.name = {.type = CELL_NAME}};

		memcpy(rest.name.rest, (const char *)name + RES_NAME_INLINE,
		       namelen - RES_NAME_INLINE);
		init.res.name_rest = glock__table_cell_new(t, CELL_NAME, &rest);
		if (!init.res.name_rest)
			return NULL;
	}
	if (namelen)
		memcpy(init.res.name, name, min_size(namelen, RES_NAME_INLINE));
	ref = glock__table_cell_new(t, CELL_RES, &init);
	if (!ref)
		return NULL;
	put(t, bucket, ref | mark);
	put(t, &t->nres, t->nres + 1);
	return res_at(t, ref);
}

static uint32_t *chain_of(struct glock__table *t, const struct res *res)
{
	char name[GLOCK__RESNAME_MAX] = {0};

	memcpy(name, res->name, RES_NAME_INLINE);
	if (res->name_rest)
		memcpy(name + RES_NAME_INLINE, cell_at(t, res->name_rest)->name.rest,
		       sizeof(name) - RES_NAME_INLINE);
	return bucket_at(t, glock__table_hash(name, min_size(res->namelen, sizeof(name))));
}

static void res_free(struct glock__table *t, uint32_t *bucket, struct res *res)
{
	uint32_t ref = ref_of(t, res), *at = bucket;

	sound(!res->count[0]);
	while ((*at & ~BUCKET_FORGOT) != ref && *at & ~BUCKET_FORGOT && step())
		at = &res_at(t, *at & ~BUCKET_FORGOT)->hash_next;
	put(t, at, res->hash_next | (*at & BUCKET_FORGOT));
	put(t, &t->nres, t->nres - 1);
	if (res->lvb)
		glock__table_cell_free(t, res->lvb);
	if (res->name_rest)
		glock__table_cell_free(t, res->name_rest);
	glock__table_cell_free(t, ref);
}

void glock__table_res_unused(struct glock__table *t, struct res *res)
{
	uint32_t *bucket = chain_of(t, res);
	const bool died = res->flags & RES_DIED, forgot = *bucket & BUCKET_FORGOT;

	if (died == forgot || !(t->flags & GLOCK__TABLE_KEEP_DIED)) {
		res_free(t, bucket, res);
		return;
	}
	if (!died && res->lvb) { /* the value ends here, as if the resource had gone */
		glock__table_cell_free(t, res->lvb);
		put(t, &res->lvb, 0u);
	}
	if (!died)
		put(t, &res->flags, (uint8_t)0);
	put(t, &t->nidle, t->nidle + 1);
}

/* ---- forgetting deaths ---- */

/* Frees the resources of a bucket that have no locks, and marks the bucket. Returns their number.
 */
static uint32_t bucket_forget(struct glock__table *t, uint32_t *bucket)
{
	uint32_t n = 0;

	for (uint32_t ref = bucket_first(bucket); ref && step();) {
		struct res *res = res_at(t, ref);

		ref = res->hash_next;
		if (res->count[0])
			continue;
		put(t, bucket, *bucket | BUCKET_FORGOT);
		put(t, &t->nidle, t->nidle - 1);
		res_free(t, bucket, res);
		count_op(t);
		commit(t);
		n++;
	}
	return n;
}

int glock__table_forget(struct glock__table *t, uint32_t max)
{
	uint32_t n = 0;

	begin_steps();
	if (needs_recovery(t))
		return -EOWNERDEAD;
	for (uint32_t mark = BUCKET_FORGOT, turn = 0; turn < 2; turn++, mark = 0)
		for (uint64_t i = 0; i <= t->bucket_mask && t->nidle && n < max; i++)
			if ((*bucket_at(t, i) & BUCKET_FORGOT) == mark)
				n += bucket_forget(t, bucket_at(t, i));
	return (int)n;
}

/* ---- rings of locks ---- */

void glock__table_ring_add(struct glock__table *t, uint32_t *head, size_t ring, uint32_t ref,
			   uint32_t before)
{
	struct link *link = link_of(t, ref, ring), *next;
	const uint32_t first = *head;
	const uint32_t at = before ? before : first; /* the end is the place before the first */

	if (!first) {
		glock__table_put_link(t, link, ref, ref);
		put(t, head, ref);
		return;
	}
	next = link_of(t, at, ring);
	glock__table_put_link(t, link, at, next->prev);
	put(t, &link_of(t, next->prev, ring)->next, ref);
	put(t, &next->prev, ref);
	if (first == before)
		put(t, head, ref);
}

void glock__table_ring_leave(struct glock__table *t, uint32_t *head, size_t ring, uint32_t ref)
{
	const struct link *link = link_of(t, ref, ring);

	sound(link->next);
	if (link->next == ref) {
		sound(*head == ref);
		put(t, head, 0);
		return;
	}
	put(t, &link_of(t, link->prev, ring)->next, link->next);
	put(t, &link_of(t, link->next, ring)->prev, link->prev);
	if (*head == ref)
		put(t, head, link->next);
}

void glock__table_ring_del(struct glock__table *t, uint32_t *head, size_t ring, uint32_t ref)
{
	struct link *link = link_of(t, ref, ring);

	glock__table_ring_leave(t, head, ring, ref);
	glock__table_put_link(t, link, 0, 0);
}
