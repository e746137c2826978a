# SPDX-License-Identifier: MIT
# test_run.py - tests glock run beside flock(1), and the fate of the lock.

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time

from cli import GLOCK, SLOW, Node, glock, main, objects, out, state_of, wait_for


def start(*args):
    return subprocess.Popen([GLOCK, "run", *args], stdout=subprocess.PIPE, text=True)


def taken(name="n", *options):
    """Tells whether a process has the lock."""
    r = glock("run", "-n", *options, "s", name, "true")
    assert r.returncode in (0, 1), r.stderr
    return r.returncode == 1


def holder(*options, name="n", command="echo; read x"):
    """Starts a command that has the lock until its input ends."""
    p = subprocess.Popen(
        [GLOCK, "run", *options, "s", name, "--", "sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert p.stdout.readline() == "\n"
    return p


def end(p):
    p.stdin.close()
    p.wait(SLOW)


def is_gone(pid):
    """Tells whether the process is gone, or a zombie."""
    try:
        return state_of(pid) == "Z"
    except FileNotFoundError:
        return True


def statuses_are_those_of_flock():
    file = os.path.join(os.environ["GLOCK_DIR"], ".flock")
    cases = [
        ["@", "true"],
        ["@", "false"],
        ["@", "sh", "-c", "exit 42"],
        ["@", "sh", "-c", "kill -9 $$"],
        ["@", "sh", "-c", "kill -TERM $$"],
        ["@", "/nonexistent/command"],
        ["@", "/etc/passwd"],
        ["@", "-c", "exit 7"],
        ["@", "--command", "exit 8"],
        ["@", "-c"],
        ["@", "-c", "a", "b"],
        ["-s", "@", "true"],
        ["--shared", "@", "true"],
        ["-x", "@", "true"],
        ["-e", "@", "true"],
        ["--exclusive", "@", "true"],
        ["-n", "@", "true"],
        ["--nb", "@", "true"],
        ["--nonblock", "@", "true"],
        ["-w", "5", "@", "true"],
        ["--wait", "0.5", "@", "true"],
        ["--timeout", "1", "@", "true"],
        ["-w", "x", "@", "true"],
        ["-E", "9", "@", "true"],
        ["-E", "256", "@", "true"],
        ["-E", "x", "@", "true"],
        ["-o", "@", "true"],
        ["--close", "@", "true"],
        ["-F", "@", "sh", "-c", "exit 3"],
        ["--no-fork", "@", "true"],
        ["-F", "-o", "@", "true"],
        ["--nosuch", "@", "true"],
        ["-q", "@", "true"],
        ["--verbose", "@", "true"],
        ["-V"],
        ["--version"],
        ["-h"],
        ["-sn", "@", "true"],
        ["--excl", "@", "true"],
        ["@", "-n", "true"],
        ["@", "sh", "-c", "exit $1", "sh", "5"],
        [],
    ]
    wrong = []
    for case in cases:
        flock = [x for a in case for x in ([file] if a == "@" else [a])]
        ours = [x for a in case for x in (["s", "n"] if a == "@" else [a])]
        a = subprocess.run(["flock", *flock], capture_output=True, timeout=SLOW).returncode
        b = glock("run", *ours).returncode
        if a != b:
            wrong.append("%s: flock %d, glock %d" % (" ".join(case), a, b))
    assert not wrong, "\n".join(wrong)


def conflicts_are_those_of_flock():
    file = os.path.join(os.environ["GLOCK_DIR"], ".flock")
    wrong = []
    for first in ("-x", "-s"):
        theirs = subprocess.Popen(["flock", first, file, "sh", "-c", "echo; read x"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert theirs.stdout.readline() == "\n"
        ours = holder(first)
        for case in (["-n"], ["-n", "-s"], ["-n", "-E", "9"], ["-w", "0"], ["-w", "0.2"], ["-w", "0.2", "-s"],
                     ["-w", "0.1", "-E", "77"], ["-n", "-w", "%d" % SLOW], ["-w", "%d" % SLOW, "-n"], ["-w", "0", "-E", "0"]):
            a = subprocess.run(["flock", *case, file, "true"], timeout=SLOW).returncode
            b = glock("run", *case, "s", "n", "true").returncode
            if a != b:
                wrong.append("%s then %s: flock %d, glock %d" % (first, case, a, b))
        end(ours)
        end(theirs)
    assert not wrong, "\n".join(wrong)


def who_comes_later_waits():
    p = holder()
    q = start("s", "n", "echo", "in")
    time.sleep(0.2)
    assert q.poll() is None
    end(p)
    assert q.communicate(timeout=SLOW)[0] == "in\n" and q.returncode == 0


def other_names_are_other_locks():
    p = holder()
    assert taken() and not taken("m") and not taken("6:5")
    end(p)
    assert not taken()


def the_command_keeps_it_when_glock_is_killed():
    p = holder()
    p.send_signal(signal.SIGKILL)
    p.wait()
    assert taken()
    (node,) = [o for o in objects("ls", "--json", "s") if o.get("pid") == p.pid]
    assert node["state"] == "inherited", node
    q = start("s", "n", "echo", "in")
    time.sleep(0.3)
    assert q.poll() is None
    p.stdin.close()  # the command ends
    assert q.communicate(timeout=SLOW)[0] == "in\n"


def a_child_left_behind_keeps_it():
    p = holder(command="exec 3<&0; (read x <&3) & echo")
    assert p.wait(SLOW) == 0  # glock has gone
    assert taken()
    p.stdin.close()
    wait_for(lambda: not taken())


def a_child_left_behind_keeps_it_when_glock_is_killed():
    mark = os.path.join(os.environ["GLOCK_DIR"], ".pid")
    p = holder(command="echo $$ >%s; exec 3<&0; (echo; read x <&3) & while [ -e %s ]; do sleep 0.02; done" % (mark, mark))
    with open(mark) as f:
        command = int(f.read())
    p.send_signal(signal.SIGKILL)
    p.wait()
    os.unlink(mark)
    wait_for(lambda: is_gone(command))
    assert taken()  # its child is there
    p.stdin.close()
    wait_for(lambda: not taken())


def close_lets_it_go_with_the_command():
    p = holder("-o", command="exec 3<&0; (read x <&3) & echo")
    assert p.wait(SLOW) == 0
    assert not taken()
    p.stdin.close()


def close_kills_the_command_with_glock():
    p = holder("-o", command="echo $$ >$GLOCK_DIR/.pid; echo; read x")
    with open(os.path.join(os.environ["GLOCK_DIR"], ".pid")) as f:
        command = int(f.read())
    p.send_signal(signal.SIGKILL)
    p.wait()

    wait_for(lambda: is_gone(command))
    wait_for(lambda: not taken())


def no_fork_becomes_the_command():
    p = holder("-F", command="echo; read x")
    with open("/proc/%d/comm" % p.pid) as f:
        assert f.read() == "sh\n"
    assert taken()
    # no process is left that could answer
    assert [o["state"] for o in objects("ls", "--json", "s") if o["pid"] == p.pid] == ["inherited"]
    held = [o for o in objects("stat", "--json", "s") if any(h["pid"] == p.pid for h in o["holders"])]
    r = glock("demote", "s", "%d:%d" % (held[0]["type"], held[0]["number"]), "EX")
    assert r.returncode == 75 and "(inherited) keeps the glock" in r.stderr, r
    end(p)
    wait_for(lambda: not taken())
    # without a descriptor to inherit, exec cannot keep the lock
    r = glock("run", "-F", "--lockman", "none", "s", "n", "echo", "ran")
    assert r.returncode == 64 and not r.stdout and "lock manager none" in r.stderr, r


def a_lock_that_is_only_cached_is_no_conflict():
    a = Node("s")
    a.do("cached 6 6 EX")
    assert not taken("6:5")
    a.do("nq 1 6 5 EX")
    a.do("wait 1")
    assert taken("6:5")
    a.do("dq 1")
    a.end()


def a_lock_in_use_differs_from_one_that_is_cached():
    p = holder()
    for options, status in (([], 1), (["-E", "9"], 9), (["--cached-exit-code", "75"], 1)):
        assert glock("run", "-n", *options, "s", "n", "true").returncode == status, options
    end(p)
    a = Node("s")
    a.do("cached 6 6 EX")
    a.p.send_signal(signal.SIGSTOP)  # it gives nothing up, and publishes no user
    os.waitid(os.P_PID, a.pid, os.WSTOPPED)
    for options, status in (([], 1), (["-E", "9"], 9), (["--cached-exit-code", "75", "-E", "9"], 75)):
        r = glock("run", "-n", "--verbose", *options, "s", "6:5", "true")
        assert r.returncode == status, (options, r)
        assert "no user of the lock is known" in r.stderr, r
    a.p.send_signal(signal.SIGCONT)
    assert not taken("6:5")
    a.end()
    assert glock("run", "--cached-exit-code", "256", "s", "n", "true").returncode == 64


def nor_where_another_user_has_a_space_so_called():
    """Without GLOCK_DIR, a command of root searches the directories of all users."""
    if os.geteuid():
        return "SKIP needs root"
    others = "/dev/shm/glock-4294966%03d" % (os.getpid() % 1000)
    ours = os.environ["GLOCK_DIR"]
    os.mkdir(others, 0o700)
    os.chown(others, int(others.split("-")[1]), -1)
    try:
        name = "test-%d" % os.getpid()
        os.environ["GLOCK_DIR"] = others
        assert glock("run", name, "n", "true").returncode == 0
        del os.environ["GLOCK_DIR"]
        a = Node(name)
        a.do("cached 6 6 EX")
        assert len({o["path"] for o in objects("ls", "--json", name)}) == 2
        r = glock("run", "-n", name, "6:5", "true")
        assert r.returncode == 0, r
        a.end()
        assert glock("rm", "/dev/shm/glock-0/" + name).returncode == 0
    finally:
        os.environ["GLOCK_DIR"] = ours
        shutil.rmtree(others, ignore_errors=True)
    return None


POKE = r"""
import fcntl, os, stat, struct, sys
def may(what):
    try:
        what()
        return "yes"
    except OSError as e:
        return e.strerror
def lock(fd, kind):
    fcntl.fcntl(fd, 37, struct.pack("hhqqi4x", kind, 0, 0, 0, 0))  # F_OFD_SETLK, the whole file
for fd in range(3, 1024):
    try:
        st = os.fstat(fd)
    except OSError:
        continue
    if stat.S_ISREG(st.st_mode):
        path = "/proc/self/fd/%d" % fd
        print("size %d mode %o" % (st.st_size, st.st_mode & 0o7777))
        print("write:", may(lambda: os.pwrite(fd, b"x", 0)))
        print("truncate:", may(lambda: os.ftruncate(fd, 1)))
        print("open to write:", may(lambda: os.open(path, os.O_RDWR)))
        print("open to read:", may(lambda: os.open(path, os.O_RDONLY)))
        print("write lock:", may(lambda: lock(fd, fcntl.F_WRLCK)))
        print("unlock:", may(lambda: lock(fd, fcntl.F_UNLCK)))
print(flush=True)
sys.stdin.read()
"""


def a_command_of_another_user_cannot_touch_the_space():
    if os.geteuid():
        return "SKIP needs root"
    other = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    p = subprocess.Popen([GLOCK, "run", "s", "n", *other, "python3", "-c", POKE],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    said = ""
    while (line := p.stdout.readline()) not in ("", "\n"):
        said += line
    assert said == (
        "size 0 mode 400\n"
        "write: Bad file descriptor\n"
        "truncate: Invalid argument\n"
        "open to write: Permission denied\n"
        "open to read: Permission denied\n"
        "write lock: Bad file descriptor\n"
        "unlock: yes\n"
    ), said
    # the lock that the command dropped does not end a glock run that lives
    assert taken()
    assert [o["state"] for o in objects("ls", "--json", "s") if o["pid"] == p.pid] == ["ok"]
    # without glock, the command has nothing left that keeps the lock
    p.kill()
    p.wait()
    wait_for(lambda: not taken())
    p.stdin.close()
    return None


def an_heir_is_not_left_alone_in_a_new_space():
    """No process but the command keeps its node alive. Neither rm nor an opener may begin anew."""
    p = holder()
    command = subprocess.run(["pgrep", "-P", str(p.pid)], capture_output=True, text=True, check=True).stdout.strip()
    p.kill()
    p.wait()
    r = glock("rm", "s")
    assert r.returncode == 1 and "uses it (inherited)" in r.stderr, r
    assert taken()
    path = os.path.join(os.environ["GLOCK_DIR"], "s")
    with open(path, "r+b") as f:  # a process of another version cannot know the nodes
        f.seek(8)
        f.write(b"\x4d")
    r = glock("run", "s", "n", "true")
    assert r.returncode and "another version of glock made it" in r.stderr and "(layout 77; " in r.stderr, r
    # the only process that keeps the space is the command, which has a descriptor of an alive file
    assert f"end process {command} (" in r.stderr, r
    p.stdin.close()
    wait_for(lambda: glock("run", "s", "n", "true").returncode == 0)
    assert not [name for name in os.listdir(os.environ["GLOCK_DIR"]) if name.endswith(",alive")]
    assert glock("rm", "s").returncode == 0


def a_space_that_is_removed_is_named():
    """As by logind, RemoveIPC. Neither a waiter nor a later command runs beside the command, and its lock goes on."""
    for _ in range(5):
        p = subprocess.Popen([GLOCK, "run", "s", "n", "--", "sh", "-c", "echo; read x; exit 5"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert p.stdout.readline() == "\n"
        q = subprocess.Popen([GLOCK, "run", "s", "n", "true"], stderr=subprocess.PIPE, text=True)
        wait_for(lambda: any(o.get("waiting") for o in objects("ls", "--json", "s")))
        os.unlink(os.path.join(os.environ["GLOCK_DIR"], "s"))
        wait_for(lambda: any(o.get("held") for o in objects("ls", "--json")))
        r = glock("run", "-n", "--verbose", "s", "n", "true")
        assert r.returncode == 1 and "process %d (sh) has it: n: sh; held by" % p.pid in r.stderr, r
        text = q.communicate(timeout=SLOW)[1]
        assert q.returncode == 71 and "removed or replaced" in text and re.search("Input/output error|I/O error", text), text
        text = p.communicate("\n", timeout=SLOW)[1]
        assert p.returncode == 5 and "taken again in a new file" in text and "RemoveIPC" in text and "lost" not in text, text
        # a command without a loss gets no message
        r = glock("run", "s", "n", "true")
        assert r.returncode == 0 and not r.stderr, r


def who_loses_the_space_is_told():
    """The process was stopped, and another one was faster."""
    p = subprocess.Popen([GLOCK, "run", "s", "n", "--", "sh", "-c", "echo; read x; exit 5"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert p.stdout.readline() == "\n"
    p.send_signal(signal.SIGSTOP)
    wait_for(lambda: state_of(p.pid) == "T")
    os.unlink(os.path.join(os.environ["GLOCK_DIR"], "s"))
    q = holder()
    p.send_signal(signal.SIGCONT)
    text = p.communicate("\n", timeout=SLOW)[1]
    assert p.returncode == 5 and "lock n in space s was lost while sh ran" in text, text
    end(q)


def a_folder_on_a_disk_costs_little():
    """Each first use of a page would read megabytes around it, as far as the disk's read_ahead_kb goes."""
    if not shutil.which("fincore"):
        return "SKIP no fincore(1)"
    sizes = []
    for folder in (os.environ["GLOCK_DIR"], tempfile.mkdtemp(dir=os.path.dirname(GLOCK))):
        os.environ["GLOCK_DIR"] = folder
        p = holder()
        pages = subprocess.run(["fincore", "-bno", "RES", folder + "/s", folder + "/s,0"], capture_output=True, text=True,
                               timeout=SLOW, check=True).stdout
        sizes.append(sum(map(int, pages.split())))
        end(p)
    shutil.rmtree(folder)
    assert 0 < sizes[1] < 2 * sizes[0], sizes
    return None


def names_are_hashed_and_types_known():
    p = holder(name="some name")
    q = holder(name="inode:0x11")
    glocks = {(o["type"], o["number"]) for o in objects("stat", "--json", "s") if o["holders"]}
    h = 0xCBF29CE484222325
    for c in b"some name":
        h = (h ^ c) * 0x100000001B3 & (1 << 64) - 1
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & (1 << 64) - 1
    h ^= h >> 33
    signed = h - (1 << 64) if h >> 63 else h
    assert glocks == {(6, signed), (2, 17)}, glocks
    end(p), end(q)
    # the types of programs have numbers
    p = holder(name="10:5")
    q = holder(name="31:5")
    glocks = {(o["type"], o["number"]) for o in objects("stat", "--json", "s") if o["holders"]}
    assert glocks >= {(10, 5), (31, 5)}, glocks
    assert glock("run", "-n", "s", "10:5", "true").returncode == 1
    end(p), end(q)


def the_lock_and_the_command_are_named():
    p = holder(name="the backup\n")
    where = next(h["where"] for o in objects("stat", "--json", "s") for h in o["holders"])
    assert where.startswith("the backup?: "), where
    q = start("s", "the backup\n", "true")
    wait_for(lambda: sum(o["waiting"] for o in objects("ls", "--json", "s")) == 1)
    user = pwd.getpwuid(os.geteuid()).pw_name
    said = r"the backup\?: sh; held by %s for \d+\.\d s; 1 wait\n" % user
    for option in ("-n", "-w0.2"):
        r = glock("run", option, "--verbose", "s", "the backup\n", "true")
        assert r.returncode == 1 and re.search(r"process %d \(sh\) has it: %s" % (p.pid, said), r.stderr), r
    assert not glock("run", "-n", "s", "the backup\n", "true").stderr
    text = out("stat", "s")
    assert re.search(r"\[sh\] the backup\?: sh\n P: the backup\?\n R: held by %s for [\d.]+ s; 1 wait\n" % user, text), text
    assert re.search(r"\[true\] the backup\?: true\n R: %s waits for [\d.]+ s\n" % user, text), text
    assert re.search(said, out("ls")), out("ls")
    assert {o["user"] for o in objects("ls", "--json") + objects("stat", "--json", "s")} == {user}
    end(p), q.wait(SLOW)


def a_hundred_wait_their_turn():
    file = os.path.join(os.environ["GLOCK_DIR"], ".sum")
    with open(file, "w") as f:
        f.write("0")
    ps = [start("s", "n", "-c", 'read n <%s; echo $((n + 1)) >%s' % (file, file)) for _ in range(100)]
    assert all(p.wait(SLOW) == 0 for p in ps)
    with open(file) as f:
        assert f.read() == "100\n"


if __name__ == "__main__":
    main(
        [
            statuses_are_those_of_flock,
            conflicts_are_those_of_flock,
            who_comes_later_waits,
            other_names_are_other_locks,
            the_command_keeps_it_when_glock_is_killed,
            a_child_left_behind_keeps_it,
            a_child_left_behind_keeps_it_when_glock_is_killed,
            close_lets_it_go_with_the_command,
            close_kills_the_command_with_glock,
            no_fork_becomes_the_command,
            a_lock_that_is_only_cached_is_no_conflict,
            a_lock_in_use_differs_from_one_that_is_cached,
            nor_where_another_user_has_a_space_so_called,
            a_command_of_another_user_cannot_touch_the_space,
            an_heir_is_not_left_alone_in_a_new_space,
            a_folder_on_a_disk_costs_little, a_space_that_is_removed_is_named, who_loses_the_space_is_told,
            names_are_hashed_and_types_known,
            the_lock_and_the_command_are_named,
            a_hundred_wait_their_turn,
        ]
    )
