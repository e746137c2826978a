# SPDX-License-Identifier: MIT
"""docs/cluster.md: its files and commands, in its order, on the machines.

Their systemctl is a stand-in, as they have no systemd; apt-get is asked here, for what it would do.
"""

import os
import re
import subprocess

LAST = True  # it ends the cluster and begins it anew

SYSTEMCTL = """#!/bin/sh
verb=$1
shift
wait_for() {
    i=0
    until "$@" >/dev/null 2>&1; do i=$((i + 1)); [ $i -lt 300 ] || exit 1; sleep 0.3; done
}
quorate() { corosync-quorumtool -s | grep -q '^Quorate: *Yes'; }
joined() { dlm_tool status | grep -q '^cluster'; }
for unit; do
    case $verb-$unit in
    start-corosync) setsid corosync -f >/run/corosync.log 2>&1 </dev/null & wait_for quorate ;;
    start-dlm) setsid dlm_controld -D >/run/dlm_controld.log 2>&1 </dev/null & wait_for joined ;;
    stop-corosync) pkill -x corosync; while pgrep -x corosync >/dev/null; do sleep 0.2; done ;;
    stop-dlm) pkill -x dlm_controld; while pgrep -x dlm_controld >/dev/null; do sleep 0.2; done ;;
    *) exit 2 ;;
    esac
done
"""

BLOCK = re.compile(r"^<!-- (.+?) -->\n```(\w*)\n(.*?)^```$", re.M | re.S)


def blocks():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "../../docs/cluster.md"), encoding="utf-8") as f:
        text = f.read()
    found = BLOCK.findall(text)
    # no command is left out because nobody said where
    assert text.count("```sh") == sum(kind == "sh" for _, kind, _ in found)
    return found


def test_documentation_is_true(cluster, build):
    shim = os.path.join(cluster.dir, "shared", "bin")
    os.makedirs(shim, exist_ok=True)
    with open(os.path.join(shim, "systemctl"), "w", encoding="utf-8") as f:
        f.write(SYSTEMCTL)
    os.chmod(os.path.join(shim, "systemctl"), 0o755)
    os.replace(cluster.copy(os.path.join(build, "glock")), os.path.join(shim, "glock"))
    path = "PATH=/run/shared/bin:$PATH; set -e; "
    cluster.all(path + "systemctl stop dlm corosync; rm -rf /etc/corosync/* /etc/dlm/*")
    commands = 0
    for where, kind, text in blocks():
        if where.startswith("file "):
            name = where.split()[1]
            for n in cluster.numbers:
                cluster.run(n, f"cat >{name} <<'END'\n{text}END\n")
        elif where == "here":
            assert text.startswith("apt-get install "), text
            subprocess.run(text.replace("apt-get", "apt-get --simulate", 1), shell=True, check=True,
                           stdout=subprocess.DEVNULL)
        elif where == "all":
            cluster.all(path + text)
        elif where == "restart":
            cluster.run(3, path + text)
        else:
            cluster.run(int(where.removeprefix("node")), path + text)
        commands += len(text.splitlines()) if kind == "sh" else 0
    return f"{commands} commands of docs/cluster.md"
