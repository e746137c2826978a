#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_reasons.py - tests that the reason of a refusal reaches the user of a program that only knows Python's sqlite3.

Usage: test_reasons.py GLOCK FOLDER. FOLDER has the libraries. The output is TAP.
"""
import os
import shutil
import socket
import subprocess
import sys
import threading

# Loads the extension, opens a database, and prints SQLite's error and the reason that SQL tells.
OPEN = """
import sqlite3, sys
extension, uri = sys.argv[1:]
any = sqlite3.connect(":memory:")
if extension != "-":
    any.enable_load_extension(True)
    any.load_extension(extension)
try:
    db = sqlite3.connect(uri, uri=True)
    db.execute("CREATE TABLE IF NOT EXISTS t(n)")
    print("open")
except sqlite3.OperationalError as e:
    print(e)
if extension != "-":
    print(any.execute("SELECT glock_error()").fetchone()[0], flush=True)
sys.stdin.read()
"""
GLOCK, FOLDER = (os.path.realpath(path) for path in sys.argv[1:3])
EXTENSION = os.path.join(FOLDER, "libglock_sqlite")
DATA = os.path.realpath(os.environ["GLOCK_DIR"] + "/../data")
LOG = DATA + "/log"

# A cause: the name of the file, its parameters, the environment, the reason.
CAUSES = {
    "parameter": ("a.db", "&hold=soon", {}, "hold=soon: give microseconds"),
    "directory": ("b.db", "&interop=0", {"GLOCK_DIR": "/nowhere"}, "cannot open directory /nowhere: No such file"),
    "WAL": ("wal.db", "&interop=0", {}, "is in WAL mode; open it with vfs=unix"),
    "FIFO": ("fifo.db", "", {}, "is no regular file"),
    "no space": ("c.db", "&interop=0&space=text", {}, "is refused, because space text: "),
}


def python():
    """Returns a Python whose module sqlite3 loads extensions, or None."""
    for name in ("python3", "/usr/bin/python3"):
        code = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension"
        if subprocess.run([name, "-c", code], capture_output=True).returncode == 0:
            return name
    return None


def open_it(cause, *before, extension=EXTENSION, **more):
    """Opens the database of a cause. Returns what Python and the SQL function said, and standard error."""
    name, parameters, env, _ = CAUSES[cause]
    env = {k: v for k, v in {**os.environ, **env, **more}.items() if v}
    vfs = "" if extension == "-" else "&vfs=glock"
    r = subprocess.run([*before, PYTHON, "-c", OPEN, extension, "file:%s/%s?%s%s" % (DATA, name, parameters, vfs)],
                       env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert r.returncode == 0, r
    return r.stdout.splitlines() + [None], r.stderr


def sql_tells():
    for cause, (name, _, _, reason) in CAUSES.items():
        said, _ = open_it(cause)
        assert said[0] == "unable to open database file", (cause, said)
        assert reason in said[1] and (name in said[1]), (cause, said)


def debug_on_stderr():
    for cause, (_, _, _, reason) in CAUSES.items():
        _, err = open_it(cause, GLOCK_DEBUG="stderr", GLOCK_SQLITE_LOG=LOG)
        assert reason in err, (cause, err)
        assert err.count("cannot open directory") <= 2, err  # by the library, and as the reason
    assert not os.path.exists(LOG)


def a_log():
    for cause, (_, _, _, reason) in CAUSES.items():
        _, err = open_it(cause, GLOCK_SQLITE_LOG=LOG)
        with open(LOG, encoding="utf-8") as f:
            assert reason in f.read() and not err, (cause, err)
        os.remove(LOG)


def a_log_that_is_a_link():
    with open(DATA + "/other", "w", encoding="utf-8"):
        os.symlink(DATA + "/other", LOG)
    _, err = open_it("FIFO", GLOCK_SQLITE_LOG=LOG)
    assert not err and not os.path.getsize(DATA + "/other"), err
    os.remove(LOG)


def glock_sqlite():
    for cause in ("parameter", "directory", "FIFO", "no space"):
        said, err = open_it(cause, GLOCK, "sqlite", extension="-", GLOCK_SQLITE_DIR=FOLDER)
        assert said[0] == "unable to open database file" and CAUSES[cause][3] in err, (cause, said, err)
    _, err = open_it("FIFO", GLOCK, "sqlite", extension="-", GLOCK_SQLITE_DIR=FOLDER, GLOCK_SQLITE_LOG=LOG)
    assert not err and os.path.exists(LOG), err
    os.remove(LOG)


def a_missing_library():
    """The message names the library that is missing, and not a name that SQLite made up."""
    alone = DATA + "/alone"
    os.mkdir(alone)
    for name in ("libglock_sqlite.so", "libglock_sqlite_preload.so"):
        shutil.copy(os.path.join(FOLDER, name), alone)
    with open(alone + "/libglock_sqlite.so", "r+b") as f:
        text = f.read().replace(b"libglock.so.1\0", b"libglack.so.1\0")
        f.seek(0)
        f.write(text)
    said, err = open_it("parameter", GLOCK, "sqlite", extension="-", GLOCK_SQLITE_DIR=alone)
    assert said[0] == "open" and "libglack.so.1" in err and ".so.so" not in err, (said, err)
    os.remove(alone + "/libglock_sqlite.so")
    _, err = open_it("parameter", GLOCK, "sqlite", extension="-", GLOCK_SQLITE_DIR=alone)
    assert "libglock_sqlite.so: " in err and ".so.so" not in err, err


def two_users():
    """The parameter group gives them one space. Without it, the reason names the group of a folder with the setgid bit."""
    if os.geteuid():
        return "SKIP needs root"
    shared, other = DATA + "/shared", ["setpriv", "--reuid=5", "--regid=5", "--groups=1"]
    for folder in (shared, shared + "/spaces"):
        os.mkdir(folder)
        os.chown(folder, -1, 1)
        os.chmod(folder, 0o2770)
    for parameters, spaces, want in (
            ("&group=daemon", "", "open"),
            ("", "", "GLOCK_GROUP=daemon or glock run --group daemon; group=GROUP in the URI does the same"),
            ("", "2", "its folder belongs to group daemon: if the members trust each other, give group=daemon to all")):
        if spaces:
            os.mkdir(shared + "/spaces2")
            os.chown(shared + "/spaces2", 5, 1)
        for path in os.listdir(shared + "/spaces"):
            os.remove(os.path.join(shared, "spaces", path))
        uri = "file:%s/app.db?vfs=glock&interop=0%s" % (shared, parameters)
        command = [PYTHON, "-c", OPEN, EXTENSION, uri]
        env = dict(os.environ, GLOCK_DIR=shared + "/spaces")
        with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
            assert [first.stdout.readline() for _ in "ab"] == ["open\n", "None\n"], parameters
            os.chmod(shared + "/app.db", 0o660)
            r = subprocess.run([*other, *command], env=dict(env, GLOCK_DIR=shared + "/spaces" + spaces),
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
            assert want in r.stdout, (parameters, spaces, r)
            first.communicate()
    return ""


def the_systems_log():
    """In a mount namespace with another /dev, so that no message goes to the machine's log."""
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        return "SKIP needs root and mount namespaces"
    dev, got = DATA + "/dev", []
    os.mkdir(dev)
    os.mkdir(dev + "/shm")
    for name in ("null", "urandom"):
        os.mknod(os.path.join(dev, name))
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    log.bind(dev + "/log")
    log.settimeout(30)
    script = ('for f in null urandom shm; do mount --rbind /dev/$f "$0/$f" || exit 9; done; '
              'mount --rbind "$0" /dev && exec "$@"')
    for cause, (_, _, _, reason) in CAUSES.items():
        thread = threading.Thread(target=lambda: got.append(log.recv(4096).decode()))
        thread.start()
        _, err = open_it(cause, "unshare", "-m", "sh", "-c", script, dev)
        thread.join()
        log.setblocking(False)
        try:
            while True:
                got.append(log.recv(4096).decode())
        except BlockingIOError:
            log.settimeout(30)
        assert not err and got[0].startswith("<12>python3") and any(reason in line for line in got), (cause, err, got)
        got.clear()
    return ""


def main():
    subprocess.run([PYTHON, "-c", "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA journal_mode=wal')",
                    DATA + "/wal.db"], check=True)
    os.mkfifo(DATA + "/fifo.db")
    with open(os.environ["GLOCK_DIR"] + "/text", "w", encoding="utf-8") as f:
        f.write("no lock space")
    tests = [sql_tells, debug_on_stderr, a_log, a_log_that_is_a_link, glock_sqlite, a_missing_library, two_users, the_systems_log]
    print("1..%d" % len(tests))
    for i, test in enumerate(tests, 1):
        try:
            said = test() or ""
            print("ok %d - %s%s" % (i, test.__name__, " # " + said if said else ""), flush=True)
        except Exception as e:  # after any error, the other tests run
            print("# %s: %s" % (type(e).__name__, str(e).replace("\n", "\n# ")))
            print("not ok %d - %s" % (i, test.__name__), flush=True)


PYTHON = python()
if PYTHON:
    main()
else:
    print("1..0 # SKIP no Python whose sqlite3 loads extensions")
