/* SPDX-License-Identifier: MIT */
/*
 * flock.c - estimates the time that flock(2) lost, for the sources of OCFS2 and GFS2.
 *
 * Each sample shows the waits of one moment. The mean number of these waits, over the last samples,
 * is an estimate of the seconds lost per second. The estimate is rough: a dozen samples with four
 * waits are right within a factor of two. A measured wait is not part of the estimate: one that is
 * as old as the frame, or that GFS2 or its DLM tell.
 */
#include "flock.h"

#include "o2top/base/grow.h"

static struct flock_seen *find_seen(struct flocks *f, uint32_t lock)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->list[i].lock == lock)
			return &f->list[i];
	if (!grow(&f->list, f->n, &f->room, sizeof(*f->list)))
		return NULL;
	f->list[f->n] = (struct flock_seen){.lock = lock};
	return &f->list[f->n++];
}

static unsigned waits_of(const struct flock_seen *seen)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < FLOCK_WINDOW; i++)
		sum += seen->waits[i];
	return sum;
}

/* Returns how many processes a sample showed waiting at once, at least 1. */
static unsigned most_waits(const struct flock_seen *seen)
{
	unsigned most = 1;

	for (unsigned i = 0; i < FLOCK_WINDOW; i++)
		most = seen->waits[i] > most ? seen->waits[i] : most;
	return most;
}

/*
 * Returns the weight of a flock's part in a total. Waits tell the parts. A flock that no sample
 * showed with a wait has a small part, because its waits are short.
 */
static unsigned weight_of(const struct flock_seen *seen)
{
	enum { OF_A_WAIT = 4 * FLOCK_WINDOW };
	unsigned sum = OF_A_WAIT * waits_of(seen);

	for (unsigned i = 0; i < FLOCK_WINDOW; i++)
		sum += seen->listed[i];
	return sum;
}

/* Takes the waits that are measured now out of the sample before, which showed them as younger. */
static void forget_measured(struct flock_seen *seen, unsigned at, const struct change *c)
{
	unsigned before = (at + FLOCK_WINDOW - 1) % FLOCK_WINDOW;

	seen->waits[before] -=
	    (uint8_t)(c->measured < seen->waits[before] ? c->measured : seen->waits[before]);
}

/* Remembers the flocks of this sample, and forgets those that no sample of the window showed. */
static void remember(struct source_sample *t, uint8_t type, bool listed)
{
	struct flocks *f = &t->ns->flocks;
	unsigned at = f->reads++ % FLOCK_WINDOW;
	const struct table *table = &t->ns->table;
	size_t kept = 0;

	for (size_t i = 0; i < f->n; i++) {
		f->list[i].waits[at] = 0;
		f->list[i].listed[at] = false;
		if (weight_of(&f->list[i]))
			f->list[kept++] = f->list[i];
	}
	f->n = kept;
	for (size_t i = 0; i < f->n; i++) {
		const struct lock *lock = table_lock(table, f->list[i].lock);
		const struct change *c = table_changed(table, lock);

		if (c)
			forget_measured(&f->list[i], at, c);
	}
	for (uint32_t i = 0; i < table->n_active; i++) {
		const struct activity *a = &table->active[i];
		unsigned waits = a->change.waiting - a->change.measured;
		struct flock_seen *seen =
		    (waits || listed) && table_lock(table, a->lock)->id.type == type
			? find_seen(f, a->lock)
			: NULL;

		if (!seen)
			continue;
		seen->waits[at] = (uint8_t)(waits < UINT8_MAX ? waits : UINT8_MAX);
		seen->listed[at] = listed;
	}
}

/* Marks the flocks of a kernel that counts nothing for them. */
static void mark_uncounted(struct table *table, uint8_t type)
{
	for (uint32_t i = 0; i < table->n_active; i++)
		if (table_lock(table, table->active[i].lock)->id.type == type)
			table->active[i].change.uncounted = true;
}

/*
 * Returns the part of the type's total that no frame has. A wait that is measured while it lasts
 * comes into the total when it ends, or a little later, because the total is made of means.
 */
static double not_told(const struct source_sample *t, uint8_t type, double total_s)
{
	const struct table *table = &t->ns->table;
	struct flocks *f = &t->ns->flocks;
	double told;

	for (uint32_t i = 0; i < table->n_active; i++)
		if (table_lock(table, table->active[i].lock)->id.type == type)
			f->told_s += table->active[i].change.lost_s;
	told = min_s(f->told_s, total_s);
	f->told_s -= told;
	return total_s - told;
}

void flock_estimate(struct source_sample *t, uint8_t type, const struct flock_total *total)
{
	struct flocks *f = &t->ns->flocks;
	bool known = !isnan(total->lost_s);
	unsigned samples, all = 0;
	double share = share_of_frame(t, t->whole_s), left_s;

	remember(t, type, known);
	if (!known)
		mark_uncounted(&t->ns->table, type);
	if (t->first || t->frame_s <= 0)
		return;
	left_s = known ? not_told(t, type, total->lost_s) : 0;
	samples = f->reads < FLOCK_WINDOW ? f->reads : FLOCK_WINDOW;
	for (size_t i = 0; i < f->n; i++)
		all += weight_of(&f->list[i]);
	for (size_t i = 0; i < f->n; i++) {
		double part = (double)weight_of(&f->list[i]) / all, lost;
		struct lock *lock = table_lock(&t->ns->table, f->list[i].lock);
		struct change *c = table_change(&t->ns->table, lock);

		if (!c)
			return;
		lost = max_s(t->whole_s * waits_of(&f->list[i]) / samples - c->young_s, 0);
		/* No more processes wait than a sample showed at once, and one at least. */
		if (known)
			lost = samples < FLOCK_WINDOW ? left_s * part : (left_s * part + lost) / 2;
		lost = min_s(lost, max_s(t->whole_s * most_waits(&f->list[i]) - c->lost_s, 0));
		change_add_lost(c, lost, share);
		c->estimated_s += lost;
		c->uncounted |= !known;
		if (known)
			change_add_acquired(c, part_of(part, total->acquired), share);
	}
}
