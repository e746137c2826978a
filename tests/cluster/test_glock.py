# SPDX-License-Identifier: MIT
# test_glock.py - tests libglock on the kernel's DLM, through glock(1).

import os
import subprocess
import time

ENV = "env GLOCK_LOCKMAN=dlm"


def glock_on(cluster, build):
    return f"{ENV} {cluster.share(os.path.join(build, 'glock'))}"


def start_keepers(cluster, glock):
    """Starts a program on each node that keeps the lockspace, because it is left with its last
    user."""
    keepers = []
    for n in cluster.numbers:
        keepers.append(cluster.start(n, f"echo started; exec {glock} run -s glocktest keep -- sleep 1000",
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE))
    for n in cluster.numbers:
        end = time.monotonic() + 120
        while "glocktest" not in cluster.run(n, "dlm_tool ls"):
            assert time.monotonic() < end, f"node{n} does not join"
            time.sleep(0.5)
    return keepers


def stop_keepers(cluster, keepers):
    cluster.all("pkill -x sleep || :")
    for keeper in keepers:
        keeper.wait(timeout=120)


def add(glock, space, times):
    """Adds one to a number in a file, that many times, each time in a process of its own."""
    one = "read n </run/shared/number; echo $((n + 1)) >/run/shared/number"
    return (f"i=0; while [ $i -lt {times} ]; do {glock} run -x {space} number -- sh -c '{one}' || exit 1; "
            "i=$((i + 1)); done")


def test_three_nodes_count_under_ex(cluster, build):
    """Each node adds one to a number in a file, again and again. No step is lost."""
    glock, times = glock_on(cluster, build), 12
    keepers = start_keepers(cluster, glock)
    cluster.run(1, "echo 0 >/run/shared/number")
    began = time.monotonic()
    cluster.all(add(glock, "glocktest", times), timeout=250)
    took = time.monotonic() - began
    number = int(cluster.run(2, "cat /run/shared/number"))
    stop_keepers(cluster, keepers)
    assert number == times * len(cluster.numbers), number
    return f"{number} additions by {len(cluster.numbers)} nodes in {took:.0f} s, none lost"


def test_space_made_and_left_again_and_again(cluster, build):
    """No program keeps the lockspace. All nodes join and leave it all the time, and each time it is
    recovered."""
    glock, times = glock_on(cluster, build), 6
    cluster.run(1, "echo 0 >/run/shared/number")
    cluster.all(add(glock, "glockquick", times), timeout=250)
    number = int(cluster.run(2, "cat /run/shared/number"))
    assert number == times * len(cluster.numbers), number
    # and none is left behind, neither running nor stopped
    for n in cluster.numbers:
        left = cluster.run(n, "ls /sys/kernel/dlm; dlm_tool ls")
        assert "glockquick" not in left, left


def test_many_of_one_machine_make_a_space_at_once(cluster, build):
    """The programs take turns, because the kernel does not: a machine stood still after 10 to 60 of
    such rounds."""
    agent, rounds = cluster.share(os.path.join(build, "tests/cluster/dlm_agent")), 12
    said = cluster.run(1, f"""for i in $(seq {rounds}); do
            all=
            for j in 1 2 3 4; do {agent} glockonce </dev/null >/dev/null & all="$all $!"; done
            for one in $all; do wait $one || echo "in round $i one failed"; done
        done 2>&1; ls /sys/kernel/dlm""", timeout=200)
    assert "failed" not in said and "glockonce" not in said, said
    return f"{rounds} rounds of four"


def test_who_cannot_have_it_is_told(cluster, build):
    glock = glock_on(cluster, build)
    holder = cluster.start(1, f"{glock} run -x glocktest one -- sh -c 'echo held; sleep 1000'",
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert holder.stdout.readline() == "held\n"
    said = cluster.run(2, f"{glock} run -x -n glocktest one -- true; echo status $?", timeout=120)
    assert "status 1" in said, said
    said = cluster.run(2, f"{glock} run -x -w 1 glocktest one -- true; echo status $?", timeout=120)
    assert "status 1" in said, said
    cluster.run(1, "pkill -x sleep")
    holder.wait(timeout=60)
    said = cluster.run(2, f"{glock} run -x -w 60 glocktest one -- echo mine; echo status $?", timeout=120)
    assert "mine\nstatus 0" in said, said
