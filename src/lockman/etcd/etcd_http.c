/* SPDX-License-Identifier: MIT */
/* etcd_http.c - see etcd_http.h. */
#include "etcd_http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_ENDPOINT "127.0.0.1:2379"
#define DEFAULT_PREFIX "/glock"

/* etcd takes its time to compare a password. */
enum { REPLY_MAX = 64 << 20, LOGIN_MS = 3000 };

/* ---- the configuration ---- */

static const char *setting(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : NULL;
}

static int take_endpoints(struct glock__etcd_config *c, const char **why)
{
	const char *list = setting("GLOCK_ETCD");
	char *rest = NULL;

	if (!list)
		list = setting("ETCDCTL_ENDPOINTS");
	c->endpoints = strdup(list ? list : DEFAULT_ENDPOINT);
	if (!c->endpoints)
		return -ENOMEM;
	for (char *at = strtok_r(c->endpoints, ", ", &rest); at; at = strtok_r(NULL, ", ", &rest)) {
		if (c->n == GLOCK__ETCD_ENDPOINTS) {
			*why = "there are more than 16 endpoints";
			return -EINVAL;
		}
		c->endpoint[c->n++] = at;
	}
	*why = c->n ? NULL : "GLOCK_ETCD names no endpoint";
	return c->n ? 0 : -EINVAL;
}

int glock__etcd_configure(struct glock__etcd_config *c, const char **why)
{
	const char *user = setting("ETCDCTL_USER"), *password = setting("ETCDCTL_PASSWORD");
	const char *prefix = setting("GLOCK_ETCD_PREFIX");
	char *colon;
	int err;

	*c = (struct glock__etcd_config){.cacert = setting("ETCDCTL_CACERT"),
					 .cert = setting("ETCDCTL_CERT"),
					 .key = setting("ETCDCTL_KEY")};
	*why = "memory is full";
	c->scheme = c->cacert || c->cert ? "https" : "http";
	err = take_endpoints(c, why);
	if (err)
		return err;
	c->prefix = strdup(prefix ? prefix : DEFAULT_PREFIX);
	c->user = user ? strdup(user) : NULL;
	colon = c->user && !password ? strchr(c->user, ':') : NULL;
	if (colon)
		*colon = '\0';
	if (colon || password)
		c->password = strdup(colon ? colon + 1 : password);
	if (!c->prefix || (user && !c->user) || ((colon || password) && !c->password))
		return -ENOMEM;
	if (!c->user || c->password)
		return 0;
	*why = "ETCDCTL_USER has no password; write name:password, or set ETCDCTL_PASSWORD";
	return -EINVAL;
}

void glock__etcd_configure_end(struct glock__etcd_config *c)
{
	free(c->endpoints);
	free(c->user);
	free(c->password);
	free(c->prefix);
}

/* ---- a connection ---- */

static size_t take_reply(char *bytes, size_t size, size_t n, void *conn)
{
	struct glock__etcd_conn *c = conn;

	if (c->reply.n + size * n > REPLY_MAX)
		return 0;
	glock__text_add(&c->reply, bytes, size * n);
	return c->reply.failed ? 0 : size * n;
}

int glock__etcd_connect(struct glock__etcd_conn *c, const struct glock__etcd_config *config,
			unsigned int first)
{
	*c = (struct glock__etcd_conn){.config = config, .at = first % config->n};
	c->curl = curl_easy_init();
	return c->curl ? 0 : -ENOMEM;
}

void glock__etcd_disconnect(struct glock__etcd_conn *c)
{
	if (c->curl)
		curl_easy_cleanup(c->curl);
	curl_slist_free_all(c->headers);
	glock__text_free(&c->reply);
	c->curl = NULL;
	c->headers = NULL;
}

void glock__etcd_next_endpoint(struct glock__etcd_conn *c)
{
	c->at = (c->at + 1) % c->config->n;
}

void glock__etcd_prepare(struct glock__etcd_conn *c, const char *path, const char *body)
{
	const struct glock__etcd_config *config = c->config;
	const char *endpoint = config->endpoint[c->at];
	char url[512];

	if (strstr(endpoint, "://"))
		snprintf(url, sizeof(url), "%s%s", endpoint, path);
	else
		snprintf(url, sizeof(url), "%s://%s%s", config->scheme, endpoint, path);
	c->reply.n = 0;
	c->reply.failed = false;
	curl_easy_setopt(c->curl, CURLOPT_URL, url);
	curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
	curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, c->headers);
	curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c->curl, CURLOPT_PROXY, ""); /* locks do not go through one */
	curl_easy_setopt(c->curl, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_reply);
	curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, c);
	if (config->cacert)
		curl_easy_setopt(c->curl, CURLOPT_CAINFO, config->cacert);
	if (config->cert)
		curl_easy_setopt(c->curl, CURLOPT_SSLCERT, config->cert);
	if (config->key)
		curl_easy_setopt(c->curl, CURLOPT_SSLKEY, config->key);
}

