/* SPDX-License-Identifier: MIT */
/*
 * dlm_judge [-s SEED] [-n REQUESTS] [-f] AGENT... - the kernel's DLM judges our lock table.
 *
 * Each AGENT is a command that runs dlm_agent, on this machine or through ssh on a node; each is
 * one node of the table. Random sequences of requests go to the kernel and to src/lockman/table.c
 * in the same order, one at a time, and everything that is said of them has to agree: whether a
 * call is accepted, which locks are granted or refused and with what status, value blocks, and, as
 * a set, who is told that others wait. Where it does not, the sequence is made as short as
 * possible and printed.
 *
 * With -f (agents on several machines) each request is followed by a fence: an NL lock, EXPEDITE,
 * on the same resource from the same agent. A node's messages to a resource's master arrive in
 * order, so that when the fence is granted the request before it has been dealt with, even one
 * that is queued without a word. The table gets the same.
 *
 * Exit status: 0 all agree, 1 they differ, 2 something else went wrong.
 */
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	AGENTS_MAX = 8,
	SLOTS = 8,
	RES = 2,
	LENGTH = 50,
	EVENTS = 128,
	FENCE = SLOTS,
	KEEPER,
	ALL = KEEPER + RES,
	WAIT_MS = 20000
};

/* ---- what is done ---- */

enum kind { LOCK, CONVERT, UNLOCK, CANCEL };
static const char *const kinds[] = {"lock", "convert", "unlock", "cancel"};

struct op {
	enum kind kind;
	unsigned int slot, agent, res; /* agent and res: of LOCK */
	int mode;
	uint32_t flags;
	unsigned char fill; /* of the value block, with VALBLK */
};

/* ---- what is said of it ---- */

struct event {
	unsigned int slot;
	bool bast, lvb;
	int value; /* status, or mode of a bast */
	unsigned int sbflags;
	unsigned char fill; /* first byte of the value block */
};

struct events {
	struct event e[EVENTS];
	size_t n;
};

static struct agent {
	FILE *to;
	int from;
	char line[4096];
	size_t len;
	bool called, quiet;
	int64_t result;
} agents[AGENTS_MAX];
static unsigned int n_agents;
static bool fences;

static struct slot {
	bool used;
	unsigned int agent, res;
	uint64_t table_id;
	uint32_t kernel_id;
	bool buffer;        /* the kernel keeps one for its value block, */
	bool odd;           /* but from a call that was refused: the table knows of none */
	bool own[256];      /* what the caller has put in there, and the kernel in a read */
	int mode;           /* granted */
	bool down;          /* the last call was a conversion to less */
	unsigned int basts; /* modes told since the last completion, a bit each */
} slots[ALL];

static struct glock__table *table;
static void *memory;
static unsigned int run_number;
static char trouble[512];
static unsigned long n_repeated, n_canceled_again;
static unsigned long counts[4], n_asts, n_basts, n_calls_refused;

static void differ(const char *fmt, ...)
{
	va_list ap;

	if (*trouble)
		return;
	va_start(ap, fmt);
	vsnprintf(trouble, sizeof(trouble), fmt, ap);
	va_end(ap);
}

static void die(const char *what)
{
	fprintf(stderr, "dlm_judge: %s\n", what);
	exit(2);
}

static const char *describe(const struct event *e)
{
	static char text[2][96];
	static int i;
	char lvb[16] = "";

	i = !i;
	if (e->lvb)
		snprintf(lvb, sizeof(lvb), " lvb %02x", e->fill);
	if (e->bast)
		snprintf(text[i], sizeof(text[i]), "lock %u: bast %d", e->slot, e->value);
	else
		snprintf(text[i], sizeof(text[i]), "lock %u: status %d flags %x%s", e->slot,
			 e->value, e->sbflags, lvb);
	return text[i];
}

/* ---- the kernel's side ---- */

static void start(struct agent *a, const char *command)
{
	int in[2], out[2];

	if (pipe(in) || pipe(out))
		die("no pipes");
	switch (fork()) {
	case -1:
		die("no process");
		break;
	case 0:
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[0]);
		close(in[1]);
		close(out[0]);
		close(out[1]);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	a->to = fdopen(in[1], "w");
	a->from = out[0];
}

static struct events heard; /* of the kernel, and not matched yet */

