/* SPDX-License-Identifier: MIT */
/*
 * loop.c - locks in a program that is one loop around poll(), without other threads.
 *
 *	cc loop.c $(pkg-config --cflags --libs glock) -o loop
 *	printf '%s\n' 7 8 7 | ./loop
 *
 * The program reads numbers from its input, one a line. For each it takes the lock of that number,
 * as many at once as arrive. It opens the space with GLOCK_SPACE_DISPATCH. So all work of the
 * space, callbacks included, runs in glock_dispatch(). The loop calls this when the space's fd is
 * readable.
 */
#include <errno.h>
#include <glock.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

/* A client. Several clients may want one lock, so each is an owner, not the thread. */
struct job {
	struct glock_holder gh;
	struct glock *gl;
	int active;
};

static struct job jobs[MOST];
static uint64_t clients;

static int start(struct glock_space *space, uint64_t number)
{
	struct job *job = jobs;
	int err;

	while (job < jobs + MOST && job->active)
		job++;
	if (job == jobs + MOST)
		return -EBUSY;
	err = glock_get(space, GLOCK_INODE, number, &job->gl);
	if (err)
		return err;
	glock_holder_init(&job->gh, job->gl, GLOCK_EX, GLOCK_ASYNC);
	glock_holder_owner(&job->gh, ++clients);
	err = glock_nq(&job->gh);
	if (err)
		glock_put(job->gl);
	job->active = !err;
	return err;
}

/* Finishes the jobs whose lock was granted. Returns the number of waiting jobs. */
static int finish(void)
{
	int waiting = 0, err;

	for (struct job *job = jobs; job < jobs + MOST; job++) {
		if (!job->active)
			continue;
		if (!glock_poll(&job->gh)) {
			waiting++;
			continue;
		}
		err = glock_wait(&job->gh, 0, 0); /* returns the result without blocking */
		if (err)
			fprintf(stderr, "loop: %" PRIu64 ": %s\n", glock_number(job->gl),
				strerror(-err));
		else
			printf("%" PRIu64 "\n", glock_number(job->gl));
		glock_dq(&job->gh);
		glock_put(job->gl);
		job->active = 0;
	}
	return waiting;
}

static int loop(struct glock_space *space)
{
	struct pollfd fds[2] = {{.fd = 0, .events = POLLIN},
				{.fd = glock_space_fd(space), .events = POLLIN}};
	char line[64];
	int err = 0;

	setvbuf(stdin, NULL, _IONBF, 0); /* poll() must see the input that fgets() has not read */
	while (!err && (fds[0].fd >= 0 || finish())) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[0].revents & (POLLIN | POLLHUP)) {
			if (fgets(line, sizeof(line), stdin))
				err = start(space, strtoull(line, NULL, 10));
			else
				fds[0].fd = -1;
		}
		if (fds[1].revents & POLLIN && glock_dispatch(space) < 0)
			return -EIO;
		finish();
	}
	return err;
}

int main(void)
{
	const struct glock_space_options options = {.size = sizeof(options),
						    .flags = GLOCK_SPACE_DISPATCH};
	struct glock_space *space;
	int err = glock_space_open("loop", &options, &space), closed;

	if (!err) {
		err = loop(space);
		closed = glock_space_close(space);
		err = err ? err : closed;
	}
	if (err)
		fprintf(stderr, "loop: %s\n", strerror(-err));
	return err != 0;
}
