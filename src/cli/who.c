/* SPDX-License-Identifier: MIT */
/*
 * who.c - glock who: shows which processes hold the locks of a file, and which processes wait.
 */
#include "cli.h"

#include "base/clean.h"
#include "who/who.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATUS_FREE = 1 };

/* ---- order ---- */

static size_t waiters_of(const struct who_target *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += t->users[i].waits;
	return n;
}

/* Returns when the oldest known wait began, or INT64_MAX. */
static int64_t oldest_wait(const struct who_target *t)
{
	int64_t oldest = INT64_MAX;

	for (size_t i = 0; i < t->n; i++)
		if (t->users[i].waits && t->users[i].since && t->users[i].since < oldest)
			oldest = t->users[i].since;
	return oldest;
}

/* The file with the most waiters comes first, and of equal ones that with the oldest wait. */
static int worst_first(const void *a, const void *b)
{
	const struct who_target *x = a, *y = b;
	size_t n = waiters_of(x), m = waiters_of(y);
	int64_t s = oldest_wait(x), t = oldest_wait(y);

	if (n != m)
		return n > m ? -1 : 1;
	return s != t ? (s < t ? -1 : 1) : strcmp(x->name, y->name);
}

/* Holders come first, then waiters, each with the oldest first. */
static int holders_first(const void *a, const void *b)
{
	const struct who_user *x = a, *y = b;

	if (x->waits != y->waits)
		return x->waits ? 1 : -1;
	if (x->since != y->since)
		return (uint64_t)x->since - 1 < (uint64_t)y->since - 1 ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* ---- text ---- */

static const char *bytes_text(const struct who_user *u, char *buf, size_t size)
{
	char last[24] = "end";

	*buf = '\0';
	if (u->last != UINT64_MAX)
		snprintf(last, sizeof(last), "%" PRIu64, u->last);
	if (u->has_bytes && !*u->what && (u->first || u->last != UINT64_MAX))
		snprintf(buf, size, " bytes %" PRIu64 "-%s", u->first, last);
	return buf;
}

static const char *or_dash(const char *text)
{
	return *text ? text : "-";
}

static void print_user(const struct who_user *u, int64_t now)
{
	char pid[16] = "-", age[32] = "-", bytes[64];

	if (u->pid)
		snprintf(pid, sizeof(pid), "%d", (int)u->pid);
	if (u->since)
		snprintf(age, sizeof(age), "%.1f", 1e-9 * (double)(now - u->since));
	printf("%-7s %8s %-12s %-16s %8s  %s%s%s%s%s%s%s%s\n",
	       u->cached  ? "caches"
	       : u->waits ? "waits"
			  : "holds",
	       pid, or_dash(u->user), or_dash(u->command), age, u->kind, *u->mode ? " " : "",
	       u->mode, bytes_text(u, bytes, sizeof(bytes)), *u->what ? " " : "", u->what,
	       *u->note ? "; " : "", u->note);
}

static void print_text(const struct who_target *t, int64_t now)
{
	printf("# %s%s\n", t->name, t->n ? "" : ": no lock");
	if (t->n)
		printf("%-7s %8s %-12s %-16s %8s  %s\n", "STATE", "PID", "USER", "COMMAND", "FOR/s",
		       "LOCK");
	for (size_t i = 0; i < t->n; i++)
		print_user(&t->users[i], now);
}

/* ---- JSON ---- */

static json_t *text_or_null(const char *text)
{
	return *text ? json_text(text, strlen(text)) : json_null();
}

static json_t *json_user(const struct who_user *u, int64_t now)
{
	json_t *o = json_object();

	json_object_set_new(o, "state",
			    json_string(u->cached  ? "caches"
					: u->waits ? "waits"
						   : "holds"));
	json_object_set_new(o, "pid", u->pid ? json_integer(u->pid) : json_null());
	json_object_set_new(o, "user", text_or_null(u->user));
	json_object_set_new(o, "command", text_or_null(u->command));
	json_object_set_new(o, "kind", json_string(u->kind));
	json_object_set_new(o, "mode", text_or_null(u->mode));
	if (u->has_bytes) {
		json_object_set_new(o, "first", json_integer((json_int_t)u->first));
		json_object_set_new(o, "last",
				    u->last == UINT64_MAX ? json_null()
							  : json_integer((json_int_t)u->last));
	}
	json_object_set_new(o, "what", text_or_null(u->what));
	json_object_set_new(o, "note", text_or_null(u->note));
	json_object_set_new(o, "for_s",
			    u->since ? json_real(1e-9 * (double)(now - u->since)) : json_null());
	return o;
}

static void print_json(const struct who_target *t, int64_t now)
{
	json_t *o = json_object(), *users = json_array();

	json_object_set_new(o, t->is_file ? "file" : "lock", json_text(t->name, strlen(t->name)));
	if (t->is_file) {
		json_object_set_new(o, "device",
				    json_sprintf("%u:%u", t->file.major, t->file.minor));
		json_object_set_new(o, "inode", json_integer((json_int_t)t->file.inode));
	}
	for (size_t i = 0; i < t->n; i++)
		json_array_append_new(users, json_user(&t->users[i], now));
	json_object_set_new(o, "waiting", json_integer((json_int_t)waiters_of(t)));
	json_object_set_new(o, "users", users);
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
}

/* ---- the command ---- */

/* The inode of the first pid namespace of a machine: PROC_PID_INIT_INO of the kernel. */
#define FIRST_PID_NAMESPACE 0xeffffffcu

static void say_hidden(void)
{
	struct stat st;

	if (geteuid())
		complain("locks in spaces of other users, and descriptors of their processes, are "
			 "not shown; run as root to see all");
	if (!stat("/proc/self/ns/pid", &st) && st.st_ino != FIRST_PID_NAMESPACE)
		complain("flock, fcntl and leases of processes outside of this pid namespace are "
			 "not shown; run on the host to see all");
}

/* Adds the file, and the shared memory of a database in WAL mode. Returns an exit status. */
static int add_given(struct who *w, const char *path)
{
	char shm[PATH_MAX];
	int err = who_add_path(w, path);

	if (err) {
		complain("%s: %s", path, strerror(-err));
		return err == -EACCES ? EX_NOPERM : err == -ENOMEM ? EX_OSERR : EX_NOINPUT;
	}
	if ((size_t)snprintf(shm, sizeof(shm), "%s-shm", w->targets[0].name) < sizeof(shm))
		(void)who_add_path(w, shm);
	return EX_OK;
}

static int who_collect(struct who *w, const char *path)
{
	int status = find_spaces(&w->spaces, NULL, FIND_ALL);

	if (!status && path)
		status = add_given(w, path);
	if (status)
		return status;
	who_read_kernel(w);
	if (!path) {
		who_find_waited_files(w);
		who_find_waited_glocks(w);
	}
	who_add_glocks(w);
	who_add_kernel(w);
	who_add_nfs_clients(w);
	if (w->err)
		complain("%s", strerror(-w->err));
	return w->err ? EX_OSERR : EX_OK;
}

/* Prints the targets that have users, and the one that the user named. Returns an exit status. */
static int who_print(struct who *w, bool given, bool json)
{
	const int64_t now = glock__clock();
	size_t shown = 0;

	if (!given && w->n_targets)
		qsort(w->targets, w->n_targets, sizeof(*w->targets), worst_first);
	for (size_t i = 0; i < w->n_targets; i++) {
		struct who_target *t = &w->targets[i];

		shown += t->n != 0;
		if (!t->n && (i || !given))
			continue;
		glock__clean(t->name, strlen(t->name));
		if (t->n)
			qsort(t->users, t->n, sizeof(*t->users), holders_first);
		(json ? print_json : print_text)(t, now);
	}
	return shown || !given ? EX_OK : STATUS_FREE;
}

static int who_run(int argc, char **argv)
{
	struct who w = {.say = complain};
	const char *path;
	bool json;
	int status = json_and_name(argc, argv, &json, &path, NULL);

	if (status >= 0)
		return status;
	status = who_collect(&w, path);
	if (!status) {
		status = who_print(&w, path, json);
		say_hidden();
	}
	who_free(&w);
	return status;
}

const struct command cmd_who = {
    .name = "who",
    .usage = "[--json] [PATH]",
    .what = "Shows which processes hold the locks of a file, and which processes wait.",
    .help =
	"      --json   print one JSON object a line for each file\n"
	"\n"
	"Without PATH, glock lists all files and locks of spaces with a waiter, worst first. A "
	"line\n"
	"is a holder, a waiter, or a process that caches a glock without a use:\n"
	"  FOR/s    the time of the hold or the wait; the kernel tells no time for its own locks\n"
	"  LOCK     glock, flock, fcntl, OFD, lease, delegation or NFS (a client of the server\n"
	"           here), the mode, the bytes, and the names of SQLite's bytes\n"
	"\n"
	"Another line tells what the rights of this user or its pid namespace hide.\n"
	"\n"
	"Exit status: 0 shown; 1 PATH has no lock; 64 usage; 66 no such\n"
	"file; 71 the system failed; 74 output; 77 no permission.\n",
    .run = who_run,
};
