# SPDX-License-Identifier: MIT
# test_mistakes.py - tests glock(1) on mistakes: the message names the cause, the status fits.

import os
import resource
import subprocess

from cli import GLOCK, SLOW, Node, glock, main, objects, out


def says(status, what, *args, **more):
    r = glock(*args, **more)
    assert r.returncode == status and what in r.stderr, (args, r.returncode, r.stderr)
    return r


def output_that_cannot_be_written():
    a = Node("s")
    a.do("cached 2 5 EX")
    for args in (["ls"], ["ls", "--json"], ["stat", "s"], ["stat", "s", "sbstats"], ["stat", "--json", "s", "sbstats"],
                 ["bench", "-t", "0.1"], ["--help"], ["ls", "--help"], ["top", "--help"], ["--version"], ["version"],
                 ["run", "--version"]):
        for to in (">/dev/full", ">&-"):
            r = subprocess.run(["sh", "-c", '"$@" ' + to, "sh", GLOCK, *args], stderr=subprocess.PIPE, text=True,
                               timeout=SLOW, check=False)
            assert r.returncode == 74 and r.stderr.count("standard output: ") == 1, (to, args, r)
    a.end()


def a_trace_that_cannot_be_written():
    a = Node("s")
    with open("/dev/full", "w") as full:
        p = subprocess.Popen([GLOCK, "trace", "-t", "%d" % SLOW, "s"], stdout=full, stderr=subprocess.PIPE, text=True)
        while p.poll() is None:
            a.do("cached 2 5 EX")
        text = p.communicate()[1]
    assert p.returncode == 74 and text.count("standard output: No space left") == 1, (p.returncode, text)
    a.end()


def a_command_gets_the_streams_that_there_are():
    r = subprocess.run(["sh", "-c", '"$@" <&- >&-', "sh", GLOCK, "run", "s", "n", "sh", "-c", "ls -l /proc/$$/fd >&2"],
                       stderr=subprocess.PIPE, text=True, timeout=SLOW, check=False)
    assert r.returncode == 0 and "/dev/null" not in r.stderr, r


def where_spaces_are_looked_for():
    folder = os.environ["GLOCK_DIR"]
    file = folder + "/.file"
    with open(file, "w"):
        pass
    for path in (folder + "/none", file):
        os.environ["GLOCK_DIR"] = path
        for args in (["ls"], ["ls", "--json"], ["ls", "s"], ["stat", "s"], ["rm", "s"], ["trace", "s"]):
            says(71, "GLOCK_DIR=" + path + ": ", *args)
        says(71, "cannot open directory " + path, "run", "s", "lock", "true")
    os.environ["GLOCK_DIR"] = folder
    r = glock("ls")
    assert r.returncode == 0 and not r.stdout and not r.stderr, r


def options_are_named():
    says(64, "-z: no such option", "run", "-zn", "a", "b", "true")
    says(64, "-z: no such option", "run", "-nz", "a", "b", "true")
    says(64, "-z: no such option", "run", "--wait=5", "-zn", "a", "b", "true")
    says(64, "-j: no such option", "ls", "-jx")
    says(64, "--verx: no such option", "run", "--verx", "a", "b", "true")
    says(64, "--ver: is that --verbose or --version?", "run", "--ver", "a", "b", "true")
    says(64, "--verbose=x: this option takes no value", "run", "--verbose=x", "a", "b", "true")
    says(64, "--share=x: this option takes no value", "run", "--share=x", "a", "b", "true")
    says(64, "-w needs a value", "run", "-nw")
    says(64, "--wait needs a value", "run", "--wait")
    says(64, "--node needs a value", "stat", "s", "--node")


def lock_managers_are_named():
    assert glock("run", "s", "n", "true").returncode == 0
    says(64, "bogus: ", "rm", "--lockman", "bogus", "s")
    says(64, "none: ", "rm", "--lockman", "none", "s")
    says(64, "glock run: bogus: no such lock manager", "run", "--lockman", "bogus", "s", "n", "true")
    os.environ["GLOCK_LOCKMAN"] = "bogus"
    says(64, "GLOCK_LOCKMAN=bogus: no such lock manager", "run", "s", "n", "true")
    says(64, "bogus: ", "rm", "s")
    os.environ["GLOCK_LOCKMAN"] = "local"
    assert "s " in out("ls")
    assert glock("rm", "--lockman", "local", "s").returncode == 0


