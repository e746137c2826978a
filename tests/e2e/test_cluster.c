/* SPDX-License-Identifier: MIT */
/*
 * test_cluster.c - tests o2top on several machines over ssh.
 *
 * A script stands for ssh and runs the shell here, on the files of a recording. Nodes that refuse,
 * hang, lie, drip, flood and die must not stop the others. No process may be left of any node.
 */
#include "frames.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct fake {
	char root[64];
};

static void put(const struct fake *f, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", f->root, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Makes the samples of a recording the files of the nodes. */
static void use(const struct fake *f, const char *recording, const char *samples)
{
	setenv("O2TOP_CAPTURE", capture(recording), 1);
	put(f, "node1.samples", samples);
	put(f, "node2.samples", samples);
	put(f, "node3.samples", samples);
}

static int set_up(void **state)
{
	static struct fake f;

	strcpy(f.root, "/tmp/o2top-cluster-XXXXXX");
	assert_non_null(mkdtemp(f.root));
	setenv("O2TOP_FAKE", f.root, 1);
	put(&f, "pids", "");
	*state = &f;
	return 0;
}

/* Waits until each process that o2top started has ended. Fails if one stays. */
static void nothing_left(const struct fake *f)
{
	char path[256], line[64];
	FILE *pids;

	snprintf(path, sizeof(path), "%s/pids", f->root);
	pids = fopen(path, "r");
	assert_non_null(pids);
	while (fgets(line, sizeof(line), pids)) {
		pid_t pid = (pid_t)atoi(line);
		int tries = 0;

		assert_true(pid > 0);
		/* the process group, too, because the shell there starts processes */
		while (kill(-pid, 0) == 0 && tries++ < 3000)
			usleep(10000);
		if (kill(-pid, 0) == 0)
			fail_msg("%d is left", (int)pid);
	}
	fclose(pids);
}

static int tear_down(void **state)
{
	const struct fake *f = *state;
	char command[128];

	nothing_left(f);
	snprintf(command, sizeof(command), "rm -r %s", f->root);
	return system(command);
}

static const char *args_for(const char *more)
{
	static char args[2048];

	snprintf(args, sizeof(args), "--ssh %s/fakessh.sh -n node1 -n node2 -n node3 %s",
		 getenv("O2TOP_TESTS"), more);
	return args;
}

static json_t *frame_at(json_t *frames, size_t i)
{
	json_t *frame = json_array_get(frames, i);

	assert_non_null(frame);
	return frame;
}

static void assert_state(json_t *frame, const char *node, const char *state, const char *why)
{
	json_t *n = node_of(frame, node);

	assert_non_null(n);
	if (strcmp(text_of(n, "state"), state) != 0)
		fail_msg("%s is %s (%s), not %s", node, text_of(n, "state"), text_of(n, "why"),
			 state);
	if (why && (json_is_null(json_object_get(n, "why")) || !strstr(text_of(n, "why"), why)))
		fail_msg("%s: %s, not %s", node, text_of(n, "why"), why);
}

/* Finds a frame with this state. Its place depends on the load of this machine. */
static json_t *frame_with(json_t *frames, const char *node, const char *state, const char *why)
{
	json_t *frame, *n;
	size_t i;

	json_array_foreach(frames, i, frame)
	{
		n = node_of(frame, node);
		if (n && strcmp(text_of(n, "state"), state) == 0 &&
		    (!why ||
		     (!json_is_null(json_object_get(n, "why")) && strstr(text_of(n, "why"), why))))
			return frame;
	}
	fail_msg("%s was never %s (%s)", node, state, why ? why : "");
	return NULL;
}

/* Returns whether a frame shows a sample of a node. On a busy machine the sample may be late. */
static bool has_sample(json_t *frame, const char *node)
{
	return json_is_integer(json_object_get(node_of(frame, node), "read_bytes"));
}

static int samples_of(json_t *frames, const char *node)
{
	json_t *frame;
	int n = 0;
	size_t i;

	json_array_foreach(frames, i, frame) n += has_sample(frame, node);
	return n;
}

/* Compares all rows of two frames. */
static void assert_same_rows(json_t *a, json_t *b)
{
	json_t *rows = json_object_get(a, "rows"), *others = json_object_get(b, "rows");

	assert_true(json_array_size(rows) > 3);
	assert_int_equal(json_array_size(rows), json_array_size(others));
	for (size_t i = 0; i < json_array_size(rows); i++) {
		json_t *x = json_array_get(rows, i), *y = json_array_get(others, i);

		assert_true(json_equal(json_object_get(x, "ino"), json_object_get(y, "ino")));
		assert_true(
		    json_equal(json_object_get(x, "acquired"), json_object_get(y, "acquired")));
		assert_true(fabs(real_of(x, "wait_s") - real_of(y, "wait_s")) < 1e-6);
		assert_true(fabs(real_of(x, "wait_s_per_s") - real_of(y, "wait_s_per_s")) < 1e-6);
	}
}

/* Samples over the wire give the same frames as a recording of the same files. */
static void the_same_as_the_recording(void **state)
{
	static const char *const modes[] = {"", "noise\n", "agent\n"};
	const struct fake *f = *state;
	json_t *recorded = run_frames(capture("ocfs2-hot"));

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		json_t *live, *node;

		use(f, "ocfs2-hot", "t0\nt1\nt2\n");
		put(f, "node1.mode", modes[i]);
		put(f, "node2.mode", modes[i]);
		put(f, "node3.mode", modes[i]);
		live = run_frames(args_for("-t 0.5 -i 2 --answer-limit 60"));
		assert_int_equal(json_array_size(live), 2);
		assert_same_rows(frame_at(recorded, 0), frame_at(live, 0));
		assert_same_rows(frame_at(recorded, 1), frame_at(live, 1));
		node = node_of(frame_at(live, 1), "node1");
		assert_true(json_integer_value(json_object_get(node, "read_bytes")) > 1000);
		/* samples that tell only changes are smaller, because most locks are idle */
		if (*modes[i] == 'a')
			assert_true(json_integer_value(json_object_get(node, "read_bytes")) <
				    30000);
		else
			assert_true(json_integer_value(json_object_get(node, "read_bytes")) >
				    40000);
		json_decref(live);
	}
	json_decref(recorded);
}

