/* SPDX-License-Identifier: MIT */
/*
 * test_steps.c - deaths and thefts at single steps, which an actor meets in a trap.
 *
 * test_steal.c meets them at random. Here each test places one, and shows what the step is for.
 */
#include "actor.h"
#include "inside.h"
#include "lockman/local/local_file.h"
#include "lockman/local/node_file.h"

#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SPACE "steps"

enum { LIMIT_MS = 10000, LOCKS = 64, LATE_NS = 2000000000, NAPS = 40, WAITERS = 24 };

/* From "trap N" on an actor does this in a function of the library. */
enum trap {
	NOTHING,
	STOP_IN_TABLE,  /* stops itself before its next operation on a table */
	END_IN_TABLE,   /* ends the thread that does so */
	STOP_IN_PURGE,  /* stops itself before the next purge of a table */
	COPY_DIFFERS,   /* its first copy of a table is not the table's */
	VICTIM_RAN,     /* the victim ran during its first copy of a table */
	REFUSE_CONVERT, /* its conversions fail */
	WAKE_NOBODY,    /* rings for nodes, and does not wake them */
	WOKEN_LATE,     /* a waker stores the time of a wake-up after that */
	NAP_IN_TABLE,   /* sleeps many times for a moment before its next operation on a table */
	STOP_IN_TAKE,   /* stops itself before its next event, and counts grants of no request */
	STOP_WITH_LOCK, /* stops itself after its next operation on a table, and is late then */
	TABLE_MOVES,    /* the table is copied while a token is read from it for the first time */
};

static bool is_trap(enum trap trap)
{
	return __atomic_load_n(&actor_trap, __ATOMIC_SEQ_CST) == trap;
}

static uint32_t trapped(void)
{
	return __atomic_fetch_add(&actor_trapped, 1, __ATOMIC_SEQ_CST);
}

/* ---- the functions in which the traps are; the linker puts these in their place ---- */

int __real_glock__table_lock(struct glock__table *t, const struct glock__table_request *args,
			     struct glock__table_event *event);
int __wrap_glock__table_lock(struct glock__table *t, const struct glock__table_request *args,
			     struct glock__table_event *event);
int __wrap_glock__table_lock(struct glock__table *t, const struct glock__table_request *args,
			     struct glock__table_event *event)
{
	int err;

	if (is_trap(STOP_IN_TABLE) && !trapped())
		syscall(SYS_tgkill, getpid(), gettid(), SIGSTOP); /* the thread stops here */
	if (is_trap(NAP_IN_TABLE) && !trapped())
		for (int i = 0; i < NAPS; i++)
			usleep(500);
	if (is_trap(END_IN_TABLE) && !trapped())
		syscall(SYS_exit, 0);
	if (is_trap(REFUSE_CONVERT) && args->flags & GLOCK__LKF_CONVERT)
		return -EINVAL;
	err = __real_glock__table_lock(t, args, event);
	if (is_trap(STOP_WITH_LOCK) && !trapped()) {
		syscall(SYS_tgkill, getpid(), gettid(), SIGSTOP); /* the thread stops here */
		usleep(50000); /* another thread fetches the demand first */
	}
	return err;
}

int __real_glock__table_purge(struct glock__table *t, uint32_t node, uint32_t max);
int __wrap_glock__table_purge(struct glock__table *t, uint32_t node, uint32_t max);
int __wrap_glock__table_purge(struct glock__table *t, uint32_t node, uint32_t max)
{
	if (is_trap(STOP_IN_PURGE) && !trapped())
		syscall(SYS_tgkill, getpid(), gettid(), SIGSTOP); /* the thread stops here */
	return __real_glock__table_purge(t, node, max);
}

int __real_glock__table_take(struct glock__table *t, uint32_t node,
			     struct glock__table_event *event);
int __wrap_glock__table_take(struct glock__table *t, uint32_t node,
			     struct glock__table_event *event);
