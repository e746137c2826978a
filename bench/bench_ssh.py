#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# bench_ssh.py - measures the cost of a frame of three nodes over ssh to this machine.

"""bench_ssh.py BUILD_DIR [LOCKS] - the cost of a frame of three nodes over ssh to this machine.

The cost is the bytes a sample and the CPU of all parts: o2top, ssh, sshd and the program at the
other end. It is measured with o2top installed there and without. A recording stands for each node's kernel. The
recording goes on by one sample for each frame. The figures are the difference between a run of one
frame and one of five.
"""

import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

NODES, FRAMES, INTERVAL = 3, 5, 8.0

SSH = """#!/bin/sh
n=${{1#node}}
exec ssh -F /dev/null -p {port} -i {folder}/key -oBatchMode=yes -oStrictHostKeyChecking=no \\
    -oUserKnownHostsFile=/dev/null -oLogLevel=ERROR 127.0.0.1 \\
    "{path} O2TOP_DEBUGFS={folder}/root$n exec sh"
"""


def start_sshd(folder):
    """Starts an sshd that refuses all other users. Returns the process and its port."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    os.makedirs("/run/sshd", exist_ok=True)
    options = ["ListenAddress=127.0.0.1", "StrictModes=no", "PidFile=none", "UsePAM=no",
               f"AuthorizedKeysFile={folder}/key.pub", "PermitRootLogin=yes"]
    process = subprocess.Popen(
        ["/usr/sbin/sshd", "-D", "-f", "/dev/null", "-h", f"{folder}/hostkey", "-p", str(port),
         *[word for option in options for word in ("-o", option)]], stderr=subprocess.DEVNULL)
    for _ in range(100):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return process, port
        time.sleep(0.1)
    process.kill()
    sys.exit("bench_ssh: sshd does not listen")


def cpu():
    """Returns the CPU of all ended child processes and of their children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def set_sample(folder, k):
    for n in range(1, NODES + 1):
        new = f"{folder}/root{n}.new"
        os.symlink(f"{folder}/rec/t{k}/node{n}", new)
        os.rename(new, f"{folder}/root{n}")


def run(build, folder, agent, frames):
    """Returns the CPU seconds of a run of that many frames, and the bytes of a node's last sample."""
    before = cpu()
    sshd, port = start_sshd(folder)
    with open(f"{folder}/ssh", "w", encoding="utf-8") as f:
        f.write(SSH.format(port=port, folder=folder, path=f"PATH={build}:$PATH" if agent else ""))
    os.chmod(f"{folder}/ssh", 0o755)
    set_sample(folder, 0)
    nodes = [word for n in range(1, NODES + 1) for word in ("-n", f"node{n}")]
    o2top = subprocess.Popen([f"{build}/o2top", "--json", "-l", "10", "--touch-nothing", "--ssh",
                              f"{folder}/ssh", *nodes, "-t", str(INTERVAL), "-i", str(frames)],
                             stdout=subprocess.PIPE, text=True)
    done = threading.Event()

    def go_on():
        # half an interval after each sample, the next sample's files appear
        if done.wait(INTERVAL / 2):
            return
        for k in range(1, frames + 1):
            set_sample(folder, k)
            if done.wait(INTERVAL):
                return

    ticker = threading.Thread(target=go_on)
    ticker.start()
    lines = o2top.communicate()[0].splitlines()
    done.set()
    ticker.join()
    sshd.terminate()
    sshd.wait()
    # a node may miss a frame on a busy machine, so only the samples that arrived count
    sizes = [n["read_bytes"] for line in lines for n in json.loads(line)["nodes"]
             if n["read_bytes"]]
    return cpu() - before, sizes


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = os.path.abspath(sys.argv[1])
    locks = sys.argv[2] if len(sys.argv) > 2 else "100000"
    folder = tempfile.mkdtemp(prefix="o2top-bench.")
    try:
        for key in ("key", "hostkey"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{key}"],
                           check=True)
        subprocess.run([f"{build}/bench/gen_locking_state", "-l", locks, "-n", str(NODES), "-s",
                        str(FRAMES + 1), "-K", f"{folder}/rec"], check=True)
        for agent in (True, False):
            one, few = run(build, folder, agent, 1)
            more, many = run(build, folder, agent, FRAMES)
            if len(many) - len(few) < NODES:
                sys.exit("bench_ssh: too few samples came: the machine is too busy")
            print(f"{NODES} nodes of {locks} locks, {'agent' if agent else 'shell'}: "
                  f"{NODES * (more - one) / (len(many) - len(few)):.2f} s of CPU a frame, "
                  f"{sorted(many)[len(many) // 2] / 1e6:.2f} MB a node and sample, "
                  f"{max(many) / 1e6:.0f} MB the first")
    finally:
        shutil.rmtree(folder)


main()
