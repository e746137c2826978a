# SPDX-License-Identifier: MIT
# test_upgrade.py - runs the library of older versions beside today's, on one space. TAP.
#
# Usage: test_upgrade.py BUILD_DIR. The file `versions` has the commits of the older versions. If the
# numbers of both layouts are equal, the processes must share the space. Otherwise the one that comes
# second must be refused, and leave the first alone. Today's library then names the process to end.
# debian/*.symbols must give the names of a released version to this version, and later names to none.

import errno
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
    assert second.do("try") == -errno.EAGAIN, second.said()
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
        for word in (f"end process {first.pid} (count, libglock ", "another version", "take another name"):
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


def count(header, library, program):
    """Builds count.c with the header and the library of a version."""
    subprocess.run(["gcc", "-Wall", "-I", header, os.path.join(HERE, "count.c"),
                    os.path.join(library, "libglock.so.0"), "-o", program], check=True)
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
        # today's library runs the programs of a released version
        programs["new"] = programs["old"] if is_version(name) else count(
            os.path.join(SOURCE, "include"), folders["new"], os.path.join(old, "count-new"))
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


def exported(commit):
    """Returns the names that each library of the commit exports. A commit without the simulator has none there."""
    names = {}
    for path in ("src/glock/libglock.map", "src/sim/map.sed"):
        text = git("show", f"{commit}:{path}").stdout
        names[path] = set(re.findall(r"^\s*(glock_\w+);", text, re.M))
    library, simulator = names.values()
    return {"libglock0": library, "libglock-sim0": library | simulator if simulator else set()}


def given(package, version):
    """Returns the names that the symbols file of a package gives to the version or an older one."""
    with open(os.path.join(SOURCE, "debian", f"{package}.symbols"), encoding="ascii") as lines:
        rows = [re.match(r" (glock_\w+)@GLOCK_[0-9.]+ ([0-9.]+)~?$", line) for line in lines]
    assert len([row for row in rows if row]) >= 55, "the symbols file has no names"
    number = [int(n) for n in version.split(".")]
    return {row[1] for row in rows if row and [int(n) for n in row[2].split(".")] <= number}


def symbols(version, commit):
    """Makes the test that a package of a program depends on the version that has the program's functions."""
    def run(_):
        if git("cat-file", "-e", commit + "^{commit}").returncode:
            return f"SKIP needs commit {commit}"
        libraries = exported(commit)
        assert len(libraries["libglock0"]) >= 40, libraries
        for package, names in libraries.items():
            assert given(package, version) == names, (package, sorted(given(package, version) ^ names))
        return f"{len(libraries['libglock0'])} names"

    return {f"test_debian/*.symbols_has_the_names_of_{version}": run}


def loader(build, version, commit):
    """Makes the test that a program with later functions does not start with an older library. The functions of that
    version are enough for a program that calls no others."""
    def run(work):
        if git("cat-file", "-e", commit + "^{commit}").returncode:
            return f"SKIP needs commit {commit}"
        old = os.path.join(build, "tests", "upgrade", commit)
        subprocess.run([os.path.join(HERE, "old.sh"), commit, old], capture_output=True, check=True)
        library = os.path.join(build, "src", "glock", "libglock.so.0")
        for name, body, starts in (("first", "return glock_version() == 0;", True),
                                   ("later", "struct glock_notifier *n; (void)glock_notifier_open(&n); return 0;", False)):
            program = os.path.join(work, name)
            subprocess.run(["gcc", "-x", "c", "-", "-x", "none", "-I", os.path.join(SOURCE, "include"), library, "-o", program],
                           input=f"#include <glock.h>\nint main(void) {{ {body} }}\n", text=True, check=True)
            for folder, want in ((os.path.dirname(library), True), (old, starts)):
                got = subprocess.run([program], env=dict(os.environ, LD_LIBRARY_PATH=folder), capture_output=True, text=True,
                                     check=False)
                assert (got.returncode == 0) == want, (name, folder, got)
                assert want or "version `GLOCK_0.2' not found" in got.stderr, got.stderr
        return None

    return {f"test_the_loader_refuses_{version}_for_later_functions": run}


def main():
    build = sys.argv[1]
    tests = {}
    with open(os.path.join(HERE, "versions"), encoding="ascii") as lines:
        for line in lines:
            if not line.startswith("#"):
                name, commit = line.split()
                tests |= beside(build, name, commit)
                if is_version(name):
                    tests |= symbols(name, commit) | loader(build, name, commit)
    tap.run(tests)


main()
