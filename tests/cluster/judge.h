/* SPDX-License-Identifier: MIT */
/* judge.h - shared by the parts of dlm_judge: requests, events, agents and slots. */
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

/* ---- requests ---- */

enum kind { LOCK, CONVERT, UNLOCK, CANCEL };

struct op {
	enum kind kind;
	unsigned int slot, agent, res; /* agent and res: of LOCK */
	int mode;
	uint32_t flags;
	unsigned char fill; /* of the value block, with VALBLK */
};

/* ---- events ---- */

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
	bool buffer;        /* the kernel keeps a buffer for its value block, */
	bool odd;           /* but from a refused call, so the table knows of none */
	bool own[256];      /* the caller's bytes there, and the kernel's after a read */
	int mode;           /* granted */
	bool down;          /* the last call was a conversion down */
	unsigned int basts; /* modes of basts since the last completion, a bit each */
};
extern struct slot slots[ALL];

extern struct events heard; /* of the kernel, not matched yet */
extern unsigned int run_number;
extern char trouble[512]; /* the difference in this run */
extern unsigned long n_repeated, n_canceled_again, counts[4], n_asts, n_basts, n_calls_refused;

/* ---- judge_kernel.c ---- */

_Noreturn void die(const char *what);
void start(struct agent *a, const char *command);
/* Reads the agents until *what is set, or until any event if NULL. False: a timeout. */
bool listen_for(const bool *what);
size_t res_name(char name[40], unsigned int res);
int64_t kernel_call(const struct op *op, struct slot *s, unsigned int tag);
/* Waits until the kernel has been silent for a while. */
void quiet(void);

/* ---- judge_compare.c ---- */

/* Runs a sequence. Returns true if all agrees. */
bool run(const struct op *ops, size_t n, size_t *reached);

#endif
