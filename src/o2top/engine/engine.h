/* SPDX-License-Identifier: MIT */
/*
 * engine.h - samples taken in a separate thread, so that a key is answered while a sample is read.
 *
 * The thread owns collector, model, names and recorder from engine_start() to engine_stop(), and
 * hands over snapshots. One other thread calls all functions of this header.
 */
#ifndef O2TOP_ENGINE_H
#define O2TOP_ENGINE_H

#include "snapshot.h"

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
