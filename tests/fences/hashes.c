/* SPDX-License-Identifier: MIT */
/* hashes.c - names a state of the modelled memory by a number, and remembers which were seen. */
#include "memory_impl.h"

#include <assert.h>
#include <stdlib.h>

uint64_t mix(uint64_t h, uint64_t v)
{
	h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
	h *= 0xff51afd7ed558ccdull;
	return h ^ h >> 32;
}

/* Replaces addresses by names. Only a PLAIN word or a word of the machine has addresses. */
uint64_t named(uint64_t v)
{
	if (v < 1ull << 32 || v >> 48)
		return v;
	for (unsigned int i = 0; i < m.n_names; i++)
		if (v == (uintptr_t)m.names[i])
			return i + 1;
	return 0;
}

uint64_t named_of(const struct word *w, uint64_t v)
{
	return w->kind == WORD ? v : named(v);
}

void saw(uint64_t v)
{
	if (m.self >= 0)
		m.threads[m.self].history = mix(m.threads[m.self].history, v);
}

bool is_new(uint64_t h)
{
	size_t i;

	if (2 * m.seen_n >= m.seen_room) {
		uint64_t *old = m.seen;
		size_t room = m.seen_room;

		m.seen_room = room ? 2 * room : 1 << 16;
		m.seen = calloc(m.seen_room, sizeof(*m.seen));
		assert(m.seen);
		m.seen_n = 0;
		for (size_t k = 0; k < room; k++)
			if (old[k])
				is_new(old[k]);
		free(old);
	}
	h |= !h;
	for (i = h % m.seen_room; m.seen[i]; i = (i + 1) % m.seen_room)
		if (m.seen[i] == h)
			return false;
	m.seen[i] = h;
	m.seen_n++;
	return true;
}

/* Values that no thread can load any more do not count. Views count from the first one that does.
 */
uint64_t state_hash(void)
{
	uint8_t least[WORDS];
	uint64_t h = 1;

	for (unsigned int w = 0; w < m.n_words; w++) {
		least[w] = (uint8_t)(m.words[w].n - 1);
		for (unsigned int t = 0; m.arm && t < m.s->threads; t++)
			if (m.threads[t].wants != ENDED && m.threads[t].view[w] < least[w])
				least[w] = m.threads[t].view[w];
	}
	for (unsigned int w = 0; w < m.n_words; w++) {
		const struct word *word = &m.words[w];

		h = mix(h, word->history);
		for (unsigned int i = least[w]; i < word->n; i++) {
			h = mix(h, named_of(word, word->values[i].value));
			for (unsigned int v = 0; m.arm && v < m.n_words; v++)
				h = mix(h, word->values[i].view[v] > least[v]
					       ? word->values[i].view[v] - least[v]
					       : 0);
		}
		h = mix(h, 77);
	}
	for (unsigned int i = 0; i < m.s->threads; i++) {
		const struct thread *t = &m.threads[i];

		h = mix(mix(mix(h, t->history), t->wants), t->to_fence);
		for (unsigned int k = 0; k < t->n; k++)
			h = mix(mix(mix(h, t->stores[k].word),
				    named_of(&m.words[t->stores[k].word], t->stores[k].value)),
				t->stores[k].release * 2 + t->stores[k].moved);
		for (unsigned int k = 0; k < t->late_n; k++)
			h = mix(mix(h, t->late[k].word), t->late[k].expected);
		for (unsigned int w = 0; m.arm && w < m.n_words && t->wants != ENDED; w++)
			h = mix(h, t->view[w] - least[w]);
	}
	return h;
}
