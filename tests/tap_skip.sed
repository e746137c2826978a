# tap_skip.sed - turns cmocka's line of a skipped test into a skip of TAP. The test printed the
# reason before.
#
# cmocka 1 prints "not ok 9 # SKIP name", cmocka 2 "ok 9 - name # SKIP", and neither has a reason. The test
# prints "# SKIP reason" first.
/^# SKIP /{
	h
	d
}
s/^ok \([0-9]*\) - \(.*\) # SKIP$/ok \1 # SKIP \2/
/^\(not \)\{0,1\}ok [0-9]* # SKIP /{
	G
	s/^\(not \)\{0,1\}\(ok [0-9]*\) # SKIP \([^\n]*\)\n# SKIP \([^\n]*\)$/\2 - \3 # SKIP \4/
	P
	s/.*//
	x
	d
}
