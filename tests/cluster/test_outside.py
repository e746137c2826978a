# SPDX-License-Identifier: MIT
"""A space of lock manager dlm seen from outside: o2top from here through ssh, glock on a node."""

from clients import SPACE, Client
from test_glock import glock_on
from test_o2top import o2top, rows


def test_o2top_shows_a_space_of_three_nodes(cluster, build):
    them = [Client(cluster, build, n) for n in cluster.numbers]
    try:
        for client in them:
            client.ready().send("loop 3 EX 20")
        for client in them:
            client.expect("op 3", 60)
        frames = o2top(cluster, build, "--fs", "glock", "-t", "4", "-i", "5")
        hot = [row for row in rows(frames) if row["ino"] == 3]
        assert hot, frames[-1]
        nodes = {n["name"] for row in hot for n in row["nodes"]}
        assert nodes >= {f"node{n}" for n in cluster.numbers}, (nodes, hot[-1])
        listed = cluster.run(2, f"{glock_on(cluster, build)} ls")
        assert SPACE in listed, listed
    finally:
        for client in them:
            client.close()
        for client in them:
            client.end()
    return f"{len(hot)} frames with the lock that {len(nodes)} nodes want"
