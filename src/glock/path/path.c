/* SPDX-License-Identifier: MIT */
/*
 * path.c - the type of the locks by file path.
 *
 * The glock is the queue: of all nodes, only the first waiter looks at the file. While another
 * program has a lock on the file, the operation `lock` says when to look again. The waiter stays in
 * the list meanwhile, so that a deadline and a cancel need nothing here.
 *
 * Pauses. The kernel wakes programs that wait for the file when it is unlocked. A holder that comes
 * within microseconds is faster, and nodes that never pause would keep such programs out for ever.
 * Therefore the queue leaves the file alone for 1 ms in 350 ms, so that a program that waits in the
 * kernel comes in. For a program that looks each 50 ms there are 52 ms in 9.3 s. Both together are
 * 0.9 % of the time. The value block has the times of the last pauses.
 *
 * A holder in SH cannot write the value block, and the file is free only while no reader has it.
 * Therefore the reader that finds a pause due asks for EX: the lock manager grants EX when all
 * readers have left. The node pauses in EX, and goes down to SH then. The readers lose half a turn
 * by that, so they pause for 1 ms in 450 ms. A program that misses one pause has the next one
 * within a second.
 */
#include "path.h"

#include "base/clean.h"
#include "glock/core/space.h"
#include "glock/publish/segment.h"
#include "glock/state/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS 1000000
#define LOOK_MIN (MS / 4)
#define LOOK_MAX (8 * MS)
#define IDLE (2000 * MS) /* an unused lock needs no pause */

#define BUSY (MS / 2) /* a pause that ends so late tells that the machine is busy */

/*
 * A pause of `length` comes once in `every`, and among readers once in `every_sh`. On a busy
 * machine the other program may not have run in that time, and has the time `more`.
 */
struct pause {
	int64_t length, more, every, every_sh;
};
enum { PAUSES = 2 };
static const struct pause pauses[PAUSES] = {{52 * MS, 50 * MS, 9300ll * MS, 9300ll * MS},
					    {MS, 10 * MS, 350 * MS, 450 * MS}};

/* The value block: times of the monotonic clock. */
struct past {
	int64_t used;           /* the last use in EX */
	int64_t paused[PAUSES]; /* the end of the last pause of each kind */
};
static_assert(sizeof(struct past) <= GLOCK_LVB_SIZE - 8, "the lock manager dlm has the other 8");

struct glock__path {
	struct glock__path_file file;
	void *object;      /* of the program */
	int64_t pause_end; /* of the pause that goes on or was the last; 0: it is noted */
	int kind;          /* of that pause */
	struct past past;  /* as this node knew it last */
	bool longer;       /* that pause is not made longer any more */
	enum { NO_DRAIN, DRAIN, DRAINED } drain; /* of the file, before a pause of readers */
	char line[GLOCK__SEGMENT_OBJECT];        /* that is published */
	size_t line_len;
};

static struct glock__path *path_of(const struct glock *gl)
{
	return atom_load_ptr(&gl->object);
}

/* ---- pauses; under the bit lock ---- */

/* After the death of a holder in EX, only a holder in EX makes the value block valid again. */
static struct past past_of(struct glock *gl)
{
	struct past past = path_of(gl)->past;

	if (gl->lk.lvb_valid)
		memcpy(&past, glock__lm_lvb(&gl->lk), sizeof(past));
	return past;
}

/* Tells whether readers have to leave the file, so that one of them pauses. */
static bool is_due_sh(struct glock *gl, int64_t now)
{
	const struct past past = past_of(gl);

	for (int i = 0; i < PAUSES; i++)
		if (now - past.paused[i] >= pauses[i].every_sh)
			return true;
	return past.used > now;
}

