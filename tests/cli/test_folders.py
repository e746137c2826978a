# SPDX-License-Identifier: MIT
# test_folders.py - tests programs in folders of another user: names that are exchanged, links, FIFOs, forgeries.
#
# Root runs the programs, and user 1 (daemon) owns the folders. Nothing outside of these folders may change. The
# tests run in a mount namespace of their own with another /dev/shm, so that they change nothing of the machine. That
# folder has no sticky bit. Therefore the kernel follows links of other users there, as with fs.protected_symlinks = 0.

import contextlib
import fcntl
import glob
import hashlib
import json
import os
import random
import re
import resource
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time

NAMESPACE = "GLOCK_TEST_NAMESPACE"
if os.geteuid():
    print("1..0 # SKIP needs root")
    sys.exit(0)
if NAMESPACE not in os.environ:
    script = 'mount -t tmpfs -o mode=0777 glock-test /dev/shm && exec "$@"'
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        print("1..0 # SKIP no mount namespaces here")
        sys.exit(0)
    os.environ[NAMESPACE] = "1"
    os.execvp("unshare", ["unshare", "-m", "sh", "-c", script, "sh", sys.executable, *sys.argv])

from cli import GLOCK, SLOW, glock, main, objects

GROUP_NODE, COSTLY, O2TOP = os.environ["GLOCK_GROUP_NODE"], os.environ["GLOCK_COSTLY"], os.environ["O2TOP"]
EXCHANGE = os.environ.get("GLOCK_EXCHANGE")  # only of a plain build
USER, OTHER = 1, 5  # daemon, whose group is 1, and games, who is no member of that group
AS_USER = ["setpriv", "--reuid=%d" % USER, "--regid=%d" % USER, "--clear-groups"]
MOST = 6000  # calls with a path that one program makes: glock rm tries 2,048 names
random.seed(int(os.environ.get("SEED", "1")))


def outside():
    return {name: value for name, value in os.environ.items() if name != "GLOCK_DIR"}


def run(*command, **more):
    env = dict(outside(), **more)
    r = subprocess.run(command, env=env, capture_output=True, text=True, timeout=SLOW, stdin=subprocess.DEVNULL)
    assert r.returncode >= 0, "%s ended by signal %d: %s" % (" ".join(command), -r.returncode, r.stderr)
    return r


def state(folder):
    """Returns the names of a folder, each with inode, mode, owners and contents."""
    found = {}
    for name in os.listdir(folder):
        st = os.lstat(os.path.join(folder, name))
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = (st.st_ino, st.st_mode, st.st_uid, st.st_gid, hashlib.sha1(f.read(1 << 18)).digest())
    return found


def remake(path):
    shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):
        os.remove(path)


