/* SPDX-License-Identifier: MIT */
/* Each event fires its probe, with type and number first; seen through a stand-in for sys/sdt.h. */
#include "check.h"
#include "trace.h"

#include <sys/sdt.h>

static char fired[64];

void sdt_fired(const char *provider, const char *name, unsigned long a, unsigned long b)
{
	snprintf(fired, sizeof(fired), "%s:%s %lu %lu", provider, name, a, b);
}

static void probes_fire(void **state)
{
	static const char *const want[GLOCK__EV_MAX] = {
	    "glock:state_change 2 77", "glock:put 2 77",   "glock:demote_rq 2 77",
	    "glock:promote 2 77",      "glock:queue 2 77", "glock:lock_time 2 77"};

	(void)state;
	assert_true(glock__have_probes);
	for (unsigned int i = 0; i < GLOCK__EV_MAX; i++) {
		const struct glock__event ev = {.name = i, .type = 2, .number = 77};

		glock__trace(NULL, &ev);
		assert_string_equal(fired, want[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(probes_fire)};

	return RUN_TESTS(tests);
}
