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
#include "glock/base/tls.h"
#include "glock/publish/publish_space.h"

#include "base/clean.h"
#include "cli.h"

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

struct run {
	const char *space_name, *name, *lockman, *group;
	char **argv; /* of CMD */
	char *shell[4];
	enum glock_mode mode;
	int conflict;    /* the exit status */
	int unknown;     /* the same if no user of the lock is known; -1: conflict */
	int64_t timeout; /* -1: none */
	bool no_wait, close, no_fork, verbose;

	char what[GLOCK__SEGMENT_WHERE]; /* see say_what() */
	const char *command;             /* CMD without its folder */

	struct glock_space *space;
	struct glock *gl;
	struct glock_holder gh;
	struct run *again; /* the lock in the space that came after this one, or NULL */
	int alive;         /* the file that keeps this node alive, or -1 */
	int left[2];       /* the pipe */
};

enum { OPT_VERBOSE = 256, OPT_LOCKMAN, OPT_CACHED, OPT_GROUP };
enum { OUT_OF_THE_WAY = 100 };

static const struct option longs[] = {
    {"shared", no_argument, NULL, 's'},
    {"exclusive", no_argument, NULL, 'x'},
    {"nb", no_argument, NULL, 'n'},
    {"nonblock", no_argument, NULL, 'n'},
    {"wait", required_argument, NULL, 'w'},
    {"timeout", required_argument, NULL, 'w'},
    {"conflict-exit-code", required_argument, NULL, 'E'},
    {"cached-exit-code", required_argument, NULL, OPT_CACHED},
    {"close", no_argument, NULL, 'o'},
    {"no-fork", no_argument, NULL, 'F'},
    {"unlock", no_argument, NULL, 'u'},
    {"verbose", no_argument, NULL, OPT_VERBOSE},
    {"lockman", required_argument, NULL, OPT_LOCKMAN},
    {"group", required_argument, NULL, OPT_GROUP},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

/* ---- the command line ---- */

/* Returns -1 to go on, else the exit status. */
static int take_option(struct run *r, int option)
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
	case 'u':
		return usage_error(
		    "-u: there is no descriptor to unlock; the lock ends with CMD and its "
		    "children, or with CMD alone if -o is given");
	default:
		return option == 'h' ? EX_OK : EX_USAGE;
	}
}

static int run_take_command(struct run *r, int argc, char **argv)
{
	char *shell = getenv("SHELL");

	if (argc < 1)
		return usage_error("SPACE is missing");
	if (argc < 2)
		return usage_error("NAME is missing");
	r->space_name = argv[0];
	r->name = argv[1];
	argv += 2;
	argc -= 2;
	if (argc && !strcmp(argv[0], "--")) {
		argv++;
		argc--;
	} else if (argc && (!strcmp(argv[0], "-c") || !strcmp(argv[0], "--command"))) {
		if (argc != 2)
			return usage_error("%s needs exactly one argument", argv[0]);
		r->shell[0] = shell && *shell ? shell : (char *)"/bin/sh";
		r->shell[1] = (char *)"-c";
		r->shell[2] = argv[1];
		r->argv = r->shell;
		return -1;
	}
	if (!argc)
		return usage_error("CMD is missing");
	r->argv = argv;
	return -1;
}

/* Others see this text where programs have a call site. */
static void say_what(struct run *r)
{
	const char *slash = r->argv == r->shell ? NULL : strrchr(r->argv[0], '/');

	r->command = r->argv == r->shell ? r->argv[2] : slash ? slash + 1 : r->argv[0];
	snprintf(r->what, sizeof(r->what), "%s: %s", r->name, r->command);
	glock__clean(r->what, strlen(r->what));
}

static int run_parse(struct run *r, int argc, char **argv)
{
	int option, status;

	*r = (struct run){
	    .mode = GLOCK_EX, .conflict = 1, .unknown = -1, .timeout = -1, .alive = -1};
	while ((option = next_option(argc, argv, "+:sexnoFuw:E:Vh", longs)) != -1) {
		status = take_option(r, option);
		if (status >= 0)
			return status;
	}
	if (r->no_fork && r->close)
		return usage_error("-F and -o: no process would hold the lock; drop one of them");
	status = run_take_command(r, argc - optind, argv + optind);
	if (status < 0)
		say_what(r);
	return status;
}

/* ---- the lock ---- */

/*
 * A node that caches the lock without a user gives it up. A node that does not answer is asked for
 * up to one second: a stopped process, or one with "dlm". Its file may show that it uses the lock.
 */
#define CACHED_NS 1000000000