static void a_node_that_refuses(void **state)
{
	const struct fake *f = *state;
	json_t *live;

	use(f, "ocfs2-hot", "t0\nt1\nt2\n");
	put(f, "node2.mode", "refused\n");
	live = run_frames(args_for("-t 0.5 -i 2 --answer-limit 60"));
	frame_with(live, "node1", "ok", NULL);
	frame_with(live, "node2", "unreachable",
		   "ssh: connect to host node2 port 22: Connection refused");
	frame_with(live, "node3", "ok", NULL);
	assert_true(json_array_size(json_object_get(frame_at(live, 1), "rows")) > 3);
	json_decref(live);
}

static void nobody_answers(void **state)
{
	const struct fake *f = *state;
	char *text;
	int status;

	use(f, "ocfs2-hot", "t0\n");
	put(f, "node1.mode", "refused\n");
	put(f, "node2.mode", "refused\n");
	put(f, "node3.mode", "refused\n");
	text = run_text(args_for("--once 2>&1"), &status);
	assert_int_equal(status, 3);
	assert_non_null(strstr(text, "Connection refused"));
	/* silent nodes do not mean that all is well */
	assert_non_null(strstr(text, "no node answered: nothing is known"));
	assert_null(strstr(text, "no waits"));
	free(text);
	text = run_text(args_for("--check -t 0.5"), &status);
	assert_int_equal(status, 3);
	assert_int_equal(strncmp(text, "O2TOP UNKNOWN - ", 16), 0);
	assert_non_null(strstr(text, "Connection refused"));
	free(text);
}

/* All nodes answer and have no file system. The message is not about this machine. */
static void nothing_on_any_node(void **state)
{
	const struct fake *f = *state;
	char command[512], *text;
	int status;

	use(f, "ocfs2-hot", "t0\n");
	snprintf(command, sizeof(command),
		 "cd %s && for n in 1 2 3; do mkdir -p empty/t0/node$n/ocfs2 empty/t0/node$n/gfs2; "
		 "cp \"$O2TOP_CAPTURE\"/t0/node$n/uptime \"$O2TOP_CAPTURE\"/t0/node$n/realtime "
		 "empty/t0/node$n; done",
		 f->root);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof(command), "%s/empty", f->root);
	setenv("O2TOP_CAPTURE", command, 1);
	text = run_text(args_for("--once 2>&1"), &status);
	assert_int_equal(status, 1);
	assert_non_null(strstr(text, "all nodes answer, but no OCFS2 or GFS2 is mounted"));
	free(text);
}

