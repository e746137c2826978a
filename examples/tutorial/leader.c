/* SPDX-License-Identifier: MIT */
/* leader.c - the process that holds a lock in EX leads. If the leader dies, the next one leads. */
#include <glock.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Stands for election, and returns when this process leads. */
static int lead(struct glock_holder *gh, uint64_t *token)
{
	struct glock_space *space;
	struct glock *gl;
	int err = glock_space_open("election", NULL, &space);

	if (!err)
		err = glock_get(space, GLOCK_INODE, 1, &gl);
	if (err)
		return err;
	err = glock_lock(gl, GLOCK_EX, gh);
	return err ? err : glock_token(gh, token);
}

int main(void)
{
	uint64_t first = 0, second = 0;
	struct glock_holder gh;
	int to_parent[2];
	pid_t child;

	if (pipe(to_parent) || (child = fork()) < 0)
		return 1;
	if (!child) {
		int err = lead(&gh, &first);

		if (err || write(to_parent[1], &first, sizeof(first)) != sizeof(first))
			_exit(1);
		sleep(1); /* it leads; then it dies with the lock */
		_exit(0);
	}
	if (read(to_parent[0], &first, sizeof(first)) != sizeof(first))
		return 1;
	puts("the child leads");
	if (lead(&gh, &second)) /* waits */
		return 1;
	printf("the parent leads; glock_owner_died() returns %d\n", glock_owner_died(&gh));
	puts(second > first ? "its token is higher" : "error");
	waitpid(child, NULL, 0);
	glock_unlock(&gh);
	glock_put(glock_of(&gh));
	return 0;
}
