/* SPDX-License-Identifier: MIT */
/* The public header in C++: it compiles, links, and the scope guard works. TAP. */
#include "glock.h"

#include <cstdio>

static int use()
{
	glock_space_options o = {};
	glock_space *space;
	glock *gl;

	o.size = sizeof(o);
	if (glock_space_open("c++", &o, &space) || glock_get(space, GLOCK_INODE, 1, &gl))
		return 1;
	{
		GLOCK_SCOPE glock_holder gh = GLOCK_HOLDER_NONE;

		glock_holder_init(&gh, gl, GLOCK_EX, 0);
		if (glock_nq(&gh) || !glock_valid(&gh))
			return 2;
	}
	glock_put(gl);
	return glock_space_close(space) ? 3 : 0;
}

int main()
{
	int failed = use();

	std::printf("1..1\n%sok 1 - header in C++\n", failed ? "not " : "");
	return failed;
}
