# SPDX-License-Identifier: MIT
# test_mixed.py - tests that processes of musl and of glibc exclude each other in one space, also beside kills.
#
# GLOCK and GLOCK_NODE are programs of the one library, and GLOCK_OTHER and GLOCK_OTHER_NODE of the other one.

import os
import random
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))

import cli
from cli import GLOCK, NODE, SLOW, Node, main, objects, wait_for

OTHER, OTHER_NODE = os.environ.get("GLOCK_OTHER"), os.environ.get("GLOCK_OTHER_NODE")
TURNS, KILLS = 100, 5  # of each of the four processes


def node(program):
    cli.NODE = program
    return Node("s")


class Turns(threading.Thread):
    """Takes a lock in turns through a process, which it kills now and then while the process has the lock."""

    def __init__(self, program, holders, failures):
        super().__init__()
        self.program, self.holders, self.failures = program, holders, failures
        self.node = node(program)

    def turn(self, kill):
        self.node.do("nq 1 2 5 EX")
        self.node.do("wait 1")
        self.holders.append(self)
        if self.holders != [self]:
            self.failures.append("two processes have the lock")
        if kill:
            self.holders.remove(self)
            self.node.kill()
            with lock:
                self.node = node(self.program)
            return
        self.holders.remove(self)
        self.node.do("dq 1")

    def run(self):
        kills = set(random.sample(range(TURNS), KILLS))
        try:
            for i in range(TURNS):
                self.turn(i in kills)
            self.node.end()
        except Exception as e:
            self.failures.append(repr(e))


lock = threading.Lock()


def two_of_each_take_turns_beside_kills():
    holders, failures = [], []
    threads = [Turns(program, holders, failures) for program in (NODE, OTHER_NODE, NODE, OTHER_NODE)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(4 * SLOW)
        assert not t.is_alive(), "a process waits for ever"
    assert not failures, failures


def each_shows_and_waits_for_the_other():
    for mine, other in ((GLOCK, OTHER), (OTHER, GLOCK)):
        p = subprocess.Popen([mine, "run", "s", "n", "sh", "-c", "echo in; exec cat"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
        assert p.stdout.readline() == "in\n"
        r = subprocess.run([other, "run", "--verbose", "-n", "s", "n", "true"], capture_output=True, text=True, check=False)
        assert r.returncode == 1 and "process %d (sh) has it: n: sh; held by " % p.pid in r.stderr, r
        q = subprocess.Popen([other, "run", "s", "n", "echo", "got"], stdout=subprocess.PIPE, text=True)
        wait_for(lambda: [(o["lock"], o["waiting"]) for o in objects("who", "--json")] == [("s n", 1)])
        p.stdin.close()
        assert q.communicate(timeout=SLOW)[0] == "got\n"
        p.wait(SLOW)


if __name__ == "__main__":
    if not OTHER:
        print("1..0 # SKIP needs program GLOCK_OTHER")
        sys.exit()
    main([two_of_each_take_turns_beside_kills, each_shows_and_waits_for_the_other])
