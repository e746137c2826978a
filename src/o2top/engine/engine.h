/* SPDX-License-Identifier: MIT */
/*
 * engine.h - samples taken in a separate thread, so that a key is answered while a sample is read.
 *
 * The thread owns collector, model, names and recorder from engine_start() to engine_stop(), and
 * hands over snapshots. One other thread calls all functions of this header.
 */
#ifndef O2TOP_ENGINE_H
#define O2TOP_ENGINE_H

#include "o2top/rank/rank.h"

/* ---- snapshot.c: a lasting frame: everything that a view needs of a sample, without the model.
 *
 * The next sample can be taken while a snapshot is on the screen. A group points into the model's
 * tables, but a snapshot's group points into copies. The copies are a Lock for each LockSet, the
 * processes at the Lock, and paths. The snapshot also has a shell of the model with the nodes'
 * names, states and clocks.
 */

/* Processes at one member's Lock. */
struct span {
	uint32_t first, n;
};

struct snapshot {
	struct model model; /* a shell: its tables are empty, its only sample is this one */
	struct group group;
	struct problems problems;
	char *label;
	bool single;
	/* in a recording: the number of this sample, and of all samples; otherwise 0 */
	size_t position, count;
	/* storage */
	struct node_space *shell;
	struct lock *locks;
	struct holder *holders;
	struct span *at; /* by member */
	char *paths;
};

/*
 * Makes a snapshot and takes over the group and the problems. The group is empty afterwards.
 * Without memory the function frees the group and returns NULL.
 */
struct snapshot *snapshot_make(const struct model *m, struct group *g, struct problems *problems,
			       const char *label, bool single);
void snapshot_free(struct snapshot *s);

/* Returns the processes at a member's Lock. */
const struct holder *snapshot_holders(const struct snapshot *s, const struct member *member,
				      uint32_t *n);

/* ---- engine.c. */

struct engine;

enum { HISTORY_MAX = 512 };

struct engine_setup {
	struct collector *collector;
	struct model *model; /* with the first sample in it */
	const char *label;   /* of the first sample */
	struct watch *watch;
	struct problems *problems; /* of the first sample */
	const struct filter *filter;
	enum sort_key sort;
	double interval_s;
	/* of a recording: the samples shown, first <= i < end, and the speed */
	size_t first, end;
	double speed; /* 0 begins paused */
	/* called after each sample; negative errno ends the recording, not the samples */
	int (*sampled)(void *arg, struct problems *problems, struct banners *banners);
	void *sampled_arg;
};

struct engine_status {
	bool paused, ended; /* ended: no more samples, but a recording can go back */
	bool sampling;      /* a sample is being read */
	double interval_s, speed;
	int error; /* the negative errno that ended the samples */
};

int engine_start(struct engine **out, const struct engine_setup *setup);
/* Ends the thread, after the sample that it may be reading. */
void engine_stop(struct engine *e);

/*
 * Returns a file descriptor that is readable after a new snapshot or a change of the status.
 * engine_take() empties it.
 */
int engine_fd(const struct engine *e);
/* Returns the newest snapshot that was not taken yet, or NULL. The caller owns the snapshot. */
struct snapshot *engine_take(struct engine *e);
void engine_status(struct engine *e, struct engine_status *out);
/* Writes the seconds lost per second of the last frames, the newest last. Returns their number. */
unsigned engine_history(struct engine *e, float *lost, unsigned room);

void engine_pause(struct engine *e, bool paused);
/* Goes one sample forward, or in a recording one back (-1), and pauses. */
void engine_step(struct engine *e, int by);
/* Goes to the first sample at or after a time, without a pause. */
void engine_seek(struct engine *e, int64_t time_us);
/* Names the row that the user opened. From the next sample on its waits and holders are found. */
void engine_open(struct engine *e, const struct opened_row *row);
void engine_interval(struct engine *e, double seconds);
void engine_speed(struct engine *e, double speed);

#endif
