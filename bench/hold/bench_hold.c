/* SPDX-License-Identifier: MIT */
/*
 * bench_hold.c - compares hold times on a grid of loads, in virtual time.
 *
 * Usage: bench_hold [-j JOBS] [-t THREADS] [-s SEED] [-e EVERY] [-f FIRST] [-b FILE]
 *
 * -b FILE takes the results of the fixed hold times, and of GFS2's rule, from an earlier output.
 *
 * Without SEED the grid is the fixed one of 990 cells; with SEED 243 cells are drawn at random.
 * Each cell is run with 18 fixed hold times and with each policy. THREADS is the number of threads
 * of each node, 1 or 4. Of the cells every EVERYth is run, from FIRST on. A line for each cell goes
 * to the standard output; report.py turns the lines into percentages and a picture.
 */
#include "load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HOLDS = 18, CELLS_EVEN = 972, CELLS = CELLS_EVEN + 18, CELLS_RANDOM = 243 };
enum { USES = 150000, USES_PHASES = 600000, USES_P99 = 600000 };

#define US 1000ll
#define MS 1000000ll

struct result {
	struct outcome fixed[HOLDS], policy[POLICIES];
	struct outcome best_p99, ours_p99;
	unsigned int best, shortest; /* the best fixed hold, and the shortest within 5 % of it */
	bool done;
};

static struct {
	uint32_t next;
	struct outcome one[64]; /* of each job, the run that goes on */
	struct result result[CELLS];
} * sh;

static const char *const arrival_names[ARRIVALS_ALL] = {
    "exponential", "constant", "bursts", "phases", "tens", "polled", "polled-said"};
static unsigned int threads = 1, every = 1, first;
static uint64_t seed;
static unsigned int n_cells = CELLS;

static int64_t hold_of(unsigned int i)
{
	return i ? 10 * US << (i - 1) : 0;
}

/* ---- the cells ---- */

/* Bursts of ten uses, and a queue that nodes look into until they find something. */
static struct cell edge_cell(unsigned int i)
{
	static const int64_t pause[] = {300 * US, 900 * US, 30 * MS},
			     look[] = {100 * US, 200 * US, 400 * US};
	struct cell c = {.threads = threads, .seed = 1000 + i, .hand_over = 300 * US, .io = 0.5};
	bool polled = i % 2;

	i /= 2;
	c.arrivals = polled ? POLLED_SAID : TENS;
	c.use = polled ? 5 * US : 10 * US;
	c.gap = polled ? 20 * US : pause[i % 3];
	c.other_gap = polled ? look[i % 3] : 0;
	c.nodes = 2 + 2 * (i / 3);
	return c;
}

static struct cell fixed_cell(unsigned int i)
{
	static const unsigned int nodes[] = {2, 8, 64};
	static const int64_t gap[] = {0, 500 * US, 20 * MS}, use[] = {10 * US, 300 * US, 10 * MS},
			     hand_over[] = {20 * US, 300 * US, 5 * MS};
	static const double share[] = {0, 0.5, 0.95};
	struct cell c = {.threads = threads, .seed = 1000 + i};

	if (i >= CELLS_EVEN)
		return edge_cell(i - CELLS_EVEN);
	c.arrivals = i % ARRIVALS, i /= ARRIVALS;
	c.sh = share[i % 3], i /= 3;
	c.hand_over = hand_over[i % 3], i /= 3;
	c.use = use[i % 3], i /= 3;
	c.gap = gap[i % 3];
	c.other_gap = gap[(i + 1) % 3], i /= 3;
	c.nodes = nodes[i % 3];
	return c;
}

static double draw(uint64_t *dice)
{
	uint64_t z = *dice += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (double)((z ^ z >> 31) >> 11) / (double)(1ull << 53);
}

/* Draws a number whose logarithm is uniform. */
static int64_t draw_log(uint64_t *dice, double least, double most)
{
	return (int64_t)(least * pow(most / least, draw(dice)));
}

static struct cell random_cell(unsigned int i)
{
	uint64_t dice = seed * 1000003 + i;
	struct cell c = {.threads = threads, .seed = dice};

	c.nodes = (unsigned int)draw_log(&dice, 2, 65);
	c.gap = draw(&dice) < 1.0 / 3 ? 0 : draw_log(&dice, 500e3, 20e6);
	c.other_gap = draw(&dice) < 1.0 / 3 ? 0 : draw_log(&dice, 500e3, 20e6);
	c.use = draw_log(&dice, 10e3, 10e6);
	c.hand_over = draw_log(&dice, 20e3, 5e6);
	c.sh = draw(&dice) < 1.0 / 3 ? 0 : 0.95 * draw(&dice);
	c.io = draw(&dice) < 1.0 / 3 ? 0 : 0.8 * draw(&dice);
	c.arrivals = (enum arrivals)(draw(&dice) * ARRIVALS);
	return c;
}

static struct cell cell_of(unsigned int i)
{
	return seed ? random_cell(i) : fixed_cell(i);
}

/* ---- runs ---- */

/* Runs a load in a child, which leaves all memory to the kernel. */
static struct outcome run_apart(unsigned int job, const struct cell *c, const struct run *r)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		sh->one[job] = load_run(c, r);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "hold: a run ended with status %d\n", status);
		exit(1);
	}
	return sh->one[job];
}

/* The virtual time in which some hundred hand-overs and some thousand uses take place. */
static int64_t time_of(const struct cell *c)
{
	int64_t t =
	    2600 * c->hand_over + 2000 * c->use + 3000 * c->gap / (c->nodes < 8 ? c->nodes : 8);

	if (c->arrivals == PHASES && t < 6000 * MS)
		t = 6000 * MS;
	return t;
}

