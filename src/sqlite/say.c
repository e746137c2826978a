/* SPDX-License-Identifier: MIT */
/*
 * say.c - tells the reason of a refusal.
 *
 * SQLite gives its caller a result and a fixed text. The reason goes to SQLite's log, which few
 * programs read, to a log of the user, and to the caller that asks: say_last().
 *
 * The log is opened for each message. A descriptor that is kept may become a database's, because
 * programs close what they do not know. syslog(3) keeps one.
 *
 * Other users choose names of files and folders, so no message has controls.
 */
#include "say.h"

#include "base/append.h"
#include "base/clean.h"
#include "sqlite_api.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

enum { SAY_SIZE = 640, PATH_SHOWN = 200, LINE_SIZE = 180 };

static _Thread_local char last[SAY_SIZE]; /* of this thread */

/* Returns the name of a file, or stderr. NULL: the system's log. */
static const char *say_where(void)
{
	const char *debug = secure_getenv("GLOCK_DEBUG"), *log = secure_getenv("GLOCK_SQLITE_LOG");

	if (debug && *debug)
		return debug;
	return log && *log && strcmp(log, "syslog") != 0 ? log : NULL;
}

bool say_is_seen(void)
{
	return say_where() != NULL;
}

static void say_to_system(const char *text)
{
	const struct sockaddr_un log = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	char line[SAY_SIZE + 128];

	snprintf(line, sizeof(line), "<%d>%s[%d]: glock: %s", LOG_USER | LOG_WARNING,
		 program_invocation_short_name, (int)getpid(), text);
	glock__clean(line, strlen(line));
	if (fd < 0)
		return;
	sendto(fd, line, strlen(line), MSG_NOSIGNAL, (const struct sockaddr *)&log, sizeof(log));
	close(fd);
}

/* Keeps errno, which xGetLastError() returns. */
static void say_to_user(const char *text)
{
	const char *to = say_where(), *why = NULL;
	int saved = errno, fd = to ? glock__append_open(to, &why) : -1;

	if (fd >= 0)
		glock__append(fd, text);
	else
		say_to_system(text);
	if (why)
		sqlite3_log(SQLITE_WARNING,
			    "glock: %s: %s; name a file that can be written, stderr or syslog", to,
			    why);
	glock__append_close(fd);
	errno = saved;
}

static void say_all(int code, const char *text)
{
	if (code == SQLITE_NOTICE)
		return;
	if (code != SQLITE_WARNING)
		snprintf(last, sizeof(last), "%s", text);
	say_to_user(text);
}

void say(int code, const char *format, ...)
{
	char text[SAY_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	glock__clean(text, strlen(text));
	sqlite3_log(code, "glock: %s", text);
	say_all(code, text);
}

/* SQLite's log cuts a line off after some 200 bytes. */
static void say_reason(int code, const char *why)
{
	const char *word = "because ";
	int n = (int)strlen(why);

	for (; n > LINE_SIZE; n = (int)strlen(why)) {
		for (n = LINE_SIZE; n > LINE_SIZE / 2 && why[n] != ' '; n--)
			;
		sqlite3_log(code, "glock: ... %s%.*s", word, n, why);
		word = "";
		why += n;
	}
	sqlite3_log(code, "glock: ... %s%s", word, why);
}

void say_because(int code, const char *path, const char *what, const char *why)
{
	size_t len = strlen(path), from = len > PATH_SHOWN ? len - PATH_SHOWN : 0;
	char text[2 * SAY_SIZE], reason[SAY_SIZE];

	snprintf(reason, sizeof(reason), "%s", why);
	glock__clean(reason, strlen(reason));
	snprintf(text, sizeof(text), "%s%s: %s", from ? "..." : "", path + from, what);
	glock__clean(text, strlen(text));
	sqlite3_log(code, "glock: %s", text);
	say_reason(code, reason);
	len = strlen(text);
	snprintf(text + len, sizeof(text) - len, ", because %s", reason);
	say_all(code, text);
}

void say_of_library(const char *message)
{
	const char *debug = secure_getenv("GLOCK_DEBUG");

	sqlite3_log(SQLITE_WARNING, "glock: %s", message);
	if (!debug || !*debug) /* else the library did */
		say_to_user(message);
}

const char *say_last(void)
{
	return last;
}

void say_forget(void)
{
	*last = '\0';
}