int __wrap_glock__table_take(struct glock__table *t, uint32_t node,
			     struct glock__table_event *event)
{
	static bool stopped;

	if (is_trap(STOP_IN_TAKE) && !stopped) {
		stopped = true;
		syscall(SYS_tgkill, getpid(), gettid(), SIGSTOP); /* the thread stops here */
	}
	return __real_glock__table_take(t, node, event);
}

bool __real_glock__local_request_done(struct local *l, const struct glock__lm_lock *lk,
				      uint32_t id);
bool __wrap_glock__local_request_done(struct local *l, const struct glock__lm_lock *lk,
				      uint32_t id);
bool __wrap_glock__local_request_done(struct local *l, const struct glock__lm_lock *lk, uint32_t id)
{
	bool done = __real_glock__local_request_done(l, lk, id);

	if (is_trap(STOP_IN_TAKE) && !done)
		trapped();
	return done;
}

static uint32_t *copies; /* of the table from which the test reads a token */

uint64_t __real_glock__table_token(const struct glock__table *t, uint32_t ref);
uint64_t __wrap_glock__table_token(const struct glock__table *t, uint32_t ref);
uint64_t __wrap_glock__table_token(const struct glock__table *t, uint32_t ref)
{
	if (!is_trap(TABLE_MOVES))
		return __real_glock__table_token(t, ref);
	if (!trapped())
		atom_add32(copies, 1);
	return atom_load32(copies);
}

/* A thief asks before and after each copy. */
size_t __real_glock__table_used(const struct glock__table *t, size_t size);
size_t __wrap_glock__table_used(const struct glock__table *t, size_t size);
size_t __wrap_glock__table_used(const struct glock__table *t, size_t size)
{
	bool differs = trapped() == 1 && is_trap(COPY_DIFFERS);

	return __real_glock__table_used(t, size) + (differs ? 8 : 0);
}

int __real_glock__proc_thread(pid_t pid, pid_t tid, struct glock__proc_thread *thread);
int __wrap_glock__proc_thread(pid_t pid, pid_t tid, struct glock__proc_thread *thread);
int __wrap_glock__proc_thread(pid_t pid, pid_t tid, struct glock__proc_thread *thread)
{
	static bool ran;
	int err = __real_glock__proc_thread(pid, tid, thread);

	if (is_trap(VICTIM_RAN) && !ran && __atomic_load_n(&actor_trapped, __ATOMIC_SEQ_CST) == 2) {
		ran = true;
		thread->switches++;
	}
	return err;
}

void __real_glock__local_wake(struct slot *slot);
void __wrap_glock__local_wake(struct slot *slot);
void __wrap_glock__local_wake(struct slot *slot)
{
	if (!is_trap(WAKE_NOBODY))
		__real_glock__local_wake(slot);
}

bool __real_glock__local_defer_wake(struct local *l, unsigned int node);
bool __wrap_glock__local_defer_wake(struct local *l, unsigned int node);
bool __wrap_glock__local_defer_wake(struct local *l, unsigned int node)
{
	return !is_trap(WAKE_NOBODY) && __real_glock__local_defer_wake(l, node);
}

/* Counts wake-ups that seem to take very long. The time comes from a waker of an earlier one. */
void __real_glock__local_note_wake_up(struct local *l);
void __wrap_glock__local_note_wake_up(struct local *l);
void __wrap_glock__local_note_wake_up(struct local *l)
{
	const uint32_t at = atom_load32(&l->slot->woken), now = (uint32_t)glock__clock();

	if (is_trap(WOKEN_LATE) && at && now - at >= LATE_NS)
		trapped();
	__real_glock__local_note_wake_up(l);
	if (is_trap(WOKEN_LATE))
		atom_store32(&l->slot->woken, (now - LATE_NS) | 1);
}

/* ---- tests ---- */

static struct actor v, t, p;

static void begin(struct actor *who)
{
	actor_begin(who, SPACE, "");
}

