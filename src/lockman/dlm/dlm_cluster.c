/* SPDX-License-Identifier: MIT */
/* dlm_cluster.c - see dlm_cluster.h. */
#include "dlm_cluster.h"
#include "base/kernel_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

const char *const glock__cluster_states[] = {
    [GLOCK__CLUSTER_FINE] = "all is well",
    [GLOCK__CLUSTER_STOPPED] = "the lockspace is stopped",
    [GLOCK__CLUSTER_NO_QUORUM] = "the cluster has no quorum",
    [GLOCK__CLUSTER_APART] = "the other nodes went on without this node",
    [GLOCK__CLUSTER_NO_DAEMON] = "dlm_controld does not run any more",
    [GLOCK__CLUSTER_NO_LOCKSPACE] = "the lockspace does not exist any more",
};

#define SPACES "/sys/kernel/config/dlm/cluster/spaces"

/* ---- small files ---- */

static ssize_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = read(fd, text, size - 1);
	while (n < 0 && errno == EINTR);
	n = n < 0 ? -errno : n;
	text[n > 0 ? n : 0] = '\0';
	close(fd);
	return n;
}

void glock__cluster_name(char *name, size_t size)
{
	if (read_file("/sys/kernel/config/dlm/cluster/cluster_name", name, size) < 0)
		*name = '\0';
}

/* ---- dlm_controld ---- */

static int connect_daemon(void)
{
	static const char name[] = "dlmc_sock";
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(a.sun_path + 1, name, sizeof(name) - 1);
	if (fd >= 0 &&
	    connect(fd, (struct sockaddr *)&a,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(name)))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool daemon_there(struct glock__cluster *c)
{
	struct pollfd p = {.fd = c->daemon, .events = POLLIN};

	if (c->daemon >= 0 && poll(&p, 1, 0) >= 0 && !(p.revents & (POLLHUP | POLLERR)))
		return true;
	if (c->daemon >= 0)
		close(c->daemon);
	/* The connection broke. Report that once, even if another daemon answers already. */
	p.fd = c->daemon;
	c->daemon = connect_daemon();
	return p.fd < 0 && c->daemon >= 0;
}

/* ---- all sources ---- */

void glock__cluster_open(struct glock__cluster *c)
{
	c->daemon = connect_daemon();
	glock__quorum_open(&c->quorum);
}

void glock__cluster_close(struct glock__cluster *c)
{
	if (c->daemon >= 0)
		close(c->daemon);
	c->daemon = -1;
	glock__quorum_close(&c->quorum);
}

/* Each step of recovery sets a bit. The last step sets this one. A stop clears all bits. */
#define RECOVERY_DONE 0x40

/* Returns -ENOENT if there is no such lockspace. */
static int recover_status(const char *lockspace)
{
	char path[160], text[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/kernel/dlm/%s/recover_status", lockspace);
	n = read_file(path, text, sizeof(text));
	return n < 0 ? -ENOENT : (int)strtoul(text, NULL, 16);
}

bool glock__cluster_runs(const char *lockspace)
{
	int status = recover_status(lockspace);

	return status > 0 && status & RECOVERY_DONE;
}

enum glock__cluster_state glock__cluster_look(struct glock__cluster *c, const char *lockspace)
{
	int status;

	if (!daemon_there(c))
		return GLOCK__CLUSTER_NO_DAEMON;
	if (!glock__quorum_there(&c->quorum))
		return GLOCK__CLUSTER_NO_QUORUM;
	if (glock__quorum_apart(&c->quorum))
		return GLOCK__CLUSTER_APART;
	status = recover_status(lockspace);
	if (status < 0)
		return GLOCK__CLUSTER_NO_LOCKSPACE;
	return status & RECOVERY_DONE ? GLOCK__CLUSTER_FINE : GLOCK__CLUSTER_STOPPED;
}

/* ---- members ---- */

bool glock__cluster_members(const char *lockspace, struct glock__cluster_nodes *nodes)
{
	struct glock__cluster_nodes found = {.n = 0};
	char path[160];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), SPACES "/%s/nodes", lockspace);
	dir = opendir(path);
	if (!dir)
		return false;
	while ((e = readdir(dir)))
		if (*e->d_name != '.' && found.n < GLOCK__CLUSTER_NODES)
			found.id[found.n++] = (uint32_t)strtoul(e->d_name, NULL, 10);
	closedir(dir);
	if (!found.n)
		return false;
	*nodes = found;
	return true;
}

bool glock__cluster_has(const struct glock__cluster_nodes *nodes, uint32_t id)
{
	for (size_t i = 0; i < nodes->n; i++)
		if (nodes->id[i] == id)
			return true;
	return false;
}

/* ---- the way out ---- */

#define COMMS "/sys/kernel/config/dlm/cluster/comms"
#define OWN_COMM COMMS "/2147483632" /* Linux 7.2 takes no name but a number */
enum { NOBODYS_ID = 2147483632, IDS_TRIED = 256 };

static unsigned long number_in(const char *dir, const char *name, const char *file)
{
	char path[384], text[32];

	snprintf(path, sizeof(path), "%s/%s/%s", dir, name, file);
	return read_file(path, text, sizeof(text)) > 0 ? strtoul(text, NULL, 10) : 0;
}

static int put_number(const char *dir, const char *file, unsigned long n)
{
	char path[384], text[32];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	snprintf(text, sizeof(text), "%lu", n);
	return glock__kernel_file_put(path, text);
}

static int make_dir(const char *path)
{
	return mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
}

/*
 * Stores this node's number. A dlm_controld that came and went has taken its configuration along.
 * Then any number will do that no node has, because all nodes have to be gone for the kernel.
 */
