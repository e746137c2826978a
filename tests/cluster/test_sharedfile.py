# SPDX-License-Identifier: MIT
# test_sharedfile.py - tests examples/sharedfile on three machines, with caches under dlm locks.
#
# The files are in one directory and cached on each machine.

import os
import re
import subprocess

FILES = "one two"
TIMES = 40


def told(output, word):
    return {name: int(n) for name, n in re.findall(rf"^{word} (\S+) (\d+)$", output, re.M)}


def test_three_nodes_share_files(cluster, build):
    cluster.share(os.path.join(build, "src/glock/libglock.so.1"))
    program = "LD_LIBRARY_PATH=/run/shared GLOCK_LOCKMAN=dlm " + cluster.share(os.path.join(build, "examples/sharedfile"))
    directory = "/mnt/ocfs2/counters"
    cluster.run(1, f"mkdir -p {directory}; {program} {directory} zero {FILES} kept")
    # a program that keeps the space open, so that it is joined one time
    keeper = cluster.start(1, f"{program} {directory} hold kept", stdin=subprocess.PIPE,
                           stdout=subprocess.DEVNULL)
    try:
        # each machine notes the additions that it saw finished
        workers = {n: cluster.start(n, f"{program} {directory} count {n} {TIMES} 0 /tmp/board {FILES}",
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT) for n in cluster.numbers}
        outputs = {n: worker.communicate(timeout=400)[0] for n, worker in workers.items()}
        for n, worker in workers.items():
            assert worker.returncode == 0 and "WRONG" not in outputs[n], outputs[n]
        added = 0
        for line in cluster.run(2, f"{program} {directory} show {FILES}").splitlines():
            name, total, *slots = line.split()
            slots = list(map(int, slots))
            assert int(total) == sum(slots), line
            for n, output in outputs.items():
                assert slots[n] == told(output, "done")[name], (n, name, line)
            added += int(total)
        assert added >= len(cluster.numbers) * TIMES, added
    finally:
        keeper.stdin.close()
        keeper.wait(timeout=60)
    return f"{added} additions by {len(cluster.numbers)} nodes to {len(FILES.split())} files, none lost"