static void run_fixed(unsigned int job, const struct cell *c, struct run r, struct result *res)
{
	double best = 0;

	for (unsigned int i = 0; i < HOLDS; i++) {
		r.policy = FIXED;
		r.hold = hold_of(i);
		res->fixed[i] = run_apart(job, c, &r);
		if (res->fixed[i].per_s > best) {
			best = res->fixed[i].per_s;
			res->best = i;
		}
	}
	for (enum policy p = OURS + 1; p < POLICIES; p++) {
		r.policy = p;
		res->policy[p] = run_apart(job, c, &r);
	}
	while (res->fixed[res->shortest].per_s < 0.95 * best)
		res->shortest++;
}

static void run_cell(unsigned int job, const struct cell *c, struct result *res)
{
	struct run r = {.until = time_of(c), .uses_max = USES};

	/* Ten hand-overs of each node. */
	r.warm = 10 * c->nodes * (c->hand_over + c->use) + r.until / 10;

	if (c->arrivals == PHASES)
		r.uses_max = USES_PHASES;
	if (!res->done)
		run_fixed(job, c, r, res);
	r.policy = OURS;
	res->policy[OURS] = run_apart(job, c, &r);
	r.uses_max = USES_P99;
	if (r.until < 500ll * c->nodes * c->hand_over)
		r.until = 500ll * c->nodes * c->hand_over;
	res->ours_p99 = run_apart(job, c, &r);
	r.policy = FIXED;
	r.hold = hold_of(res->shortest);
	if (!res->done)
		res->best_p99 = run_apart(job, c, &r);
}

/* Reads an earlier output. The first column is the number of the cell. */
static void read_earlier(const char *path)
{
	char line[1000];
	FILE *f = fopen(path, "r");

	if (!f) {
		perror(path);
		exit(1);
	}
	while (fgets(line, sizeof(line), f)) {
		double best, per_s, shortest, p99, gfs2, none;
		struct result *r;
		unsigned int i;

		if (sscanf(line,
			   "%u %*s %*s %*s %*s %*s %*s %*s %*s %*s %lf %lf %lf %lf %*s %*s %lf "
			   "%lf",
			   &i, &best, &per_s, &shortest, &p99, &gfs2, &none) != 7 ||
		    i >= CELLS)
			continue;
		r = &sh->result[i];
		while (r->best < HOLDS - 1 && (double)hold_of(r->best) < best * 1e6 * 0.99)
			r->best++;
		while (r->shortest < HOLDS - 1 &&
		       (double)hold_of(r->shortest) < shortest * 1e6 * 0.99)
			r->shortest++;
		r->fixed[r->best].per_s = per_s;
		r->best_p99.p99 = p99 * 1e6;
		r->policy[GFS2].per_s = gfs2 * per_s;
		if (r->best)
			r->fixed[0].per_s = none * per_s;
		r->done = true;
	}
	fclose(f);
}

static void work(unsigned int job)
{
	unsigned int i;

	while ((i = first + every * __atomic_fetch_add(&sh->next, 1, __ATOMIC_RELAXED)) < n_cells) {
		struct cell c = cell_of(i);

		run_cell(job, &c, &sh->result[i]);
	}
}

static void print_cell(unsigned int i)
{
	const struct result *r = &sh->result[i];
	struct cell c = cell_of(i);

	printf("%u\t%u\t%u\t%g\t%g\t%g\t%g\t%g\t%g\t%s", i, c.nodes, c.threads, (double)c.gap / 1e6,
	       (double)c.other_gap / 1e6, (double)c.use / 1e6, (double)c.hand_over / 1e6, c.sh,
	       c.io, arrival_names[c.arrivals]);
	printf("\t%g\t%.1f\t%g\t%.4g\t%.4g", (double)hold_of(r->best) / 1e6,
	       r->fixed[r->best].per_s, (double)hold_of(r->shortest) / 1e6, r->best_p99.p99 / 1e6,
	       r->ours_p99.p99 / 1e6);
	for (enum policy p = OURS; p < POLICIES; p++)
		printf("\t%.4f", r->policy[p].per_s / r->fixed[r->best].per_s);
	printf("\t%.4f\t%.4f\n", r->fixed[0].per_s / r->fixed[r->best].per_s, r->ours_p99.least);
}

int main(int argc, char **argv)
{
	const char *earlier = NULL;
	unsigned int jobs = 2;
	int opt;

	while ((opt = getopt(argc, argv, "j:t:s:e:f:b:")) > 0) {
		unsigned long n = strtoul(optarg, NULL, 10);

		if (opt == 'j')
			jobs = n < 64 ? (unsigned int)n : 63;
		else if (opt == 't')
			threads = n > 1 ? 4 : 1;
		else if (opt == 's')
			seed = n, n_cells = n ? CELLS_RANDOM : CELLS;
		else if (opt == 'e')
			every = n ? (unsigned int)n : 1;
		else if (opt == 'b')
			earlier = optarg;
		else if (opt == 'f')
			first = (unsigned int)n;
		else
			return 2;
	}
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED)
		return 1;
	if (earlier)
		read_earlier(earlier);
	for (unsigned int job = 0; job < jobs; job++) {
		if (fork())
			continue;
		work(job);
		_exit(0);
	}
	for (int status; wait(&status) > 0;)
		if (status)
			return 1;
	for (unsigned int i = first; i < n_cells; i += every)
		print_cell(i);
	return 0;
}
