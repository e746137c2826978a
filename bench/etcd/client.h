/* SPDX-License-Identifier: MIT */
/*
 * client.h - requests to etcd's JSON gateway, for benchmarks. One connection, which stays open.
 */
#ifndef BENCH_ETCD_CLIENT_H
#define BENCH_ETCD_CLIENT_H

#include <jansson.h>

/* Waits until the etcd at that URL works, and takes a lease. */
void client_begin(const char *url);
void client_end(void);
/* Sends `body`, which it frees. Returns the answer, or NULL without a useful one. */
json_t *client_ask(const char *path, json_t *body);

/* etcd's own lock, of one name. */
json_t *client_lock(void);
void client_unlock(json_t *locked); /* frees it */
void client_pair(void);

#endif
