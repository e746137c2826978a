/* SPDX-License-Identifier: MIT */
/*
 * inside.c - counts the contents of a space's file, and stops a process amid a change.
 */
#include "inside.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char *inside_path(const char *space)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", getenv("GLOCK_DIR"), space);
	return path;
}

/* Maps the space's file. Returns NULL if the file is missing or cannot be mapped. */
static struct head *map(const char *space, bool write)
{
	int fd = open(inside_path(space), write ? O_RDWR : O_RDONLY);
	struct head *head;

	if (fd < 0)
		return NULL;
	head = mmap(NULL, FILE_SIZE, write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return head == MAP_FAILED ? NULL : head;
}

/* The owner's name is in the word of the lock. */
bool inside_has_table(const char *space, pid_t pid)
{
	struct head *head = map(space, false);
	bool has = false;

	if (!head)
		return false;
	for (unsigned int i = 0; i < SHARDS && !has; i++) {
		union glock__local_word now = mutex_load(&head->shard[i].mutex);

		has = now.tid && mutex_owner(now) < NODES &&
		      (pid_t)head->slot[mutex_owner(now)].pid == pid;
	}
	munmap(head, FILE_SIZE);
	return has;
}

bool inside_stop(const char *space, pid_t pid, unsigned int tries)
{
	while (tries--) {
		const struct timespec pause = {.tv_nsec = 1000 * (random() % 50)};
		int status;

		if (kill(pid, SIGSTOP) || waitpid(pid, &status, WUNTRACED) != pid ||
		    !WIFSTOPPED(status))
			return false;
		if (inside_has_table(space, pid))
			return true;
		kill(pid, SIGCONT);
		nanosleep(&pause, NULL);
	}
	return false;
}

bool inside_ring(const char *space, pid_t pid, unsigned int shard)
{
	struct head *head = map(space, true);
	bool rung = false;

	if (!head)
		return false;
	for (unsigned int i = 0; i < NODES && !rung; i++) {
		rung = head->slot[i].state == SLOT_LIVE && (pid_t)head->slot[i].pid == pid;
		if (!rung)
			continue;
		glock__local_ring(&head->slot[i], 1u << shard);
		glock__local_wake(&head->slot[i]);
	}
	munmap(head, FILE_SIZE);
	return rung;
}

bool inside_age_recoverer(const char *space)
{
	struct head *head = map(space, true);
	bool aged = false;

	for (unsigned int i = 0; head && i < NODES; i++)
		if (atom_load32(&head->slot[i].state) == SLOT_RECOVERING) {
			head->slot[i].recoverer_generation--;
			aged = true;
		}
	if (head)
		munmap(head, FILE_SIZE);
	return aged;
}

void inside_look(const char *space, struct inside *in)
{
	struct local l = {.head = map(space, false)};

	*in = (struct inside){0};
	if (!l.head) {
		in->wrong = "there is no file";
		return;
	}
	in->cut_off = l.head->cut_off;
	in->put_right = l.head->put_right;
	in->stolen = l.head->stolen;
	for (unsigned int i = 0; i < NODES; i++)
		in->nodes += l.head->slot[i].state != SLOT_FREE;
	for (unsigned int i = 0; i < SHARDS && !in->wrong; i++) {
		struct glock__table_usage usage;

		if (!l.head->shard[i].place[mutex_place(mutex_load(&l.head->shard[i].mutex))].size)
			continue;
		glock__table_usage(table_at(&l, i), &usage);
		in->locks += usage.locks;
		in->resources += usage.resources;
		in->wrong = glock__table_check(table_at(&l, i));
	}
	munmap(l.head, FILE_SIZE);
}
