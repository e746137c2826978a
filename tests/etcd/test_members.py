# SPDX-License-Identifier: MIT
# test_members.py - three members of etcd and four nodes, which are killed and stopped.
#
# Usage: with_etcd.sh PLUGINS python3 test_members.py NODE [SECONDS DEATHS [SEED]]. Without SECONDS a short form
# runs, with one of each event. members_node.c has the storage that compares tokens.

import base64
import collections
import ctypes
import mmap
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

from etcd import ENDPOINTS, b64, tell

NODES, MEMBERS = 4, len(ENDPOINTS)
COUNTERS = "writes refused overlaps disorder lost deaths no_values".split()
KEYS = "/glock/members/"
IPTABLES = "iptables-legacy"  # in a network namespace of this test; only the long form drops packets
LIMIT = 120  # seconds; the longest pause that is no hang, on a busy machine


class File(ctypes.Structure):  # as in members_node.c
    _fields_ = [("cell", ctypes.c_uint64 * 4)] + [(name, ctypes.c_uint64) for name in COUNTERS]


class Nodes:
    def __init__(self, program):
        self.program = program
        self.store = tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="glock-members-")
        self.store.truncate(mmap.PAGESIZE)
        self.file = File.from_buffer(mmap.mmap(self.store.fileno(), mmap.PAGESIZE))
        self.p = [self.start() for _ in range(NODES)]

    def start(self):
        return subprocess.Popen([self.program, self.store.name], stderr=sys.stderr)

    def kill(self, i):
        self.p[i].kill()
        self.p[i].wait()
        self.p[i] = self.start()

    def end(self):
        for p in self.p:
            p.kill()
            p.wait()

    def counts(self):
        return {name: getattr(self.file, name) for name in COUNTERS}


def member_pid(i):
    with open("%s/pid%d" % (os.environ["ETCD_DIR"], i + 1)) as f:
        return int(f.read())


def signal_member(i, sig):
    try:
        os.kill(member_pid(i), sig)
    except ProcessLookupError:
        pass  # it was killed and has not started again


def leader():
    """Returns the number of the leader, or of any member while there is none."""
    ids = {}
    for i in range(MEMBERS):
        try:
            s = tell("maintenance/status", i)
            ids[s["header"]["member_id"]] = i
            found = s.get("leader")
        except OSError:
            continue
        if found in ids:
            return ids[found]
    return random.randrange(MEMBERS) if not ids else ids.get(found, next(iter(ids.values())))


def follower():
    return (leader() + random.randrange(1, MEMBERS)) % MEMBERS


def stop(pid, seconds):
    try:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass


def revoke(nodes, _):
    """Ends the lease of a node that stands still. When the node goes on, its gate may be open."""
    pid = random.choice(nodes.p).pid
    os.kill(pid, signal.SIGSTOP)
    try:
        keys = tell("kv/range", key=b64(KEYS + "n/"), range_end=b64(KEYS + "n0")).get("kvs", [])
        for kv in keys:
            if base64.b64decode(kv["value"]).split()[0] == b"%d" % pid:
                tell("lease/revoke", ID=str(int(base64.b64decode(kv["key"])[-16:], 16)))
        time.sleep(3)  # less than the gate stays open
    except OSError:
        pass  # the member is down
    os.kill(pid, signal.SIGCONT)


def drop(_, seconds):
    """Drops the packets to or from one port of a member for a time: requests, answers, or raft."""
    with open(os.environ["ETCD_DIR"] + "/ports") as f:
        port = random.choice([p for line in f for p in line.split()[1:]])
    rule = ["INPUT", "-p", "tcp", random.choice(["--dport", "--sport"]), port, "-j", "DROP"]
    subprocess.run([IPTABLES, "-A", *rule], check=True)
    time.sleep(seconds)
    subprocess.run([IPTABLES, "-D", *rule], check=True)


def compact_for_ever(done):
    """Removes old revisions each second, and so events that a watch has not heard yet."""
    while not done.wait(1):
        try:
            revision = tell("kv/range", random.randrange(MEMBERS), key=b64("x"))["header"]["revision"]
            tell("kv/compaction", random.randrange(MEMBERS), revision=revision)
        except OSError:
            pass  # the member is down, or another request was first


EVENTS = {
    "leader killed": lambda n, s: signal_member(leader(), signal.SIGKILL),
    "follower killed": lambda n, s: signal_member(follower(), signal.SIGKILL),
    "leader stopped": lambda n, s: stop(member_pid(leader()), s),
    "follower stopped": lambda n, s: stop(member_pid(follower()), s),
    "node stopped": lambda n, s: stop(random.choice(n.p).pid, s),
    "lease revoked": revoke,
    "packets dropped": drop,
    "node killed": lambda n, s: n.kill(random.randrange(NODES)),
}


class Pauses:
    """Measures how long no node gets a lock from etcd that another has had."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.longest = {}
        self.begin("start")
        threading.Thread(target=self.measure, daemon=True).start()

    def begin(self, name):
        self.name, self.since, self.before = name, time.monotonic(), self.tokens()

    def tokens(self):
        return sum(cell >> 32 for cell in self.nodes.file.cell)

    def measure(self):
        while True:
            tokens, now = self.tokens(), time.monotonic()
            self.longest[self.name] = max(self.longest.get(self.name, 0), now - self.since)
            if tokens != self.before:
                self.before, self.since = tokens, now
            time.sleep(0.02)

    def end(self):
        """Waits until a node gets a lock."""
        tokens, start = self.tokens(), time.monotonic()
        while self.tokens() == tokens:
            assert time.monotonic() - start < LIMIT, "the nodes hang"
            time.sleep(0.01)


def events(seconds, deaths):
    """Yields the name of an event, how long it takes, and the time until the next."""
    if not seconds:
        for name in [*EVENTS, "lease revoked"]:
            if name != "packets dropped":
                yield name, 6 if name == "node stopped" else 1.5, 0
        return
    end = time.monotonic() + seconds
    every = seconds / deaths
    while time.monotonic() < end:
        yield "node killed", 0, random.uniform(0, every)
        name = random.choice([e for e in EVENTS if e != "node killed"])
        yield name, random.choice([1, 2, 4, 8, 30]), max(0, random.uniform(0, every))


def main(program, seconds=0, deaths=1, seed=None):
    seed = int(seed or time.time())
    random.seed(seed)
    print("1..1\n# seed %d" % seed, flush=True)
    nodes = Nodes(program)
    done = threading.Event()
    threading.Thread(target=compact_for_ever, args=(done,), daemon=True).start()
    pauses, happened = Pauses(nodes), collections.Counter()
    try:
        pauses.end()
        for name, takes, then in events(float(seconds), int(deaths)):
            happened[name] += 1
            pauses.begin(name)
            EVENTS[name](nodes, takes)
            pauses.end()
            time.sleep(then)
    finally:
        done.set()
        nodes.end()
    counts = nodes.counts()
    for name, n in happened.items():
        print("# %-16s %4d times, no lock for %.1f s at most" % (name, n, pauses.longest[name]))
    print("# %s" % ", ".join("%s %d" % c for c in counts.items()))
    wrong = counts["overlaps"] + counts["disorder"] + counts["lost"]
    print("%sok 1 - no overlap, no value lost, no token out of order" % ("not " if wrong else ""))
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
