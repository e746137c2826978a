/* SPDX-License-Identifier: MIT */
/*
 * main.c - the program o2top: takes samples, ranks and shows them, until there are no more.
 */
#include "o2top/base/caps.h"
#include "o2top/base/ending.h"
#include "o2top/base/problems.h"
#include "o2top/options/config.h"
#include "o2top/rank/rank.h"
#include "output.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "o2top/base/units.h"
#include "o2top/collect/machine/mounts.h"
#include "o2top/collect/recording/record.h"
#include "o2top/collect/remote/cluster.h"
#include "o2top/engine/watch.h"
#include "o2top/sources/sources.h"
#include "o2top/views/screen/tui.h"

struct session {
	struct options o;
	struct collector *collector;
	bool recording;     /* the collector is a recorder */
	bool replayed;      /* the frames come from a recording */
	struct times times; /* of a recording: the samples that are shown */
	size_t taken;       /* samples */
	struct model model;
	struct names *names;
	struct watch watch;       /* the model with all that belongs to it */
	struct problems problems; /* of the time since the last frame */
	struct output out;
	char title_text[1024];
	const char *title;
	char *resolved;          /* the target of the given path, if it was a link */
	struct discovered found; /* the nodes of the cluster that this machine is in */
	bool saw_space, saw_usable;
	bool away;    /* a node is missing from the last sample */
	bool shown;   /* a screen was shown */
	int ended_by; /* a signal, or 0 */
};

/* ---- showing ------------------------------------------------------------------------------- */

static void no_such_space(const struct session *r)
{
	complain("nothing to watch: no process is in space %s, and no OCFS2 or GFS2 here has that "
		 "name; --fs glock shows all spaces, and glock ls lists them",
		 r->o.filter.fs);
}

static int main_show(struct session *r, const char *label, bool single)
{
	struct group group;
	struct frame frame = {&r->model, &group, &r->problems, label, r->title, single};
	int err;

	if (!filter_knows_space(&r->o.filter, &r->model)) {
		if (r->collector->ops->live) {
			no_such_space(r);
			return -ENOENT;
		}
		complain("--fs %s: no such lock space or kind of file system; try --fs ocfs2, gfs2 "
			 "or glock%s%s",
			 r->o.filter.fs, r->model.n_spaces ? ", or --fs " : "",
			 r->model.n_spaces ? r->model.spaces[0].name : "");
		return -EINVAL;
	}
	err = group_rank(&group, &r->model, r->names, &r->o.filter, r->o.sort);
	if (err)
		return err;
	watch_ranked(&r->watch, &group);
	err = output_frame(&r->out, &frame);
	group_free(&group);
	problems_clear(&r->problems);
	return err;
}

/* ---- samples ------------------------------------------------------------------------------- */

/* Waits for the other machines, if there are any. Returns false if the program is to end. */
static bool is_there(struct session *r)
{
	const struct collector_ops *ops = r->collector->ops;

	if (!ops->ask || ops->ask(r->collector))
		return !ending();
	if (r->taken)
		return ending_wait(ops->fd(r->collector), NULL);
	return r->o.n_nodes ? first_answer_wait(ops->fd(r->collector), r->o.nodes, r->o.n_nodes)
			    : first_answer_wait(ops->fd(r->collector), r->found.names, r->found.n);
}

/* Takes a sample. Returns 0 if there are no more, or if the program is to end. */
static int main_take(struct session *r, char **label)
{
	struct sample sample;
	int got = is_there(r) ? r->collector->ops->next(r->collector, &sample, &r->problems) : 0;

	if (got <= 0)
		return got;
	if (r->recording && ending_reopens())
		recorder_reopen(r->collector);
	free(*label);
	*label = strdup(sample.label);
	if (!*label)
		return -ENOMEM;
	r->watch.collector = r->collector;
	got = watch_sample(&r->watch, &sample);
	problems_join(&r->problems, &r->model.problems);
	r->taken++;
	if (r->o.collect)
		collect_all(r->collector, &sample);
	if (r->recording)
		recorder_sampled(r->collector, &r->problems, &r->model.banners);
	for (size_t i = 0; i < sample.n_nodes; i++)
		r->saw_space |= sample.nodes[i].n_spaces > 0;
	r->away = false;
	for (size_t i = 0; i < r->model.n_nodes; i++) {
		const struct node *node = &r->model.nodes[i];

		r->saw_usable |= node->last_sample == r->model.sample &&
				 node->state != NODE_UNUSABLE && node->state != NODE_NO_PERMISSION;
		r->away |= node->last_sample != r->model.sample;
	}
	return got ? got : 1;
}

