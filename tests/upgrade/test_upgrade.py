# SPDX-License-Identifier: MIT
# test_upgrade.py - runs the library of older versions beside today's, on one space. TAP.
#
# Usage: test_upgrade.py BUILD_DIR. The file `versions` has the commits of the older versions. If the
# numbers of both layouts are equal, the processes must share the space. Otherwise the one that comes
# second must be refused, and leave the first alone. Today's library then names the process to end.
# A library of another soname takes the programs of its own version: so the programs of each version use its library.

import errno
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
LAYOUTS = (("LOCAL_LAYOUT", "src/lockman"), ("TABLE_LAYOUT", "src/lockman"))
TIMES = 3000

sys.path.insert(0, os.path.join(SOURCE, "tests", "e2e"))
import tap  # noqa: E402


def git(*arguments):
    return subprocess.run(["git", "-C", SOURCE, *arguments], capture_output=True, text=True, check=False)


def layouts(text):
    """Returns the numbers of both layouts that the text of `grep` has."""
    return {name: int(re.search(rf"define {name} (\d+)u?", text)[1]) for name, _ in LAYOUTS}


def old_layouts(commit):
    return layouts(git("grep", "-hE", "define (LOCAL|TABLE)_LAYOUT", commit, "--", "src/lockman").stdout)


def new_layouts():
    # the files, because a change need not be committed
    return layouts(subprocess.run(["grep", "-rhE", "define (LOCAL|TABLE)_LAYOUT", os.path.join(SOURCE, "src/lockman")],
                                  capture_output=True, text=True, check=True).stdout)


class Node:
    """A process with the library in `folder`."""

    def __init__(self, program, folder, work):
        env = dict(os.environ, LD_LIBRARY_PATH=folder, GLOCK_DIR=work)
        self.work = work
        self.log = os.path.join(work, f"..log{len(os.listdir(work))}")
        with open(self.log, "w", encoding="utf-8") as log:
            # the lock manager leaves other files of the directory alone
            self.process = subprocess.Popen([program, "s", os.path.join(work, "..number")], env=env, text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        self.pid = self.process.pid

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def answer(self):
        return int(self.process.stdout.readline())

    def do(self, command):
        self.ask(command)
        return self.answer()

    def said(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(30) == 0, self.said()

    def kill(self):
        self.process.kill()
        self.process.wait()


def number(work):
    with open(os.path.join(work, "..number"), encoding="ascii") as file:
        return int(file.read().split()[0])


def share(first, second, work):
    """Both count at the same time, and a killed holder gives its lock to the other."""
    assert first.do("open") == 0 and first.do("lock") == 0, first.said()
    assert second.do("open") == 0, second.said()
    assert second.do("try") in (-errno.EBUSY, -errno.EAGAIN), second.said()  # 0.1.0: -EAGAIN
    second.ask("count 1")
    assert first.do("unlock") == 0 and second.answer() == 0
    for node in (first, second):
        node.ask(f"count {TIMES}")
    assert [node.answer() for node in (first, second)] == [0, 0], (first.said(), second.said())
    assert number(work) == 2 * TIMES + 1
    assert first.do("lock") == 0
    first.kill()
    assert second.do("count 1") == 0 and number(work) == 2 * TIMES + 2, second.said()
    assert second.do("close") == 0
    second.end()


def refuse(first, second, work, names):
    """The second process is refused. names: its message names the first one. Then both go on."""
    assert first.do("open") == 0 and first.do("count 10") == 0 and first.do("lock") == 0, first.said()
    for _ in range(2):  # a refusal leaves no trace in the file
        assert second.do("open") == -errno.EPROTO, second.said()
    if names:
        for word in (f"end process {first.pid} (count, libglock.so.", "another version", "take another name"):
            assert word in second.said(), second.said()
    assert first.do("unlock") == 0 and first.do("count 10") == 0, first.said()
    assert number(work) == 20
    assert first.do("close") == 0
    first.end()
    # the way out works
    assert second.do("open") == 0 and second.do("count 10") == 0 and number(work) == 30, second.said()
    assert second.do("close") == 0
    second.end()


def is_version(name):
    return re.fullmatch(r"[0-9.]+", name) is not None


def newest(folder):
    """Returns the library in a folder, by the name that programs ask for. A folder of builds may have older ones."""
    return max(glob.glob(os.path.join(folder, "libglock.so.?")))


def count(header, library, program):
    """Builds count.c with the header and the library of a version."""
    subprocess.run(["gcc", "-Wall", "-I", header, os.path.join(HERE, "count.c"),
                    newest(library), "-o", program], check=True)
    return program


def beside(build, name, commit):
    """Makes the two tests of a version."""
    def run(order):
        if git("cat-file", "-e", commit + "^{commit}").returncode:
            return f"SKIP needs commit {commit}"
        old = os.path.join(build, "tests", "upgrade", commit)
        made = subprocess.run([os.path.join(HERE, "old.sh"), commit, old], capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]
        folders = {"old": old, "new": os.path.join(build, "src", "glock")}
        programs = {"old": count(old, folders["old"], os.path.join(old, "count"))}
        programs["new"] = count(os.path.join(SOURCE, "include"), folders["new"], os.path.join(old, "count-new"))
        same = old_layouts(commit) == new_layouts()
        with tempfile.TemporaryDirectory(prefix="glock-upgrade.", dir="/dev/shm") as work:
            first, second = (Node(programs[which], folders[which], work) for which in order)
            if same:
                share(first, second, work)
            else:
                refuse(first, second, work, names=order[1] == "new")
        return "they share the space" if same else "the second one is refused"

    return {f"test_{name}_first_then_today's_library": lambda _: run(("old", "new")),
            f"test_today's_library_first_then_{name}": lambda _: run(("new", "old"))}


def loader(build, version, commit):
    """Makes the test that a program for today's library does not start with the library of that version."""
    def run(work):
        if git("cat-file", "-e", commit + "^{commit}").returncode:
            return f"SKIP needs commit {commit}"
        old = os.path.join(build, "tests", "upgrade", commit)
        subprocess.run([os.path.join(HERE, "old.sh"), commit, old], capture_output=True, check=True)
        library = newest(os.path.join(build, "src", "glock"))
        program = os.path.join(work, "program")
        subprocess.run(["gcc", "-x", "c", "-", "-x", "none", "-I", os.path.join(SOURCE, "include"), library, "-o", program],
                       input="#include <glock.h>\nint main(void) { return glock_version() == 0; }\n", text=True, check=True)
        for folder, starts in ((os.path.dirname(library), True), (old, False)):
            got = subprocess.run([program], env=dict(os.environ, LD_LIBRARY_PATH=folder), capture_output=True, text=True,
                                 check=False)
            assert (got.returncode == 0) == starts, (folder, got)
            assert starts or os.path.basename(library) in got.stderr, got.stderr

    return {f"test_the_loader_refuses_{version}_for_today's_programs": run}


def main():
    build = sys.argv[1]
    tests = {}
    with open(os.path.join(HERE, "versions"), encoding="ascii") as lines:
        for line in lines:
            if not line.startswith("#"):
                name, commit = line.split()
                tests |= beside(build, name, commit)
                if is_version(name):
                    tests |= loader(build, name, commit)
    tap.run(tests)


main()
