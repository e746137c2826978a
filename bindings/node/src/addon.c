/* SPDX-License-Identifier: MIT */
/*
 * addon.c - locks by path for JavaScript.
 *
 * index.js knows paths and holders by numbers, because an object with a finalizer costs more than a
 * lock. Each environment, the main thread or a Worker, has its own tables and its own notifier. The
 * event loop polls the descriptor of the notifier while a request waits. Bun has no uv_poll_init(),
 * so that index.js calls collect() at times there. A function returns a number, or a negative
 * errno.
 */
#include <errno.h>
#include <glock-path.h>
#define NAPI_VERSION 8
#include <node_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <uv.h>

enum how { HOW_CACHED, HOW_TRY, HOW_ASK_TRY, HOW_ASK };

struct path {
	struct glock *gl;
	char *given;  /* must lead to the file; NULL: need not */
	char *folder; /* of a user of proper-lockfile; NULL: not looked at */
	dev_t dev;
	ino_t ino;
};

struct holder {
	struct glock_holder gh; /* first: the notifier returns its address */
	uint32_t id;
	bool used; /* held, or asked for */
};

/* Objects by number. A freed object stays for its next use, because a holder must not move. */
struct table {
	void **at;
	uint32_t *unused;
	uint32_t n, n_unused;
	size_t size; /* of an object */
};

struct addon {
	napi_env env;
	napi_ref told; /* a function of index.js: told(holder, error) */
	napi_async_cleanup_hook_handle hook;
	struct glock_notifier *notifier;
	uv_poll_t *poll; /* NULL: index.js calls collect() */
	int waiting;
	bool no_poll;
	struct table paths, holders;
};

/* ---- the log: the last message is the text of an error ---- */

static pthread_mutex_t last_lock = PTHREAD_MUTEX_INITIALIZER;
static char last[1024]; /* under last_lock */

static void log_last(void *arg, const char *message)
{
	(void)arg;
	pthread_mutex_lock(&last_lock);
	snprintf(last, sizeof(last), "%s", message);
	pthread_mutex_unlock(&last_lock);
}

/* ---- tables ---- */

/* Returns the number of an object, or -ENOMEM. A new object is zero. */
static int table_take(struct table *t)
{
	void **at;
	uint32_t *unused;

	if (t->n_unused)
		return (int)t->unused[--t->n_unused];
	at = realloc(t->at, (t->n + 1) * sizeof(*at));
	if (at)
		t->at = at;
	unused = at ? realloc(t->unused, (t->n + 1) * sizeof(*unused)) : NULL;
	if (unused)
		t->unused = unused;
	if (!unused || !(at[t->n] = calloc(1, t->size)))
		return -ENOMEM;
	return (int)t->n++;
}

static void table_give(struct table *t, uint32_t id)
{
	t->unused[t->n_unused++] = id;
}

static void table_free(struct table *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free(t->at[i]);
	free(t->at);
	free(t->unused);
}

/* ---- arguments ---- */

static double number_of(napi_env env, napi_value value)
{
	double number = 0;

	napi_get_value_double(env, value, &number);
	return number;
}

/* Returns a copy of a string, or NULL for another value. */
static char *text_of(napi_env env, napi_value value)
{
	size_t size = 0;
	char *text = NULL;

	if (napi_get_value_string_utf8(env, value, NULL, 0, &size) == napi_ok &&
	    (text = malloc(size + 1)))
		napi_get_value_string_utf8(env, value, text, size + 1, &size);
	return text;
}

static napi_value result(napi_env env, int number)
{
	napi_value value = NULL;

	napi_create_int32(env, number, &value);
	return value;
}

#define ARGUMENTS_MAX 5

/* Stores the arguments, undefined for those that are missing, and returns the addon. */
static struct addon *arguments(napi_env env, napi_callback_info info, napi_value *args)
{
	size_t n = ARGUMENTS_MAX;
	void *addon = NULL;

	napi_get_cb_info(env, info, &n, args, NULL, &addon);
	return addon;
}

static struct path *path_at(napi_env env, struct addon *a, napi_value id)
{
	return a->paths.at[(uint32_t)number_of(env, id)];
}

static void holder_give(struct addon *a, struct holder *h)
{
	h->used = false;
	table_give(&a->holders, h->id);
}

static struct holder *holder_at(napi_env env, struct addon *a, napi_value id)
{
	return a->holders.at[(uint32_t)number_of(env, id)];
}

/* ---- requests that wait ---- */

static void end_waiting(struct addon *a)
{
	if (!--a->waiting && a->poll)
		uv_poll_stop(a->poll);
}

