/* SPDX-License-Identifier: MIT */
/*
 * connection.c - starts a node's child, greets its shell, sends requests and reads the answers.
 */
#include "connection.h"

#include "cluster.h"
#include "node_sh.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/*
 * A shell has this long to greet. Then come the shortest and the longest pause before another try.
 */
static const double greet_s = 30, pause_least_s = 1, pause_most_s = 60;

void connection_init(struct connection *c, const char *node, bool here,
		     const struct connection_how *how)
{
	*c = (struct connection){.node = node,
				 .here = here,
				 .how = how,
				 .backoff = pause_least_s,
				 .pid = -1,
				 .dying = -1,
				 .in = -1,
				 .out = -1,
				 .err = -1};
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- the child ----------------------------------------------------------------------------- */

/*
 * Makes three pipes, whose ends on this side do not block. The child's end is at [i][0] for its
 * input, and at [i][1] otherwise.
 */
static int make_pipes(int fds[3][2])
{
	for (int i = 0; i < 3; i++)
		fds[i][0] = fds[i][1] = -1;
	for (int i = 0; i < 3; i++) {
		int ours = i == 0 ? 1 : 0;

		if (pipe2(fds[i], O_CLOEXEC) < 0 || fcntl(fds[i][ours], F_SETFL, O_NONBLOCK) < 0)
			return -errno;
	}
	return 0;
}

static void close_pipes(int fds[3][2])
{
	for (int i = 0; i < 3; i++) {
		close_fd(&fds[i][0]);
		close_fd(&fds[i][1]);
	}
}

/*
 * Starts a child in a session of its own. Ctrl-C at the terminal does not reach the child, and the
 * child cannot ask for a password there. The child's helpers can be ended with it.
 */
static int spawn(pid_t *pid, char *const argv[], int fds[3][2])
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawn_file_actions_adddup2(&actions, fds[0][0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fds[1][1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fds[2][1], STDERR_FILENO);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
						  POSIX_SPAWN_SETSIGDEF);
	err = posix_spawnp(pid, argv[0], &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/*
 * Starts the user's ssh with the user's configuration. ssh may not ask questions, because no user
 * would see them. It notices by itself when the other side is gone.
 *
 * The node's name is an argument, never part of a command line. The remote command is one word.
 */
static int start_child(struct connection *c, int fds[3][2])
{
	char *ssh[] = {"ssh",
		       "-T",
		       "-a",
		       "-x",
		       "-oBatchMode=yes",
		       "-oConnectTimeout=15",
		       "-oServerAliveInterval=10",
		       "-oServerAliveCountMax=3",
		       "-oEscapeChar=none",
		       "--",
		       (char *)c->node,
		       "sh",
		       NULL};
	char *own[] = {"sh", "-c", NULL, "sh", (char *)c->node, "sh", NULL};
	char *here[] = {(char *)c->how->self, c->how->whole ? "--paths=full" : "--agent",
			c->how->whole ? "--agent" : NULL, NULL};
	char *command = NULL;
	int err;

	if (c->how->ssh) {
		if (asprintf(&command, "%s \"$@\"", c->how->ssh) < 0)
			return -ENOMEM;
		own[2] = command;
		err = spawn(&c->pid, own, fds);
		free(command);
		return err;
	}
	return spawn(&c->pid, c->here ? here : ssh, fds);
}

static void make_nonce(char nonce[WIRE_NONCE])
{
	unsigned char bytes[(WIRE_NONCE - 1) / 2];
	size_t have = 0;

	while (have < sizeof(bytes)) {
		ssize_t n = getrandom(bytes + have, sizeof(bytes) - have, 0);

		if (n > 0)
			have += (size_t)n;
	}
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(nonce + 2 * i, 3, "%02x", bytes[i]);
}

static int send_text(struct connection *c, const char *text)
{
	return buffer_add(&c->sending, text, strlen(text));
}

/*
 * Sends the first lines to the shell on the node. They hold the number of this connection, and a
 * request to say what the shell can do.
 */
static int greet(struct connection *c)
{
	int err = send_text(c, "N=");

	err = err ? err : send_text(c, c->wire.nonce);
	err = err ? err : send_text(c, "\n");
	if (c->here && !c->how->ssh) {
		c->wire.state = WIRE_AGENT;
		c->wire.agent = true;
		return err;
	}
	err = err ? err
		  : send_text(c, "PATH=$PATH:/usr/local/bin:/usr/local/sbin:/usr/sbin:/sbin "
				 "LC_ALL=C\n"
				 "export PATH LC_ALL\n");
	if (c->how->no_agent)
		return err ? err : send_text(c, "echo \"$N plain\"\n");
	err = err ? err
		  : send_text(c, "case $(o2top --agent-check 2>/dev/null </dev/null) in "
				 "\"" AGENT_PROTOCOL "\") echo \"$N agent\"; exec o2top ");
	err = err ? err : send_text(c, c->how->whole ? "--paths=full " : "");
	return err ? err : send_text(c, "--agent;; *) echo \"$N plain\";; esac\n");
}

static void connection_say(struct connection *c, const char *words)
{
	snprintf(c->words, sizeof(c->words), "%s", words);
}

static void pause_it(struct connection *c, double now)
{
	c->state = CONNECTION_WAITING;
	c->failed = true;
	c->due = now + c->backoff;
	c->backoff = c->backoff * 2 < pause_most_s ? c->backoff * 2 : pause_most_s;
}

static void reap(struct connection *c)
{
	if (c->dying > 0 && waitpid(c->dying, NULL, WNOHANG) == c->dying)
		c->dying = -1;
}

static void connection_begin(struct connection *c, double now)
{
	char nonce[WIRE_NONCE];
	int fds[3][2];
	int err = make_pipes(fds);

	reap(c);
	wire_free(&c->wire);
	make_nonce(nonce);
	wire_init(&c->wire, nonce);
	if (c->how->sample_limit)
		c->wire.limit = c->how->sample_limit;
	c->sending.len = c->sent = c->stderr_len = 0;
	c->tried = now;
	err = err ? err : start_child(c, fds);
	if (!err) {
		c->in = fds[0][1];
		c->out = fds[1][0];
		c->err = fds[2][0];
		fds[0][1] = fds[1][0] = fds[2][0] = -1;
		err = greet(c);
	}
	close_pipes(fds);
	if (err) {
		connection_say(c, strerror(-err));
		connection_end(c, true);
		pause_it(c, now);
		return;
	}
	c->state = CONNECTION_STARTING;
	c->due = now + greet_s;
}

bool connection_alive(struct connection *c)
{
	reap(c);
	if (c->pid > 0 && waitpid(c->pid, NULL, WNOHANG) == c->pid)
		c->pid = -1;
	return c->pid > 0 || c->dying > 0;
}

void connection_end(struct connection *c, bool hard)
{
	close_fd(&c->in);
	close_fd(&c->out);
	close_fd(&c->err);
	if (!hard || c->pid <= 0)
		return;
	/* The leader of the session leads its process group, too. */
	kill(-c->pid, SIGKILL);
	kill(c->pid, SIGKILL);
	/* A child that sleeps in the kernel dies when it wakes. No thread waits for that. */
	c->dying = c->pid;
	c->pid = -1;
	reap(c);
}

void connection_free(struct connection *c)
{
	connection_end(c, true);
	wire_free(&c->wire);
	free(c->sending.data);
	c->sending = (struct buffer){0};
}

/* Ends a connection whose child has ended or sends what is of no use. */
static void fail(struct connection *c, double now, const char *words)
{
	int status = 0;
	char text[WORDS_MAX];

	if (words)
		connection_say(c, words);
	close_fd(&c->in);
	/* With its pipe closed, the child ends soon. A child that is left then is killed. */
	if (c->pid > 0 && waitpid(c->pid, &status, WNOHANG) == c->pid) {
		c->pid = -1;
		if (!*c->words) {
			snprintf(text, sizeof(text), "the connection ended with status %d",
				 WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
			connection_say(c, text);
		}
	} else if (!*c->words) {
		connection_say(c, "the connection ended");
	}
	connection_end(c, true);
	pause_it(c, now);
}

/* ---- bytes --------------------------------------------------------------------------------- */

/* Reads the complaints of ssh or the shell. The last line is the reason that is shown. */
static void take_stderr(struct connection *c)
{
	char buf[1024];
	ssize_t n;

	while ((n = read(c->err, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			unsigned char ch = (unsigned char)buf[i];

			if (ch == '\n' || ch == '\r') {
				c->stderr_line[c->stderr_len] = '\0';
				if (c->stderr_len)
					connection_say(c, c->stderr_line);
				c->stderr_len = 0;
			} else if (c->stderr_len < sizeof(c->stderr_line) - 1) {
				c->stderr_line[c->stderr_len++] =
				    ch < ' ' || ch == 127 ? '?' : (char)ch;
			}
		}
	if (n == 0)
		close_fd(&c->err);
}

/*
 * Reads the child's output. Returns true if the connection goes on. The number of reads is bounded,
 * so that no node takes all of the loop's time.
 */
static bool take_output(struct connection *c, double now)
{
	static char buf[256 * 1024]; /* only the loop's thread uses it */

	for (int turns = 0; turns < 16; turns++) {
		ssize_t n = read(c->out, buf, sizeof(buf));

		if (n > 0) {
			if (wire_take(&c->wire, buf, (size_t)n)) {
				fail(c, now, c->wire.error);
				return false;
			}
			if ((size_t)n < sizeof(buf) / 4)
				break;
		} else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			break;
		} else {
			if (c->err >= 0)
				take_stderr(c);
			fail(c, now, NULL);
			return false;
		}
	}
	return true;
}

static void send_more(struct connection *c)
{
	while (c->sent < c->sending.len) {
		ssize_t n = write(c->in, c->sending.data + c->sent, c->sending.len - c->sent);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return; /* EAGAIN; the end of its output tells of a broken pipe */
		c->sent += (size_t)n;
	}
	c->sending.len = c->sent = 0;
}

int connection_ask(struct connection *c, const char *request)
{
	int err = send_text(c, request);

	if (!err && c->in >= 0)
		send_more(c);
	return err;
}

/*
 * Goes on with the greeting. Each side waits for the other side's word, because a shell may read
 * ahead.
 */
static int go_on(struct connection *c, double now)
{
	int err = 0;

	if (c->wire.state == WIRE_PLAIN && !c->sending.len && c->state == CONNECTION_STARTING) {
		err = send_text(c, node_sh);
		c->wire.state = WIRE_STARTING;
	} else if (c->wire.state == WIRE_AGENT && !c->here) {
		err = send_text(c, "N=");
		err = err ? err : send_text(c, c->wire.nonce);
		err = err ? err : send_text(c, "\n");
		c->wire.state = WIRE_STARTING;
	} else if (c->wire.state == WIRE_READY && c->state == CONNECTION_STARTING) {
		c->state = CONNECTION_READY;
		c->backoff = pause_least_s;
		c->failed = false;
		*c->words = '\0';
		c->tried = now;
	}
	return err;
}

double connection_watch(const struct connection *c, struct pollfd fds[CONNECTION_FDS])
{
	bool more = c->sent < c->sending.len;

	fds[0] = (struct pollfd){.fd = more ? c->in : -1, .events = POLLOUT};
	fds[1] = (struct pollfd){.fd = c->out, .events = POLLIN};
	fds[2] = (struct pollfd){.fd = c->err, .events = POLLIN};
	return c->state == CONNECTION_READY ? 1e18 : c->due;
}

bool connection_work(struct connection *c, const struct pollfd fds[CONNECTION_FDS], double now)
{
	enum connection_state before = c->state;
	bool got = false;

	if (c->state == CONNECTION_WAITING) {
		if (now >= c->due)
			connection_begin(c, now);
		return c->state != before;
	}
	if (fds[2].fd >= 0 && fds[2].fd == c->err && fds[2].revents)
		take_stderr(c);
	if (fds[1].fd >= 0 && fds[1].fd == c->out && fds[1].revents) {
		got = true;
		if (!take_output(c, now))
			return true;
	}
	if (go_on(c, now)) {
		fail(c, now, strerror(ENOMEM));
		return true;
	}
	if (c->in >= 0 && c->sent < c->sending.len)
		send_more(c);
	if (c->state == CONNECTION_STARTING && now >= c->due) {
		char text[WORDS_MAX];

		snprintf(text, sizeof(text), "no shell answered within %.0f s", greet_s);
		fail(c, now, *c->words ? NULL : text);
	}
	return got || c->state != before;
}
