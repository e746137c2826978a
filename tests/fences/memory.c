/* SPDX-License-Identifier: MIT */
/* memory.c - see memory.h. */
#include "memory.h"

#include "glock/publish/thread.h"
#include "sim/fiber.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 96, VALUES = 200, STORES = 12, NAMES = 16, CHOICES = 4000, LATE = 4, BUCKETS = 512 };

struct value {
	uint64_t value;
	uint8_t view[WORDS]; /* what an acquire load of it sees */
};

struct word {
	char *addr;
	unsigned int size;
	enum word_kind kind;
	unsigned int n; /* values */
	struct value values[VALUES];
	uint64_t history; /* LOCK: of the thread that had it last */
};

struct store {
	unsigned int word;
	uint64_t value;
	bool release;
	bool moved; /* the compiler may move it: a heavy fence does not show it */
};

enum wants { RUNS, LOADS, CHANGES, WAITS, FENCES, ENDED };

struct thread {
	struct fiber *fiber;
	struct glock__tls tls;
	enum wants wants;
	unsigned int word; /* of LOADS, CHANGES */
	uint32_t *addr;    /* of WAITS */
	bool only_if;      /* CHANGES: waits until the word is `expected` */
	uint64_t expected;
	int tried;             /* the lock that the thread tried in vain, or -1 */
	unsigned int to_fence; /* FENCES: bits of the threads that still get one */
	uint64_t got;          /* the result of a load */
	uint64_t history;
	unsigned int n; /* stores */
	struct store stores[STORES];
	uint8_t view[WORDS];
	unsigned int late_n;
	struct {
		unsigned int word;
		uint32_t expected;
	} late[LATE];
};

static struct {
	const struct scenario *s;
	bool arm, modelled;
	struct word words[WORDS];
	unsigned int n_words;
	uint8_t bucket[BUCKETS]; /* word + 1 */
	struct thread threads[THREADS_MAX];
	int self; /* -1: none */
	const void *names[NAMES];
	unsigned int n_names;
	/* The way of this execution: how many choices there were, and which one it takes. */
	struct {
		uint16_t n, chosen;
	} choice[CHOICES];
	unsigned int depth, at;
	const char *wrong;
	uint64_t *seen;
	size_t seen_n, seen_room;
} m;

enum lack lack;

/* ---- hashes ---- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
	h *= 0xff51afd7ed558ccdull;
	return h ^ h >> 32;
}

/* Replaces addresses by names. Only a PLAIN word or a word of the machine has addresses. */
static uint64_t named(uint64_t v)
{
	if (v < 1ull << 32 || v >> 48)
		return v;
	for (unsigned int i = 0; i < m.n_names; i++)
		if (v == (uintptr_t)m.names[i])
			return i + 1;
	return 0;
}

static uint64_t named_of(const struct word *w, uint64_t v)
{
	return w->kind == WORD ? v : named(v);
}

static void saw(uint64_t v)
{
	if (m.self >= 0)
		m.threads[m.self].history = mix(m.threads[m.self].history, v);
}

static bool is_new(uint64_t h)
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
static uint64_t state_hash(void)
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

static uint64_t raw(const void *addr, unsigned int size)
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

static void join(uint8_t *to, const uint8_t *from)
{
	for (unsigned int i = 0; i < m.n_words; i++)
		if (from[i] > to[i])
			to[i] = from[i];
}

static void see_all(struct thread *t)
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

static bool may_commit(const struct thread *t, unsigned int k)
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

static void commit(struct thread *t, unsigned int k)
{
	struct store s = t->stores[k];

	memmove(&t->stores[k], &t->stores[k + 1], (t->n - k - 1) * sizeof(s));
	t->n--;
	add_value(t, s.word, s.value, s.release);
}

static void commit_all(struct thread *t)
{
	for (unsigned int i = 0; i < t->n; i++)
		t->stores[i].moved = false;
	while (t->n)
		commit(t, 0);
}

/* A late load returns the last value at best. */
static void load_late_now(struct thread *t)
{
	for (unsigned int i = 0; i < t->late_n; i++) {
		const struct word *w = &m.words[t->late[i].word];

		if (w->values[w->n - 1].value != t->late[i].expected)
			memory_wrong("a holder read what a later holder wrote");
	}
	t->late_n = 0;
}

/* A full fence of the hardware. The compiler may still move a store behind it. */
static void fence_thread(struct thread *t)
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

