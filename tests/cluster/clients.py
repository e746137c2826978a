# SPDX-License-Identifier: MIT
# clients.py - programs with glocks on the machines, and their output with its times.
#
# lock_client.c is the program.

import concurrent.futures
import os
import re
import subprocess
import threading
import time

SPACE = "glockgate"


class Client:
    def __init__(self, cluster, build, n, name=None, options=""):
        self.n = n
        self.name = name or f"node{n}"
        self.said = []  # (time, line)
        self.changed = threading.Condition()
        program = cluster.share(os.path.join(build, "tests/cluster/lock_client"))
        self.process = cluster.start(
            n, f"cd /tmp; echo $$; exec {program} {SPACE} /run/shared "
               f"{self.name} {options}", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, bufsize=1)
        threading.Thread(target=self._listen, daemon=True).start()

    def ready(self):
        self.pid = int(self.expect("", 60))
        assert self.expect("ready", 120) == "ready 0", self.text()
        return self

    def _listen(self):
        for line in self.process.stdout:
            with self.changed:
                self.said.append((time.monotonic(), line.rstrip("\n")))
                self.changed.notify_all()
        with self.changed:
            self.said.append((time.monotonic(), "ended"))
            self.changed.notify_all()

    def text(self):
        told = [s for i, s in enumerate(self.said)
                if not s[1].startswith("op") or i + 5 > len(self.said)]
        return f"{self.name}:\n" + "\n".join(f"{when:.2f} {line}" for when, line in told[-60:])

    def find(self, prefix, since=0):
        """Returns the first such line since then as (time, line), or None."""
        with self.changed:
            return next((s for s in self.said if s[0] >= since and s[1].startswith(prefix)), None)

    def expect(self, prefix, seconds=60, since=0):
        end = time.monotonic() + seconds
        with self.changed:
            while True:
                for when, line in self.said:
                    if when >= since and line.startswith(prefix):
                        return line
                left = end - time.monotonic()
                assert left > 0, f"no '{prefix}' in {seconds} s: {self.text()}"
                self.changed.wait(left)

    def send(self, line):
        now = time.monotonic()
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return now

    def ask(self, line, seconds=60):
        """Sends a line and returns its answer."""
        word = " ".join(line.split()[:2])
        return self.expect(word, seconds, self.send(line))

    def nq(self, n, mode="EX", seconds=60):
        """Returns the grant as (token, died, value), or the error."""
        words = self.ask(f"nq {n} {mode}", seconds).split()
        if words[2] != "0":
            return int(words[2])
        return int(words[4]), int(words[6]), words[8]

    def close(self):
        if not self.process.stdin.closed:
            self.process.stdin.close()

    def end(self):
        self.close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()

    # ---- histories

    def ops(self, since=0, until=float("inf")):
        with self.changed:
            return [when for when, line in self.said
                    if line.startswith("op") and since <= when < until]

    def met(self):
        """Returns the other holders that it met in a lock of its own: [(time, name)]."""
        with self.changed:
            return [(when, line.split(" ", 2)[2]) for when, line in self.said
                    if line.startswith("met")]


def leave(cluster, build, n):
    """Removes all of the cluster from that machine: no daemon runs and no lockspace is left."""
    glock = cluster.share(os.path.join(build, "glock"))
    cluster.run(n, "pkill -x dlm_controld; pkill -x corosync; "
                   "while pgrep -x 'corosync|dlm_controld' >/dev/null; do sleep 0.2; done", check=False)
    # living programs have not left these lockspaces yet, and killed programs never will
    cluster.run(n, "for s in $(ls /sys/kernel/dlm); do i=0; "
                   f"until {glock} rm --lockman dlm $s || ! [ -e /sys/kernel/dlm/$s ]; do "
                   "i=$((i + 1)); [ $i -lt 50 ] || exit 1; sleep 0.2; done; done")


def rejoin(cluster, build, n):
    """Brings a machine back whose corosync or dlm_controld ended, as an administrator does."""
    leave(cluster, build, n)
    cluster.join(n)


def is_whole(cluster, n):
    """Tells whether that machine and its dlm_controld see all machines, and wait for nothing."""
    seen = cluster.run(n, "corosync-quorumtool -s; dlm_tool status; dlm_tool ls", check=False)
    members = re.findall(r"^node (\d+) M", seen, re.M)
    return re.search(r"^Quorate: +Yes", seen, re.M) and len(members) == len(cluster.numbers) and \
        not re.search("kern_stop|^new status", seen, re.M)


def make_whole(cluster, build, patience=10):
    """Brings the machines back that left the cluster for any reason, its own daemons included.
    Returns their numbers."""
    back = []
    for n in cluster.numbers:
        if not cluster.runs(n):
            back.append(n)
            cluster.reboot(n)
        cluster.resume(n)
        cluster.link(n, True)
    with concurrent.futures.ThreadPoolExecutor() as each:
        if all(each.map(lambda n: is_whole(cluster, n), cluster.numbers)):
            return back
    for n in cluster.numbers:
        end = time.monotonic() + patience
        while not (whole := is_whole(cluster, n)) and time.monotonic() < end:
            time.sleep(0.5)
        if not whole:
            back.append(n)
            rejoin(cluster, build, n)
    return back
