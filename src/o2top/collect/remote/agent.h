/* SPDX-License-Identifier: MIT */
/*
 * agent.h - o2top as the other end of its own connection.
 *
 * The agent answers requests on standard input like node.sh, and tells files by their changes.
 */
#ifndef O2TOP_AGENT_H
#define O2TOP_AGENT_H

/* The line that `o2top --agent-check` prints: the protocol that `o2top --agent` speaks. */
#define AGENT_PROTOCOL "o2top agent 3"

/* Serves requests until the input ends. Returns an exit status. */
int agent_run(void);

#endif
