# SPDX-License-Identifier: MIT
# test_trace.py - tests glock trace: events of all nodes in the kernel's text, only while it runs.

import re
import subprocess
import time

from cli import GLOCK, SLOW, Node, glock, main, objects, wait_for

LINE = re.compile(
    r" *node-\d+ +\d+\.\d{6}: gfs2_(glock_state_change|glock_put|demote_rq|promote|glock_queue|glock_lock_time): "
    r"0,0 glock \d+:\d+ "
)


def follow(seconds, *options):
    return subprocess.Popen(
        [GLOCK, "trace", "-t", str(seconds), *options, "s"], stdout=subprocess.PIPE, text=True
    )


def read_until(p, done):
    """Reads the output up to this text, or until the time is over."""
    seen = line = "\n"
    while line and not done(seen):
        line = p.stdout.readline()
        seen += line
    p.terminate()
    seen += p.stdout.read()
    p.wait(timeout=SLOW)
    return seen


def events_come_while_somebody_looks():
    a, b = Node("s"), Node("s")
    a.do("cached 6 50 EX")
    p = follow(3)
    seen = ""
    end = time.monotonic() + 2
    while time.monotonic() < end:
        for node in (a, b):
            node.do("nq 1 6 5 EX")
            node.do("wait 1")
            node.do("dq 1")
        time.sleep(0.05)
    seen = p.communicate(timeout=SLOW)[0]
    lines = seen.splitlines()
    assert p.returncode == 0 and lines, lines
    for line in lines:
        assert LINE.match(line) or line.startswith("# "), line
    for what in ("glock_queue: 0,0 glock 6:5 queue EX", "glock_queue: 0,0 glock 6:5 dequeue EX",
                 "promote: 0,0 glock 6:5 promote EX", "state NL to EX tgt:EX", "demote EX to NL",
                 "status:0 flags:"):
        assert what in seen, what
    times = [float(re.search(r" (\d+\.\d{6}): ", line).group(1)) for line in lines if line[0] != "#"]
    assert times == sorted(times)
    assert {re.search(r"node-(\d+)", line).group(0) for line in lines if line[0] != "#"}
    a.end(), b.end()


def by_the_queue(node):
    """Tells whether a cached lock uses the queue. Requests on the fast path are not timed."""
    node.do("take 4 9 EX")
    held = [h for o in objects("stat", "--json", "s") for h in o["holders"]]
    node.do("take 4 9 EX")  # this drops the lock
    assert len(held) == 1, held
    return "holds_s" in held[0]


def every_grant_is_an_event_of_cached_locks_too():
    a = Node("s")
    a.do("cached 4 5 EX")
    assert not by_the_queue(a)
    p = follow(SLOW)
    wait_for(lambda: by_the_queue(a))
    for _ in range(3):
        a.do("cached 4 5 EX")
    seen = read_until(p, lambda text: text.count("dequeue EX") == 15)
    for number in range(5):
        for what in ("queue EX", "promote EX", "dequeue EX"):
            n = len(re.findall(r": 0,0 glock 4:%d %s\n" % (number, what), seen))
            assert n == 3, "%d %s of 4:%d: %s" % (n, what, number, seen)
    wait_for(lambda: not by_the_queue(a))
    a.end()


def one_node_can_be_chosen():
    a, b = Node("s"), Node("s")
    p = follow(SLOW, "-n", str(b.pid))
    wait_for(lambda: by_the_queue(b))
    a.do("cached 6 5 EX")
    b.do("cached 4 5 EX")
    seen = read_until(p, lambda text: "glock 4:4 dequeue EX" in text)
    assert "glock 4:4 " in seen and "glock 6:" not in seen, seen
    a.end(), b.end()


def who_comes_later_is_followed_too():
    a = Node("s")
    p = follow(SLOW)
    wait_for(lambda: by_the_queue(a))
    b = Node("s")
    wait_for(lambda: by_the_queue(b))
    a.do("cached 6 5 EX")
    b.do("cached 4 5 EX")

    def both(text):
        return all(re.search(r"node-%d .*gfs2_promote: 0,0 glock %d:" % (node.pid, number), text)
                   for node, number in ((a, 6), (b, 4)))
    seen = read_until(p, both)
    assert both(seen), seen
    a.end(), b.end()


def nobody_to_follow():
    a = Node("s")
    assert glock("trace", "-t", "1", "-n", "1", "s").returncode == 66
    assert glock("trace", "-t", "x", "s").returncode == 64
    assert glock("trace", "nothing").returncode == 66
    a.end()


if __name__ == "__main__":
    main([events_come_while_somebody_looks, every_grant_is_an_event_of_cached_locks_too, one_node_can_be_chosen,
          who_comes_later_is_followed_too, nobody_to_follow])