/* One request and its answer. Returns the HTTP status; 0: no answer, c->why says so. */
static long exchange(struct glock__etcd_conn *c, const char *path, const char *body,
		     long timeout_ms, json_t **answer)
{
	json_error_t error;
	long status = 0;
	CURLcode result;

	glock__etcd_prepare(c, path, body);
	curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, timeout_ms * (long)glock__etcd_patience(c));
	result = curl_easy_perform(c->curl);
	c->silent = result == CURLE_OPERATION_TIMEDOUT ? c->silent + 1 : 0;
	*answer = NULL;
	if (result != CURLE_OK) {
		snprintf(c->why, sizeof(c->why), "%s: %s", c->config->endpoint[c->at],
			 curl_easy_strerror(result));
		return 0;
	}
	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	*answer =
	    c->reply.n ? json_loadb(c->reply.s, c->reply.n, JSON_DISABLE_EOF_CHECK, &error) : NULL;
	if (!json_is_object(*answer) || (status != 200 && !json_object_get(*answer, "error"))) {
		snprintf(c->why, sizeof(c->why), "%s: the answer (HTTP %ld) is none of etcd's",
			 c->config->endpoint[c->at], status);
		json_decref(*answer);
		*answer = NULL;
		return 0;
	}
	return status;
}

/* Stores etcd's error. Returns true if a new token may help. */
static bool take_error(struct glock__etcd_conn *c, const json_t *answer)
{
	const json_t *error = json_object_get(answer, "error");
	const char *text = json_string_value(error);

	if (!text)
		text = json_string_value(json_object_get(error, "message"));
	snprintf(c->why, sizeof(c->why), "%s: %s", c->config->endpoint[c->at],
		 text ? text : "an error without a text");
	return text && (strstr(text, "auth token") || strstr(text, "user name is empty") ||
			strstr(text, "auth: revision"));
}

int glock__etcd_log_in(struct glock__etcd_conn *c)
{
	struct glock__text header = {0};
	json_t *ask, *answer;
	const char *token;
	char *body;
	long status;

	if (!c->config->user || c->has_token)
		return 0;
	curl_slist_free_all(c->headers);
	c->headers = NULL;
	ask = json_pack("{s:s,s:s}", "name", c->config->user, "password", c->config->password);
	body = ask ? json_dumps(ask, 0) : NULL;
	json_decref(ask);
	if (!body)
		return -EAGAIN;
	status = exchange(c, "/v3/auth/authenticate", body, LOGIN_MS, &answer);
	free(body);
	token = status == 200 ? json_string_value(json_object_get(answer, "token")) : NULL;
	if (token) {
		glock__text_printf(&header, "Authorization: ");
		glock__text_add(&header, token, strlen(token));
		c->headers = header.failed ? NULL : curl_slist_append(NULL, header.s);
		c->has_token = c->headers;
		glock__text_free(&header);
	} else if (status) {
		take_error(c, answer);
	}
	json_decref(answer);
	return c->has_token ? 0 : status == 400 ? -EACCES : -EAGAIN;
}

int glock__etcd_call(struct glock__etcd_conn *c, const char *path, const char *body,
		     long timeout_ms, json_t **answer)
{
	long status = 0;
	int err = 0;

	*answer = NULL;
	for (int i = 0; i < 2; i++) {
		err = glock__etcd_log_in(c);
		if (err)
			break;
		status = exchange(c, path, body, timeout_ms, answer);
		if (status == 200 && !json_object_get(*answer, "error"))
			return 0;
		err = status == 403 || status == 401 ? -EACCES : -EAGAIN;
		if (!status || !take_error(c, *answer))
			break;
		if (!c->has_token) {
			err = -EACCES; /* etcd wants a user */
			break;
		}
		c->has_token = false; /* the token is too old */
		json_decref(*answer);
		*answer = NULL;
	}
	json_decref(*answer);
	*answer = NULL;
	glock__etcd_next_endpoint(c);
	return err;
}
