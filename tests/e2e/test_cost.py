# SPDX-License-Identifier: MIT
# test_cost.py - tests that o2top asks a node's kernel no more than needed, and tells its own cost.

import collections
import json
import os
import re
import shutil
import subprocess

import tap

O2TOP, CAPTURES = os.environ["O2TOP"], os.environ["O2TOP_CAPTURES"]
FAKESSH = os.path.join(os.environ["O2TOP_TESTS"], "fakessh.sh")
ENV = {**os.environ, "LC_ALL": "C.UTF-8"}
FRAMES = 3


def tree(folder, recording):
    """A folder in the place of debugfs. A wait in it makes o2top read the DLM's dumps, too."""
    root = os.path.join(folder, recording)
    shutil.copytree(f"{CAPTURES}/{recording}/t1/node1", root)
    return root


def opened(folder, root, *arguments, **env):
    """Returns how often each file of the kernel was opened."""
    trace = os.path.join(folder, "trace")
    done = subprocess.run(["strace", "-f", "-qq", "-o", trace, "-e", "trace=open,openat", O2TOP, "--json", "--details",
                           "--no-config", "-t", "0.2", "-i", str(FRAMES), *arguments], env={**ENV, **env}, text=True,
                          stdout=subprocess.PIPE, check=False)
    assert done.returncode == 0, done
    counts = collections.Counter()
    with open(trace, encoding="utf-8") as f:
        for line in f:
            found = re.search(r'open(?:at)?\((?:\w+, )?"([^"]*)", O_RDONLY.*= \d+$', line)
            if found and found[1].startswith(root + "/") and "O_DIRECTORY" not in line:
                counts[found[1][len(root) + 1:]] += 1
    return counts, json.loads(done.stdout.splitlines()[-1])


def strace_works():
    return shutil.which("strace") and subprocess.run(["strace", "-o", "/dev/null", "true"], check=False,
                                                     stderr=subprocess.DEVNULL).returncode == 0


def test_each_file_is_read_once_a_sample(folder):
    if not strace_works():
        return "SKIP strace is missing or may not trace"
    for recording in ("ocfs2-hang", "gfs2-hang", "ocfs2-hot", "gfs2-hot"):
        root = tree(folder, recording)
        counts, _ = opened(folder, root, "--local", "--debugfs", root, "--sysfs", folder)
        assert len(counts) > 6, counts
        for name, n in counts.items():
            # a frame takes two samples
            assert n <= FRAMES + 1, f"{name}: opened {n} times in {FRAMES + 1} samples"
        assert any(name.endswith("_all") for name in counts) or "hot" in recording, counts
    return None


def test_own_cost_is_told(folder):
    root = tree(folder, "ocfs2-hot")
    out = subprocess.run([O2TOP, "--json", "--no-config", "--local", "--debugfs", root, "-t", "0.05", "-i", "5"], env=ENV,
                         check=True, text=True, stdout=subprocess.PIPE).stdout
    costs = [json.loads(line)["self"] for line in out.splitlines()]
    assert len(costs) == 5
    for before, after in zip(costs, costs[1:]):
        assert 0 < before["cpu_s"] <= after["cpu_s"] and 0 < before["read_s"] < after["read_s"], costs
        assert after["bytes"] == 0
    # of recorded nodes it means nothing
    out = subprocess.run([O2TOP, "--json", "--no-config", "ocfs2-hot"], env=ENV, cwd=CAPTURES, check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    assert all(json.loads(line)["self"] is None for line in out.splitlines())


def nodes(folder, *names):
    """Nodes whose files are those of a recording."""
    for name in names:
        with open(os.path.join(folder, f"{name}.samples"), "w", encoding="utf-8") as f:
            f.write("t0\nt1\n")
    return {"O2TOP_FAKE": folder, "O2TOP_CAPTURE": os.path.join(CAPTURES, "ocfs2-hang")}


def test_each_file_is_read_once_a_sample_on_nodes(folder):
    if not strace_works():
        return "SKIP strace is missing or may not trace"
    env = nodes(folder, "node1")
    counts, _ = opened(folder, f"{folder}/node1/root", "--no-agent", "--ssh", FAKESSH, "-n", "node1", **env)
    with open(os.path.join(folder, "node1.asked"), encoding="utf-8") as f:
        asked = sum(line.startswith("S ") for line in f)
    kernel = {name: n for name, n in counts.items() if re.match(r"(ocfs2|gfs2|dlm|o2dlm)/", name)}
    assert asked and len(kernel) > 4, (asked, counts)
    for name, n in kernel.items():
        assert n <= asked, f"{name}: opened {n} times for {asked} samples"
    return None


def test_bytes_of_other_machines_add_up(folder):
    out = subprocess.run([O2TOP, "--json", "--no-config", "--no-agent", "--ssh", FAKESSH, "-n", "node1", "-n", "node2",
                          "-t", "0.3", "-i", "3"], check=True, text=True, stdout=subprocess.PIPE,
                         env={**ENV, **nodes(folder, "node1", "node2")}).stdout
    frames = [json.loads(line) for line in out.splitlines()]
    for before, after in zip(frames, frames[1:]):
        told = sum(n["read_bytes"] or 0 for n in after["nodes"])
        # on a busy machine the sample of a node may be late
        if all(n["state"] == "ok" for n in after["nodes"]):
            assert after["self"]["bytes"] - before["self"]["bytes"] == told, (before["self"], after["self"], told)
    assert frames[-1]["self"]["bytes"] > 1000, frames[-1]["self"]


tap.run(globals())