void memory_light_store(void *addr, unsigned int size, uint64_t value)
{
	struct thread *t = self();
	int w = t ? find(addr) : -1;
	bool release = lack != (value ? LACKS_RELEASE_OF_USED : LACKS_RELEASE_OF_LEAVE);

	memcpy(addr, &value, size);
	if (w < 0)
		return;
	settle(t);
	if (release)
		load_late_now(t);
	issue(t, (unsigned int)w, value, release, true);
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
		return memory_saw(addr, raw(addr, size));
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

uint64_t memory_saw(const void *addr, uint64_t value)
{
	(void)addr;
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
		return memory_saw(addr, raw(addr, size));
	word = &m.words[w];
	t->word = (unsigned int)w;
	/* A thread with threads_lock only tries. */
	t->only_if = word->kind == LOCK && expected && !has_lock(t, &glock__threads_lock.word);
	t->expected = expected ? *expected : 0;
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

int memory_wait(uint32_t *addr, uint32_t expected, const struct timespec *deadline)
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

int memory_wake(uint32_t *addr, unsigned int count)
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

/* ---- the explorer ---- */

struct glock__tls *glock__tls(void)
{
	static struct glock__tls outside;

	return m.self >= 0 ? &m.threads[m.self].tls : &outside;
}

struct glock__tls *memory_tls(unsigned int i)
{
	return &m.threads[i].tls;
}

bool glock__thread_lives(pid_t tid)
{
	(void)tid;
	return true;
}

static void body(void *arg)
{
	unsigned int i = (unsigned int)((struct thread *)arg - m.threads);

	m.s->run(i);
	m.threads[i].wants = ENDED;
}

static void resume(unsigned int i)
{
	struct thread *t = &m.threads[i];

	m.self = (int)i;
	if (!fiber_run(t->fiber)) {
		load_late_now(t);
		commit_all(t);
		fiber_free(t->fiber);
		t->fiber = NULL;
		t->wants = ENDED;
	}
	m.self = -1;
}

/* Counts what a thread may do now; if `nth` is not negative, does the nth of these. */
static int steps_of(unsigned int i, int nth)
{
	struct thread *t = &m.threads[i];
	struct word *w = &m.words[t->word];
	int n = 0;

	for (unsigned int k = 0; k < t->n; k++)
		if (may_commit(t, k) && n++ == nth)
			commit(t, k);
	switch (t->wants) {
	case RUNS:
		if (n++ == nth)
			resume(i);
		break;
	case LOADS: {
		unsigned int first = m.arm ? t->view[t->word] : w->n - 1;

		for (unsigned int k = t->n; k--;) {
			if (t->stores[k].word != t->word)
				continue;
			if (n++ == nth) {
				t->got = t->stores[k].value;
				resume(i);
			}
			return n;
		}
		for (unsigned int k = first; k < w->n; k++) {
			if (n++ != nth)
				continue;
			t->got = w->values[k].value;
			t->view[t->word] = (uint8_t)k;
			if (t->expected)
				join(t->view, w->values[k].view);
			resume(i);
			return n;
		}
		break;
	}
	case CHANGES:
		if (t->only_if && w->values[w->n - 1].value != t->expected)
			break;
		/* After a try in vain the thread waits for that lock, and does not spin. */
		if (t->only_if && t->tried >= 0) {
			const struct word *tried = &m.words[t->tried];

			if (tried->values[tried->n - 1].value)
				break;
			if (n == nth)
				t->tried = -1;
		}
		if (n++ == nth)
			resume(i);
		break;
	case FENCES:
		for (unsigned int k = 0; k < m.s->threads; k++) {
			if (!(t->to_fence & 1u << k) || n++ != nth)
				continue;
			fence_thread(&m.threads[k]);
			t->to_fence &= ~(1u << k);
			if (!t->to_fence)
				resume(i);
			return n;
		}
		break;
	default:
		break;
	}
	return n;
}

static bool all_ended(void)
{
	for (unsigned int i = 0; i < m.s->threads; i++)
		if (m.threads[i].wants != ENDED)
			return false;
	return true;
}

/* Chooses what comes next. Returns false at the end of the execution, or in a known state. */
static bool step(void)
{
	int n[THREADS_MAX], all = 0, nth;

	for (unsigned int i = 0; i < m.s->threads; i++)
		all += n[i] = steps_of(i, -1);
	if (!all) {
		if (!all_ended())
			memory_wrong("a thread waits for ever");
		return false;
	}
	if (m.at == m.depth) {
		if (!is_new(state_hash()))
			return false;
		assert(m.depth < CHOICES);
		m.choice[m.depth].n = (uint16_t)all;
		m.choice[m.depth++].chosen = 0;
	}
	assert(m.choice[m.at].n == all);
	nth = m.choice[m.at++].chosen;
	for (unsigned int i = 0; i < m.s->threads; i++) {
		if (nth < n[i]) {
			steps_of(i, nth);
			return !m.wrong;
		}
		nth -= n[i];
	}
	return false;
}

static void execute(void)
{
	const struct scenario *s = m.s;

	m.n_words = m.n_names = 0;
	memset(m.bucket, 0, sizeof(m.bucket));
	m.at = 0;
	m.self = -1;
	m.modelled = false;
	s->open();
	for (unsigned int i = 0; i < s->threads; i++) {
		m.threads[i] = (struct thread){.tls = *glock__tls(), .tried = -1};
		m.threads[i].tls.fast = (struct glock__fast_slots){0};
		m.threads[i].tls.id.number = i + 1;
		m.threads[i].tls.id.tid = (pid_t)(i + 100);
		m.self = (int)i;
		s->before(i);
		m.self = -1;
	}
	for (unsigned int i = 0; i < s->threads; i++) {
		m.threads[i].fiber = fiber_new(body, &m.threads[i]);
		m.threads[i].wants = RUNS;
		see_all(&m.threads[i]);
	}
	for (unsigned int w = 0; w < m.n_words; w++)
		m.words[w].values[0].value = raw(m.words[w].addr, m.words[w].size);
	m.modelled = true;
	while (step())
		;
	m.modelled = false;
	if (!m.wrong && all_ended())
		s->after();
	for (unsigned int i = 0; i < s->threads; i++)
		if (m.threads[i].fiber)
			fiber_free(m.threads[i].fiber);
	s->close();
}

struct explored explore(const struct scenario *s, bool arm, unsigned long most)
{
	struct explored e = {0};

	m.s = s;
	m.arm = arm;
	m.depth = 0;
	m.wrong = NULL;
	m.seen_n = 0;
	memset(m.seen, 0, m.seen_room * sizeof(*m.seen));
	do {
		execute();
		e.executions++;
		while (m.depth && m.choice[m.depth - 1].chosen + 1 == m.choice[m.depth - 1].n)
			m.depth--;
		if (m.depth)
			m.choice[m.depth - 1].chosen++;
	} while (m.depth && !m.wrong && e.executions < most);
	e.wrong = m.wrong;
	e.complete = !m.depth;
	e.states = m.seen_n;
	return e;
}
