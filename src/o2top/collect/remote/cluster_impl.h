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

/*
 * A node's own work may take this share of the interval. The interval stretches up to so many
 * times.
 */
#define CLUSTER_SHARE 0.1
#define CLUSTER_STRETCH 4.0
/*
 * After the first answer, the other nodes have this long. A whole frame waits no longer than that.
 * If the interval is stretched, they have half the interval. Otherwise all samples of slow nodes
 * would come after their frame, and would be old in the next frame.
 */
#define CLUSTER_GRACE_S 1.0
/* A frame waits twice as long for a slow node as its last answer took, but no longer than this. */
#define CLUSTER_ANSWER_S 10.0

/* At most so many requests for paths wait to be sent to a node, one for each lock space. */
enum { LOOK_UPS = 4 };

struct member {
	struct connection link; /* the thread's own */
	unsigned asked;         /* the round in which it was asked last */
	double asked_at;
	bool busy;       /* an answer is due */
	bool dump_due;   /* an answer to D is due */
	bool paths_due;  /* an answer to P is due */
	bool paths_next; /* a waiting P goes before the next sample */

	/* under the lock */
	struct parcel *fresh; /* complete, not in a frame yet */
	double fresh_asked_at, fresh_at;
	unsigned fresh_round;
	double latency_s; /* from the last request to its sample; 0 not known */
	struct parcel *dump;
	struct parcel *paths;     /* all answers since the last frame */
	char *look_ups[LOOK_UPS]; /* requests to send */
	enum connection_state state;
	bool failed;
	char words[WORDS_MAX];
	double since;         /* since when it is in that state */
	double due;           /* the time of the next try */
	double last_at;       /* its last complete sample, or when it was connected; 0 never */
	int64_t last_real_us; /* this machine's wall clock then */
	bool waits_for_it;    /* it is expected to answer this round */

	/* main's own */
	struct parcel *now, *now_dump, *now_paths; /* in the present frame */
	char *name, *why;
	struct far_processes processes;
	double took_s, took_before_s;
	bool late; /* its sample in the last frame was late */
};

struct cluster {
	struct collector collector;
	struct connection_how how;
	char *ssh, *mount_point, *self;
	double interval_s;
	double
	    answer_limit_s; /* a frame waits so long for each node that works; 0: grace_s alone */
	double grace_s;     /* the time that a frame waits for nodes; CLUSTER_GRACE_S or more */
	struct processes_wanted processes;
	bool has_fs; /* a node has had a cluster file system */
	bool trace;
	struct member *members;
	struct node_sample *nodes; /* of the members */
	size_t n;
	struct node_sample *all; /* of the sample: the members and their processes */
	pthread_t thread;
	bool threaded;
	int wake[2]; /* from main to the thread */
	int ready;   /* an eventfd: a frame can be taken */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned round; /* the number of the last sample that main asked for */
	double round_at;
	bool asked;          /* main asked for it and has not taken it yet */
	double first_answer; /* time of the first answer in this round; 0 none yet */
	bool stop, deep, dump_wanted;
	char *request; /* lock spaces, with a blank before each; or "" */
	unsigned taken;
};
/* The thread's loop, which ends with c->stop. */
void *cluster_serve(void *arg);
/* Returns the time after which the frame need not wait any longer. The caller has the lock. */
double cluster_frame_due(const struct cluster *c);
void cluster_wake(struct cluster *c);

/* Functions of cluster_said.c. They tell what a node sent, or why it sent nothing. */
void cluster_clear_node(struct node_sample *node, struct member *m);
int cluster_take_node(struct cluster *c, struct node_sample *node, struct member *m);
/* The caller has the lock. */
void cluster_tell_absence(const struct cluster *c, struct node_sample *node, struct member *m,
			  double now);
/* Says which node has not mounted a file system that another node has mounted. */
void cluster_name_missing(struct cluster *c);
/* Lists all nodes of this frame in c->all. Returns 0 or a negative errno. */
int cluster_list(struct cluster *c, size_t *n);
/* Opens a file of a parcel for reading. */
void cluster_file(struct input *in, const struct parcel_file *f, const char *node);

#endif
