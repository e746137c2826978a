/* SPDX-License-Identifier: MIT */
/* memory.c - the loads, the stores and the fences of the modelled memory; see memory.h. */
#include "memory_impl.h"

#include "sim/fiber.h"

#include <assert.h>
#include <string.h>

struct model m;
enum lack lack;

/* ---- words ---- */

static unsigned int bucket_of(const void *addr)
{
	return (unsigned int)((uintptr_t)addr >> 2) % BUCKETS;
}

static int find(const void *addr)
{
	for (unsigned int b = bucket_of(addr); m.bucket[b]; b = (b + 1) % BUCKETS)
		if (m.words[m.bucket[b] - 1].addr == addr)
			return m.bucket[b] - 1;
	return -1;
}

uint64_t raw(const void *addr, unsigned int size)
{
	uint64_t v = 0;

	memcpy(&v, addr, size);
	return v;
}

void memory_know(void *addr, unsigned int size, enum word_kind kind)
{
	unsigned int b = bucket_of(addr);
	struct word *w = &m.words[m.n_words];

	assert(m.n_words < WORDS && find(addr) < 0);
	*w = (struct word){.addr = addr, .size = size, .kind = kind, .n = 1};
	w->values[0].value = raw(addr, size);
	while (m.bucket[b])
		b = (b + 1) % BUCKETS;
	m.bucket[b] = (uint8_t)++m.n_words;
}

void memory_name(const void *object)
{
	assert(m.n_names < NAMES);
	m.names[m.n_names++] = object;
}

static struct thread *self(void)
{
	return m.modelled && m.self >= 0 ? &m.threads[m.self] : NULL;
}

bool memory_knows(const void *addr)
{
	return self() && find(addr) >= 0;
}

void join(uint8_t *to, const uint8_t *from)
{
	for (unsigned int i = 0; i < m.n_words; i++)
		if (from[i] > to[i])
			to[i] = from[i];
}

void see_all(struct thread *t)
{
	for (unsigned int i = 0; i < m.n_words; i++)
		t->view[i] = (uint8_t)(m.words[i].n - 1);
}

static void add_value(struct thread *t, unsigned int w, uint64_t value, bool release)
{
	struct word *word = &m.words[w];
	struct value *v = &word->values[word->n];

	assert(word->n < VALUES);
	memset(v, 0, sizeof(*v));
	v->value = value;
	t->view[w] = (uint8_t)word->n++;
	if (release)
		memcpy(v->view, t->view, sizeof(v->view));
	v->view[w] = (uint8_t)(word->n - 1);
}

void memory_wrong(const char *what)
{
	if (!m.wrong)
		m.wrong = what;
}

/* ---- stops ---- */

static void stop(struct thread *t, enum wants wants)
{
	t->wants = wants;
	fiber_leave();
	t->wants = RUNS;
}

/* ---- stores ---- */

bool may_commit(const struct thread *t, unsigned int k)
{
	if (t->stores[k].moved)
		return false;
	if (!k)
		return true;
	if (!m.arm || t->stores[k].release)
		return false;
	for (unsigned int i = 0; i < k; i++)
		if (t->stores[i].word == t->stores[k].word)
			return false;
	return true;
}

void commit(struct thread *t, unsigned int k)
{
	struct store s = t->stores[k];

	memmove(&t->stores[k], &t->stores[k + 1], (t->n - k - 1) * sizeof(s));
	t->n--;
	add_value(t, s.word, s.value, s.release);
}

void commit_all(struct thread *t)
{
	for (unsigned int i = 0; i < t->n; i++)
		t->stores[i].moved = false;
	while (t->n)
		commit(t, 0);
}

/* A late load returns the last value at best. */
void load_late_now(struct thread *t)
{
	for (unsigned int i = 0; i < t->late_n; i++) {
		const struct word *w = &m.words[t->late[i].word];

		if (w->values[w->n - 1].value != t->late[i].expected)
			memory_wrong("a holder read what a later holder wrote");
	}
	t->late_n = 0;
}

/* A full fence of the hardware. The compiler may still move a store behind it. */
void fence_thread(struct thread *t)
{
	while (t->n && !t->stores[0].moved)
		commit(t, 0);
	load_late_now(t);
	see_all(t);
}

static void settle(struct thread *t)
{
	for (unsigned int i = 0; i < t->n; i++)
		t->stores[i].moved = false;
}

static void issue(struct thread *t, unsigned int w, uint64_t value, bool release, bool moved)
{
	if (t->n == STORES)
		commit_all(t);
	t->stores[t->n++] =
	    (struct store){.word = w, .value = value, .release = release, .moved = moved};
}

void memory_store(void *addr, unsigned int size, uint64_t value, enum order order)
{
	struct thread *t = self();
	int w = t ? find(addr) : -1;

	memcpy(addr, &value, size);
	if (w < 0)
		return;
	/* A heavy fence may come between the load before and this store. */
	if (!t->n || t->stores[t->n - 1].moved)
		stop(t, RUNS);
	settle(t);
	if (order == RELEASE)
		load_late_now(t);
	issue(t, (unsigned int)w, value, order == RELEASE, false);
}