static void set_trap(struct actor *who, enum trap trap)
{
	assert_int_equal(actor_do(who, "trap %d", trap), 0);
}

static void await_stop(const struct actor *who)
{
	int status;

	assert_int_equal(waitpid(who->pid, &status, WUNTRACED), who->pid);
	assert_true(WIFSTOPPED(status));
}

static int64_t answer_in_time(struct actor *who)
{
	assert_true(actor_answers_within(who, LIMIT_MS));
	return actor_answer(who);
}

/* Actor t steals a table, with that trap. Returns how often it looked at the table's size. */
static int64_t steal_with(enum trap trap)
{
	int64_t looks;

	begin(&v);
	begin(&t);
	set_trap(&v, STOP_IN_TABLE);
	actor_send(&v, "nq 0 7 EX 0");
	await_stop(&v);
	set_trap(&t, trap);
	actor_send(&t, "nq 0 7 EX 0");
	assert_int_equal(answer_in_time(&t), 0);
	looks = actor_do(&t, "trapped");
	kill(v.pid, SIGCONT);
	assert_int_equal(actor_do(&t, "dq 0"), 0);
	assert_int_equal(answer_in_time(&v), 0);
	assert_int_equal(actor_do(&v, "dq 0"), 0);
	actor_end(&v);
	actor_end(&t);
	return looks;
}

/* Two looks are for one copy. */
static void a_thief_copies(void **state)
{
	(void)state;
	assert_int_equal(steal_with(NOTHING), 2);
}

static void a_table_that_changed_is_copied_again(void **state)
{
	(void)state;
	assert_int_equal(steal_with(COPY_DIFFERS), 4);
}

static void the_table_of_a_victim_that_ran_is_copied_again(void **state)
{
	(void)state;
	assert_int_equal(steal_with(VICTIM_RAN), 4);
}

/*
 * Actor p finds a death, and stops before it purges a table. Actor t steals that table, with the
 * locks of the dead process. So p purges a table that is no longer the table, and begins again.
 */
static void a_purge_of_a_stolen_table_begins_again(void **state)
{
	struct inside in;
	unsigned int before;

	(void)state;
	inside_look(SPACE, &in);
	before = in.stolen;
	begin(&v);
	begin(&p);
	begin(&t);
	assert_int_equal(actor_do(&v, "keep %d EX", LOCKS), LOCKS);
	set_trap(&p, STOP_IN_PURGE);
	actor_kill(&v);
	actor_send(&p, "nq 0 %d EX 0", ACTOR_KEEPS);
	await_stop(&p);
	actor_send(&t, "walk 1 %d EX", LOCKS);
	assert_int_equal(answer_in_time(&t), 0);
	inside_look(SPACE, &in);
	assert_true(in.stolen > before);
	kill(p.pid, SIGCONT);
	assert_int_equal(answer_in_time(&p), 0);
	assert_int_equal(actor_do(&p, "dq 0"), 0);
	actor_send(&t, "walk %d %d EX", ACTOR_KEEPS, LOCKS);
	assert_true(answer_in_time(&t) >= 0);
	actor_end(&p);
	actor_end(&t);
}

/* The process lives on, without the thread that has the table. */
static void a_thread_ends_with_a_table(void **state)
{
	(void)state;
	actor_start(&v);
	actor_do(&v, "fail 5"); /* with an operation another thread sends the request */
	assert_int_equal(actor_do(&v, "open " SPACE), 0);
	begin(&t);
	set_trap(&v, END_IN_TABLE);
	assert_int_equal(actor_do(&v, "nq 0 7 EX 0x40"), 0);
	for (int i = 0; i < LIMIT_MS && !actor_do(&v, "trapped"); i++)
		usleep(1000);
	assert_int_equal(actor_do(&v, "trapped"), 1);
	actor_send(&t, "nq 0 7 EX 0");
	assert_int_equal(answer_in_time(&t), 0);
	assert_int_equal(actor_do(&t, "dq 0"), 0);
	actor_kill(&v);
	actor_end(&t);
}

