#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# test_hostile.py - tests o2top with nodes that want to harm the machine that watches them. TAP.
#
# The bytes that they send never command a terminal and take no memory without bound. They hold up
# neither the other nodes nor the end. O2TOP, O2TOP_CAPTURES and O2TOP_TESTS are the paths that
# meson test sets. fakessh.sh stands for ssh.

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time

import groups
import tap

O2TOP = os.environ["O2TOP"]
CAPTURES = os.environ["O2TOP_CAPTURES"]
HERE = os.environ["O2TOP_TESTS"]
PATIENCE = 60
# sets a title, clears, moves, colours, rings; also as one byte each (C1), and characters that would
# end a line
EVIL = b"\x1b]0;EVIL\x07\x1b[2JEVIL\x1b[1;1HEVIL\x9b31mEVIL\xc2\x9b7mEVIL\r\x7f"


class Cluster:
    """Three nodes that are a recording, or a copy with changed bytes."""

    def __init__(self, recording, change=None):
        self.tmp = tempfile.mkdtemp(prefix="o2top-hostile-")
        self.fake = os.path.join(self.tmp, "fake")
        os.mkdir(self.fake)
        open(os.path.join(self.fake, "pids"), "w").close()
        self.capture = os.path.join(CAPTURES, recording)
        if change:
            self.capture = shutil.copytree(self.capture, os.path.join(self.tmp, "capture"))
            for folder, _, names in os.walk(self.capture):
                for name in names:
                    change(os.path.join(folder, name))
        samples = "".join(f"{name}\n" for name in sorted(os.listdir(self.capture)) if re.fullmatch(r"t\d", name))
        for node in ("node1", "node2", "node3"):
            self.put(node, "samples", samples)
        self.environment = dict(os.environ, O2TOP_FAKE=self.fake, O2TOP_CAPTURE=self.capture, LC_ALL="C.UTF-8", TZ="UTC",
                                TERM="xterm-256color", HOME=self.tmp, XDG_CONFIG_HOME="/nowhere")

    def put(self, node, what, text):
        with open(os.path.join(self.fake, f"{node}.{what}"), "w") as f:
            f.write(text)

    def command(self, *options):
        return [O2TOP, "--ssh", os.path.join(HERE, "fakessh.sh"), "-n", "node1", "-n", "node2", "-n", "node3", *options]

    def output(self, *options):
        """Returns two frames as both outputs print them."""
        done = subprocess.run(self.command("-t", "0.5", "-i", "2", "--answer-limit", "60", *options), env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
        return done.stdout

    def nothing_left(self):
        with open(os.path.join(self.fake, "pids")) as f:
            started = [int(line) for line in f]
        assert started
        end = time.monotonic() + PATIENCE
        while left := groups.left(self.fake, started):
            assert time.monotonic() < end, f"{left} are left"
            time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.tmp, ignore_errors=True)


class Screen:
    """o2top in a terminal of 100 x 30. Keeps every byte that arrives there."""

    def __init__(self, cluster, *options):
        self.bytes = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(O2TOP, cluster.command(*options), cluster.environment)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))

    def until(self, holds):
        end = time.monotonic() + PATIENCE
        while not holds(self.bytes):
            assert time.monotonic() < end, f"it does not come: {self.bytes[-2000:]!r}"
            if select.select([self.fd], [], [], 0.1)[0]:
                self.bytes += os.read(self.fd, 1 << 16)

    def press(self, keys):
        before = len(self.bytes)
        os.write(self.fd, keys)
        self.until(lambda data: len(data) > before)

    def leave(self, keys=b"q"):
        """Ends o2top. Returns the seconds that this took."""
        begun = time.monotonic()
        os.write(self.fd, keys)
        try:
            while True:
                if not select.select([self.fd], [], [], PATIENCE)[0]:
                    raise AssertionError("it does not end")
                self.bytes += os.read(self.fd, 1 << 16)
        except OSError:
            pass
        _, status = os.waitpid(self.pid, 0)
        assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0, status
        return time.monotonic() - begun