static int nonblock(struct run *r)
{
	const int64_t end = now_ns() + CACHED_NS;
	int err;

	glock_holder_init(&r->gh, r->gl, r->mode, GLOCK_TRY | GLOCK_NOCACHE);
	do {
		err = glock_nq_at(&r->gh, r->what);
		if (err == -EAGAIN && lock_is_used(r->space, r->gl))
			err = -EBUSY;
	} while (err == -EAGAIN && now_ns() < end);
	return err;
}

static int acquire(struct run *r)
{
	int64_t start = now_ns();
	int err;

	if (r->no_wait || !r->timeout) {
		err = nonblock(r);
	} else {
		glock_holder_init(&r->gh, r->gl, r->mode, GLOCK_ASYNC | GLOCK_NOCACHE);
		err = glock_nq_at(&r->gh, r->what);
		if (!err)
			err = glock_wait(&r->gh, r->timeout < 0 ? 0 : start + r->timeout, 0);
	}
	if (!err && r->verbose)
		complain("getting the lock took %.6f seconds", 1e-9 * (double)(now_ns() - start));
	return err;
}

/* Publishes the name, in the form that o2top knows. A name of the form TYPE:NUMBER is none. */
static void name_dump(struct glock *gl, glock_print_fn *print, void *to)
{
	const struct run *r = glock_object(gl);
	char line[GLOCK__SEGMENT_OBJECT];
	unsigned int type;
	uint64_t number;
	int len;

	if (!r || name_is_number(r->name, &type, &number))
		return;
	len = snprintf(line, sizeof(line), " P: %.240s", r->name);
	glock__clean(line, (size_t)len);
	line[len++] = '\n';
	print(to, line, (size_t)len);
}

static const struct glock_ops name_ops = {.size = sizeof(name_ops), .dump = name_dump};

/* Lets others see CMD as the command of the holder. */
static void name_holder(struct run *r)
{
	char *name = glock__tls()->id.name;

	glock__thread_name(); /* reads the name, once */
	glock_set_object(r->gl, r);
	snprintf(name, sizeof(glock__tls()->id.name), "%.15s", r->command);
	glock__clean(name, strlen(name));
}

/* Returns -1 if this process has the lock, else the exit status. */
static int lock(struct run *r)
{
	/* A type of a program's own, as in 10:5, is known only to a space that was opened with it.
	 */
	struct glock_type_options own = {.size = sizeof(own), .ops = &name_ops};
	uint64_t number;
	int err, status;

	if (!name_to_glock(r->name, &own.type, &number))
		return usage_error(
		    "%s: no such glock; before the colon stands inode, flock or another type of "
		    "GFS2, or a number below 32; another separator than : makes it a name",
		    r->name);
	status = open_space(r->space_name, r->lockman, r->group, 0, &own, 1, &r->space);
	if (status)
		return status;
	if (r->no_fork && glock__alive_fd(r->space) < 0)
		return usage_error("-F: lock manager %s cannot hand the lock over to CMD; drop -F",
				   r->space->lm->ops->name);
	say_others(r->space);
	cli_quiet = !r->verbose; /* flock(1) does not report a wait, either */
	err = glock_get(r->space, own.type, number, &r->gl);
	if (!err) {
		name_holder(r);
		err = acquire(r);
	}
	if (!err)
		return -1;
	if (err == -EAGAIN || err == -EBUSY || err == -ETIMEDOUT) {
		if (r->verbose)
			complain(err == -EBUSY ? "another process has the lock"
				 : err == -EAGAIN
				     ? "no user of the lock is known, but the lock did not come"
				     : "timeout while waiting for the lock");
		if (r->verbose)
			say_holders(r->space, r->gl);
		return err == -EAGAIN && r->unknown >= 0 ? r->unknown : r->conflict;
	}
	say_kept();
	complain("lock %s in space %s: %s", r->name, r->space_name, strerror(-err));
	return err == -EIO || err == -ENOLCK || err == -ENOMEM ? EX_OSERR : EX_DATAERR;
}

static void unlock(struct run *r)
{
	if (r->again)
		unlock(r->again);
	free(r->again);
	if (r->gl) {
		glock_dq(&r->gh); /* does nothing for a holder that is not queued any more */
		glock_put(r->gl);
	}
	if (r->space)
		glock_space_close(r->space);
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

	if (!r->close)
		inherit(r->alive);
	if (r->no_fork)
		glock__publish_left(r->space);
	execvp(r->argv[0], r->argv);
	err = errno;
	complain("failed to execute %s: %s", r->argv[0], strerror(err));
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

	return r->alive >= 0 && !r->close && poll(&p, 1, 0) == 0;
}

