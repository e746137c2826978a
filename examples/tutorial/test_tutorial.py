#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# test_tutorial.py - compiles and runs what docs/tutorial.md shows, and compares the output.
#
# Usage: test_tutorial.py SOURCE BUILD CC... The output is TAP. A block of C must be lines of the
# program that the text names before the block. A block of a console has commands, each after "$",
# and below each command its output. The test runs the commands in order, in a copy of
# examples/tutorial.

import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE, BUILD = sys.argv[1:3]
CC = [shutil.which(sys.argv[3]), *sys.argv[4:]]  # the whole path, because the test puts a cc before it
PROGRAMS = os.path.join(SOURCE, "examples", "tutorial")
BLOCK = re.compile(r"examples/tutorial/(\w+)\.c\)|^```(c|console)\n(.*?)^```$", re.M | re.S)
# ThreadSanitizer prints this line in a child of a program with threads, and goes on.
NOTE = re.compile(r"^==\d+==ThreadSanitizer: dup thread with used id .*\n", re.M)
results = []


def result(ok, what, why=""):
    results.append(ok)
    print(f"{'ok' if ok else 'not ok'} {len(results)} - {what}", flush=True)
    for line in [] if ok else why.splitlines():
        print(f"# {line}", flush=True)


def blocks():
    """The text's blocks in order: the program named last, the kind of the block, its text."""
    with open(os.path.join(SOURCE, "docs", "tutorial.md"), encoding="utf-8") as f:
        text = f.read()
    program = None
    for match in BLOCK.finditer(text):
        program = match[1] or program
        if match[2]:
            yield program, match[2], match[3]


def check_code(program, code):
    with open(os.path.join(PROGRAMS, program + ".c"), encoding="utf-8") as f:
        source = f.read()
    result(f"\n{code}" in source, f"the block is in {program}.c: {code.splitlines()[0].strip()}",
           code)


# Promises: Cache one file in 40 lines: "The program adds", "Start several processes", "A process
# reads".
def check_command(command, expected, env):
    got = subprocess.run(["sh", "-c", command], env=env, stdout=subprocess.PIPE, cwd=env["HOME"],
                         stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    output = NOTE.sub("", got.stdout)
    result(output == expected, f"$ {command}", f"expected:\n{expected}got:\n{output}")


def check_killed_workers(env):
    """Three processes take jobs, and some are killed. Only the job of a killed one is begun again."""
    jobs, kills, home = 300, 12, env["HOME"]
    with open(os.path.join(home, "work_queue.c"), encoding="utf-8") as f:
        source = f.read()
    for old, new in (("JOBS = 4", f"JOBS = {jobs}"),
                     ("int main(void)\n{", "int main(void)\n{\n\tsetvbuf(stdout, NULL, _IOLBF, 0);")):
        assert old in source
        source = source.replace(old, new)
    with open(os.path.join(home, "killed.c"), "w", encoding="utf-8") as f:
        f.write(source)
    subprocess.run(["sh", "-c", "cc killed.c $(pkg-config --cflags --libs glock) -o killed && rm -f jobs"],
                   env=env, cwd=home, timeout=120, check=True)
    with open(os.path.join(home, "log"), "a", encoding="utf-8") as log:
        def start():
            return subprocess.Popen(["./killed"], env=env, cwd=home, stdout=log)

        workers = [start() for _ in range(3)]
        for i in range(kills):
            time.sleep(random.random() / 50)
            workers[i % 3].kill()
            workers[i % 3].wait()
            workers[i % 3] = start()
        codes = [w.wait(timeout=120) for w in workers]
    with open(os.path.join(home, "log"), encoding="utf-8") as log:
        done = re.findall(r"does job (\d+)$", log.read(), re.M)
    result(set(done) == set(map(str, range(jobs))) and len(done) <= jobs + kills and not any(codes),
           "killed workers lose no job", f"{len(set(done))} jobs, {len(done)} begun, exit {codes}")


def environment(folder):
    """cc is the build's compiler, pkg-config finds the library of the build.

    The PATH of the compiler is the old one, because "ccache cc" would start this cc again, for ever.
    """
    programs = os.path.join(folder, "bin")
    os.mkdir(programs)
    with open(os.path.join(programs, "cc"), "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\nPATH={shlex.quote(os.environ["PATH"])}\nexec {" ".join(CC)} -Wall -Wextra -Werror -I{SOURCE}/include "$@"\n')
    os.chmod(os.path.join(programs, "cc"), 0o755)
    home, locks = os.path.join(folder, "tutorial"), os.path.join(folder, "locks")
    shutil.copytree(PROGRAMS, home)
    os.mkdir(locks, 0o700)
    return dict(os.environ, HOME=home, GLOCK_LOCKMAN="local", GLOCK_DIR=locks,
                PATH=f"{programs}:{os.environ['PATH']}",
                PKG_CONFIG_PATH=os.path.join(BUILD, "meson-uninstalled"),
                LD_LIBRARY_PATH=os.path.join(BUILD, "src", "glock"),
                TSAN_OPTIONS="die_after_fork=0")  # because a child of a program opens the space


def main():
    # In memory, as a space of lock manager local has to be.
    folder = tempfile.mkdtemp(prefix="glock-tutorial-", dir="/dev/shm")
    env = environment(folder)
    run = set()
    try:
        for program, kind, text in blocks():
            if kind == "c":
                check_code(program, text)
                continue
            for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
                check_command(command, expected, env)
                run.update(re.findall(r"\./(\w+)", command))
        check_killed_workers(env)
    finally:
        shutil.rmtree(folder)
    there = {f[:-2] for f in os.listdir(PROGRAMS) if f.endswith(".c")}
    result(there == run, "the text runs each program", f"{there ^ run}")
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
