#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_docs.py - runs the programs of docs/python.md, each in a process of its own. TAP.

usage: test_docs.py SOURCE VERSION
"""
import os
import re
import subprocess
import sys
import tempfile

import glock
import tap

SOURCE, VERSION = sys.argv[1:]


def programs():
    with open(os.path.join(SOURCE, "docs", "python.md"), encoding="utf-8") as file:
        return re.findall(r"^```python\n(.*?)^```$", file.read(), re.M | re.S)


def test_programs():
    first, *others = programs()
    with tempfile.TemporaryDirectory() as folder:
        several = [subprocess.Popen([sys.executable, "-c", first], cwd=folder) for _ in range(3)]
        assert [process.wait(60) for process in several] == [0, 0, 0]
        with open(os.path.join(folder, "number"), encoding="ascii") as file:
            assert file.read() == "300\n"
    assert len(others) == 2
    for text in others:
        out, err = tap.output(text)
        assert err == "" and "died" not in out, (out, err)


def test_versions():
    assert glock.__version__ == VERSION
    with open(os.path.join(SOURCE, "bindings", "python", "pyproject.toml"), encoding="ascii") as file:
        assert f'version = "{VERSION}"' in file.read()


tap.run(dict(globals()))
