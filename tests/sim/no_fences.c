/* SPDX-License-Identifier: MIT */
/*
 * no_fences.c - the light and heavy fences of a program with hooks that has none.
 *
 * No word gets a bias there, because the fences are missing.
 */
#include "base/atom.h"

void atom_light_store32(uint32_t *addr, uint32_t value)
{
	*addr = value;
}

uint8_t atom_light_load8(const uint8_t *addr)
{
	return *addr;
}

void atom_light_fence(void)
{
}

int atom_heavy_register(void)
{
	return -EOPNOTSUPP;
}

int atom_heavy_fence(void)
{
	return -EOPNOTSUPP;
}
