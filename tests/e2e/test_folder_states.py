#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# test_folder_states.py - drives each program that opens a path into random folders of another user. TAP.
#
# A turn puts links, FIFOs, foreign files and other things in place of the files that a program opens. Meanwhile the
# other user exchanges two names, often. The program of root ends in time, with a status of its manual. It writes, makes
# and removes nothing outside of that folder, and runs no command from it. SEED and TURNS in the environment choose the
# turns, and SECONDS_OF_TURNS replaces TURNS. A failure prints the seed of its turn: SEED=N TURNS=1 repeats that turn.
# O2TOP, O2TOP_CAPTURES, GLOCK and GLOCK_VFS are the paths that meson test sets.

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

import two_users
from two_users import MALLORY, Folders, exchange, start_mallory

O2TOP, GLOCK, VFS = os.environ["O2TOP"], os.environ.get("GLOCK"), os.environ.get("GLOCK_VFS")
CAPTURES = os.environ["O2TOP_CAPTURES"]
SEED, TURNS = int(os.environ.get("SEED", "1")), int(os.environ.get("TURNS", "40"))
END = time.monotonic() + float(os.environ["SECONDS_OF_TURNS"]) if "SECONDS_OF_TURNS" in os.environ else None
PATIENCE = 120  # seconds: a hang, and no busy machine
HEAD = b"o2top recording\n" + bytes([1, 0, 0, 0, 0, 0, 0, 0])
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": "/nowhere", "XDG_CONFIG_HOME": "/nowhere",
       "GLOCK_LOCKMAN": "local"}
SAMPLE = f"{CAPTURES}/ocfs2-hot"
LIVE = ("-b", "--local", "--debugfs", f"{SAMPLE}/t1/node1", "-t", "0.05", "-i", "2")
ROTATES = ("--record-size", "1", "--record-keep", "2")


class Way:
    """A way in which a program opens files of a folder: their names, the command, its environment and statuses."""

    def __init__(self, names, command, statuses=(0, 1, 2, 3), folder=True, **env):
        self.names, self.command, self.statuses, self.env = names, command, statuses, env
        self.folder = folder  # whether the folder itself may be a link


WAYS = [
    Way(("rec", "rec.1", "rec.2"), (O2TOP, *LIVE, "--record", "{}/rec", *ROTATES)),
    Way(("rec", "rec.1", "rec.2"), (O2TOP, "-b", "--record", "{}/rec", *ROTATES, SAMPLE)),
    Way(("out",), (O2TOP, "-b", "-o", "{}/out", SAMPLE)),
    Way(("a.prom",), (O2TOP, "--textfile", "{}/a.prom", SAMPLE)),
    Way(("c.tar",), (O2TOP, "-t", "1", "--collect", "{}/c.tar", SAMPLE)),
    Way(("rec", "names"), (O2TOP, "-b", "--names", "{}/names", "--replay", "{}/rec")),
    Way(("t0", "t1", "node1"), (O2TOP, "-b", "{}")),
    Way(("o2top", "o2top/o2toprc"), (O2TOP, "--once"), XDG_CONFIG_HOME="{}"),
    Way(("o2toprc",), (O2TOP, "--once", "--config", "{}/o2toprc")),
]
if GLOCK:
    RAN = (0, 1, 64, 65, 66, 69, 71, 73, 74, 75, 76, 77)
    WAYS += [
        Way(("log",), (GLOCK, "run", "s", "l", "true"), RAN, GLOCK_DEBUG="{}/log", GLOCK_DIR="{}/../spaces"),
        Way(("s", "s,0", "s,0,alive", "s,1"), (GLOCK, "run", "-w", "0", "s", "l", "true"), RAN, GLOCK_DIR="{}"),
        Way(("s", "s,0", "s,0,alive", "s,1"), (GLOCK, "rm", "s"), RAN, GLOCK_DIR="{}"),
        Way(("s", "s,0", "s,0,alive", "s,1"), (O2TOP, "--fs", "glock", "-b", "--once"), GLOCK_DIR="{}"),
    ]
if VFS and shutil.which("sqlite3"):
    # The statuses are SQLite's results. SQLite itself follows links on the way to a database and in place of it. The VFS has no say in this.
    WAYS.append(Way(("a.db-journal", "a.db-wal", "a.db-shm"),
                    ("sqlite3", "-cmd", f".load {VFS}", "-cmd", ".open file:{}/a.db?vfs=glock", ":memory:",
                     "create table if not exists t(x); insert into t values(1);"), range(30), False, GLOCK_DIR="{}/../spaces"))
# text for what a program might read in place of its own file
TEXTS = (b"", HEAD, HEAD + b"o2tF" + b"\0" * 64, b"32264 a name\n", bytes(range(256)) * 9)
COMMAND = b"ssh = touch {root}/ran;\nnodes = far\n"  # root's own o2toprc may run a command


