/* SPDX-License-Identifier: MIT */
/*
 * hold_node.c - the processes of one machine that use locks, for a load and a hold time.
 *
 * Usage: hold_node LOCKMAN SPACE LOAD FIRST STEP HOLD_MAX_NS
 *        hold_node list
 *
 * Starts the processes FIRST, FIRST + STEP, ... of the load, and prints "ready". On one machine
 * FIRST is 0 and STEP is 1. Each line "HOLD MS" of the input is a run with that hold time, see
 * hold_of(). A run has locks of its own. All machines get the same lines. Prints for each run:
 *
 *	USES SUM_NS CPU_US WALL_US [BUCKET:COUNT ...]
 *
 * SUM_NS is the sum of the waits, and CPU_US the time that the processes ran on a CPU. The buckets
 * count waits of 20 us or more. A bucket is a sixteenth of a power of two.
 *
 * list prints the loads, one a line: the number of processes, and the name.
 */
#include "glock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 64, LEAVES = 511, ONCE_US = 60000, BUCKETS = 16 * 28 };

/* Hold times: the default; none; 10 us to 655 ms in factors of 2; instead of glocks, flock(2). */
enum { DEFAULT, NONE, FIRST, HOLDS = FIRST + 17, FLOCK = HOLDS };
enum { TYPE = GLOCK_TYPE_OWN, JOB = TYPE + HOLDS };

enum kind {
	LOOP,  /* one lock in EX */
	TREE,  /* a lock in SH, and inside that a random leaf in EX */
	QUEUE, /* a number from a value block, then a lock of that number for 2 ms */
	ONCE,  /* the first process uses each lock once; the other one asks for it later */
};

static const struct load {
	const char *name;
	unsigned int processes;
	enum kind kind;
	unsigned int use_us, gap_us; /* a wait, or 0 */
} loads[] = {
    {"one use, another process asks", 2, ONCE, 0, 0},
    {"2 processes, 20 ms of other work", 2, LOOP, 0, 20000},
    {"4 processes, root SH, leaf EX", 4, TREE, 0, 0},
    {"6 workers, a queue, jobs of 2 ms", 6, QUEUE, 0, 2000},
    {"2 processes, no other work", 2, LOOP, 0, 0},
    {"4 processes, no other work", 4, LOOP, 0, 0},
    {"4 processes, uses of 300 us", 4, LOOP, 300, 0},
    {"4 processes, uses and gaps of 300 us", 4, LOOP, 300, 300},
    {"4 processes, gaps of 100 us", 4, LOOP, 0, 100},
    {"2 processes, gaps of 5 ms", 2, LOOP, 0, 5000},
    {"64 processes, no other work", PROCESSES, LOOP, 0, 0},
};
enum { LOADS = sizeof(loads) / sizeof(*loads) };

static int64_t hold_of(unsigned int i)
{
	return i == DEFAULT ? 0 : i == NONE ? GLOCK_HOLD_NONE : 10000ll << (i - FIRST);
}

/* The processes of this machine share these fields. The number of a run stops it. */
static struct shared {
	_Atomic unsigned int ready, go, stop;
	_Atomic bool over;
	unsigned int hold; /* of the run */
	sem_t begin[PROCESSES];
	struct count {
		_Alignas(64) uint64_t uses, cpu_us;
		int64_t sum;
		uint32_t waits[BUCKETS];
	} of[PROCESSES];
} * sh;

static const struct load *load;
static struct glock_space *space;
static unsigned int me; /* the number of this process in the load */
static unsigned int dice;

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "hold_node: %s: %s\n", what, strerror(-err));
	_exit(1);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void pause_us(unsigned int us)
{
	const struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000l};

	if (us)
		nanosleep(&t, NULL);
}

/* ---- a use ---- */

