/* SPDX-License-Identifier: MIT */
/*
 * faults.h - faults that are built in on purpose, to show that the tests find each of them.
 *
 * GLOCK__FAULTS is the only list. tests/sim/test_faults.c runs each fault of the LIBRARY.
 * tests/table/meson.build reads the lines below and builds one program for each fault of the TABLE.
 * tests/sim/test_shortcuts.sh runs each fault of a SHORTCUT, and tests/fences those of a FENCE.
 * A fault of the list that no test finds fails these tests. FAULT() of another name does not
 * compile.
 *
 * FAULT(NAME) is true if the code must behave wrongly now. The build chooses the fault:
 *
 *	without GLOCK_FAULT		FAULT() is the constant false and costs nothing
 *	-DGLOCK_FAULT=glock__fault	the test program sets the variable: for the LIBRARY,
 *					for a FENCE and for a SHORTCUT
 *	-DGLOCK_FAULT=GLOCK__FAULT_NAME	one fault for the whole program: for the TABLE
 */
#ifndef GLOCK__FAULTS_H
#define GLOCK__FAULTS_H

/* clang-format off */
/* X(part, name, what the faulty code does). One fault a line, because Meson reads the lines. */
#define GLOCK__FAULTS(X) \
    X(LIBRARY, REPLY_RUNS_NO_WORK, "a reply of the lock manager queues no work") \
    X(LIBRARY, GRANT_FROM_ANY_MODE, "the queue grants a waiter in any state but UN") \
    X(LIBRARY, CACHE_NOT_INVALIDATED, "a change of state does not invalidate the cache") \
    X(LIBRARY, DIRTY_NOT_WRITTEN_BACK, "a change of state does not write dirty data back") \
    X(LIBRARY, PENDING_DEMOTE_FORGOTTEN, "the end of the hold time drops the pending demote") \
    X(LIBRARY, DEVIATION_UNSIGNED, "the estimator shifts the deviation as an unsigned number") \
    X(LIBRARY, ONE_RECORD_FOR_ALL_TYPES, "all types count in the record of type 0") \
    X(LIBRARY, WAITER_BEFORE_DEMOTE, "the queue serves a waiter before a demote that is due") \
    X(LIBRARY, NEWEST_WAITER_FIRST, "each request is queued like a request with PRIORITY") \
    X(LIBRARY, BIT_LOCK_KEPT_AFTER_REFUSAL, "a refused request keeps GLF_LOCK") \
    X(LIBRARY, REFUSED_CONVERSION_KEEPS_MODE, "a refused conversion asks again in its mode") \
    X(LIBRARY, REQUEST_NOT_STAMPED, "a request does not store its time") \
    X(LIBRARY, EARLY_BAST_DROPPED, "a bast that arrives before its grant is dropped") \
    X(LIBRARY, LOCK_LEFT_BEHIND, "a glock is freed without unlocking at the lock manager") \
    X(LIBRARY, WITHDRAWN_GLOCK_STAYS_FROZEN, "withdrawal does not thaw a frozen glock") \
    X(LIBRARY, HOLDER_ADMITS_ANY_STATE, "a waiter joins a holder in any state") \
    X(LIBRARY, CANCEL_RUNS_NO_QUEUE, "a canceled request does not run the queue") \
    X(LIBRARY, WITHDRAWN_REPLY_FREEZES, "a reply after withdrawal freezes the glock") \
    X(LIBRARY, REPLY_TAKEN_WHILE_CANCELING, "a reply is applied during its cancel") \
    X(LIBRARY, INLINE_WORK_KEPT, "a thread that did not wait keeps the inline work") \
    X(LIBRARY, FAST_GRANT_UNCHECKED, "the fast path grants without a check of the word") \
    X(LIBRARY, FAST_PATH_OPEN_WITH_WAITERS, "the fast path opens while a waiter is queued") \
    X(LIBRARY, FAST_EXIT_RUNS_NO_QUEUE, "leaving a closed word does not run the queue") \
    X(LIBRARY, LATER_WORK_DEFERRED, "a waiting thread defers work that is due later") \
    X(LIBRARY, FAST_COUNT_NOT_FOLDED, "the word keeps the count of a refused holder") \
    X(LIBRARY, SERVED_WAITER_ASKS, "a waiter that the state serves asks the lock manager") \
    X(LIBRARY, MISS_NOT_ALONE, "the shortcut for a miss ignores other holders") \
    X(LIBRARY, NOT_INSTANTIATED_AGAIN, "a dropped cache does not ask for instantiate") \
    X(LIBRARY, INSTANTIATED_TWICE, "instantiate runs again for the next holder") \
    X(LIBRARY, SPACE_EVENT_FORGOTTEN, "the worker ignores a thaw or withdrawal of the space") \
    X(LIBRARY, ROOM_NOT_AWAITED, "a request without memory is not made again") \
    X(LIBRARY, OPERATIONS_ON_ANY_THREAD, "a waiting thread calls operations for others") \
    X(LIBRARY, WORK_NOT_HANDED_OVER, "a worker inside an operation leaves the work alone") \
    X(FENCE, FENCE_UNDER_WAY_COUNTS, "a heavy fence that goes on at step 8 counts") \
    X(SHORTCUT, LONE_MISS_BEFORE_DEMOTE, "lone_miss ignores the demand of another node") \
    X(SHORTCUT, WAITER_AT_REST, "is_at_rest takes a waiter for a granted holder") \
    X(SHORTCUT, MISS_CALLS_NOTHING, "miss skips the operations of the type") \
    X(SHORTCUT, REFUSAL_GRANTED, "grant_alone takes a refusal for a grant") \
    X(TABLE, CONVERTER_HOLDS_NOTHING, "a converting lock does not count with its granted mode") \
    X(TABLE, HIGHBAST_NOT_RESET, "a grant keeps the highest mode of the basts before") \
    X(TABLE, CONVERTERS_NOT_GRANTED, "an unlock grants waiters only") \
    X(TABLE, CONVERTERS_OVERTAKEN, "a new lock is granted before the convert queue") \
    X(TABLE, LVB_WRITTEN_AT_PR, "a conversion from PR down writes the value block") \
    X(TABLE, LVB_VALID_AFTER_DEATH, "the value block stays valid after the death of a writer") \
    X(TABLE, CW_NOT_TOLD_TO_PR, "a holder in PR gets no bast for CW") \
    X(TABLE, UNDO_LOG_EMPTIED_EARLY, "rollback empties the log after the first entry") \
    X(TABLE, LVB_LEAKED, "a freed resource keeps its value block") \
    X(TABLE, STORE_NOT_LOGGED, "one store of a ring bypasses the undo log") \
    X(TABLE, UNDONE_IN_WRONG_ORDER, "rollback restores the oldest entry first") \
    X(TABLE, ASTS_OUT_OF_ORDER, "an AST takes the place of an older bast") \
    X(TABLE, IDS_REUSED, "a new lock gets the generation of the lock before") \
    X(TABLE, COMMITTED_BEFORE_ITS_WORK, "an unlock commits before its work is recorded") \
    X(TABLE, UNREPORTED_DEATH_FORGOTTEN, "an unlock drops an unreported death") \
    X(TABLE, DEATH_FORGOTTEN, "full memory forgets a death and leaves no mark") \
    X(TABLE, DEATH_TOLD_AGAIN, "a told resource of a marked bucket goes with its last lock") \
    X(TABLE, IDLE_WAITS_FOR_REQUESTS, "a request with IDLE waits behind another request") \
    X(TABLE, IDLE_GRANTED_IN_USE, "the end of a request with IDLE says granted, not in use") \
    X(TABLE, IDLE_REFUSES_ITSELF, "a node in use refuses its own request with IDLE")
/* clang-format on */

enum glock__fault {
	GLOCK__FAULT_NONE,
#define GLOCK__FAULT_NUMBER(part, name, what) GLOCK__FAULT_##name,
	GLOCK__FAULTS(GLOCK__FAULT_NUMBER)
#undef GLOCK__FAULT_NUMBER
	GLOCK__FAULT_MAX
};

extern enum glock__fault glock__fault; /* defined by the tests that use it */

#ifndef GLOCK_FAULT
#define GLOCK_FAULT GLOCK__FAULT_NONE
#endif
#define FAULT(name) (GLOCK_FAULT == GLOCK__FAULT_##name)

#endif
