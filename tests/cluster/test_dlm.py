# SPDX-License-Identifier: MIT
# test_dlm.py - tests the lock table against the kernel's DLM, with 20,000 requests (dlm_judge.c).

import os
import subprocess

WITHOUT_FILE_SYSTEMS = True


def judge(cluster, build, lockspace, nodes, requests, *options):
    """Starts dlm_judge with an agent on each of these nodes. Returns the process."""
    agent = cluster.share(os.path.join(build, "tests/cluster/dlm_agent"))
    commands = [" ".join([*cluster.ssh(n), agent, lockspace]) for n in nodes]
    return subprocess.Popen(
        [os.path.join(build, "tests/cluster/dlm_judge"), *options, "-n", str(requests), *commands],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def judgement(judges):
    try:
        output = [one.communicate(timeout=250)[0] for one in judges]
    finally:
        for one in judges:
            one.kill()
    assert not any(one.returncode for one in judges), "\n".join(output)
    return "\n".join(output)


def test_lock_table_against_the_kernel_on_one_node(cluster, build):
    """Each node has three lock holders, in a lockspace of its own."""
    return judgement([judge(cluster, build, f"judge{n}", [n] * 3, 5400, "-s", str(1000000 * n))
                      for n in cluster.numbers])


def test_lock_table_against_the_kernel_on_three_nodes(cluster, build):
    return judgement([judge(cluster, build, "judge", cluster.numbers, 4000, "-f")])
