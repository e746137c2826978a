#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# soak.py - runs o2top for a long time on nodes that change, and checks that its memory stays flat.
#
# Usage: soak.py BUILD_DIR SECONDS
#
# Two programs watch six nodes of their own. One runs in a terminal, with key presses now and then.
# The other one writes JSON and a recording. A script stands for ssh and gives the files of a made-up
# cluster, whose inodes change. Every few seconds a node becomes something else, mostly with a lost
# connection. Nodes come, go, hang, lie and are replaced. At the end both programs are told to end,
# and none of their processes may be left.
#
# A line each minute has resident memory (KiB), open files, threads and children of both. Memory is
# flat if its median in the last quarter of the time is at most a tenth and 1 MiB above its median
# in the second quarter.

import fcntl
import os
import pty
import random
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time

import groups

HERE = os.path.dirname(os.path.abspath(__file__))
NODES = [f"node{i}" for i in range(1, 7)]
SAMPLES = 240
INTERVAL = 2
# modes of a node and their weights; "-" keeps the mode and only loses the connection
MODES = {"": 6, "agent": 6, "noise": 1, "slow": 2, "once": 1, "-": 3, "refused": 2, "mute": 2, "hung": 2, "drip": 1,
         "garbage": 1, "forged": 1, "endless": 1, "nodebugfs": 1, "lockdown": 1}
KEYS = [b"j", b"j", b"k", b" ", b"d", b"D", b"D", b">", b"r", b"p", b"a", b"o", b"o", b"?", b"x", b"\x0c", b"/1\r", b"n"]
TOO_SHORT = 900  # seconds: Locks are forgotten after 64 samples, trails after 24