/* Returns the time until the end of a pause of the only node that has the lock, or 0. */
static int64_t pause_ex(struct glock *gl, struct glock__path *p, int64_t now)
{
	struct past past;

	if (p->pause_end && !p->longer && now - p->pause_end > BUSY) {
		p->longer = true;
		p->pause_end = now + pauses[p->kind].more;
	}
	if (p->pause_end > now)
		return p->pause_end - now;
	past = past_of(gl);
	/* The clock of another machine or time namespace may be ahead. */
	if (now - past.used > IDLE || past.used > now)
		past = (struct past){now, {now, now}};
	past.used = now;
	if (p->pause_end)
		past.paused[p->kind] = now;
	p->pause_end = 0;
	p->past = past;
	memcpy(glock__lm_lvb(&gl->lk), &past, sizeof(past));
	gl->lk.lvb_valid = true;
	for (int i = 0; i < PAUSES && !p->pause_end; i++)
		if (now - past.paused[i] >= (p->drain ? pauses[i].every_sh : pauses[i].every)) {
			p->kind = i;
			p->longer = i && !p->drain; /* between writers the kernel wakes it, too */
			p->pause_end = now + pauses[i].length;
		}
	return p->pause_end ? p->pause_end - now : 0;
}

static void note_use(struct glock *gl, int64_t now)
{
	if (gl->state == GLOCK_EX && gl->lk.lvb_valid)
		memcpy(glock__lm_lvb(&gl->lk), &now, sizeof(now)); /* struct past begins with it */
}

/* ---- the operations ---- */

/*
 * Returns the time until the end of a pause, 0 if none goes on, or GLOCK__PATH_CHANGE. A reader
 * whose pause is due goes down to UN, asks for EX, pauses, and goes down to its mode.
 */
static int path_pause(struct glock *gl, struct glock__path *p, const struct glock__holder *gh)
{
	const int64_t now = glock__now(gl_space(gl));
	int64_t pause;

	if (gl->state == GLOCK_EX) {
		pause = pause_ex(gl, p, now);
		if (pause || gh->mode == GLOCK_EX || p->drain != DRAIN)
			return (int)pause;
		p->drain = DRAINED;
		return GLOCK__PATH_CHANGE;
	}
	if (p->drain || gh->flags & GLOCK_EXACT || !is_due_sh(gl, now))
		return 0;
	p->drain = DRAIN;
	return GLOCK__PATH_CHANGE;
}

/* Returns the mode that the node asks for, on behalf of this waiter. */
static enum glock_mode path_mode(const struct glock *gl, const struct glock__holder *gh)
{
	const struct glock__path *p = path_of(gl);
	const bool drains = p && p->drain == DRAIN && !(gh->flags & (GLOCK__TRIES | GLOCK_EXACT));

	return drains ? GLOCK_EX : gh->mode;
}

/* Returns 0, a negative errno, GLOCK__PATH_CHANGE, or the time until the next look at the file. */
static int path_lock(struct glock_holder *pub)
{
	const struct glock__holder *gh = gh_of(pub);
	struct glock *gl = gh->gl;
	struct glock_space *space = gl_space(gl);
	struct glock__path *p = path_of(gl);
	int64_t look = (glock__now(space) - gh->asked) / 16;
	int err = gh->flags & GLOCK__TRIES ? 0 : path_pause(gl, p, gh);

	if (err)
		return err;
	p->drain = NO_DRAIN;
	err = glock__path_flock(&p->file, gh->mode == GLOCK_SH);
	if (err == -EAGAIN)
		return (int)(look < LOOK_MIN ? LOOK_MIN : look > LOOK_MAX ? LOOK_MAX : look);
	return err ? glock__path_say(space, p->file.path, p->file.fcntl, err) : 0;
}

static void path_unlock(struct glock_holder *pub)
{
	struct glock *gl = gh_of(pub)->gl;
	struct glock__path *p = path_of(gl);

	note_use(gl, glock__now(gl_space(gl)));
	if (!glock__path_unlock(&p->file))
		glock__log(gl_space(gl),
			   "%s: the lock was lost, because this process closed its descriptor; "
			   "keep descriptors open that the program did not open",
			   p->file.path);
}

