#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_pages.py - runs the commands of the pages in a fresh root of Debian, as root and as a user. TAP.

usage: test_pages.py [ROOT]

ROOT, by hand, is a fresh root that is there already. Each indented command of the pages is in RUNS, or in LEFT_OUT with
a reason. A page that changes has to change here, too. Needs root.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
ROOT = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
MAKE_ROOT = """suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m 1 '/debian$')
exec mmdebstrap --quiet --variant=apt --skip=cleanup/apt/lists "$suite" "$0" "$mirror"
"""
PAGES = ("README.md", "docs/tutorial.md", "docs/libglock.md", "docs/sqlite.md", "docs/python.md", "docs/o2top.md")
COMMAND = re.compile(r"^    ((?:\./run|build/|sudo |meson |ninja |cc |c\+\+ |cp |export |glock |sqlite3 |python3 |env/|tar |o2top |PYTHONPATH=).*)$", re.M)

# (user, page, beginning of the command, text of its output). All run in the folder of the sources.
RUNS = (
    ("root", "README.md", "./run build  ", ""),
    ("user", "README.md", "build/o2top --demo", "journal.log"),
    ("user", "docs/o2top.md", "tar -xf", ""),
    ("user", "docs/o2top.md", "build/o2top --names", "node3"),
    ("user", "docs/python.md", "PYTHONPATH=", ""),
    ("root", "README.md", "./run build &&", ""),
    ("user", "README.md", "cc prog.c", ""),
    ("user", "README.md", "glock run backup", ""),
    ("root", "README.md", "glock run backup", ""),
    ("user", "README.md", "glock ls", "backup"),
    ("user", "README.md", "glock stat backup", ""),
    ("user", "README.md", "glock hold", "nightly"),
    ("user", "docs/python.md", "python3 counting.py", ""),
    ("user", "docs/python.md", "python3 -m venv", ""),
    ("user", "docs/python.md", "env/bin/pip", "Successfully installed"),
    ("user", "docs/python.md", "c++ shop.cc", ""),
    ("user", "docs/tutorial.md", "meson setup build-home", ""),
    ("user", "docs/tutorial.md", "ninja -C build-home install", ""),
    ("root", "docs/sqlite.md", "./run build && export", ""),
    ("user", "docs/sqlite.md", "build/glock sqlite sqlite3 app.db 'CREATE", ""),
    ("user", "docs/sqlite.md", "build/glock sqlite sqlite3 app.db .vfsname", "glock/unix"),
    ("user", "docs/sqlite.md", "sqlite3 -cmd", "1"),
    ("user", "docs/sqlite.md", "build/glock sqlite sqlite3 app.db '.backup", ""),
    ("user", "docs/sqlite.md", "build/glock sqlite sqlite3 app.db \"VACUUM", ""),
    ("user", "docs/sqlite.md", "build/glock ls", ""),
)
LEFT_OUT = {
    "./run demo": "./run build comes first in the demo, and the rest needs a terminal",
    "./run test": "all tests",
    "sudo build/o2top": "needs a cluster",
    "sudo o2top": "needs a cluster",
    "o2top -n": "needs a cluster",
    "meson setup build --build": "for other distributions; ./run build does the same",
    "sudo meson install": "for other distributions; as in README.md",
    "glock sqlite sqlite3": "as in docs/sqlite.md",
    "glock run -n --file": "the test cli_flock runs each idiom with --file",
    "build/glock sqlite sqlite3 app.db 'PRAGMA": "the test sqlite_wal sets the mode",
    "glock sqlite bin/rails": "tests/packages/web.sh runs it",
    "cp -r /usr/share": "debian/tests does the same with the packages",
    "export PKG_CONFIG_PATH": "part of the program that is compiled at home",
    "glock who": "needs processes that use a file meanwhile, as the tests of cli have",
    "build/glock who": "needs processes that use a database meanwhile, as the tests of cli have",
    "build/o2top --fs glock": "needs processes that use a database meanwhile, as the tests of sqlite have",
    "build/glock stat sqlite": "the number in the name is that of a file system",
}
# The commands that bring the first result, for each kind of reader
FIRST = {
    "o2top's demo": ("./run build  ", "build/o2top --demo"),
    "C": ("./run build  ", "./run build &&", "cc prog.c"),
    "C++": ("./run build  ", "./run build &&", "c++ shop.cc"),
    "Python": ("./run build  ", "PYTHONPATH="),
    "SQLite": ("./run build  ", "./run build && export", "build/glock sqlite sqlite3 app.db 'CREATE"),
    "scripts": ("./run build  ", "./run build &&", "glock run backup"),
}
done = failed = 0


def result(ok, what, output=""):
    global done, failed
    done += 1
    failed += not ok
    print(f"{'ok' if ok else 'not ok'} {done} - {what}", flush=True)
    if not ok:
        print("# " + output.strip()[-3000:].replace("\n", "\n# "), flush=True)


def within(user, command):
    """Runs a command in the root. Returns the status and the output. ccache makes the second build short. pip finds in
    a folder what it builds with, because no index may be in reach."""
    script = ('for f in proc dev; do mount --rbind /$f "$0/$f"; done; '
              'exec chroot --userspec="$1" "$0" env -i PATH=/usr/lib/ccache:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$2" '
              'LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PIP_NO_INDEX=1 PIP_FIND_LINKS=/usr/share/python-wheels CCACHE_DIR=/cache CCACHE_UMASK=000 GLOCK_DIR="$2/spaces" sh -ec "$3"')
    home = "/root" if user == "root" else "/home/user"
    made = subprocess.run(["unshare", "-m", "sh", "-ec", script, ROOT, user, home, "cd /home/user/glock; " + command],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False)
    return made.returncode, made.stdout + made.stderr


