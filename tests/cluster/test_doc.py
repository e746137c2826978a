# SPDX-License-Identifier: MIT
# test_doc.py - tests the files and commands of docs/cluster.md, in its order, on new machines.
#
# The machines are as they are before the page's first step. Their systemctl is a stand-in, because
# the machines have no systemd. The test asks apt-get on this machine what it would do.

import os
import re
import subprocess
import time

from clients import leave

LAST = True  # the tests end the cluster and begin it anew
LATE = True  # with another token: the page's

# Acts as the units of Debian's packages do. A daemon is started when it answers, and dlm_controld
# may refuse to stop.
SYSTEMCTL = """#!/bin/sh
verb=$1
shift
wait_for() {
    i=0
    until eval "$1" >/dev/null 2>&1; do i=$((i + 1)); [ $i -lt 200 ] || exit 1; sleep 0.3; done
}
for unit; do
    case $verb-$unit in
    kill---signal=KILL) ;;
    start-corosync)
        setsid corosync -f >/run/corosync.log 2>&1 </dev/null &
        wait_for 'corosync-quorumtool -s || [ $? = 2 ]' ;;
    start-dlm)
        setsid dlm_controld -D >/run/dlm_controld.log 2>&1 </dev/null &
        wait_for 'dlm_tool status' ;;
    stop-corosync) pkill -x corosync; wait_for '! pgrep -x corosync' ;;
    stop-dlm) pkill -x dlm_controld; wait_for '! pgrep -x dlm_controld' ;;
    kill-dlm) pkill -9 -x dlm_controld ;;
    *) exit 2 ;;
    esac
done
"""

BLOCK = re.compile(r"^<!-- (.+?) -->\n```(\w*)\n(.*?)^```$", re.M | re.S)
SECONDS = 100  # for each command


def blocks():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "../../docs/cluster.md"), encoding="utf-8") as f:
        text = f.read()
    found = BLOCK.findall(text)
    # no command is left out because its machine is missing
    assert text.count("```sh") == sum(kind == "sh" for _, kind, _ in found)
    return found


def install_stand_ins(cluster, build):
    """Installs the stand-ins. Returns the PATH that finds them first."""
    folder = os.path.join(cluster.dir, "shared", "bin")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "systemctl"), "w", encoding="utf-8") as f:
        f.write(SYSTEMCTL)
    os.chmod(os.path.join(folder, "systemctl"), 0o755)
    os.replace(cluster.copy(os.path.join(build, "glock")), os.path.join(folder, "glock"))
    return "PATH=/run/shared/bin:$PATH; "


def until_all_are_there(cluster):
    """Waits for the state that the page's checks show in the end."""
    end = time.monotonic() + 120
    for n in cluster.numbers:
        while True:
            text = cluster.run(n, "corosync-quorumtool -s; dlm_tool status", check=False)
            if re.search(r"^Quorate: +Yes", text, re.M) and len(re.findall(r"^node \d+ M", text, re.M)) == 3:
                break
            assert time.monotonic() < end, text
            time.sleep(0.3)


def die_with_a_lockspace(cluster, path, n):
    """Makes the case of the page's last commands: dlm_controld is gone, and a killed program left a
    lockspace."""
    cluster.run(n, path + "GLOCK_LOCKMAN=dlm setsid glock run -x example counter -- sleep 1000 "
                "</dev/null >/dev/null 2>&1 & i=0; until pgrep -x sleep; do i=$((i + 1)); "
                "[ $i -lt 300 ] || exit 1; sleep 0.2; done; "
                "pkill -9 -x glock; pkill -9 -x sleep; pkill -9 -x dlm_controld")
    assert "example" in cluster.run(n, "ls /sys/kernel/dlm")


def test_documentation_is_true(cluster, build):
    path = install_stand_ins(cluster, build)
    for n in cluster.numbers:
        leave(cluster, build, n)
    cluster.all("rm -rf /etc/corosync/* /etc/dlm/*")
    commands = 0
    for where, kind, text in blocks():
        if where.startswith("file "):
            for n in cluster.numbers:
                cluster.run(n, f"cat >{where.split()[1]} <<'END'\n{text}END\n")
            continue
        if where == "restart":
            die_with_a_lockspace(cluster, path, 3)
        for line in text.splitlines():
            commands += 1
            if where == "here":
                assert line.startswith("apt-get install "), line
                subprocess.run(line.replace("apt-get", "apt-get --simulate", 1), shell=True,
                               check=True, stdout=subprocess.DEVNULL, timeout=SECONDS)
            elif where == "all":
                cluster.all(path + line, timeout=SECONDS)
            else:
                cluster.run(3 if where == "restart" else int(where.removeprefix("node")), path + line,
                            timeout=SECONDS)
        if "systemctl start" in text:
            until_all_are_there(cluster)
    return f"{commands} commands of docs/cluster.md"