static int own_id(unsigned long *id)
{
	DIR *dir = opendir(COMMS);
	struct dirent *e;
	int err;

	*id = 0;
	while (dir && !*id && (e = readdir(dir)))
		if (*e->d_name != '.' && number_in(COMMS, e->d_name, "local"))
			*id = number_in(COMMS, e->d_name, "nodeid");
	if (dir)
		closedir(dir);
	if (*id)
		return 0;
	*id = NOBODYS_ID;
	err = make_dir("/sys/kernel/config/dlm/cluster");
	err = err ? err : make_dir(OWN_COMM);
	err = err ? err : put_number(OWN_COMM, "nodeid", *id);
	return err ? err : put_number(OWN_COMM, "local", 1);
}

/*
 * Removes the other nodes from the kernel's configuration. When the kernel leaves, it says goodbye
 * to the nodes that it knows, and waits minutes for their answers.
 */
static void forget_others(unsigned long id)
{
	DIR *dir = opendir(COMMS);
	struct dirent *e;
	char path[320];

	while (dir && (e = readdir(dir))) {
		if (*e->d_name == '.' || number_in(COMMS, e->d_name, "nodeid") == id)
			continue;
		snprintf(path, sizeof(path), COMMS "/%s", e->d_name);
		rmdir(path);
	}
	if (dir)
		closedir(dir);
}

/*
 * Linux 7.2 removes a member only if its configuration says that the node went. A dlm_controld that
 * ended has taken that along. Therefore all small numbers go again; a number that no member has
 * does not matter.
 */
static void let_others_go(const char *path, unsigned long own)
{
	char node[224];

	snprintf(node, sizeof(node), "%s/nodes/%lu/release_recover", path, own);
	for (unsigned long id = 1; !access(node, F_OK) && id <= IDS_TRIED; id++) {
		char other[208];

		snprintf(other, sizeof(other), "%s/nodes/%lu", path, id);
		if (id == own || mkdir(other, 0755))
			continue;
		put_number(other, "nodeid", id);
		rmdir(other);
	}
}

static int only_member(const char *lockspace)
{
	char path[160], node[192];
	struct glock__cluster_nodes nodes = {.n = 0};
	unsigned long id;
	int err = own_id(&id);

	snprintf(path, sizeof(path), SPACES "/%s", lockspace);
	err = err ? err : make_dir(path);
	if (!err)
		forget_others(id);
	glock__cluster_members(lockspace, &nodes);
	for (size_t i = 0; !err && i < nodes.n; i++) {
		snprintf(node, sizeof(node), "%s/nodes/%u", path, (unsigned int)nodes.id[i]);
		if (nodes.id[i] != id && rmdir(node))
			err = -errno;
	}
	snprintf(node, sizeof(node), "%s/nodes/%lu", path, id);
	err = err ? err : make_dir(node);
	err = err ? err : put_number(node, "nodeid", id);
	if (!err)
		let_others_go(path, id);
	return err;
}

void glock__cluster_tidy(const char *lockspace)
{
	struct glock__cluster_nodes nodes = {.n = 0};
	char path[160], node[192];

	snprintf(path, sizeof(path), "/sys/kernel/dlm/%s", lockspace);
	if (access(OWN_COMM, F_OK) || !access(path, F_OK))
		return;
	snprintf(path, sizeof(path), SPACES "/%s", lockspace);
	glock__cluster_members(lockspace, &nodes);
	for (size_t i = 0; i < nodes.n; i++) {
		snprintf(node, sizeof(node), "%s/nodes/%u", path, (unsigned int)nodes.id[i]);
		rmdir(node);
	}
	rmdir(path);
	rmdir(OWN_COMM);
}

bool glock__cluster_device(const char *name, char path[GLOCK__CLUSTER_DEVICE])
{
	snprintf(path, GLOCK__CLUSTER_DEVICE, "/dev/misc/%s", name);
	if (!access(path, F_OK))
		return true;
	snprintf(path, GLOCK__CLUSTER_DEVICE, "/dev/%s", name);
	return !access(path, F_OK);
}

/* A lockspace of programs has a device, unless a program is just about to join or to leave. */
static bool has_device(const char *lockspace)
{
	char name[80], path[GLOCK__CLUSTER_DEVICE];

	snprintf(name, sizeof(name), "dlm_%s", lockspace);
	return glock__cluster_device(name, path);
}

bool glock__cluster_of_gfs2(const char *lockspace)
{
	DIR *dir = opendir("/sys/fs/gfs2"); /* CLUSTER:LOCKSPACE */
	struct dirent *e;
	const char *name;
	bool found = false;

	while (dir && !found && (e = readdir(dir))) {
		name = strchr(e->d_name, ':');
		found = name && !strcmp(name + 1, lockspace);
	}
	if (dir)
		closedir(dir);
	return found;
}

int glock__cluster_release(const char *lockspace)
{
	int fd = connect_daemon(), err;
	char path[160], done[192];

	if (fd >= 0) {
		close(fd);
		return -EBUSY; /* dlm_controld has to start it */
	}
	if (glock__cluster_of_gfs2(lockspace))
		return -EBUSY;
	snprintf(path, sizeof(path), "/sys/kernel/dlm/%s", lockspace);
	if (!has_device(lockspace)) {
		snprintf(done, sizeof(done), "%s/event_done", path);
		return access(done, F_OK) ? 0 : glock__kernel_file_put(done, "-1");
	}
	if (recover_status(lockspace))
		return 0;
	err = only_member(lockspace);
	return err ? err : put_number(path, "control", 1);
}
