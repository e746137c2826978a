/* SPDX-License-Identifier: MIT */
/*
 * dlm_agent.c - makes dlm_judge's requests on a node through the kernel's DLM, reports results.
 *
 * Usage: dlm_agent LOCKSPACE. The requests and the answers are lines on standard input and output:
 *
 *	lock TAG MODE FLAGS LKID NAME LVB      call TAG RESULT
 *	unlock TAG FLAGS LKID LVB              call TAG RESULT
 *	quiet                                  quiet
 *	                                       ast TAG STATUS LKID SBFLAGS LVB
 *	                                       bast TAG MODE
 *
 * Numbers are decimal, FLAGS hexadecimal. NAME and LVB are hexadecimal bytes, or - for none. The
 * agent answers quiet when the kernel has sent nothing for a while. At the end of its input it
 * closes the lockspace. The kernel then gives back the lockspace's locks.
 */
#include "lockman/dlm/dlm_dev.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { QUIET_MS = 20 };

static struct glock__dlm_dev dev;

static size_t from_hex(const char *text, unsigned char *bytes, size_t room)
{
	size_t n = 0;
	unsigned int byte;

	while (*text != '-' && n < room && sscanf(text + 2 * n, "%2x", &byte) == 1)
		bytes[n++] = (unsigned char)byte;
	return n;
}

static void put_hex(const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%02x", bytes[i]);
}

/* Reports everything that the kernel has sent so far. */
static bool tell(void)
{
	struct glock__dlm_result r;
	bool any = false;
	int err;

	while ((err = glock__dlm_read(&dev, &r)) > 0) {
		any = true;
		if (r.bast) {
			printf("bast %" PRIuPTR " %d\n", r.tag, r.mode);
			continue;
		}
		printf("ast %" PRIuPTR " %d %u %u ", r.tag, r.status, r.lkid, r.sbflags);
		if (r.has_lvb)
			put_hex(r.lvb, sizeof(r.lvb));
		else
			putchar('-');
		putchar('\n');
	}
	if (err < 0) {
		fprintf(stderr, "dlm_agent: reading the device: %s\n", strerror(-err));
		exit(1);
	}
	return any;
}

static void command(const char *line)
{
	char name[2 * GLOCK__RESNAME_MAX + 2] = "-", lvb[2 * GLOCK__LVB_LEN + 2] = "-";
	unsigned char name_bytes[GLOCK__RESNAME_MAX], lvb_bytes[GLOCK__LVB_LEN];
	struct glock__dlm_call call = {.name = name_bytes};
	int64_t result;

	if (!strcmp(line, "quiet\n")) {
		struct pollfd p = {.fd = dev.fd, .events = POLLIN};

		while (poll(&p, 1, QUIET_MS) > 0 && tell())
			;
		puts("quiet");
	} else if (sscanf(line, "lock %" SCNuPTR " %d %x %u %129s %65s", &call.tag, &call.mode,
			  &call.flags, &call.lkid, name, lvb) == 6) {
		call.namelen = from_hex(name, name_bytes, sizeof(name_bytes));
		if (from_hex(lvb, lvb_bytes, sizeof(lvb_bytes)))
			call.lvb = lvb_bytes;
		result = glock__dlm_lock(&dev, &call);
		printf("call %" PRIuPTR " %" PRId64 "\n", call.tag, result);
	} else if (sscanf(line, "unlock %" SCNuPTR " %x %u %65s", &call.tag, &call.flags,
			  &call.lkid, lvb) == 4) {
		if (from_hex(lvb, lvb_bytes, sizeof(lvb_bytes)))
			call.lvb = lvb_bytes;
		result = glock__dlm_unlock(&dev, &call);
		printf("call %" PRIuPTR " %" PRId64 "\n", call.tag, result);
	} else {
		fprintf(stderr, "dlm_agent: not understood: %s", line);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct pollfd p[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.events = POLLIN}};
	char why[256], line[1024];
	size_t len = 0;
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: dlm_agent LOCKSPACE\n");
		return 2;
	}
	err = glock__dlm_open(&dev, argv[1], NULL, NULL, why, sizeof(why));
	if (err) {
		fprintf(stderr, "dlm_agent: %s\n", why);
		return 1;
	}
	p[1].fd = dev.fd;
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		char *end;
		ssize_t n;

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return 1;
		tell();
		if (p[0].revents) {
			n = read(STDIN_FILENO, line + len, sizeof(line) - len - 1);
			if (n <= 0)
				break;
			len += (size_t)n;
			line[len] = '\0';
			while ((end = strchr(line, '\n'))) {
				char after = end[1];

				end[1] = '\0';
				command(line);
				end[1] = after;
				len -= (size_t)(end + 1 - line);
				memmove(line, end + 1, len + 1);
			}
		}
		fflush(stdout);
	}
	glock__dlm_close(&dev, true);
	return 0;
}
