/* SPDX-License-Identifier: MIT */
/*
 * peek_user.c - the name of a user.
 */
#include "find_spaces.h"

#include <pwd.h>
#include <stdio.h>

const char *glock__user_name(uid_t uid)
{
	static _Thread_local uid_t last = (uid_t)-1;
	static _Thread_local char name[64];
	const struct passwd *pw;

	if (uid == last) /* thousands of lines may have the same user */
		return name;
	pw = getpwuid(uid);
	if (pw)
		snprintf(name, sizeof(name), "%s", pw->pw_name);
	else
		snprintf(name, sizeof(name), "%u", (unsigned int)uid);
	last = uid;
	return name;
}
