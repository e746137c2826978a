/* SPDX-License-Identifier: MIT */
/*
 * run.c - glock run: runs a command under a lock, with the options and exit statuses of flock(1).
 *
 * The lock does not belong to this process. It belongs to an open file that makes a living node and
 * that the lock manager watches. CMD inherits the file, and so do its children. The lock stays
 * until the last of them is gone, also when this process is killed. A pipe that is inherited in the
 * same way tells whether CMD left a process behind. Then this process ends as if killed, and does
 * not give the lock back.
 */
#include "glock/path/path.h"
#include "glock/publish/publish_space.h"

#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUT_OF_THE_WAY = 100 };

static const struct option longs[] = {
    RUN_LONGS,
    {"close", no_argument, NULL, 'o'},
    {"command", required_argument, NULL, 'c'},
    {"no-fork", no_argument, NULL, 'F'},
    {"unlock", no_argument, NULL, 'u'},
    {"version", no_argument, NULL, 'V'},
    {0},
};

/* ---- the command line ---- */

void run_init(struct run *r)
{
	*r = (struct run){.mode = GLOCK_EX,
			  .conflict = 1,
			  .unknown = -1,
			  .timeout = -1,
			  .alive = -1,
			  .flocked = -1};
}

int run_take_option(struct run *r, int option)
{
	unsigned long n;

	switch (option) {
	case 's':
		r->mode = GLOCK_SH;
		return -1;
	case 'e':
	case 'x':
		r->mode = GLOCK_EX;
		return -1;
	case 'n':
		r->no_wait = true;
		return -1;
	case 'w':
		if (!parse_seconds(optarg, &r->timeout))
			return usage_error("-w needs a number of seconds, not %s", optarg);
		return -1;
	case 'V':
		return cmd_version.run(0, NULL);
	case 'E':
	case OPT_CACHED:
		if (!parse_number(optarg, 255, &n))
			return usage_error("%s needs an exit status from 0 to 255, not %s",
					   option == 'E' ? "-E" : "--cached-exit-code", optarg);
		*(option == 'E' ? &r->conflict : &r->unknown) = (int)n;
		return -1;
	case 'o':
		r->close = true;
		return -1;
	case 'F':
		r->no_fork = true;
		return -1;
	case OPT_VERBOSE:
		r->verbose = true;
		return -1;
	case OPT_LOCKMAN:
		r->lockman = optarg;
		return -1;
	case OPT_GROUP:
		r->group = optarg;
		return -1;
	case OPT_FILE:
		r->file = optarg;
		return -1;
	case 'u':
		return usage_error(
		    "-u: there is no descriptor to unlock; the lock ends with CMD and its "
		    "children, or with CMD alone if -o is given");
	default:
		return option == 'h' ? EX_OK : EX_USAGE;
	}
}

/* A path or a descriptor is what flock(1) takes. */
int run_take_names(struct run *r, int argc, char **argv)
{
	const char *first = argc ? argv[0] : "";

	if (r->file) {
		r->space_name = "paths";
		r->name = r->file;
		return -1;
	}
	if (*first == '/' || !strncmp(first, "./", 2) || !strncmp(first, "../", 3))
		return usage_error("%s is a file; to lock it, as flock(1) does: glock %s --file %s",
				   first, cli_command->name, first);
	if (argc == 1 && *first && !first[strspn(first, "0123456789")])
		return usage_error(
		    "%s: no lock has a descriptor; glock hold SPACE NAME keeps a lock until "
		    "the shell ends",
		    first);
	if (argc < 1)
		return usage_error("SPACE is missing");
	if (argc < 2 || !*argv[1])
		return usage_error("NAME is missing");
	r->space_name = first;
	r->name = argv[1];
	return -1;
}

/* The command of -c runs in a shell. */
static void run_take_shell(struct run *r, char *command)
{
	char *shell = getenv("SHELL");

	r->shell[0] = shell && *shell ? shell : (char *)"/bin/sh";
	r->shell[1] = (char *)"-c";
	r->shell[2] = command;
	r->argv = r->shell;
}

static int run_take_command(struct run *r, int argc, char **argv)
{
	const int names = r->file ? 0 : 2;

	argv += names;
	argc -= names;
	if (r->argv)
		return !argc && r->file ? -1
					: usage_error("-c stands behind SPACE and NAME, or behind "
						      "--file PATH, with one argument");
	if (argc && !strcmp(argv[0], "--")) {
		argv++;
		argc--;
	} else if (argc && (!strcmp(argv[0], "-c") || !strcmp(argv[0], "--command"))) {
		if (argc != 2)
			return usage_error("%s needs exactly one argument", argv[0]);
		run_take_shell(r, argv[1]);
		return -1;
	}
	if (!argc)
		return usage_error("CMD is missing");
	r->argv = argv;
	return -1;
}

