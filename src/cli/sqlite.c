/* SPDX-License-Identifier: MIT */
/*
 * sqlite.c - glock sqlite: runs a program whose SQLite databases are locked by glocks.
 */
#include "cli.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Finds the program as execvp() does. Returns false if there is none. */
static bool find_program(const char *name, char *path, size_t room)
{
	const char *at = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(path, room, "%s", name) < (int)room && access(path, X_OK) == 0;
	for (at = at ? at : "/bin:/usr/bin"; at;
	     at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		int len = (int)strcspn(at, ":");
		int n = len ? snprintf(path, room, "%.*s/%s", len, at, name)
			    : snprintf(path, room, "./%s", name);

		if (n < (int)room && access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* Returns whether the file is an ELF program that no dynamic linker loads. */
static bool is_static(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is_elf, has_linker = false;
	Elf64_Phdr part;
	Elf64_Ehdr head;

	if (fd < 0)
		return false;
	is_elf = pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
		 memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64;
	for (unsigned int i = 0; is_elf && i < head.e_phnum && !has_linker; i++) {
		off_t where = (off_t)(head.e_phoff + (uint64_t)i * head.e_phentsize);

		has_linker = pread(fd, &part, sizeof(part), where) == sizeof(part) &&
			     part.p_type == PT_INTERP;
	}
	close(fd);
	return is_elf && !has_linker;
}

/* Returns whether the program gets rights by its file, so that it ignores LD_PRELOAD. */
static bool gets_rights(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	if ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	    (st.st_mode & S_ISGID && st.st_gid != getegid()))
		return true;
	return geteuid() && getxattr(path, "security.capability", NULL, 0) > 0;
}

/* Puts the text before what the variable has. */
static int prepend(const char *variable, const char *text)
{
	const char *before = getenv(variable);
	char all[2 * PATH_MAX];
	int n = snprintf(all, sizeof(all), "%s%s%s", text, before && *before ? ":" : "",
			 before ? before : "");

	if (n >= (int)sizeof(all) || setenv(variable, all, 1)) {
		complain("%s is too long", variable);
		return EX_OSERR;
	}
	return EX_OK;
}

/*
 * A blank in LD_PRELOAD ends a path, and nothing quotes it. Then the library goes there by its
 * name, and its folder into LD_LIBRARY_PATH, where a blank is a character as any other.
 */
static int set_preload(const char *folder, const char *name)
{
	char path[PATH_MAX];
	int status = EX_OK;

	if (strchr(folder, ':')) {
		complain("%s: LD_PRELOAD can have no path with a colon; install glock elsewhere",
			 folder);
		return EX_UNAVAILABLE;
	}
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (strpbrk(folder, " \t\n"))
		status = prepend("LD_LIBRARY_PATH", folder);
	return status ? status : prepend("LD_PRELOAD", strpbrk(folder, " \t\n") ? name : path);
}

static int sqlite_run(int argc, char **argv)
{
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	static const char name[] = "libglock_sqlite_preload.so";
	const char *folder = getenv("GLOCK_SQLITE_DIR");
	char path[PATH_MAX], library[PATH_MAX];
	int option = next_option(argc, argv, "+:h", longs), status;

	if (option != -1)
		return option == 'h' ? EX_OK : EX_USAGE;
	if (optind >= argc)
		return usage_error("COMMAND is missing");
	argv += optind;
	folder = folder ? folder : GLOCK_SQLITE_DIR;
	snprintf(library, sizeof(library), "%s/%s", folder, name);
	if (access(library, R_OK)) {
		complain(
		    "%s: %s; install the VFS for SQLite, or name its folder in GLOCK_SQLITE_DIR",
		    library, strerror(errno));
		return EX_UNAVAILABLE;
	}
	if (find_program(argv[0], path, sizeof(path)) && is_static(path)) {
		complain(
		    "%s is a static program: no library can be loaded into it. Link it with "
		    "libsqlite3 as a shared library, or load libglock_sqlite.so in the program",
		    path);
		return EX_UNAVAILABLE;
	}
	if (find_program(argv[0], path, sizeof(path)) && gets_rights(path))
		complain(
		    "%s gets rights by its file (setuid, setgid or capabilities), so it ignores "
		    "LD_PRELOAD; SQLite works without glocks here. Start glock sqlite with these "
		    "rights, as in: sudo glock sqlite COMMAND",
		    path);
	status = set_preload(folder, name);
	if (status)
		return status;
	setenv("GLOCK_SQLITE_LOG", "stderr", 0); /* the user sees why a database is refused */
	execvp(argv[0], argv);
	complain("failed to execute %s: %s", argv[0], strerror(errno));
	return EX_UNAVAILABLE;
}

const struct command cmd_sqlite = {
    .name = "sqlite",
    .usage = "COMMAND [ARGUMENT]...",
    .what = "Runs a program whose SQLite databases are locked by glocks.",
    .help = "The program needs SQLite as a shared library. docs/sqlite.md tells when this helps.\n"
	    "\n"
	    "GLOCK_SQLITE_DIR names the folder of libglock_sqlite_preload.so and\n"
	    "libglock_sqlite.so. GLOCK_SQLITE_LOG names a file for the reasons of refusals, or\n"
	    "syslog; the default is standard error. GLOCK_LOCKMAN is dlm or local for\n"
	    "databases on OCFS2 and GFS2. Exit statuses: 64 wrong usage; 69 COMMAND "
	    "cannot be executed, is\n"
	    "static, or the libraries are missing; otherwise that of COMMAND.\n",
    .run = sqlite_run};