static size_t count_of(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/*
 * --check prints one line for monitoring. --csv prints one head for the table. The first sample
 * alone has no rates and is not shown.
 */
static void what_programs_read(void **state)
{
	const struct fake *f = *state;
	char *text;
	int status;

	use(f, "ocfs2-hot", "t0\nt1\nt2\nt3\n");
	text = run_text(args_for("--check -t 0.5 --warn 0.1 --crit 1000"), &status);
	assert_int_equal(status, 1);
	assert_int_equal(strncmp(text, "O2TOP WARNING - ", 16), 0);
	assert_int_equal(count_of(text, "\n"), 1);
	free(text);
	use(f, "ocfs2-hot", "t0\nt1\nt2\nt3\n");
	text = run_text(args_for("--csv -t 0.5 -i 2"), &status);
	assert_int_equal(status, 0);
	assert_int_equal(count_of(text, "time,sample,section,"), 1);
	free(text);
}

/* A node without an answer does not delay the first screen. */
static void a_mute_node(void **state)
{
	const struct fake *f = *state;
	struct timespec from, to;
	json_t *live;

	use(f, "ocfs2-hot", "t0\nt1\n");
	put(f, "node3.mode", "mute\n");
	clock_gettime(CLOCK_MONOTONIC, &from);
	live = run_frames(args_for("--once --answer-limit 6"));
	clock_gettime(CLOCK_MONOTONIC, &to);
	assert_state(frame_at(live, 0), "node1", "ok", NULL);
	assert_state(frame_at(live, 0), "node3", "unreachable", "connecting for");
	/* the limit and 1 s to end; the mute node would take 30 s */
	assert_true(to.tv_sec - from.tv_sec < 20);
	json_decref(live);
}

static void nodes_that_lie(void **state)
{
	static const struct {
		const char *mode, *why;
	} lies[] = {{"garbage\n", "a line outside a sample"},
		    {"forged\n", "a line outside a sample"},
		    {"endless\n", "a sample of more than 4 MiB"}};
	const struct fake *f = *state;

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		json_t *live, *frame;
		bool told = false;
		size_t at;

		use(f, "ocfs2-hot", "t0\nt1\nt2\n");
		put(f, "node1.mode", lies[i].mode);
		live = run_frames(args_for("-t 0.5 -i 6 --sample-limit 4 --answer-limit 60"));
		json_array_foreach(live, at, frame)
		{
			const char *why = text_of(node_of(frame, "node1"), "why");

			/* random bytes may begin with a line that is too long */
			told |=
			    why && (strstr(why, lies[i].why) || strstr(why, "a line without end"));
			assert_true(
			    json_is_null(json_object_get(node_of(frame, "node1"), "read_bytes")));
		}
		frame_with(live, "node2", "ok", NULL);
		if (!told)
			fail_msg("%s is not told", lies[i].mode);
		json_decref(live);
	}
}

/*
 * node1 sends one byte a second. A kernel file of node2 cannot be read to its end. Both nodes are
 * connected, and both become stale.
 */
static void nodes_that_stop(void **state)
{
	const struct fake *f = *state;
	json_t *live, *stale;

	use(f, "ocfs2-hot", "t0\nt1\nt2\n");
	put(f, "node1.mode", "drip\n");
	put(f, "node2.mode", "hung\n");
	live = run_frames(args_for("-t 1 -i 16"));
	/* on a busy machine node3 is slow, and a frame that waits for it misses the time before */
	frame_with(live, "node1", "stale", "no sample since");
	assert_true(samples_of(live, "node3") > 0);
	stale = frame_with(live, "node2", "stale", "no sample since");
	assert_true(real_of(node_of(stale, "node2"), "silent_s") > 9);
	/* old numbers leave the ranking */
	assert_null(node_of(json_array_get(json_object_get(stale, "rows"), 0), "node2"));
	json_decref(live);
}

/* The first sample of a node is late for its frame. Later frames wait for the node. */
static void a_slow_node(void **state)
{
	const struct fake *f = *state;
	bool counted = false;
	json_t *live, *frame;
	size_t i;

	use(f, "ocfs2-hot", "t0\nt1\nt2\nt3\nt4\n");
	put(f, "node2.mode", "slow\n");
	live = run_frames(args_for("-t 1 -i 8"));
	json_array_foreach(live, i, frame)
	{
		json_t *node = node_of(frame, "node2");

		counted |= json_is_number(json_object_get(node, "interval_s"));
	}
	assert_true(counted);
	/* on a busy machine, a frame or two may still go on without the node */
	assert_true(samples_of(live, "node2") + 3 >= (int)json_array_size(live));
	json_decref(live);
}

