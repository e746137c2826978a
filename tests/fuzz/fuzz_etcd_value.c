/* SPDX-License-Identifier: MIT */
/*
 * fuzz_etcd_value.c - fuzzes the value of a lock's key in etcd, and operations on it.
 *
 * The bytes are a value as etcd has it, without the checksum, and operations of two bytes behind.
 */
#include "fuzz.h"
#include "lockman/etcd/etcd_value.h"

enum { NODES = 8 };

static bool is_dead(void *arg, uint64_t id)
{
	return id == *(const uint64_t *)arg;
}

/* The value can be stored, and has no modes that conflict. */
static void check_value(const struct glock__etcd_value *v)
{
	unsigned char bytes[GLOCK__ETCD_VALUE_MAX], again[GLOCK__ETCD_VALUE_MAX];
	size_t n = glock__etcd_pack(v, bytes);
	struct glock__etcd_value got;

	CHECK(!glock__etcd_unpack(&got, bytes, n));
	CHECK(glock__etcd_pack(&got, again) == n && !memcmp(bytes, again, n));
}

static void operate(struct glock__etcd_value *v, uint8_t what, uint8_t how, uint32_t seq)
{
	static const int modes[] = {GLOCK__NL, GLOCK__CW, GLOCK__PR, GLOCK__EX};
	static const uint32_t flags[] = {0, GLOCK__LKF_NOQUEUE, GLOCK__LKF_IDLE, GLOCK__LKF_VALBLK};
	static const char lvb[GLOCK__LVB_LEN] = "value";
	uint64_t dead = how >> 4, id = v->n ? v->entry[what % v->n].id : what % NODES + 1u;
	struct glock__etcd_entry *own = glock__etcd_find(v, id = what & 8 ? what % NODES + 1u : id);
	const struct glock__etcd_op op = {.kind = (what >> 4) % (GLOCK__ETCD_IN_USE + 1),
					  .id = id,
					  .seq = own && how & 64 ? own->seq : seq,
					  .believed = own ? own->gr : GLOCK__NL,
					  .mode = modes[how & 3],
					  .flags = flags[how >> 2 & 3],
					  .lvb = lvb,
					  .dead = is_dead,
					  .arg = &dead};
	struct glock__etcd_result r;
	bool idle;

	glock__etcd_step(v, &op, &r);
	check_value(v);
	CHECK(r.n_tell <= GLOCK__ETCD_ENTRIES && r.n_dead <= GLOCK__ETCD_ENTRIES);
	CHECK(glock__etcd_demand(v, id, &idle) <= GLOCK__EX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char bytes[GLOCK__ETCD_VALUE_MAX + 1] = {'g', 'l', 'k', 1};
	struct glock__etcd_value v;
	size_t n = size ? data[0] : 0, len = GLOCK__ETCD_HEAD + n % 16 * GLOCK__ETCD_ENTRY;
	uint32_t sum = 2166136261u;

	if (size < 1 + len - 4)
		return 0;
	glock__etcd_unpack(&v, data, size);
	memcpy(bytes + 4, data + 1, len - 4);
	for (size_t i = 0; i < len; i++)
		sum = (sum ^ bytes[i]) * 16777619u;
	for (size_t i = 0; i < 4; i++)
		bytes[len + i] = (unsigned char)(sum >> 8 * i);
	if (glock__etcd_unpack(&v, bytes, len + 4))
		return 0;
	check_value(&v);
	for (size_t at = 1 + len - 4; at + 1 < size; at += 2)
		operate(&v, data[at], data[at + 1], (uint32_t)at);
	return 0;
}
