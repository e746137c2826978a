/* SPDX-License-Identifier: MIT */
/* trying.c - what tries answer where another node holds the lock, or only caches the lock. */
#include <errno.h>
#include <glock.h>
#include <stdio.h>
#include <time.h>

static const char *name(int err)
{
	static const struct {
		int err;
		const char *name;
	} names[] = {{0, "0"},
		     {-EAGAIN, "-EAGAIN"},
		     {-EBUSY, "-EBUSY"},
		     {-EDEADLK, "-EDEADLK"},
		     {-ETIMEDOUT, "-ETIMEDOUT"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].err == err)
			return names[i].name;
	return "?";
}

static int ask(struct glock_holder *gh, struct glock *gl, unsigned int flags)
{
	glock_holder_init(gh, gl, GLOCK_EX, flags);
	return glock_nq(gh);
}

static int64_t in_ms(int64_t ms)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec * INT64_C(1000) + ms) * 1000000 + now.tv_nsec;
}

int main(void)
{
	struct glock_space *here, *there; /* two nodes */
	struct glock *gl, *its;
	struct glock_holder gh, again, other;
	int err;

	if (glock_space_open("trying", NULL, &here) || glock_get(here, GLOCK_INODE, 1, &gl) ||
	    glock_space_open("trying", NULL, &there) || glock_get(there, GLOCK_INODE, 1, &its))
		return 1;
	printf("the lock is free: %s\n", name(ask(&gh, gl, GLOCK_TRY)));
	printf("this thread holds the lock: %s\n", name(ask(&again, gl, GLOCK_TRY)));
	printf("another node holds the lock: %s\n", name(ask(&other, its, GLOCK_TRY)));
	glock_dq(&gh);
	while ((err = ask(&gh, gl, GLOCK_TRY)) == -EAGAIN)
		; /* the failed try demanded the lock: the node takes it back */
	glock_dq(&gh);
	printf("this node caches the lock, TRY_CACHED: %s\n", name(ask(&gh, gl, GLOCK_TRY_CACHED)));
	glock_dq(&gh);
	printf("another node caches the lock, TRY_CACHED: %s\n",
	       name(ask(&other, its, GLOCK_TRY_CACHED)));
	while ((err = ask(&other, its, GLOCK_TRY)) == -EAGAIN)
		; /* the other node did not answer in time */
	printf("another node caches the lock: %s\n", name(err));

	ask(&gh, gl, GLOCK_ASYNC);
	printf("ASYNC, and wait for 50 ms: %s\n", name(glock_wait(&gh, in_ms(50), 0)));
	glock_dq(&other);
	printf("the holder lets go, and wait again: %s\n", name(glock_wait(&gh, 0, 0)));
	glock_dq(&gh);
	glock_put(gl);
	glock_put(its);
	return glock_space_close(here) || glock_space_close(there);
}