/* Formats the path as o2top knows it, because each grant publishes the line. */
static void make_line(struct glock__path *p)
{
	int len = snprintf(p->line, sizeof(p->line) - 1, " P: %s", p->file.path);

	len = len < (int)sizeof(p->line) - 1 ? len : (int)sizeof(p->line) - 2;
	glock__clean(p->line, (size_t)len);
	p->line[len] = '\n';
	p->line_len = (size_t)len + 1;
}

static void path_dump(struct glock *gl, glock_print_fn *print, void *to)
{
	const struct glock__path *p = path_of(gl);

	print(to, p->line, p->line_len);
}

/* ---- what other files of the library call ---- */

static void path_freed(void *file)
{
	struct glock__path *p = file;

	glock__path_close(&p->file);
	free(p->file.path);
	free(p);
}

/* The program drops a reference. With the last one goes the descriptor, under the bit lock. */
static void path_put(struct glock *gl)
{
	struct glock__path *p = path_of(gl);

	gl_lock(gl);
	if (p && gl->users == 1 && glock__await_bit_lock(gl) && gl->users == 1 && !p->file.locked) {
		gl->flags |= GLOCK__F_LOCK;
		gl_unlock(gl);
		glock__path_close(&p->file);
		gl_lock(gl);
		glock__clear_lock(gl);
		glock__run_queue(gl, true);
	}
	gl_unlock(gl);
}

static bool path_valid(const struct glock *gl)
{
	return glock__path_is_open(&path_of(gl)->file);
}

static void path_share(struct glock *gl)
{
	glock__path_share(&path_of(gl)->file);
}

static void **path_object(const struct glock *gl)
{
	struct glock__path *p = path_of(gl);

	return p ? &p->object : NULL;
}

static const struct glock__path_ops path_ops = {
    .mode = path_mode,
    .put = path_put,
    .freed = path_freed,
    .valid = path_valid,
    .share = path_share,
    .object = path_object,
};

void glock__path_type(struct glock__type *type)
{
	snprintf(type->info.name, sizeof(type->info.name), "path");
	type->flags = GLOCK_OPS_LVB;
	type->ops = (struct glock_ops){
	    .size = sizeof(type->ops), .lock = path_lock, .unlock = path_unlock, .dump = path_dump};
	type->path = &path_ops;
}

int glock__path_attach(struct glock *gl, char *real, bool fcntl)
{
	struct glock__path *p = calloc(1, sizeof(*p));
	bool first;
	int err;

	if (!p) {
		free(real);
		return -ENOMEM;
	}
	p->file = (struct glock__path_file){.path = real, .fd = -1, .fcntl = fcntl};
	make_line(p);
	err = glock__path_open(&p->file); /* makes the file, and tells errors early */
	if (err) {
		err = glock__path_say(gl_space(gl), real, fcntl, err);
		path_freed(p);
		return err;
	}
	glock__lock_take(&gl->lock);
	first = !gl->object;
	if (first)
		atom_store_ptr(&gl->object, p);
	glock__lock_drop(&gl->lock);
	if (!first || !p->file.kept)
		glock__path_close(&p->file);
	if (!first)
		path_freed(p);
	return 0;
}

int glock__path_fd(const struct glock *gl)
{
	if (!gl_type(gl)->path || !path_valid(gl))
		return -1;
	path_of(gl)->file.mark = 0; /* the child may move the position */
	return path_of(gl)->file.fd;
}

/* The way out of an error. */
static const char *way_out(int err, bool fcntl)
{
	switch (-err) {
	case EINVAL:
		return "; a lock needs a regular file or a folder";
	case EACCES:
	case EPERM:
	case EROFS:
		return fcntl ? "; with fcntl this user has to be allowed to write the file"
			     : "; make the file, and let this user read it";
	case ENOENT:
	case ENOTDIR:
		return "; make the folder first";
	case EISDIR:
		return "; fcntl locks regular files only";
	case EMFILE:
		return "; close descriptors, or raise RLIMIT_NOFILE (ulimit -n)";
	default:
		return "";
	}
}

int glock__path_say(struct glock_space *space, const char *path, bool fcntl, int err)
{
	glock__log(space, "cannot lock %s: %s%s", path, strerror(-err), way_out(err, fcntl));
	return err;
}