/*
 * Waits until the next sample is due: interval_s after the last one was due. If that moment is
 * over, the next sample is due a whole interval from now. Returns false if the program is to end.
 */
static bool wait_for(struct timespec *next, double interval_s)
{
	struct timespec now;

	next->tv_sec += (time_t)interval_s;
	next->tv_nsec += (long)(1e9 * (interval_s - (double)(time_t)interval_s));
	if (next->tv_nsec >= 1000000000) {
		next->tv_sec++;
		next->tv_nsec -= 1000000000;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec > next->tv_sec ||
	    (now.tv_sec == next->tv_sec && now.tv_nsec > next->tv_nsec)) {
		*next = now;
		return wait_for(next, interval_s);
	}
	return ending_wait(-1, next);
}

/* Returns whether the user asked for the sample taken last. A recording may hold others. */
static bool is_asked_for(const struct session *r)
{
	size_t i = r->times.begin + r->taken - 1;

	return !r->replayed || (i >= r->times.first && i < r->times.end);
}

/* Returns whether people read the text. Programs want one line, or one head, with rates in it. */
static bool for_people(const struct options *o)
{
	return !o->json && !o->csv && !o->check && !o->summary && (o->batch || !o->textfile);
}

/* Seconds between the two samples of --once, unless -t says otherwise. */
#define ONCE_S 1.0

/* Returns whether --debugfs names a copy. Its time stands still, so a second sample tells nothing.
 */
static bool is_copy(const struct session *r)
{
	char path[PATH_MAX];

	return r->o.roots.debugfs &&
	       (size_t)snprintf(path, sizeof(path), "%s/realtime", r->o.roots.debugfs) <
		   sizeof(path) &&
	       access(path, F_OK) == 0;
}

static double interval_of(const struct session *r)
{
	if (r->o.once)
		return r->o.interval_given ? r->o.interval_s : ONCE_S;
	return max_s(r->o.interval_s, r->model.interval_s);
}

/*
 * Shows frames as text. A frame lies between two samples. In two cases the first sample makes a
 * frame of its own. The first case is that there is no other sample. The second case is text from
 * live nodes, because the user would have to wait for the second sample.
 */
static int main_loop(struct session *r)
{
	bool live = r->collector->ops->live, one = r->o.once && (!live || is_copy(r));
	struct timespec next;
	char *label = NULL;
	int got;

	clock_gettime(CLOCK_MONOTONIC, &next);
	got = main_take(r, &label);
	if (got > 0 && live && !r->o.once && (r->saw_space || r->away) &&
	    (r->saw_usable || r->away) && for_people(&r->o)) {
		got = main_show(r, label, true);
		r->out.frames = 0;
		got = got ? got : 1;
	}
	/* nodes of a cluster may answer later */
	while (got > 0 && (r->saw_space || !live || r->away)) {
		bool first = r->model.sample == 1;
		int err = 0;

		if (live && !one && !wait_for(&next, interval_of(r)))
			break;
		got = one ? 0 : main_take(r, &label);
		/* a recording may begin before anything is mounted */
		if ((r->saw_space || (live && r->away)) && (got > 0 || (got == 0 && first)) &&
		    is_asked_for(r) && !ending())
			err = main_show(r, label, got == 0);
		if (err)
			got = err;
		if (r->o.once || (r->o.iterations && r->out.frames == r->o.iterations))
			break;
		if (r->replayed && r->times.begin + r->taken >= r->times.end)
			break;
	}
	free(label);
	return got < 0 ? got : 0;
}

