/* SPDX-License-Identifier: MIT */
/*
 * cluster_impl.h - the state that the cluster collector's parts share, and the owner of each field.
 *
 * One mutex, `lock`, guards the fields of struct cluster below it, and those of each member that
 * say so. The thread (cluster_thread.c) works on connections without the mutex and takes it to
 * report. main (cluster.c) takes it to ask and to take over. No holder keeps the mutex for more
 * than a few assignments.
 */
#ifndef O2TOP_CLUSTER_IMPL_H
#define O2TOP_CLUSTER_IMPL_H

#include "cluster.h"
#include "processes_far.h"

#include <pthread.h>

/* A node's own work may take this share of the interval, which stretches up to so many times. */
#define CLUSTER_SHARE 0.1
#define CLUSTER_STRETCH 4.0
/* After the first answer the others have this long: a whole frame waits for no more than that. */
#define CLUSTER_GRACE_S 1.0

/* Requests for paths that wait to be sent to a node, one for each lock space. */
enum { LOOK_UPS = 4 };

struct member {
	struct connection link; /* the thread's */
	unsigned asked;         /* the round that it was asked in last */
	double asked_at;
	bool busy;      /* an answer is due */
	bool dump_due;  /* an answer to D is */
	bool paths_due; /* and to P */

	/* under the lock */
	struct parcel *fresh; /* complete, not in a frame yet */
	double fresh_asked_at, fresh_at;
	unsigned fresh_round;
	double latency_s; /* from request to sample, the last time; 0 not known */
	struct parcel *dump;
	struct parcel *paths;     /* all answers since the last frame */
	char *look_ups[LOOK_UPS]; /* requests to send */
	enum connection_state state;
	bool failed;
	char words[WORDS_MAX];
	double since;         /* that state */
	double due;           /* the next try */
	double last_at;       /* its last complete sample, or when it was connected; 0 never */
	int64_t last_real_us; /* our wall clock then */
	bool waits_for_it;    /* is expected to answer this round */

	/* main's */
	struct parcel *now, *now_dump, *now_paths; /* in the present frame */
	char *name, *why;
	struct far_processes processes;
	double took_s, took_before_s;
	bool late; /* in the last frame */
};

struct cluster {
	struct collector collector;
	struct connection_how how;
	char *ssh, *mount_point, *self;
	double interval_s;
	bool trace;
	struct member *members;
	struct node_sample *nodes; /* of the members */
	size_t n;
	struct node_sample *all; /* of the sample: those, and their processes */
	pthread_t thread;
	bool threaded;
	int wake[2]; /* main to thread */
	int ready;   /* an eventfd: a frame can be taken */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned round; /* the sample that was asked for last */
	double round_at;
	bool asked;          /* and not taken yet */
	double first_answer; /* of this round; 0 none yet */
	bool stop, deep, dump_wanted;
	char *request; /* spaces, with a blank before each; or "" */
	unsigned taken;
};
/* The loop; ends with c->stop. */
void *cluster_serve(void *arg);
/* When the frame that was asked for need not wait any longer; with the lock. */
double cluster_frame_due(const struct cluster *c);
void cluster_wake(struct cluster *c);

/* What a node said, or why it said nothing: cluster_said.c. */
void cluster_clear_node(struct node_sample *node, struct member *m);
int cluster_take_node(struct cluster *c, struct node_sample *node, struct member *m);
/* With the lock. */
void cluster_tell_absence(const struct cluster *c, struct node_sample *node, struct member *m,
			  double now);
/* What several nodes have mounted and one has not. */
void cluster_name_missing(struct cluster *c);
/* All that is a node in this frame, into c->all. 0 or negative errno. */
int cluster_list(struct cluster *c, size_t *n);
/* A file of a parcel, to be read. */
void cluster_file(struct input *in, const struct parcel_file *f, const char *node);

#endif