static void hear(struct agent *a, const char *line)
{
	struct event e = {0};
	char lvb[80] = "-";
	unsigned int tag, lkid, byte;
	int64_t result;

	if (sscanf(line, "call %u %" SCNd64, &tag, &result) == 2) {
		a->called = true;
		a->result = result;
	} else if (!strcmp(line, "quiet") || !strcmp(line, "ready")) {
		a->quiet = true;
	} else if (sscanf(line, "ast %u %d %u %u %79s", &e.slot, &e.value, &lkid, &e.sbflags,
			  lvb) == 5) {
		if (sscanf(lvb, "%2x", &byte) == 1) {
			e.lvb = true;
			e.fill = (unsigned char)byte;
		}
		if (heard.n < EVENTS)
			heard.e[heard.n++] = e;
		n_asts++;
	} else if (sscanf(line, "bast %u %d", &e.slot, &e.value) == 2) {
		e.bast = true;
		if (heard.n < EVENTS)
			heard.e[heard.n++] = e;
		n_basts++;
	} else {
		die(line);
	}
}

/* Reads what agents say until *what is set or it takes too long. */
static bool listen_for(const bool *what)
{
	struct timespec t0, t;

	clock_gettime(CLOCK_MONOTONIC, &t0);
	for (;;) {
		struct pollfd p[AGENTS_MAX];
		size_t before = heard.n;

		for (unsigned int i = 0; i < n_agents; i++)
			p[i] = (struct pollfd){.fd = agents[i].from, .events = POLLIN};
		if (what && *what)
			return true;
		clock_gettime(CLOCK_MONOTONIC, &t);
		if ((t.tv_sec - t0.tv_sec) * 1000 > WAIT_MS)
			return false;
		if (poll(p, n_agents, 1000) < 0 && errno != EINTR)
			die("poll");
		for (unsigned int i = 0; i < n_agents; i++) {
			struct agent *a = &agents[i];
			char *end;
			ssize_t n;

			if (!p[i].revents)
				continue;
			n = read(a->from, a->line + a->len, sizeof(a->line) - a->len - 1);
			if (n <= 0)
				die("an agent is gone");
			a->len += (size_t)n;
			a->line[a->len] = '\0';
			while ((end = strchr(a->line, '\n'))) {
				*end = '\0';
				hear(a, a->line);
				a->len -= (size_t)(end + 1 - a->line);
				memmove(a->line, end + 1, a->len + 1);
			}
		}
		if (!what && heard.n != before)
			return true;
	}
}

static void lvb_text(char text[2 * GLOCK__LVB_LEN + 1], uint32_t flags, unsigned char fill)
{
	if (!(flags & GLOCK__LKF_VALBLK)) {
		strcpy(text, "-");
		return;
	}
	for (int i = 0; i < GLOCK__LVB_LEN; i++)
		sprintf(text + 2 * i, "%02x", fill);
}

/* A resource of this run alone, so that nothing of an earlier one is in the way. */
static size_t res_name(char name[40], unsigned int res)
{
	return (size_t)snprintf(name, 40, "judge%d.%u.%u", (int)getpid(), run_number, res);
}

static int64_t kernel_call(const struct op *op, struct slot *s, unsigned int tag)
{
	struct agent *a = &agents[s->agent];
	char lvb[2 * GLOCK__LVB_LEN + 1], name[40], hex[81] = "-";
	uint32_t flags = op->flags;

	lvb_text(lvb, op->flags, op->fill);
	if (op->kind == LOCK) {
		size_t n = res_name(name, s->res);

		for (size_t i = 0; i < n; i++)
			sprintf(hex + 2 * i, "%02x", (unsigned char)name[i]);
	}
	if (op->kind == CONVERT)
		flags |= GLOCK__LKF_CONVERT;
	if (op->kind == CANCEL)
		flags |= GLOCK__LKF_CANCEL;
	a->called = false;
	if (op->kind == LOCK || op->kind == CONVERT)
		fprintf(a->to, "lock %u %d %x %u %s %s\n", tag, op->mode, flags, s->kernel_id, hex,
			lvb);
	else
		fprintf(a->to, "unlock %u %x %u %s\n", tag, flags, s->kernel_id, lvb);
	fflush(a->to);
	if (!listen_for(&a->called))
		die("an agent does not answer");
	return a->result;
}

static void quiet(void)
{
	for (unsigned int i = 0; i < n_agents; i++) {
		agents[i].quiet = false;
		fputs("quiet\n", agents[i].to);
		fflush(agents[i].to);
	}
	for (unsigned int i = 0; i < n_agents; i++)
		if (!listen_for(&agents[i].quiet))
			die("an agent does not answer");
}

/* ---- the table's side ---- */

static void note(struct events *to, const struct glock__table_event *ev, bool ast)
{
	unsigned int slot = (unsigned int)ev->cookie;

	if (ev->what & GLOCK__EVENT_LVB)
		slots[slot].own[ev->lvb[0]] = true;
	if (ast)
		to->e[to->n++] = (struct event){.slot = slot,
						.value = ev->status,
						.sbflags = ev->sbflags & 7,
						.lvb = ev->what & GLOCK__EVENT_LVB,
						.fill = ev->lvb[0]};
	if (ast && ev->mode == GLOCK__IV)
		slots[slot].used = false;
	if (ast)
		slots[slot].mode = ev->mode;
	if (ev->what & GLOCK__EVENT_BAST)
		to->e[to->n++] = (struct event){.slot = slot, .bast = true, .value = ev->bast};
}