def names_that_are_no_glock():
    says(64, "NAME is missing", "run", "s", "", "true")
    says(64, "NAME is missing", "hold", "s", "")
    for name in ("inode:-1", "nosuch:1", "32:1", "10:+5", "inode:0x", "inode:18446744073709551616"):
        says(64, f"{name}: no such glock", "run", "s", name, "true")
    for name in ("inode:0x10", "31:1", "a:b", "a b:1", "x/y:1", "2026-11-27:1", ":1", "a:"):
        assert glock("run", "s", name, "true").returncode == 0, name


def limits_are_no_missing_spaces():
    says(73, "ulimit -f", "run", "s", "n", "true",
         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    r = says(71, "open", "run", "s", "n", "true", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4)))
    assert "Too many open files" in r.stderr or "No file descriptors available" in r.stderr, r
    if os.geteuid() == 0:
        return  # root may have any number of threads
    says(71, "", "run", "s", "n", "true", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)))


def a_full_directory():
    """The message names the cause. A dump of the glock would push the cause out."""
    folder = os.environ["GLOCK_DIR"]
    mount = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=$0 none "$GLOCK_DIR" && exec "$@"']
    if subprocess.run([*mount, "1m", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        return "SKIP needs mount"
    for size, status, what in (("64k", 73, "no room for file " + folder), ("200k", 65, "lock manager local refused the request")):
        r = subprocess.run([*mount, size, GLOCK, "run", "s", "n", "true"], stderr=subprocess.PIPE, text=True,
                           timeout=SLOW, check=False)
        assert r.returncode == status and what in r.stderr and "fsid=" not in r.stderr, r
    return None


def a_space_of_another_version():
    a = Node("s")
    with open(os.path.join(os.environ["GLOCK_DIR"], "s"), "r+b") as f:
        f.seek(8)
        f.write(b"\xfe")
    assert "of another version" in out("ls")
    (o,) = objects("ls", "--json")
    assert o["space"] == "s" and o["other_version"] and "node" not in o, o
    for args in (["stat", "s"], ["trace", "s"], ["demote", "s", "2:1", "EX"]):
        says(71, "space s is of another version", *args)
    says(1, "s is in use", "rm", "s")
    a.kill()
    assert glock("rm", "s").returncode == 0
    assert os.listdir(os.environ["GLOCK_DIR"]) == []


def nobody_to_watch():
    if "O2TOP" not in os.environ:
        return  # this build has no o2top
    says(1, "no process is in a lock space here", "top", "--once", "-b")
    assert "o2top" in out("top", "-V")  # does not depend on the nodes that are here
    assert glock("run", "t", "n", "true").returncode == 0
    says(1, "no process is in space t", "top", "t", "--once", "-b")
    says(1, "no process is in a lock space here", "top", "--once", "-b")
    a, b, c = Node("glock"), Node("gfs2"), Node("ocfs2")
    for node, space in ((a, "glock"), (b, "gfs2"), (c, "ocfs2")):
        assert node.name in out("top", space, "--once", "-b"), space
    says(1, "no process is in space t", "top", "t", "--once", "-b")
    a.end(), b.end(), c.end()


def nobody_to_trace():
    assert glock("run", "t", "n", "true").returncode == 0
    says(66, "no process is in space t", "trace", "t")
    says(66, "1: no such node lives", "trace", "-n", "1", "t")


if __name__ == "__main__":
    main(
        [
            output_that_cannot_be_written,
            a_trace_that_cannot_be_written,
            a_command_gets_the_streams_that_there_are,
            where_spaces_are_looked_for,
            options_are_named,
            lock_managers_are_named,
            names_that_are_no_glock,
            limits_are_no_missing_spaces,
            a_full_directory,
            a_space_of_another_version,
            nobody_to_watch,
            nobody_to_trace,
        ]
    )
