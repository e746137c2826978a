/* SPDX-License-Identifier: MIT */
/* work_queue.c - nodes take jobs by number. The value block of a lock has the next number. */
#include <errno.h>
#include <glock.h>
#include <stdio.h>

enum { QUEUE = GLOCK_TYPE_OWN, JOBS = 4 };

struct value {
	int32_t next;
	char unused[GLOCK_LVB_SIZE - sizeof(int32_t)];
};

/* Returns the number of a job that no other node has, or a negative errno. */
static int take_job(struct glock *queue)
{
	GLOCK_SCOPE struct glock_holder gh = GLOCK_HOLDER_NONE;
	struct value v = {.next = 0};
	int err;

	glock_holder_init(&gh, queue, GLOCK_EX, 0);
	err = glock_nq(&gh);
	if (!err)
		err = glock_lvb_read(&gh, &v);
	if (err == -ENODATA && glock_owner_died(&gh))
		return err; /* the value is lost: count the jobs that are done */
	if (err && err != -ENODATA)
		return err;
	if (v.next == JOBS)
		return -ENOENT;
	v.next++;
	err = glock_lvb_write(&gh, &v);
	return err ? err : v.next - 1;
}

int main(void)
{
	struct glock_type_options t = {
	    .size = sizeof(t), .type = QUEUE, .name = "queue", .flags = GLOCK_OPS_LVB};
	struct glock_space_options o = {.size = sizeof(o), .types = &t, .n_types = 1};
	struct glock_space *node[2]; /* usually two processes */
	struct glock *queue[2];
	int job;

	for (int i = 0; i < 2; i++)
		if (glock_space_open("queue", &o, &node[i]) ||
		    glock_get(node[i], QUEUE, 1, &queue[i]))
			return 1;
	for (int i = 0; (job = take_job(queue[i])) >= 0; i = !i)
		printf("node %d does job %d\n", i + 1, job); /* without the lock of the queue */
	puts(job == -ENOENT ? "no jobs are left" : "error");
	glock_put(queue[0]);
	glock_put(queue[1]);
	return glock_space_close(node[0]) || glock_space_close(node[1]);
}
