/* SPDX-License-Identifier: MIT */
/*
 * local_path.c - where a lock space lies. Only its name and its owner decide that.
 *
 *	/dev/shm/glock-UID/NAME		for the programs of one user
 *	/dev/shm/glock-gGID/NAME	for the members of a group, if the program says so
 *	DIR/NAME			where GLOCK_DIR or the program says
 *
 * A cron job, a service, a login shell and sudo -u see the same directory and have the same user.
 * Variables that differ between them (HOME, TMPDIR, XDG_RUNTIME_DIR) are not read. A program that
 * runs with more rights than the user who started it does not read GLOCK_DIR, either.
 *
 * A user who may write to the file can do anything to the space. Therefore the library neither
 * follows nor trusts anything that another user may have put there. A directory belongs to its
 * owner, and only the owner may write to it. The same holds for a file. Only the members of
 * the group that the program asked for may write, too.
 */
#include "local_file.h"

#include "base/cancel.h"
#include "base/way.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fs.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

void glock__local_say(const struct glock__local_options *o, const char *fmt, ...)
{
	GLOCK__NO_CANCEL;
	char *message;
	va_list ap;
	int len;

	if (!o->log)
		return;
	va_start(ap, fmt);
	len = vasprintf(&message, fmt, ap);
	va_end(ap);
	if (len < 0) {
		o->log(o->log_arg, "no memory for a message");
		return;
	}
	o->log(o->log_arg, message);
	free(message);
}

/* ---- the file's name ---- */

static bool is_plain_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.' || c == '+' || c == ':' || c == '@';
}

/* Turns any name into a file's name. Other bytes, and a dot at the beginning, become %XX. */
static int escape_name(const char *name, char out[GLOCK__LOCAL_FILE_MAX])
{
	size_t len = name ? strlen(name) : 0;

	if (!len)
		return -EINVAL;
	if (len > GLOCK__LOCAL_NAME_MAX)
		return -ENAMETOOLONG;
	for (size_t i = 0; i < len; i++) {
		if (is_plain_char(name[i]) && (i || name[i] != '.')) {
			*out++ = name[i];
		} else {
			snprintf(out, 4, "%%%02X", (unsigned char)name[i]);
			out += 3;
		}
	}
	*out = 0;
	return 0;
}

int glock__local_unescape(const char *file, char name[GLOCK__LOCAL_NAME_MAX + 1])
{
	size_t n = 0;

	for (; *file; file++) {
		char hex[3] = {0}, *end = hex;

		if (n == GLOCK__LOCAL_NAME_MAX)
			return -EINVAL;
		if (*file != '%') {
			if (!is_plain_char(*file))
				return -EINVAL;
			name[n++] = *file;
			continue;
		}
		strncpy(hex, file + 1, 2);
		name[n] = (char)strtoul(hex, &end, 16);
		if (end != hex + 2 || !name[n])
			return -EINVAL;
		n++;
		file += 2;
	}
	name[n] = 0;
	return n ? 0 : -EINVAL;
}

/* ---- the directory ---- */

/* Looks the name of a group up. The text of a group with many members takes much memory. */
static int group_by_name(const char *name, gid_t *gid)
{
	struct group gr, *found = NULL;
	char *buf = NULL, *more;
	int err = ERANGE;

	for (size_t size = 4096; err == ERANGE; size *= 2) {
		more = realloc(buf, size);
		if (!more) {
			free(buf);
			return -ENOMEM;
		}
		buf = more;
		err = getgrnam_r(name, &gr, buf, size, &found);
	}
	if (found)
		*gid = gr.gr_gid;
	free(buf);
	return found ? 0 : -EINVAL;
}

static int find_group(const struct local *l, gid_t *gid)
{
	const char *name = l->o.group;
	unsigned long number;
	char *end;
	int err;

	errno = 0;
	number = strtoul(name, &end, 10);
	if (*name >= '0' && *name <= '9' && !*end) {
		*gid = (gid_t)number;
		/* (gid_t)-1 is no group: the kernel takes it for "leave the group as it is". */
		if (!errno && number == *gid && *gid != (gid_t)-1)
			return 0;
		glock__local_say(&l->o,
				 "space %s: group %s: no group has this number; the highest is %u",
				 l->name, name, (gid_t)-2);
		return -EINVAL;
	}
	err = group_by_name(name, gid);
	if (err == -EINVAL)
		glock__local_say(&l->o,
				 "space %s: group %s does not exist; getent group lists the groups",
				 l->name, name);
	return err;
}

