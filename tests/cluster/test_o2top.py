# SPDX-License-Identifier: MIT
"""o2top on the cluster, through ssh: what it says against what is known of the load."""

import json
import os
import subprocess
import time

NODES = ("node1", "node2", "node3")


def o2top(cluster, build, *arguments, agent=True, timeout=240):
    """The frames of a run, with o2top installed on the machines or without."""
    installed = os.path.dirname(cluster.share(os.path.join(build, "o2top")))
    call = os.path.join(cluster.dir, "call-agent" if agent else "call")
    path = f"PATH={installed}:$PATH" if agent else ""
    with open(call, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\nexec ssh -F {cluster.dir}/ssh_config "$1" "{path} exec sh"\n')
    os.chmod(call, 0o755)
    command = [os.path.join(build, "o2top"), "--json", "--ssh", call,
               *[word for node in NODES for word in ("-n", node)], *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def rows(frames):
    return [row for frame in frames for row in frame["rows"]]


def states(frames, node):
    return [n["state"] for frame in frames for n in frame["nodes"] if n["name"] == node]


def inode(cluster, n, path):
    return int(cluster.run(n, f"stat -c %i {path}"))


def load(cluster, seconds):
    """All append to one file of each file system, and each writes one of its own as often."""
    cluster.run(1, "for fs in ocfs2 gfs2; do mkdir -p /mnt/$fs/db; : >/mnt/$fs/db/hot.log; done")
    return [cluster.start(n, f"""
        append() {{
            while [ $(date +%s) -lt $end ]; do
                echo a >>/mnt/$1/db/hot.log; echo o >/mnt/$1/db/own.$n; sleep 0.1
            done
        }}
        n={n} end=$(($(date +%s) + {seconds})); append ocfs2 & append gfs2 & wait""",
                          stdin=subprocess.DEVNULL) for n in cluster.numbers]


def test_o2top_names_the_hot_files(cluster, build):
    for agent in (True, False):
        started = load(cluster, 60)
        frames = o2top(cluster, build, "-t", "6", "-i", "6", agent=agent)
        for process in started:
            process.wait()
        said = []
        for fs in ("ocfs2", "gfs2"):
            hot = inode(cluster, 1, f"/mnt/{fs}/db/hot.log")
            best = [next((r for r in frame["rows"] if r["fs"] == fs and r["section"] == "files"),
                         None) for frame in frames]
            first = [r["ino"] for r in best if r and r["hot"]]
            assert first and first.count(hot) > len(first) / 2, (fs, hot, first)
            # a path need not be known yet; one that is shown is the file's
            paths = {r["path"] for r in best if r and r["ino"] == hot and r["path"]}
            assert paths <= {f"/mnt/{fs}/db/hot.log"}, paths
            named = sum(1 for r in best if r and r["ino"] == hot and r["path"])
            said.append(f"{fs}: first in {first.count(hot)} of {len(first)} frames, path in {named}")
        size = [n["read_bytes"] for n in frames[-1]["nodes"]]
        print(f"# {'agent' if agent else 'shell'}: {', '.join(said)}; bytes a sample {size}")


def test_o2top_sees_every_lock(cluster, build):
    """The kernel loses a line of locking_state at each 4 KiB; other boundaries find it."""
    cluster.run(1, "mkdir -p /mnt/ocfs2/many; cd /mnt/ocfs2/many; for i in $(seq 300); do : >f$i; done")
    there = {int(i) for i in cluster.run(1, "cd /mnt/ocfs2/many && stat -c %i f*").split()}
    uses = cluster.start(1, "cd /mnt/ocfs2/many; end=$(($(date +%s) + 60));"
                            "while [ $(date +%s) -lt $end ]; do stat f* >/dev/null; done",
                         stdin=subprocess.DEVNULL)
    frames = o2top(cluster, build, "-t", "8", "-i", "4", "--fs", "ocfs2", "--type", "META")
    uses.wait()
    seen, counts = set(), []
    for frame in frames:
        seen |= {r["ino"] for r in frame["rows"]} & there
        counts.append(len(seen))
    assert len(there) == 300 and counts[-1] == 300, counts
    return f"of 300 M locks seen after each frame: {counts}"


def test_o2top_changes_nothing(cluster, build):
    """An idle cluster: no lock is taken by watching, no setting is other than before."""
    settings = """cat /sys/kernel/debug/ocfs2/*/locking_filter
        cat /sys/kernel/tracing/tracing_on /sys/kernel/tracing/events/enable 2>/dev/null; true"""
    # how often each lock of a file was taken; the file system's own are used by itself
    gets = r"""awk -F'\t' '$2 ~ /^[WO]/ || $2 ~ /^M.*00000000$/ { print $2, $75 + $76 }' \
        /sys/kernel/debug/ocfs2/*/locking_state"""
    requests = r"""awk '{ for (i = 1; i < NF; i++) if ($i == "dcnt:") n += $(i + 1) }
        END { print n }' /sys/kernel/debug/gfs2/*/glstats"""

    def gfs2():
        return sum(int(n) for n in cluster.all(requests).values())

    def taken():
        return {(n, line.split()[0]): line.split()[1]
                for n, text in cluster.all(gets).items() for line in text.splitlines()}

    time.sleep(10)
    start = gfs2()
    time.sleep(40)
    own = gfs2() - start
    before, start, began = (cluster.all(settings), taken()), gfs2(), time.monotonic()
    o2top(cluster, build, "-t", "4", "-i", "8", "--touch-nothing")
    took = time.monotonic() - began
    after, watched = (cluster.all(settings), taken()), gfs2() - start
    assert before[0] == after[0], (before[0], after[0])
    common = before[1].keys() & after[1].keys()
    assert len(common) > 100, len(common)
    other = {key: (before[1][key], after[1][key]) for key in common
             if before[1][key] != after[1][key]}
    assert not other, other
    # GFS2 brings its own counts up to date every half minute on each node, watched or not
    assert watched <= own + 6 * (took / 40 + 1), (watched, own, took)
    return f"GFS2's requests in 40 s by itself {own}, in {took:.0f} s watched {watched}; "\
           f"of {len(common)} locks of files on OCFS2 none was taken"


def test_o2top_says_who_is_inside(cluster, build):
    """A flock that is held: cause (a)."""
    cluster.run(1, "for fs in ocfs2 gfs2; do mkdir -p /mnt/$fs/db; : >/mnt/$fs/db/flocked; done")
    holds = cluster.start(1, "for fs in ocfs2 gfs2; do flock /mnt/$fs/db/flocked sleep 50 & done; wait",
                          stdin=subprocess.DEVNULL)
    time.sleep(5)
    waits = cluster.start(2, "for fs in ocfs2 gfs2; do flock /mnt/$fs/db/flocked true & done; wait",
                          stdin=subprocess.DEVNULL)
    time.sleep(3)
    frames = o2top(cluster, build, "-t", "5", "-i", "4")
    holds.wait()
    waits.wait()
    said = {r["fs"]: r["sentence"] for r in rows(frames) if r["sentence"]}
    assert "node2" in said["ocfs2"] and "node1 has it flocked" in said["ocfs2"], said
    assert "node2" in said["gfs2"] and "on node1 is inside" in said["gfs2"], said
    return "\n".join(said.values())


def test_o2top_says_who_does_not_answer(cluster, build):
    """A machine that stands still for a few seconds, with files that others want: cause (c)."""
    for fs in ("ocfs2", "gfs2"):
        cluster.run(3, f"mkdir -p /mnt/{fs}/db; for i in 1 2 3; do echo v >>/mnt/{fs}/db/victim; done")
    run = subprocess.Popen(["true"])
    cluster.pause(3)
    began = time.monotonic()
    try:
        want = [cluster.start(n, "for fs in ocfs2 gfs2; do cat /mnt/$fs/db/victim & done; wait",
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for n in (1, 2)]
        frames = o2top(cluster, build, "-t", "1.5", "-i", "3")
    finally:
        cluster.resume(3)
    paused = time.monotonic() - began
    for process in (*want, run):
        process.wait()
    assert "ok" not in states(frames, "node3"), states(frames, "node3")
    said = {r["sentence"] for r in rows(frames) if r["sentence"] and "node3" in r["sentence"]}
    assert any("not answer" in s or "has not answered" in s for s in said), (said, rows(frames)[:2])
    return f"paused {paused:.0f} s\n" + "\n".join(sorted(said))
