# SPDX-License-Identifier: MIT
# test_o2top.py - tests o2top on the cluster, through ssh, against the known load.

import contextlib
import json
import os
import re
import subprocess
import threading
import time

LATE = True  # the last test cuts a machine's power
NODES = ("node1", "node2", "node3")
BOTH = ("ocfs2", "gfs2")
LONG = 150  # seconds for work that takes a few on an idle machine
INSTANCES = "ls /sys/kernel/debug/tracing/instances"


def command(cluster, build, *arguments, agent=True):
    """Returns o2top's command line, with o2top installed on the machines or without."""
    installed = os.path.dirname(cluster.share(os.path.join(build, "o2top")))
    call = os.path.join(cluster.dir, "call-agent" if agent else "call")
    path = f"PATH={installed}:$PATH" if agent else ""
    with open(call, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\nexec ssh -F {cluster.dir}/ssh_config "$1" "{path} exec sh"\n')
    os.chmod(call, 0o755)
    return [os.path.join(build, "o2top"), "--json", "--ssh", call,
            *[word for node in NODES for word in ("-n", node)], *arguments]


def o2top(cluster, build, *arguments, agent=True, timeout=LONG):
    """Returns the frames of a run."""
    done = subprocess.run(command(cluster, build, *arguments, agent=agent), capture_output=True,
                          text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@contextlib.contextmanager
def watching(cluster, build, *arguments, agent=True):
    """Yields the frames of a run, as many as the test wants. A silent run is ended."""
    with subprocess.Popen(command(cluster, build, *arguments, agent=agent), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as run:
        watchdog = threading.Timer(LONG, run.kill)
        watchdog.start()
        try:
            yield (json.loads(line) for line in run.stdout)
        finally:
            watchdog.cancel()
            run.terminate()


def rows(frames):
    return [row for frame in frames for row in frame["rows"]]


def sentences(frames):
    return {row["sentence"]: row["fs"] for row in rows(frames) if row["sentence"]}


def states(frames, node):
    return [n["state"] for frame in frames for n in frame["nodes"] if n["name"] == node]


def until(frames, found, seconds=LONG):
    """Takes frames until one is right. A busy machine may take longer."""
    end, taken = time.monotonic() + seconds, []
    for frame in frames:
        taken.append(frame)
        if found(frame) or time.monotonic() > end:
            break
    return taken


@contextlib.contextmanager
def going(cluster, number, script, count=1):
    """Runs a script on a machine, or on the first ones. The end makes stop() true in the script. A
    working script touches the file that `started` names."""
    shared = os.path.join(cluster.dir, "shared")
    for name in os.listdir(shared):
        if name == "stop" or name.startswith("started."):
            os.unlink(os.path.join(shared, name))
    numbers = range(number, number + count)
    processes = [cluster.start(n, f"""
        stop() {{ [ -e /run/shared/stop ]; }}
        started() {{ : >/run/shared/started.{n}; }}
        {script}""", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for n in numbers]
    try:
        end = time.monotonic() + LONG
        while not all(os.path.exists(os.path.join(shared, f"started.{n}")) for n in numbers):
            assert time.monotonic() < end, "the load does not start"
            time.sleep(0.1)
        yield
    finally:
        open(os.path.join(shared, "stop"), "w", encoding="utf-8").close()
        for process in processes:
            process.wait(LONG)


def until_heard(frames, *nodes):
    """Waits until each of these nodes has given a sample."""
    missing = set(nodes)

    def heard(frame):
        missing.difference_update(n["name"] for n in frame["nodes"] if n["read_bytes"])
        return not missing

    until(frames, heard)
    assert not missing, missing


def inodes(cluster, fs, *names):
    """Returns {number: name} of files in db."""
    paths = " ".join(f"/mnt/{fs}/db/{name}" for name in names)
    return dict(zip(map(int, cluster.run(1, f"stat -c %i {paths}").split()), names))


def load(cluster):
    """All nodes append to a file on each file system. One of them uses its other name. Seldom they
    append to another file, and to a file of their own."""
    cluster.run(1, "for fs in ocfs2 gfs2; do mkdir -p /mnt/$fs/db; : >/mnt/$fs/db/hot.log; : >/mnt/$fs/db/warm.log;"
                   "ln -f /mnt/$fs/db/hot.log /mnt/$fs/db/same.log; done")
    return going(cluster, 1, """
        append() {
            i=0 hot=hot.log
            [ $(hostname) != node3 ] || hot=same.log
            until stop; do
                i=$((i + 1))
                echo a >>/mnt/$1/db/$hot; echo o >/mnt/$1/db/own.$(hostname)
                [ $((i % 8)) != 0 ] || echo w >>/mnt/$1/db/warm.log
                [ $i != 1 ] || started
                sleep 0.1
            done
        }
        append ocfs2 & append gfs2 & wait""", len(cluster.numbers))


class Order:
    """Checks frames of the load on one file system: the first row, and its name."""

    def __init__(self, fs, names):
        self.fs, self.inodes = fs, names
        self.first, self.ordered, self.paths = [], 0, set()

    def take(self, frame):
        files = [r for r in frame["rows"] if r["fs"] == self.fs and r["section"] == "files"]
        ranks = {self.inodes[r["ino"]]: r["rank"] for r in files if r["ino"] in self.inodes}
        if files and files[0]["hot"]:
            self.first.append(self.inodes.get(files[0]["ino"]))
        if "hot.log" in ranks and "warm.log" in ranks:
            own = [ranks.get(name, 99) for name in self.inodes.values() if name.startswith("own")]
            self.ordered += ranks["hot.log"] < ranks["warm.log"] < min(own)
        for row in files:
            name = self.inodes.get(row["ino"])
            # a path may be unknown so far; each path that is shown belongs to the file
            known = ({row["path"]} | set((row["other_paths"] or "").split(" = "))) - {None, ""}
            right = {f"/mnt/{self.fs}/db/{n}" for n in [name, "same.log"][:1 + (name == "hot.log")]}
            assert not name or known <= right, row
            if name == "hot.log" and row["path"]:
                self.paths |= known

    def __str__(self):
        return f"{self.fs}: hot.log first in {self.first.count('hot.log')} of {len(self.first)} frames, " \
               f"then warm.log, then others in {self.ordered}; called {sorted(self.paths)}"


def test_o2top_ranks_and_names_the_hot_files(cluster, build):
    said = []
    with load(cluster):
        files = ("hot.log", "warm.log", *(f"own.{node}" for node in NODES))
        numbers = {fs: inodes(cluster, fs, *files) for fs in BOTH}
        for agent in (True, False):
            orders = [Order(fs, numbers[fs]) for fs in BOTH]
            # the shell knows open files, and may know none
            names = 2 if agent else 0

            def enough(frame):
                for order in orders:
                    order.take(frame)
                return all(o.ordered >= 2 and len(o.paths) >= names for o in orders)

            with watching(cluster, build, "-t", "3", agent=agent) as run:
                frames = until(run, enough)
            said += [f"{'agent' if agent else 'shell'}: bytes a sample "
                     f"{[n['read_bytes'] for n in frames[-1]['nodes']]}", *map(str, orders)]
            for o in orders:
                assert o.ordered >= 2 and len(o.paths) >= names, said
                assert 2 * o.first.count("hot.log") > len(o.first), said
    return "\n".join(said)


def test_o2top_traces_and_leaves_no_trace(cluster, build):
    # not buffer_size_kb: with the first instance since boot the kernel expands its own buffer
    settings = """cd /sys/kernel/debug/tracing; cat tracing_on events/enable trace_clock
        cat events/gfs2/gfs2_glock_lock_time/enable"""
    before, said = cluster.all(settings), []
    trace = ("--trace", "--fs", "gfs2", "-t", "2")
    with load(cluster):
        hot = next(iter(inodes(cluster, "gfs2", "hot.log")))

        def truths(frames):
            return [r for r in rows(frames) if r["ino"] == hot and r["wait_s"] > 0 and not r["estimated"]
                    and len(r["nodes"]) == 3]

        for agent in (True, False):
            with watching(cluster, build, *trace, agent=agent) as run:
                frames = until(run, lambda f: truths([f]))
                present = cluster.all(INSTANCES)
                assert all(re.fullmatch(r"o2top-\d+\s", p) for p in present.values()), present
                now = cluster.all(settings)
                assert now == before, (now, before)
            true = truths(frames)
            assert true, [r for r in rows(frames) if r["ino"] == hot]
            said.append(f"{'agent' if agent else 'shell'}: hot.log lost "
                        f"{max(r['wait_s_per_s'] for r in true):.3f} s/s, measured")
            gone(cluster)
        # a killed o2top leaves its instance, and the next one removes it
        with watching(cluster, build, *trace) as run:
            until_heard(run, "node2")
            cluster.run(2, "kill -9 $(pidof -s o2top) $(pidof o2top)", check=False)
    left = cluster.run(2, INSTANCES).split()
    assert left, "nothing was left that could be removed"
    with watching(cluster, build, "-t", "2") as run:
        until_heard(run, "node2")
    gone(cluster)
    assert cluster.all(settings) == before
    return "\n".join(said) + f"\nleft by one that was killed, and removed: {left}"


@contextlib.contextmanager
def second_gfs2(cluster):
    """node1 has a second GFS2, shared with no other node. It takes locks of a file of each, again
    and again. Linux 6.12 keeps an inode that has pages, so the pages are dropped, too."""
    cluster.run(1, """truncate -s 200M /tmp/second && mkdir -p /mnt/second /mnt/gfs2/db &&
        mkfs.gfs2 -q -O -p lock_dlm -t glock:second -j 1 -J 8 /tmp/second &&
        mount -t gfs2 -o loop,noatime /tmp/second /mnt/second &&
        for i in $(seq 20); do echo s >/mnt/second/s$i; done; echo s >/mnt/gfs2/db/first""")
    try:
        with going(cluster, 1, """until stop; do
                cat /mnt/second/s20 /mnt/gfs2/db/first; sync; echo 3 >/proc/sys/vm/drop_caches
                started; sleep 0.3
            done"""):
            yield {"fs1": int(cluster.run(1, "stat -c %i /mnt/gfs2/db/first")),
                   "second": int(cluster.run(1, "stat -c %i /mnt/second/s20"))}
    finally:
        cluster.run(1, "umount /mnt/second; rm -f /tmp/second", check=False)


def test_o2top_traces_two_gfs2_of_one_node(cluster, build):
    """The event names a device. Its file system differs from node to node."""
    with second_gfs2(cluster) as numbers:
        def seen(frame):
            return {(r["lockspace"].split(":")[-1], r["ino"]) for r in rows([frame])
                    if r["ino"] in numbers.values() and r["wait_s"] > 0 and not r["estimated"]}

        with watching(cluster, build, "--trace", "--fs", "gfs2", "-t", "2") as run:
            frames = until(run, lambda f: seen(f) == set(numbers.items()))
    assert seen(frames[-1]) == set(numbers.items()), (numbers, list(map(seen, frames)))
    assert set.union(*map(seen, frames)) == set(numbers.items()), (numbers, list(map(seen, frames)))
    return f"in frame {len(frames)}: {sorted(numbers.items())}, each in its own file system"


def gone(cluster):
    """Waits until no machine has an instance of a trace any more."""
    end = time.monotonic() + LONG
    while any(present := cluster.all(INSTANCES).values()):
        assert time.monotonic() < end, present


def test_o2top_sees_every_lock(cluster, build):
    """The kernel loses a line of locking_state at each 4 KiB. Other boundaries find it."""
    cluster.run(1, "mkdir -p /mnt/ocfs2/many; cd /mnt/ocfs2/many; for i in $(seq 300); do : >f$i; done")
    there = {int(i) for i in cluster.run(1, "cd /mnt/ocfs2/many && stat -c %i f*").split()}
    assert len(there) == 300, there
    # one process, because on an emulated machine a process for each look takes longer than a sample
    uses = """cd /mnt/ocfs2/many && python3 -c '
import os, time
names = os.listdir(".")
while not os.path.exists("/run/shared/stop"):
    for name in names: os.stat(name)
    open("/run/shared/started.1", "w").close()
    time.sleep(0.1)'"""
    seen, counts = [], []

    def all_seen(frame):
        # a lock in use in a frame was seen in the samples before and after it. A lock whose line is
        # lost in one of them is in the next frame.
        node = next(n for n in frame["nodes"] if n["name"] == "node1")
        if node["interval_s"] and frame["rows"]:
            seen.append({r["ino"] for r in frame["rows"]} & there)
            counts.append(len(seen[-1].union(*seen[-2:-1])))
        return counts and counts[-1] == 300

    # each lock is used more than once between two samples
    with going(cluster, 1, uses), watching(cluster, build, "-t", "4", "--fs", "ocfs2", "--type", "META") as run:
        until(run, all_seen)
    assert counts and counts[-1] == 300, counts
    return f"of 300 M locks in use seen in each two frames: {counts}; in each alone: {[len(s) for s in seen]}"


def test_o2top_changes_nothing(cluster, build):
    """On an idle cluster, watching takes no lock and changes no setting."""
    settings = """cat /sys/kernel/debug/ocfs2/*/locking_filter; cd /sys/kernel/debug/tracing
        cat tracing_on events/enable trace_clock; ls instances; mount | grep -c . ; ls /sys/kernel/debug"""
    # how often each lock of a file was taken, cached or not; the file systems' own locks are used
    # without programs
    taken = r"""awk -F'\t' '$2 ~ /^[WO]/ || $2 ~ /^M.*00000000$/ { print $2, $75 + $76 }' \
        /sys/kernel/debug/ocfs2/*/locking_state
        awk '$2 ~ /^n:[25]\// { print $2, $(NF - 2), $NF }' /sys/kernel/debug/gfs2/*/glstats"""

    def counts():
        return {(n, line.split()[0]): line.split()[1:]
                for n, text in cluster.all(taken).items() for line in text.splitlines()}

    def files():
        """Returns the glocks of named files on GFS2, because its system files are written every
        half minute."""
        return {f"n:{t}/{int(i):x}" for t in (2, 5)
                for i in cluster.run(1, "find /mnt/gfs2 -xdev -printf '%i\n'").split()}

    # so that there are enough, whatever ran before
    cluster.run(1, """for fs in ocfs2 gfs2; do mkdir -p /mnt/$fs/idle; cd /mnt/$fs/idle
        for i in $(seq 80); do echo $i >f$i; done; done""")
    named, said = files(), []
    cluster.all("sync")
    # work of the loads before may go on for a while
    for _ in range(4):
        before = cluster.all(settings), counts()
        o2top(cluster, build, "-t", "2", "-i", "5")
        after = cluster.all(settings), counts()
        assert before[0] == after[0], (before[0], after[0])
        common = [key for key in before[1].keys() & after[1].keys()
                  if not key[1].startswith("n:") or key[1] in named]
        other = {key: (before[1][key], after[1][key]) for key in common if before[1][key] != after[1][key]}
        said.append(f"of {sum(not key[1].startswith('n:') for key in common)} locks of files on OCFS2 and "
                    f"{sum(key[1].startswith('n:') for key in common)} on GFS2 {len(other)} were taken")
        if not other:
            break
    assert not other, (said, other)
    assert len(common) > 100 and any(key[1] in named for key in common), said
    return "\n".join(said)


def test_o2top_says_who_is_inside(cluster, build):
    """A held flock: cause (a)."""
    cluster.run(1, "for fs in ocfs2 gfs2; do mkdir -p /mnt/$fs/db; : >/mnt/$fs/db/flocked; done")
    said = {}

    def both(frame):
        said.update(sentences([frame]))
        return {fs for sentence, fs in said.items() if re.search(right, sentence)} == {"ocfs2", "gfs2"}

    right = "on node1 holds EX \\(flock\\); node2.* waits "
    with going(cluster, 1, """
            flock /mnt/ocfs2/db/flocked flock /mnt/gfs2/db/flocked sh -c ': >/run/shared/started.1
                until [ -e /run/shared/stop ]; do sleep 0.2; done'"""):
        waits = cluster.start(2, "for fs in ocfs2 gfs2; do flock /mnt/$fs/db/flocked true & done; wait",
                              stdin=subprocess.DEVNULL)
        with watching(cluster, build, "-t", "2") as run:
            until(run, both)
    waits.wait(LONG)
    assert both({"rows": []}), said
    return "\n".join(sorted(said))


def test_o2top_says_who_gives_it_up(cluster, build):
    """Much to write, on a slow disk, before another node may have the file: cause (b)."""
    answer = []
    for fs, right in (("ocfs2", "node1 caches it and is demoting it.*; node2.* waits"),
                      ("gfs2", "node1 caches it and is demoting it \\(for .*; node2.* waits")):
        cluster.run(1, f"mkdir -p /mnt/{fs}/db; echo >/mnt/{fs}/db/dirty; sync")
        cluster.slow_disk(1, fs, 600)
        try:
            cluster.run(1, f"dd if=/dev/zero of=/mnt/{fs}/db/dirty bs=1M count=24 conv=notrunc")
            reads = cluster.start(2, f"cat /mnt/{fs}/db/dirty >/dev/null", stdin=subprocess.DEVNULL)
            with watching(cluster, build, "-t", "2", "--fs", fs) as run:
                said = sentences(until(run, lambda f, r=right: any(re.search(r, s) for s in sentences([f]))))
        finally:
            cluster.slow_disk(1, fs, 0)
        reads.wait(LONG)
        found = [s for s in said if re.search(right, s)]
        assert found, said
        answer += found
    return "\n".join(answer)


def stand_still(cluster, build):
    """node3 stands still while others want its files. Takes frames until o2top reports both file
    systems, or until corosync would give node3 up."""
    for fs in BOTH:
        cluster.run(3, f"mkdir -p /mnt/{fs}/db; for i in 1 2 3; do echo v >>/mnt/{fs}/db/victim; done")

    def told(frame):
        said.update({fs for s, fs in sentences([frame]).items() if re.search("node3.* not answer", s)})
        return said == set(BOTH) and {"slow", "stale"} & set(states([frame], "node3"))

    said = set()
    with watching(cluster, build, "-t", "1") as run:
        until_heard(run, *NODES)
        cluster.pause(3)
        wants = [cluster.start(n, "for fs in ocfs2 gfs2; do cat /mnt/$fs/db/victim & done; wait",
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for n in (1, 2)]
        try:
            # after its token's time, and 1.2 times that again
            frames = until(run, told, 1.6 * cluster.token)
        finally:
            cluster.resume(3)
    for process in wants:
        process.wait(LONG)
    return frames, said


def test_o2top_says_who_does_not_answer(cluster, build):
    """A machine stands still for a while, with files that others want: cause (c)."""
    for _ in range(3): # a busy machine may be too late for the token
        frames, told = stand_still(cluster, build)
        if told == set(BOTH):
            break
    said = [s for s in sentences(frames) if re.search("node3.* not answer", s)]
    assert told == set(BOTH), (said, rows(frames)[:2])
    assert {"slow", "stale"} & set(states(frames, "node3")), states(frames, "node3")
    assert "ok" not in states(frames[-1:], "node3"), states(frames, "node3")
    # the other nodes go on; a loaded machine is late now and then
    assert {"ok", "slow"} & set(states(frames[-3:], "node1")), states(frames, "node1")
    return f"node3 was {', '.join(dict.fromkeys(states(frames, 'node3')))}\n" + "\n".join(sorted(said))


def test_o2top_says_what_is_recovered(cluster, build):
    """A machine loses its power: cause (d). It does not come back, so this is the last test."""
    cluster.run(3, "mkdir -p /mnt/ocfs2/lost /mnt/ocfs2/db; for i in $(seq 30); do echo v >/mnt/ocfs2/lost/$i; done;"
                   "echo v >>/mnt/ocfs2/db/victim")
    cluster.kill(3)
    began = time.monotonic()
    for n in (1, 2):
        cluster.slow_disk(n, "ocfs2", 800)
    wants = cluster.start(1, "cat /mnt/ocfs2/db/victim", stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL)
    try:
        with watching(cluster, build, "-t", "2") as run:
            frames = until(run, lambda f: any("recover" in s for s in sentences([f])) and "unreachable" in
                           states([f], "node3"))
    finally:
        for n in (1, 2):
            cluster.slow_disk(n, "ocfs2", 0)
    took = time.monotonic() - began
    wants.wait(LONG)
    dead = [n for frame in frames for n in frame["nodes"] if n["name"] == "node3"]
    assert "unreachable" in {n["state"] for n in dead[2:]} and "ok" not in {n["state"] for n in dead}, dead
    assert {"ok", "slow"} & set(states(frames[-3:], "node1")), states(frames, "node1")
    said = [s for s in sentences(frames) if "recover" in s]
    banners = {b for frame in frames for b in frame["banners"]}
    assert said and any("recover" in b for b in banners), (sentences(frames), banners)
    return f"{took:.0f} s after its power was cut: {said[0]}\n{dead[-1]['why']}\n" + \
        "\n".join(sorted(banners))