/* The main thread ends with a table. It stays a zombie while other threads live. */
static void a_main_thread_ends_with_a_table(void **state)
{
	(void)state;
	begin(&v);
	begin(&t);
	set_trap(&v, END_IN_TABLE);
	actor_send(&v, "nq 0 7 EX 0");
	actor_send(&t, "nq 0 7 EX 0");
	assert_int_equal(answer_in_time(&t), 0);
	assert_int_equal(actor_do(&t, "dq 0"), 0);
	actor_kill(&v);
	actor_end(&t);
}

/* The owner sleeps at each look, and ran in between. */
static void an_owner_that_runs_now_and_then_keeps_its_table(void **state)
{
	struct inside before, after;

	(void)state;
	begin(&v);
	begin(&t);
	inside_look(SPACE, &before);
	set_trap(&v, NAP_IN_TABLE);
	actor_send(&v, "nq 0 7 EX 0");
	while (!actor_do(&t, "trapped") && !inside_has_table(SPACE, v.pid))
		;
	actor_send(&t, "nq 0 8 EX 0");
	actor_send(&t, "nq 1 7 SH 0x40");
	assert_int_equal(answer_in_time(&v), 0);
	assert_int_equal(answer_in_time(&t), 0);
	assert_int_equal(answer_in_time(&t), 0);
	inside_look(SPACE, &after);
	assert_int_equal(after.stolen, before.stolen);
	assert_int_equal(actor_do(&v, "dq 0"), 0);
	assert_int_equal(actor_do(&t, "wait 1 10000"), 0);
	assert_int_equal(actor_do(&t, "dq 1"), 0);
	assert_int_equal(actor_do(&t, "dq 0"), 0);
	actor_end(&v);
	actor_end(&t);
}

/* The table of an event is stolen before v takes the event. So v takes it from the copy, once. */
static void an_event_of_a_stolen_table_is_delivered_once(void **state)
{
	(void)state;
	begin(&v);
	begin(&t);
	begin(&p);
	assert_int_equal(actor_do(&p, "nq 0 7 EX 0"), 0);
	assert_int_equal(actor_do(&v, "nq 0 7 SH 0x40"), 0);
	set_trap(&v, STOP_IN_TAKE);
	assert_int_equal(actor_do(&p, "dq 0"), 0);
	await_stop(&v);
	actor_send(&t, "nq 0 7 SH 0x40"); /* steals the table */
	assert_int_equal(answer_in_time(&t), 0);
	kill(v.pid, SIGCONT);
	assert_int_equal(actor_do(&v, "wait 0 10000"), 0);
	assert_int_equal(actor_do(&t, "wait 0 10000"), 0);
	assert_int_equal(actor_do(&v, "trapped"), 0);
	set_trap(&v, NOTHING);
	assert_int_equal(actor_do(&v, "dq 0"), 0);
	assert_int_equal(actor_do(&t, "dq 0"), 0);
	actor_end(&v);
	actor_end(&t);
	actor_end(&p);
}

/*
 * The copy has the lock of v, and no token of this grant. So v stores the token again. The demand
 * of t comes before v knows the grant, and is met nevertheless.
 */
static void a_grant_of_a_stolen_table_has_its_token(void **state)
{
	int64_t before;

	(void)state;
	begin(&v);
	begin(&t);
	assert_int_equal(actor_do(&t, "nq 0 7 EX 0x400"), 0); /* NOCACHE */
	before = actor_do(&t, "token 0");
	assert_int_equal(actor_do(&t, "dq 0"), 0);
	set_trap(&v, STOP_WITH_LOCK);
	actor_send(&v, "nq 0 7 EX 0");
	await_stop(&v);
	actor_send(&t, "nq 0 7 SH 0x40"); /* steals the table */
	assert_int_equal(answer_in_time(&t), 0);
	kill(v.pid, SIGCONT);
	assert_int_equal(answer_in_time(&v), 0);
	assert_true(actor_do(&v, "token 0") > before);
	assert_int_equal(actor_do(&v, "dq 0"), 0);
	assert_int_equal(actor_do(&t, "wait 0 10000"), 0);
	assert_int_equal(actor_do(&t, "dq 0"), 0);
	actor_end(&v);
	actor_end(&t);
}

