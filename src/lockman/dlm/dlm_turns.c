/* SPDX-License-Identifier: MIT */
/*
 * dlm_turns.c - measures how long a hand-over takes, by the turns of a lock in EX.
 *
 * The kernel answers a release at once. So a node cannot see when the next node has the lock. But
 * each node knows how long it had the lock. Nodes that release a lock add this time and their turn
 * to two sums in the value block. A node that gets the lock back knows how long it was away. The
 * hand-overs took the rest, because each turn ends by a demand:
 *
 *   one hand-over = (time away - turns of others) / (number of turns of others + 1)
 *
 * The 24 bytes of the program have the sums if the lock has no value block of the program. All
 * locks of a lockspace share one mean.
 */
#include "dlm_impl.h"

#include <endian.h>
#include <string.h>

enum {
	JUMP = 8, /* a sample counts as at most so many times the mean, plus JUMP_NS */
	JUMP_NS = 10000,
	MOST = 1000000000, /* ns */
};

/* As it stands in the value block, least significant first. */
struct sums {
	uint64_t chain, used;
	uint32_t n, mark;
};
_Static_assert(sizeof(struct sums) == GLOCK__DLM_VALUE_LEN, "the sums fill the program's part");

#define MARK 0x6e727574 /* "turn" */

static bool read_sums(const unsigned char *value, struct sums *w)
{
	memcpy(w, value, sizeof(*w));
	*w = (struct sums){le64toh(w->chain), le64toh(w->used), le32toh(w->n), le32toh(w->mark)};
	return w->mark == MARK && w->chain;
}

bool glock__dlm_turn_is_in(const unsigned char *value)
{
	struct sums w;

	return read_sums(value, &w);
}

static struct glock__dlm_turn *turn_of(struct dlm *d, const struct slot *s)
{
	return &d->turns[(uint32_t)(s - d->slots) % GLOCK__DLM_TURNS];
}

static bool is_of(const struct dlm *d, const struct glock__dlm_turn *t, const struct slot *s)
{
	return t->tag == glock__dlm_slot_tag(d, s) + 1;
}

/* The mean moves by an eighth. A process that was stopped once does not spoil it. */
static void learn(struct dlm *d, int64_t sample)
{
	int64_t mean = atom_load32(&d->lm.wake_up), most = mean ? JUMP * mean + JUMP_NS : MOST;

	sample = sample < 0 ? 0 : sample > most ? most : sample;
	mean = mean ? mean + (sample - mean) / 8 : sample;
	atom_store32(&d->lm.wake_up, (uint32_t)(mean > MOST ? MOST : mean));
}

/* The lock is back. A chain that another node began says nothing of the time before. */
static void sample(struct dlm *d, const struct glock__dlm_turn *t, const struct sums *w,
		   int64_t now)
{
	uint32_t others = w->n - t->n;
	int64_t away = now - t->since;

	if (t->released && w->chain == t->chain && others && w->used >= t->used && away >= 0 &&
	    w->used - t->used <= (uint64_t)away)
		learn(d, (away - (int64_t)(w->used - t->used)) / ((int64_t)others + 1) - t->late);
}

void glock__dlm_turn_begins(struct dlm *d, const struct slot *s, const unsigned char *value,
			    int64_t now)
{
	struct glock__dlm_turn *t = turn_of(d, s);
	/* No two grants have one token, so a new chain differs from each other one. */
	struct sums w = {.chain = s->token}, read;

	if (value && read_sums(value, &read)) {
		w = read;
		if (is_of(d, t, s))
			sample(d, t, &w, now);
	}
	*t = (struct glock__dlm_turn){.tag = glock__dlm_slot_tag(d, s) + 1,
				      .chain = w.chain,
				      .used = w.used,
				      .n = w.n,
				      .since = now};
}

void glock__dlm_turn_is_demanded(struct dlm *d, const struct slot *s)
{
	struct glock__dlm_turn *t = turn_of(d, s);

	if (is_of(d, t, s))
		t->demanded = true;
}

/* If no node waits for the lock, the time until the next turn is no hand-over. */
void glock__dlm_turn_ends(struct dlm *d, const struct slot *s, unsigned char *value, int64_t now)
{
	struct glock__dlm_turn *t = turn_of(d, s);
	struct sums w;

	if (!is_of(d, t, s) || t->released || !t->demanded)
		return;
	t->used += now > t->since ? (uint64_t)(now - t->since) : 0;
	t->n++;
	t->released = true;
	t->since = now;
	t->late = 0;
	w = (struct sums){htole64(t->chain), htole64(t->used), htole32(t->n), htole32(MARK)};
	memcpy(value, &w, sizeof(w));
}

void glock__dlm_turn_ended(struct dlm *d, const struct slot *s, int64_t now)
{
	struct glock__dlm_turn *t = turn_of(d, s);

	if (is_of(d, t, s) && t->released && now > t->since)
		t->late = now - t->since;
}
