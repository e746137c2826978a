# SPDX-License-Identifier: MIT
# test_pages.py - tests a node of a kernel with pages of 64 KiB, which large_pages.c plays.

import os

from cli import Node, main, objects, out

LOCKS = 3000  # their records take several pages


def large():
    return Node("s", "env", "LD_PRELOAD=" + os.environ["GLOCK_LARGE_PAGES"])


def others_see_its_locks():
    node = large()
    node.do("nq 1 2 17 EX")
    assert out("ls").splitlines()[-1].split()[0] == "s", out("ls")
    (one,) = [o for o in objects("stat", "--json", "s") if o.get("number") == 17]
    assert one["holders"], one
    node.end()


def each_area_grows_by_whole_pages():
    node = large()
    node.do(f"cached 2 {LOCKS} SH")
    assert sum("number" in o for o in objects("stat", "--json", "s")) == LOCKS
    node.end()


def it_shares_with_nodes_of_small_pages():
    a, b = large(), Node("s")
    for i in range(20):
        for node in (a, b):
            node.do("take 2 5 EX")
            node.do("take 2 5 EX")
    a.end(), b.end()


main([others_see_its_locks, each_area_grows_by_whole_pages, it_shares_with_nodes_of_small_pages])
