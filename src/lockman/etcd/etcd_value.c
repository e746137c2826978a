/* SPDX-License-Identifier: MIT */
/*
 * etcd_value.c - the bytes of a lock's value; see etcd_value.h. All numbers are little-endian.
 *
 *   0   'g' 'l' 'k' and the version
 *   4   flags of the value block, then three zeros
 *   8   its sequence number
 *   12  its 32 bytes
 *   44  an entry of 20 bytes for each node
 *   end a checksum of all bytes before
 */
#include "etcd_value.h"

#include "lockman/table/table_rules.h"

#include <string.h>

static const unsigned char magic[4] = {'g', 'l', 'k', 1};

static void store(unsigned char *to, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t fetch(const unsigned char *from, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)from[i] << 8 * i;
	return value;
}

/* FNV-1a. It finds damage, not forgery. */
static uint32_t checksum(const unsigned char *at, size_t n)
{
	uint32_t sum = 2166136261u;

	while (n--)
		sum = (sum ^ *at++) * 16777619u;
	return sum;
}

size_t glock__etcd_pack(const struct glock__etcd_value *v, unsigned char out[GLOCK__ETCD_VALUE_MAX])
{
	unsigned char *at = out + GLOCK__ETCD_HEAD;

	if (!v->n && !(v->block.flags & GLOCK__TABLE_VALUE_DIED))
		return 0;
	memset(out, 0, GLOCK__ETCD_HEAD);
	memcpy(out, magic, sizeof(magic));
	out[4] = v->block.flags;
	store(out + 8, v->block.seq, 4);
	memcpy(out + 12, v->block.data, GLOCK__LVB_LEN);
	for (uint32_t i = 0; i < v->n; i++, at += GLOCK__ETCD_ENTRY) {
		const struct glock__etcd_entry *e = &v->entry[i];

		store(at, e->id, 8);
		store(at + 8, e->seq, 4);
		store(at + 12, e->flags, 4);
		at[16] = (unsigned char)e->gr;
		at[17] = (unsigned char)e->rq;
		at[18] = e->sbflags;
		at[19] = e->refused;
	}
	store(at, checksum(out, (size_t)(at - out)), 4);
	return (size_t)(at - out) + 4;
}

static bool is_sound(struct glock__etcd_value *v)
{
	for (uint32_t i = 0; i < v->n; i++) {
		const struct glock__etcd_entry *e = &v->entry[i];

		if (e->gr < GLOCK__NL || e->gr > GLOCK__EX || e->rq < GLOCK__IV ||
		    e->rq > GLOCK__EX)
			return false;
		if (e->rq != GLOCK__IV && !glock__table_quecvt[e->gr][e->rq])
			return false;
		for (uint32_t j = 0; j < i; j++)
			if (v->entry[j].id == e->id || !modes_agree(v->entry[j].gr, e->gr))
				return false;
	}
	return true;
}

const char *glock__etcd_unpack(struct glock__etcd_value *v, const void *bytes, size_t n)
{
	const unsigned char *at = bytes;

	*v = (struct glock__etcd_value){0};
	if (!n)
		return NULL;
	if (n < GLOCK__ETCD_HEAD + 4 || n > GLOCK__ETCD_VALUE_MAX ||
	    (n - GLOCK__ETCD_HEAD - 4) % GLOCK__ETCD_ENTRY)
		return "its length is wrong";
	if (memcmp(at, magic, sizeof(magic)) != 0)
		return "another version of glock, or another program, has written it";
	if (fetch(at + n - 4, 4) != checksum(at, n - 4))
		return "its checksum is wrong";
	v->block.flags = at[4] & GLOCK__TABLE_VALUE_FLAGS;
	v->block.seq = (uint32_t)fetch(at + 8, 4);
	memcpy(v->block.data, at + 12, GLOCK__LVB_LEN);
	v->n = (uint32_t)((n - GLOCK__ETCD_HEAD - 4) / GLOCK__ETCD_ENTRY);
	at += GLOCK__ETCD_HEAD;
	for (uint32_t i = 0; i < v->n; i++, at += GLOCK__ETCD_ENTRY)
		v->entry[i] = (struct glock__etcd_entry){.id = fetch(at, 8),
							 .seq = (uint32_t)fetch(at + 8, 4),
							 .flags = (uint32_t)fetch(at + 12, 4),
							 .gr = (int8_t)at[16],
							 .rq = (int8_t)at[17],
							 .sbflags = at[18],
							 .refused = at[19]};
	if (is_sound(v))
		return NULL;
	*v = (struct glock__etcd_value){0};
	return "its locks contradict each other";
}

struct glock__etcd_entry *glock__etcd_find(struct glock__etcd_value *v, uint64_t id)
{
	for (uint32_t i = 0; i < v->n; i++)
		if (v->entry[i].id == id)
			return &v->entry[i];
	return NULL;
}

int glock__etcd_demand(struct glock__etcd_value *v, uint64_t id, bool *idle)
{
	const struct glock__etcd_entry *own = glock__etcd_find(v, id);
	int mode = GLOCK__NL;

	*idle = false;
	for (uint32_t i = 0; own && i < v->n; i++) {
		const struct glock__etcd_entry *e = &v->entry[i];

		if (e == own || e->rq == GLOCK__IV || modes_agree(own->gr, e->rq))
			continue;
		if (e->flags & GLOCK__LKF_IDLE)
			*idle = true;
		mode = glock__table_join[mode][e->rq];
	}
	return mode;
}
