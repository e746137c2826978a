#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# bench_screen.py - measures o2top's screen with 100,000 rows, and recordings of a day.
#
# Usage: bench_screen.py BUILD_DIR [FOLDER [PART...]]
#
# The program runs in a pseudo-terminal. A key counts as answered when the last byte of its answer
# has come. CPU is the kernel's figure for the process and its threads. O2TOP_BENCH_ROWS=N measures
# with fewer rows. The bench needs 3 GB in $TMPDIR and about five minutes. With FOLDER the
# recordings stay there for the next time. A PART is keys, idle or recordings. The figures have
# limits. A missed limit is printed, and is no error.

import csv
import fcntl
import os
import platform
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

ROWS = int(os.environ.get("O2TOP_BENCH_ROWS", "100000"))
INTERVAL = 5
DAY = 24 * 3600 // INTERVAL
SOME = 241  # samples; more than from one whole sample to the next
QUIET = 0.3  # a screen that is silent for so long has answered
UP, DOWN, HOME, PAGE_DOWN = b"\x1bOA", b"\x1bOB", b"\x1bOH", b"\x1b[6~"

# groups of similar keys; each key is pressed equally often
KEYS = {
    "moving": [DOWN, PAGE_DOWN, UP, b"G", UP, HOME],
    "opening a row, its nodes": [b" ", b" ", b"d", b"d"],
    "sorting by a number": [b">", b">", b"L", b"W", b"r"],
    "sorting by path": [b"P", b"r", b"P"],
    "by directory": [b"D", b"D"],
    "searching": [b"/", b"9", b"9", b"1", b"\r", b"n", b"N"],
    "filtering": [b"\\", b"4", b"2", b"7", b"\x7f", b"\x1b"],
}
TURNS = 5


class Screen:
    """o2top in a terminal of 120 x 40."""

    def __init__(self, command):
        begun = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8", TZ="UTC", HOME="/nonexistent")
            os.execv(command[0], command)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        seen = b""
        while b"LOST/s" not in seen:
            seen += os.read(self.fd, 1 << 16)
        self.first = self.last_byte(QUIET) - begun

    def last_byte(self, quiet):
        """Returns the time of the last byte before a pause, or None without any byte."""
        last = None
        while select.select([self.fd], [], [], quiet)[0]:
            os.read(self.fd, 1 << 16)
            last = time.monotonic()
        return last or time.monotonic()

    def press(self, key, quiet=QUIET):
        """Returns the seconds and the CPU until the answer was complete."""
        before, begun = self.cpu(), time.monotonic()
        os.write(self.fd, key)
        if not select.select([self.fd], [], [], 10)[0]:
            raise RuntimeError(f"nothing answers {key}")
        return self.last_byte(quiet) - begun, self.cpu() - before

    def cpu(self):
        """Returns the CPU of all threads, to the nanosecond."""
        used = 0
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{thread}/schedstat") as f:
                used += int(f.read().split()[0])
        return 1e-9 * used

    def frames(self, n):
        """Waits for that many frames from now on. Returns the CPU until then."""
        before = self.cpu()
        for _ in range(n):
            if not select.select([self.fd], [], [], 60)[0]:
                raise RuntimeError("no frame in a minute")
            self.last_byte(1)
        return self.cpu() - before

    def memory(self):
        with open(f"/proc/{self.pid}/status") as f:
            return next(int(line.split()[1]) / 1024 for line in f if line.startswith("VmHWM"))

    def end(self):
        os.kill(self.pid, signal.SIGTERM)
        try:
            while os.read(self.fd, 1 << 16):
                pass
        except OSError:
            pass
        os.close(self.fd)
        os.waitpid(self.pid, 0)


class Table:
    def __init__(self):
        self.missed = 0
        print(f"{'':72} {'figure':>10}  {'limit':>7}")

    def row(self, what, value, unit, limit=None):
        verdict = "" if limit is None else "met" if value <= limit else "MISSED"
        self.missed += verdict == "MISSED"
        print(f"{what:72} {value:7.1f} {unit:2}  {'-' if limit is None else f'{limit:g} {unit}':>7}  {verdict}", flush=True)


def gen(build, folder, **options):
    words = [w for k, v in options.items() for w in ((f"-{k}",) if v is True else (f"-{k}", str(v)))]
    subprocess.run([f"{build}/bench/gen_locking_state", *words, folder], check=True)


def say(what):
    print(f"bench_screen: {what}", file=sys.stderr, flush=True)


def write_names(o2top, recording, path):
    """Gives every inode a path, as long and as alike as real paths."""
    done = subprocess.run([o2top, "--csv", "-l", "1000000", recording], capture_output=True, text=True, check=True)
    inodes = {line["inode"] for line in csv.DictReader(done.stdout.splitlines()) if line["inode"]}
    with open(path, "w") as f:
        for inode in sorted(inodes, key=int):
            n = int(inode)
            f.write(f"{inode} /srv/cluster/projects/p{n % 211:03}/{('src', 'data', 'spool', 'log')[n % 4]}/"
                    f"object-{n * 2654435761 % 4294967296:08x}.dat\n")


def measure_keys(table, o2top, tmp):
    screen = Screen([o2top, "--no-mouse", "--speed", "0", "--names", f"{tmp}/names", f"{tmp}/all"])
    wall, cpu = {}, {}
    for _ in range(TURNS):
        for what, keys in KEYS.items():
            for key in keys:
                a, b = screen.press(key)
                wall.setdefault(what, []).append(1000 * a)
                cpu.setdefault(what, []).append(1000 * b)
            screen.press(b"L")
    table.row(f"first content, {ROWS} rows with paths", 1000 * screen.first, "ms", 1000)
    for what in KEYS:
        table.row(f"a key: {what}: median", statistics.median(wall[what]), "ms", 50)
        table.row("    the slowest of them", max(wall[what]), "ms")
        table.row("    CPU: median", statistics.median(cpu[what]), "ms")
    table.row("memory, most there was", screen.memory(), "MB")
    screen.end()


