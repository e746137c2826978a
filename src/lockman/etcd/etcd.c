/* SPDX-License-Identifier: MIT */
/*
 * etcd.c - the operations of lock manager etcd: requests go to the worker. See etcd_impl.h.
 */
#include "etcd_impl.h"

#include "base/version.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

/* ---- requests ---- */

static int etcd_lock(struct glock__lockman *lm, struct glock__lm_lock *lk, unsigned int type,
		     uint64_t number, int mode, uint32_t flags)
{
	struct etcd *e = (struct etcd *)lm;
	struct slot *s = NULL;
	int err = 0;

	pthread_mutex_lock(&e->lock);
	if (e->left || e->lost || !(flags & GLOCK__LKF_CONVERT) != !lk->id)
		err = -ENODEV;
	if (!err && lk->id)
		s = glock__etcd_slot_of(e, lk->id);
	else if (!err)
		s = glock__etcd_slot_named(e, type, number); /* of a request that was refused */
	if (s && s->lk && s->lk != lk) /* the lock of an earlier owner is about to go */
		s = NULL;
	if (!err && !lk->id && !s)
		s = glock__etcd_slot_new(e, type, number);
	if (!err && !s)
		err = -ENOMEM;
	if (!err) {
		s->lk = lk;
		s->open = true;
		s->drop = s->cancel = false;
		s->asked = (int8_t)mode;
		s->flags = flags;
		s->has_lvb = lk->has_lvb;
		s->seq = ++e->seq;
		if (lk->has_lvb)
			memcpy(s->lvb, glock__lm_lvb(lk), GLOCK__LVB_LEN);
		if (flags & GLOCK__LKF_VALBLK && lk->id && !lk->lvb_valid)
			s->flags |= GLOCK__LKF_IVVALBLK;
		glock__etcd_queue(e, s);
	}
	pthread_mutex_unlock(&e->lock);
	return err;
}

/* The request may not have an id yet, so it is looked for. */
static struct slot *slot_of_request(struct etcd *e, const struct glock__lm_lock *lk)
{
	struct slot *s = glock__etcd_slot_of(e, lk->id);

	for (uint32_t i = 0; !s && i < e->n_slots; i++)
		if (e->slots[i]->used && e->slots[i]->lk == lk)
			s = e->slots[i];
	return s;
}

static bool etcd_cancel(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	struct etcd *e = (struct etcd *)lm;
	struct slot *s;

	pthread_mutex_lock(&e->lock);
	s = slot_of_request(e, lk);
	if (s && s->open && !s->unlocking) {
		s->cancel = true;
		glock__etcd_queue(e, s);
	}
	pthread_mutex_unlock(&e->lock);
	return true;
}

static void etcd_unlock(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	struct etcd *e = (struct etcd *)lm;
	struct slot *s;

	pthread_mutex_lock(&e->lock);
	s = glock__etcd_slot_of(e, lk->id);
	if (s && (e->left || e->lost)) { /* the worker retires all locks, and replies */
		s->open = s->unlocking = e->retire = true;
		glock__etcd_changed(e);
	} else if (s) {
		s->open = s->unlocking = true;
		glock__etcd_queue(e, s);
	}
	pthread_mutex_unlock(&e->lock);
	if (!s)
		lm->events->reply(lk, -GLOCK__DLM_EUNLOCK, 0);
}

static int etcd_token(struct glock__lockman *lm, struct glock__lm_lock *lk, uint64_t *token)
{
	struct etcd *e = (struct etcd *)lm;
	const struct slot *s;
	uint64_t given = 0;

	pthread_mutex_lock(&e->lock);
	s = e->left || e->lost ? NULL : glock__etcd_slot_of(e, lk->id);
	if (s)
		given = s->token;
	pthread_mutex_unlock(&e->lock);
	if (!given || !glock__etcd_gate_is_open(e))
		return -EIO;
	*token = given;
	return 0;
}

static bool etcd_sure(struct glock__lockman *lm)
{
	return glock__etcd_gate_is_open((struct etcd *)lm);
}