def harmless(data, plain):
    """Checks that a terminal gets nothing of EVIL. Without a program that draws, it gets no control
    character at all."""
    assert b"EVIL" in data, "what the node said is not shown at all"
    for command in (b"\x1b]", b"\x07EVIL", b"\x1b[2JEVIL", b"\x1b[1;1HEVIL", b"\x9b", b"\x1b[31mEVIL", b"EVIL\r\x7f", b"\x7f"):
        # a letter of UTF-8 may hold a byte that alone would be a command
        text = data.decode("utf-8").encode("utf-8", "strict")
        found = "\x9b" in data.decode("utf-8") if command == b"\x9b" else command in text
        assert not found, (command, data)
    if plain:
        found = re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", data.decode("utf-8"))
        assert not found, (found, data)


def curse(path):
    """Puts EVIL into names of processes and of types, and into lines that are no lines."""
    with open(path, "rb") as f:
        data = f.read()
    data = data.replace(b"[hotload]", b"[" + EVIL + b"]")
    if path.endswith("/glocks"):
        data = b"G: s:" + EVIL + b"\n" + data
    with open(path, "wb") as f:
        f.write(data)


@tap.test
def names_and_lines():
    """Files contain EVIL: names of processes, and lines that problems quote."""
    with Cluster("gfs2-hang", curse) as c:
        for options in (("--details",), ("--csv",), ("--json",), ("--check",)):
            data = c.output(*options)
            if b"EVIL" in data or options == ("--details",):
                harmless(data, True)
        c.nothing_left()


@tap.test
def the_screen():
    with Cluster("gfs2-hang", curse) as c:
        c.put("node3", "mode", "evil\n")
        screen = Screen(c, "-t", "0.5")
        screen.until(lambda data: b"EVIL" in data)
        for key in (b" ", b"d", b"!", b"x", b"D", b"D", b"G"):
            screen.press(key)
        screen.leave()
        # ncurses itself sends no title and no bell
        harmless(screen.bytes, False)
        c.nothing_left()


@tap.test
def what_ssh_says():
    with Cluster("ocfs2-hot") as c:
        c.put("node2", "mode", "evil\n")
        for options in ((), ("--csv",), ("--json",)):
            data = c.output(*options)
            if b"EVIL" in data or not options:
                harmless(data, True)
        c.nothing_left()


@tap.test
def a_flood_takes_no_memory():
    """A node sends without end, again and again, with a limit of 4 MiB a sample."""
    with Cluster("ocfs2-hot") as c:
        c.put("node1", "mode", "endless\n")
        run = subprocess.Popen(c.command("-t", "0.5", "-i", "8", "--json", "--sample-limit", "4"), env=c.environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        peak = 0
        for _ in run.stdout:
            with open(f"/proc/{run.pid}/status") as f:
                found = re.search(r"VmHWM:\s+(\d+)", f.read())
            peak = max(peak, int(found[1]) if found else 0)
        assert run.wait(PATIENCE) == 0
        # sanitizers keep shadows of all memory
        limit = 48 << 10 if not os.environ.get("O2TOP_SANITIZED") else 1 << 20
        assert 0 < peak < limit, f"{peak} KiB"
        c.nothing_left()


@tap.test
def a_byte_a_minute():
    """A node sends a byte a minute. Neither the other nodes' frames nor the end wait for it."""
    with Cluster("ocfs2-hot") as c:
        c.put("node1", "mode", "drop\n")
        c.put("node2", "mode", "hung\n")
        screen = Screen(c, "-t", "0.5")
        screen.until(lambda data: b"LOST/s" in data)
        # frames go on: a slow node becomes stale, and the time moves on
        screen.until(lambda data: b"no sample since" in data)
        assert screen.leave(b"q") < 30
        c.nothing_left()
        screen = Screen(c, "-t", "0.5")
        screen.until(lambda data: b"LOST/s" in data)
        os.kill(screen.pid, signal.SIGHUP)
        _, status = os.waitpid(screen.pid, 0)
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGHUP, status
        c.nothing_left()


tap.run_marked()
