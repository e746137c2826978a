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
	const char *label;   /* of that */
	struct watch *watch;
	struct problems *problems; /* of that */
	const struct filter *filter;
	enum sort_key sort;
	double interval_s;
	/* of a recording: the samples shown, first <= i < end, and how fast */
	size_t first, end;
	double speed; /* 0 begins paused */
	/* after each sample was read; negative errno ends the recording, not the samples */
	int (*sampled)(void *arg, struct problems *problems);
	void *sampled_arg;
};

struct engine_status {
	bool paused, ended; /* there are no more samples; of a recording one can go back */
	bool sampling;      /* a sample is being read */
	double interval_s, speed;
	int error; /* negative errno that ended it */
};

int engine_start(struct engine **out, const struct engine_setup *setup);
/* Ends the thread, after the sample that it may be reading. */
void engine_stop(struct engine *e);

/* Readable when there is a snapshot or the status changed; engine_take() empties it. */
int engine_fd(const struct engine *e);
/* The newest snapshot that was not taken yet, now the caller's; or NULL. */
struct snapshot *engine_take(struct engine *e);
void engine_status(struct engine *e, struct engine_status *out);
/* Seconds lost per second of the last frames, the newest last: how many were written. */
unsigned engine_history(struct engine *e, float *lost, unsigned room);

void engine_pause(struct engine *e, bool paused);
/* One sample on, or of a recording one back (-1); pauses. */
void engine_step(struct engine *e, int by);
/* To the first sample at or after a time; pauses nothing. */
void engine_seek(struct engine *e, int64_t time_us);
/* The row that one looks into: who waits for whom is found out from the next sample on. */
void engine_open(struct engine *e, const struct opened_row *row);
void engine_interval(struct engine *e, double seconds);
void engine_speed(struct engine *e, double speed);

#endif
