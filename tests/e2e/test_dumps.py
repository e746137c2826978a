# SPDX-License-Identifier: MIT
# test_dumps.py - one dump of all nodes, or of one node, as people have them: made of recordings by
# leaving files out. The blocker and the age stay right, and healthy dumps raise no alarm.

import json
import os
import shutil
import subprocess

import tap

O2TOP = os.environ["O2TOP"]
CAPTURES = os.environ["O2TOP_CAPTURES"]
DATA = os.environ["O2TOP_DATA"]
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC", "XDG_CONFIG_HOME": "/nowhere"}
OK, WARNING, CRITICAL, UNKNOWN = range(4)

# recording, sample, nodes (none: all), status of --check, words of the sentence
DUMPS = [
    ("flock-gfs2", "t1", "", WARNING, "a process on node3 holds EX (flock); node1 waits 8.38 s"),
    ("flock-gfs2", "t1", "node3", WARNING, "a process on node3 holds EX (flock); the DLM's node 1 (pid 1989) has asked node3, the lock's master, for "
     "it in EX for 8.57 s"),
    ("flock-gfs2", "t1", "node1", WARNING, "the lock's master is the DLM's node 3, which is dead or not watched; node1 waits 8.38 s"),
    ("flock-ocfs2", "t1", "", WARNING, "a process on node3 holds EX (flock); node1 waits 8.27 s"),
    ("flock-ocfs2", "t1", "node3", UNKNOWN, "a process on node3 holds EX (flock); the DLM's node 1 has asked node3, the lock's master, for "
     "it in EX, since when"),
    ("flock-ocfs2", "t1", "node1", WARNING, "the lock's master is the DLM's node 3, which is dead or not watched; node1 waits 8.27 s"),
    ("gfs2-hang", "t1", "", WARNING, "the DLM's node 3, which is dead or not watched, holds EX (asked for by pid 1669 there); "
     "node1 (pid 1770 hotload) and node2"),
    ("gfs2-hang", "t1", "node1", WARNING, "the lock's master is the DLM's node 2, which is dead or not watched; node1 (pid 1770 "
     "hotload) waits 6.01 s"),
    ("ocfs2-hang", "t1", "", UNKNOWN, "the lock's master is the DLM's node 3, which is dead or not watched; node1 and node2 wait"),
    ("power-cut", "t4", "node1", CRITICAL, ""),
]


def run(*args):
    return subprocess.run([O2TOP, "--no-config", *args], env=ENV, capture_output=True, text=True, timeout=120, check=False)


def test_the_blocker_and_the_age_of_one_dump(folder):
    for number, (name, sample, node, status, words) in enumerate(DUMPS):
        dump = os.path.join(folder, str(number), sample)
        source = os.path.join(CAPTURES, name, sample)
        shutil.copytree(os.path.join(source, node), os.path.join(dump, node))
        said = run("-b", "--details", dump).stdout
        assert words in said, (name, node, said)
        done = run("--check", dump)
        assert done.returncode == status, (name, node, done)


def healthy(folder):
    """Yields 24 dumps of one node."""
    for sample in range(5):
        for node in range(1, 4):
            yield os.path.join(CAPTURES, "ocfs2-hot", f"t{sample}", f"node{node}")
    for name, sample, node in (("mail-ocfs2", "t0", 1), ("mail-ocfs2", "t0", 2), ("mail-ocfs2", "t2", 1), ("mail-ocfs2", "t3", 1),
                               ("flock-gfs2", "t1", 2), ("flock-ocfs2", "t1", 2), ("gfs2-hot", "t3", 1)):
        yield os.path.join(CAPTURES, name, sample, f"node{node}")
    mounted = "G:  s:SH n:2/17 f:Iqob t:SH d:EX/0 a:0 v:0 r:4 m:50 p:0\n H: s:SH f:eEH e:0 p:0 [(ended)] gfs2_fill_super+0x1\n"
    asked = "G:  s:EX n:2/805f f:lDqob t:EX d:UN/40000 a:0 v:0 r:4 m:50 p:1\n H: s:EX f:H e:0 p:77 [app] gfs2_write+0x1/0x2 [gfs2]\n"
    for name, text in (("mounted", mounted), ("asked", mounted + asked)):
        node = os.path.join(folder, name)
        os.makedirs(os.path.join(node, "gfs2", "c:d"))
        for file, content in (("gfs2/c:d/glocks", text), ("realtime", "1795154849.0\n"), ("uptime", "900.0 1.0\n")):
            with open(os.path.join(node, file), "w", encoding="ascii") as f:
                f.write(content)
        yield node


def test_healthy_dumps_raise_no_alarm(folder):
    dumps = list(healthy(folder))
    assert len(dumps) >= 20
    for dump in dumps:
        done = run("--check", dump)
        assert done.returncode == OK, (dump, done)


def test_two_glimpses_are_not_one_wait(_):
    """A process of node3 made 57 flocks in 11 s, and waited for 0.79 s at most. Both samples show it wait."""
    last = json.loads(run("--json", os.path.join(DATA, "slow-flock.rec")).stdout.splitlines()[-1])
    row = next(row for row in last["rows"] if row["ino"] == 10126)
    assert row["waiting"] == 1 and row["oldest_wait_s"] == 0, row
    assert row["oldest_wait_max_s"] <= last["interval_s"] and row["longest_wait_s"] is None, row
    assert row["wait_s"] <= last["interval_s"], row


tap.run(globals())
