# SPDX-License-Identifier: MIT
"""The kernel's DLM judges the lock table, by 20,000 requests altogether: see dlm_judge.c."""

import os
import subprocess


def judge(cluster, build, nodes, requests, *options):
    agent = cluster.share(os.path.join(build, "tests/cluster/dlm_agent"))
    commands = [" ".join([*cluster.ssh(n), agent, "judge"]) for n in nodes]
    done = subprocess.run(
        [os.path.join(build, "tests/cluster/dlm_judge"), *options, "-n", str(requests), *commands],
        capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_lock_table_against_the_kernel_on_one_node(cluster, build):
    return judge(cluster, build, [1, 1, 1], 16000)


def test_lock_table_against_the_kernel_on_three_nodes(cluster, build):
    return judge(cluster, build, [1, 2, 3], 4000, "-f")
