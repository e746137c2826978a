# SPDX-License-Identifier: MIT
# test_phases.py - tests percentiles and phases of GFS2's waits on the traces of three real nodes.
#
# The traces have the events gfs2_glock_lock_time and gfs2_demote_rq. Each node's stamps count from
# its own boot. With the offsets below, the gives of one node cover most of the waits of another.
# This test reckons the phases in its own way.

import json
import os
import re
import subprocess

import tap

O2TOP, CAPTURES = os.environ["O2TOP"], os.environ["O2TOP_CAPTURES"]
OFFSET = {"node1": 0.0, "node2": 0.6282, "node3": 1.5202}
EPOCH, FRAME, END = 1000000.0, 10.0, 345.0  # of node1
EVENT = re.compile(r"(\d+\.\d+): (gfs2_\w+): 254,0 glock (\d+:\d+) (.*)")


def events(node):
    with open(os.path.join(CAPTURES, "gfs2-phases", node, "trace"), encoding="utf-8") as f:
        for line in f:
            found = EVENT.search(line)
            if float(found[1]) <= END - OFFSET[node]:
                yield line, float(found[1]), found[2], found[3], found[4]


def waits_and_gives(node):
    """Returns lists of (glock, begin, end) by the clock of node1."""
    waits, gives, demands, means = [], [], {}, {}
    for _, at, name, glock, rest in events(node):
        at += OFFSET[node]
        if name == "gfs2_demote_rq":
            if rest.endswith(" remote") and not rest.startswith("demote NL"):
                demands.setdefault(glock, at)
            continue
        number = dict(re.findall(r"(\w+):(\S+)", rest))
        mean = number["srttb"]
        waited = number["status"] in ("-11", "-35") or (
            number["status"] == "0" and means.get(glock, mean) != mean)
        means[glock] = mean
        begin = at - 1e-9 * int(number["tdiff"])
        if waited:
            waits.append((glock, begin, at))
            if number["status"] == "0" and glock in demands and begin + 50e-6 >= demands[glock]:
                del demands[glock]
        elif glock in demands and begin + 50e-6 >= demands[glock]:
            gives.append((glock, demands.pop(glock), begin))
    return waits, gives


def reckon(glock):
    """Returns the waits of the frame: lengths, and the part that the gives of others cover."""
    of = {node: waits_and_gives(node) for node in OFFSET}
    lengths, covered = [], []
    for node, (waits, _) in of.items():
        others = sorted(g[1:] for other in of if other != node for g in of[other][1] if g[0] == glock)
        for begin, end in [w[1:] for w in waits if w[0] == glock and w[2] > END - FRAME]:
            lengths.append(end - begin)
            at, give = begin, 0.0
            for first, last in others:
                first, last = max(first, at), min(last, end)
                if last > first:
                    give, at = give + last - first, last
            covered.append(give)
    return sorted(lengths), covered


def recording(folder, skip=()):
    for t, end in ((0, END - FRAME), (1, END)):
        for node, offset in OFFSET.items():
            place = f"{folder}/t{t}/{node}"
            os.makedirs(f"{place}/gfs2/lab:fs1")
            files = {"realtime": f"{EPOCH + end:.6f}\n", "uptime": f"{end - offset:.6f} 1.0\n",
                     "gfs2/lab:fs1/glocks": "G:  s:SH n:2/244b f:Iqob t:SH d:EX/0 a:0 v:0 r:3 m:50 p:1\n",
                     "gfs2/lab:fs1/glstats": "G: n:2/244b rtt:1000/500 rttb:1000/500 irt:1000/500 dcnt: 1 qcnt: 1\n"}
            if t and node not in skip:
                files["trace"] = "".join(event[0] for event in events(node))
            for name, text in files.items():
                with open(f"{place}/{name}", "w", encoding="utf-8") as f:
                    f.write(text)
    return folder


def run(*arguments):
    return subprocess.run([O2TOP, "--no-config", *arguments], capture_output=True, text=True, check=True).stdout


def row_of(folder):
    frame = json.loads(run("--json", folder).splitlines()[-1])
    assert not frame["problems"], frame["problems"]
    return next(r for r in frame["rows"] if r["ino"] == 9291)


def near(value, expected, by):
    assert abs(value - expected) <= by, (value, expected)


def test_percentiles_are_those_of_the_trace(folder):
    lengths, _ = reckon("2:9291")
    row = row_of(recording(folder))
    assert len(lengths) > 100, len(lengths)
    for percent in (50, 90, 99):
        near(row[f"wait_p{percent}_s"], lengths[-(-len(lengths) * percent // 100) - 1], 2e-6)


def test_phases_are_those_of_the_trace(folder):
    lengths, covered = reckon("2:9291")
    phases = row_of(recording(folder))["phases"]
    assert phases["waits"] == len(lengths), phases
    near(phases["give_s"], sum(covered), 0.002)
    near(phases["request_s"], sum(lengths) - sum(covered), 0.002)
    # no event of these traces tells a write-back
    assert phases["write_back_s"] == 0, phases
    assert 0.1 < phases["give_s"] / sum(lengths) < 0.9, phases


def test_demands_tell_the_writers(folder):
    """A node whose EX was demanded wrote, also if the event stands as trace-cmd pads it."""
    writers = {node for node in OFFSET for _, at, name, glock, rest in events(node)
               if name == "gfs2_demote_rq" and glock == "2:9291" and rest.startswith("demote EX") and rest.endswith(" remote")}
    assert len(writers) > 1, writers
    place = recording(folder)
    rows = [row_of(place)]
    for node in OFFSET:
        path = f"{place}/t1/{node}/trace"
        with open(path, encoding="utf-8") as f:
            text = re.sub(r"\] \S+ +(\d+\.\d+: gfs2_\w+:)", r"] \1      ", f.read())
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    rows.append(row_of(place))
    assert rows[0] == rows[1], rows
    assert {n["name"] for n in rows[0]["nodes"] if n["wrote"]} == writers, rows[0]["nodes"]
    assert "write it" in rows[0]["advice"], rows[0]["advice"]


def test_the_opened_row_has_them(folder):
    text = run("-b", "--details", recording(folder))
    assert re.search(r"\d+ waits: p50 \S+ ms, p90 \S+ ms, p99 \S+ ms; of \d+: request \S+ s, other node kept it \S+ s",
                     text), text


def test_without_the_trace_of_a_node_there_are_no_phases(folder):
    row = row_of(recording(folder, skip=("node3",)))
    assert row["phases"] is None and row["wait_p50_s"] is not None, row


tap.run(globals())