/* Tells index.js the ends of requests. */
static void collect(struct addon *a)
{
	struct glock_holder *gh;
	napi_handle_scope scope;
	napi_value told, self, args[2];

	while (a->notifier && glock_notifier_next(a->notifier, &gh) > 0) {
		struct holder *h = (struct holder *)gh;
		int err = glock_wait(gh, 1, 0); /* has finished */

		if (err) {
			glock_dq(gh);
			holder_give(a, h);
		}
		end_waiting(a);
		napi_open_handle_scope(a->env, &scope);
		napi_get_reference_value(a->env, a->told, &told);
		napi_get_global(a->env, &self);
		args[0] = result(a->env, (int)h->id);
		args[1] = result(a->env, err);
		/* Also runs what the program does after the wait. */
		napi_make_callback(a->env, NULL, self, told, 2, args, NULL);
		napi_close_handle_scope(a->env, scope);
	}
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	(void)status, (void)events;
	collect(poll->data);
}

/* Opens the notifier, at the first request that waits: a space is open then. */
static int begin_waiting(struct addon *a)
{
	uv_loop_t *loop = NULL;
	int err = a->notifier ? 0 : glock_notifier_open(&a->notifier);

	if (err || a->no_poll)
		return err;
	if (!a->poll) {
		if (napi_get_uv_event_loop(a->env, &loop) != napi_ok)
			return -ENOSYS;
		a->poll = calloc(1, sizeof(*a->poll));
		if (!a->poll)
			return -ENOMEM;
		err = uv_poll_init(loop, a->poll, glock_notifier_fd(a->notifier));
		if (err) {
			free(a->poll);
			a->poll = NULL;
			return err;
		}
		a->poll->data = a;
	}
	return a->waiting ? 0 : uv_poll_start(a->poll, UV_READABLE, on_readable);
}

static int64_t deadline_in(double ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return ms < 1e15 ? t.tv_sec * 1000000000ll + t.tv_nsec + (int64_t)(ms * 1e6) : 0;
}

/* ---- functions of index.js ---- */

static int identify(struct path *p)
{
	struct stat st;

	if (p->given && stat(p->given, &st))
		return -errno;
	if (p->given) {
		p->dev = st.st_dev;
		p->ino = st.st_ino;
	}
	return 0;
}

static void path_close(struct path *p)
{
	if (p->gl)
		glock_put(p->gl);
	free(p->given);
	free(p->folder);
	memset(p, 0, sizeof(*p));
}

/* open(path, flags, given, folder, group): path */
static napi_value js_open(napi_env env, napi_callback_info info)
{
	struct glock_path_options options = {.size = sizeof(options), .log = log_last};
	napi_value args[ARGUMENTS_MAX];
	struct addon *a = arguments(env, info, args);
	char *real = text_of(env, args[0]), *group = text_of(env, args[4]);
	int id = real ? table_take(&a->paths) : -EINVAL, err;

	if (id >= 0) {
		struct path *p = a->paths.at[id];

		options.flags = (unsigned int)number_of(env, args[1]);
		options.group = group;
		p->given = text_of(env, args[2]);
		p->folder = text_of(env, args[3]);
		err = identify(p);
		if (!err)
			err = glock_get_path(NULL, real, &options, &p->gl);
		if (err) {
			path_close(p);
			table_give(&a->paths, (uint32_t)id);
			id = err;
		}
	}
	free(real);
	free(group);
	return result(env, id);
}

/* close(path) */
static napi_value js_close(napi_env env, napi_callback_info info)
{
	napi_value args[ARGUMENTS_MAX];
	struct addon *a = arguments(env, info, args);

	path_close(path_at(env, a, args[0]));
	table_give(&a->paths, (uint32_t)number_of(env, args[0]));
	return NULL;
}

/* refresh(path): the given path leads to the same path, with another file */
static napi_value js_refresh(napi_env env, napi_callback_info info)
{
	napi_value args[ARGUMENTS_MAX];
	struct addon *a = arguments(env, info, args);

	return result(env, identify(path_at(env, a, args[0])));
}

/* -ESTALE: another file; -EEXIST: the folder of a user of proper-lockfile */
static int look(const struct path *p)
{
	struct stat st;

	if (p->given && stat(p->given, &st))
		return -errno;
	if (p->given && (st.st_ino != p->ino || st.st_dev != p->dev))
		return -ESTALE;
	return p->folder && !stat(p->folder, &st) ? -EEXIST : 0;
}

