/* SPDX-License-Identifier: MIT */
/* sim_posix.h - threads and clocks of the simulator, in place of those of the system: see sim.h. */
#ifndef TESTS_ETCD_SIM_POSIX_H
#define TESTS_ETCD_SIM_POSIX_H

#include <pthread.h>
#include <time.h>
#include <unistd.h>

int sim_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int sim_join(pthread_t thread, void **result);
int sim_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr);
int sim_lock(pthread_mutex_t *m);
int sim_unlock(pthread_mutex_t *m);
int sim_signal(pthread_cond_t *c);
int sim_broadcast(pthread_cond_t *c);
int sim_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until);
int sim_gettime(clockid_t clock, struct timespec *ts);
int sim_nanosleep(const struct timespec *ts, struct timespec *left);
int sim_usleep(useconds_t us);
static inline int sim_nothing(void)
{
	return 0;
}

#ifndef TESTS_ETCD_SIM_REAL
#define pthread_create sim_create
#define pthread_join sim_join
#define pthread_setname_np(thread, name) ((void)(thread), (void)(name))
#define pthread_mutex_init sim_mutex_init
#define pthread_mutex_lock sim_lock
#define pthread_mutex_unlock sim_unlock
#define pthread_mutex_destroy(m) sim_nothing()
#define pthread_cond_init(c, attr) sim_nothing()
#define pthread_cond_destroy(c) sim_nothing()
#define pthread_cond_signal sim_signal
#define pthread_cond_broadcast sim_broadcast
#define pthread_cond_timedwait sim_timedwait
#define clock_gettime sim_gettime
#define nanosleep sim_nanosleep
#define usleep sim_usleep
#endif

#endif
