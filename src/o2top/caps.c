/* SPDX-License-Identifier: MIT */
#include "caps.h"

#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void caps_drop(enum caps_for what)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};
	uint64_t keep = 0, permitted;

	if (what == CAPS_SEE_TASKS || what == CAPS_FIND_PATHS)
		keep |= UINT64_C(1) << CAP_SYS_PTRACE;
	if (what == CAPS_FIND_PATHS)
		keep |= UINT64_C(1) << CAP_DAC_READ_SEARCH;
	if (syscall(SYS_capget, &header, data) < 0)
		return;
	permitted = (data[0].permitted | (uint64_t)data[1].permitted << 32) & keep;
	/* what the process starts must not have them again because it is root's */
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (!(keep >> cap & 1))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	data[0].permitted = data[0].effective = (uint32_t)permitted;
	data[1].permitted = data[1].effective = (uint32_t)(permitted >> 32);
	data[0].inheritable = data[1].inheritable = 0;
	syscall(SYS_capset, &header, data);
}
