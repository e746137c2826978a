# SPDX-License-Identifier: MIT
"""A space of lock manager dlm seen from outside, on each of its nodes."""

from clients import SPACE, Client
from test_glock import glock_on

LAST = True


def test_glock_shows_a_space_of_three_nodes(cluster, build):
    them = [Client(cluster, build, n) for n in cluster.numbers]
    try:
        for client in them:
            client.ready().send("loop 3 EX 20")
        for client in them:
            client.expect("op 3", 60)
        for n in cluster.numbers:
            listed = cluster.run(n, f"{glock_on(cluster, build)} ls")
            assert f"{SPACE} " in listed and " dlm " in listed, listed
            shown = cluster.run(n, f"{glock_on(cluster, build)} stat {SPACE}")
            assert " n:10/3 " in shown, shown
    finally:
        for client in them:
            client.close()
        for client in them:
            client.end()
