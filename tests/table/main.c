/* SPDX-License-Identifier: MIT */
/* main.c - table-tests GROUP: runs one group of the lock table's tests, in TAP. */
#include "lockman/table/table_impl.h"

#include "rig.h"

/* The cuts with a step for each change. */
static int test_steps(void)
{
	glock__table_log_short = 0;
	return test_cut();
}

static const struct {
	const char *name;
	int (*run)(void);
} groups[] = {
    {"rules", test_rules},   {"operations", test_operations},
    {"lvb", test_lvb},       {"callbacks", test_callbacks},
    {"memory", test_memory}, {"model", test_model},
    {"cut", test_cut},       {"steps", test_steps},
};

int main(int argc, char **argv)
{
	cmocka_set_message_output(CM_OUTPUT_TAP);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (argc == 2 && !strcmp(argv[1], groups[i].name))
			return groups[i].run() ? EXIT_FAILURE : EXIT_SUCCESS;
	fprintf(stderr, "usage: %s GROUP\n", argv[0]);
	return 2;
}
