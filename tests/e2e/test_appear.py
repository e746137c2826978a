# SPDX-License-Identifier: MIT
# test_appear.py - locks of OCFS2 that appear: files that live for seconds, and lines that were lost.
#
# A list of locks is printed as the kernel prints it: new locks come first, and where a read of
# 4 KiB ends, one line is lost. The truth is known to the microsecond.

import json
import os
import random
import subprocess

import tap

O2TOP = os.environ["O2TOP"]
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC", "XDG_CONFIG_HOME": "/nowhere"}
UUID = "2AAE8B67B17D4F169DF133216A14ED3D"
BEGIN = 1795154849  # seconds since 1970
FIRST_READS = (0, 2048, 1024, 3072, 512, 2560, 1536, 3584)


class Lock:
    def __init__(self, inode):
        self.inode = inode
        self.gets = self.total_us = self.max_us = self.last_us = 0

    def wait(self, end_s, us):
        self.gets += 1
        self.total_us += us
        self.max_us = max(self.max_us, us)
        self.last_us = int((BEGIN + end_s) * 1e6)

    def line(self):
        lvb = "0x0\t" * 64
        return (f"0x4\tM000000{self.inode:016x}00000000\t5\t0x41\t0x0\t0x0\t0\t0\t5\t-1\t{lvb}0\t{self.gets}\t0\t0\t0\t"
                f"{self.total_us * 1000}\t0\t{self.max_us}\t0\t0\t{self.last_us}\t0\t\n")


def printed(locks, first_read):
    """Returns the text that the kernel prints. Each read ends with the loss of the next line."""
    out, room, i = [], first_read or 4096, 0
    size = 0
    while i < len(locks):
        line = locks[i].line()
        full = size >= room if room < 4096 else size + len(line) > 4096
        if full:
            size, room = 0, 4096
        else:
            out.append(line)
            size += len(line)
        i += 1
    return "".join(out)


def write(folder, number, now_s, text):
    node = os.path.join(folder, f"t{number}", "node1")
    os.makedirs(os.path.join(node, "ocfs2", UUID))
    for name, value in (("realtime", f"{BEGIN + now_s:.6f}\n"), ("uptime", f"{1000 + now_s:.6f} 1.0\n"),
                        (os.path.join("ocfs2", UUID, "locking_state"), text)):
        with open(os.path.join(node, name), "w", encoding="ascii") as f:
            f.write(value)


def frames(folder):
    done = subprocess.run([O2TOP, "--no-config", "--json", folder], env=ENV, capture_output=True, text=True,
                          timeout=120, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def lost(folder):
    return sum(frame["totals"]["wait_s"] for frame in frames(folder))


def short_lives(folder, shifted):
    """Files live for 3 s each and wait all the time; 100 files stay and do nothing."""
    rng = random.Random(7)
    locks, births, waited = [Lock(1000 + i) for i in range(100)], [], 0
    for lock in locks:
        lock.wait(-rng.uniform(10, 1000), rng.randrange(10000))
    for number in range(25):
        now = number * 1.0
        while len(births) * 0.4 < now:
            births.append((len(births) * 0.4, Lock(5000 + len(births))))
            locks.insert(0, births[-1][1])
        for born, lock in births:
            if born < now <= born + 3.2:
                for k in range(10):
                    end = now - 1 + (k + 1) / 10
                    if born + 0.05 < end <= born + 3:
                        lock.wait(end, 50000)
                        waited += 0.05 if number else 0
            if born + 3 < now and lock in locks:
                locks.remove(lock)
        write(folder, f"{number:02d}", now, printed(locks, FIRST_READS[number % 8] if shifted else 0))
    return waited


def test_files_that_live_for_three_seconds(folder):
    said = []
    for shifted in (False, True):
        sub = os.path.join(folder, str(shifted))
        truth = short_lives(sub, shifted)
        got = lost(sub)
        assert 0.8 * truth < got < 1.05 * truth, (shifted, truth, got)
        said.append(f"{got:.2f} of {truth:.2f} s")
    return ", ".join(said)


def test_lines_that_were_lost_invent_nothing(folder):
    """100 locks lost time long ago, and every tenth is in use. New locks move the ends of the reads, so
    that lines which were lost for 1 to 10 samples appear."""
    for case in range(4):
        rng = random.Random(case)
        locks, truth, seen, late = [Lock(1000 + i) for i in range(100)], 0, set(), 0
        used = locks[::10]
        for lock in locks:
            for _ in range(20):
                lock.wait(-rng.uniform(10, 1000), rng.randrange(5000000))
        sub = os.path.join(folder, str(case))
        for number in range(14):
            if number:
                for lock in used:
                    lock.wait(number - 0.5, 20000)
                    truth += 0.02
                if number % (1 + case) == 0:
                    locks.insert(0, Lock(9000 + number))
            text = printed(locks, FIRST_READS[number % 8] if case % 2 else 0)
            late += number > 0 and sum(lock.inode not in seen and f"{lock.inode:016x}" in text for lock in locks[14:])
            seen |= {lock.inode for lock in locks if f"{lock.inode:016x}" in text}
            write(sub, f"{number:02d}", number, text)
        got = lost(sub)
        assert late >= 8 and got <= truth + 0.001, (case, late, truth, got)
        assert got > 0.8 * truth, (case, truth, got)


tap.run(globals())