/* get(path, mode, how, ms): holder. CACHED looks at the files first. */
static napi_value js_get(napi_env env, napi_callback_info info)
{
	static const unsigned int flags[] = {[HOW_CACHED] = GLOCK_TRY_CACHED,
					     [HOW_TRY] = GLOCK_TRY,
					     [HOW_ASK_TRY] = GLOCK_ASYNC | GLOCK_TRY,
					     [HOW_ASK] = GLOCK_ASYNC};
	napi_value args[ARGUMENTS_MAX];
	struct addon *a = arguments(env, info, args);
	struct path *p = path_at(env, a, args[0]);
	const enum glock_mode mode = (enum glock_mode)number_of(env, args[1]);
	const enum how how = (enum how)number_of(env, args[2]);
	int err = how == HOW_CACHED ? look(p) : how == HOW_TRY ? 0 : begin_waiting(a);
	int id = err ? err : table_take(&a->holders);
	struct holder *h;

	if (id < 0)
		return result(env, id);
	h = a->holders.at[id];
	h->id = (uint32_t)id;
	glock_holder_init(&h->gh, p->gl, mode, GLOCK_NOPID | flags[how]);
	/* Each holder is an owner, so that two of one thread exclude each other. */
	glock_holder_owner(&h->gh, (uint64_t)(uintptr_t)h);
	if (how >= HOW_ASK_TRY)
		glock_holder_notify(&h->gh, a->notifier,
				    how == HOW_ASK ? deadline_in(number_of(env, args[3])) : 0);
	a->waiting += how >= HOW_ASK_TRY;
	err = glock_nq(&h->gh);
	if (err) {
		if (how >= HOW_ASK_TRY)
			end_waiting(a);
		holder_give(a, h);
		return result(env, err);
	}
	h->used = true;
	return result(env, id);
}

/* drop(holder, waits): lets the lock go, or takes the request back */
static napi_value js_drop(napi_env env, napi_callback_info info)
{
	napi_value args[ARGUMENTS_MAX];
	struct addon *a = arguments(env, info, args);
	struct holder *h = holder_at(env, a, args[0]);
	int err;

	/* A hold time would let this process overtake processes that asked earlier. */
	glock_holder_idle(&h->gh);
	err = glock_dq(&h->gh);

	if (number_of(env, args[1]) != 0)
		end_waiting(a);
	holder_give(a, h);
	return result(env, err);
}

/* valid(holder): 1 or 0 */
static napi_value js_valid(napi_env env, napi_callback_info info)
{
	napi_value args[ARGUMENTS_MAX];
	struct addon *a = arguments(env, info, args);

	return result(env, glock_valid(&holder_at(env, a, args[0])->gh));
}

static napi_value js_collect(napi_env env, napi_callback_info info)
{
	napi_value args[ARGUMENTS_MAX];

	collect(arguments(env, info, args));
	return NULL;
}

/* message(): the last message of the library, which is gone then */
static napi_value js_message(napi_env env, napi_callback_info info)
{
	napi_value text = NULL;

	(void)info;
	pthread_mutex_lock(&last_lock);
	napi_create_string_utf8(env, last, NAPI_AUTO_LENGTH, &text);
	last[0] = '\0';
	pthread_mutex_unlock(&last_lock);
	return text;
}

/* begin(told, no_poll) */
static napi_value js_begin(napi_env env, napi_callback_info info)
{
	napi_value args[ARGUMENTS_MAX];
	struct addon *a = arguments(env, info, args);

	napi_create_reference(env, args[0], 1, &a->told);
	napi_get_value_bool(env, args[1], &a->no_poll);
	return NULL;
}

/* ---- the life of an environment ---- */

static void end(struct addon *a)
{
	if (a->notifier)
		glock_notifier_close(a->notifier);
	table_free(&a->holders);
	table_free(&a->paths);
	napi_remove_async_cleanup_hook(a->hook);
	free(a);
}

static void on_closed(uv_handle_t *poll)
{
	struct addon *a = poll->data;

	free(poll);
	end(a);
}

/* A Worker has ended, or the main thread has nothing to do any more. */
static void on_end(napi_async_cleanup_hook_handle hook, void *arg)
{
	struct addon *a = arg;

	(void)hook;
	for (uint32_t i = 0; i < a->holders.n; i++) {
		struct holder *h = a->holders.at[i];

		if (h->used)
			glock_dq(&h->gh);
	}
	for (uint32_t i = 0; i < a->paths.n; i++)
		path_close(a->paths.at[i]);
	if (a->poll)
		uv_close((uv_handle_t *)a->poll, on_closed);
	else
		end(a);
}

NAPI_MODULE_INIT()
{
	static const struct {
		const char *name;
		napi_callback function;
	} functions[] = {{"open", js_open},       {"close", js_close},     {"refresh", js_refresh},
			 {"get", js_get},         {"drop", js_drop},       {"valid", js_valid},
			 {"collect", js_collect}, {"message", js_message}, {"begin", js_begin}};
	struct addon *a = calloc(1, sizeof(*a));
	napi_value function;

	if (!a || napi_add_async_cleanup_hook(env, on_end, a, &a->hook) != napi_ok) {
		free(a);
		napi_throw_error(env, NULL, "glock: no memory");
		return NULL;
	}
	a->env = env;
	a->paths.size = sizeof(struct path);
	a->holders.size = sizeof(struct holder);
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH,
				     functions[i].function, a, &function);
		napi_set_named_property(env, exports, functions[i].name, function);
	}
	return exports;
}
