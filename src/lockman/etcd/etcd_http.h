/* SPDX-License-Identifier: MIT */
/*
 * etcd_http.h - requests to etcd's JSON gateway.
 *
 * The environment configures the connection as that of etcdctl(1). A connection serves one thread.
 */
#ifndef GLOCK__ETCD_HTTP_H
#define GLOCK__ETCD_HTTP_H

#include "etcd_text.h"

#include <curl/curl.h>

enum { GLOCK__ETCD_ENDPOINTS = 16, GLOCK__ETCD_PATIENCE = 4 };

struct glock__etcd_config {
	char *endpoints; /* the text that endpoint[] points into */
	const char *endpoint[GLOCK__ETCD_ENDPOINTS];
	unsigned int n;
	const char *cacert, *cert, *key;
	const char *scheme; /* of an endpoint without one */
	char *user, *password;
	char *prefix;
};

/* Returns 0, -ENOMEM, or -EINVAL with a text of what is wrong. */
int glock__etcd_configure(struct glock__etcd_config *c, const char **why);
void glock__etcd_configure_end(struct glock__etcd_config *c);

struct glock__etcd_conn {
	const struct glock__etcd_config *config;
	CURL *curl;
	struct curl_slist *headers;
	struct glock__text reply;
	unsigned int at;     /* the endpoint in use */
	unsigned int silent; /* requests without an answer in time, since the last answer */
	bool has_token;
	char why[256]; /* the last failure: the endpoint and its answer */
};

int glock__etcd_connect(struct glock__etcd_conn *c, const struct glock__etcd_config *config,
			unsigned int first);
void glock__etcd_disconnect(struct glock__etcd_conn *c);

/*
 * Returns the factor of the time for an answer. An etcd whose members are all late gets more time,
 * because a request that is sent again waits anew.
 */
static inline unsigned int glock__etcd_patience(const struct glock__etcd_conn *c)
{
	unsigned int rounds = c->silent / c->config->n;

	return rounds < GLOCK__ETCD_PATIENCE ? 1 + rounds : GLOCK__ETCD_PATIENCE;
}

/*
 * Sends the body to the path, and stores the answer, which the caller frees. Returns 0 if etcd has
 * carried out the request. Otherwise the request may or may not be carried out now or later, and
 * the next call goes to another endpoint. Returns -EACCES if etcd refuses the user.
 */
int glock__etcd_call(struct glock__etcd_conn *c, const char *path, const char *body,
		     long timeout_ms, json_t **answer);

/* Sets the options that each request has. The path is without the endpoint. */
void glock__etcd_prepare(struct glock__etcd_conn *c, const char *path, const char *body);
/* Makes sure that the connection has a token, if there is a user. */
int glock__etcd_log_in(struct glock__etcd_conn *c);
void glock__etcd_next_endpoint(struct glock__etcd_conn *c);

#endif
