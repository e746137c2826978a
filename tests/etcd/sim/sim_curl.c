/* SPDX-License-Identifier: MIT */
/*
 * sim_curl.c - libcurl as the lock manager uses it, on a simulated network; see sim.h.
 *
 * A request may get lost, or its answer, or it comes so late that the sender has given up. An event
 * of a stream may get lost, come twice, or pass others. A stream may end, or fall silent.
 */
#include "sim.h"

#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef curl_easy_setopt
#undef curl_easy_getinfo

enum { LATENCY_NS = 1500000, LATE_MS = 3000, LATE_ANSWER_MS = 600 };

typedef size_t write_fn(char *bytes, size_t size, size_t n, void *arg);

struct line {
	struct line *next;
	struct stream *stream;
	struct glock__text text;
};

struct stream {
	struct stream *next;
	struct easy *easy; /* NULL: the receiver has gone */
	const struct multi *multi;
	struct sim_watch watch[2];
	unsigned int node, member;
	bool open, ended, silent;
	struct line *first, **last;
	int64_t last_at;
};

struct easy {
	char url[512];
	const char *body;
	long timeout_ms;
	write_fn *write;
	void *write_to;
	const struct curl_slist *headers;
	struct sim_call *call;
	struct stream *stream;
};

struct multi {
	struct easy *easy;
	bool woken;
};

struct sim_net sim_net;
static struct sim_call *calls;
static struct stream *streams;

static int64_t latency(void)
{
	return sim.now + 50000 + sim_dice(LATENCY_NS);
}

static bool is_cut(const int64_t until[SIM_NODES + 1], unsigned int node)
{
	return until[node] > sim.now;
}

static unsigned int member_of(const char *url)
{
	const char *at = strstr(url, "//");

	return at && at[2] == 'm' ? (unsigned int)(at[3] - '0') % SIM_MEMBERS : 0;
}

static bool is_down(unsigned int member)
{
	return sim_net.member_down[member] > sim.now;
}

/* ---- requests ---- */

static void wake_caller(void *call)
{
	sim_wake(call);
}

static void arrive(void *arg)
{
	struct sim_call *call = arg;

	if (is_down(call->member))
		return;
	sim_store_serve(call);
	if (!call->status || is_cut(sim_net.in_cut, call->node) || sim_chance(sim_net.unanswered))
		return;
	sim_at(latency() + (sim_chance(sim_net.late) ? sim_dice(LATE_ANSWER_MS) * SIM_MS : 0),
	       wake_caller, call);
}

static struct sim_call *call_new(const struct easy *e)
{
	struct sim_call *call = calloc(1, sizeof(*call));
	const char *path = strstr(e->url + 8, "/v3/");

	if (!call)
		abort();
	call->next = calls;
	calls = call;
	call->node = sim_self();
	call->member = member_of(e->url);
	call->path = strdup(path ? path : "");
	call->body = strdup(e->body);
	for (const struct curl_slist *h = e->headers; h; h = h->next)
		if (!strncmp(h->data, "Authorization: ", 15))
			call->token = strdup(h->data + 15);
	return call;
}

CURLcode curl_easy_perform(CURL *curl)
{
	struct easy *e = curl;
	struct sim_call *call;

	if (sim_self() == SIM_NODES) /* the rest of a node that was killed */
		return CURLE_COULDNT_CONNECT;
	call = call_new(e);
	e->call = call;
	if (is_down(call->member)) {
		sim_sleep(latency());
		return CURLE_COULDNT_CONNECT;
	}
	if (!is_cut(sim_net.out_cut, call->node) && !sim_chance(sim_net.lost))
		sim_at(sim_chance(sim_net.late) ? latency() + sim_dice(LATE_MS) * SIM_MS
						: latency(),
		       arrive, call);
	if (!sim_wait(call, sim.now + e->timeout_ms * SIM_MS))
		return CURLE_OPERATION_TIMEDOUT;
	e->write(call->reply.s, 1, call->reply.n, e->write_to);
	return CURLE_OK;
}