/* The node ends after each sample. o2top calls it again. */
static void a_node_that_comes_and_goes(void **state)
{
	const struct fake *f = *state;
	int away = 0, back = 0;
	int ok = 0;
	json_t *live, *frame;
	size_t i;

	use(f, "ocfs2-hot", "t0\nt1\nt2\nt3\nt4\n");
	put(f, "node2.mode", "once\n");
	live = run_frames(args_for("-t 0.5 -i 24 --answer-limit 60"));
	json_array_foreach(live, i, frame)
	{
		json_t *node = node_of(frame, "node2");

		away += strcmp(text_of(node, "state"), "unreachable") == 0;
		back += i > 0 && json_is_integer(json_object_get(node, "read_bytes"));
		ok += strcmp(text_of(node_of(frame, "node1"), "state"), "ok") == 0;
	}
	/* every second call works */
	assert_true(away > 0 && back > 1);
	assert_true(2 * ok > (int)json_array_size(live));
	json_decref(live);
}

static void what_may_not_be_read(void **state)
{
	const struct fake *f = *state;
	json_t *live;

	use(f, "ocfs2-hot", "t0\nt1\n");
	put(f, "node1.mode", "lockdown\n");
	put(f, "node2.mode", "nodebugfs\n");
	live = run_frames(args_for("--once --answer-limit 60"));
	assert_state(frame_at(live, 0), "node1", "no permission",
		     "the kernel is locked down (integrity)");
	assert_state(frame_at(live, 0), "node2", "no permission", "debugfs is not mounted");
	assert_state(frame_at(live, 0), "node3", "ok", NULL);
	json_decref(live);
}

/* Tells whether node1 was asked since the last call of this function. */
static bool was_asked_for_paths(const struct fake *f)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/node1.looked", f->root);
	return remove(path) == 0;
}

/* The shell and the agent each find the path of a file that is open on a node. */
static void paths_of_open_files(void **state)
{
	static const char *const modes[] = {"paths\n", "agentpaths\n"};
	const struct fake *f = *state;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		json_t *live;

		use(f, "ocfs2-hot", "t0\nt1\nt2\nt3\nt4\n");
		put(f, "node1.mode", modes[i]);
		live = run_frames(args_for("-t 1 -i 4 --answer-limit 60"));
		assert_string_equal(text_of(row_of(frame_at(live, 3), "ocfs2", 32264), "path"),
				    "/mnt/o2/a log");
		json_decref(live);
		assert_true(was_asked_for_paths(f));
		for (size_t k = 0; k < 2; k++) {
			use(f, "ocfs2-hot", "t0\nt1\nt2\nt3\nt4\n");
			live = run_frames(
			    args_for(k ? "-t 1 -i 3 --touch-nothing" : "-t 1 -i 3 --paths=none"));
			assert_string_equal(
			    text_of(row_of(frame_at(live, 2), "ocfs2", 32264), "path"), "");
			json_decref(live);
			/* no node is asked for paths, and nothing else touches a mount */
			assert_false(was_asked_for_paths(f));
		}
	}
}

/* A name reaches a shell as an argument only. */
static void names_are_not_commands(void **state)
{
	static const char *const names[] = {"-oProxyCommand=touch\\ $O2TOP_FAKE/pwned", "'a b'",
					    "'$(touch $O2TOP_FAKE/pwned)'", "'a;b'", "''"};
	const struct fake *f = *state;
	char args[512], path[128], *text;
	int status;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(args, sizeof(args), "-n %s --once 2>&1", names[i]);
		text = run_text(args, &status);
		assert_int_equal(status, 2);
		assert_non_null(strstr(text, "not a name of a machine"));
		free(text);
	}
	/* o2top compares a mount point on this machine and never sends it */
	use(f, "ocfs2-hot", "t0\n");
	text = run_text(
	    args_for("--once '/mnt/$(touch $O2TOP_FAKE/pwned); touch $O2TOP_FAKE/pwned' 2>&1"),
	    &status);
	assert_int_equal(status, 1);
	free(text);
	snprintf(path, sizeof(path), "%s/pwned", f->root);
	assert_int_not_equal(access(path, F_OK), 0);
}