/*
 * Returns why the screen writes no configuration, or NULL. A rule of sudo allows a user to look,
 * and root's configuration decides what each later o2top of root does.
 */
static const char *no_save(const struct options *o)
{
	static const char *const callers[] = {"SUDO_UID", "PKEXEC_UID", "DOAS_USER"};

	if (o->read_only)
		return "--read-only is given";
	if (o->config.ignored)
		return o->config.ignored;
	for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++)
		if (getenv(callers[i]))
			return "o2top runs for another user (sudo): root can edit the file";
	return NULL;
}

/*
 * Shows frames on a terminal. The first sample is taken here, because there may be nothing to show.
 * Nodes that have not answered are worth showing.
 */
static int interactive(struct session *r)
{
	struct tui_setup setup = {.title = r->title,
				  .view = &r->o.view,
				  .columns = r->o.columns,
				  .mouse = !r->o.no_mouse,
				  .config = r->o.config.path,
				  .no_save = no_save(&r->o),
				  .ignored = r->o.config.ignored,
				  .save = config_save};
	bool live = r->collector->ops->live;
	char *label = NULL;
	int got;

	/* a recording may begin before anything is mounted */
	do
		got = main_take(r, &label);
	while (got > 0 && !live && !r->saw_space);
	if (got > 0 && (r->saw_space || (live && r->away)) && (r->saw_usable || !live || r->away)) {
		struct collector *c = r->collector;

		setup.engine = (struct engine_setup){.collector = c,
						     .model = &r->model,
						     .label = label,
						     .watch = &r->watch,
						     .problems = &r->problems,
						     .filter = &r->o.filter,
						     .sort = r->o.sort,
						     .interval_s = r->o.interval_s,
						     .speed = r->o.speed};
		setup.recording = r->recording;
		if (r->recording) {
			setup.engine.sampled = recorder_sampled;
			setup.engine.sampled_arg = c;
		}
		setup.engine.end = r->times.end;
		setup.engine.first = r->times.begin + r->taken - 1;
		r->shown = true;
		got = tui_run(&setup);
		r->ended_by = got > 0 ? got : 0;
	}
	free(label);
	return got < 0 ? got : 0;
}

/* ---- beginning and end --------------------------------------------------------------------- */

/*
 * Returns whether the given path is a mount point. A path in a mounted OCFS2 or GFS2 is one, and
 * any other path is a recording.
 */
static bool is_mount(struct session *r)
{
	struct options *o = &r->o;
	struct mounts mounts;
	bool yes;

	if (o->n_paths != 1 || o->recording)
		return false;
	if (mounts_read(&mounts, o->roots.mountinfo ? o->roots.mountinfo : "/proc/self/mountinfo"))
		return o->roots.debugfs != NULL;
	yes = mounts_of_path(&mounts, o->paths[0]) != NULL;
	if (!yes && mounts.n && (r->resolved = mounts_resolve(&mounts, o->paths[0])) &&
	    mounts_of_path(&mounts, r->resolved)) {
		o->paths[0] = r->resolved;
		yes = true;
	}
	mounts_free(&mounts);
	/* with another debugfs the path can only be a mount point */
	return yes || o->roots.debugfs;
}

static void set_title(struct session *r)
{
	size_t n = r->o.n_paths;

	if (n > 1)
		snprintf(r->title_text, sizeof(r->title_text), "%s .. %s", r->o.paths[0],
			 r->o.paths[n - 1]);
	r->title = n > 1 ? r->title_text : r->o.paths[0];
}

/*
 * Returns whether the path exists here. If there are nodes to ask, a path that is not here may be a
 * mount point on the nodes.
 */
