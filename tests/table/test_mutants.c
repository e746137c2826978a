/* SPDX-License-Identifier: MIT */
/* test_mutants.c - the tests of the lock table find each of its mutants; see mutant.h. */
#include "mutant.h"
#include "rig.h"

enum { SECONDS = 30 }; /* of CPU for a group; a mutant may be an endless loop */

static bool some_group_fails(const struct mutant *m)
{
	static int (*const groups[])(void) = {
	    test_rules,  test_operations, test_lvb, test_callbacks,
	    test_memory, test_model,      test_cut,
	};

	(void)m;
	/* Mutants show early. */
	setenv("TABLE_OPERATIONS", "3000", 1);
	setenv("TABLE_SEQUENCES", "4", 1);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		mutant_limit(SECONDS);
		if (groups[i]())
			return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	return mutants_main(argc, argv, "table", some_group_fails);
}
