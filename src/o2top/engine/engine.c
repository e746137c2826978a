/* SPDX-License-Identifier: MIT */
/*
 * engine.c - the thread that takes samples, and the calls by which the screen controls the thread.
 *
 * One mutex guards all that both threads touch (struct engine below "shared"). No thread holds the
 * mutex while a sample is read.
 *
 * A live sample is due one interval after the last one. A recorded sample is due after the time
 * that lay between the two when they were recorded. A step back in a recording restarts the model a
 * few samples earlier. The restart is needed because rates, trends and waits need a past.
 */
#include "engine.h"

#include "o2top/base/clock.h"
#include "o2top/rank/rank.h"
#include "watch.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* The most seconds that reading the samples before the target of a jump may take. */
#define WARM_S 0.25
/* The longest wait, in seconds, for the next recorded sample: a gap in a recording is cut short. */
#define GAP_MAX_S 5.0
/* The number of the worst rows for which paths are looked for. */

struct engine {
	struct engine_setup setup; /* used by the thread alone */
	struct model *model;
	struct problems problems;
	size_t position; /* in a recording: the sample that the model has, from 0 */
	int64_t shown_us;
	double due_s;
	double cost_s; /* seconds that reading the last sample took */
	pthread_t thread;
	int fd;
	/* shared */
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	struct snapshot *newest;
	struct engine_status status;
	float history[HISTORY_MAX];
	unsigned n_history;
	bool stop, seek, again;
	struct opened_row opened; /* the row that the user has opened */
	int64_t seek_us;
	int step;
};

static bool is_replay(const struct engine *e)
{
	return e->setup.collector->replay != NULL;
}