static int run_parse(struct run *r, int argc, char **argv)
{
	const char *slash;
	int option, status;

	run_init(r);
	while ((option = next_option(argc, argv, "+:sexnoFuw:E:c:Vh", longs)) != -1) {
		status = -1;
		if (option == 'c')
			run_take_shell(r, optarg);
		else
			status = run_take_option(r, option);
		if (status >= 0)
			return status;
	}
	if (r->no_fork && r->close)
		return usage_error("-F and -o: no process would hold the lock; drop one of them");
	status = run_take_names(r, argc - optind, argv + optind);
	if (status < 0)
		status = run_take_command(r, argc - optind, argv + optind);
	if (status >= 0)
		return status;
	slash = r->argv == r->shell ? NULL : strrchr(r->argv[0], '/');
	run_set_command(r, r->argv == r->shell ? r->argv[2] : slash ? slash + 1 : r->argv[0]);
	return -1;
}

/* ---- the command ---- */

/*
 * Duplicates the file under a high number, because a script may use a low one: "exec 3<file" would
 * let the lock go.
 */
static void inherit(int fd)
{
	if (fd >= 0 && fcntl(fd, F_DUPFD, OUT_OF_THE_WAY) < 0)
		fcntl(fd, F_SETFD, 0);
}

/* In the child, or with -F in this process. Does not return. */
static void run_execute(struct run *r)
{
	int err;

	if (!r->close) {
		inherit(r->alive);
		if (r->flocked >= 0)
			fcntl(r->flocked, F_SETFD, 0);
	}
	if (r->no_fork)
		glock__publish_left(r->space);
	execvp(r->argv[0], r->argv);
	err = errno;
	complain("failed to execute %s: %s%s", r->argv[0], strerror(err),
		 err == ENOENT && !r->file ? "; CMD stands behind SPACE and NAME" : "");
	_exit(err == ENOMEM ? EX_OSERR : EX_UNAVAILABLE);
}

/* Makes CMD die with this process, because the lock would go with this process, too. */
static void die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EX_UNAVAILABLE);
}

/* Tells whether a process that CMD left behind still has the pipe. */
static bool somebody_left(const struct run *r)
{
	struct pollfd p = {.fd = r->left[0]};

	return (r->alive >= 0 || r->flocked >= 0) && !r->close && poll(&p, 1, 0) == 0;
}

static int run_command(struct run *r)
{
	pid_t parent = getpid(), pid;
	int status, pidfd;

	if (pipe2(r->left, O_CLOEXEC)) {
		complain("cannot make a pipe: %s", strerror(errno));
		return EX_OSERR;
	}
	signal(SIGCHLD, SIG_DFL);
	pid = fork();
	if (pid < 0) {
		complain("cannot fork: %s", strerror(errno));
		return EX_OSERR;
	}
	if (!pid) {
		if (r->close || (r->alive < 0 && r->flocked < 0))
			die_with(parent);
		else
			inherit(r->left[1]);
		run_execute(r);
	}
	close(r->left[1]);
	pidfd = pid_open(pid);
	if (pidfd >= 0)
		wait_for_process(pidfd, run_watched(r), run_take_again, r);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno == EINTR)
			continue;
		complain("cannot wait for the command: %s", strerror(errno));
		return EX_OSERR;
	}
	run_say_if_lost(r);
	if (somebody_left(r))
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_under_lock(int argc, char **argv)
{
	struct run r;
	int status = run_parse(&r, argc, argv);

	if (status >= 0)
		return status;
	status = run_lock(&r);
	if (status < 0) {
		r.alive = glock__alive_fd(r.space);
		if (r.file)
			r.flocked = fcntl(glock__path_fd(r.gl), F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
		if (r.verbose)
			complain("executing %s", r.argv[0]);
		if (r.no_fork)
			run_execute(&r);
		status = run_command(&r);
	}
	run_unlock(&r);
	return status;
}

const struct command cmd_run = {
    .name = "run",
    .usage = "[OPTION]... {SPACE NAME | --file PATH} {[--] CMD [ARG]... | -c COMMAND}",
    .what = "Runs a command under a lock, as flock(1) does.",
    .help =
	"  SPACE                     a lock space; glock makes it if it does not exist\n"
	"  NAME                      any text, or TYPE:NUMBER for the glock of that "
	"number\n" RUN_HELP_LOCK
	"  -o, --close               children that outlive CMD do not keep the lock;\n"
	"                            if glock is killed, CMD is killed as well\n"
	"  -F, --no-fork             become CMD instead of starting it\n"
	"  -c, --command COMMAND     run COMMAND with $SHELL\n" RUN_HELP_SPACE
	"  -V, --version             print the version\n"
	"\n"
	"CMD and its children keep the lock until the last of them ends, also if glock is killed.\n"
	"With lock managers dlm and etcd this does not hold: if glock is killed, CMD is killed, "
	"too.\n"
	"\n"
	"Exit status: that of CMD, or 128 + the number of the signal that killed CMD. If -n or -w\n"
	"gets no lock: 1, or N of -E. Other failures, as in sysexits.h: 64 usage; 65 the lock was\n"
	"refused; 66 the space cannot be used; 69 CMD cannot be executed; 71 the system failed;\n"
	"73 the space cannot be made; 77 no permission.\n",
    .run = run_under_lock,
};
