/* SPDX-License-Identifier: MIT */
/*
 * hooks.c - the atomics of the sources that are compiled without the model.
 *
 * These sources come from the library of the simulator. An execution is wrong if such a source uses
 * a word of the model.
 */
#include "../../src/base/atom.h" /* not the one of the model */

#include "memory.h"

#include <string.h>

void glock__atom_hook(enum glock__atom_op op, const void *addr, unsigned int size)
{
	uint64_t value = 0;

	if (memory_knows(addr))
		memory_wrong("a source without the model uses a word of the model");
	if (op == GLOCK__ATOM_PUT || op == GLOCK__ATOM_STORE)
		return;
	memcpy(&value, addr, size);
	memory_saw(value);
}
