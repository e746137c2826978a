# tap_skip.sed - turns cmocka's line of a skipped test into a skip of TAP. The test printed the
# reason before.
#
# cmocka 1.1.5 prints "not ok 9 # SKIP name" and no reason. The test prints "# SKIP reason" first.
/^# SKIP /{
	h
	d
}
/^\(not \)\{0,1\}ok [0-9]* # SKIP /{
	G
	s/^\(not \)\{0,1\}\(ok [0-9]*\) # SKIP \([^\n]*\)\n# SKIP \([^\n]*\)$/\2 - \3 # SKIP \4/
	P
	s/.*//
	x
	d
}