def extension():
    """Returns the path that sqlite3 loads, without .so. ldconfig knows names with "lib" only."""
    found = glob.glob(ROOT + "/usr/local/lib/*/glock_sqlite.so")
    return found[0][len(ROOT):-len(".so")] if found else "missing"


def commands(page):
    with open(os.path.join(SOURCE, page), encoding="utf-8") as f:
        return COMMAND.findall(f.read())


def example(language, word):
    """Returns the first program of docs/python.md in this language that has the word."""
    with open(os.path.join(SOURCE, "docs/python.md"), encoding="utf-8") as f:
        return next(block for block in re.findall(rf"^```{language}\n(.*?)^```", f.read(), re.M | re.S) if word in block)


def prepare():
    """A user with the sources, and what the pages presume: sudo, programs, a script, data."""
    home = ROOT + "/home/user/glock/"
    status, said = 0, ""
    for text, *command in (
            ("", "chroot", ROOT, "useradd", "-m", "user"),
            ("", "sh", "-ec", f"mkdir {home} {ROOT}/home/user/spaces {ROOT}/root/spaces {ROOT}/srv/data && mkdir -p -m 1777 {ROOT}/cache && "
             f"chmod 1777 {ROOT}/srv && git -C {SOURCE} archive HEAD | tar -xf - -C {home} && "
             f"cp {SOURCE}/examples/tutorial/cached_file.c {home}prog.c"),
            ('#!/bin/sh\nexec "$@"\n', "tee", ROOT + "/usr/local/bin/sudo"),
            ("#!/bin/sh\nglock stat backup\n", "tee", home + "backup"),
            (example("python", "counting"), "tee", home + "counting.py"),
            (example("cpp", "shop"), "tee", home + "shop.cc"),
            ("", "chmod", "755", ROOT + "/usr/local/bin/sudo", home + "backup"),
            ("", "chroot", ROOT, "chown", "-R", "user:user", "/home/user")):
        made = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        status, said = status or made.returncode, said + made.stdout + made.stderr
    result(status == 0, "a user with the sources", said)


def main():
    text = {page: commands(page) for page in PAGES}
    known = [prefix for _, _, prefix, _ in RUNS] + list(LEFT_OUT)
    unknown = [f"{page}: {line}" for page in PAGES for line in text[page] if not any(map((line + "  ").startswith, known))]
    result(not unknown, "each command of the pages is known here", "\n".join(unknown))
    if len(sys.argv) == 1:
        made = subprocess.run(["sh", "-c", MAKE_ROOT, ROOT], capture_output=True, text=True, check=False)
        result(made.returncode == 0, "a fresh root, without a compiler", made.stderr)
    prepare()
    status, said = within("root", "apt-get install -y --no-install-recommends ccache sqlite3 g++ python3-venv python3-setuptools-whl python3-wheel-whl")
    result(status == 0, "the packages that the pages name: sqlite3, g++, python3-venv; wheels for pip", said)
    began = time.monotonic()
    took = {}
    environment = ""
    for user, page, prefix, wanted in RUNS:
        line = next((line for line in text[page] if (line + "  ").startswith(prefix)), "false # no such line")
        command = re.sub(r"  +#.*", "", line).replace("EXTENSION", extension())
        since = time.monotonic()
        status, said = within(user, environment + command)
        took.setdefault(prefix, time.monotonic() - since)
        if "export" in command:
            environment = "export GLOCK_SQLITE_DIR=$PWD/build/src/sqlite; "
        result(status == 0 and wanted in said, f"{user}, {page}: {line}", said)
    for user, what, command in (
            ("user", "the installed Python module is found", "cd /; python3 -c 'import glock; glock.Space(\"s\").close()'"),
            ("user", "the module that pip installed", "cd /; $OLDPWD/env/bin/python -c 'import glock; print(glock.__file__)' | grep /env/"),
            ("user", "both runs of counting.py counted", "[ $(cat number) = 200 ]"),
            ("user", "the lock of glock hold ended with its shell", "glock run -w 60 backup nightly true"),
            ("user", "the program of README.md runs", "./prog /home/user/number"),
            ("user", "the program in C++ runs", "./shop"),
            ("user", "a program at home",
             next((line for line in text["docs/tutorial.md"] if line.startswith("export PKG")), "false") +
             " && cd examples/tutorial && cc cached_file.c $(pkg-config --cflags --libs glock) -o /home/user/cached_file && "
             "ldd /home/user/cached_file | grep home/user/.local/lib/libglock && /home/user/cached_file /home/user/number"),
            ("root", "uninstall", "ninja -C build uninstall && ! find /usr/local -name '*glock*' ! -path '*/__pycache__*' -type f | grep .")):
        status, said = within(user, command)
        result(status == 0, what, said)
    first = (f"{what} {sum(took[prefix] for prefix in prefixes):.0f} s" for what, prefixes in FIRST.items())
    print(f"# {time.monotonic() - began:.0f} s without the packages; to the first result: {', '.join(first)}")
    print(f"1..{done}")
    return failed != 0


try:
    sys.exit(main())
finally:
    if len(sys.argv) == 1:
        shutil.rmtree(ROOT, ignore_errors=True)
