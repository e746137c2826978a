# SPDX-License-Identifier: MIT
# test_namespaces.py - tests spaces that processes of several namespaces share, as containers do.

import json
import os
import re
import signal
import subprocess
import time

from cli import GLOCK, SLOW, Node, glock, main, objects, out, wait_for

# The clocks are a day ahead. The process is number 1.
FOREIGN = ["unshare", "-pTf", "--mount-proc", "--kill-child", "--monotonic", "100000", "--boottime", "200000"]
TIME = ["unshare", "-Tf", "--kill-child", "--monotonic", "100000", "--boottime", "200000"]


def lacking():
    r = subprocess.run([*FOREIGN, "true"], capture_output=True, check=False)
    return "SKIP needs namespaces" if r.returncode else None


def foreign_glock(*args):
    return subprocess.run([*FOREIGN, GLOCK, *args], capture_output=True, text=True, timeout=SLOW, check=False)


def child_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return int(f.read())


def one(nodes, **want):
    (found,) = [o for o in nodes if all(o[key] == value for key, value in want.items())]
    return found


def a_process_of_another_namespace_is_shown():
    if said := lacking():
        return said
    a, b = Node("s"), Node("s", *FOREIGN)
    a.do("nq 1 2 5 EX")
    a.do("wait 1")
    b.do("nq 1 2 5 EX")
    wait_for(lambda: any(o["waiting"] for o in objects("ls", "--json", "s")))
    nodes = objects("ls", "--json", "s")
    theirs = one(nodes, other_pid_namespace=True)
    assert (theirs["pid"], theirs["state"]) == (1, "ok"), theirs
    assert theirs["why"] == "pid 1 in another pid namespace", theirs
    assert 0 <= theirs["oldest_wait_s"] < SLOW, theirs
    assert one(nodes, pid=a.pid)["why"] is None
    # the other way round
    nodes = [json.loads(line) for line in foreign_glock("ls", "--json", "s").stdout.splitlines()]
    assert one(nodes, pid=a.pid)["other_pid_namespace"] and one(nodes, pid=a.pid)["state"] == "ok", nodes
    assert 0 <= one(nodes, pid=1)["oldest_wait_s"] < SLOW, nodes
    # a holder of another namespace is not taken for a thread that has ended
    text = out("stat", "s") + foreign_glock("stat", "s").stdout
    assert text.count("n:2/5 ") == 4 and "(ended)" not in text, text
    a.do("dq 1")
    b.do("wait 1")
    # a conflict, though the pid is that of the process that asks
    r = foreign_glock("run", "-n", "s", "2:5", "true")
    assert r.returncode == 1, r
    b.do("dq 1")
    a.end(), b.end()
    return None


def it_is_asked_and_waited_for():
    if said := lacking():
        return said
    a, b = Node("s", *FOREIGN), Node("s")
    a.do("cached 2 6 EX")
    assert glock("demote", "s", "2:5", "SH").returncode == 0
    wait_for(lambda: re.findall(r"s:(\w\w) n:2/5 ", out("stat", "s")) == ["SH"])
    assert foreign_glock("demote", "s", "2:5", "EX").returncode == 0
    wait_for(lambda: re.findall(r"s:(\w\w) n:2/5 ", out("stat", "s")) in (["UN"], []))
    r = glock("rm", "s")
    assert r.returncode == 1 and "node-1 uses it (ok)" in r.stderr, r
    # its death is found
    a.do("nq 1 2 9 EX")
    a.do("wait 1")
    b.do("nq 1 2 9 EX")
    os.kill(child_of(a.pid), signal.SIGKILL)
    b.do("wait 1")
    b.do("dq 1")
    b.end()
    a.p.wait(SLOW)
    assert foreign_glock("rm", "s").returncode == 0
    return None


def its_events_come_at_our_time():
    if said := lacking():
        return said
    a = Node("s", *FOREIGN)
    p = subprocess.Popen([GLOCK, "trace", "-t", "1", "s"], stdout=subprocess.PIPE, text=True)
    for _ in range(20):  # some before the trace has begun
        a.do("cached 2 1 EX")
        time.sleep(0.05)
    numbers = [float(n) for n in re.findall(r" (\d+\.\d{6}): ", p.communicate(timeout=SLOW)[0])]
    now = time.monotonic()
    assert numbers and all(now - 60 < n < now + 60 for n in numbers), (now, numbers[:3])
    a.end()
    return None


def a_process_of_another_time_is_known_by_its_start():
    if said := lacking():
        return said
    a = Node("s", *TIME)
    pid = child_of(a.pid)
    a.do("name /some/file")
    a.do("cached 2 2 EX")
    assert one(objects("ls", "--json", "s"), pid=pid)["state"] == "ok"
    ages = [float(age) for age in re.findall(r"\(([0-9.-]+) s old\)", out("stat", "--ages", "s"))]
    assert ages and all(0 <= age < SLOW for age in ages), ages
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: one(objects("ls", "--json", "s"), pid=pid)["state"] == "stopped")
    os.kill(pid, signal.SIGCONT)
    a.end()
    # the other way round
    b = Node("s")
    b.stop()
    r = subprocess.run([*TIME, GLOCK, "ls", "--json", "s"], capture_output=True, text=True, check=True)
    assert one(map(json.loads, r.stdout.splitlines()), pid=b.pid)["state"] == "stopped", r
    b.go_on()
    b.end()
    return None


def a_command_there_outlives_glock():
    if said := lacking():
        return said
    command = "exec 3<&0; glock=$1; $glock run s n sh -c '(read x <&3) & echo'; wait; sleep 60"
    p = subprocess.Popen([*FOREIGN, "sh", "-c", command, "sh", GLOCK],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert p.stdout.readline() == "\n"
    wait_for(lambda: [o["state"] for o in objects("ls", "--json", "s")] == ["inherited"])
    assert glock("run", "-n", "s", "n", "true").returncode == 1
    assert glock("rm", "s").returncode == 1
    p.stdin.close()
    wait_for(lambda: glock("run", "-n", "s", "n", "true").returncode == 0)
    p.kill()
    p.wait()
    return None


def users_of_a_namespace_share_by_the_directory():
    if said := lacking():
        return said
    user = ["unshare", "-Ur"]
    if subprocess.run([*user, "true"], capture_output=True, check=False).returncode:
        return None  # a kernel may forbid that to all users
    a, b = Node("s", *user), Node("s")
    a.do("nq 1 2 5 EX")
    a.do("wait 1")
    b.do("nq 1 2 5 EX")
    assert {o["state"] for o in objects("ls", "--json", "s")} == {"ok"}
    a.do("dq 1")
    b.do("wait 1")
    a.end(), b.end()
    return None


if __name__ == "__main__":
    main(
        [
            a_process_of_another_namespace_is_shown,
            it_is_asked_and_waited_for,
            its_events_come_at_our_time,
            a_process_of_another_time_is_known_by_its_start,
            a_command_there_outlives_glock,
            users_of_a_namespace_share_by_the_directory,
        ]
    )
