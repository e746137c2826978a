/* SPDX-License-Identifier: MIT */
/*
 * judge.h - what the parts of dlm_judge share: requests, what is said of them, agents and slots.
 */
#ifndef JUDGE_H
#define JUDGE_H

#include "lockman/table/table.h"

#include <stdio.h>

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

struct agent {
	FILE *to;
	int from;
	char line[4096];
	size_t len;
	bool called, quiet;
	int64_t result;
};
extern struct agent agents[AGENTS_MAX];
extern unsigned int n_agents;
extern bool fences; /* see dlm_judge.c */

struct slot {
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
};
extern struct slot slots[ALL];

extern struct events heard; /* of the kernel, and not matched yet */
extern unsigned int run_number;
extern char trouble[512]; /* what differed in this run */
extern unsigned long n_repeated, n_canceled_again, counts[4], n_asts, n_basts, n_calls_refused;

/* ---- judge_kernel.c ---- */

_Noreturn void die(const char *what);
void start(struct agent *a, const char *command);
/* Reads what agents say until *what is set, or anything is (NULL); false: it takes too long. */
bool listen_for(const bool *what);
size_t res_name(char name[40], unsigned int res);
int64_t kernel_call(const struct op *op, struct slot *s, unsigned int tag);
/* The kernel has had nothing to say for a while. */
void quiet(void);

/* ---- judge_compare.c ---- */

/* Runs a sequence: true if all agrees. */
bool run(const struct op *ops, size_t n, size_t *reached);

#endif