class Scene:
    """A folder of user 1 with spaces, a link of that user, and root's folder at the end of the link."""

    def __init__(self, folder, group):
        self.folder, self.link, self.treasure = folder, "/dev/shm/link", "/dev/shm/treasure"
        for path in (self.folder, self.link, self.treasure):
            remake(path)
        self.group = group
        for name in ("idle", "live"):
            assert run(*AS_USER, GROUP_NODE, name, "1" if group else "-").stdout == "0\n"
        self.node = subprocess.Popen([*AS_USER, GROUP_NODE, "live", "1" if group else "-", "wait"],
                                     env={k: v for k, v in os.environ.items() if k != "GLOCK_DIR"},
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.node.stdout.readline() == "0\n"
        run("cp", "-r", "--sparse=always", self.folder, self.treasure)  # a space of the same names, of root
        os.chmod(self.treasure, 0o700)
        for name in ("idle", "idle,0", "idle,0,alive", "idle,1", "live,0", "live,0,alive", "live,1", "live,1,alive"):
            path = os.path.join(self.treasure, name)
            if not os.path.exists(path):
                with open(path, "w", encoding="ascii") as f:
                    f.write("of root")
        os.symlink(self.treasure, self.link)
        os.lchown(self.link, USER, USER)
        self.before = state(self.treasure)

    def end(self):
        self.node.stdin.close()
        self.node.wait(SLOW)
        for path in (self.folder, self.link, self.treasure):
            remake(path)

    def check(self, what):
        now = state(self.treasure)
        for name in sorted(set(now) | set(self.before)):
            assert now.get(name) == self.before.get(name), "%s: %s of root: %s, not %s" % (
                what, name, now.get(name), self.before.get(name))

    def exchanged_at(self, n, *command, **more):
        """Runs a program in which the names are exchanged before call n. Returns whether it came that far."""
        run(*command, LD_PRELOAD=EXCHANGE, EXCHANGE_AT=str(n), EXCHANGE_A=self.folder, EXCHANGE_B=self.link, **more)
        done = os.path.islink(self.folder)
        if done:
            os.rename(self.folder, self.link + "2")
            os.rename(self.link, self.folder)
            os.rename(self.link + "2", self.link)
        self.check("%s, exchanged at call %d" % (" ".join(command[1:]), n))
        return done

    def at_each_call(self, *command, before=None, **more):
        """Each call up to the 24th, and then some."""
        n = 1
        while n < MOST:
            if before:
                before()
            if not self.exchanged_at(n, *command, **more):
                break
            n += 1 if n < 24 else n // 4
        assert 2 < n < MOST, "%d calls with a path" % n


def exchange(folder, group, **more):
    scene = Scene(folder, group)
    idle = os.path.join(folder, "idle")
    os.link(idle, idle + ".kept")  # no name of a space that a test takes

    def idle_again():
        if not os.path.exists(idle):
            os.link(idle + ".kept", idle)

    try:
        if group:
            scene.at_each_call(GROUP_NODE, "live", "1")
            scene.at_each_call(GROUP_NODE, "idle", "1")
        scene.at_each_call(GLOCK, "rm", "idle", before=idle_again, **more)
        for command in (["ls"], ["stat", "live"], ["demote", "live", "inode:1", "SH"], ["trace", "-t", "0.01", "live"]):
            scene.at_each_call(GLOCK, *command, **more)
    finally:
        scene.end()
    return ""


def names_exchanged_in_the_folder_of_a_group():
    return exchange("/dev/shm/glock-g1", True)


def names_exchanged_in_the_folder_of_a_user():
    return exchange("/dev/shm/glock-1", False)


def a_user_who_left_the_group():
    """The owner of a group's folder has to be a member: root, this user, or by the system's list of groups."""
    folder = "/dev/shm/glock-g1"
    os.mkdir(folder)
    try:
        for owner, trusted in ((OTHER, False), (4294960000, False), (USER, True), (0, True)):
            os.chown(folder, owner, 1)
            os.chmod(folder, 0o2770)
            r = run(GROUP_NODE, "shop", "1", GLOCK_DEBUG="stderr")
            assert (r.stdout == "0\n") == trusted, (owner, r.stdout, r.stderr)
            assert trusted or (r.stdout == "-1\n" and "no member of the group" in r.stderr), r
            assert ("shop" in run(GLOCK, "ls").stdout) == trusted, owner
            for name in os.listdir(folder) if not trusted else ():
                os.remove(os.path.join(folder, name))
    finally:
        remake(folder)


# Promises: group: "NULL: the group".
def two_users_of_a_group():
    """GLOCK_GROUP gives two users and root one lock. Without the variable each has a space of that name."""
    remake("/dev/shm/glock-g1")
    holder = subprocess.Popen([*AS_USER, GLOCK, "run", "shop", "job", "--", "sh", "-c", "echo; read x"], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(outside(), GLOCK_GROUP="1"))
    assert holder.stdout.readline() == "\n"
    other = ["setpriv", "--reuid=%d" % OTHER, "--regid=%d" % OTHER]
    job = [GLOCK, "run", "-n", "-E", "42", "shop", "job", "true"]
    for user in ([*other, "--groups=1"], []):
        assert run(*user, *job, GLOCK_GROUP="daemon").returncode == 42, user
        assert run(*user, *job).returncode == 0, user
        assert run(*user, *job, GLOCK_GROUP="").returncode == 0, user
    r = run(*other, "--clear-groups", *job, GLOCK_GROUP="1")
    assert r.returncode == 77 and "/dev/shm/glock-g1" in r.stderr, r
    holder.communicate("\n")
    remake("/dev/shm/glock-g1")


def a_name_that_another_user_took_first():
    """A group's folder is made under a name that another user cannot guess and so keep from this user."""
    remake("/dev/shm/glock-g1")
    os.chmod("/dev/shm", 0o1777)
    job = subprocess.Popen(["sh", "-c", 'read x; exec "$@"', "sh", *AS_USER, GLOCK, "run", "shop", "job", "true"], text=True,
                           stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(outside(), GLOCK_GROUP="1"))
    taken = "/dev/shm/.glock-g1-%d" % job.pid
    os.mkdir(taken)
    os.chown(taken, OTHER, OTHER)
    assert (job.communicate("\n")[1], job.returncode) == ("", 0)
    st = os.lstat("/dev/shm/glock-g1")
    assert (st.st_uid, st.st_gid, st.st_mode) == (USER, 1, stat.S_IFDIR | 0o2770), st
    remake("/dev/shm/glock-g1")
    os.rmdir(taken)
    os.chmod("/dev/shm", 0o777)
    assert not [name for name in os.listdir("/dev/shm") if name.startswith(".glock-g")]


def group_as_an_option():
    """glock run --group does what GLOCK_GROUP does. A folder with the setgid bit names its group."""
    other, folder = ["setpriv", "--reuid=%d" % OTHER, "--regid=%d" % OTHER, "--groups=1"], "/dev/shm/shared"
    os.mkdir(folder)
    os.chown(folder, -1, 1)
    os.chmod(folder, 0o2770)
    try:
        for more in ({}, {"GLOCK_DIR": folder}):
            holder = subprocess.Popen([*AS_USER, GLOCK, "run", "--group", "daemon", "shop", "job", "sh", "-c", "echo; read x"],
                                      text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(outside(), **more))
            assert holder.stdout.readline() == "\n"
            r = run(*other, GLOCK, "run", "-n", "--verbose", "--group", "1", "shop", "job", "true", **more)
            assert r.returncode == 1 and "job: sh; held by daemon for " in r.stderr, r
            if more:
                r = run(GLOCK, "run", "-n", "shop", "job", "true", **more)
                assert r.returncode == 77 and "glock run --group daemon" in r.stderr, r
            holder.communicate("\n")
        assert run(GLOCK, "rm", "shop", GLOCK_DIR=folder).returncode == 0
        assert run(*AS_USER, GLOCK, "run", "shop", "job", "true", GLOCK_DIR=folder).returncode == 0
        r = run(*other, GLOCK, "run", "shop", "job", "true", GLOCK_DIR=folder)
        assert r.returncode == 77 and "GLOCK_GROUP=daemon or glock run --group daemon" in r.stderr, r
        r = run(*other, GLOCK, "run", "--group", "daemon", "shop", "job", "true", GLOCK_DIR=folder)
        assert r.returncode == 77 and "that user removes it with glock rm" in r.stderr, r
        os.chmod(folder, 0o1777)
        r = run(*other, GLOCK, "run", "shop", "job", "true", GLOCK_DIR=folder)
        assert r.returncode == 77 and "name a group of both in GLOCK_GROUP" in r.stderr, r
    finally:
        remake(folder)
        remake("/dev/shm/glock-g1")


def another_users_space_of_the_name():
    """Root, who sees all spaces, is told that a job of another user has a lock of its own."""
    holder = subprocess.Popen([*AS_USER, GLOCK, "run", "shop", "job", "sh", "-c", "echo; read x"], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=outside())
    assert holder.stdout.readline() == "\n"
    r = run(GLOCK, "run", "-n", "shop", "job", "true")
    assert r.returncode == 0 and "user daemon has a space shop, too (/dev/shm/glock-1/shop)" in r.stderr, r
    assert "--group" in r.stderr, r
    holder.communicate("\n")
    assert not run(GLOCK, "run", "-n", "shop", "job", "true").stderr
    remake("/dev/shm/glock-1")


def a_folder_that_is_a_link():
    """A link of another user in GLOCK_DIR leads no program elsewhere. glock rm follows no link at the end."""
    scene = Scene("/dev/shm/glock-1", False)
    try:
        for name in (scene.link, scene.link + "/", scene.link + "//", scene.link + "/."):
            for command in (["rm", "idle"], ["run", "new", "l", "true"], ["run", "idle", "l", "true"], ["ls"]):
                r = run(GLOCK, *command, GLOCK_DIR=name)
                assert r.returncode in (71, 74) and "symbolic link" in r.stderr, (name, command, r)
                scene.check(name)
        os.lchown(scene.link, 0, 0)
        assert "live" in run(GLOCK, "ls", GLOCK_DIR=scene.link).stdout
        assert run(GLOCK, "run", "idle", "l", "true", GLOCK_DIR=scene.link + "/.").returncode == 0
        scene.before = state(scene.treasure)
        r = run(GLOCK, "rm", "idle", GLOCK_DIR=scene.link)
        assert r.returncode == 71 and "symbolic link" in r.stderr, r
        scene.check("a link of root")
        assert run(GLOCK, "rm", "idle", GLOCK_DIR="/dev/shm/glock-1/").returncode == 0
    finally:
        scene.end()


# ---- states of a folder

KINDS = ("none", "link to root's file", "link to nothing", "link to itself", "FIFO", "folder", "socket", "empty", "text",
         "head", "other owner", "hole", "null", "second name")


def put(kind, path, treasure):
    if kind.startswith("link"):
        os.symlink({"link to root's file": os.path.join(treasure, "idle"), "link to itself": path}.get(kind, "/nowhere"), path)
    elif kind == "FIFO":
        os.mkfifo(path)
    elif kind == "folder":
        os.mkdir(path)
    elif kind == "socket":
        s = socket.socket(socket.AF_UNIX)
        s.bind(path)
        s.close()
    elif kind == "null":
        os.mknod(path, 0o20666, os.makedev(1, 3))
    elif kind == "second name":
        os.link(os.path.join(treasure, "text"), path)
    elif kind != "none":
        with open(path, "wb") as f:
            if kind == "hole":
                f.truncate(1 << 33)
            elif kind == "head":
                with open(os.path.join(treasure, "idle"), "rb") as g:
                    f.write(g.read(1 << random.randrange(4, 17)))
                f.truncate(os.path.getsize(os.path.join(treasure, "idle")))
            elif kind != "empty":
                f.write(os.urandom(1 << random.randrange(14)))
        if kind == "other owner":
            os.chown(path, OTHER, OTHER)


def any_state_of_a_folder():
    """Each program ends, with a status of its manual, and changes nothing elsewhere."""
    scene = Scene("/dev/shm/glock-1", False)
    folder = "/dev/shm/hostile"
    with open(os.path.join(scene.treasure, "text"), "w", encoding="ascii") as f:
        f.write("of root")
    scene.before = state(scene.treasure)
    commands = (["ls"], ["ls", "--json"], ["stat", "s"], ["rm", "s"], ["run", "-w", "0", "s", "l", "true"], ["demote", "s", "inode:1", "SH"])
    try:
        for turn in range(25):
            remake(folder)
            os.mkdir(folder)
            os.chown(folder, USER, USER)
            kinds = {name: random.choice(KINDS) for name in ("s", "s,0", "s,0,alive", "s,1", "s,dlm,7", "t")}
            for name, kind in kinds.items():
                put(kind, os.path.join(folder, name), scene.treasure)
            scene.before = state(scene.treasure)
            for args in random.sample(commands, 3):
                r = run(GLOCK, *args, GLOCK_DIR=folder, GLOCK_LOCKMAN="local")
                assert r.returncode in (0, 1, 64, 65, 66, 69, 71, 73, 74, 75, 76, 77), (turn, kinds, args, r)
                scene.check("%s in %s" % (args, kinds))
    finally:
        remake(folder)
        scene.end()


# ---- forgeries

LIVE, DEAD = 1, 2
NODES = 1024  # of a space
LISTED, READ, NAMES = 4096, 1 << 30, 1 << 16  # the share of a user: find_spaces.c, local_look.c


def forge(real, new, links, state=DEAD):
    """A space full of nodes, each with a segment: the layout is local_layout.h's."""
    slots_end, first, size = 76, 2176, 128
    with open(real, "rb") as f:
        head = bytearray(f.read(first + NODES * size))
    assert struct.unpack_from("<II", head, 8) == (4, NODES)  # layout and nodes
    assert head[first + 24:first + 34] == b"group_node"
    slot = head[first + 12:first + size]
    head[first:] = b"".join(struct.pack("<III", state, 1, 1 << 22 | i) + slot for i in range(NODES))
    struct.pack_into("<I", head, slots_end, NODES)
    with open(new, "wb") as f:
        f.write(head)
        f.truncate(os.path.getsize(real))
    os.chown(new, USER, USER)
    for i in range(NODES):
        remake("%s,%d" % (new, i))
        os.link(links, "%s,%d" % (new, i))


@contextlib.contextmanager
def beside_roots_lock():
    """Root holds a lock. User 1 has a folder, which was made last and so is listed first."""
    holder = subprocess.Popen([GLOCK, "run", "zzz", "kept", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env={k: v for k, v in os.environ.items() if k != "GLOCK_DIR"})
    scene = None
    try:
        holder.stdin.write(b"x\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == b"x\n"  # the lock is held
        scene = Scene("/dev/shm/glock-1", False)
        yield scene.folder
    finally:
        holder.stdin.close()
        holder.wait(SLOW)
        remake("/dev/shm/glock-0")
        if scene:
            scene.end()


def check_roots_lock(lines):
    zzz = [line for line in lines if line[0] == "zzz"]
    assert len(zzz) == 1 and zzz[0][4:8] == ["ok", "1", "1", "0"], zzz


def a_user_who_hides_the_locks_of_others():
    """glock ls shows the locks of root, whatever another user's folder has, and with few descriptors, too."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    with beside_roots_lock() as folder:
        try:
            forge(folder + "/live", folder + "/aaa", folder + "/live,0")
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, limit[1]))
            lines = [line.split() for line in run(GLOCK, "ls").stdout.splitlines()]
            assert sum(line[0] == "aaa" for line in lines) == NODES
            check_roots_lock(lines)
            # with too few descriptors the lock is shown, or a message says what was not read
            said = set()
            for n in range(4, 12):
                r = run("prlimit", "--nofile=%d:%d" % (n, n), GLOCK, "ls")
                zzz = [line.split() for line in r.stdout.splitlines() if line.startswith("zzz ")]
                shown = len(zzz) == 1 and zzz[0][5:8] == ["1", "1", "0"]
                told = "Too many open files" in r.stdout + r.stderr
                assert shown or told, (n, r.stdout[-300:], r.stderr)
                said.add((shown, "not readable: EMFILE" in r.stdout, r.returncode))
            assert (True, False, 0) in said and any(not shown for shown, _, _ in said), said
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)


def a_user_with_more_than_a_share_of_the_list():
    """Of another user only so many spaces and nodes are listed, of lock manager local and of others."""
    with beside_roots_lock() as folder:
        for i in range(LISTED // NODES + 1):
            forge(folder + "/live", folder + "/aaa%d" % i, folder + "/live,0")
        for i in range(LISTED):
            os.link(folder + "/live,0", folder + "/bbb%d,none,%d" % (i, i + 1))
        r = run(GLOCK, "ls")
        lines = [line.split() for line in r.stdout.splitlines()]
        check_roots_lock(lines)
        theirs = sum(line[2] in ("daemon", "1") for line in lines)
        assert theirs <= LISTED < theirs + 20, theirs  # a space with nodes has no line of its own
        assert re.search(r"user 1: \d+ spaces and nodes are left out", r.stderr), r.stderr


def a_user_with_more_files_than_are_read():
    """Of another user's directory only so many names are looked at. A user has no second directory by another name."""
    with beside_roots_lock() as folder:
        run("cp", "-r", "--preserve=all", folder, "/dev/shm/glock-01")
        os.rename("/dev/shm/glock-01/live", "/dev/shm/glock-01/twice")
        for i in range(NAMES):
            os.link(folder + "/live,0", folder + "/%d,none,-" % i)
        for by, said in ((["env"], True), (AS_USER, False)):
            r = run(*by, GLOCK, "ls")
            assert ("not all files of %s are read" % folder in r.stderr) == said, (by, r)
            assert said or re.search("^live ", r.stdout, re.M), r
            assert not re.search("^twice ", r.stdout, re.M), r
        check_roots_lock([line.split() for line in run(GLOCK, "ls").stdout.splitlines()])
        r = run(O2TOP, "--fs", "glock", "--local", "-t", "0.1", "-i", "1")
        assert "not all files of %s are read" % folder in r.stdout + r.stderr, r
        remake("/dev/shm/glock-01")


def a_user_with_other_users_and_groups():
    """A share is for a user with all its subordinate users, and for a group whose members may have made the files."""
    ranges = "/dev/shm/subuid"
    if not os.path.exists("/etc/subuid"):
        return "SKIP no /etc/subuid"
    with open(ranges, "w", encoding="ascii") as f:
        f.write("# a comment\nother:5000:10\ndaemon:100000:65536\n")
    run("mount", "--bind", ranges, "/etc/subuid")  # of this namespace
    try:
        for owners, mode, payer in ((range(100000, 100006), 0o700, "user 100000"), ([0] * 6, 0o2770, "group 1")):
            paths = ["/dev/shm/glock-g1"] * 6 if mode == 0o2770 else ["/dev/shm/glock-%d" % owner for owner in owners]
            with beside_roots_lock() as folder:
                forge(folder + "/live", folder + "/aaa", folder + "/live,0")
                for i, (path, owner) in enumerate(zip(paths, owners)):
                    os.makedirs(path, exist_ok=True)
                    os.chown(path, owner, 1)
                    os.chmod(path, mode)
                    for end in ("", *(",%d" % n for n in range(NODES))):
                        os.link(folder + "/aaa" + end, "%s/bbb%d%s" % (path, i, end))
                for names in (0, NAMES // 6 + 1):
                    for i in range(6 * names):
                        os.link(folder + "/live,0", "%s/%d,none,-" % (paths[i % 6], i))
                    r = run(GLOCK, "ls")
                    lines = [line.split() for line in r.stdout.splitlines()]
                    check_roots_lock(lines)
                    if not names:
                        assert LISTED - 20 < sum(line[0].startswith("bbb") for line in lines) <= LISTED, (payer, len(lines))
                        assert re.search(payer + r": \d+ spaces and nodes are left out", r.stderr), (payer, r.stderr)
                    assert r.stderr.count("not all files of") == bool(names), (payer, r.stderr)
                for path in paths:
                    remake(path)
    finally:
        run("umount", "/etc/subuid")
        remake(ranges)
    return ""


def a_name_that_is_no_nodes():
    """No byte of a file's name commands a terminal, also not as part of a path in JSON."""
    with beside_roots_lock() as folder:
        for name in ("z,\u009b5n\u202e,7", "z,none,\n7", "z,none,+7", "z,none,7"):
            os.link(folder + "/live,0", os.path.join(folder, name))
        r = run(GLOCK, "ls", "--json")
        found = [o["path"] for o in map(json.loads, r.stdout.splitlines()) if o["space"] == "z"]
        assert found == [folder + "/z,none"], found
        assert "\u009b" not in r.stdout and "\u202e" not in r.stdout, r.stdout


def counted(*command):
    """Runs a program. Returns its lines, and what the kernel counted of its reading and writing."""
    with tempfile.TemporaryFile("w+") as out:
        env = {k: v for k, v in os.environ.items() if k != "GLOCK_DIR"}
        with subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=env) as p:
            end = time.monotonic() + 2 * SLOW
            while not os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                if time.monotonic() > end:
                    p.kill()
                time.sleep(0.05)
            with open("/proc/%d/io" % p.pid, encoding="ascii") as f:
                counts = {name: int(n) for name, n in (line.split(": ") for line in f)}
        assert p.returncode == 0, p.returncode
        out.seek(0)
        return out.read().splitlines(), counts


def a_user_with_more_than_a_share_of_the_reading():
    """Of another user's files only so much is read, whatever they claim, and their holders are counted once."""
    costly = "/dev/shm/costly"
    with beside_roots_lock() as folder:
        for kind in ("same", "torn", "holes"):
            remake(costly)
            run(*AS_USER, COSTLY, costly, kind)
            forge(folder + "/live", folder + "/aaa", costly, LIVE)
            with open(folder + "/aaa", "r+b") as f:
                fcntl.lockf(f, fcntl.LOCK_EX, NODES)  # the nodes live
                for args in ((), ("aaa",)):
                    lines, counts = counted(GLOCK, "ls", *args)
                    if not args:
                        check_roots_lock([line.split() for line in lines])
                    aaa = [line for line in lines if line.startswith("aaa ")]
                    assert len(aaa) == NODES and "not all read: its owner has too much" in aaa[-1], (kind, aaa[-1])
                    assert counts["rchar"] < READ + (64 << 20) and counts["syscr"] < 1 << 19, (kind, args, counts)
                if kind == "same":  # a line that o2top makes and parses counts, too
                    _, counts = counted(O2TOP, "--fs", "glock", "--local", "-t", "0.1", "-i", "1", "--json")
                    assert counts["wchar"] < 128 << 20, counts
        with open(folder + "/aaa", "r+b") as f:
            fcntl.lockf(f, fcntl.LOCK_EX, NODES)
            r = run(GLOCK, "stat", "aaa")
            assert "not all read: its owner has too much" in r.stderr, r.stderr[-300:]
            r = run(O2TOP, "--fs", "glock", "--local", "-t", "0.1", "-i", "2", "--json")
            nodes = json.loads(r.stdout.splitlines()[-1])["nodes"]
            assert [n["state"] for n in nodes if n["name"].startswith("glock-")] == ["ok"], (nodes[:3], r.stderr[-300:])
            assert "aaa: its owner has too much" in r.stderr, r.stderr[-300:]
        remake(costly)


# ---- the environment of another user

def a_setuid_program_takes_no_path_from_its_caller():
    """GLOCK_DIR, GLOCK_DEBUG and GLOCK_LOCKMAN are ignored, because the caller chose them."""
    program, theirs, default = "/dev/shm/setuid", "/dev/shm/theirs", "/dev/shm/glock-%d" % USER
    caller = ["setpriv", "--reuid=%d" % OTHER, "--regid=%d" % OTHER, "--clear-groups"]
    run("cp", GROUP_NODE, program)
    try:
        for mode in (0o755, 0o4755):
            os.chown(program, USER, USER)
            os.chmod(program, mode)
            remake(theirs)
            os.mkdir(theirs)
            os.chown(theirs, OTHER, OTHER)
            for lockman in ("local", "none"):
                r = run(*caller, program, "shop", "-", GLOCK_DIR=theirs, GLOCK_DEBUG=theirs + "/log", GLOCK_LOCKMAN=lockman)
                assert r.stdout == "0\n", (oct(mode), lockman, r)
            assert (sorted(os.listdir(theirs)) == ["log", "shop"]) == (mode == 0o755), (oct(mode), os.listdir(theirs))
            assert os.path.exists(default) == (mode == 0o4755), oct(mode)
        assert not os.listdir(theirs) and "shop" in os.listdir(default)
    finally:
        for path in (program, theirs, default):
            remake(path)
    return ""


# ---- root's folder

def roots_folder_of_the_package():
    """A folder of root's name that a user made before: postinst empties it, and tmpfiles.d does not give it to root."""
    folder, debian = "/dev/shm/glock-0", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../debian")
    postinst, = glob.glob(debian + "/libglock[0-9].postinst")
    postrm, = glob.glob(debian + "/libglock[0-9].postrm")
    line, = glob.glob(debian + "/libglock[0-9].tmpfiles")
    for kind in ("folder", "link", "file", "none", "root's"):
        remake(folder)
        if kind in ("folder", "root's"):
            os.mkdir(folder, 0o700)
            os.chown(folder, 0 if kind == "root's" else USER, 0)
            assert run(*(AS_USER if kind == "folder" else ["env"]), "touch", folder + "/shop").returncode == 0
        elif kind == "link":
            os.mkdir("/dev/shm/elsewhere")
            run("touch", "/dev/shm/elsewhere/kept")
            os.symlink("/dev/shm/elsewhere", folder)
        elif kind == "file":
            run(*AS_USER, "touch", folder)
        was = os.lstat(folder) if os.path.lexists(folder) else None
        if shutil.which("systemd-tmpfiles") and kind in ("folder", "file"):
            run("systemd-tmpfiles", "--create", line)
            assert os.lstat(folder).st_uid == USER, kind
        assert run("sh", postrm, "purge").returncode == 0 and os.path.lexists(folder) == bool(was), kind
        assert run("sh", postinst, "configure", LC_ALL="C.UTF-8", LANGUAGE="de").returncode == 0
        st = os.lstat(folder)
        assert stat.S_ISDIR(st.st_mode) and st.st_uid == 0 and st.st_mode & 0o7777 == 0o700, (kind, st)
        assert (os.listdir(folder) == ["shop"] and st.st_ino == was.st_ino) if kind == "root's" else not os.listdir(folder), kind
    assert os.listdir("/dev/shm/elsewhere") == ["kept"]
    remake(folder)
    remake("/dev/shm/elsewhere")
    assert run("sh", postinst, "configure").returncode == 0
    assert run("sh", postrm, "purge").returncode == 0 and not os.path.exists(folder)


# No library that replaces functions of libc goes before a sanitizer, and no sanitizer runs with other rights.
PLAIN_BUILD = [names_exchanged_in_the_folder_of_a_group, names_exchanged_in_the_folder_of_a_user,
               a_setuid_program_takes_no_path_from_its_caller]

if __name__ == "__main__":
    main((PLAIN_BUILD if EXCHANGE else []) +
         [a_user_who_left_the_group, two_users_of_a_group, group_as_an_option, another_users_space_of_the_name,
          a_name_that_another_user_took_first, a_folder_that_is_a_link, any_state_of_a_folder,
          a_user_who_hides_the_locks_of_others, a_user_with_more_than_a_share_of_the_list,
          a_user_with_more_files_than_are_read, a_user_with_other_users_and_groups, a_name_that_is_no_nodes,
          a_user_with_more_than_a_share_of_the_reading,
          roots_folder_of_the_package])