/* Returns the lock that is taken last. */
static struct run *newest(struct run *r)
{
	while (r->again)
		r = r->again;
	return r;
}

/*
 * Takes the lock again in a new file of the space, so that a second command does not run beside
 * CMD. The old lock stays, because commands may still wait for it in the old file.
 */
static const char *take_again(void *arg)
{
	struct run *r = newest(arg), *again = malloc(sizeof(*again));

	if (!again)
		return NULL;
	*again = *r;
	again->gl = NULL;
	again->space = NULL;
	again->no_wait = true;
	again->verbose = false;
	if (lock(again) < 0)
		r->again = again;
	complain(
	    "the file of space %s is removed while %s runs; lock %s is %s; if systemd-logind does "
	    "this (RemoveIPC), let the user linger (loginctl enable-linger), or set GLOCK_DIR",
	    r->space_name, r->command, r->name, r->again ? "taken again in a new file" : "lost");
	if (r->again)
		return space_path(again->space);
	unlock(again);
	free(again);
	return NULL;
}

/*
 * Complains if CMD ran on without the lock, because CMD was not told. Also checks the space's file,
 * because a node notices its removal only within 2 seconds.
 */
static void say_if_lost(const struct run *r)
{
	const struct glock__lm_files *files = r->space->lm->files;
	const bool gone = files && files->is_there && !files->is_there(r->space->lm);

	if (!gone && glock_valid(&r->gh))
		return;
	say_kept();
	complain("lock %s in space %s was lost while %s ran%s", r->name, r->space_name, r->argv[0],
		 gone ? ", because the space's file was removed" : "");
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
		if (r->close || r->alive < 0)
			die_with(parent);
		else
			inherit(r->left[1]);
		run_execute(r);
	}
	close(r->left[1]);
	pidfd = pid_open(pid);
	if (pidfd >= 0)
		wait_for_process(pidfd, space_path(r->space), take_again, r);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno == EINTR)
			continue;
		complain("cannot wait for the command: %s", strerror(errno));
		return EX_OSERR;
	}
	say_if_lost(newest(r));
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
	status = lock(&r);
	if (status < 0) {
		r.alive = glock__alive_fd(r.space);
		if (r.verbose)
			complain("executing %s", r.argv[0]);
		if (r.no_fork)
			run_execute(&r);
		status = run_command(&r);
	}
	unlock(&r);
	return status;
}

const struct command cmd_run = {
    .name = "run",
    .usage = "[OPTION]... SPACE NAME [--] CMD [ARG]... | SPACE NAME -c COMMAND",
    .what = "Runs a command under a lock, as flock(1) does.",
    .help =
	"  SPACE                     a lock space; glock makes it if it does not exist\n"
	"  NAME                      any text, or TYPE:NUMBER for the glock of that number\n"
	"  -x, -e, --exclusive       no other process may have the lock (default)\n"
	"  -s, --shared              other processes may have the lock shared, too\n"
	"  -w, --wait, --timeout SEC wait for SEC seconds at most; 0 means -n\n"
	"  -n, --nb, --nonblock      do not wait while another process has the lock\n"
	"  -E, --conflict-exit-code N  exit with N if -n or -w gets no lock (default: 1)\n"
	"      --cached-exit-code N  exit with N if -n gets no lock, and no user of the lock\n"
	"                            is known (default: as -E)\n"
	"  -o, --close               children that outlive CMD do not keep the lock;\n"
	"                            if glock is killed, CMD is killed as well\n"
	"  -F, --no-fork             become CMD instead of starting it\n"
	"  -c, --command COMMAND     run COMMAND with $SHELL\n"
	"      --verbose             print the time until the lock, or why there is no lock\n"
	"      --group GROUP         the members of GROUP share SPACE (default: $GLOCK_GROUP)\n"
	"      --lockman NAME        none, local or dlm (default: $GLOCK_LOCKMAN, or local)\n"
	"  -V, --version             print the version\n"
	"\n"
	"CMD and its children keep the lock until the last of them ends, also if glock is killed.\n"
	"With lock manager dlm this does not hold: if glock is killed, CMD is killed as well.\n"
	"\n"
	"Exit status: that of CMD, or 128 + the number of the signal that killed CMD. If -n or -w\n"
	"gets no lock: 1, or N of -E. Other failures, as in sysexits.h: 64 usage; 65 the lock was\n"
	"refused; 66 the space cannot be used; 69 CMD cannot be executed; 71 the system failed;\n"
	"73 the space cannot be made; 77 no permission.\n",
    .run = run_under_lock,
};