/* The first request of the queue is of a stopped process. So the next one looks for deaths. */
static void a_later_waiter_finds_a_death(void **state)
{
	struct inside in;

	(void)state;
	begin(&v);
	begin(&p);
	begin(&t);
	assert_int_equal(actor_do(&v, "nq 0 7 EX 0"), 0);
	assert_int_equal(actor_do(&p, "nq 0 7 EX 0x40"), 0);
	kill(p.pid, SIGSTOP);
	await_stop(&p);
	assert_int_equal(actor_do(&t, "nq 0 7 EX 0x40"), 0);
	actor_kill(&v);
	for (int i = 0; i < LIMIT_MS; i++) {
		inside_look(SPACE, &in);
		if (in.nodes == 2)
			break;
		usleep(1000);
	}
	assert_int_equal(in.nodes, 2);
	kill(p.pid, SIGCONT);
	assert_int_equal(actor_do(&p, "wait 0 10000"), 0);
	assert_int_equal(actor_do(&p, "dq 0"), 0);
	assert_int_equal(actor_do(&t, "wait 0 10000"), 0);
	assert_int_equal(actor_do(&t, "dq 0"), 0);
	actor_end(&p);
	actor_end(&t);
}

/* A node looks at some of its requests at a time, and at all in turn. */
static void each_request_finds_a_death(void **state)
{
	(void)state;
	begin(&v);
	begin(&p);
	begin(&t);
	for (int i = 0; i < WAITERS; i++) {
		assert_int_equal(actor_do(i == WAITERS - 1 ? &v : &p, "nq %d %d EX 0", i, 100 + i),
				 0);
		assert_int_equal(actor_do(&t, "nq %d %d EX 0x40", i, 100 + i), 0);
	}
	actor_kill(&v);
	assert_int_equal(actor_do(&t, "wait %d 10000", WAITERS - 1), 0);
	actor_kill(&p);
	for (int i = 0; i < WAITERS; i++) {
		assert_int_equal(actor_do(&t, "wait %d 10000", i), 0);
		assert_int_equal(actor_do(&t, "dq %d", i), 0);
	}
	actor_end(&t);
}