static unsigned int bucket_of(uint64_t us)
{
	unsigned int octave = 63 - (unsigned int)__builtin_clzll(us | 1);
	unsigned int part = octave >= 4 ? us >> (octave - 4) & 15 : us << (4 - octave) & 15;
	unsigned int bucket = 16 * octave + part;

	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

static void note(int64_t began)
{
	int64_t wait = now_ns() - began;
	struct count *c = &sh->of[me];

	if (sh->stop != sh->go) {
		c->uses++;
		c->sum += wait;
	}
	if (wait >= 20000)
		c->waits[bucket_of((uint64_t)wait / 1000)]++;
}

static struct glock *get(unsigned int type, uint64_t number)
{
	struct glock *gl;

	/* A run has locks of its own. */
	must(glock_get(space, type, (uint64_t)sh->go * 1000000 + number, &gl), "glock_get");
	return gl;
}

static void take(struct glock_holder *gh, struct glock *gl, enum glock_mode mode,
		 unsigned int flags)
{
	glock_holder_init(gh, gl, mode, flags);
	must(glock_nq(gh), "glock_nq");
}

static void use_tree(struct glock *root)
{
	struct glock *gl = get(TYPE + sh->hold, 1 + (uint64_t)rand_r(&dice) % LEAVES);
	struct glock_holder r, leaf;
	int64_t began = now_ns();

	take(&r, root, GLOCK_SH, 0);
	take(&leaf, gl, GLOCK_EX, 0);
	note(began);
	glock_dq(&r);
	glock_dq(&leaf);
	glock_put(gl);
}

static void use_queue(struct glock *queue)
{
	int32_t job[GLOCK_LVB_SIZE / sizeof(int32_t)] = {0};
	struct glock_holder gh;
	int64_t began = now_ns();
	struct glock *gl;
	int err;

	take(&gh, queue, GLOCK_EX, 0);
	note(began);
	err = glock_lvb_read(&gh, job);
	must(err == -ENODATA ? 0 : err, "glock_lvb_read"); /* the first use */
	job[0]++;
	must(glock_lvb_write(&gh, job), "glock_lvb_write");
	glock_dq(&gh);
	gl = get(JOB, (uint64_t)job[0]);
	take(&gh, gl, GLOCK_EX, GLOCK_NOCACHE);
	pause_us(load->gap_us);
	glock_dq(&gh);
	glock_put(gl);
}

static void use_loop(struct glock *gl)
{
	struct glock_holder gh;
	int64_t began = now_ns();

	take(&gh, gl, GLOCK_EX, 0);
	note(began);
	pause_us(load->use_us);
	glock_dq(&gh);
	pause_us(load->gap_us);
}

/* The first process uses the lock at the begin of each period, the other one in the middle. */
static void use_once(int64_t run_began, unsigned int i)
{
	int64_t begin = run_began + i * ONCE_US * 1000ll + me * ONCE_US * 500ll;
	struct glock *gl = get(TYPE + sh->hold, 1 + i);
	struct glock_holder gh;

	while (now_ns() < begin && sh->stop != sh->go)
		pause_us(1000);
	if (sh->stop == sh->go) {
		glock_put(gl);
		return;
	}
	begin = now_ns();
	take(&gh, gl, GLOCK_EX, 0);
	if (me)
		note(begin);
	glock_dq(&gh);
	glock_put(gl);
}

static void use_flock(int fd)
{
	int64_t began = now_ns();

	must(flock(fd, LOCK_EX) ? -errno : 0, "flock");
	note(began);
	pause_us(load->use_us);
	flock(fd, LOCK_UN);
	pause_us(load->gap_us);
}

/* ---- a process ---- */

static void open_space(const char *lockman, const char *name, int64_t hold_max)
{
	struct glock_type_options types[HOLDS + 1];
	const struct glock_space_options o = {
	    .size = sizeof(o), .lockman = lockman, .types = types, .n_types = HOLDS + 1};

	for (unsigned int i = 0; i <= HOLDS; i++)
		types[i] = (struct glock_type_options){
		    .size = sizeof(*types),
		    .type = TYPE + i,
		    .name = i == HOLDS ? "job" : "bench",
		    .flags = load->kind == QUEUE && i < HOLDS ? GLOCK_OPS_LVB : 0,
		    .hold = i == HOLDS ? GLOCK_HOLD_NONE : hold_of(i),
		    .hold_max = hold_max};
	must(glock_space_open(name, &o, &space), "glock_space_open");
}

static uint64_t cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void run_once(int fd)
{
	struct glock *gl = sh->hold == FLOCK ? NULL : get(TYPE + sh->hold, 0);
	int64_t began = now_ns();
	uint64_t cpu = cpu_us();

	for (unsigned int i = 0; sh->stop != sh->go; i++) {
		if (sh->hold == FLOCK)
			use_flock(fd);
		else if (load->kind == TREE)
			use_tree(gl);
		else if (load->kind == QUEUE)
			use_queue(gl);
		else if (load->kind == ONCE)
			use_once(began, i);
		else
			use_loop(gl);
	}
	sh->of[me].cpu_us = cpu_us() - cpu;
	if (gl)
		glock_put(gl);
}

static void run_process(const char *lockman, const char *name, int64_t hold_max)
{
	int fd = open("/dev/shm", O_RDONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dice = me + 1;
	open_space(lockman, name, hold_max);
	for (sh->ready++; !sem_wait(&sh->begin[me]) && !sh->over; sh->ready++)
		run_once(fd);
	must(glock_space_close(space), "glock_space_close");
}

/* ---- the runs ---- */

static void wait_for(unsigned int ready)
{
	while (sh->ready < ready) {
		pause_us(500);
		if (waitpid(-1, NULL, WNOHANG) > 0)
			exit(1); /* the process has told why */
	}
}

static void print_run(int64_t took)
{
	uint64_t uses = 0, cpu = 0, wall = (uint64_t)took / 1000;
	uint32_t waits[BUCKETS] = {0};
	int64_t sum = 0;

	for (unsigned int i = 0; i < PROCESSES; i++) {
		uses += sh->of[i].uses;
		sum += sh->of[i].sum;
		cpu += sh->of[i].cpu_us;
		for (unsigned int b = 0; b < BUCKETS; b++)
			waits[b] += sh->of[i].waits[b];
	}
	printf("%" PRIu64 " %" PRId64 " %" PRIu64 " %" PRIu64, uses, sum, cpu, wall);
	for (unsigned int b = 0; b < BUCKETS; b++)
		if (waits[b])
			printf(" %u:%" PRIu32, b, waits[b]);
	printf("\n");
	fflush(stdout);
}

static void begin_all(void)
{
	for (unsigned int i = 0; i < PROCESSES; i++)
		sem_post(&sh->begin[i]);
}

static void run(unsigned int hold, unsigned int ms, unsigned int number, unsigned int processes)
{
	int64_t began, took;

	memset(sh->of, 0, sizeof(sh->of));
	sh->hold = hold;
	sh->go = number;
	began = now_ns();
	begin_all();
	pause_us(1000 * ms);
	sh->stop = number;
	took = now_ns() - began;
	wait_for(processes * (number + 1));
	print_run(took);
}

static int list(void)
{
	for (unsigned int i = 0; i < LOADS; i++)
		printf("%u %s\n", loads[i].processes, loads[i].name);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int processes = 0, number = 0, hold, ms, first, step;
	char line[80];

	if (argc == 2 && !strcmp(argv[1], "list"))
		return list();
	if (argc != 7 || (unsigned int)atoi(argv[3]) >= LOADS || atoi(argv[5]) < 1)
		return 2;
	load = &loads[atoi(argv[3])];
	first = (unsigned int)atoi(argv[4]);
	step = (unsigned int)atoi(argv[5]);
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED)
		return 1;
	for (unsigned int i = 0; i < PROCESSES; i++)
		sem_init(&sh->begin[i], 1, 0);
	for (me = first; me < load->processes; me += step, processes++)
		if (!fork()) {
			run_process(argv[1], argv[2], atoll(argv[6]));
			_exit(0);
		}
	wait_for(processes);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && sscanf(line, "%u %u", &hold, &ms) == 2 &&
	       hold <= FLOCK)
		run(hold, ms, ++number, processes);
	sh->over = true;
	begin_all();
	while (wait(NULL) > 0)
		;
	return 0;
}
