/* SPDX-License-Identifier: MIT */
/*
 * test_etcd.c - deaths, and failures of etcd, with processes that share a space by a real etcd.
 *
 * with_etcd.sh runs the etcd. The storage here compares tokens: it refuses a token that is lower
 * than one that it has seen.
 */
#include "../adversary/adversary.h"

#include <fcntl.h>

/* Of src/lockman/etcd/etcd_impl.h: a node relies on its locks for that long after it asked etcd. */
enum { GATE_S = 4 };

enum { READY, STORED, GO_ON, RECOVERED, DONE };

static bool store(uint64_t token)
{
	uint64_t seen = shared->cell[STORED];

	while (seen <= token)
		if (atomic_compare_exchange_weak(&shared->cell[STORED], &seen, token))
			return true;
	return false;
}

/* ---- a node is killed ---- */

static void holds_for_ever(void *arg)
{
	struct glock_holder gh;
	uint64_t value[GLOCK_LVB_SIZE / 8] = {1}, token;

	(void)arg;
	begin();
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_lvb_write(&gh, value), 0);
	SAME(glock_token(&gh, &token), 0);
	CHECK(store(token));
	shared->cell[READY] = 1;
	for (;;)
		pause();
}

static void recovers(void *arg, const struct glock_node *dead)
{
	(void)arg;
	CHECK(dead->id);
	nap(100 * MS);
	shared->cell[RECOVERED]++;
}

/* Sends JSON to a path of the etcd's gateway. The names between angle brackets become base64. */
static void tell_etcd(const char *path, const char *json)
{
	static const char script[] =
	    "python3 -c 'import base64, re, sys, urllib.request\n"
	    "body = re.sub(\"<(.*?)>\", lambda m: base64.b64encode(m[1].encode()).decode(), "
	    "sys.argv[2])\n"
	    "urllib.request.urlopen(sys.argv[1], body.encode())' '%s/v3/%s' '%s'";
	char command[1024];

	snprintf(command, sizeof(command), script, getenv("GLOCK_ETCD"), path, json);
	SAME(system(command), 0);
}

/* Removes the node key of the other node, as the end of its lease does some seconds later. */
static void end_other_node(void)
{
	struct glock_node nodes[4];
	char json[128];

	nodes[0].size = sizeof(nodes[0]);
	SAME(glock_nodes(space, nodes, COUNT(nodes)), 2);
	snprintf(json, sizeof(json), "{\"key\": \"</glock/killed/n/%016llx>\"}",
		 (unsigned long long)nodes[nodes[0].self ? 1 : 0].id);
	tell_etcd("kv/deleterange", json);
}

/* Promises: recover: "called in each process"; glock_nq: "A node with". */
static void killed(void)
{
	struct glock_holder gh;
	uint64_t got[GLOCK_LVB_SIZE / 8], token;
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .flags = GLOCK_OPS_LVB};
	pid_t pid = start(holds_for_ever, NULL);
	int64_t killed_at;

	UNTIL(shared->cell[READY]);
	space = open_space_with(
	    (struct glock_space_options){.types = &type, .n_types = 1, .recover = recovers});
	gl = get(space, GLOCK_INODE, 1);
	SAME(try_told(&gh, GLOCK_SH), -EBUSY);
	SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
	SAME(kill(pid, SIGKILL), 0);
	join_killed(pid);
	killed_at = now();
	end_other_node();
	SAME(glock_wait(&gh, 0, 0), 0);
	CHECK(now() - killed_at >= GATE_S * SECOND); /* the gate of the dead node */
	SAME(shared->cell[RECOVERED], 1);
	SAME(glock_owner_died(&gh), 1);
	SAME(glock_lvb_read(&gh, got), -ENODATA);
	SAME(glock_token(&gh, &token), 0);
	CHECK(token > shared->cell[STORED]);
	SAME(glock_dq(&gh), 0);
	SAME(ask(&gh, GLOCK_EX, GLOCK_NOCACHE), 0); /* a death is told once */
	SAME(glock_dq_wait(&gh), 0);
	end();
}

/* ---- a node stands still for so long that another takes its lock ---- */

static void stands_still(void *arg)
{
	struct glock_holder gh;
	uint64_t token = 0, old;

	(void)arg;
	begin();
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_valid(&gh), 1);
	SAME(glock_token(&gh, &old), 0);
	CHECK(store(old));
	shared->cell[READY] = 1;
	while (!shared->cell[GO_ON])
		; /* here the process is stopped */
	SAME(glock_valid(&gh), 0);
	SAME(glock_token(&gh, &token), -EIO);
	CHECK(!store(old));
	SAME(glock_dq(&gh), 0);
	/* It joins again by itself. On a busy machine it may lose the lock once more. */
	while (!token) {
		while (ask(&gh, GLOCK_EX, 0))
			nap(10 * MS);
		if (glock_token(&gh, &token))
			token = 0;
		SAME(glock_dq(&gh), 0);
	}
	CHECK(token > old);
	CHECK(store(token));
	end();
}

/* Promises: glock_withdraw: "has ended this node". */
static void stopped(void)
{
	struct glock_holder gh;
	pid_t pid = start(stands_still, NULL);
	uint64_t token;

	UNTIL(shared->cell[READY]);
	SAME(kill(pid, SIGSTOP), 0);
	begin();
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_owner_died(&gh), 1);
	SAME(glock_token(&gh, &token), 0);
	CHECK(store(token));
	shared->cell[GO_ON] = 1;
	SAME(kill(pid, SIGCONT), 0);
	SAME(glock_dq(&gh), 0);
	join(pid);
	end();
}