static int table_call(const struct op *op, struct slot *s, unsigned int tag, struct events *said)
{
	unsigned char lvb[GLOCK__LVB_LEN];
	const void *value = op->flags & GLOCK__LKF_VALBLK ? lvb : NULL;
	struct glock__table_event ev = {0};
	char name[40];
	struct glock__table_request args = {.node = s->agent,
					    .mode = op->mode,
					    .flags = op->flags,
					    .lkid = s->table_id,
					    .name = name,
					    .namelen = res_name(name, s->res),
					    .cookie = tag,
					    .lvb = value};
	int err;

	/* The device takes the caller's value block with every call, whatever the flags. */
	memset(lvb, value ? op->fill : 0, sizeof(lvb));
	s->buffer |= value != NULL;
	s->own[0] = true;
	if (s->buffer && op->kind != LOCK)
		s->own[lvb[0]] = true;
	if (s->buffer && op->kind == UNLOCK)
		value = lvb;
	if (op->kind == CONVERT)
		args.flags |= GLOCK__LKF_CONVERT;
	if (op->kind == LOCK || op->kind == CONVERT)
		err = glock__table_lock(table, &args, &ev);
	else
		err = glock__table_unlock(table, s->table_id,
					  op->flags | (op->kind == CANCEL ? GLOCK__LKF_CANCEL : 0),
					  value, &ev);
	if (!err) {
		if (op->kind == LOCK)
			s->table_id = ev.lkid;
		ev.cookie = tag;
		if (ev.status != -EINPROGRESS && !(op->kind == CANCEL && !ev.status))
			note(said, &ev, true);
	}
	for (unsigned int i = 0; i < n_agents; i++)
		while (glock__table_take(table, i, &ev))
			note(said, &ev, ev.what & GLOCK__EVENT_AST);
	return err;
}

/* ---- one after the other ---- */

/*
 * The kernel's device hands the value block back whenever the modes are those of a read. Where the
 * resource never had one, that is what the caller gave once, and the table says that nothing was
 * read. A conversion down is completed by the lock's own node, which has not heard that the
 * value block is not valid.
 */
static bool same(const struct event *t, const struct event *kernel)
{
	const struct slot *s = &slots[t->slot];
	unsigned int flags = t->sbflags ^ kernel->sbflags;

	if (t->slot != kernel->slot || t->bast != kernel->bast || t->value != kernel->value)
		return false;
	if (flags && (flags != GLOCK__SBF_VALNOTVALID || !s->down || !fences))
		return false;
	if (!t->lvb)
		return !kernel->lvb || s->own[kernel->fill];
	return kernel->lvb && t->fill == kernel->fill;
}

/* Takes out what both have said. */
static void match(struct events *said)
{
	for (size_t i = 0; i < said->n;) {
		size_t j = 0;

		while (j < heard.n && !same(&said->e[i], &heard.e[j]))
			j++;
		if (j == heard.n) {
			i++;
			continue;
		}
		said->e[i] = said->e[--said->n];
		heard.e[j] = heard.e[--heard.n];
	}
}

/*
 * Linux before 6.10 tells a PR holder of a CW request, and the other way round, whenever one comes,
 * and after that of others again. The table, like later kernels, does not tell again what the
 * lock's holder knows: the same mode, or less.
 */
static bool said_already(const struct event *e)
{
	unsigned int basts = slots[e->slot].basts;

	return e->bast &&
	       (basts & 1u << e->value || (e->value == GLOCK__CW && basts >> GLOCK__PW) ||
		(e->value == GLOCK__PR && basts >> GLOCK__PW));
}

static void leave_out_repeated(void)
{
	for (size_t i = 0; i < heard.n;) {
		if (said_already(&heard.e[i])) {
			heard.e[i] = heard.e[--heard.n];
			n_repeated++;
		} else {
			i++;
		}
	}
}

/* What each lock was told, once all of this step is there. */
static void remember(const struct events *said)
{
	for (size_t i = 0; i < said->n; i++)
		if (!said->e[i].bast)
			slots[said->e[i].slot].basts = 0;
	for (size_t i = 0; i < said->n; i++)
		if (said->e[i].bast)
			slots[said->e[i].slot].basts |= 1u << said->e[i].value;
}