static void engine_tell(struct engine *e)
{
	uint64_t one = 1;

	/* the write fails only if the counter is full, and then fd is readable already */
	if (write(e->fd, &one, sizeof(one)) < 0)
		return;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Takes the next sample. Returns 1, 0 at the end, or negative errno. */
static int engine_take_sample(struct engine *e, char **label)
{
	double before = now_s();
	struct sample sample;
	int got;

	pthread_mutex_lock(&e->mutex);
	e->model->opened = e->opened;
	pthread_mutex_unlock(&e->mutex);
	got = e->setup.collector->ops->next(e->setup.collector, &sample, &e->problems);
	if (got <= 0)
		return got;
	free(*label);
	*label = strdup(sample.label);
	got = *label ? watch_sample(e->setup.watch, &sample) : -ENOMEM;
	problems_join(&e->problems, &e->model->problems);
	if (e->setup.sampled)
		e->setup.sampled(e->setup.sampled_arg, &e->problems, &e->model->banners);
	e->cost_s = now_s() - before;
	return got ? got : 1;
}

/* Ranks the model's last sample and hands over a snapshot. */
static int publish(struct engine *e, const char *label, bool single)
{
	struct snapshot *s, *old;
	struct group group;
	float lost;
	int err =
	    group_rank(&group, e->model, *e->setup.watch->names, e->setup.filter, e->setup.sort);

	if (err)
		return err;
	watch_ranked(e->setup.watch, &group);
	lost = (float)group.totals.lost_per_s;
	e->shown_us = group.time_us;
	s = snapshot_make(e->model, &group, &e->problems, label, single);
	if (!s)
		return -ENOMEM;
	if (is_replay(e)) {
		s->position = e->position + 1;
		s->count = e->setup.collector->replay->count(e->setup.collector);
	}
	pthread_mutex_lock(&e->mutex);
	old = e->newest;
	/* keep the problems of a snapshot that was never taken */
	if (old) {
		problems_join(&old->problems, &s->problems);
		s->problems = old->problems;
		old->problems = (struct problems){0};
	}
	e->newest = s;
	if (!single) {
		if (e->n_history == HISTORY_MAX)
			memmove(e->history, e->history + 1, sizeof(lost) * --e->n_history);
		e->history[e->n_history++] = lost;
	}
	pthread_mutex_unlock(&e->mutex);
	snapshot_free(old);
	engine_tell(e);
	return 0;
}

static void forget_history(struct engine *e)
{
	pthread_mutex_lock(&e->mutex);
	e->n_history = 0;
	pthread_mutex_unlock(&e->mutex);
}

/* ---- going anywhere in a recording --------------------------------------------------------- */

/* Shows sample `to`. Reads as many samples before it as WARM_S allows. */
static int go_to(struct engine *e, size_t to, char **label)
{
	struct collector *c = e->setup.collector;
	size_t warm = e->cost_s > 0 ? (size_t)(WARM_S / e->cost_s) : TRAIL_SHOTS, from;
	int got = 1;

	warm = warm < 2 ? 2 : warm > TRAIL_SHOTS ? TRAIL_SHOTS : warm;
	from = to > warm ? to - warm : 0;
	model_free(e->model);
	forget_history(e);
	c->replay->seek(c, from);
	for (e->position = from;; e->position++) {
		got = engine_take_sample(e, label);
		if (got <= 0 || e->position == to)
			break;
		problems_clear(&e->problems);
	}
	return got > 0 ? publish(e, *label, e->model->sample == 1) : got;
}

static int next_sample(struct engine *e, char **label)
{
	int got;

	if (is_replay(e) && e->position + 1 >= e->setup.end)
		return 0;
	got = engine_take_sample(e, label);
	if (got <= 0)
		return got;
	e->position++;
	got = publish(e, *label, false);
	return got ? got : 1;
}

/* Sets the time at which the next sample is due, after one was shown. */
static void set_due(struct engine *e)
{
	double wait = e->status.interval_s, now = now_s();
	struct collector *c = e->setup.collector;

	if (is_replay(e)) {
		int64_t next = e->position + 1 < e->setup.end ? c->replay->time(c, e->position + 1)
							      : INT64_MIN;

		if (next != INT64_MIN && e->shown_us)
			wait = 1e-6 * (double)(next - e->shown_us);
		wait = min_s(max_s(wait, 0.05), GAP_MAX_S) / e->status.speed;
		e->due_s = now + wait;
		return;
	}
	/* sample less often if a sample is expensive for the node */
	e->due_s += max_s(wait, e->model->interval_s);
	/* a late sample does not make the following ones come faster */
	if (e->due_s < now)
		e->due_s = now + wait;
}

/* ---- the thread ---------------------------------------------------------------------------- */

/*
 * Waits until a sample is due or the screen asks for something. Returns false to end. The caller
 * holds the mutex.
 */
static bool wait_for_work(struct engine *e)
{
	while (!e->stop && !e->seek && !e->step) {
		struct timespec until;
		double due = e->due_s;

		if (e->again) {
			set_due(e);
			due = e->due_s;
			e->again = false;
		}
		if (e->status.ended || (e->status.paused && is_replay(e))) {
			pthread_cond_wait(&e->wake, &e->mutex);
			continue;
		}
		if (now_s() >= due)
			break;
		until.tv_sec = (time_t)due;
		until.tv_nsec = (long)(1e9 * (due - (double)until.tv_sec));
		pthread_cond_timedwait(&e->wake, &e->mutex, &until);
	}
	return !e->stop;
}

/* Does the work that is due, without the mutex. Returns as engine_take_sample(). */
static int work(struct engine *e, bool seek, int64_t seek_us, int step, char **label)
{
	struct collector *c = e->setup.collector;
	int err;

	if (seek && is_replay(e)) {
		size_t to = replay_find(c, seek_us);

		to = to < e->setup.first ? e->setup.first : to;
		to = to >= e->setup.end ? e->setup.end - 1 : to;
		err = go_to(e, to, label);
		return err ? err : 1;
	}
	if (step < 0 && is_replay(e)) {
		size_t back = (size_t)-step, at = e->position - e->setup.first;

		err = go_to(e, e->setup.first + (at > back ? at - back : 0), label);
		return err ? err : 1;
	}
	return next_sample(e, label);
}

static void *engine_run(void *arg)
{
	struct engine *e = arg;
	char *label = NULL;
	int got = 0;

	pthread_mutex_lock(&e->mutex);
	set_due(e);
	while (wait_for_work(e)) {
		bool seek = e->seek;
		int64_t to = e->seek_us;
		int step = e->step;

		e->seek = false;
		/* Forward steps go one by one, because a frame needs the one before. Backward steps
		 * are one jump. */
		e->step = step > 1 && !e->status.ended ? step - 1 : 0;
		e->status.sampling = true;
		pthread_mutex_unlock(&e->mutex);
		got = work(e, seek, to, step, &label);
		pthread_mutex_lock(&e->mutex);
		e->status.sampling = false;
		e->status.ended = got <= 0 || (is_replay(e) && e->position + 1 >= e->setup.end);
		e->status.error = got < 0 ? got : 0;
		set_due(e);
		engine_tell(e);
	}
	pthread_mutex_unlock(&e->mutex);
	free(label);
	return NULL;
}

/* ---- for the other thread ------------------------------------------------------------------ */

/* Makes the first frame. A recording begins with its second sample, if there is one. */
static int first_frame(struct engine *e)
{
	char *label = strdup(e->setup.label);
	int got = label ? 1 : -ENOMEM;

	problems_join(&e->problems, e->setup.problems);
	e->position = e->setup.first;
	if (got > 0 && is_replay(e) && e->setup.first + 1 < e->setup.end) {
		got = next_sample(e, &label);
		got = got > 0 ? 0 : got;
	} else if (got > 0) {
		got = publish(e, label, true);
	}
	e->status.ended = is_replay(e) && e->position + 1 >= e->setup.end;
	free(label);
	return got;
}

/*
 * Makes malloc() keep freed memory. A frame of 100,000 rows takes some 80 MB. Each frame frees that
 * memory and the next frame needs it again. If the kernel gave new pages each time, clearing them
 * would cost as much as ranking.
 */
static void keep_memory(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 256 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

int engine_start(struct engine **out, const struct engine_setup *setup)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
	struct engine *e = calloc(1, sizeof(*e));
	pthread_condattr_t attr;
	sigset_t all, old;
	int err;

	if (!e)
		return -ENOMEM;
	keep_memory();
	e->setup = *setup;
	e->model = setup->model;
	e->status.interval_s = setup->interval_s;
	e->status.speed = setup->speed > 0 ? setup->speed : 1;
	e->status.paused = !(setup->speed > 0) && setup->collector->replay;
	e->due_s = now_s();
	e->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&e->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&e->wake, &attr);
	pthread_condattr_destroy(&attr);
	err = e->fd < 0 ? -errno : first_frame(e);
	if (!err) {
		/* the other thread takes all signals, except for the faults of this thread */
		sigfillset(&all);
		for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
			sigdelset(&all, faults[i]);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		err = -pthread_create(&e->thread, NULL, engine_run, e);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	if (err) {
		if (e->fd >= 0)
			close(e->fd);
		snapshot_free(e->newest);
		problems_clear(&e->problems);
		free(e);
		return err;
	}
	*out = e;
	return 0;
}

void engine_stop(struct engine *e)
{
	if (!e)
		return;
	pthread_mutex_lock(&e->mutex);
	e->stop = true;
	pthread_cond_signal(&e->wake);
	pthread_mutex_unlock(&e->mutex);
	pthread_join(e->thread, NULL);
	pthread_cond_destroy(&e->wake);
	pthread_mutex_destroy(&e->mutex);
	snapshot_free(e->newest);
	problems_clear(&e->problems);
	close(e->fd);
	free(e);
}

int engine_fd(const struct engine *e)
{
	return e->fd;
}

struct snapshot *engine_take(struct engine *e)
{
	struct snapshot *s;
	uint64_t count;

	if (read(e->fd, &count, sizeof(count)) < 0)
		count = 0;
	pthread_mutex_lock(&e->mutex);
	s = e->newest;
	e->newest = NULL;
	pthread_mutex_unlock(&e->mutex);
	return s;
}

void engine_status(struct engine *e, struct engine_status *out)
{
	pthread_mutex_lock(&e->mutex);
	*out = e->status;
	pthread_mutex_unlock(&e->mutex);
}

unsigned engine_history(struct engine *e, float *lost, unsigned room)
{
	unsigned n;

	pthread_mutex_lock(&e->mutex);
	n = e->n_history < room ? e->n_history : room;
	memcpy(lost, e->history + e->n_history - n, n * sizeof(*lost));
	pthread_mutex_unlock(&e->mutex);
	return n;
}

/* Sets a member and wakes the thread. */
#define TELL(e, ...)                               \
	do {                                       \
		pthread_mutex_lock(&(e)->mutex);   \
		__VA_ARGS__;                       \
		pthread_cond_signal(&(e)->wake);   \
		pthread_mutex_unlock(&(e)->mutex); \
	} while (0)

void engine_pause(struct engine *e, bool paused)
{
	TELL(e, e->status.paused = paused, e->again = is_replay(e));
}

void engine_step(struct engine *e, int by)
{
	TELL(e, e->status.paused = true, e->step += by);
}

void engine_seek(struct engine *e, int64_t time_us)
{
	TELL(e, e->seek = true, e->seek_us = time_us);
}

void engine_open(struct engine *e, const struct opened_row *row)
{
	TELL(e, e->opened = *row);
}

void engine_interval(struct engine *e, double seconds)
{
	TELL(e, e->due_s += seconds - e->status.interval_s, e->status.interval_s = seconds);
}

void engine_speed(struct engine *e, double speed)
{
	TELL(e, e->status.speed = speed, e->again = is_replay(e));
}
