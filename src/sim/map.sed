# map.sed - adds the functions of glock-sim.h to the list of exported functions.
/^GLOCK_0\.2 {/,/^}/{
/^global:/a\
	glock_sim_fail;\
	glock_sim_node;\
	glock_sim_now;\
	glock_sim_random;\
	glock_sim_run;\
	glock_sim_sleep;\
	glock_sim_thread;
}