/* ---- streams ---- */

static void add_line(struct stream *s, struct line *l)
{
	*s->last = l;
	s->last = &l->next;
	sim_wake(s->multi);
}

static void line_arrives(void *arg)
{
	struct line *l = arg;

	if (l->stream->easy && !l->stream->ended && !l->stream->silent) {
		add_line(l->stream, l);
		return;
	}
	glock__text_free(&l->text);
	free(l);
}

/* Sends a line so that it comes behind those before, or late. */
static void send_line(struct stream *s, const struct glock__text *text)
{
	struct line *l = calloc(1, sizeof(*l));
	int64_t at = latency();

	if (!l)
		abort();
	l->stream = s;
	glock__text_add(&l->text, text->s, text->n);
	if (is_cut(sim_net.in_cut, s->node))
		s->silent = true;
	if (sim_chance(sim_net.event_late)) {
		at += sim_dice(LATE_MS) * SIM_MS;
	} else {
		at = at < s->last_at ? s->last_at : at;
		s->last_at = at;
	}
	sim_at(at, line_arrives, l);
}

static void end_stream(struct stream *s)
{
	s->ended = true;
	if (s->easy)
		sim_wake(s->multi);
}

static void tell(struct stream *s)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct glock__text text = {0};

		if (!sim_store_events(&s->watch[i], i, sim_net.event_lost, &text))
			continue;
		if (!sim_chance(sim_net.event_lost))
			send_line(s, &text);
		if (sim_chance(sim_net.event_twice))
			send_line(s, &text);
		glock__text_free(&text);
		if (sim_chance(sim_net.stream_ends))
			end_stream(s);
	}
}

void sim_net_tell(void)
{
	for (struct stream *s = streams; s; s = s->next)
		if (s->open && s->easy && !s->ended && sim_etcd.stale[s->node] <= sim.now)
			tell(s);
}

static void open_stream(void *arg)
{
	struct stream *s = arg;

	if (!s->easy)
		return;
	if (is_down(s->member)) {
		end_stream(s);
		return;
	}
	s->open = true;
	if (sim_etcd.stale[s->node] <= sim.now)
		tell(s);
}

static void read_watches(struct stream *s, const char *body)
{
	for (unsigned int i = 0; i < 2 && body; i++) {
		json_t *all = json_loads(body, JSON_DISABLE_EOF_CHECK, NULL);
		const json_t *ask = json_object_get(all, "create_request");

		s->watch[i].key = glock__json_bytes(ask, "key", &s->watch[i].key_len);
		s->watch[i].end = glock__json_bytes(ask, "range_end", &s->watch[i].end_len);
		s->watch[i].from = glock__json_number(ask, "start_revision");
		json_decref(all);
		body = strchr(body, '\n');
		body += body != NULL;
	}
}

static void begin_stream(struct multi *m, struct easy *e)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	*s = (struct stream){.next = streams,
			     .easy = e,
			     .multi = m,
			     .node = sim_self(),
			     .member = member_of(e->url),
			     .last = &s->first};
	streams = s;
	e->stream = s;
	read_watches(s, e->body);
	if (is_cut(sim_net.out_cut, s->node))
		s->silent = true;
	sim_at(latency(), open_stream, s);
}

void sim_net_member_down(unsigned int member, int64_t until)
{
	sim_net.member_down[member] = until;
	for (struct stream *s = streams; s; s = s->next)
		if (s->member == member && !s->ended)
			end_stream(s);
}

static void free_lines(struct stream *s)
{
	while (s->first) {
		struct line *l = s->first;

		s->first = l->next;
		glock__text_free(&l->text);
		free(l);
	}
	s->last = &s->first;
}

CURLMcode curl_multi_perform(CURLM *multi, int *running)
{
	struct multi *m = multi;
	struct stream *s = m->easy->stream;

	while (s->first) {
		struct line *l = s->first;

		s->first = l->next;
		if (!s->first)
			s->last = &s->first;
		m->easy->write(l->text.s, 1, l->text.n, m->easy->write_to);
		glock__text_free(&l->text);
		free(l);
	}
	*running = !s->ended;
	return CURLM_OK;
}

