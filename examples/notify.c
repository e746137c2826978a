/* SPDX-License-Identifier: MIT */
/*
 * notify.c - locks in a program that is one loop around epoll, with a notifier.
 *
 *	cc notify.c $(pkg-config --cflags --libs glock) -o notify
 *	printf '%s\n' 7 8 7 | ./notify
 *
 * The program reads numbers from its input, one a line. For each it asks for the lock of that
 * number, and goes on reading. The notifier says which requests have finished. So the loop never
 * looks at a request that still waits, however many there are. A request that waits for longer than
 * a second fails. The library runs its work on threads of its own. loop.c runs the work itself.
 */
#include <errno.h>
#include <glock.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

/* A client. Several clients may want one lock, so each is an owner, not the thread. */
struct job {
	struct glock_holder gh; /* first: a holder leads to its job */
	uint64_t client;
};

static struct glock_space *space;
static struct glock_notifier *notifier;
static uint64_t clients, unfinished;

static int64_t in_a_second(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (ts.tv_sec + 1) * INT64_C(1000000000) + ts.tv_nsec;
}

static int start(uint64_t number)
{
	struct job *job = calloc(1, sizeof(*job));
	struct glock *gl;
	int err;

	if (!job)
		return -ENOMEM;
	err = glock_get(space, GLOCK_INODE, number, &gl);
	if (err) {
		free(job);
		return err;
	}
	job->client = ++clients;
	glock_holder_init(&job->gh, gl, GLOCK_EX, GLOCK_ASYNC);
	glock_holder_owner(&job->gh, job->client);
	glock_holder_notify(&job->gh, notifier, in_a_second());
	err = glock_nq(&job->gh);
	if (err) {
		glock_put(gl);
		free(job);
		return err;
	}
	unfinished++;
	return 0;
}

/* Uses the locks that were granted since the last call. */
static void finish(void)
{
	struct glock_holder *gh;

	while (glock_notifier_next(notifier, &gh) > 0) {
		struct job *job = (struct job *)gh;
		struct glock *gl = glock_of(gh);
		int err = glock_wait(gh, 0, 0); /* returns the result without blocking */

		if (err)
			fprintf(stderr, "notify: %" PRIu64 ": %s\n", glock_number(gl),
				strerror(-err));
		else
			printf("%" PRIu64 "\n", glock_number(gl));
		glock_dq(gh);
		glock_put(gl);
		free(job);
		unfinished--;
	}
}

static int loop(int ep, int input, int notified)
{
	struct epoll_event event = {.events = EPOLLIN};
	char line[64];
	int err = 0, eof = 0;

	event.data.fd = input;
	if (epoll_ctl(ep, EPOLL_CTL_ADD, input, &event))
		return -errno;
	event.data.fd = notified;
	if (epoll_ctl(ep, EPOLL_CTL_ADD, notified, &event))
		return -errno;
	setvbuf(stdin, NULL, _IONBF, 0); /* epoll must see the input that fgets() has not read */
	while (!err && (!eof || unfinished)) {
		if (epoll_wait(ep, &event, 1, -1) < 0) {
			err = errno == EINTR ? 0 : -errno;
			continue;
		}
		if (event.data.fd == notified)
			finish();
		else if (fgets(line, sizeof(line), stdin))
			err = start(strtoull(line, NULL, 10));
		else
			eof = !epoll_ctl(ep, EPOLL_CTL_DEL, input, NULL);
	}
	return err;
}

int main(void)
{
	int ep = epoll_create1(EPOLL_CLOEXEC), err, closed;

	err = ep < 0 ? -errno : glock_space_open("notify", NULL, &space);
	if (!err) {
		err = glock_notifier_open(&notifier);
		if (!err)
			err = loop(ep, STDIN_FILENO, glock_notifier_fd(notifier));
		closed = notifier ? glock_notifier_close(notifier) : 0;
		err = err ? err : closed;
		closed = glock_space_close(space);
		err = err ? err : closed;
	}
	if (err)
		fprintf(stderr, "notify: %s\n", strerror(-err));
	return err != 0;
}
