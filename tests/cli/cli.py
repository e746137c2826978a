# SPDX-License-Identifier: MIT
# cli.py - shared by the tests of glock(1): a folder for lock spaces, nodes that obey, TAP.

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

GLOCK = os.environ["GLOCK"]
NODE = os.environ["GLOCK_NODE"]
SLOW = 60  # seconds; only a hang takes that long


class Node:
    """A process in a lock space."""

    def __init__(self, space, *prefix):
        self.p = subprocess.Popen([*prefix, NODE, space], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        first = self.p.stdout.readline().strip()
        assert first == "0", "node: " + first
        self.pid = self.p.pid
        self.name = "%s-%d" % (os.path.basename(NODE)[:15], self.pid)

    def say(self, line):
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()

    def hear(self):
        return self.p.stdout.readline().strip()

    def do(self, line, want="ok"):
        self.say(line)
        got = self.hear()
        assert want is None or got == want, "%s: %s, not %s" % (line, got, want)
        return got

    def dump(self, file):
        self.say("dump " + file)
        lines = []
        while (line := self.p.stdout.readline()) != ".\n":
            lines.append(line)
        assert self.hear() == "ok"
        return "".join(lines)

    def stop(self):
        self.p.send_signal(signal.SIGSTOP)
        wait_for(lambda: state_of(self.pid) == "T")

    def go_on(self):
        self.p.send_signal(signal.SIGCONT)

    def kill(self):
        self.p.kill()
        self.p.wait()

    def end(self):
        if self.p.poll() is None:
            self.p.stdin.close()
            self.p.wait(SLOW)


def state_of(pid):
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def wait_for(what):
    """Waits until the condition holds. Fails after a limit."""
    end = time.monotonic() + SLOW
    while not (got := what()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)
    return got


def glock(*args, **more):
    return subprocess.run([GLOCK, *args], capture_output=True, text=True, timeout=SLOW, **more)


def out(*args):
    r = glock(*args)
    assert r.returncode == 0, "%s: %d: %s" % (" ".join(args), r.returncode, r.stderr)
    return r.stdout


def objects(*args):
    return [json.loads(line) for line in out(*args).splitlines()]


def main(tests):
    """Runs each test in a folder of its own; TAP. A test that returns SKIP and a reason is skipped."""
    failed = 0
    print("1..%d" % len(tests), flush=True)
    for i, test in enumerate(tests, 1):
        folder = tempfile.mkdtemp(prefix="glock-test-", dir="/dev/shm")
        os.environ["GLOCK_DIR"] = folder
        os.environ["GLOCK_LOCKMAN"] = "local"
        try:
            said = test() or ""
            print("ok %d - %s%s" % (i, test.__name__, " # " + said if said.startswith("SKIP") else ""), flush=True)
        except Exception as e:  # after any error, the other tests run
            failed += 1
            print("# %s: %s" % (type(e).__name__, re.sub(r"\n", "\n# ", str(e))))
            print("not ok %d - %s" % (i, test.__name__), flush=True)
        finally:
            for p in list(subprocess._active):
                p.poll()
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(failed != 0)
