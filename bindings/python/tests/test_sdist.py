#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_sdist.py - tests that pip builds the source distribution, for an installed library. TAP.

usage: test_sdist.py BUILD SOURCE VERSION

The library is installed under a temporary root. No step uses the network.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

BUILD, SOURCE, VERSION = sys.argv[1:]
results = []


def step(what, command, env=None, cwd=None, wants=""):
    """Runs a command; prints a result. The output must have the text `wants`."""
    got = subprocess.run(command, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, check=False, timeout=100)
    results.append(got.returncode == 0 and wants in got.stdout)
    print(f"{'ok' if results[-1] else 'not ok'} {len(results)} - {what}", flush=True)
    for line in [] if results[-1] else got.stdout.splitlines():
        print(f"# {line}", flush=True)


def environment(root):
    """pkg-config finds the library under root, and nothing else."""
    pc = glob.glob(f"{root}/**/glock.pc", recursive=True)[0]
    lib = os.path.dirname(os.path.dirname(pc))
    return {"PATH": "/usr/bin:/bin", "HOME": root, "PKG_CONFIG_LIBDIR": os.path.dirname(pc),
            "PKG_CONFIG_SYSROOT_DIR": root, "LD_LIBRARY_PATH": lib, "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore", "GLOCK_LOCKMAN": "none", "CFLAGS": "-O0"}


def main(tmp):
    root = os.path.join(tmp, "root")
    step("installs the library", ["meson", "install", "-C", BUILD, "--no-rebuild", "--tags", "devel,runtime",
                                  "--destdir", root])
    env = environment(root)
    copy = os.path.join(tmp, "python")
    shutil.copytree(os.path.join(SOURCE, "bindings", "python"), copy)
    build = "import setuptools.build_meta as b; print(b.build_sdist('.'))"
    step("makes a source distribution", [sys.executable, "-c", build], env, copy, f"glock-{VERSION}.tar.gz")
    dist = os.path.join(copy, f"glock-{VERSION}.tar.gz")
    target = os.path.join(tmp, "target")
    pip = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps"]
    step("pip builds and installs it", [*pip, "--target", target, dist], env, tmp)
    files = sorted(os.listdir(os.path.join(target, "glock")))
    print(f"# {files}")
    use = "import glock\nwith glock.Space('sdist') as s, s.lock(1) as l: print(l, glock.__file__)"
    step("the module works", [sys.executable, "-c", use], dict(env, PYTHONPATH=target), "/", target)
    step("the hints are there", ["test", "-e", f"{target}/glock/__init__.pyi", "-a", "-e", f"{target}/glock/py.typed"])
    env["PKG_CONFIG_LIBDIR"] = "/nonexistent"
    step("without the library the package is named",
         ["sh", "-c", '"$@" && exit 1 || exit 0', "sh", sys.executable, "setup.py", "build"], env, copy,
         "install libglock-dev")
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


with tempfile.TemporaryDirectory() as folder:
    sys.exit(main(folder))