static void compare(struct events *said)
{
	struct events all = *said;

	for (;;) {
		match(said);
		leave_out_repeated();
		if (!said->n || heard.n)
			break;
		if (!listen_for(NULL))
			break;
	}
	if (said->n && heard.n) { /* perhaps the rest is still to come */
		quiet();
		match(said);
		leave_out_repeated();
	}
	remember(&all);
	if (said->n && heard.n)
		differ("the table: %s; the kernel: %s", describe(&said->e[0]),
		       describe(&heard.e[0]));
	else if (said->n)
		differ("only the table says %s", describe(&said->e[0]));
	else if (heard.n)
		differ("only the kernel says %s", describe(&heard.e[0]));
}

static void one(const struct op *asked, struct slot *s, unsigned int tag)
{
	struct events said = {.n = 0};
	struct op changed = *asked, *op = &changed;
	bool new = op->kind == LOCK, had_buffer = s->buffer;
	int64_t result;
	int err;

	/* Through the device a lock without a buffer would write zeros, if its master is elsewhere. */
	if (op->kind == UNLOCK && (s->odd || !s->buffer))
		op->flags &= ~GLOCK__LKF_VALBLK;
	s->down = op->kind == CONVERT && op->mode < s->mode;
	err = table_call(op, s, tag, &said);
	result = kernel_call(op, s, tag);
	if (op->flags & GLOCK__LKF_VALBLK)
		s->odd = err && (s->odd || !had_buffer);

	if (new && !err)
		s->kernel_id = result > 0 ? (uint32_t)result : 0;
	if (op->kind == CANCEL && !err && result == -EINVAL && !said.n)
		n_canceled_again++; /* later kernels return 0 as well */
	else if (err != (result < 0 ? result : 0))
		differ("the table returns %d, the kernel %" PRId64, err, result);
	n_calls_refused += err != 0;
	if (err && new)
		s->used = false;
	if (!*trouble)
		compare(&said);
}

static void fence(unsigned int agent, unsigned int res)
{
	struct slot *s = &slots[FENCE];
	struct op lock = {.kind = LOCK, .mode = GLOCK__NL, .flags = GLOCK__LKF_EXPEDITE};
	struct op unlock = {.kind = UNLOCK};

	*s = (struct slot){.used = true, .agent = agent, .res = res};
	one(&lock, s, FENCE);
	if (!*trouble)
		one(&unlock, s, FENCE);
}

static void do_op(const struct op *op)
{
	struct slot *s = &slots[op->slot];

	if (s->used == (op->kind == LOCK))
		return; /* what it is about is not there, since the sequence was shortened */
	if (op->kind == LOCK)
		*s = (struct slot){.used = true, .agent = op->agent % n_agents, .res = op->res};
	counts[op->kind]++;
	one(op, s, op->slot);
	if (fences && !*trouble)
		fence(s->agent, s->res);
}

/*
 * An NL lock on each resource, so that it stays: the kernel keeps one without locks for a while, and
 * with it, should it be used again, that its value block was invalid. The table forgets it at once.
 */
static void keep(unsigned int res)
{
	struct slot *s = &slots[KEEPER + res];
	struct op lock = {.kind = LOCK, .mode = GLOCK__NL};

	*s = (struct slot){.used = true, .res = res};
	one(&lock, s, KEEPER + res);
}

static void table_new(void)
{
	struct glock__table_params params = {
	    .nodes = n_agents, .buckets = 16, .flags = GLOCK__TABLE_UNLOCK_ANY};
	size_t size = glock__table_size(&params, 256);

	free(memory);
	memory = aligned_alloc(64, (size + 63) / 64 * 64);
	if (!memory || glock__table_init(memory, size, &params))
		die("no memory for the table");
	table = glock__table_attach(memory, size);
}

/* All that is left is unlocked, by force, and nothing of it is compared. */
static void clean_up(void)
{
	for (unsigned int i = 0; i < ALL; i++) {
		struct op unlock = {.kind = UNLOCK, .flags = GLOCK__LKF_FORCEUNLOCK};

		if (slots[i].used && slots[i].kernel_id)
			kernel_call(&unlock, &slots[i], i);
		slots[i] = (struct slot){0};
	}
	quiet();
	quiet(); /* what one agent's unlock granted to another one */
	heard.n = 0;
}

/* Runs a sequence: true if all agrees. */
static bool run(const struct op *ops, size_t n, size_t *reached)
{
	size_t i;

	run_number++;
	*trouble = '\0';
	table_new();
	for (unsigned int res = 0; res < RES; res++)
		keep(res);
	for (i = 0; i < n && !*trouble; i++)
		do_op(&ops[i]);
	if (!*trouble) {
		struct events none = {.n = 0};

		quiet();
		compare(&none);
	}
	*reached = i;
	clean_up();
	return !*trouble;
}

/* ---- sequences ---- */

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

		/* The kernel forgets the alternative mode of a conversion if the master is elsewhere. */
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

/* Leaves out whatever does not matter for the difference. */
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