static void etcd_identity(const struct glock__lockman *lm, char *text, size_t size)
{
	const struct etcd *e = (const struct etcd *)lm;

	snprintf(text, size, "etcd %016" PRIx64 " %s",
		 __atomic_load_n(&e->cluster, __ATOMIC_RELAXED), e->base);
}

static int etcd_file(struct glock__lockman *lm)
{
	struct etcd *e = (struct etcd *)lm;

	return glock__node_file_new("etcd", e->name, &e->own);
}

static size_t etcd_in_the_way(struct glock__lockman *lm, struct glock__lm_lock *lk,
			      struct glock__lm_peer *out, size_t max)
{
	struct etcd *e = (struct etcd *)lm;
	struct glock__etcd_value v;
	const struct slot *s;
	size_t n = 0;

	pthread_mutex_lock(&e->lock);
	s = slot_of_request(e, lk);
	if (s && s->open && !glock__etcd_unpack(&v, s->known, s->known_len))
		n = glock__etcd_peers(e, s, &v, out, max);
	pthread_mutex_unlock(&e->lock);
	return n;
}

/* ---- start and end ---- */

static int start_thread(struct etcd *e, const char *name, void *(*fn)(void *))
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&e->thread[e->n_threads], NULL, fn, e);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return -err;
	pthread_setname_np(e->thread[e->n_threads++], name);
	return 0;
}

static int etcd_start(struct glock__lockman *lm)
{
	static const struct {
		const char *name;
		void *(*fn)(void *);
	} threads[] = {{"glock-gate", glock__etcd_gate},
		       {"glock-etcd", glock__etcd_worker},
		       {"glock-member", glock__etcd_member},
		       {"glock-watch", glock__etcd_watch},
		       {"glock-reaper", glock__etcd_reaper}};
	struct etcd *e = (struct etcd *)lm;
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(threads) / sizeof(*threads); i++)
		err = start_thread(e, threads[i].name, threads[i].fn);
	return err;
}

static void stop_threads(struct etcd *e)
{
	pthread_mutex_lock(&e->lock);
	e->stop = true;
	if (e->watching)
		curl_multi_wakeup(e->watching);
	glock__etcd_changed(e);
	pthread_mutex_unlock(&e->lock);
	while (e->n_threads)
		pthread_join(e->thread[--e->n_threads], NULL);
}

/* Ends the node: its key goes at once, so that others need not wait for the end of the lease. */
static void part(struct etcd *e, bool failed)
{
	struct glock__etcd_conn c;

	if (e->id && !glock__etcd_connect(&c, &e->config, (unsigned int)e->id)) {
		glock__etcd_part(e, &c, failed);
		glock__etcd_disconnect(&c);
	}
	e->id = 0;
}

static void etcd_leave(struct glock__lockman *lm, bool failed)
{
	struct etcd *e = (struct etcd *)lm;
	bool had;

	pthread_mutex_lock(&e->lock);
	had = e->left;
	e->left = true;
	if (!had && e->n_threads) {
		e->retire = true;
		glock__etcd_changed(e);
	}
	while (e->retire || (e->recovering && !failed))
		glock__etcd_sleep(e, 1000);
	pthread_mutex_unlock(&e->lock);
	if (had)
		return;
	stop_threads(e);
	glock__etcd_join_recovery(e);
	part(e, failed);
}

/* All locks stay until leave ends the node, because only that tells other nodes of a death. */
static void etcd_leave_but(struct glock__lockman *lm)
{
	(void)lm;
}

void glock__etcd_free(struct glock__lockman *lm)
{
	struct etcd *e = (struct etcd *)lm;

	stop_threads(e);
	glock__etcd_join_recovery(e);
	part(e, true);
	glock__node_file_remove(&e->own);
	while (e->mail) {
		struct mail *m = e->mail;

		e->mail = m->next;
		free(m);
	}
	glock__etcd_slots_end(e);
	glock__etcd_configure_end(&e->config);
	pthread_mutex_destroy(&e->lock);
	pthread_cond_destroy(&e->work);
	pthread_cond_destroy(&e->changed);
	free(e->members);
	free(e->dead);
	free(e->jobs);
	free(e);
}