void atom_light_store32(uint32_t *addr, uint32_t value)
{
	struct thread *t = self();
	int w = t ? find(addr) : -1;
	bool release = lack != (value ? LACKS_RELEASE_OF_USED : LACKS_RELEASE_OF_LEAVE);

	*addr = value;
	if (w < 0)
		return;
	settle(t);
	if (release)
		load_late_now(t);
	issue(t, (unsigned int)w, value, release, true);
}

uint8_t atom_light_load8(const uint8_t *addr)
{
	return (uint8_t)memory_load(addr, sizeof(*addr), ACQUIRE);
}

void atom_light_fence(void)
{
	struct thread *t = self();
	bool leaves = t && t->n && !t->stores[t->n - 1].value;

	if (!t || lack == (leaves ? LACKS_LIGHT_FENCE_LEAVE : LACKS_LIGHT_FENCE))
		return;
	settle(t);
}

uint64_t memory_load(const void *addr, unsigned int size, enum order order)
{
	struct thread *t = self();
	int w = t ? find(addr) : -1;
	bool acquire = order == ACQUIRE;

	if (w < 0)
		return memory_saw(raw(addr, size));
	if (lack == LACKS_ACQUIRE_OF_USED && m.words[w].kind == USED)
		acquire = false;
	t->word = (unsigned int)w;
	t->expected = acquire;
	if (m.words[w].kind == WORD && m.s->quiet(m.self)) {
		t->got = m.words[w].values[m.words[w].n - 1].value;
		t->view[w] = (uint8_t)(m.words[w].n - 1);
	} else {
		stop(t, LOADS);
	}
	saw(named_of(&m.words[w], t->got));
	return t->got;
}

uint64_t memory_saw(uint64_t value)
{
	saw(named(value));
	return value;
}

void memory_load_late(uint32_t *addr, uint32_t expected)
{
	struct thread *t = self();

	assert(t->late_n < LATE);
	t->late[t->late_n].word = (unsigned int)find(addr);
	t->late[t->late_n++].expected = expected;
}

static bool has_lock(const struct thread *t, const void *addr)
{
	int w = find(addr);

	return w >= 0 && m.words[w].values[m.words[w].n - 1].value == t->tls.id.number;
}

uint64_t memory_change(void *addr, unsigned int size, const uint64_t *expected)
{
	struct thread *t = self();
	int w = t ? find(addr) : -1;
	struct word *word;
	uint64_t old;

	if (w < 0)
		return memory_saw(raw(addr, size));
	word = &m.words[w];
	t->word = (unsigned int)w;
	/* A thread with threads_lock only tries. */
	t->only_if = word->kind == LOCK && expected && !has_lock(t, &glock__threads_lock.word);
	t->expected = expected ? *expected : 0;
	/* If a thread has no store to show, no thread sees when it drops a lock. */
	if (word->kind != LOCK || expected || t->n || t->late_n)
		stop(t, CHANGES);
	settle(t);
	load_late_now(t);
	commit_all(t);
	old = word->values[word->n - 1].value;
	join(t->view, word->values[word->n - 1].view);
	saw(named_of(word, old));
	if (word->kind == LOCK)
		t->history = mix(t->history, word->history);
	if (word->kind == LOCK && expected && old != *expected)
		t->tried = w;
	return old;
}

void memory_changed(void *addr, unsigned int size, uint64_t value)
{
	struct thread *t = self();
	int w = t ? find(addr) : -1;

	memcpy(addr, &value, size);
	if (w < 0)
		return;
	if (m.words[w].kind == LOCK)
		m.words[w].history = t->history;
	add_value(t, (unsigned int)w, value, true);
}

int atom_heavy_register(void)
{
	return 0;
}

int atom_heavy_fence(void)
{
	struct thread *t = self();

	if (!t || lack == LACKS_HEAVY_FENCE)
		return 0;
	settle(t);
	load_late_now(t);
	commit_all(t);
	see_all(t);
	t->to_fence = ((1u << m.s->threads) - 1) & ~(1u << m.self);
	while (t->to_fence)
		stop(t, FENCES);
	see_all(t);
	return 0;
}

int glock__atom_hook_wait(uint32_t *addr, uint32_t expected, const struct timespec *deadline)
{
	struct thread *t = self();

	(void)deadline;
	assert(t);
	settle(t);
	if (memory_load(addr, 4, ACQUIRE) != expected)
		return -EAGAIN;
	t->addr = addr;
	stop(t, WAITS);
	return 0;
}

int glock__atom_hook_wake(uint32_t *addr, unsigned int count)
{
	int n = 0;

	(void)count;
	for (unsigned int i = 0; i < m.s->threads; i++) {
		if (m.threads[i].wants != WAITS || m.threads[i].addr != addr)
			continue;
		m.threads[i].wants = RUNS;
		n++;
	}
	return n;
}
