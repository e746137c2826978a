/* SPDX-License-Identifier: MIT */
/*
 * wait_times.c - percentiles of a row's waits, and the part that other nodes kept the lock.
 *
 * The gives of other nodes are laid over a wait by the nodes' wall clocks. The lengths of both are
 * of one clock each. So an error of the clocks matters only if it moves a give past an end of
 * the wait.
 */
#include "row.h"

#include "o2top/base/grow.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

struct span {
	int64_t from_us, until_us;
};

struct spans {
	struct span *list;
	size_t n, room;
};

/* The gives of all nodes but the waiting one, by the wall clock. */
struct others {
	struct spans gives, writes;
	int64_t until_us; /* the traces of all nodes reach so far */
	bool known;
	bool demands; /* a trace has demands; otherwise this event was not traced */
};

/* ---- parts of sorted lists ----------------------------------------------------------------- */

static_assert(offsetof(struct trace_wait, lock) == 0 && offsetof(struct trace_give, lock) == 0,
	      "of_lock() reads the lock at the begin of an element");

static uint32_t lock_at(const char *list, size_t size, size_t i)
{
	return *(const uint32_t *)(const void *)(list + i * size);
}

/* Returns the elements of one lock in a list sorted by lock, and in `n` their number. */
static const void *of_lock(const void *list, size_t n_list, size_t size, uint32_t lock, size_t *n)
{
	size_t low = 0, high = n_list, end;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (lock_at(list, size, mid) < lock)
			low = mid + 1;
		else
			high = mid;
	}
	for (end = low; end < n_list && lock_at(list, size, end) == lock; end++)
		;
	*n = end - low;
	return *n ? (const char *)list + low * size : NULL;
}

static const struct trace_wait *waits_of(const struct trace_times *t, uint32_t lock, size_t *n)
{
	return of_lock(t->waits, t->n_waits, sizeof(*t->waits), lock, n);
}

static const struct trace_give *gives_of(const struct trace_times *t, uint32_t lock, size_t *n)
{
	return of_lock(t->gives, t->n_gives, sizeof(*t->gives), lock, n);
}

/* ---- spans --------------------------------------------------------------------------------- */

static bool add_span(struct spans *s, int64_t from_us, int64_t until_us)
{
	if (until_us <= from_us)
		return true;
	if (!grow(&s->list, s->n, &s->room, sizeof(*s->list)))
		return false;
	s->list[s->n++] = (struct span){from_us, until_us};
	return true;
}

static int by_begin(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->from_us > y->from_us) - (x->from_us < y->from_us);
}

/* Makes spans that do not overlap, because two nodes may give at once. */
static void unite(struct spans *s)
{
	size_t kept = 0;

	if (s->n)
		qsort(s->list, s->n, sizeof(*s->list), by_begin);
	for (size_t i = 0; i < s->n; i++) {
		if (kept && s->list[i].from_us <= s->list[kept - 1].until_us) {
			if (s->list[i].until_us > s->list[kept - 1].until_us)
				s->list[kept - 1].until_us = s->list[i].until_us;
		} else {
			s->list[kept++] = s->list[i];
		}
	}
	s->n = kept;
}

/* Returns the seconds between two times that the spans cover. */
static double covered(const struct spans *s, int64_t from_us, int64_t until_us)
{
	size_t low = 0, high = s->n;
	int64_t sum = 0;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->list[mid].until_us <= from_us)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < s->n && s->list[low].from_us < until_us; low++) {
		int64_t from = s->list[low].from_us, until = s->list[low].until_us;

		sum += (until < until_us ? until : until_us) - (from > from_us ? from : from_us);
	}
	return 1e-6 * (double)sum;
}

/* ---- phases -------------------------------------------------------------------------------- */

/* Returns the node's lock space if it gave this sample its trace, with a clock to compare. */
static const struct node_space *traced_space(const struct model *m, uint32_t node, uint32_t space)
{
	const struct node *n = &m->nodes[node];
	const struct node_space *ns = space_now_on(m, n, space);

	return ns && ns->trace_times.traced && node_when(n, m->sample)->known ? ns : NULL;
}

static int64_t to_real_us(const struct model *m, uint32_t node)
{
	const struct moment *when = node_when(&m->nodes[node], m->sample);

	return when->real_us - when->mono_us;
}

static bool take_gives(struct others *o, const struct node_space *ns, const struct lock_id *id,
		       int64_t shift_us)
{
	const struct lock *lock = table_find(&ns->table, id);
	const struct trace_give *g;
	size_t n = 0;

	o->demands |= ns->trace_times.has_demands;
	g = lock ? gives_of(&ns->trace_times, table_index(&ns->table, lock), &n) : NULL;
	for (size_t i = 0; i < n; i++)
		if (!add_span(&o->gives, g[i].from_us + shift_us, g[i].until_us + shift_us) ||
		    !add_span(&o->writes, g[i].write_us + shift_us, g[i].until_us + shift_us))
			return false;
	return true;
}

