/* SPDX-License-Identifier: MIT */
/* client.c - see client.h. */
#include "client.h"

#include "../processes.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEASE_S = 600, PATIENCE_S = 60 };

static struct {
	CURL *curl;
	const char *url;
	json_t *lease; /* the lease's number, which is a string in JSON */
	char answer[4096];
	size_t len;
} client;

static size_t take(char *data, size_t size, size_t n, void *arg)
{
	(void)size, (void)arg;
	if (n >= sizeof(client.answer) - client.len)
		return 0;
	memcpy(client.answer + client.len, data, n);
	client.len += n;
	return n;
}

json_t *client_ask(const char *path, json_t *body)
{
	char url[128], *text = json_dumps(body, JSON_COMPACT);
	json_t *answer = NULL;
	long status = 0;

	must(text != NULL, "memory");
	snprintf(url, sizeof(url), "%s/v3/%s", client.url, path);
	client.len = 0;
	curl_easy_setopt(client.curl, CURLOPT_URL, url);
	curl_easy_setopt(client.curl, CURLOPT_POSTFIELDS, text);
	curl_easy_setopt(client.curl, CURLOPT_WRITEFUNCTION, take);
	if (!curl_easy_perform(client.curl) &&
	    !curl_easy_getinfo(client.curl, CURLINFO_RESPONSE_CODE, &status) && status == 200)
		answer = json_loadb(client.answer, client.len, 0, NULL);
	free(text);
	json_decref(body);
	return answer;
}

void client_begin(const char *url)
{
	const struct timespec moment = {0, 50000000};
	double began = now();
	json_t *answer;

	client.url = url;
	client.curl = curl_easy_init();
	must(client.curl != NULL, "curl");
	while (!(answer = client_ask("lease/grant", json_pack("{s:i}", "TTL", LEASE_S)))) {
		must(now() - began < PATIENCE_S * 1e9, "asking etcd for a lease");
		nanosleep(&moment, NULL);
	}
	client.lease = json_incref(json_object_get(answer, "ID"));
	json_decref(answer);
}

void client_end(void)
{
	json_decref(client.lease);
	curl_easy_cleanup(client.curl);
}

json_t *client_lock(void)
{
	json_t *locked = client_ask(
	    "lock/lock", json_pack("{s:s,s:O}", "name", "YmVuY2g=", "lease", client.lease));

	must(json_object_get(locked, "key") != NULL, "etcd: lock");
	return locked;
}

void client_unlock(json_t *locked)
{
	json_t *unlocked =
	    client_ask("lock/unlock", json_pack("{s:O}", "key", json_object_get(locked, "key")));

	must(unlocked != NULL, "etcd: unlock");
	json_decref(unlocked);
	json_decref(locked);
}

void client_pair(void)
{
	client_unlock(client_lock());
}
