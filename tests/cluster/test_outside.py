# SPDX-License-Identifier: MIT
# test_outside.py - tests a space of lock manager dlm from outside, on its nodes and over ssh.

import contextlib

from clients import SPACE, Client
from test_glock import glock_on
from test_o2top import NODES, rows, until, watching

LAST = True


@contextlib.contextmanager
def all_want_one(cluster, build):
    """Starts a program on each node. All programs want one lock all the time."""
    them = [Client(cluster, build, n) for n in cluster.numbers]
    try:
        for client in them:
            client.ready().send("loop 3 EX 20")
        for client in them:
            client.expect("op 3", 60)
        yield them
    finally:
        for client in them:
            client.close()
        for client in them:
            client.end()


def test_glock_shows_a_space_of_three_nodes(cluster, build):
    with all_want_one(cluster, build):
        for n in cluster.numbers:
            listed = cluster.run(n, f"{glock_on(cluster, build)} ls")
            assert f"{SPACE} " in listed and " dlm " in listed, listed
            shown = cluster.run(n, f"{glock_on(cluster, build)} stat {SPACE}")
            assert " n:10/3 " in shown, shown


def test_o2top_over_ssh_shows_a_space_of_three_nodes(cluster, build):
    """Each program is a node. The lock that they want is one row, with all of them as waiters."""
    with all_want_one(cluster, build) as them:
        names = {f"{machine}:lock_client-{client.pid}" for machine, client in zip(NODES, them)}

        def complete(frame):
            told = {node["name"]: node["state"] for node in frame["nodes"]}
            hot = [row for row in frame["rows"] if row["lockspace"] == SPACE and row["wait_s"]]
            return hot and set(hot[0]["writers"]) == names and all(told.get(n) == "ok" for n in names)

        with watching(cluster, build, "--fs", SPACE, "-t", "2") as run:
            frames = until(run, complete, 120)
    assert complete(frames[-1]), frames[-1]
    return (f"in frame {len(frames)}: {len(names)} programs, their lock lost "
            f"{rows(frames[-1:])[0]['wait_s_per_s']:.2f} s/s")
