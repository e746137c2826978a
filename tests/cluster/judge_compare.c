/* SPDX-License-Identifier: MIT */
/*
 * judge_compare.c - sends one request after the other to the table and the kernel, and compares the
 * answers.
 */
#include "judge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct slot slots[ALL];
bool fences;
unsigned int run_number;
char trouble[512];
unsigned long n_repeated, n_canceled_again, counts[4], n_calls_refused;
static struct glock__table *table;
static void *memory;

static void differ(const char *fmt, ...)
{
	va_list ap;

	if (*trouble)
		return;
	va_start(ap, fmt);
	vsnprintf(trouble, sizeof(trouble), fmt, ap);
	va_end(ap);
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
 * Compares two events. There are two differences of value blocks that count as equal:
 *
 * - The kernel's device returns the block whenever the modes are those of a read. If the resource
 *   never had one, it returns the caller's own bytes. The table says that nothing was read.
 * - The lock's own node completes a conversion down. That node does not know yet that the block is
 *   invalid.
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

/* Removes the events that both sides reported. */
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
 * Linux before 6.10 sends a holder of PR a bast for each CW request, and the reverse. After that,
 * it repeats basts for other requests. The table and later kernels do not repeat a bast that the
 * holder knows: the same mode, or a lower one.
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

/* Remembers the basts of each lock, after all events of this step have arrived. */
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
	if (said->n && heard.n) { /* other events may still arrive */
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

	/* Without a buffer, the device would write zeros for a lock with a remote master. */
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
		return; /* the shortened sequence has no such lock */
	if (op->kind == LOCK)
		*s = (struct slot){.used = true, .agent = op->agent % n_agents, .res = op->res};
	counts[op->kind]++;
	one(op, s, op->slot);
	if (fences && !*trouble)
		fence(s->agent, s->res);
}

/*
 * Keeps an NL lock on each resource, so that the resource stays. The kernel keeps a resource
 * without locks for a while. If it is used again, the kernel still knows that its value block was
 * invalid. The table forgets the resource immediately.
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

/* Unlocks all remaining locks by force. The program does not compare these answers. */
static void clean_up(void)
{
	for (unsigned int i = 0; i < ALL; i++) {
		struct op unlock = {.kind = UNLOCK, .flags = GLOCK__LKF_FORCEUNLOCK};

		if (slots[i].used && slots[i].kernel_id)
			kernel_call(&unlock, &slots[i], i);
		slots[i] = (struct slot){0};
	}
	quiet();
	quiet(); /* grants to one agent that follow from another agent's unlock */
	heard.n = 0;
}

/* Runs a sequence. Returns true if all agrees. */
bool run(const struct op *ops, size_t n, size_t *reached)
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
