/* SPDX-License-Identifier: MIT */
/* one_node.c - with lock manager local a process is a node, and a child is another node. */
#include <errno.h>
#include <glock.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static struct glock *gl;
static _Atomic int drops;

static void drop(struct glock *g, unsigned int what)
{
	(void)g, (void)what;
	drops++;
}

static int take(struct glock *g)
{
	GLOCK_SCOPE struct glock_holder gh = GLOCK_HOLDER_NONE;

	return glock_lock(g, GLOCK_EX, &gh);
}

static void *thread(void *arg)
{
	(void)arg;
	return (void *)(long)take(gl);
}

static int child(void)
{
	struct glock_space *own;
	struct glock *its;

	printf("the child asks for the lock of its parent: %s\n",
	       take(gl) == -ECHILD ? "-ECHILD" : "?");
	if (glock_space_open("one_node", NULL, &own) || glock_get(own, GLOCK_INODE, 1, &its))
		return 1;
	printf("the child opens the space itself: %d\n", take(its));
	glock_put(its);
	return glock_space_close(own) ? 1 : 0;
}

int main(void)
{
	struct glock_ops ops = {.size = sizeof(ops), .inval = drop};
	struct glock_type_options t = {.size = sizeof(t), .type = GLOCK_INODE, .ops = &ops};
	struct glock_space_options o = {.size = sizeof(o), .types = &t, .n_types = 1};
	struct glock_space *space;
	pthread_t other;
	int status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (glock_space_open("one_node", &o, &space) || glock_get(space, GLOCK_INODE, 1, &gl))
		return 1;
	if (take(gl) || pthread_create(&other, NULL, thread, NULL) || pthread_join(other, NULL))
		return 1;
	printf("two threads had the lock: the cache was dropped %d times\n", drops);
	if (fork() == 0)
		_exit(child());
	wait(&status);
	printf("the child had the lock: the cache was dropped %d time\n", drops);
	glock_put(gl);
	return glock_space_close(space) || status;
}
