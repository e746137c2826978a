# SPDX-License-Identifier: MIT
# test_who.py - tests glock who: the holders and waiters of files' locks and of glocks.

import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys

from cli import GLOCK, SLOW, Node, glock, main, objects, wait_for

# A process that locks: PYTHON -c LOCKER FILE KIND [WAIT]. It prints a line once it has the lock.
LOCKER = """
import fcntl, os, signal, struct, sys
file, kind = sys.argv[1], sys.argv[2]
signal.signal(signal.SIGIO, signal.SIG_IGN)
f = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
def lock(command, first, length):
    fcntl.fcntl(f, command, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, first, length, 0))
if kind == "flock":
    fcntl.flock(f, fcntl.LOCK_EX)
elif kind == "fcntl":
    lock(fcntl.F_SETLKW, 100, 50)
elif kind == "OFD":
    lock(38, 200, 0)
elif kind == "lease":
    fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("in", flush=True)
sys.stdin.read()
"""
FOREIGN = ["unshare", "-pf", "--mount-proc", "--kill-child"]


class Process:
    """A process that ends with the test. `line`: wait until the process has the lock."""

    def __init__(self, *args, line=True, **more):
        self.p = subprocess.Popen([*args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more)
        self.pid = self.p.pid
        if line:
            assert self.p.stdout.readline() == "in\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.kill()
        self.p.stdin.close()
        self.p.wait(SLOW)


def locker(file, kind, line=True, **more):
    return Process(sys.executable, "-c", LOCKER, file, kind, line=line, **more)


def path(name="file"):
    """Makes a file that other users may lock."""
    folder = os.environ["GLOCK_DIR"] + "/.files"
    os.makedirs(folder, exist_ok=True)
    os.chmod(os.environ["GLOCK_DIR"], 0o755)
    file = os.path.join(folder, name)
    with open(file, "a"):
        os.chmod(file, 0o666)
    return file


def users(file, *command):
    """Returns the users of a file, as triples of state, pid and kind."""
    r = subprocess.run([*command, GLOCK, "who", "--json", file], capture_output=True, text=True, timeout=SLOW, check=False)
    assert r.returncode in (0, 1), r
    return [(u["state"], u["pid"], u["kind"]) for u in json.loads(r.stdout.splitlines()[0])["users"]]


def user(file, **want):
    (found,) = [u for o in objects("who", "--json", file) for u in o["users"] if all(u[k] == v for k, v in want.items())]
    return found


def holders_and_waiters_of_the_kernel():
    for kind in ("flock", "fcntl", "OFD"):
        file = path(kind)
        with locker(file, kind) as a, locker(file, kind, line=False) as b:
            wait_for(lambda: users(file) == [("holds", a.pid, kind), ("waits", b.pid, kind)])
            u = user(file, state="waits")
            assert (u["user"], u["mode"], u["for_s"]) == ("root", "write", None), u
            assert u["command"].startswith("python"), u
            assert kind != "fcntl" or (u["first"], u["last"]) == (100, 149), u
            assert kind != "OFD" or (u["first"], u["last"]) == (200, None), u
        assert users(file) == [] and glock("who", file).returncode == 1


def a_lease_and_the_process_that_breaks_it():
    file = path()
    with locker(file, "lease") as a:
        assert users(file) == [("holds", a.pid, "lease")]
        with Process("cat", file, line=False) as b:
            wait_for(lambda: ("waits", b.pid, "lease") in users(file))
            a.p.kill()
            b.p.wait(SLOW)


def a_lock_that_a_child_inherited():
    file = path()
    with Process("flock", file, "sh", "-c", "echo in; exec cat") as a:
        (held,) = [u for u in users(file) if u[1] != a.pid]
        a.p.kill()
        a.p.wait(SLOW)
        assert users(file) == [("holds", held[1], "flock")]
        assert user(file)["note"] == "inherited from pid %d" % a.pid
        os.kill(held[1], signal.SIGKILL)
    wait_for(lambda: users(file) == [])


def bytes_of_sqlite_have_names():
    file = path("app.db")
    names = lambda: {u["what"] for o in objects("who", "--json", file) for u in o["users"]}
    for mode, want in (("delete", {"RESERVED", "SHARED"}), ("wal", {"SHARED", "WRITE", "OPEN"})):
        with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as db:
            db.execute("pragma journal_mode=" + mode)
            db.execute("create table if not exists t(x)")
            db.execute("begin immediate")
            assert want <= names(), names()
            assert "RESERVED" not in want or "fcntl write RESERVED" in glock("who", file).stdout
            db.execute("commit")


def databases_of_the_vfs():
    folder = os.environ.get("GLOCK_SQLITE_DIR")
    if not folder:
        return None  # a sanitizer keeps the module from being loaded
    file = path("app.db")
    text = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
db.execute("create table if not exists t(x)")
db.execute("begin immediate")
print("in", flush=True)
sys.stdin.read()
"""
    with Process(GLOCK, "sqlite", sys.executable, "-c", text, file) as a:
        (space,) = [o["space"] for o in objects("ls", "--json")]
        u = user(file, kind="glock", what="RESERVED in space " + space)
        assert (u["pid"], u["state"], u["mode"]) == (a.pid, "holds", "EX") and 0 <= u["for_s"] < SLOW, u
        assert user(file, what="RESERVED")["pid"] == a.pid
    wal = text.replace("isolation_level=None, timeout=60)", "isolation_level=None, timeout=60)\ndb.execute('pragma journal_mode=wal')")
    with Process(GLOCK, "sqlite", sys.executable, "-c", wal, file) as a:
        names = {u["what"].split(" in space")[0] for o in objects("who", "--json", file) for u in o["users"] if u["pid"] == a.pid}
        assert "WAL mark" in names and not glock("who").stdout.count("(WAL "), names
    return None


def glocks_with_their_names_and_times():
    busy = path("busy")
    waiter = (GLOCK, "run", "jobs", "backup", "true")
    with contextlib.ExitStack() as all_end:
        start = lambda *args, **more: all_end.enter_context(Process(*args, **more))
        all_end.enter_context(locker(busy, "flock"))
        all_end.enter_context(locker(busy, "flock", line=False))
        a = start(GLOCK, "run", "jobs", "backup", "sh", "-c", "echo in; exec cat")
        b, c = start(*waiter, line=False), start(*waiter, line=False)
        wait_for(lambda: {o.get("file", o.get("lock")): o["waiting"] for o in objects("who", "--json")} ==
                 {"jobs backup": 2, busy: 1})
        first, second = objects("who", "--json")
        assert (first["lock"], second["file"]) == ("jobs backup", busy), "the worst comes first"
        assert [u["state"] for u in first["users"]] == ["holds", "waits", "waits"]
        u = first["users"][0]
        assert (u["pid"], u["command"], u["mode"], u["what"]) == (a.pid, "sh", "EX", "backup: sh"), u
        assert all(0 <= u["for_s"] < SLOW for u in first["users"]), first
        assert {u["pid"] for u in first["users"][1:]} == {b.pid, c.pid}, first
    # a cached glock, of an object that names a file
    file = path()
    a = Node("s")
    a.do("name " + file)
    a.do("cached 2 1 EX")
    assert users(file) == [("caches", a.pid, "glock")]
    b = Node("s")
    a.do("nq 1 2 0 EX")
    a.do("wait 1")
    b.do("nq 1 2 0 EX")
    wait_for(lambda: [(o.get("file"), o["waiting"]) for o in objects("who", "--json")] == [(file, 1)])
    assert users(file) == [("holds", a.pid, "glock"), ("waits", b.pid, "glock")]
    a.do("dq 1")
    b.do("wait 1")
    b.do("dq 1")
    b.end()
    a.end()
    assert users(file) == []


def two_users():
    file = path()
    nobody = ["setpriv", "--reuid", "nobody", "--clear-groups"]
    if subprocess.run([*nobody, "true"], check=False).returncode:
        return "SKIP needs root"
    with Process(*nobody, sys.executable, "-c", LOCKER, file, "OFD") as a:
        assert users(file) == [("holds", a.pid, "OFD")] and user(file)["user"] == "nobody"
    for kind in ("flock", "OFD"):
        with locker(file, kind) as a:
            r = subprocess.run([*nobody, GLOCK, "who", "--json", file], capture_output=True, text=True, check=True)
            (u,) = json.loads(r.stdout)["users"]
            assert (u["kind"], u["pid"]) == (kind, a.pid if kind == "flock" else None), r
            assert "run as root" in u["note"] and "run as root to see all" in r.stderr, r
    return None


def two_namespaces():
    if subprocess.run([*FOREIGN, "true"], capture_output=True, check=False).returncode:
        return "SKIP needs namespaces"
    file = path()
    child = lambda pid: int(open("/proc/%d/task/%d/children" % (pid, pid)).read())
    with Process(*FOREIGN, sys.executable, "-c", LOCKER, file, "OFD") as a:
        assert users(file) == [("holds", child(a.pid), "OFD")]
        assert user(file)["note"] == "pid 1 in its own namespace"
    with Process(*FOREIGN, GLOCK, "run", "-F", "jobs", "n", "sh", "-c", "echo in; exec cat") as a:
        with Process(GLOCK, "run", "jobs", "n", "true", line=False) as b:
            wait_for(lambda: [o["waiting"] for o in objects("who", "--json")] == [1])
            (o,) = objects("who", "--json")
            assert [u["pid"] for u in o["users"]] == [child(a.pid), b.pid], o
    with locker(file, "flock"):
        r = subprocess.run([*FOREIGN, GLOCK, "who", file], capture_output=True, text=True, check=False)
        assert r.returncode == 1 and "run on the host" in r.stderr, r
    return None


def clients_of_an_nfs_server():
    if subprocess.run(["unshare", "-m", "mount", "--bind", "/tmp", "/proc/fs"], capture_output=True, check=False).returncode:
        return "SKIP needs mount"
    file = path()
    r = glock("who", "--json", file)
    o = json.loads(r.stdout)
    device = ":".join("%02x" % int(n) for n in o["device"].split(":"))
    inode = o["inode"]
    client = os.environ["GLOCK_DIR"] + "/.proc/nfsd/clients/7"
    os.makedirs(client)
    with open(client + "/info", "w") as f:
        f.write('clientid: 0x1\naddress: "10.0.0.2:801"\nstatus: confirmed\nname: "Linux NFSv4.2 \x1bclient"\n')
    with open(client + "/states", "w") as f:
        f.write('- 0x01: { type: open, access: rw, superblock: "%s:%d", filename: "a" }\n' % (device, inode))
        f.write('- 0x02: { type: lock, superblock: "%s:%d", filename: "a", owner: "x" }\n' % (device, inode))
        f.write('- 0x03: { type: lock, superblock: "%s:%d", filename: "b", owner: "x" }\n' % (device, inode + 1))
        f.write('- 0x04: { type: deleg, access: r, superblock: "%s:%d", filename: "a" }\n' % (device, inode))
    mount = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /proc/fs && exec "$@"', os.environ["GLOCK_DIR"] + "/.proc"]
    r = subprocess.run([*mount, GLOCK, "who", "--json", file], capture_output=True, text=True, check=True)
    got = [(u["kind"], u["command"], u["what"], u["note"]) for u in json.loads(r.stdout)["users"]]
    name = ("NFS", "10.0.0.2:801", "Linux NFSv4.2 ?client")
    assert sorted(got) == [(*name, "delegation of a client"), (*name, "lock of a client")], got
    return None


def a_refused_run_names_no_ended_process():
    with Process(GLOCK, "run", "s", "n", "sh", "-c", "echo in; exec cat") as a:
        said = lambda: glock("run", "-n", "--verbose", "s", "n", "true").stderr
        assert "process %d (sh) has it: n: sh; held by root for " % a.pid in said(), said()
        child = int(open("/proc/%d/task/%d/children" % (a.pid, a.pid)).read())
        a.p.kill()
        a.p.wait(SLOW)
        assert re.search(r"process %d \(cat\) has it: n: sh; .*; 0 wait; inherited the lock" % child, said()), said()
        assert str(a.pid) not in said()
        os.kill(child, signal.SIGKILL)


def a_refused_run_names_users_of_flock():
    file = path()
    said = lambda: glock("run", "-n", "--verbose", "--file", file, "true").stderr
    with Process("flock", file, "sh", "-c", "echo in; exec cat") as a:
        child = int(open("/proc/%d/task/%d/children" % (a.pid, a.pid)).read())
        with locker(file, "flock", line=False) as b, locker(file, "fcntl") as c:
            wait_for(lambda: ("waits", b.pid, "flock") in users(file))
            for pid, name in ((a.pid, "flock"), (child, "cat")):
                assert "process %d (%s) has it: flock; held by root; 1 wait" % (pid, name) in said(), said()
            assert str(c.pid) not in said(), said()
        a.p.kill()
        a.p.wait(SLOW)
        assert "process %d (cat) has it" % child in said() and str(a.pid) not in said(), said()
        os.kill(child, signal.SIGKILL)
    with Process(GLOCK, "run", "--file", file, "sh", "-c", "echo in; exec cat") as a:
        child = int(open("/proc/%d/task/%d/children" % (a.pid, a.pid)).read())
        lines = [line for line in said().splitlines() if " has it: " in line]
        assert ["process %d " % pid in line for pid, line in zip((a.pid, child), lines)] == [True, True], lines
        assert "file: sh; held by root for " in lines[0] and "(cat) has it: flock" in lines[1], lines


def names_are_clean():
    file = path("a\x1b[2J\nb")
    program = os.environ["GLOCK_DIR"] + "/.files/\x1b[2J"
    shutil.copy(shutil.which("flock"), program)
    with Process(program, file, "sh", "-c", "echo in; exec cat"), locker(file, "flock", line=False) as b:
        wait_for(lambda: ("waits", b.pid, "flock") in users(file))
        for args in (["who", file], ["who"]):
            out = glock(*args).stdout
            assert "a?[2J?b" in out and " ?[2J " in out and "\x1b" not in out, out
        assert "a?[2J?b" in glock("who", "--json").stdout


def its_exit_statuses():
    file = path()
    assert glock("who").returncode == 0
    assert glock("who", file).returncode == 1
    assert glock("who", file + "-none").returncode == 66
    assert glock("who", file, file).returncode == 64
    with locker(file, "fcntl"), open("/dev/full", "w") as full:
        assert glock("who", file).returncode == 0
        assert subprocess.run([GLOCK, "who", file], stdout=full, stderr=subprocess.DEVNULL, check=False).returncode == 74


if __name__ == "__main__":
    main(
        [
            holders_and_waiters_of_the_kernel,
            a_lease_and_the_process_that_breaks_it,
            a_lock_that_a_child_inherited,
            bytes_of_sqlite_have_names,
            databases_of_the_vfs,
            glocks_with_their_names_and_times,
            two_users,
            two_namespaces,
            clients_of_an_nfs_server,
            a_refused_run_names_no_ended_process,
            a_refused_run_names_users_of_flock,
            names_are_clean,
            its_exit_statuses,
        ]
    )