static bool looks_recorded(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

/* Returns the name of the cluster file system that --fs asks for, or NULL. */
static const char *file_system(const struct options *o)
{
	static const char *const names[] = {"OCFS2", "GFS2"};

	for (size_t i = 0; o->filter.fs && i < 2; i++)
		if (strcasecmp(o->filter.fs, names[i]) == 0)
			return names[i];
	return NULL;
}

/* Any word of --fs may be a space of libglock, even one that is also a kind of file system. */
static struct processes_wanted which_processes(const struct options *o)
{
	if (!o->filter.fs)
		return (struct processes_wanted){PROCESSES_ALONE, NULL};
	if (file_system(o))
		return (struct processes_wanted){PROCESSES_NAMED, o->filter.fs};
	return (struct processes_wanted){PROCESSES_ALL, NULL};
}

/* --check waits so long for the answers of slow nodes, unless the user gives a limit. */
static const double check_answer_s = 10;

static int open_cluster(struct session *r, char *const *nodes, size_t n)
{
	const struct options *o = &r->o;
	struct cluster_options c = {.nodes = nodes,
				    .n_nodes = n,
				    .ssh = o->ssh,
				    .mount_point = o->n_paths ? o->paths[0] : NULL,
				    .interval_s = o->interval_s,
				    .answer_limit_s = o->answer_limit_s,
				    .processes = which_processes(o),
				    .trace = o->trace,
				    .no_agent = o->no_agent,
				    .whole = o->effort == PATHS_WHOLE,
				    .sample_limit = o->sample_limit << 20};

	if (o->check && !c.answer_limit_s)
		c.answer_limit_s = check_answer_s;
	r->title = o->n_paths ? o->paths[0] : "cluster";
	r->o.roots.mount_point = c.mount_point;
	return collect_cluster(&r->collector, &c, &r->problems);
}

/* Finds the other nodes of this machine's cluster. Another debugfs belongs to no cluster. */
static int find_cluster(struct session *r)
{
	const struct options *o = &r->o;

	if (o->local || ((o->roots.debugfs || o->roots.mountinfo) && !o->configfs && !o->corosync))
		return 0;
	return discover_nodes(&r->found, o->configfs, o->corosync);
}

static int open_collector(struct session *r)
{
	struct options *o = &r->o;
	int err = recording_open(o, &r->collector, &r->title, &r->problems);

	if (err <= 0)
		return err;

	if (o->n_paths && !is_mount(r) && (!o->n_nodes || looks_recorded(o->paths[0]))) {
		set_title(r);
		return recording_of_paths(o, &r->collector, &r->problems);
	}
	if (o->n_nodes)
		return open_cluster(r, o->nodes, o->n_nodes);
	if (find_cluster(r))
		return -ENOMEM;
	if (r->found.n > 1)
		return open_cluster(r, r->found.names, r->found.n);
	if (o->n_paths)
		o->roots.mount_point = o->paths[0];
	r->title = o->n_paths ? o->paths[0] : "this machine";
	o->roots.trace = o->trace;
	o->roots.processes = which_processes(o);
	o->roots.no_paths = o->effort == PATHS_NONE;
	return collect_local(&r->collector, &o->roots);
}

static void main_print_problems(const struct session *r)
{
	for (size_t i = 0; i < r->problems.kept; i++)
		complain("%s", r->problems.text[i]);
}

static int read_names(struct session *r)
{
	const char *text;
	size_t len;

	if (r->o.demo) {
		text = demo_paths(&len);
		if (names_read_text(&r->names, text, len, &r->problems))
			return -ENOMEM;
	}
	for (size_t i = 0; i < r->o.n_names; i++) {
		int err =
		    names_read(&r->names, r->o.names[i].space, r->o.names[i].file, &r->problems);

		main_print_problems(r);
		problems_clear(&r->problems);
		if (err) {
			complain("%s: %s", r->o.names[i].file, strerror(-err));
			return err;
		}
	}
	return 0;
}

/* Names each node whose files may not be read. Returns whether there is one. */
static bool complain_of_permissions(const struct session *r)
{
	bool any = false;

	for (size_t i = 0; i < r->model.n_nodes; i++) {
		const struct node *n = &r->model.nodes[i];

		if (n->state != NODE_NO_PERMISSION)
			continue;
		complain("%s: no permission%s%s", n->name, n->why ? ": " : "",
			 n->why ? n->why : "");
		any = true;
	}
	return any;
}

/* Says why there is nothing to watch on this machine, and what else o2top can show. */
static void nothing_here(const struct session *r)
{
	const char *fs = file_system(&r->o);

	if (r->o.filter.fs && strcasecmp(r->o.filter.fs, "glock") == 0)
		complain("nothing to watch: no process is in a lock space here%s",
			 geteuid() ? ", or the spaces belong to other users (run o2top as root)"
				   : "");
	else if (r->o.filter.fs && !fs)
		no_such_space(r);
	else
		complain(
		    "nothing to watch: no %s is mounted here, or debugfs is not mounted (mount "
		    "-t debugfs none /sys/kernel/debug); %s",
		    fs ? fs : "OCFS2 or GFS2",
		    fs ? "--fs glock shows spaces of libglock" : "o2top --demo shows a recording");
}

static int nothing_to_watch(const struct session *r)
{
	const char *fs = file_system(&r->o);

	main_print_problems(r);
	if (r->collector->ops->live && complain_of_permissions(r))
		return EXIT_UNUSABLE;
	/* there may be locks that this user must not see */
	if (r->collector->ops->live && (r->problems.count || r->away))
		return EXIT_UNUSABLE;
	if (!r->collector->ops->live && r->o.n_nodes)
		complain("nothing to watch: %s has no samples of %s%s", r->title, r->o.nodes[0],
			 r->o.n_nodes > 1 ? " or of the other nodes given" : "");
	else if (!r->collector->ops->live && r->o.replay)
		complain("nothing to watch: no sample of %s has data of OCFS2, GFS2 or libglock",
			 r->title);
	else if (!r->collector->ops->live)
		complain("nothing to watch: %s is neither a mounted OCFS2 or GFS2 nor a recording",
			 r->title);
	else if (r->o.n_nodes || r->found.n > 1)
		complain(
		    "nothing to watch: all nodes answer, but no %s is mounted%s; for spaces of "
		    "libglock install o2top on the nodes%s",
		    fs ? fs : "OCFS2 or GFS2", r->o.n_paths ? " there" : "",
		    fs ? ", and use --fs glock" : "");
	else if (r->o.roots.mount_point)
		complain("nothing to watch: %s is no OCFS2 or GFS2 mounted with its cluster "
			 "(debugfs %s); for a recording add --recording",
			 r->title, r->o.roots.debugfs ? r->o.roots.debugfs : "/sys/kernel/debug");
	else
		nothing_here(r);
	return EXIT_NOTHING;
}

/*
 * Each helper that needs capabilities was started. Outputs are open by now, but a rotated
 * recording is opened again. Its folder may be another user's.
 */
static int drop_capabilities(const struct session *r)
{
	bool processes = r->collector->ops->live && !r->o.n_nodes && !r->found.n;

	bool reopens = r->recording && (r->o.record_size || !r->o.interactive);

	if (!caps_drop(r->o.textfile || reopens ? CAPS_WRITE_ANYWHERE
		       : processes              ? CAPS_SEE_PROCESSES
						: CAPS_NONE))
		return 0;
	complain("o2top cannot give up its capabilities: capset(2) was refused; see seccomp(2) of "
		 "this container or service");
	return -EPERM;
}

static int main_run(struct session *r)
{
	const struct options *o = &r->o;
	bool whole;
	int err;

	ending_begin(o->record && !o->interactive);
	if (read_names(r))
		return EXIT_USAGE;
	if (output_begin(&r->out, o))
		return EXIT_USAGE;
	err = open_collector(r);
	r->replayed = !err && r->collector->replay;
	err = err ? err : recording_go_to(o, r->collector, r->title, &r->times);
	err = err ? err : recording_begin(o, &r->collector, &r->problems);
	r->recording = !err && r->o.record;
	if (err) {
		main_print_problems(r);
		if (!r->problems.kept && err != -EINVAL)
			complain("%s: %s", r->title, strerror(-err));
		return err == -EACCES || err == -EPERM ? EXIT_UNUSABLE : EXIT_USAGE;
	}
	if (drop_capabilities(r))
		return EXIT_UNUSABLE;
	err = r->o.interactive ? interactive(r) : main_loop(r);
	if (o->summary && !err && r->out.frames)
		output_summary(&r->out, &r->model, r->names, r->title);
	if (o->collect && !err && r->saw_usable)
		printf("%s: %zu samples of %zu node%s; o2top %s shows them\n", o->record, r->taken,
		       r->model.n_nodes, r->model.n_nodes == 1 ? "" : "s", o->record);
	whole = !r->recording || recording_is_whole(o, r->collector);
	r->ended_by = r->ended_by ? r->ended_by : ending();
	if (r->out.failed && ending_pipe_broken() && !r->ended_by)
		r->ended_by = SIGPIPE;
	if (r->ended_by)
		return EXIT_DONE;
	if (r->out.failed || r->out.stale || err == -EINVAL)
		return EXIT_USAGE; /* said already: frames cannot go there, or no such lock space */
	if (err == -ENOENT)
		return EXIT_NOTHING; /* said already, too */
	if (err) {
		complain("%s: %s", r->title, strerror(-err));
		return EXIT_UNUSABLE;
	}
	if (!whole)
		return EXIT_USAGE;
	if (r->shown)
		return EXIT_DONE;
	if (!r->saw_space)
		return nothing_to_watch(r);
	if (!r->saw_usable) {
		main_print_problems(r);
		complain("%s: no node gave usable data", r->title);
		return EXIT_UNUSABLE;
	}
	return EXIT_DONE;
}

/* Returns the status for a monitoring system. After any error the status is unknown, not OK. */
static int check_status(const struct session *r, int status)
{
	const char *why = NULL, *name = "";
	char clean[1024];

	if (status == EXIT_DONE && r->out.check != CHECK_NONE)
		return (int)r->out.check;
	for (size_t i = 0; !why && i < r->model.n_nodes; i++) {
		why = r->model.nodes[i].why;
		name = r->model.nodes[i].name;
	}
	if (*complain_last() || !why) {
		why = *complain_last() ? complain_last() : "no frame to check";
		name = "";
	}
	unit_clean(clean, sizeof(clean), why, 0);
	printf("O2TOP UNKNOWN - %s%s%s\n", name, *name ? ": " : "", clean);
	return CHECK_UNKNOWN;
}

/* Returns the status after --help or another list. A list that was not written whole is a failure.
 */
static int printed_status(int status)
{
	bool failed = ferror(stdout);

	errno = 0;
	failed |= fflush(stdout) != 0;
	if (!failed)
		return status;
	complain("standard output: %s", errno ? strerror(errno) : "is full or closed");
	return status ? status : EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct session r = {.model.sources = source_list};
	int status;

	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");
	status = options_parse(&r.o, argc, argv);
	r.watch = (struct watch){
	    .model = &r.model, .names = &r.names, .effort = r.o.effort, .rows = r.o.view.length};
	status = status < 0 ? main_run(&r) : printed_status(status);
	if (r.collector)
		r.collector->ops->close(r.collector);
	if (r.o.check)
		status = check_status(&r, status);
	output_end(&r.out);
	config_free(&r.o.config);
	free(r.resolved);
	discover_free(&r.found);
	names_free(r.names);
	watch_free(&r.watch);
	model_free(&r.model);
	problems_clear(&r.problems);
	if (r.ended_by) {
		/* end by the same signal, so that the parent sees it; all is cleaned up by now */
		signal(r.ended_by, SIG_DFL);
		raise(r.ended_by);
	}
	return status;
}