class Nodes:
    """Six machines: a folder with the orders for fakessh.sh."""

    def __init__(self, folder, recording):
        self.folder = folder
        os.mkdir(folder)
        self.environment = dict(os.environ, O2TOP_FAKE=folder, O2TOP_CAPTURE=recording, LC_ALL="C.UTF-8", TERM="xterm",
                                HOME=folder)
        for name in ("pids", "who"):
            open(os.path.join(folder, name), "w").close()
        for node in NODES:
            self.put(node, "mode", "\n")
            self.refill(node)

    def put(self, node, what, text):
        path = os.path.join(self.folder, f"{node}.{what}")
        with open(path + ".new", "w") as f:
            f.write(text)
        os.rename(path + ".new", path)

    def refill(self, node):
        """Writes all samples again. For o2top that is a machine that started anew."""
        self.put(node, "samples", "".join(f"t{i}\n" for i in range(SAMPLES)))

    def change(self, node):
        mode = random.choices(list(MODES), list(MODES.values()))[0]
        if mode != "-":
            self.put(node, "mode", mode + "\n")
        if random.random() < 0.1:
            self.refill(node)
        last = [line.split()[0] for line in self.who() if line.endswith(" " + node)][-1:]
        if last and random.random() < 0.8:
            self.kill(int(last[0]))

    def who(self):
        with open(os.path.join(self.folder, "who")) as f:
            return f.read().splitlines()

    def kill(self, pid):
        """Ends a connection: the whole group that stands for the other machine."""
        try:
            os.kill(-pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def left(self):
        return groups.left(self.folder, [int(line.split()[0]) for line in self.who()])


class Watcher:
    """o2top on six nodes."""

    def __init__(self, what, o2top, tmp, recording, *options):
        self.what = what
        self.nodes = Nodes(os.path.join(tmp, what), recording)
        self.command = [o2top, "--ssh", os.path.join(HERE, "soakssh.sh"), "--paths=none", "-t", str(INTERVAL), *options]
        for node in NODES:
            self.command += ["-n", node]
        self.figures = []

    def start_in_terminal(self):
        self.pid, self.out = pty.fork()
        if self.pid == 0:
            os.execve(self.command[0], self.command, self.nodes.environment)
        fcntl.ioctl(self.out, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.frames = 0

    def start(self, errors):
        child = subprocess.Popen(self.command, env=self.nodes.environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=errors)
        self.pid, self.out, self.child = child.pid, child.stdout.fileno(), child
        self.frames = 0

    def read(self):
        data = os.read(self.out, 1 << 16)
        self.frames += data.count(b"\n")
        return data

    def measure(self):
        with open(f"/proc/{self.pid}/status") as f:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        children = 0
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{thread}/children") as f:
                children += len(f.read().split())
        self.figures.append((int(status["VmRSS"].split()[0]), len(os.listdir(f"/proc/{self.pid}/fd")),
                             int(status["Threads"]), children))
        return self.figures[-1]

    def judge(self):
        """Tells in words whether memory and open files are flat."""
        n = len(self.figures)
        bad = []
        for what, at, room in (("resident KiB", 0, 1024), ("open files", 1, 8), ("threads", 2, 2)):
            early = statistics.median(f[at] for f in self.figures[n // 4:n // 2])
            late = statistics.median(f[at] for f in self.figures[3 * n // 4:])
            flat = late <= 1.1 * early + room
            print(f"{self.what}: {what}: median {early:.0f} from a quarter to the half of the time, {late:.0f} in the last "
                  f"quarter: {'flat' if flat else 'NOT FLAT'}")
            bad += [] if flat else [what]
        return not bad

    def end(self):
        os.kill(self.pid, signal.SIGTERM)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if select.select([self.out], [], [], 0.1)[0]:
                try:
                    if not os.read(self.out, 1 << 16):
                        break
                except OSError:
                    break
        _, status = os.waitpid(self.pid, 0)
        while self.nodes.left() and time.monotonic() < end:
            time.sleep(0.1)
        left = self.nodes.left()
        print(f"{self.what}: ended with {status:#x}, {len(self.nodes.who())} connections were made, left: {left or 'nothing'}")
        return not left and (os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: soak.py BUILD_DIR SECONDS")
    build, seconds = os.path.abspath(sys.argv[1]), float(sys.argv[2])
    o2top = os.environ["O2TOP"] = os.path.join(build, "o2top")
    random.seed(1)
    tmp = tempfile.mkdtemp(prefix="o2top-soak-")
    good = False
    watchers = []
    try:
        recording = os.path.join(tmp, "cluster")
        # in each sample, one inode in fifty is new, and one lock in twenty changes
        subprocess.run([os.path.join(build, "bench", "gen_locking_state"), "-l", "300", "-n", str(len(NODES)), "-s",
                        str(SAMPLES), "-c", "0.02", "-a", "0.05", "-K", recording], check=True)
        batch = Watcher("batch", o2top, tmp, recording, "--json", "--record", os.path.join(tmp, "recording"))
        screen = Watcher("screen", o2top, tmp, recording)
        with open(os.path.join(tmp, "errors"), "wb") as errors:
            batch.start(errors)
        screen.start_in_terminal()
        watchers = [batch, screen]
        good = watch(watchers, time.monotonic() + seconds)
        for w in watchers:
            good = w.end() and good
        watchers = []
        frames = batch.frames
        print(f"{frames} frames of JSON, a recording of {os.path.getsize(os.path.join(tmp, 'recording')) >> 10} KiB")
        good = good and frames > 0.2 * seconds / INTERVAL
        if seconds < TOO_SHORT:
            print(f"less than {TOO_SHORT} s say nothing of memory")
        else:
            # report both
            good = all([batch.judge(), screen.judge(), good])
    finally:
        for w in watchers:
            try:
                os.kill(w.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        shutil.rmtree(tmp, ignore_errors=True)
    print("ok" if good else "NOT OK")
    sys.exit(0 if good else 1)


def watch(watchers, end):
    begun = time.monotonic()
    change, told = begun, begun - 10
    ever = True
    by_fd = {w.out: w for w in watchers}
    while time.monotonic() < end and ever:
        for fd in select.select(list(by_fd), [], [], 0.2)[0]:
            try:
                ever = bool(by_fd[fd].read()) and ever
            except OSError:
                ever = False
        now = time.monotonic()
        if now >= change:
            change = now + random.uniform(1, 6)
            random.choice(watchers).nodes.change(random.choice(NODES))
            os.write(watchers[1].out, random.choice(KEYS))
        if now >= told + 10:
            told += 10
            figures = [w.measure() for w in watchers]
            if len(watchers[0].figures) % 6 == 1:
                print(f"{now - begun:6.0f} s ", *(f"{w.what}: %6d KiB, %d files, %d threads, %d children" % f
                                                 for w, f in zip(watchers, figures)), flush=True)
    if not ever:
        print("one of them ended by itself")
    return ever


if __name__ == "__main__":
    main()
