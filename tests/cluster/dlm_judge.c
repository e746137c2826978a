/* SPDX-License-Identifier: MIT */
/*
 * dlm_judge.c - tests the lock table against the kernel's DLM.
 *
 * Usage: dlm_judge [-s SEED] [-n REQUESTS] [-f] AGENT...
 *
 * Each AGENT is a command that runs dlm_agent, on this machine or through ssh on a node. Each agent
 * is one node of the table. Random sequences of requests go to the kernel and to
 * src/lockman/table/table.c in the same order, one at a time. These answers have to agree:
 *
 * - whether a call is accepted,
 * - which locks are granted or refused, and with what status,
 * - the value blocks,
 * - the basts, as a set.
 *
 * If an answer differs, the program makes the sequence as short as possible and prints it.
 *
 * With -f (agents on several machines) a fence follows each request: an NL lock, EXPEDITE, on the
 * same resource from the same agent. A node's messages to a resource's master arrive in order. So
 * the grant of the fence shows that the kernel has dealt with the request before it, even with one
 * that is queued without a reply. The table gets the same requests.
 *
 * Exit status: 0 all agree, 1 they differ, 2 another failure.
 */
#include "judge.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const kinds[] = {"lock", "convert", "unlock", "cancel"};

static uint64_t state;

static uint32_t below(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16) % n;
}

static uint32_t some_flags(enum kind kind)
{
	static const struct {
		uint32_t flag;
		unsigned int percent;
		bool lock, convert, unlock, cancel;
	} all[] = {
	    {GLOCK__LKF_NOQUEUE, 15, true, true, false, false},
	    {GLOCK__LKF_NOQUEUEBAST, 8, true, true, false, false},
	    {GLOCK__LKF_QUECVT, 30, false, true, false, false},
	    {GLOCK__LKF_CONVDEADLK, 15, false, true, false, false},
	    {GLOCK__LKF_NODLCKWT, 6, false, true, false, false},
	    {GLOCK__LKF_VALBLK, 40, true, true, true, false},
	    {GLOCK__LKF_IVVALBLK, 6, true, true, true, false},
	    {GLOCK__LKF_NOORDER, 8, true, true, false, false},
	    {GLOCK__LKF_HEADQUE, 10, true, true, false, false},
	    {GLOCK__LKF_EXPEDITE, 4, true, false, false, false},
	    {GLOCK__LKF_ALTPR, 3, true, true, false, false},
	    {GLOCK__LKF_ALTCW, 3, true, true, false, false},
	    {GLOCK__LKF_FORCEUNLOCK, 25, false, false, true, false},
	};
	uint32_t flags = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		bool of[] = {all[i].lock, all[i].convert, all[i].unlock, all[i].cancel};

		/*
		 * The kernel forgets the alternative mode of a conversion if the master is another
		 * node.
		 */
		if (fences && all[i].flag & (GLOCK__LKF_ALTPR | GLOCK__LKF_ALTCW))
			continue;
		if (of[kind] && below(100) < all[i].percent)
			flags |= all[i].flag;
	}
	return flags;
}

static void make(struct op *ops, size_t n)
{
	bool there[SLOTS] = {false};

	for (size_t i = 0; i < n; i++) {
		struct op *op = &ops[i];
		unsigned int dice = below(100);

		op->slot = below(SLOTS);
		op->agent = below(n_agents);
		op->res = below(RES);
		op->mode = (int)below(GLOCK__LKMODE_MAX);
		op->fill = (unsigned char)(1 + below(255));
		op->kind = !there[op->slot] ? LOCK
			   : dice < 60      ? CONVERT
			   : dice < 75      ? CANCEL
					    : UNLOCK;
		op->flags = some_flags(op->kind);
		there[op->slot] = op->kind != UNLOCK;
	}
}

static void print(const struct op *ops, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct op *op = &ops[i];

		printf("    %-7s lock %u", kinds[op->kind], op->slot);
		if (op->kind == LOCK)
			printf(" agent %u resource %u", op->agent, op->res);
		if (op->kind == LOCK || op->kind == CONVERT)
			printf(" mode %d", op->mode);
		printf(" flags %#x", op->flags);
		if (op->flags & GLOCK__LKF_VALBLK)
			printf(" lvb %02x", op->fill);
		putchar('\n');
	}
}

/* Leaves out each request that does not matter for the difference. */
static size_t shorten(struct op *ops, size_t n)
{
	struct op fewer[LENGTH];
	size_t reached;

	for (size_t size = n / 2; size; size /= 2) {
		for (size_t from = 0; from + size <= n;) {
			memcpy(fewer, ops, from * sizeof(*ops));
			memcpy(fewer + from, ops + from + size, (n - from - size) * sizeof(*ops));
			if (run(fewer, n - size, &reached)) {
				from += size;
				continue;
			}
			n = reached;
			memcpy(ops, fewer, n * sizeof(*ops));
		}
	}
	return n;
}

int main(int argc, char **argv)
{
	unsigned long requests = 1000, done = 0, differences = 0;
	uint64_t seed = 1;
	int c;

	signal(SIGPIPE, SIG_IGN);
	while ((c = getopt(argc, argv, "s:n:f")) != -1) {
		if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'n')
			requests = strtoul(optarg, NULL, 0);
		else if (c == 'f')
			fences = true;
		else
			return 2;
	}
	for (; optind < argc && n_agents < AGENTS_MAX; optind++)
		start(&agents[n_agents++], argv[optind]);
	if (!n_agents)
		die("usage: dlm_judge [-s SEED] [-n REQUESTS] [-f] AGENT...");
	for (unsigned int i = 0; i < n_agents; i++)
		if (!listen_for(&agents[i].quiet))
			die("an agent does not begin");
	for (uint64_t i = 0; done < requests; i++) {
		struct op ops[LENGTH];
		size_t n;

		state = (seed + i) * 0x9e3779b97f4a7c15ull + 1;
		for (int j = 0; j < 8; j++)
			below(2);
		make(ops, LENGTH);
		if (run(ops, LENGTH, &n)) {
			done += LENGTH;
			if (isatty(STDERR_FILENO))
				fprintf(stderr, "\r%lu of %lu", done, requests);
			continue;
		}
		done += n;
		differences++;
		printf("seed %" PRIu64 ": %s\n", seed + i, trouble);
		n = shorten(ops, n);
		run(ops, n, &n);
		printf("  in short: %s\n", *trouble ? trouble : "(not again)");
		print(ops, n);
		fflush(stdout);
		if (differences == 10)
			break;
	}
	printf("%lu requests: %lu lock, %lu convert, %lu unlock, %lu cancel; %lu refused\n", done,
	       counts[LOCK], counts[CONVERT], counts[UNLOCK], counts[CANCEL], n_calls_refused);
	printf("kernel: %lu completions, %lu blocking callbacks\n", n_asts, n_basts);
	printf("known differences: %lu callbacks told again, %lu times canceled again\n",
	       n_repeated, n_canceled_again);
	printf("%lu differences\n", differences);
	for (unsigned int i = 0; i < n_agents; i++)
		fclose(agents[i].to);
	return differences != 0;
}
