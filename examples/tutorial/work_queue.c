/* SPDX-License-Identifier: MIT */
/* work_queue.c - nodes take jobs by number. The value block of a lock has the next number. */
#include <errno.h>
#include <fcntl.h>
#include <glock.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { JOBS = 4, QUEUE = JOBS }; /* the numbers of the glocks: 0 to 3 jobs, and the queue */

struct value {
	int32_t next;
	char unused[GLOCK_LVB_SIZE - sizeof(int32_t)];
};

static int fd; /* a byte for each job: it is done */

/* Returns the number of the next job, or a negative errno. */
static int take_job(struct glock *queue)
{
	GLOCK_SCOPE struct glock_holder gh = GLOCK_HOLDER_NONE;
	struct value v = {.next = 0};
	int err;

	err = glock_lock(queue, GLOCK_EX, &gh);
	if (!err)
		err = glock_lvb_read(&gh, &v);
	if (err == -ENODATA)
		err = 0; /* the first number, or a node died: begin at 0 */
	if (err)
		return err;
	if (v.next == JOBS) {
		glock_holder_idle(&gh);
		return -ENOENT;
	}
	v.next++;
	err = glock_lvb_write(&gh, &v);
	return err ? err : v.next - 1;
}

/* Waits for a node that does the job. Does the job if no node has done it. */
static int do_job(int node, struct glock_space *space, int number)
{
	struct glock_holder gh;
	struct glock *job;
	char done = 0;
	int err = glock_get(space, GLOCK_INODE, (uint64_t)number, &job);

	if (err)
		return err;
	glock_holder_init(&gh, job, GLOCK_EX, GLOCK_NOCACHE);
	err = glock_nq(&gh);
	if (!err && pread(fd, &done, 1, number) >= 0 && !done) {
		printf("node %d does job %d\n", node, number);
		err = pwrite(fd, "x", 1, number) == 1 ? 0 : -EIO;
	}
	glock_dq(&gh);
	glock_put(job);
	return err;
}

int main(void)
{
	struct glock_type_options t = {
	    .size = sizeof(t), .type = GLOCK_INODE, .flags = GLOCK_OPS_LVB};
	struct glock_space_options o = {.size = sizeof(o), .types = &t, .n_types = 1};
	struct glock_space *node[2]; /* usually two processes */
	struct glock *queue[2];
	int job, err = 0;

	fd = open("jobs", O_RDWR | O_CREAT, 0666);
	if (fd < 0)
		return 1;
	for (int i = 0; i < 2; i++)
		if (glock_space_open("queue", &o, &node[i]) ||
		    glock_get(node[i], GLOCK_INODE, QUEUE, &queue[i]))
			return 1;
	for (int i = 0; !err && (job = take_job(queue[i])) >= 0; i = !i)
		err = do_job(i + 1, node[i], job); /* without the lock of the queue */
	for (int i = 0; !err && i < JOBS; i++)
		err = do_job(1, node[0], i); /* jobs of nodes that died */
	puts(!err && job == -ENOENT ? "no jobs are left" : "error");
	glock_put(queue[0]);
	glock_put(queue[1]);
	return glock_space_close(node[0]) || glock_space_close(node[1]);
}