def put(rng, path, f):
    """Puts something in place of a file. Returns its kind."""
    kind = rng.choice(("none", "none", "link to a file", "link to nothing", "link to itself", "link to a folder", "link to null", "FIFO",
                       "folder", "socket", "null", "second name", "theirs", "theirs", "of root", "of root, long", "open to all"))
    if not os.path.isdir(os.path.dirname(path)) or kind == "none":
        return "none"
    targets = {"link to a file": f.precious, "link to nothing": f"{f.root}/new", "link to itself": path, "link to a folder": f.root,
               "link to null": "/dev/null"}
    if kind in targets:
        os.symlink(targets[kind], path)
    elif kind == "FIFO":
        os.mkfifo(path, 0o666)
    elif kind == "folder":
        os.mkdir(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path)
    elif kind == "null":
        os.mknod(path, 0o20666, os.makedev(1, 3))
    elif kind == "second name":
        os.link(f.precious, path)
        return kind  # with the owner of the first name
    else:
        with open(path, "wb") as file:
            file.write(rng.choice(TEXTS if "of root" in kind else (*TEXTS, COMMAND)).replace(b"{root}", f.root.encode()))
            if kind == "of root, long":
                file.truncate(2 << 20)
        os.chmod(path, 0o666 if kind == "open to all" else 0o644)
    if "of root" not in kind and not (kind.startswith("link") and rng.random() < 0.1):
        os.chown(path, MALLORY, MALLORY, follow_symlinks=False)
    return kind


def folder_state(folder):
    """Returns the names of root's folder, with all that a program could change."""
    found = {}
    for name in (".", *os.listdir(folder)):
        st = os.lstat(os.path.join(folder, name))
        found[name] = (st.st_ino, st.st_mode, st.st_uid, st.st_gid, st.st_size, st.st_mtime_ns)
    return found


def exchanger(folder, way):
    """Starts the other user, who exchanges each name with a link, and the folder with a link."""
    pairs = [(f"{folder}/{name}", f"{folder}/{name}~") for name in way.names] + [(folder, folder + "~")] * way.folder

    def turn():
        for a, b in pairs:
            try:
                exchange(a, b)
            except OSError:
                pass
        time.sleep(0.0002)
    return start_mallory(turn)


def one(seed):
    rng = random.Random(seed)
    with Folders() as f:
        os.mkdir(f"{f.mallory}/../spaces", 0o700)
        top = f.mallory
        f.mallory = f"{top}/folder"
        os.mkdir(f.mallory)
        os.chown(f.mallory, MALLORY, MALLORY)
        way = rng.choice(WAYS)
        if way.names[0] == "o2top":
            os.mkdir(f"{f.mallory}/o2top")
        os.mkdir(f"{top}/spaces", 0o700)
        kinds = [put(rng, f"{f.mallory}/{name}", f) for name in way.names if not os.path.exists(f"{f.mallory}/{name}")]
        # the other folder is a link, or leads nowhere harmful
        os.symlink(f.root, f"{top}/folder~")
        os.chown(f"{top}/folder~", MALLORY, MALLORY, follow_symlinks=False)
        for name in way.names:
            if os.path.isdir(os.path.dirname(f"{f.mallory}/{name}~")):
                os.symlink(rng.choice((f.precious, f"{f.root}/new")), f"{f.mallory}/{name}~")
                os.chown(f"{f.mallory}/{name}~", MALLORY, MALLORY, follow_symlinks=False)
        before = folder_state(f.root)
        path = f"{top}/folder~" if way.folder and rng.random() < 0.3 else f.mallory
        pid = exchanger(f.mallory, way) if rng.random() < 0.5 else 0
        command = [word.replace("{}", path) for word in way.command]
        env = {**ENV, **{key: value.replace("{}", path) for key, value in way.env.items()}}
        try:
            done = subprocess.run(command, env=env, cwd=f.top, capture_output=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, check=False)
        finally:
            if pid:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        told = (command, kinds, "exchanged" if pid else "still", done.returncode, done.stderr[-400:])
        assert done.returncode in way.statuses, told
        assert folder_state(f.root) == before, (told, before, folder_state(f.root))
        f.unharmed()
        return os.path.basename(command[0])


def main():
    if two_users.needs_root():
        print(f"1..0 # {two_users.needs_root()}")
        return 0
    print("1..1", flush=True)
    turn, seed, ways = 0, SEED, {}
    while (time.monotonic() < END) if END else (turn < TURNS):
        try:
            program = one(seed)
        except (AssertionError, OSError, subprocess.TimeoutExpired) as e:
            print(f"# SEED={seed} TURNS=1: {type(e).__name__}: {e}\nnot ok 1 - any state of a folder of another user")
            return 1
        ways[program] = ways.get(program, 0) + 1
        turn, seed = turn + 1, seed + 1
    print(f"# {turn} turns from seed {SEED}: {ways}\nok 1 - any state of a folder of another user")
    return 0


if __name__ == "__main__":
    sys.exit(main())