CURLMcode curl_multi_poll(CURLM *multi, struct curl_waitfd *fds, unsigned int n, int ms, int *ready)
{
	struct multi *m = multi;

	(void)fds, (void)n, (void)ready;
	if (!m->woken && !m->easy->stream->first && !m->easy->stream->ended)
		sim_wait(m, sim.now + ms * SIM_MS);
	m->woken = false;
	return CURLM_OK;
}

CURLMcode curl_multi_wakeup(CURLM *multi)
{
	struct multi *m = multi;

	m->woken = true;
	sim_wake(m);
	return CURLM_OK;
}

CURLMcode curl_multi_add_handle(CURLM *multi, CURL *curl)
{
	struct multi *m = multi;

	m->easy = curl;
	begin_stream(m, curl);
	return CURLM_OK;
}

CURLMcode curl_multi_remove_handle(CURLM *multi, CURL *curl)
{
	struct easy *e = curl;

	(void)multi;
	e->stream->easy = NULL;
	free_lines(e->stream);
	return CURLM_OK;
}

CURLM *curl_multi_init(void)
{
	return calloc(1, sizeof(struct multi));
}

CURLMcode curl_multi_cleanup(CURLM *multi)
{
	free(multi);
	return CURLM_OK;
}

/* ---- the rest of libcurl ---- */

CURL *curl_easy_init(void)
{
	return calloc(1, sizeof(struct easy));
}

void curl_easy_cleanup(CURL *curl)
{
	free(curl);
}

CURLcode curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
	struct easy *e = curl;
	va_list ap;

	va_start(ap, option);
	if (option == CURLOPT_URL)
		snprintf(e->url, sizeof(e->url), "%s", va_arg(ap, const char *));
	else if (option == CURLOPT_POSTFIELDS)
		e->body = va_arg(ap, const char *);
	else if (option == CURLOPT_TIMEOUT_MS)
		e->timeout_ms = va_arg(ap, long);
	else if (option == CURLOPT_WRITEFUNCTION)
		e->write = va_arg(ap, write_fn *);
	else if (option == CURLOPT_WRITEDATA)
		e->write_to = va_arg(ap, void *);
	else if (option == CURLOPT_HTTPHEADER)
		e->headers = va_arg(ap, struct curl_slist *);
	va_end(ap);
	return CURLE_OK;
}

CURLcode curl_easy_getinfo(CURL *curl, CURLINFO info, ...)
{
	const struct easy *e = curl;
	va_list ap;

	(void)info;
	va_start(ap, info);
	*va_arg(ap, long *) = e->call->status;
	va_end(ap);
	return CURLE_OK;
}

const char *curl_easy_strerror(CURLcode code)
{
	return code == CURLE_COULDNT_CONNECT ? "no connection" : "no answer";
}

struct curl_slist *curl_slist_append(struct curl_slist *list, const char *text)
{
	struct curl_slist *one = calloc(1, sizeof(*one));

	if (one)
		one->data = strdup(text);
	(void)list; /* NULL: the lock manager has one header */
	return one;
}

void curl_slist_free_all(struct curl_slist *list)
{
	if (list)
		free(list->data);
	free(list);
}

CURLcode curl_global_init(long flags)
{
	(void)flags;
	return CURLE_OK;
}

/* ---- begin and end ---- */

void sim_net_open(void)
{
	sim_net = (struct sim_net){0};
}

void sim_net_close(void)
{
	while (calls) {
		struct sim_call *c = calls;

		calls = c->next;
		free(c->path);
		free(c->body);
		free(c->token);
		glock__text_free(&c->reply);
		free(c);
	}
	while (streams) {
		struct stream *s = streams;

		streams = s->next;
		for (unsigned int i = 0; i < 2; i++) {
			free(s->watch[i].key);
			free(s->watch[i].end);
		}
		free_lines(s);
		free(s);
	}
}
