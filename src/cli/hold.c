/* SPDX-License-Identifier: MIT */
/*
 * hold.c - glock hold: keeps a lock as long as another process lives, such as a shell.
 *
 * A child takes the lock and stays. The command itself ends once the child has the lock.
 */
#include "base/proc.h"
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OPT_PID = 512, OPT_PRINT, OPT_RELEASE };
enum { RELEASE_MS = 10000 };
enum { FIRST_FD = STDERR_FILENO + 1 };

static const struct option longs[] = {
    {"pid", required_argument, NULL, OPT_PID},
    {"print", no_argument, NULL, OPT_PRINT},
    {"release", no_argument, NULL, OPT_RELEASE},
    RUN_LONGS,
    {0},
};

struct hold {
	struct run run;
	pid_t pid;
	bool print, release;
	char command[40]; /* of the process, and its number */
};

static int hold_parse(struct hold *h, int argc, char **argv)
{
	unsigned long pid = (unsigned long)getppid();
	int option, names, status = -1;

	*h = (struct hold){0};
	run_init(&h->run);
	while (status < 0 && (option = next_option(argc, argv, "+:sexnw:E:h", longs)) != -1) {
		if (option == OPT_PRINT)
			h->print = true;
		else if (option == OPT_RELEASE)
			h->release = true;
		else if (option != OPT_PID)
			status = run_take_option(&h->run, option);
		else if (!parse_number(optarg, INT32_MAX, &pid) || !pid)
			status = usage_error("--pid needs the number of a process, not %s", optarg);
	}
	h->pid = (pid_t)pid;
	if (status < 0)
		status = run_take_names(&h->run, argc - optind, argv + optind);
	names = h->run.file ? 0 : 2;
	if (status < 0 && argc - optind > names)
		status = usage_error("%s: too many arguments; glock run starts a command",
				     argv[optind + names]);
	return status;
}

/* Names the process, as others see it. */
static void name_process(struct hold *h)
{
	struct glock__proc proc;
	const char *comm = glock__proc_read(h->pid, &proc) ? "process" : proc.comm;

	snprintf(h->command, sizeof(h->command), "%s %d", comm, (int)h->pid);
	run_set_command(&h->run, h->command);
}

/* Returns a descriptor that is readable once the process ends, or a signal ends this one. */
static int end_of(pid_t pid)
{
	int process = pid_open(pid), both = process < 0 ? -1 : epoll_create1(EPOLL_CLOEXEC),
	    signals;
	struct epoll_event event = {.events = EPOLLIN};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (both < 0 || signals < 0 || epoll_ctl(both, EPOLL_CTL_ADD, process, &event) ||
	    epoll_ctl(both, EPOLL_CTL_ADD, signals, &event))
		return -1;
	return both;
}

/* Lets the caller go on, which may wait for the end of these streams. */
static void tell_parent(int to, int status)
{
	const unsigned char byte = (unsigned char)status;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, 0);
	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	if (write(to, &byte, 1) != 1)
		_exit(EX_OSERR);
	close(to);
}

/* In the child: takes the lock, and keeps it. Does not return. */
static void hold_lock(struct hold *h, int to, pid_t parent)
{
	int status, end;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* until the lock is there */
	if (getppid() != parent)
		_exit(EX_OSERR);
	to = dup2(to, FIRST_FD);
	syscall(SYS_close_range, FIRST_FD + 1, ~0u, 0); /* the caller's files are not for long */
	end = end_of(h->pid);
	if (end < 0)
		complain("process %d: %s", (int)h->pid, strerror(errno));
	status = end < 0 ? EX_NOINPUT : run_lock(&h->run);
	tell_parent(to, status < 0 ? EX_OK : status);
	setsid();
	if (status < 0)
		wait_for_process(end, run_watched(&h->run), run_take_again, &h->run);
	run_unlock(&h->run);
	exit(EX_OK); /* closes the space of --file */
}

/* Ends the process in the background that keeps the lock for h->pid, and waits for its end. */
static int hold_release(struct hold *h)
{
	struct pollfd end = {.events = POLLIN};
	int status = run_get(&h->run);
	pid_t keeper = status ? 0 : find_holder(h->run.space, h->run.gl, h->run.what);

	if (!status && !keeper) {
		complain("no glock hold keeps lock %s for process %d", h->run.name, (int)h->pid);
		status = EX_NOINPUT;
	} else if (keeper) {
		end.fd = pid_open(keeper);
		if (end.fd < 0 || kill(keeper, SIGTERM) || poll(&end, 1, RELEASE_MS) != 1) {
			complain("process %d does not release lock %s", (int)keeper, h->run.name);
			status = EX_OSERR;
		}
	}
	run_unlock(&h->run);
	return status;
}

static int hold_run(int argc, char **argv)
{
	pid_t self = getpid(), child;
	unsigned char status;
	struct hold h;
	int ends[2], err = hold_parse(&h, argc, argv);

	if (err >= 0)
		return err;
	name_process(&h);
	if (h.release)
		return hold_release(&h);
	if (pipe2(ends, O_CLOEXEC) || (child = fork()) < 0) {
		complain("cannot start a process: %s", strerror(errno));
		return EX_OSERR;
	}
	if (!child) {
		close(ends[0]);
		hold_lock(&h, ends[1], self);
	}
	close(ends[1]);
	if (read(ends[0], &status, 1) != 1)
		return EX_OSERR;
	if (!status && h.print)
		printf("%d\n", (int)child);
	return status;
}

const struct command cmd_hold = {
    .name = "hold",
    .usage = "[OPTION]... {SPACE NAME | --file PATH}",
    .what = "Takes a lock, and keeps it as long as another process lives.",
    .help =
	"      --pid PID             the process (default: the parent, which may be a shell)\n"
	"      --release             end a lock that glock hold keeps for that process\n"
	"      --print               print the process that keeps the lock; to unlock, kill "
	"it\n" RUN_HELP_LOCK RUN_HELP_SPACE "\n"
	"A process in the background keeps the lock. If it is killed, the lock is free.\n"
	"\n"
	"Exit status: 0 the lock is held. If -n or -w gets no lock: 1, or N of -E. 66 also stands\n"
	"for no such process, and for --release without a lock. Other failures are those of glock "
	"run.\n",
    .run = hold_run,
};
