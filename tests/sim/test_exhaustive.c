/* SPDX-License-Identifier: MIT */
/*
 * test_exhaustive.c - runs all small schedules of two nodes, one glock and a few operations a node.
 *
 * The schedules cover every order in which messages may arrive, work may run and operations may be
 * made. A run is a list of choices. The next run takes another alternative at the last choice that
 * has one, and goes on with first alternatives. So each order occurs exactly once. Time stands
 * still, and there is no hold time: only the order matters.
 */
#include "glock/state/work.h"

#include "world.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
/* clang-format on */

#include <malloc.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH = 256 };

struct choices {
	unsigned char taken[DEPTH], of[DEPTH];
	unsigned int n, at;
};

static unsigned int choose(struct choices *c, unsigned int of)
{
	assert_in_range(of, 1, 255);
	assert_in_range(c->at, 0, DEPTH - 1);
	if (c->at == c->n) {
		c->taken[c->n] = 0;
		c->of[c->n++] = (unsigned char)of;
	}
	assert_int_equal(c->of[c->at], of);
	return c->taken[c->at++];
}

static bool next_run(struct choices *c)
{
	while (c->n && c->taken[c->n - 1] + 1 == c->of[c->n - 1])
		c->n--;
	if (!c->n)
		return false;
	c->taken[c->n - 1]++;
	c->at = 0;
	return true;
}

/* The client of each node asks in these modes, one after the other, and drops each grant. */
struct plan {
	struct {
		enum glock_mode mode;
		unsigned int flags;
		bool cancel; /* may be canceled while it waits */
	} ask[2][2];
	unsigned int asks[2];
};

struct run {
	struct world w;
	const struct plan *plan;
	unsigned int asked[2];
	bool elsewhere; /* another run has the same events in another order */
};

static bool client_can(const struct run *r, unsigned int i)
{
	const struct client *c = &r->w.client[i];

	if (c->state == IDLE)
		return r->asked[i] < r->plan->asks[i];
	return c->state == HELD || r->plan->ask[i][r->asked[i] - 1].cancel;
}

static void client_does(struct run *r, unsigned int i)
{
	struct client *c = &r->w.client[i];

	if (c->state != IDLE) {
		world_let_go(&r->w, i);
		return;
	}
	world_ask(&r->w, i, 0, r->plan->ask[i][r->asked[i]].mode,
		  r->plan->ask[i][r->asked[i]].flags);
	r->asked[i]++;
}

/*
 * A possible next event. The master and each node are a party. Possible events of different parties
 * do not affect each other, so their order makes no difference. If two successive events could have
 * come in the other order, only one order is run: the party with the lower number goes first.
 */
struct event {
	int party; /* 0, 1: nodes; 2: the master */
	char what; /* m: message, c: client, w: work */
	size_t message;
	bool before; /* it was already possible before the last event */
};

struct moment {
	bool can[4];
	uint64_t sent;
	int party;
};

static size_t events(struct run *r, const struct moment *last, struct moment *now,
		     struct event *list)
{
	struct world *w = &r->w;
	bool from_node[2] = {false, false};
	size_t n = 0, messages = glock__sim_messages(w->sim);

	now->sent = glock__sim_sent(w->sim);
	for (size_t i = 0; i < messages; i++) {
		unsigned int node;
		uint64_t order;
		bool master = glock__sim_to(w->sim, i, &node, &order) == GLOCK__SIM_MASTER;

		if (master && from_node[node])
			continue; /* a node's messages arrive in order */
		if (master)
			from_node[node] = true;
		list[n++] =
		    (struct event){master ? 2 : (int)node, 'm', i, order < last->sent && !master};
	}
	for (unsigned int i = 0; i < 2; i++) {
		now->can[i] = client_can(r, i);
		now->can[2 + i] = /* time stands still, so no deadline comes */
		    glock__work_next(w->node[i].space) <= glock__sim_now(w->sim);
		if (now->can[i])
			list[n++] = (struct event){(int)i, 'c', 0, last->can[i]};
		if (now->can[2 + i])
			list[n++] = (struct event){(int)i, 'w', 0, last->can[2 + i]};
	}
	return n;
}

/*
 * Takes one of the possible next events. Returns false if there is none, or if another run has it.
 */
