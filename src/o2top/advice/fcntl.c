/* SPDX-License-Identifier: MIT */
/*
 * fcntl.c - the advice for waits for fcntl(2) locks of dlm_controld.
 *
 * A process that holds such a lock for long is the cause. Otherwise the number of locks is, because
 * dlm_controld sends each of them to all nodes, in one order.
 */
#include "advice_impl.h"

#include <stdio.h>

void fcntl_held_advice(const struct model *m, const struct row *row, const char *waits, char *buf,
		       size_t size)
{
	const struct blocker *root = &row->root;
	char node[80];

	if (root->node >= 0)
		snprintf(node, sizeof(node), "%.64s", m->nodes[root->node].name);
	else
		snprintf(node, sizeof(node), "the DLM's node %d", root->number);
	snprintf(buf, size,
		 "%s for an fcntl lock that pid %lld on %s holds: there, "
		 "ps -o pid,stat,wchan,args %lld shows whether it is stopped or waits; let it hold "
		 "the lock for a shorter time",
		 waits, (long long)root->pid, node, (long long)root->pid);
}

void fcntl_advice(const struct model *m, const struct row *row, char *buf, size_t size)
{
	char names[160];
	unsigned n = name_waiters(m, row, "PLOCK", names, sizeof(names));

	snprintf(buf, size,
		 "%s %s for fcntl locks on it, and each of them costs messages of dlm_controld to "
		 "all nodes: lock less often, or the whole file with flock(2); plock_ownership=1 "
		 "helps if mostly one node locks it, and old daemons limit the rate "
		 "(plock_rate_limit)",
		 names, verb(n, "waits", "wait"));
}
