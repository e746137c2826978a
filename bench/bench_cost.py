#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# bench_cost.py - measures what o2top costs a node with many locks: CPU, bytes, time in debugfs.

"""bench_cost.py BUILD_DIR [LOCKS] - the cost of a frame of a node with that many locks.

Files of a recording stand for the node's debugfs, and a pipe stands for ssh. So the time of the
kernel that makes the lines, and the cost of encryption, are left out. Each figure is a median of
the frames, by o2top's own `self` in --json. The node's CPU is that of the processes behind the
pipe, and the recorder's is the difference to a run without a recording.
"""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

FRAMES = 5


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(build, folder, interval, *arguments):
    """Returns the frames of a run, and the CPU of all its processes."""
    samples = sorted(os.listdir(f"{folder}/rec"))
    done = threading.Event()

    def show(k):
        new = f"{folder}/root.new"
        os.symlink(f"{folder}/rec/{samples[k]}/node1", new)
        os.rename(new, f"{folder}/root")

    def go_on():
        for k in range(1, len(samples)):
            if done.wait(interval if k > 1 else interval / 2):
                return
            show(k)

    show(0)
    before = cpu()
    with subprocess.Popen([f"{build}/o2top", "--json", "-l", "10", "--no-config", "--touch-nothing", "-t", str(interval),
                           "-i", str(FRAMES), *arguments], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "GLOCK_DIR": f"{folder}/none"}) as p:
        ticker = threading.Thread(target=go_on)
        ticker.start()
        frames = [json.loads(line) for line in p.stdout]
        status = p.wait()
        done.set()
        ticker.join()
    if status or len(frames) < FRAMES:
        sys.exit(f"bench_cost: {arguments}: status {status}, {len(frames)} frames")
    return frames, cpu() - before


def medians(frames):
    """Returns the medians of a frame: CPU of o2top, seconds of reading, bytes."""
    costs = [f["self"] for f in frames]
    return [statistics.median(b[what] - a[what] for a, b in zip(costs, costs[1:])) for what in ("cpu_s", "read_s", "bytes")]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = os.path.abspath(sys.argv[1])
    locks = int(sys.argv[2]) if len(sys.argv) > 2 else 100000
    interval = max(2.0, locks / 100000)
    folder = tempfile.mkdtemp(prefix="o2top-bench.")
    try:
        subprocess.run([f"{build}/bench/gen_locking_state", "-l", str(locks), "-n", "1", "-s", str(FRAMES + 2), "-K",
                        f"{folder}/rec"], check=True)
        for name, path in (("agent", f"PATH={build}:$PATH"), ("shell", "")):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
                f.write(f'#!/bin/sh\nshift\n{path} GLOCK_DIR={folder}/none O2TOP_DEBUGFS={folder}/root exec "$@"\n')
            os.chmod(f"{folder}/{name}", 0o755)
        size = sum(e.stat().st_size for e in os.scandir(f"{folder}/rec/t0/node1/ocfs2/"
                                                        + os.listdir(f"{folder}/rec/t0/node1/ocfs2")[0]))
        print(time.strftime("%Y-%m-%d"), f"a node with {locks} locks: {size / 1e6:.1f} MB of locking_state, a frame of",
              f"{interval:.0f} s, load {os.getloadavg()[0]:.1f}")
        ways = [("this machine", ["--local", "--debugfs", f"{folder}/root"]),
                ("agent", ["--ssh", f"{folder}/agent", "-n", "node1"]),
                ("shell", ["--ssh", f"{folder}/shell", "-n", "node1", "--no-agent"])]
        print(f"{'':14} {'CPU of o2top':>13} {'CPU in all':>13} {'reading':>10} {'bytes':>12}")
        for name, arguments in ways:
            frames, used = run(build, folder, interval, *arguments)
            mine, read, sent = medians(frames)
            samples = FRAMES + 1
            print(f"{name:14} {mine:11.3f} s {used / samples:11.3f} s {read:8.3f} s {sent:12.0f}")
        _, plain = run(build, folder, interval, *ways[0][1])
        _, recorded = run(build, folder, interval, *ways[0][1], "--record", f"{folder}/file")
        print(f"recording: {(recorded - plain) / (FRAMES + 1):.3f} s CPU a sample,",
              f"{os.path.getsize(f'{folder}/file') / (FRAMES + 1):.0f} bytes a sample")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