def rows_of(o2top, recording):
    """Returns the number of rows of the last frame."""
    done = subprocess.run([o2top, "--csv", "-l", "1000000", "-i", "2", recording], capture_output=True, text=True, check=True)
    samples = [line["sample"] for line in csv.DictReader(done.stdout.splitlines())]
    return samples.count(samples[-1])


def measure_idle(table, o2top, recording, what, frames, limit=None):
    what = f"{rows_of(o2top, recording)} rows of {what}"
    screen = Screen([o2top, "--no-mouse", "--speed", "1", recording])
    screen.frames(2)
    used = screen.frames(frames)
    table.row(f"idle at {INTERVAL} s: {what}", 100 * used / (frames * INTERVAL), "%", limit)
    screen.end()


def measure_recording(table, o2top, tmp):
    size = os.path.getsize(f"{tmp}/some.o2r")
    table.row(f"a recording of 24 h, 3 nodes with 10,000 locks (by {SOME} samples)", size / SOME * DAY / 1e6, "MB", 500)
    measure_jumps(table, o2top, f"{tmp}/some.o2r", SOME, "in that")
    measure_jumps(table, o2top, f"{tmp}/day.o2r", DAY, "24 h of few locks,")


def measure_jumps(table, o2top, recording, samples, what):
    screen = Screen([o2top, "--no-mouse", "--speed", "0", recording])
    first = clock_of(o2top, recording)
    took = []
    for _ in range(15):
        at = first + random.randrange(samples) * INTERVAL
        for key in b"g" + time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at)).encode():
            screen.press(bytes([key]), 0.02)
        took.append(1000 * screen.press(b"\r", 1.5)[0])
    table.row(f"{what} first content", 1000 * screen.first, "ms", 1000)
    table.row(f"{what} a jump to any time: median", statistics.median(took), "ms", 1000)
    table.row("    the slowest of 15", max(took), "ms", 1000)
    screen.end()


def clock_of(o2top, recording):
    done = subprocess.Popen([o2top, "--csv", "-l", "1", recording], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    line = next(csv.DictReader(done.stdout))
    done.kill()
    done.wait()
    return int(float(line["time"]))


def record(build, o2top, tmp, name, **options):
    gen(build, f"{tmp}/{name}", **options)
    subprocess.run([o2top, "-b", "--record", f"{tmp}/{name}.o2r", f"{tmp}/{name}"], stdout=subprocess.DEVNULL, check=True)
    shutil.rmtree(f"{tmp}/{name}")


def prepare(build, o2top, tmp):
    say("making recordings")
    # an inode has its glock, and every other one an iopen: three locks for two rows
    for name, active in (("all", 1), ("twentieth", 0.05), ("hundredth", 0.01)):
        gen(build, f"{tmp}/{name}", g=True, l=ROWS * 3 // 2, n=1, s=8, a=active)
    # some glocks do nothing in a frame, so this number makes as many rows as wanted
    gen(build, f"{tmp}/rows", g=True, i=True, l=ROWS * 123 // 100, n=1, s=8, a=1)
    write_names(o2top, f"{tmp}/all", f"{tmp}/names")
    record(build, o2top, tmp, "some", l=10000, n=3, s=SOME, K=True, a=0.05)
    record(build, o2top, tmp, "day", g=True, l=20, n=1, s=DAY, a=0.05)
    open(f"{tmp}/whole", "w").close()


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: bench_screen.py BUILD_DIR [FOLDER [PART...]]")
    build = os.path.abspath(sys.argv[1])
    o2top = f"{build}/o2top"
    subprocess.run(["ninja", "--quiet", "-C", build, "o2top", "bench/gen_locking_state"], stdout=sys.stderr, check=True)
    random.seed(1)
    keep = len(sys.argv) > 2
    parts = sys.argv[3:] or ["keys", "idle", "recordings"]
    tmp = os.path.abspath(sys.argv[2]) if keep else tempfile.mkdtemp(prefix="o2top-screen-")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        os.makedirs(tmp, exist_ok=True)
        if not os.path.exists(f"{tmp}/whole"):
            prepare(build, o2top, tmp)
        say("measuring")
        print(time.strftime("%Y-%m-%d"), platform.platform(terse=True), f"{os.cpu_count()} CPUs, load:",
              *(f"{load:.2f}" for load in os.getloadavg()))
        print(f"{ROWS} rows on the screen, with paths, are {ROWS * 3 // 2} glocks of one node\n")
        table = Table()
        if "keys" in parts:
            measure_keys(table, o2top, tmp)
        if "idle" in parts:
            measure_idle(table, o2top, f"{tmp}/rows", f"{ROWS * 123 // 100} locks, a lock a row, all move", 3, 2)
            measure_idle(table, o2top, f"{tmp}/all", f"{ROWS * 3 // 2} locks, all move", 3)
            measure_idle(table, o2top, f"{tmp}/twentieth", f"{ROWS * 3 // 2} locks, one in twenty moves", 3, 2)
            measure_idle(table, o2top, f"{tmp}/hundredth", f"{ROWS * 3 // 2} locks, one in a hundred moves", 3, 2)
        if "recordings" in parts:
            measure_recording(table, o2top, tmp)
        if table.missed:
            print(f"\n*** {table.missed} LIMIT{'S' if table.missed > 1 else ''} MISSED ***")
    finally:
        if not keep:
            shutil.rmtree(tmp, ignore_errors=True)


if __name__ == "__main__":
    main()
