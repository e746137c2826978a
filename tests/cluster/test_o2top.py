# SPDX-License-Identifier: MIT
"""o2top on the cluster, through ssh: what it says against what is known of the load."""

import contextlib
import json
import os
import re
import subprocess
import time

NODES = ("node1", "node2", "node3")
BOTH = ("ocfs2", "gfs2")
INSTANCES = "ls /sys/kernel/debug/tracing/instances"


def command(cluster, build, *arguments, agent=True):
    """o2top's command line, with o2top installed on the machines or without."""
    installed = os.path.dirname(cluster.share(os.path.join(build, "o2top")))
    call = os.path.join(cluster.dir, "call-agent" if agent else "call")
    path = f"PATH={installed}:$PATH" if agent else ""
    with open(call, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\nexec ssh -F {cluster.dir}/ssh_config "$1" "{path} exec sh"\n')
    os.chmod(call, 0o755)
    return [os.path.join(build, "o2top"), "--json", "--ssh", call,
            *[word for node in NODES for word in ("-n", node)], *arguments]


def o2top(cluster, build, *arguments, agent=True, timeout=240):
    """The frames of a run."""
    done = subprocess.run(command(cluster, build, *arguments, agent=agent), capture_output=True,
                          text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@contextlib.contextmanager
def watching(cluster, build, *arguments):
    """A run to take frames from, for as long as one wants."""
    with subprocess.Popen(command(cluster, build, *arguments), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as run:
        try:
            yield (json.loads(line) for line in run.stdout)
        finally:
            run.terminate()


def rows(frames):
    return [row for frame in frames for row in frame["rows"]]


def sentences(frames):
    return {row["sentence"]: row["fs"] for row in rows(frames) if row["sentence"]}


def states(frames, node):
    return [n["state"] for frame in frames for n in frame["nodes"] if n["name"] == node]


def until(frames, found, seconds):
    """Frames until one is right, and those before it."""
    end, taken = time.monotonic() + seconds, []
    for frame in frames:
        taken.append(frame)
        if found(frame) or time.monotonic() > end:
            break
    return taken


def inode(cluster, n, path):
    return int(cluster.run(n, f"stat -c %i {path}"))


@contextlib.contextmanager
def load(cluster):
    """All append to one file of each file system, seldom to another, and each writes its own."""
    cluster.run(1, "rm -f /run/shared/stop; for fs in ocfs2 gfs2; do mkdir -p /mnt/$fs/db;"
                   ": >/mnt/$fs/db/hot.log; : >/mnt/$fs/db/warm.log;"
                   "ln -f /mnt/$fs/db/hot.log /mnt/$fs/db/same.log; done")
    started = [cluster.start(n, f"""
        append() {{
            i=0
            while [ ! -e /run/shared/stop ]; do
                i=$((i + 1))
                echo a >>/mnt/$1/db/hot.log; echo o >/mnt/$1/db/own.{n}
                [ $((i % 8)) != 0 ] || echo w >>/mnt/$1/db/warm.log
                sleep 0.1
            done
        }}
        append ocfs2 & append gfs2 & wait""", stdin=subprocess.DEVNULL) for n in cluster.numbers]
    try:
        yield
    finally:
        open(os.path.join(cluster.dir, "shared", "stop"), "w", encoding="utf-8").close()
        for process in started:
            process.wait()


def check_order(cluster, frames):
    """hot.log before warm.log before the private files, and no path but the right one."""
    said = []
    for fs in BOTH:
        names = ("hot.log", "warm.log", "own.1", "own.2", "own.3")
        inodes = {inode(cluster, 1, f"/mnt/{fs}/db/{name}"): name for name in names}
        first, ordered, both = [], 0, 0
        for frame in frames:
            files = [r for r in frame["rows"] if r["fs"] == fs and r["section"] == "files"]
            for row in files:
                name = inodes.get(row["ino"])
                # a path need not be known yet; those that are shown are the file's
                known = {row["path"]} | set((row["other_paths"] or "").split(" = "))
                right = {f"/mnt/{fs}/db/{n}" for n in [name, "same.log"][:1 + (name == "hot.log")]}
                assert not name or known - {None, ""} <= right, row
            ranks = {inodes[r["ino"]]: r["rank"] for r in files if r["ino"] in inodes}
            if files and files[0]["hot"]:
                first.append(files[0]["ino"])
            if "hot.log" in ranks and "warm.log" in ranks:
                both += 1
                ordered += ranks["hot.log"] < ranks["warm.log"] and \
                    all(ranks["warm.log"] < ranks.get(f"own.{n}", 99) for n in (1, 2, 3))
        hot = next(i for i, name in inodes.items() if name == "hot.log")
        named = [r for r in rows(frames) if r["ino"] == hot and r["fs"] == fs and r["path"]]
        said.append(f"{fs}: hot.log first in {first.count(hot)} of {len(first)} frames, then warm.log, "
                    f"then others in {ordered} of {both}, path of hot.log in {len(named)}, with its other name in "
                    f"{sum(bool(r['other_paths']) for r in named)}")
        assert first and first.count(hot) > 0.7 * len(first), said
        assert both and ordered >= 0.5 * both, said
    return said


def test_o2top_ranks_and_names_the_hot_files(cluster, build):
    with load(cluster):
        for agent in (True, False):
            frames = o2top(cluster, build, "-t", "5", "-i", "6" if agent else "3", agent=agent)
            said = check_order(cluster, frames)
            paths = {p for r in rows(frames) for p in (r["path"], r["other_paths"]) if p}
            assert not agent or (any(p.startswith("/mnt/gfs2/") for p in paths) and
                                 {f"/mnt/ocfs2/db/{n}.log" for n in ("hot", "same")} <= paths), paths
            size = [n["read_bytes"] for n in frames[-1]["nodes"]]
            print(f"# {'agent' if agent else 'shell'}: bytes a sample {size}")
            for line in said:
                print("# " + line)


def test_o2top_traces_and_leaves_no_trace(cluster, build):
    # not buffer_size_kb: with the first instance since boot the kernel expands its own buffer
    settings = """cd /sys/kernel/debug/tracing; cat tracing_on events/enable trace_clock
        cat events/gfs2/gfs2_glock_lock_time/enable"""
    before, said = cluster.all(settings), []
    with load(cluster):
        hot = inode(cluster, 1, "/mnt/gfs2/db/hot.log")
        for agent in (True, False):
            with watching(cluster, build, "--trace", "--fs", "gfs2", "-t", "4") if agent else \
                    contextlib.nullcontext(o2top(cluster, build, "--trace", "--fs", "gfs2", "-t", "4",
                                                 "-i", "3", agent=False)) as run:
                frames = until(run, lambda f: len([r for r in f["rows"] if r["ino"] == hot and
                                                   r["wait_s"] > 0 and len(r["nodes"]) == 3]) > 0,
                               60) if agent else run
                if agent:
                    present = cluster.all(INSTANCES)
                    assert all(re.fullmatch(r"o2top-\d+\s", p) for p in present.values()), present
                    now = cluster.all(settings)
                    assert now == before, (now, before)
            truths = [r for r in rows(frames[1:] or frames) if r["ino"] == hot and r["wait_s"] > 0]
            assert truths and not any(r["estimated"] for r in truths), truths
            said.append(f"{'agent' if agent else 'shell'}: hot.log lost "
                        f"{max(r['wait_s_per_s'] for r in truths):.3f} s/s, measured")
        # one that is killed leaves its instance; the next one that comes removes it
        with watching(cluster, build, "--trace", "--fs", "gfs2", "-t", "4") as run:
            until(run, lambda f: all(n["read_bytes"] for n in f["nodes"]), 60)
            cluster.run(2, "kill -9 $(pidof -s o2top) $(pidof o2top)", check=False)
    left = cluster.run(2, INSTANCES).split()
    assert left, "nothing was left that could be removed"
    o2top(cluster, build, "--once")
    end = time.monotonic() + 30
    while any(cluster.all(INSTANCES).values()):
        assert time.monotonic() < end, cluster.all(INSTANCES)
    assert cluster.all(settings) == before
    return "\n".join(said) + f"\nleft by one that was killed, and removed: {left}"


def test_o2top_sees_every_lock(cluster, build):
    """The kernel loses a line of locking_state at each 4 KiB; other boundaries find it."""
    cluster.run(1, "mkdir -p /mnt/ocfs2/many; cd /mnt/ocfs2/many; for i in $(seq 300); do : >f$i; done")
    there = {int(i) for i in cluster.run(1, "cd /mnt/ocfs2/many && stat -c %i f*").split()}
    cluster.run(1, "rm -f /run/shared/stop /run/shared/going")
    # one process, as to start one for each look takes longer than a sample on an emulated machine
    uses = cluster.start(1, """cd /mnt/ocfs2/many && python3 -c '
import os, time
names = os.listdir(".")
while not os.path.exists("/run/shared/stop"):
    for name in names: os.stat(name)
    open("/run/shared/going", "w").close()
    time.sleep(0.2)'""", stdin=subprocess.DEVNULL)
    try:
        cluster.run(1, "until [ -e /run/shared/going ]; do sleep 0.1; done")
        # each is used more than once between two samples
        frames = o2top(cluster, build, "-t", "8", "-i", "2", "--fs", "ocfs2", "--type", "META")
    finally:
        open(os.path.join(cluster.dir, "shared", "stop"), "w", encoding="utf-8").close()
        uses.wait()
    # who is in use in the second frame was seen in the first or the second sample
    seen, counts = set(), []
    for frame in frames:
        seen |= {r["ino"] for r in frame["rows"]} & there
        counts.append(len(seen))
    assert len(there) == 300 and counts[1] == 300, counts
    return f"of 300 M locks in use seen after each frame, the first of which has two samples: {counts}"


def test_o2top_changes_nothing(cluster, build):
    """An idle cluster: no lock is taken by watching, no setting is other than before."""
    settings = """cat /sys/kernel/debug/ocfs2/*/locking_filter; cd /sys/kernel/debug/tracing
        cat tracing_on events/enable trace_clock; ls instances; mount | grep -c . ; ls /sys/kernel/debug"""
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

    time.sleep(5)
    start = gfs2()
    time.sleep(30)
    own = gfs2() - start
    before, start, began = (cluster.all(settings), taken()), gfs2(), time.monotonic()
    o2top(cluster, build, "-t", "4", "-i", "6")
    took = time.monotonic() - began
    after, watched = (cluster.all(settings), taken()), gfs2() - start
    assert before[0] == after[0], (before[0], after[0])
    common = before[1].keys() & after[1].keys()
    assert len(common) > 100, len(common)
    other = {key: (before[1][key], after[1][key]) for key in common
             if before[1][key] != after[1][key]}
    assert not other, other
    # GFS2 brings its own counts up to date every half minute on each node, watched or not
    assert watched <= own + 6 * (took / 30 + 1), (watched, own, took)
    return f"GFS2's requests in 30 s by itself {own}, in {took:.0f} s watched {watched}; "\
           f"of {len(common)} locks of files on OCFS2 none was taken"


def test_o2top_says_who_is_inside(cluster, build):
    """A flock that is held: cause (a)."""
    cluster.run(1, "for fs in ocfs2 gfs2; do mkdir -p /mnt/$fs/db; : >/mnt/$fs/db/flocked; done")
    holds = cluster.start(1, "for fs in ocfs2 gfs2; do flock /mnt/$fs/db/flocked sleep 40 & done; wait",
                          stdin=subprocess.DEVNULL)
    time.sleep(4)
    waits = cluster.start(2, "for fs in ocfs2 gfs2; do flock /mnt/$fs/db/flocked true & done; wait",
                          stdin=subprocess.DEVNULL)

    def both(frame):
        said = sentences([frame])
        return any("has it flocked" in s for s in said) and any("is inside" in s for s in said)

    with watching(cluster, build, "-t", "3") as run:
        said = sentences(until(run, both, 60))
    holds.wait()
    waits.wait()
    assert any(re.search("node2.* waits .*node1 has it flocked", s) for s in said), said
    assert any(re.search("node2.* waits .* on node1 is inside", s) for s in said), said
    return "\n".join(sorted(said))


def test_o2top_says_who_gives_it_up(cluster, build):
    """Much to write, on a slow disk, before another node may have the file: cause (b)."""
    answer = []
    for fs, words in (("ocfs2", "node1 has it in its cache and is giving it up"),
                      ("gfs2", "node1 has it in its cache and is giving it up for ")):
        cluster.run(1, f"echo >/mnt/{fs}/db/dirty; sync")
        cluster.slow_disk(1, fs, 1500)
        try:
            cluster.run(1, f"dd if=/dev/zero of=/mnt/{fs}/db/dirty bs=1M count=24 conv=notrunc")
            reads = cluster.start(2, f"cat /mnt/{fs}/db/dirty >/dev/null", stdin=subprocess.DEVNULL)
            with watching(cluster, build, "-t", "2", "--fs", fs) as run:
                said = sentences(until(run, lambda f, w=words: any(w in s for s in sentences([f])),
                                       60))
        finally:
            cluster.slow_disk(1, fs, 0)
        reads.wait()
        right = [s for s in said if words in s]
        assert right and re.search("node2.* waits", right[0]), said
        answer += right
    return "\n".join(answer)


def test_o2top_says_who_does_not_answer(cluster, build):
    """A machine that stands still for a while, with files that others want: cause (c)."""
    for fs in BOTH:
        cluster.run(3, f"mkdir -p /mnt/{fs}/db; for i in 1 2 3; do echo v >>/mnt/{fs}/db/victim; done")
    cluster.run(1, "rm -f /run/shared/go")
    want = [cluster.start(n, "until [ -e /run/shared/go ]; do sleep 0.1; done;"
                             "for fs in ocfs2 gfs2; do cat /mnt/$fs/db/victim & done; wait",
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for n in (1, 2)]
    go = os.path.join(cluster.dir, "shared", "go")
    try:
        with watching(cluster, build, "-t", "1") as run:
            until(run, lambda f: all(n["state"] == "ok" for n in f["nodes"]), 60)
            cluster.pause(3)
            began = time.monotonic()
            open(go, "w", encoding="utf-8").close()
            # corosync gives it up after its token's time and 1.2 times that again
            frames = until(run, lambda f: any("node3 has not answered" in s or
                                              "node3 does not answer" in s for s in sentences([f])),
                           1.6 * cluster.token)
    finally:
        open(go, "w", encoding="utf-8").close()
        cluster.resume(3)
    paused = time.monotonic() - began
    for process in want:
        process.wait()
    said = [s for s in sentences(frames) if "node3" in s]
    assert any("not answer" in s for s in said), (said, rows(frames)[:2])
    assert {"slow", "stale"} & set(states(frames, "node3")), states(frames, "node3")
    assert "ok" not in states(frames[-1:], "node3"), states(frames, "node3")
    # a loaded machine is late now and then
    assert set(states(frames[1:], "node1")) <= {"ok", "slow"}, states(frames, "node1")
    return f"paused {paused:.1f} s; node3 was {', '.join(dict.fromkeys(states(frames, 'node3')))}\n" + \
        "\n".join(sorted(said))


def test_o2top_says_what_is_recovered(cluster, build):
    """A machine whose power is cut: cause (d). It does not come back: this is the last test."""
    cluster.run(3, "mkdir -p /mnt/ocfs2/lost; for i in $(seq 30); do echo v >/mnt/ocfs2/lost/$i; done;"
                   "echo v >>/mnt/ocfs2/db/victim")
    cluster.kill(3)
    began = time.monotonic()
    for n in (1, 2):
        cluster.slow_disk(n, "ocfs2", 800)
    wants = cluster.start(1, "cat /mnt/ocfs2/db/victim", stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL)
    try:
        with watching(cluster, build, "-t", "2") as run:
            frames = until(run, lambda f: any("recover" in s for s in sentences([f])), 150)
    finally:
        for n in (1, 2):
            cluster.slow_disk(n, "ocfs2", 0)
    took = time.monotonic() - began
    wants.wait(timeout=240)
    dead = [n for frame in frames for n in frame["nodes"] if n["name"] == "node3"]
    assert "unreachable" in {n["state"] for n in dead[2:]} and "ok" not in {n["state"] for n in dead}, dead
    assert set(states(frames[2:], "node1")) <= {"ok", "slow"}, states(frames, "node1")
    said = [s for s in sentences(frames) if "recover" in s]
    banners = {b for frame in frames for b in frame["banners"]}
    assert said and any("recover" in b for b in banners), (sentences(frames), banners)
    return f"{took:.0f} s after its power was cut: {said[0]}\n{dead[-1]['why']}\n" + \
        "\n".join(sorted(banners))