/* ---- etcd fails ---- */

static void down(bool is)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/down", getenv("ETCD_DIR"));
	if (is)
		CHECK(close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) == 0);
	else
		SAME(unlink(path), 0);
}

static pid_t etcd_pid(void)
{
	char path[256];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/pid1", getenv("ETCD_DIR"));
	f = fopen(path, "re");
	CHECK(f && fscanf(f, "%d", &pid) == 1 && pid > 1);
	fclose(f);
	return pid;
}

/*
 * Without etcd the gate closes, and no more: a lock that no other node could get is not lost.
 * Promises: glock_token: "has not confirmed".
 */
static void away(void)
{
	struct glock_holder gh, sh;
	uint64_t token, again;
	int64_t stopped_at;

	begin();
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_token(&gh, &token), 0);
	down(true);
	stopped_at = now();
	SAME(kill(etcd_pid(), SIGKILL), 0);
	while (glock_valid(&gh))
		breathe();
	CHECK(now() - stopped_at < 4 * GATE_S * SECOND); /* on a busy machine, too */
	SAME(glock_token(&gh, &again), -EIO);
	down(false);
	while (!glock_valid(&gh)) /* resumed, and not lost */
		breathe();
	SAME(glock_token(&gh, &again), 0);
	SAME(again, token);
	SAME(glock_dq(&gh), 0);
	while (ask(&sh, GLOCK_SH, GLOCK_TRY_CACHED)) /* the pause ends a moment later */
		breathe();
	SAME(glock_dq(&sh), 0);
	end();
}

/* ---- nodes ---- */

static void opens(void *arg)
{
	struct glock_holder gh;

	(void)arg;
	begin();
	for (int i = 0; i < 300; i++) {
		SAME(ask(&gh, GLOCK_EX, 0), 0);
		shared->plain[0]++;
		SAME(glock_dq(&gh), 0);
	}
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_dq(&gh), 0);
	end();
}

/* A process that closes the space gives its locks back at once, and not at the end of its lease. */
static void in_order(void)
{
	struct glock_holder gh;

	crowd(opens, 3);
	SAME(shared->plain[0], 900);
	begin();
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_owner_died(&gh), 0);
	SAME(glock_dq(&gh), 0);
	end();
}

/* ---- what is refused ---- */

static char said[4096];

static void keep_message(void *arg, const char *message)
{
	(void)arg;
	snprintf(said, sizeof(said), "%s", message);
}

static int try_to_open(void)
{
	const struct glock_space_options o = {
	    .size = sizeof(o), .lockman = "etcd", .log = keep_message};
	int err;

	said[0] = '\0';
	err = glock_space_open("etcd_refused", &o, &space);
	if (!err)
		SAME(glock_space_close(space), 0);
	return err;
}

/* Promises: glock_space_open: "the plug-in", "no member of", "refuses the user". */
static void refused(void)
{
	char *etcd = strdup(getenv("GLOCK_ETCD"));
	char *plugins = strdup(getenv("GLOCK_PLUGINS"));

	setenv("GLOCK_PLUGINS", "/nonexistent", 1);
	SAME(try_to_open(), -ENOPKG);
	CHECK(strstr(said, "libglock-etcd"));
	setenv("GLOCK_PLUGINS", plugins, 1);
	setenv("GLOCK_ETCD", "127.0.0.1:1", 1);
	SAME(try_to_open(), -ENETUNREACH);
	CHECK(strstr(said, "GLOCK_ETCD"));
	setenv("GLOCK_ETCD", etcd, 1);
	setenv("ETCDCTL_USER", "root", 1);
	SAME(try_to_open(), -EINVAL);
	CHECK(strstr(said, "ETCDCTL_PASSWORD"));
	setenv("ETCDCTL_USER", "root:wrong", 1);
	tell_etcd("auth/user/add", "{\"name\": \"root\", \"password\": \"right\"}");
	tell_etcd("auth/user/grant", "{\"user\": \"root\", \"role\": \"root\"}");
	tell_etcd("auth/enable", "{}");
	SAME(try_to_open(), -EACCES);
	CHECK(strstr(said, "authentication failed"));
	unsetenv("ETCDCTL_USER");
	SAME(try_to_open(), -EACCES);
	setenv("ETCDCTL_USER", "root:right", 1);
	SAME(try_to_open(), 0);
	free(etcd);
	free(plugins);
}

/* The value of a key is of no lock: only requests for that lock fail. */
static void damaged(void)
{
	static const char value[] =
	    "{\"key\": \"</glock/damaged/l/2/0000000000000001>\", \"value\": \"<hello>\"}";
	struct glock_holder gh;
	struct glock *other;

	space = open_space_with((struct glock_space_options){.log = keep_message});
	tell_etcd("kv/put", value);
	gl = get(space, GLOCK_INODE, 1);
	SAME(ask(&gh, GLOCK_EX, 0), -EIO);
	other = gl;
	gl = get(space, GLOCK_INODE, 2);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_dq(&gh), 0);
	glock_put(other);
	end();
}

int main(void)
{
	static const struct test tests[] = {
	    {"in_order", in_order, "local"},
	    {"killed", killed, "local"},
	    {"stopped", stopped, "local"},
	    {"away", away, "local"},
	    {"damaged", damaged, "local"},
	    {"refused", refused, "local"}, /* the last, because etcd knows users afterwards */
	};

	return run_tests(tests, COUNT(tests));
}