static bool same_dir(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Stores the directory that the user or the program named; NULL: none was named. */
static int said_dir(const struct local *l, const char **dir)
{
	const char *env = secure_getenv("GLOCK_DIR");

	*dir = l->o.dir ? l->o.dir : env && *env ? env : NULL;
	if (l->o.dir && env && *env && !same_dir(l->o.dir, env)) {
		glock__local_say(
		    &l->o,
		    "space %s: the program names directory %s, but GLOCK_DIR names %s; "
		    "drop one of the two",
		    l->name, l->o.dir, env);
		return -EINVAL;
	}
	return 0;
}

/* File systems that several machines share. Their locks and memory do not work as needed here. */
const char *glock__local_shared_fs(uint32_t type)
{
	static const struct {
		uint32_t type;
		const char *name;
	} shared[] = {
	    {0x6969, "NFS"},        {0x517b, "SMB"},          {0xff534d42, "CIFS"},
	    {0xfe534d42, "SMB2"},   {0x65735546, "FUSE"}, /* sshfs, GlusterFS, virtiofs */
	    {0x7461636f, "OCFS2"},  {0x01161970, "GFS2"},     {0x00c36400, "Ceph"},
	    {0x01021997, "9P"},     {0x5346414f, "OpenAFS"},  {0x6b414653, "AFS"},
	    {0x73757245, "Coda"},   {0x0bd00bd0, "Lustre"},   {0x47504653, "GPFS"},
	    {0x19830326, "BeeGFS"}, {0x20030528, "OrangeFS"}, {0x786f4256, "vboxsf"},
	};

	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++)
		if (type == shared[i].type)
			return shared[i].name;
	return NULL;
}

static int check_file_system(const struct local *l, int dir, const char *path)
{
	const char *shared;
	struct statfs fs;

	if (fstatfs(dir, &fs))
		return -errno;
	shared = glock__local_shared_fs((uint32_t)fs.f_type);
	if (!shared)
		return 0;
	glock__local_say(&l->o,
			 "space %s: directory %s is on %s, which other machines share; choose a "
			 "directory in memory, such as /dev/shm",
			 l->name, path, shared);
	return -EMEDIUMTYPE;
}

static int open_dir(const struct local *l, const char *path)
{
	int fd = glock__way_open_folder(path);

	if (fd < 0)
		glock__local_say(&l->o, "space %s: cannot open directory %s: %s%s", l->name, path,
				 strerror(-fd),
				 fd == -ELOOP ? "; another user's link is not followed" : "");
	return fd;
}

/*
 * Makes the directory of a group under another name, and then gives the directory its name. So no
 * member finds a directory that does not belong to the group yet. No other user can guess the other
 * name, and so take the name first.
 */
