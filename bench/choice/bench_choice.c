/* SPDX-License-Identifier: MIT */
/*
 * bench_choice.c - the rules of an allocator beside each other, and the goals of glock_choose().
 * allocator.h describes the allocator.
 *
 *	bench_choice [-s SEEDS] [-t THREADS] [-m MS] [-h HOLD_NS] [-n NODES] [-c CASE] [-r RULE]
 *	bench_choice --check
 *
 * Prints thousands of blocks a second, as means over the seeds. --check is a test: it runs a few
 * loads for a short time, and prints TAP.
 */
#include "allocator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RULES_MAX = 8 };

static const struct load cases[] = {
    {.name = "free"},
    {.name = "8 slow", .slow = 8},
    {.name = "16 taken", .taken = 16},
    {.name = "28 taken", .taken = 28},
    {.name = "16 busy", .busy = 16},
    {.name = "28 busy", .busy = 28},
    {.name = "fills", .fills = true},
};

struct result {
	struct outcome of[RULES_MAX]; /* means over the seeds */
};

static struct options {
	unsigned int seeds, threads, nodes;
	const char *only, *rule;
	int64_t length, hold;
} opt = {.seeds = 3, .threads = 1, .length = 3000000000};

static struct result measure(const struct load *load)
{
	struct result sum = {0};

	for (size_t r = 0; r < n_rules; r++) {
		struct load l = *load;

		if (opt.rule && strcmp(opt.rule, rules[r].name))
			continue;
		for (l.seed = 1; l.seed <= opt.seeds; l.seed++) {
			struct outcome o = allocator_run(&l, rules[r].get);

			sum.of[r].per_s += o.per_s / opt.seeds;
			sum.of[r].least += o.least / opt.seeds;
			sum.of[r].hand_overs += o.hand_overs / opt.seeds;
		}
	}
	return sum;
}

/* ---- goals ---- */

static double of(const struct result *res, const char *rule)
{
	for (size_t r = 0; r < n_rules; r++)
		if (!strcmp(rules[r].name, rule))
			return res->of[r].per_s;
	return 0;
}

/* No rule gets more: each thread takes a block in use and gap. */
static double bound(const struct load *l)
{
	return l->nodes * l->threads * 1e9 / (USE_NS + GAP_NS);
}

/* The part of the bound that is asked where 1.4 times another rule would be more. */
static const double NEAR = 0.9;

static unsigned int n_goals, n_missed;
static bool tap;

static void goal(const struct load *l, const char *what, double value, double least)
{
	bool ok = value >= least;

	n_goals++;
	n_missed += !ok;
	if (tap)
		printf("%sok %u - %s, %u nodes: %s: %.3f, goal %.2f\n", ok ? "" : "not ", n_goals,
		       l->name, l->nodes, what, value, least);
	else if (!ok)
		printf("  missed: %s: %.3f, goal %.2f\n", what, value, least);
}

/*
 * The goals of a load: 1.4 times another rule. Where the other rule is near the bound, no rule can
 * be 1.4 times as fast. There the goal is a part of the bound.
 */
static void check_goals(const struct load *l, const struct result *res)
{
	static const char *const others[] = {"GFS2", "blind", "random"};
	double chosen = of(res, "choose"), best = bound(l);
	unsigned int others_have = l->taken + l->busy;

	goal(l, "by the sticky try", chosen / of(res, "sticky"), 0.92);
	for (size_t i = 0; (l->slow || others_have) && i < 3; i++)
		goal(l, others[i], chosen / of(res, others[i]),
		     fmin(1.4, NEAR * best / of(res, others[i])));
	if (others_have == GROUPS / 2)
		goal(l, "by the bound", chosen / best, 0.9);
	if (GROUPS - others_have >= l->nodes)
		for (size_t r = 0; r < n_rules; r++)
			if (!strcmp(rules[r].name, "choose"))
				goal(l, "uses without a hand-over", 1 - res->of[r].hand_overs,
				     0.99);
}

/* ---- a table, or a test ---- */

static void print_head(void)
{
	printf("%-9s %5s %7s", "groups", "nodes", "bound");
	for (size_t r = 0; r < n_rules; r++)
		printf(" %11s", rules[r].name);
	printf(" %6s %10s\n", "least", "hand-overs");
}

static void print_row(const struct load *l, const struct result *res)
{
	const struct outcome *o = &res->of[n_rules - 1];

	printf("%-9s %5u %7.1f", l->name, l->nodes, bound(l) / 1000);
	for (size_t r = 0; r < n_rules; r++)
		printf(" %11.1f", res->of[r].per_s / 1000);
	printf(" %6.2f %9.3f%%\n", o->least, 100 * o->hand_overs);
	fflush(stdout);
}

static int table(void)
{
	print_head();
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		for (unsigned int n = 2; n <= NODES_MAX; n *= 2) {
			struct load l = cases[c];
			struct result res;

			if ((opt.only && strcmp(opt.only, l.name)) || (opt.nodes && n != opt.nodes))
				continue;
			l.nodes = n;
			l.threads = opt.threads;
			l.length = opt.length;
			l.hold = opt.hold;
			res = measure(&l);
			print_row(&l, &res);
			if (!opt.rule)
				check_goals(&l, &res);
		}
	}
	printf("goals: %u of %u\n", n_goals - n_missed, n_goals);
	return n_missed != 0;
}

static int check(void)
{
	static const struct load few[] = {
	    {.name = "8 slow", .slow = 8, .nodes = 8},
	    {.name = "16 taken", .taken = 16, .nodes = 8},
	    {.name = "28 taken", .taken = 28, .nodes = 8},
	    {.name = "fills", .fills = true, .nodes = 4},
	};

	tap = true;
	opt.seeds = 2;
	for (size_t i = 0; i < sizeof(few) / sizeof(*few); i++) {
		struct load l = few[i];
		struct result res;

		l.threads = 1;
		l.length = 3000000000;
		res = measure(&l);
		check_goals(&l, &res);
	}
	printf("1..%u\n", n_goals);
	return n_missed != 0;
}

int main(int argc, char **argv)
{
	int c;

	if (argc == 2 && !strcmp(argv[1], "--check"))
		return check();
	while ((c = getopt(argc, argv, "s:t:m:h:n:c:r:")) != -1) {
		if (c == 's')
			opt.seeds = (unsigned int)atoi(optarg);
		else if (c == 't')
			opt.threads = (unsigned int)atoi(optarg);
		else if (c == 'm')
			opt.length = atoll(optarg) * 1000000;
		else if (c == 'h')
			opt.hold = atoll(optarg);
		else if (c == 'n')
			opt.nodes = (unsigned int)atoi(optarg);
		else if (c == 'c')
			opt.only = optarg;
		else if (c == 'r')
			opt.rule = optarg;
		else
			return 2;
	}
	if (optind < argc || !opt.seeds || !opt.threads || opt.threads > THREADS_MAX) {
		fputs("usage: see bench_choice.c\n", stderr);
		return 2;
	}
	return table();
}