static const struct glock__lm_ops etcd_ops = {
    .name = "etcd",
    .lock = etcd_lock,
    .cancel = etcd_cancel,
    .unlock = etcd_unlock,
    .token = etcd_token,
    .sure = etcd_sure,
    .leave = etcd_leave,
    .leave_but = etcd_leave_but,
    .free = glock__etcd_free,
    .start = etcd_start,
    .nodes = glock__etcd_nodes,
    .in_the_way = etcd_in_the_way,
    .identity = etcd_identity,
};

static const struct glock__lm_files etcd_files = {.file = etcd_file};

/* PREFIX/SPACE/, where a slash in the name of a space does not begin another key. */
int glock__etcd_make_base(struct etcd *e)
{
	int n = snprintf(e->base, sizeof(e->base), "%s/", e->config.prefix);

	for (const char *at = e->name; *at && n > 0 && (size_t)n < sizeof(e->base); at++)
		n += snprintf(e->base + n, sizeof(e->base) - (size_t)n,
			      *at == '/' || *at == '%' ? "%%%02x" : "%c", *at);
	if (n < 0 || (size_t)n + 2 > sizeof(e->base)) {
		glock__etcd_say(e, "GLOCK_ETCD_PREFIX is too long; choose a shorter one");
		return -EINVAL;
	}
	memcpy(e->base + n, "/", 2);
	return 0;
}

static void init(struct etcd *e, const struct glock__etcd_options *o)
{
	pthread_condattr_t monotonic;

	e->lm.ops = &etcd_ops;
	e->lm.files = &etcd_files;
	e->o = *o;
	snprintf(e->name, sizeof(e->name), "%s", o->name);
	e->o.name = e->name; /* the caller's name may go away */
	e->own.dir = -1;
	e->last = &e->first;
	e->mail_last = &e->mail;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->work, &monotonic);
	pthread_cond_init(&e->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

enum { TRIES = 8, AGAIN_US = 50000 };

bool glock__etcd_again(const struct glock__etcd_conn *c, int err, unsigned int *tries)
{
	if (err == -EAGAIN)
		*tries += glock__etcd_patience(c);
	if (err != -EAGAIN || *tries >= TRIES * c->config->n)
		return false;
	usleep(AGAIN_US);
	return true;
}

static int join_first(struct etcd *e)
{
	struct glock__etcd_conn c;
	int err = glock__etcd_connect(&c, &e->config, (unsigned int)getpid());
	unsigned int tries = 0;

	if (err)
		return err;
	do
		err = glock__etcd_join(e, &c);
	while (glock__etcd_again(&c, err, &tries));
	if (err == -EAGAIN)
		err = -ENETUNREACH;
	if (err)
		glock__etcd_say(e,
				"space %s: cannot join (%s); etcd is looked for as GLOCK_ETCD or "
				"ETCDCTL_ENDPOINTS says",
				e->name, c.why);
	glock__etcd_disconnect(&c);
	return err;
}

int glock__etcd_prepare_space(const struct glock__etcd_options *o, struct etcd **out)
{
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
	struct etcd *e = calloc(1, sizeof(*e));
	const char *why = "";
	int err;

	if (!e)
		return -ENOMEM;
	init(e, o);
	pthread_mutex_lock(&once);
	err = curl_global_init(CURL_GLOBAL_ALL) ? -ENOMEM : 0;
	pthread_mutex_unlock(&once);
	e->jobs = calloc(BATCH, sizeof(struct job));
	if (!e->jobs)
		err = -ENOMEM;
	if (!err) {
		err = glock__etcd_configure(&e->config, &why);
		if (err)
			glock__etcd_say(e, "space %s: %s", e->name, why);
	}
	if (!err)
		err = glock__etcd_make_base(e);
	if (err)
		glock__etcd_free(&e->lm);
	else
		*out = e;
	return err;
}

__attribute__((visibility("default"))) const char glock__etcd_version[] = GLOCK__VERSION_TEXT;

__attribute__((visibility("default"))) int glock__etcd_open(const struct glock__etcd_options *o,
							    struct glock__lockman **lm)
{
	struct etcd *e;
	int err = glock__etcd_prepare_space(o, &e);

	if (err)
		return err;
	err = join_first(e);
	if (err)
		glock__etcd_free(&e->lm);
	else
		*lm = &e->lm;
	return err;
}
