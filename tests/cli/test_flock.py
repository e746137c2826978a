# SPDX-License-Identifier: MIT
# test_flock.py - runs each line of docs/flock.md: flock(1) and glock(1) side by side, with a free lock and a held one.

import os
import re
import shutil
import subprocess
import sys

from cli import GLOCK, SLOW, glock, main, objects, out, wait_for

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/flock.md")
HELD = "echo; read x"


def idioms():
    with open(PAGE, encoding="utf-8") as f:
        rows = re.findall(r"^\| `(.*)` \| `(.*)` \|$", f.read(), re.M)
    assert len(rows) == 10, rows
    return [[cell.replace("\\|", "|") for cell in row] for row in rows]


def start(line):
    """Starts a script of one line, beside a file x.lock and with glock in the path."""
    folder = os.environ["GLOCK_DIR"]
    script = os.path.join(folder, ".script%d" % len(os.listdir(folder)))
    with open(script, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n%s\n" % line)
    os.chmod(script, 0o700)
    env = dict(os.environ, PATH=os.path.dirname(GLOCK) + ":" + os.environ["PATH"])
    return subprocess.Popen([script], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)


def end(p):
    said = p.communicate(timeout=SLOW)[0]
    return said, p.returncode


def wait_until_free():
    """A lock of glock hold is free a moment after its process has ended."""
    wait_for(lambda: not any(o.get("held") for o in objects("ls", "--json")))


def held(*command):
    p = subprocess.Popen([*command, "sh", "-c", HELD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert p.stdout.readline() == "\n"
    return p


def each_line_does_the_same():
    for flock, ours in idioms():
        wait_until_free()
        want, got = end(start(flock)), end(start(ours))
        assert want[0] and got == want, (flock, want, got)


def each_line_meets_a_held_lock():
    for flock, ours in idioms():
        free = end(start(flock))
        wait_until_free()
        a = held("flock", os.environ["GLOCK_DIR"] + "/x.lock")
        b = held(GLOCK, "run", "jobs", "x")
        p, q = start(flock) if "-n" in flock else None, start(ours)
        if p:
            want = end(p)
            assert want != free and end(q) == want, (ours, want)
        else:
            wait_for(lambda: sum(o["waiting"] for o in objects("ls", "--json", "jobs")) == 1)
        for holder in (a, b):
            holder.communicate("\n", timeout=SLOW)
        assert p or end(q) == free, (ours, free)


def a_held_lock_is_named_and_ends_with_its_process():
    with subprocess.Popen(["sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as shell:
        shell.stdin.write("exec 3>&1; '%s' hold jobs x && echo held\n" % GLOCK)
        shell.stdin.flush()
        assert shell.stdout.readline() == "held\n"
        r = glock("hold", "-n", "--verbose", "jobs", "x")
        assert r.returncode == 1 and re.search(r"has it: x: sh %d; held by \w+ for" % shell.pid, r.stderr), r
        assert "x: sh %d; held by" % shell.pid in out("ls")
        os.unlink(os.environ["GLOCK_DIR"] + "/jobs")
        wait_for(lambda: any(o.get("held") for o in objects("ls", "--json")))  # the lock is taken again
        assert glock("run", "-n", "jobs", "x", "true").returncode == 1
        shell.stdin.close()
        assert shell.stdout.read() == ""  # no holder keeps the pipe of descriptor 3
    assert glock("run", "-w", str(SLOW), "jobs", "x", "true").returncode == 0
    wait_until_free()


def what_flock_takes_is_explained():
    for args, status, said in (
            (["run", "/var/lock/x.lock", "echo", "hi"], 64, "the FILE of flock(1) is SPACE and NAME here, two words, as in: glock run locks x.lock"),
            (["hold", "./x.lock", "n"], 64, "as in: glock hold locks x.lock"),
            (["run", "-n", "9"], 64, "9: no lock has a descriptor; glock hold"),
            (["run", "x.lock", "echo", "/nonexistent/hi"], 69, "CMD stands behind SPACE and NAME"),
            (["hold", "--pid", "0", "s", "n"], 64, "--pid needs the number of a process, not 0"),
            (["hold", "--pid", "2147483647", "s", "n"], 66, "process 2147483647: No such process"),
            (["hold", "s", "n", "true"], 64, "glock run starts a command"),
            (["hold", "s"], 64, "NAME is missing")):
        r = glock(*args)
        assert r.returncode == status and said in r.stderr, (args, r)


if __name__ == "__main__":
    if not shutil.which("flock"):
        print("1..0 # SKIP no flock(1) here")
        sys.exit(0)
    main([each_line_does_the_same, each_line_meets_a_held_lock, a_held_lock_is_named_and_ends_with_its_process,
          what_flock_takes_is_explained])