/* A token that was read from a table while it was copied is read again. */
static void a_token_of_a_moving_table_is_read_again(void **state)
{
	static struct local l;

	(void)state;
	l.head = mmap(NULL, HEAD_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(l.head != MAP_FAILED);
	copies = &l.head->shard[0].copies;
	actor_trap = TABLE_MOVES;
	assert_int_equal(glock__local_read_token(&l, 0, 1), 1);
	assert_int_equal(trapped(), 2);
	actor_trap = NOTHING;
	munmap(l.head, HEAD_SIZE);
}

/* A request that has to wait begins with a lock in NL. If the rest fails, this lock goes. */
static void a_refused_conversion_leaves_no_lock(void **state)
{
	struct inside in;

	(void)state;
	begin(&v);
	begin(&t);
	assert_int_equal(actor_do(&v, "nq 0 7 EX 0"), 0);
	set_trap(&t, REFUSE_CONVERT);
	actor_send(&t, "nq 0 7 EX 0");
	assert_true(answer_in_time(&t) < 0);
	inside_look(SPACE, &in);
	assert_int_equal(in.locks, 1);
	assert_int_equal(actor_do(&v, "dq 0"), 0);
	actor_end(&v);
	actor_end(&t);
}

/*
 * Actor t rings for v, and does not wake it, as if t were killed in between. While t waits, it
 * finds that v sleeps, and wakes v. Without that, v sleeps for 400 ms before it gives up each of
 * the locks but the first.
 */
static void a_node_that_sleeps_through_a_ring_is_woken(void **state)
{
	int64_t shortest = INT64_MAX;

	(void)state;
	begin(&v);
	begin(&t);
	assert_int_equal(actor_do(&v, "walk 100 4 EX"), 0);
	usleep(1100000); /* the short sleeps of v end */
	set_trap(&t, WAKE_NOBODY);
	for (int i = 0; i < 4; i++) {
		int64_t began = glock__clock(), took;

		actor_send(&t, "nq 0 %d EX 0", 100 + i);
		assert_int_equal(answer_in_time(&t), 0);
		took = glock__clock() - began;
		if (i && took < shortest)
			shortest = took;
		assert_int_equal(actor_do(&t, "dq 0"), 0);
	}
	assert_in_range(shortest, 0, 250000000);
	set_trap(&t, NOTHING);
	actor_end(&v);
	actor_end(&t);
}

/* One thread of v sleeps until t asks for the next lock. */
static void a_late_waker_spoils_no_wake_up(void **state)
{
	(void)state;
	begin(&v);
	begin(&t);
	assert_int_equal(actor_do(&v, "walk 100 20 EX"), 0);
	set_trap(&v, WOKEN_LATE);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(actor_do(&t, "nq 0 %d EX 0", 100 + i), 0);
		assert_int_equal(actor_do(&t, "dq 0"), 0);
		usleep(1000);
	}
	assert_int_equal(actor_do(&v, "trapped"), 0);
	set_trap(&v, NOTHING);
	actor_end(&v);
	actor_end(&t);
}

/* A slot names its alive file by inode. A file that an earlier node left keeps no node alive. */
static void an_heir_has_the_file_of_the_slot(void **state)
{
	int dir = open(getenv("GLOCK_DIR"), O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
	char name[GLOCK__LOCAL_NODE_FILE_MAX];
	struct stat st;

	(void)state;
	glock__local_alive_name(name, SPACE, 3);
	fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(dir >= 0 && fd >= 0);
	assert_int_equal(glock__local_byte_lock(fd, F_RDLCK, 0), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(glock__local_has_heir(dir, SPACE, 3, 0));
	assert_true(glock__local_has_heir(dir, SPACE, 3, st.st_ino));
	assert_false(glock__local_has_heir(dir, SPACE, 3, st.st_ino + 1));
	close(fd);
	assert_false(glock__local_has_heir(dir, SPACE, 3, st.st_ino));
	assert_int_equal(unlinkat(dir, name, 0), 0);
	close(dir);
}

static int nothing_is_left(void **state)
{
	(void)state;
	return actors_left(SPACE);
}

#define TEST(function) cmocka_unit_test_teardown(function, nothing_is_left)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_thief_copies),
	    TEST(a_table_that_changed_is_copied_again),
	    TEST(the_table_of_a_victim_that_ran_is_copied_again),
	    TEST(a_purge_of_a_stolen_table_begins_again),
	    TEST(a_thread_ends_with_a_table),
	    TEST(a_main_thread_ends_with_a_table),
	    TEST(an_owner_that_runs_now_and_then_keeps_its_table),
	    TEST(an_event_of_a_stolen_table_is_delivered_once),
	    TEST(a_grant_of_a_stolen_table_has_its_token),
	    TEST(a_later_waiter_finds_a_death),
	    TEST(each_request_finds_a_death),
	    cmocka_unit_test(a_token_of_a_moving_table_is_read_again),
	    TEST(a_refused_conversion_leaves_no_lock),
	    TEST(a_node_that_sleeps_through_a_ring_is_woken),
	    TEST(a_late_waker_spoils_no_wake_up),
	    cmocka_unit_test(an_heir_has_the_file_of_the_slot),
	};

	actor_main(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