static int make_group_dir(const char *path, gid_t gid)
{
	char temporary[] = GLOCK__LOCAL_BASE "/.glock-g-XXXXXX";
	int err = 0, fd;

	if (!mkdtemp(temporary))
		return -errno;
	fd = open(temporary, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Set the group before the mode: until then only the owner has access. */
	if (fd < 0 || fchown(fd, (uid_t)-1, gid) || fchmod(fd, 02770) ||
	    syscall(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE)) {
		err = -errno;
		rmdir(temporary);
	}
	if (fd >= 0)
		close(fd);
	return err;
}

/* Looks a user up. Returns the memory of the texts in *pw, or NULL. */
static char *user_by_id(uid_t uid, struct passwd *pw)
{
	struct passwd *found = NULL;
	char *buf = NULL, *more;
	int err = ERANGE;

	for (size_t size = 1024; err == ERANGE && (more = realloc(buf, size)); size *= 2) {
		buf = more;
		err = getpwuid_r(uid, pw, buf, size, &found);
	}
	if (found)
		return buf;
	free(buf);
	return NULL;
}

/*
 * Tells whether the uid is root's, this user's or that of a member of the group. The owner of a
 * directory can rename it and exchange its files, even after leaving the group.
 */
static bool is_member(uid_t uid, gid_t gid)
{
	struct passwd pw;
	char *buf = uid && uid != geteuid() ? user_by_id(uid, &pw) : NULL;
	gid_t *groups = NULL, *more;
	int n = 64, room = 0;
	bool is = !uid || uid == geteuid();

	while (buf && n > room && (more = reallocarray(groups, (size_t)n, sizeof(*groups)))) {
		groups = more;
		room = n;
		if (getgrouplist(pw.pw_name, pw.pw_gid, groups, &n) < 0)
			continue; /* n is the number of groups now */
		for (int i = 0; i < n; i++)
			is |= groups[i] == gid;
		break;
	}
	free(groups);
	free(buf);
	return is;
}

/*
 * Another user may make a directory of this name first, because all users may write to
 * GLOCK__LOCAL_BASE. Then only root can remove it.
 */
GLOCK__NOINLINE static int refuse_dir(const struct local *l, const char *path,
				      const struct stat *st)
{
	struct passwd pw;
	char *buf = user_by_id(st->st_uid, &pw);

	glock__local_say(
	    &l->o,
	    "space %s: directory %s is not safe: it belongs to user %u%s%s%s and group "
	    "%u, with mode %o%s; remove it, or name another directory in GLOCK_DIR; to "
	    "keep it from others, let tmpfiles.d make it at boot (glock(1), FILES)",
	    l->name, path, st->st_uid, buf ? " (" : "", buf ? pw.pw_name : "", buf ? ")" : "",
	    st->st_gid, st->st_mode & 07777,
	    !S_ISDIR(st->st_mode) ? ", and is no directory"
	    : l->o.group && st->st_gid == l->gid && !is_member(st->st_uid, l->gid)
		? ", and that user is no member of the group"
		: "");
	free(buf);
	return -EPERM;
}

bool glock__local_dir_trusted(const struct stat *st, bool group, uid_t uid, gid_t gid)
{
	const mode_t mode = group ? 02770 : 0700;

	if (!S_ISDIR(st->st_mode) || st->st_mode & 07777 & ~mode)
		return false;
	return group ? st->st_gid == gid && is_member(st->st_uid, gid) : st->st_uid == uid;
}

/* Makes the directory of the user or the group, if there is none. */
static int make_own_dir(const struct local *l, const char *path, bool group, gid_t gid)
{
	struct stat st;
	int err;

	if (!lstat(path, &st))
		return 0;
	err = group ? make_group_dir(path, gid) : mkdir(path, 0700) ? -errno : 0;
	if (!err || err == -EEXIST)
		return 0; /* another process was faster */
	glock__local_say(&l->o,
			 "space %s: cannot make directory %s: %s; %sname another one in "
			 "GLOCK_DIR",
			 l->name, path, strerror(-err),
			 group && err == -EPERM ? "join its group, or " : "");
	return err;
}

/* Opens the directory of the user or the group. Makes it if need be. */
static int own_dir(const struct local *l, const char *path, bool group, gid_t gid)
{
	int fd, err = make_own_dir(l, path, group, gid);
	struct stat st;

	if (err)
		return err;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	err = -errno;
	/* Ask about the open directory, because the name may lead to another one by now. */
	if (!(fd < 0 ? lstat(path, &st) : fstat(fd, &st)) &&
	    !glock__local_dir_trusted(&st, group, geteuid(), gid)) {
		err = refuse_dir(l, path, &st);
		if (fd >= 0)
			close(fd);
		return err;
	}
	if (fd >= 0)
		return fd;
	glock__local_say(&l->o, "space %s: cannot open directory %s: %s", l->name, path,
			 strerror(-err));
	return err;
}

int glock__local_dir_path(const char *group_or_null, uid_t uid, gid_t gid, char *path, size_t size)
{
	if (group_or_null)
		return snprintf(path, size, GLOCK__LOCAL_BASE "/glock-g%u", (unsigned int)gid);
	return snprintf(path, size, GLOCK__LOCAL_BASE "/glock-%u", (unsigned int)uid);
}

/*
 * Turns a relative path into an absolute one, because the program may change its directory later.
 * Returns false if the path is absolute already, or if the result leads to another directory or to
 * none. A directory above that may not be searched is an example.
 */
static bool from_root(const char *said, char *dir, size_t size)
{
	size_t len;

	if (*said == '/' || !getcwd(dir, size))
		return false;
	len = strlen(dir);
	return (size_t)snprintf(dir + len, size - len, "/%s", said) < size - len &&
	       same_dir(dir, said);
}

int glock__local_find(struct local *l)
{
	char dir[GLOCK__LOCAL_PATH_MAX - GLOCK__LOCAL_FILE_MAX];
	const char *said;
	gid_t gid = 0;
	int err = escape_name(l->o.name, l->file);

	if (err) {
		glock__local_say(&l->o,
				 "space %.80s: a name has 1 to %d bytes; choose another name",
				 l->o.name ? l->o.name : "", GLOCK__LOCAL_NAME_MAX);
		return err;
	}
	snprintf(l->name, sizeof(l->name), "%s", l->o.name);
	err = said_dir(l, &said);
	if (!err && l->o.group)
		err = find_group(l, &gid);
	if (err)
		return err;
	l->gid = gid;
	if (said && strlen(said) >= sizeof(dir)) {
		glock__local_say(&l->o,
				 "space %s: the path of its directory has %zu bytes: take a "
				 "directory with a path of at most %zu",
				 l->name, strlen(said), sizeof(dir) - 1);
		return -ENAMETOOLONG;
	}
	if (said && !from_root(said, dir, sizeof(dir)))
		snprintf(dir, sizeof(dir), "%s", said);
	else if (!said)
		glock__local_dir_path(l->o.group, geteuid(), gid, dir, sizeof(dir));
	l->dir = said ? open_dir(l, dir) : own_dir(l, dir, l->o.group, gid);
	if (l->dir < 0)
		return l->dir;
	if (fstat(l->dir, &l->dir_st))
		return -errno;
	snprintf(l->path, sizeof(l->path), "%s/%s", dir, l->file);
	return check_file_system(l, l->dir, dir);
}

const char *glock__local_way_in(const struct local *l, char *buf, size_t size)
{
	char name[32], room[2048];
	struct group gr, *found = NULL;

	*buf = '\0';
	if (l->o.group)
		snprintf(buf, size,
			 "; if its owner made it without the group, that user removes it with "
			 "glock rm");
	else if (!(l->dir_st.st_mode & S_ISGID))
		snprintf(buf, size,
			 "; if both users trust each other, name a group of both in GLOCK_GROUP");
	if (*buf)
		return buf;
	snprintf(name, sizeof(name), "%u", (unsigned int)l->dir_st.st_gid);
	getgrgid_r(l->dir_st.st_gid, &gr, room, sizeof(room), &found);
	snprintf(buf, size,
		 "; its directory belongs to group %s, whose members share the space with "
		 "GLOCK_GROUP=%s or glock run --group %s",
		 found ? gr.gr_name : name, found ? gr.gr_name : name, found ? gr.gr_name : name);
	return buf;
}

int glock__local_trust(const struct local *l, const struct stat *st)
{
	mode_t others = l->o.group ? 0007 : 0077;
	char way[256];
	bool ours = st->st_uid == geteuid() || !st->st_uid;

	if (!S_ISREG(st->st_mode)) {
		glock__local_say(&l->o, "space %s: %s is not a regular file; move it away", l->name,
				 l->path);
		return -EMEDIUMTYPE;
	}
	if (l->o.group)
		ours = st->st_gid == l->gid;
	if (ours && !(st->st_mode & others))
		return 0;
	glock__local_say(&l->o,
			 "space %s: file %s is not safe: it belongs to user %u and group %u, with "
			 "mode %o; remove it, or open the space as that user or group%s",
			 l->name, l->path, st->st_uid, st->st_gid, st->st_mode & 07777,
			 glock__local_way_in(l, way, sizeof(way)));
	return -EPERM;
}
