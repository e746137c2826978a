#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py - the waits for a lock by file path: glock beside flock(2), filelock and proper-lockfile.

usage: run.py BUILD [SECONDS]

Six processes take turns of 10 ms on one file, without a pause. filelock is Debian's python3-filelock, and proper-lockfile
comes from npm into a folder of its own. A library that is not there is left out, and said to be. Then come a pair of the two
Node packages, and the turns of others that each of 50 processes waits for in the Node package of glock.
"""

import os
import subprocess
import sys
import tempfile

PROCESSES, TURN_US, CONTENDERS = 6, 10000, 50

FILELOCK = """
import sys, time, filelock
lock, waits, end = filelock.FileLock(sys.argv[1]), [], time.monotonic() + float(sys.argv[3])
while (asked := time.monotonic_ns()) < end * 1e9:
    with lock:
        waits.append(time.monotonic_ns() - asked)
        time.sleep(float(sys.argv[2]) / 1e6)
print(*waits, sep="\\n")
"""

# Tries once a second, as the examples of the package do.
LOCKFILE = """
const [name, file, turn, seconds] = process.argv.slice(2), lockfile = require(name);
(async () => {
  const end = Date.now() + seconds * 1000, waits = [];
  while (Date.now() < end) {
    const asked = process.hrtime.bigint();
    const release = await lockfile.lock(file, {retries: {forever: true, minTimeout: 1000, maxTimeout: 1000}});
    waits.push(process.hrtime.bigint() - asked);
    await new Promise((r) => setTimeout(r, turn / 1000));
    await release();
  }
  console.log(waits.join("\\n"));
})();
"""

PAIR = """
const [name, file, options] = process.argv.slice(1), lockfile = require(name), turns = name === "glock" ? 20000 : 300;
(async () => {
  let best = Infinity;
  for (let i = 0; i < 5; i++) {
    const began = process.cpuUsage();
    for (let j = 0; j < turns; j++) await (await lockfile.lock(file, JSON.parse(options)))();
    const { user, system } = process.cpuUsage(began);
    best = Math.min(best, (user + system) / turns);
  }
  console.log(best.toFixed(2));
})();
"""

# Prints how many turns of others came between each request and its grant. The file has a byte for each turn.
CONTEND = """
const [file, seconds] = process.argv.slice(1), fs = require("fs"), { lock } = require("glock"), end = Date.now() + seconds * 1000;
(async () => {
  const got = [];
  while (Date.now() < end) {
    const asked = fs.statSync(file).size;
    const release = await lock(file, { retries: { forever: true } });
    got.push(fs.statSync(file).size - asked);
    fs.appendFileSync(file, "x");
    await new Promise((r) => setTimeout(r, 1));
    await release();
  }
  console.log(got.slice(1).join("\\n"));
})();
"""


def waits(command, cwd):
    """Returns the waits of all processes in ms, sorted, and the turns of each process."""
    processes = [subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]
    each = [[int(line) / 1e6 for line in p.communicate()[0].split()] for p in processes]
    return sorted(sum(each, [])), [len(one) for one in each]


def report(name, command, cwd, seconds):
    got, turns = waits(command, cwd)
    if not got:
        print("%-16s failed" % name)
        return
    print("%-16s %8.0f %10.1f %10.1f %10.1f %8d to %d" %
          (name, len(got) / seconds, got[len(got) // 2], got[len(got) * 99 // 100], got[-1], min(turns), max(turns)), flush=True)


def main():
    build, seconds = os.path.abspath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 20
    worker = os.path.join(build, "bench/paths/bench_paths")
    with tempfile.TemporaryDirectory() as folder:
        args = [os.path.join(folder, "file.lock"), str(TURN_US), "%g" % seconds]
        print("%-16s %8s %10s %10s %10s %s" % ("", "turns/s", "p50/ms", "p99/ms", "longest/ms", "turns of a process"))
        report("glock", [worker, "glock"] + args, folder, seconds)
        report("flock(2)", [worker, "flock"] + args, folder, seconds)
        if subprocess.run(["/usr/bin/python3", "-c", "import filelock"], stderr=subprocess.DEVNULL, check=False).returncode:
            print("filelock         left out: apt-get install python3-filelock")
        else:
            report("filelock", ["/usr/bin/python3", "-c", FILELOCK] + args, folder, seconds)
        if subprocess.run("npm install --silent --no-audit --no-fund proper-lockfile >/dev/null 2>&1", shell=True, cwd=folder,
                          check=False).returncode:
            print("proper-lockfile  left out: npm cannot install it")
            return
        with open(os.path.join(folder, "worker.js"), "w", encoding="utf-8") as f:
            f.write(LOCKFILE)
        with open(args[0], "a", encoding="utf-8"):
            report("proper-lockfile", ["node", "worker.js", "proper-lockfile"] + args, folder, seconds)
        node_package(build, folder, args, seconds)


def node_package(build, folder, args, seconds):
    package = os.path.join(build, "bindings/node/node_modules/glock")
    if not os.path.exists(package):
        print("glock for Node   left out: apt-get install libnode-dev")
        return
    os.symlink(package, os.path.join(folder, "node_modules/glock"))
    report("glock for Node", ["node", "worker.js", "glock"] + args, folder, seconds)
    for name, options in ("glock", "{}"), ("glock", '{"interop": false}'), ("proper-lockfile", "{}"):
        took = subprocess.run(["node", "-e", PAIR, name, args[0], options], cwd=folder, capture_output=True, text=True, check=True)
        print("a pair of %-16s %-20s %s us of CPU time" % (name, options, took.stdout.strip()))
    command = ["node", "-e", CONTEND, args[0], "%g" % seconds]
    processes = [subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) for _ in range(CONTENDERS)]
    turns = sorted(int(turn) for p in processes for turn in p.communicate()[0].split())
    print("%d processes of Node: turns of others in a wait: p50 %d, p99 %d, most %d" %
          (CONTENDERS, turns[len(turns) // 2], turns[len(turns) * 99 // 100], turns[-1]))


if __name__ == "__main__":
    main()
