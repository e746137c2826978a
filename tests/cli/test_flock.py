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


def by_file(line):
    return line.replace("jobs x", "--file x.lock")


def each_line_does_the_same():
    for flock, ours in [pair for flock, ours in idioms() for pair in ((flock, ours), (flock, by_file(ours)))]:
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


def a_file_is_kept_from_both():
    """Each line with --file meets a holder of flock(1), and each line of flock(1) meets one of --file."""
    path = os.environ["GLOCK_DIR"] + "/x.lock"
    for flock, ours in idioms():
        if "-n" not in flock:
            continue
        free = end(start(flock))
        for holder, line in ((["flock", path], by_file(ours)), ([GLOCK, "run", "--file", path], flock),
                             ([GLOCK, "run", "--file", path], by_file(ours))):
            wait_until_free()
            p = held(*holder)
            want = end(start(flock))
            assert want != free and end(start(line)) == want, (holder, line, want)
            p.communicate("\n", timeout=SLOW)


def a_file_stays_locked_as_with_flock():
    """CMD and its children keep the lock, also if glock is killed; -o ends this."""
    path = os.environ["GLOCK_DIR"] + "/x.lock"
    free = lambda: subprocess.run(["flock", "-n", path, "true"], check=False).returncode == 0
    wait_until_free()
    for option, stays in (([], True), (["-o"], False), (["-F"], True)):
        p = subprocess.Popen([GLOCK, "run", *option, "--file", path, "sh", "-c", "sleep 60 >&- & echo $!"], stdout=subprocess.PIPE, text=True)
        child = int(p.communicate(timeout=SLOW)[0])
        assert p.returncode == 0 and free() == (not stays), option
        os.kill(child, 9)
        wait_for(free)
    p = subprocess.Popen([GLOCK, "run", "--file", path, "sh", "-c", "echo $$; exec sleep 60"], stdout=subprocess.PIPE, text=True)
    child = int(p.stdout.readline())
    p.kill()
    p.wait()
    assert not free()
    os.kill(child, 9)
    wait_for(free)
    assert glock("run", "-s", "--file", path, "-c", "flock -s -n %s true && ! flock -n %s true" % (path, path)).returncode == 0


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


def a_release_is_of_one_process():
    """--release ends the lock of this process alone, and is done when the lock is free."""
    path = os.environ["GLOCK_DIR"] + "/x.lock"
    wait_until_free()
    with subprocess.Popen(["sh", "-c", "echo; read x"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as shell:
        for name in (["jobs", "x"], ["--file", path]):
            pid = ["--pid", str(shell.pid)]
            assert glock("hold", *pid, *name).returncode == 0
            r = glock("hold", "--release", *name)
            assert r.returncode == 66 and "no glock hold keeps lock" in r.stderr, r
            assert glock("hold", "-n", *name).returncode == 1
            assert glock("hold", *pid, "--release", *name).returncode == 0
            assert glock("run", "-n", *name, "--", "true").returncode == 0
        shell.communicate("\n", timeout=SLOW)


def what_flock_takes_is_explained():
    for args, status, said in (
            (["run", "/var/lock/x.lock", "echo", "hi"], 64, "is a file; to lock it, as flock(1) does: glock run --file /var/lock/x.lock"),
            (["hold", "./x.lock", "n"], 64, "glock hold --file ./x.lock"),
            (["run", "-c", "true", "s", "n"], 64, "-c stands behind SPACE and NAME, or behind --file PATH"),
            (["run", "--file", "/nonexistent/x", "true"], 66, "/nonexistent/x: No such file or directory; make the folder first"),
            (["run", "--file", "/dev/null", "true"], 64, "a lock needs a regular file or a folder"),
            (["run", "-n", "9"], 64, "9: no lock has a descriptor; glock hold"),
            (["run", "x.lock", "echo", "/nonexistent/hi"], 69, "CMD stands behind SPACE and NAME"),
            (["hold", "--pid", "0", "s", "n"], 64, "--pid needs the number of a process, not 0"),
            (["hold", "--pid", "2147483647", "s", "n"], 66, "process 2147483647: No such process"),
            (["hold", "s", "n", "true"], 64, "glock run starts a command"),
            (["hold", "s"], 64, "NAME is missing")):
        r = glock(*args)
        assert r.returncode == status and said in r.stderr and "glock_put" not in r.stderr, (args, r)


if __name__ == "__main__":
    if not shutil.which("flock"):
        print("1..0 # SKIP no flock(1) here")
        sys.exit(0)
    main([each_line_does_the_same, each_line_meets_a_held_lock, a_file_is_kept_from_both, a_file_stays_locked_as_with_flock, a_held_lock_is_named_and_ends_with_its_process,
          a_release_is_of_one_process, what_flock_takes_is_explained])
