/* SPDX-License-Identifier: MIT */
/*
 * ending.c - handlers of the signals that end o2top, and a wait that such a signal interrupts.
 */
#include "ending.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_ENDS = sizeof(ends) / sizeof(ends[0]) };

static volatile sig_atomic_t ended, pipe_broken, reopens;

static void on_end(int number)
{
	ended = number;
}

static void on_pipe(int number)
{
	(void)number;
	pipe_broken = 1;
}

static void on_hang_up(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code == SI_KERNEL)
		ended = number;
	else
		reopens = 1;
}

void ending_begin(bool reopening)
{
	struct sigaction hang_up = {.sa_sigaction = on_hang_up, .sa_flags = SA_SIGINFO};
	/* Without SA_RESTART, a signal also ends a write to a pipe that is not emptied. */
	struct sigaction end = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND}, old;

	for (size_t i = 0; i < N_ENDS; i++)
		if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(ends[i], &end, NULL);
	/* A service asks by SIGHUP, also if it was started with SIGHUP ignored. */
	if (reopening)
		sigaction(SIGHUP, &hang_up, NULL);
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = on_pipe}, NULL);
}

int ending(void)
{
	return ended;
}

bool ending_reopens(void)
{
	bool asked = reopens;

	reopens = 0;
	return asked;
}

bool ending_pipe_broken(void)
{
	return pipe_broken;
}

/* Returns the time that is left, not below 0. */
static struct timespec left_until(const struct timespec *until)
{
	struct timespec now;
	long long ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (long long)(until->tv_sec - now.tv_sec) * 1000000000 + until->tv_nsec - now.tv_nsec;
	ns = ns > 0 ? ns : 0;
	return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

/* Signals come in only while poll waits. So a signal that comes just before is not missed. */
bool ending_wait(int fd, const struct timespec *until)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	sigset_t blocked, before;
	int got = -1;

	sigemptyset(&blocked);
	for (size_t i = 0; i < N_ENDS; i++)
		sigaddset(&blocked, ends[i]);
	pthread_sigmask(SIG_BLOCK, &blocked, &before);
	while (got < 0 && !ended) {
		struct timespec left = until ? left_until(until) : (struct timespec){0};

		got = ppoll(&p, 1, until ? &left : NULL, &before);
		if (got < 0 && errno != EINTR)
			break;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !ended;
}
