/* SPDX-License-Identifier: MIT */
/* judge_kernel.c - the kernel's side of dlm_judge: commands to agents, and their answers. */
#include "judge.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct agent agents[AGENTS_MAX];
unsigned int n_agents;
struct events heard;
unsigned long n_asts, n_basts;

_Noreturn void die(const char *what)
{
	fprintf(stderr, "dlm_judge: %s\n", what);
	exit(2);
}

void start(struct agent *a, const char *command)
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

bool listen_for(const bool *what)
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

/* Names a resource of this run only, so that no resource of an earlier run interferes. */
size_t res_name(char name[40], unsigned int res)
{
	return (size_t)snprintf(name, 40, "judge%d.%u.%u", (int)getpid(), run_number, res);
}

int64_t kernel_call(const struct op *op, struct slot *s, unsigned int tag)
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

void quiet(void)
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
