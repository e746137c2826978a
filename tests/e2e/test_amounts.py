# SPDX-License-Identifier: MIT
# test_amounts.py - o2top's seconds on GFS2 beside the time that processes truly waited.
#
# Two loads wrote down how long each of their calls took. The kernel traced seven other loads, and their
# traces tell the time of each wait. The table of all loads is in the output.

import collections
import json
import os
import re
import subprocess
import tarfile

import tap
import trace_load

O2TOP = os.environ["O2TOP"]
DATA = os.environ["O2TOP_DATA"]
# Of these loads each large row is within a factor of 2. The others' rows are printed, and their totals hold.
ROWS_HOLD = {"mail", "web", "trace", "direct", "mix"}
LARGEST, LEAST_SHARE = 5, 0.01
INODE_TYPES = {2, 5, 6}


def unpack(name, folder):
    with tarfile.open(os.path.join(DATA, f"{name}.tar.xz")) as archive:
        archive.extractall(folder)
    return os.path.join(folder, name)


def said(recording):
    """Returns o2top's seconds: of each row, and in sum."""
    run = subprocess.run([O2TOP, "--no-config", "--json", "--replay", recording], capture_output=True, text=True,
                         check=True, env=dict(os.environ, LC_ALL="C.UTF-8"))
    rows, total = collections.Counter(), 0
    for frame in map(json.loads, run.stdout.splitlines()):
        total += frame["totals"]["wait_s_per_s"] * frame["interval_s"]
        for row in frame["rows"]:
            rows[row["ino"] or row["path"]] += row["wait_s_per_s"] * frame["interval_s"]
    return rows, total


def compare(name, recording, truth, rows_of_truth):
    """Returns a line for the total and for each large row, and whether the row or total is wrong."""
    rows, total = said(recording)
    every = sum(truth.values())
    largest = [row for row in rows_of_truth.most_common(LARGEST) if row[1] >= LEAST_SHARE * every]
    lines = [("total", every, total, True)] + [(row, true, rows[row], name in ROWS_HOLD) for row, true in largest]
    return [(f"{name:7} {what!s:>7} true {true:7.2f} s, o2top {found:7.2f} s: {found / true:.2f}",
             holds and not true / 2 <= found <= true * 2) for what, true, found, holds in lines]


def check(lines):
    for text, _ in lines:
        print(f"#   {text}")
    wrong = [text for text, bad in lines if bad]
    assert not wrong, wrong


def busy(recording):
    """Returns the seconds of each file's calls: of all files, and of those that several nodes use. A node
    does not wait for another one for a file of its own."""
    every, nodes = collections.Counter(), collections.defaultdict(set)
    with open(f"{recording}/truth.txt", encoding="utf-8") as f:
        for node, inode, seconds in re.findall(r"(?m)^(\w+): \w+ \w+ ino (\d+) .* busy_s ([\d.]+)", f.read()):
            every[int(inode)] += float(seconds)
            nodes[int(inode)].add(node)
    return every, collections.Counter({i: s for i, s in every.items() if len(nodes[i]) > 1})


def test_a_mail_server(folder):
    recording = unpack("mail-gfs2", folder)
    check(compare("mail", recording, *busy(recording)))


def test_a_web_server_with_a_scan(folder):
    recording = unpack("web-gfs2", folder)
    check(compare("web", recording, *busy(recording)))


def traced(name, folder, traces):
    waited = trace_load.make(traces, f"{folder}/made-{name}")
    rows = collections.Counter()
    for (kind, number), seconds in waited.items():
        rows[number] += seconds * (kind in INODE_TYPES)
    check(compare(name, f"{folder}/made-{name}", waited, rows))


def test_a_traced_load(folder):
    place = unpack("gfs2-trace", folder)
    traced("trace", folder, {node: f"{place}/{node}/trace" for node in ("node1", "node2", "node3")})


def test_six_traced_loads(folder):
    place = unpack("gfs2-loads", folder)
    for load in ("direct", "flocks", "mix", "rename", "middle", "umount"):
        nodes = [node for node in ("node1", "node2", "node3") if os.path.exists(f"{place}/{load}-{node}/trace")]
        traced(load, folder, {node: f"{place}/{load}-{node}/trace" for node in nodes})


tap.run(globals())