/*
 * Starts o2top, waits until all nodes were called, and sends the signal. With signal 0, the reader
 * of o2top's output ends instead. Returns the exit status as a shell gives it.
 */
static int end_by(const struct fake *f, const char *args, int signal)
{
	char command[4000];
	int status;

	put(f, "pids", "");
	snprintf(
	    command, sizeof(command),
	    "cd %s; rm -f out; mkfifo out; %s <out >/dev/null & reader=$!; "
	    "{ exec env --default-signal=INT,PIPE \"$O2TOP\" %s >out 2>err & }; pid=$!; tries=0; "
	    "while [ $(wc -l <pids) -lt 3 ] && [ $tries -lt 1200 ]; do "
	    "sleep 0.05; tries=$((tries+1)); done; kill -%d %s; wait $pid; status=$?; "
	    "kill $reader 2>/dev/null; exit $status",
	    f->root, signal ? "cat" : "sleep 1000", args_for(args), signal ? signal : SIGKILL,
	    signal ? "$pid" : "$reader");
	status = system(command);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* SIGKILL of o2top leaves no process, because the input of the shells ends. */
static void killed(void **state)
{
	const struct fake *f = *state;

	use(f, "ocfs2-hot", "t0\nt1\n");
	assert_int_equal(end_by(f, "-t 60", SIGKILL), 128 + SIGKILL);
	nothing_left(f);
}

/*
 * A signal that o2top can handle leaves no process, even of a node that reads no input. This holds
 * in each of o2top's waits.
 */
static void ended(void **state)
{
	static const struct {
		const char *args;
		int signal;
		const char *mode; /* of node1: decides whether there is a first answer */
	} ends[] = {
	    {"-t 60", SIGTERM, ""},
	    {"-t 60", SIGHUP, ""},
	    {"-t 60", SIGINT, ""},
	    {"-t 60", SIGINT, "mute\n"},
	    {"--json -t 60", SIGTERM, ""},
	    {"--csv -t 60", SIGHUP, ""},
	    {"--check -t 60", SIGTERM, ""},
	    {"--textfile text.prom -t 60", SIGTERM, ""},
	    {"--record day.o2r --json -t 60", SIGTERM, ""},
	    {"--json -t 0.2", 0, ""},
	};
	const struct fake *f = *state;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		int expected = 128 + (ends[i].signal ? ends[i].signal : SIGPIPE), status;

		use(f, "ocfs2-hot", "t0\nt1\n");
		put(f, "node1.mode", ends[i].mode);
		put(f, "node2.mode", "mute\n");
		put(f, "node3.mode", ends[i].mode);
		status = end_by(f, ends[i].args, ends[i].signal);
		if (status != expected)
			fail_msg("%s, signal %d: ended with %d", ends[i].args, ends[i].signal,
				 status);
		nothing_left(f);
	}
}

/*
 * Keeps the tests of `part`, "K/N", at the beginning of the table. Returns their number. Without a
 * part, it keeps all of them.
 *
 * The build runs parts 1/N to N/N side by side. The part of a test follows from its place in the
 * table, so together the parts are the whole table.
 */
static size_t keep_part(struct CMUnitTest *tests, size_t n, const char *part)
{
	unsigned int k, of;
	size_t kept = 0;

	if (!part)
		return n;
	if (sscanf(part, "%u/%u", &k, &of) != 2 || !k || k > of || of > n) {
		fprintf(stderr, "%s: not a part of %zu tests\n", part, n);
		exit(2);
	}
	for (size_t i = k - 1; i < n; i += of)
		tests[kept++] = tests[i];
	return kept;
}

/* [K/N]: only that part of the tests */
int main(int argc, char **argv)
{
	struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(the_same_as_the_recording, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_node_that_refuses, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(nobody_answers, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(nothing_on_any_node, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(what_programs_read, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_mute_node, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(nodes_that_lie, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(nodes_that_stop, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_slow_node, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_node_that_comes_and_goes, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(what_may_not_be_read, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(paths_of_open_files, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(names_are_not_commands, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(killed, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(ended, set_up, tear_down),
	};

	/* nohup and a shell's "&" ignore signals, and programs inherit that */
	signal(SIGHUP, SIG_DFL);
	signal(SIGINT, SIG_DFL);

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return _cmocka_run_group_tests(
	    "tests", tests,
	    keep_part(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL), NULL,
	    NULL);
}