/* Gathers the gives of all nodes but one. Nothing is known if a node has no trace. */
static void find_others(struct others *o, const struct model *m, uint32_t asker, uint32_t space,
			const struct lock_id *id)
{
	size_t n = 0;

	o->until_us = INT64_MAX;
	o->known = true;
	for (uint32_t i = 0; i < m->n_nodes && o->known; i++) {
		const struct node_space *ns;
		int64_t until_us;

		if (i == asker || space >= m->nodes[i].n_spaces || !m->nodes[i].spaces[space])
			continue;
		ns = traced_space(m, i, space);
		/* A node that the sample lacks has no clocks there, either. */
		o->known = ns && take_gives(o, ns, id, to_real_us(m, i));
		if (!o->known)
			break;
		until_us = node_when(&m->nodes[i], m->sample)->real_us;
		o->until_us = until_us < o->until_us ? until_us : o->until_us;
		n++;
	}
	o->known &= n > 0 && o->demands;
	unite(&o->gives);
	unite(&o->writes);
}

static void split_waits(struct wait_times *times, const struct model *m, const struct member *of,
			const struct trace_wait *waits, size_t n)
{
	int64_t shift_us = to_real_us(m, of->node);
	struct others o = {0};

	find_others(&o, m, of->node, of->space, &of->lock->id);
	for (size_t i = 0; i < n && o.known; i++) {
		int64_t from = waits[i].from_us + shift_us, until = waits[i].until_us + shift_us;
		double give;

		/* The other node's trace may end before this wait did. */
		if (until > o.until_us)
			break;
		give = covered(&o.gives, from, until);
		times->split++;
		times->give_s += give;
		times->write_back_s += covered(&o.writes, from, until);
		times->request_s += 1e-6 * (double)(until - from) - give;
	}
	free(o.gives.list);
	free(o.writes.list);
}

/* ---- percentiles --------------------------------------------------------------------------- */

struct lengths {
	double *list;
	size_t n, room;
};

static int by_length(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Returns the shortest length that `part` of all lengths do not exceed. */
static double percentile(const struct lengths *l, unsigned percent)
{
	size_t rank = (l->n * percent + 99) / 100;

	return l->list[rank ? rank - 1 : 0];
}

/* Takes the waits of one node. Returns false if there is no memory. */
static bool take_member(struct wait_times *times, struct lengths *l, const struct model *m,
			const struct member *of)
{
	const struct node_space *ns = traced_space(m, of->node, of->space);
	const struct trace_wait *waits;
	size_t n;

	if (!ns)
		return true;
	waits = waits_of(&ns->trace_times, table_index(&ns->table, of->lock), &n);
	for (size_t i = 0; i < n; i++) {
		if (!grow(&l->list, l->n, &l->room, sizeof(*l->list)))
			return false;
		l->list[l->n++] = 1e-6 * (double)(waits[i].until_us - waits[i].from_us);
	}
	if (n)
		split_waits(times, m, of, waits, n);
	return true;
}

/* ---- counts by powers of two --------------------------------------------------------------- */

typedef uint64_t buckets[LENT_BUCKETS];

/* Returns the upper bound of the bucket that has this part of all times. */
static double bucket_percentile(const buckets b, uint64_t n, unsigned percent)
{
	uint64_t rank = (n * percent + 99) / 100, below = 0;
	unsigned i = 0;

	while (i < LENT_BUCKETS - 1 && below + b[i] < rank)
		below += b[i++];
	return 512e-9 * (double)(1ull << i);
}

static struct spread spread_of(const buckets b)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < LENT_BUCKETS; i++)
		n += b[i];
	if (!n)
		return (struct spread){0};
	return (struct spread){n < UINT32_MAX ? (uint32_t)n : UINT32_MAX,
			       bucket_percentile(b, n, 50), bucket_percentile(b, n, 90),
			       bucket_percentile(b, n, 99)};
}

/* Takes what the processes of a libglock lock space counted. */
static void take_counts(struct wait_times *times, const struct model *m, const struct row *row)
{
	buckets sum[LENT_TIMES] = {{0}};

	for (uint32_t i = 0; i < row->n_locksets; i++)
		for (uint32_t j = 0; j < row->locksets[i].n_members; j++) {
			const struct member *of = &row->locksets[i].members[j];
			const struct node_space *ns = m->nodes[of->node].spaces[of->space];
			const struct lent_counts *c = lent_find(ns->lent.now, ns->lent.n_now,
								table_index(&ns->table, of->lock));

			if (!c || node_absent(m, &m->nodes[of->node]))
				continue;
			for (int k = 0; k < LENT_TIMES; k++)
				for (int b = 0; b < LENT_BUCKETS; b++)
					sum[k][b] += c->frame[k][b];
		}
	times->waits = spread_of(sum[LENT_WAITS]);
	times->holds = spread_of(sum[LENT_HOLDS]);
	times->handovers = spread_of(sum[LENT_HANDOVERS]);
	times->rounded = true;
}

void wait_times_take(const struct model *m, struct row *row)
{
	struct wait_times *times = &row->times;
	struct lengths l = {0};
	bool whole = true;

	*times = (struct wait_times){0};
	for (uint32_t i = 0; i < row->n_locksets; i++)
		for (uint32_t j = 0; j < row->locksets[i].n_members && whole; j++)
			whole = take_member(times, &l, m, &row->locksets[i].members[j]);
	if (whole && l.n) {
		qsort(l.list, l.n, sizeof(*l.list), by_length);
		times->waits = (struct spread){(uint32_t)l.n, percentile(&l, 50),
					       percentile(&l, 90), percentile(&l, 99)};
	} else {
		*times = (struct wait_times){0};
		take_counts(times, m, row);
	}
	free(l.list);
}
