/* SPDX-License-Identifier: MIT */
/*
 * etcd_watch.c - the thread that receives the inbox of this node, and changes of the node keys.
 *
 * Events are hints. The worker acts on the value of a lock that it gets so. Each change of a lock
 * is a transaction that compares. If events may be lost, the worker reads all its locks again. The
 * thread member finds out if this stream has fallen behind.
 */
#include "etcd_impl.h"

#include <errno.h>
#include <stdlib.h>

enum { MESSAGE = 24, LINE_MAX_BYTES = 16 << 20, AGAIN_MS = 50 };

struct stream {
	struct etcd *e;
	struct glock__text line;
	char inbox[KEY_MAX];
	bool ended; /* etcd canceled a watch */
};

/* ---- what comes ---- */

static uint64_t fetch(const unsigned char *from, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)from[i] << 8 * i;
	return value;
}

/* Hands the locks of a message to the worker; add_message() of etcd_txn.c made it. */
static void take_message(struct etcd *e, const unsigned char *at, size_t n, int64_t revision)
{
	while (n >= MESSAGE) {
		size_t len = fetch(at + 22, 2);
		int64_t own = (int64_t)fetch(at + 8, 8);
		struct mail *m;

		if (len > n - MESSAGE || len > GLOCK__ETCD_VALUE_MAX || at[20] > GLOCK__EX)
			return; /* no message of ours */
		m = calloc(1, sizeof(*m) + len);
		if (!m) {
			e->reread = true;
			return;
		}
		m->number = fetch(at, 8);
		m->type = (uint32_t)fetch(at + 16, 4);
		m->bast = at[20];
		m->revision = own ? own : revision;
		m->len = len;
		memcpy(m->value, at + MESSAGE, len);
		*e->mail_last = m;
		e->mail_last = &m->next;
		at += MESSAGE + len;
		n -= MESSAGE + len;
	}
}

/* Under e->lock. */
static void take_event(struct stream *w, const json_t *event)
{
	const json_t *kv = json_object_get(event, "kv");
	int64_t revision = glock__json_number(kv, "mod_revision");
	size_t key_len, len;
	unsigned char *key = glock__json_bytes(kv, "key", &key_len), *value = NULL;

	if (!key || key_len != strlen(w->inbox) || memcmp(key, w->inbox, key_len) != 0) {
		w->e->confirm |= json_object_get(event, "type") != NULL; /* a node key is gone */
	} else if (revision > w->e->inbox_seen) {
		int64_t version = glock__json_number(kv, "version");

		value = glock__json_bytes(kv, "value", &len);
		if (value)
			take_message(w->e, value, len, revision);
		/* Each put counts the version up by one: a gap shows an event that got lost. */
		w->e->reread |= !value || version != w->e->inbox_version + 1;
		w->e->inbox_version = version;
		w->e->inbox_seen = revision;
	}
	free(key);
	free(value);
}

static void take_line(struct stream *w, const char *line, size_t n)
{
	json_t *all = json_loadb(line, n, 0, NULL);
	const json_t *result = json_object_get(all, "result"), *event;
	struct etcd *e = w->e;
	size_t i;

	pthread_mutex_lock(&e->lock);
	if (!result || json_is_true(json_object_get(result, "canceled"))) {
		int64_t compacted = glock__json_number(result, "compact_revision");

		if (compacted > e->inbox_seen) { /* events are lost */
			e->inbox_seen = compacted - 1;
			e->reread = true;
		}
		w->ended = true;
	}
	json_array_foreach(json_object_get(result, "events"), i, event) take_event(w, event);
	glock__etcd_changed(e);
	pthread_mutex_unlock(&e->lock);
	json_decref(all);
}

static size_t take_bytes(char *bytes, size_t size, size_t n, void *stream)
{
	struct stream *w = stream;
	char *end;

	if (w->line.n + size * n > LINE_MAX_BYTES)
		return 0;
	glock__text_add(&w->line, bytes, size * n);
	while (!w->line.failed && w->line.n && (end = memchr(w->line.s, '\n', w->line.n))) {
		size_t len = (size_t)(end - w->line.s);

		take_line(w, w->line.s, len);
		w->line.n -= len + 1;
		memmove(w->line.s, end + 1, w->line.n);
	}
	return w->line.failed ? 0 : size * n;
}

/* ---- the stream ---- */

static void add_create(struct glock__text *t, const char *key, const char *end, int64_t from)
{
	glock__text_printf(t, "{\"create_request\":{");
	glock__text_bytes(t, "key", key, strlen(key));
	if (end) {
		glock__text_add(t, ",", 1);
		glock__text_bytes(t, "range_end", end, strlen(end));
	}
	glock__text_printf(t, ",\"start_revision\":\"%" PRId64 "\"}}\n", from);
}

/* Receives until the stream ends, or another one is wanted. */
static void receive(struct etcd *e, CURLM *multi, const struct stream *w)
{
	int running = 1;
	bool go_on = true;

	while (go_on && running && !w->ended) {
		if (curl_multi_perform(multi, &running) != CURLM_OK)
			return;
		if (running)
			curl_multi_poll(multi, NULL, 0, 1000, NULL);
		pthread_mutex_lock(&e->lock);
		go_on = !e->stop && !e->rewatch && !e->lost;
		pthread_mutex_unlock(&e->lock);
	}
}

static void stream_once(struct etcd *e, struct glock__etcd_conn *c, CURLM *multi)
{
	struct stream w = {.e = e};
	struct glock__text body = {0};
	char from[KEY_MAX], end[KEY_MAX];

	pthread_mutex_lock(&e->lock);
	e->rewatch = false;
	glock__etcd_key(e, w.inbox, "in", e->id);
	snprintf(from, sizeof(from), "%sn/", e->base);
	snprintf(end, sizeof(end), "%sn0", e->base);
	add_create(&body, w.inbox, NULL, e->inbox_seen + 1);
	add_create(&body, from, end, e->inbox_seen + 1);
	pthread_mutex_unlock(&e->lock);
	if (!body.failed && !glock__etcd_log_in(c)) {
		glock__etcd_prepare(c, "/v3/watch", body.s);
		curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, 0L);
		curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CALL_MS);
		curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_bytes);
		curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &w);
		curl_multi_add_handle(multi, c->curl);
		receive(e, multi, &w);
		curl_multi_remove_handle(multi, c->curl);
	}
	c->has_token = false; /* a token that is too old ends the stream, too */
	glock__etcd_next_endpoint(c);
	glock__text_free(&body);
	glock__text_free(&w.line);
}

void *glock__etcd_watch(void *arg)
{
	struct etcd *e = arg;
	struct glock__etcd_conn c;
	CURLM *multi = curl_multi_init();
	int err = glock__etcd_connect(&c, &e->config, (unsigned int)e->id);

	pthread_mutex_lock(&e->lock);
	e->watching = multi;
	while (!err && multi && !e->stop) {
		if (!e->lost) {
			pthread_mutex_unlock(&e->lock);
			stream_once(e, &c, multi);
			pthread_mutex_lock(&e->lock);
		}
		if (!e->stop && (e->lost || !e->rewatch))
			glock__etcd_sleep(e, AGAIN_MS);
	}
	e->watching = NULL;
	pthread_mutex_unlock(&e->lock);
	if (err || !multi)
		glock__etcd_say(e, "space %s: no memory to hear of other nodes", e->name);
	glock__etcd_disconnect(&c);
	if (multi)
		curl_multi_cleanup(multi);
	return NULL;
}
