/* SPDX-License-Identifier: MIT */
/* hold_time.c - a node keeps a lock for the hold time after a grant, also without a holder. */
#include <glock.h>
#include <stdio.h>
#include <time.h>

static int64_t ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static int take(struct glock *gl)
{
	GLOCK_SCOPE struct glock_holder gh = GLOCK_HOLDER_NONE;

	return glock_lock(gl, GLOCK_EX, &gh);
}

static int measure(int64_t hold)
{
	struct glock_type_options t = {.size = sizeof(t), .type = GLOCK_INODE, .hold = hold};
	struct glock_space_options o = {.size = sizeof(o), .types = &t, .n_types = 1};
	struct glock_statistics s = {.size = sizeof(s)};
	struct glock_space *here, *there; /* two nodes */
	struct glock *gl, *its;
	int64_t start;

	if (glock_space_open("hold_time", &o, &here) || glock_get(here, GLOCK_INODE, 1, &gl) ||
	    glock_space_open("hold_time", &o, &there) || glock_get(there, GLOCK_INODE, 1, &its))
		return 1;
	start = ms();
	if (take(gl) || take(its) || glock_statistics(gl, &s))
		return 1;
	printf("%d demand of another node, %d held off", (int)s.basts, (int)s.held_off);
	puts(hold > 0 && ms() - start >= hold / 1000000 ? ": the other node waited for 500 ms"
							: "");
	glock_put(gl);
	glock_put(its);
	return glock_space_close(here) || glock_space_close(there);
}

int main(void)
{
	return measure(500000000) || measure(GLOCK_HOLD_NONE);
}
