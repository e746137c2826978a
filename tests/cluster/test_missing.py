# SPDX-License-Identifier: MIT
# test_missing.py - tests glock's messages if a part of the DLM is missing: they name the part.

import subprocess
import time

from clients import leave, rejoin
from test_glock import glock_on

LAST = True

HIDE = {  # the missing part: how to hide it from one process, and the words of the message
    "library": ("mount --bind /dev/null $(ls /usr/lib/*/libdlm_lt.so.3)", "libdlm3"),
    "module": ("mount -t tmpfs none /sys/kernel", "modprobe dlm"),
    "device": ("mount --bind /run /dev", "51-dlm.rules"),
    "permission": (None, "CAP_SYS_ADMIN"),
}


def said(cluster, n, command):
    return cluster.run(n, f"{command} 2>&1; echo status $?", timeout=60)


# Promises: glock_space_open: "-ENODEV the kernel's", "-EACCES, -EPERM no".
def test_missing_is_named(cluster, build):
    glock = glock_on(cluster, build)
    run = f"{glock} run -n glockmissing one -- true"
    for what, (hide, word) in HIDE.items():
        if hide:
            text = said(cluster, 1, f"unshare -m sh -c '({hide}) && {run}'")
        else:
            text = said(cluster, 1, f"setpriv --reuid 65534 --regid 65534 --clear-groups {run}")
        assert word in text and "status 0" not in text, (what, text)
    assert "glockmissing" not in cluster.run(1, "ls /sys/kernel/dlm")


# Promises: glock_space_open: "-ENODEV the kernel's", "-ENETDOWN no quorum".
def test_daemon_and_quorum_are_named(cluster, build):
    """On a machine without a running cluster, then with corosync only, then as one of three."""
    glock = glock_on(cluster, build)
    run = f"{glock} run -n glockmissing one -- true"
    leave(cluster, build, 3)
    text = said(cluster, 3, run)
    assert "dlm_controld does not run" in text and "status 0" not in text, text
    # both daemons run, but the other two machines are out of sight
    cluster.link(3, False)
    try:
        cluster.run(3, "setsid corosync -f >/run/corosync.log 2>&1 </dev/null & "
                       "until corosync-quorumtool -s >/dev/null 2>&1 || [ $? = 2 ]; do sleep 0.3; done; "
                       "setsid dlm_controld -D >/run/dlm_controld.log 2>&1 </dev/null &", timeout=60)
        end = time.monotonic() + 60
        while "no quorum" not in (text := said(cluster, 3, run)):
            assert time.monotonic() < end, text
            time.sleep(0.5)
        assert "status 0" not in text, text
    finally:
        cluster.link(3, True)
        rejoin(cluster, build, 3)


# A program that joins or leaves a lockspace waits in the kernel for dlm_controld's answer. Without
# an answer, it waits for ever.
AWAIT_HUNG = ("i=0; until cat /proc/[0-9]*/task/*/stack 2>/dev/null | grep -q do_uevent; do "
              "i=$((i + 1)); [ $i -lt 200 ] || exit 1; sleep 0.1; done; ")


def test_dlm_controld_dies_while_a_program_leaves_or_joins(cluster, build):
    """glock rm answers in dlm_controld's place. The program ends, and nothing of its lockspace is
    left."""
    glock = glock_on(cluster, build)
    took = []
    for leaving in (True, False):
        space = f"glock{'leave' if leaving else 'join'}"
        stop = "pkill -STOP -x dlm_controld; "
        if not leaving:
            cluster.run(3, stop)
        program = cluster.start(3, f"{glock} run {space} one -- sh -c 'echo held; exec sleep 1000' 2>&1",
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        if leaving:
            assert program.stdout.readline() == "held\n"
            stop += "pkill -x sleep; "
        # the program still waits when dlm_controld is gone, and only glock rm can end this wait
        cluster.run(3, stop + AWAIT_HUNG + "pkill -KILL -x dlm_controld; "
                    "while pgrep -x dlm_controld; do sleep 0.1; done; " + AWAIT_HUNG, timeout=60)
        began = time.monotonic()
        text = said(cluster, 3, f"{glock} rm {space}")
        assert "status 0" in text, text
        text, _ = program.communicate(timeout=60)
        took.append(time.monotonic() - began)
        assert program.returncode and (leaving or space in text), (space, text)
        assert space not in cluster.run(3, "ls /sys/kernel/dlm")
        cluster.join(3)
    return f"who left went on {took[0]:.1f} s after glock rm was begun, who joined after {took[1]:.1f} s"