static bool step(struct run *r, struct choices *c, struct moment *last)
{
	struct event list[64], *e;
	struct moment now = {.party = 0};
	size_t n = events(r, last, &now, list), kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!(list[i].party < last->party && list[i].before))
			list[kept++] = list[i];
	if (!kept) {
		r->elsewhere = n > 0;
		return false;
	}
	e = &list[choose(c, (unsigned int)kept)];
	now.party = e->party;
	*last = now;
	if (e->what == 'm')
		glock__sim_deliver(r->w.sim, e->message);
	else if (e->what == 'c')
		client_does(r, (unsigned int)e->party);
	else
		glock_dispatch(r->w.node[e->party].space);
	return true;
}

static unsigned long explore(const struct plan *plan)
{
	static struct choices c;
	static struct run r;
	struct moment last;
	unsigned long runs = 0;

	memset(&c, 0, sizeof(c));
	do {
		memset(&r, 0, sizeof(r));
		r.plan = plan;
		last = (struct moment){.party = -1};
		world_open_still(&r.w, 2);
		while (!*r.w.trouble && step(&r, &c, &last))
			world_check(&r.w);
		if (!*r.w.trouble)
			world_settle(&r.w);
		world_close(&r.w);
		if (*r.w.trouble)
			fail_msg("run %lu, after %u choices: %s", runs, c.at, r.w.trouble);
		runs += !r.elsewhere;
	} while (next_run(&c));
	return runs;
}

/*
 * The part of the plans that this process explores: every `of`th, from the `first`th on. Parts 1/N
 * to N/N are all plans, because the number of a plan decides its part.
 */
static struct {
	unsigned int first, of;
} part = {1, 1};

static bool in_part(unsigned long plan)
{
	return plan % part.of == part.first - 1;
}

static const enum glock_mode modes[] = {GLOCK_SH, GLOCK_DF, GLOCK_EX};

/* Each node asks one time: every pair of modes, every kind of request, canceled or not. */
static void exhaustive_one_each(void **state)
{
	static const unsigned int flags[] = {0, GLOCK__TRY_NOQUEUE, GLOCK_TRY_1CB, GLOCK_NOCACHE,
					     GLOCK_TRY};
	unsigned long runs = 0, plans = 0;

	(void)state;
	for (int a = 0; a < 3; a++)
		for (int b = 0; b < 3; b++)
			for (int f = 0; f < 5; f++)
				for (int cancel = 0; cancel < 2; cancel++) {
					const struct plan p = {
					    .ask = {{{modes[a], flags[f], cancel}},
						    {{modes[b], 0, false}}},
					    .asks = {1, 1}};

					if (in_part(plans++))
						runs += explore(&p);
				}
	print_message("# part %u of %u of %lu plans, %lu runs\n", part.first, part.of, plans, runs);
}

/* One node asks twice, caching or not, and the other once: six operations with the releases. */
static void exhaustive_twice_and_once(void **state)
{
	static const unsigned int flags[] = {0, GLOCK_NOCACHE};
	unsigned long runs = 0, plans = 0;

	(void)state;
	for (int n = 0; n < 3 * 3 * 3 * 2; n++) {
		const enum glock_mode first = modes[n % 3], second = modes[n / 3 % 3],
				      other = modes[n / 9 % 3];
		const struct plan p = {.ask = {{{first, flags[n / 27], false}, {second, 0, false}},
					       {{other, 0, false}}},
				       .asks = {2, 1}};

		if (in_part(plans++))
			runs += explore(&p);
	}
	print_message("# part %u of %u of %lu plans, %lu runs\n", part.first, part.of, plans, runs);
}

/* [TEST [K/N]]: only that test; of its plans every Nth, from the Kth on */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(exhaustive_one_each),
	    cmocka_unit_test(exhaustive_twice_and_once),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	if (argc > 2 && (sscanf(argv[2], "%u/%u", &part.first, &part.of) != 2 || !part.first ||
			 part.first > part.of)) {
		fprintf(stderr, "%s: not a part\n", argv[2]);
		return 2;
	}
	mallopt(M_TRIM_THRESHOLD, 64 << 20); /* each run allocates and frees the same amount */
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
