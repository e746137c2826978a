/* SPDX-License-Identifier: MIT */
/* explore.c - runs a scenario in all orders that the modelled memory allows. */
#include "memory_impl.h"

#include "sim/fiber.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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
