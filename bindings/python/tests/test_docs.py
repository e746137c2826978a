#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_docs.py - runs the programs of docs/python.md, each in a process of its own. TAP.

usage: test_docs.py SOURCE VERSION
"""
import importlib.metadata
import json
import os
import re
import shutil
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
    assert len(others) == 3
    for text in others:
        out, err = tap.output(text)
        assert err == "" and "died" not in out, (out, err)


def test_versions():
    assert glock.__version__.replace("~dev", ".dev0") == VERSION
    with open(os.path.join(SOURCE, "bindings", "python", "pyproject.toml"), encoding="ascii") as file:
        assert f'version = "{VERSION}"' in file.read()


def test_facts_of_the_package():
    """The METADATA that Meson installs has the facts of pyproject.toml, and pip lists the module."""
    folder = os.path.dirname(glock.__file__)
    with open(os.path.join(folder, "METADATA"), encoding="ascii") as file:
        metadata = file.read()
    with open(os.path.join(SOURCE, "bindings", "python", "pyproject.toml"), encoding="ascii") as file:
        project = file.read()
    for field, form in (("Name", 'name = "{}"'), ("Version", 'version = "{}"'), ("Summary", 'description = "{}"'),
                        ("License", 'license = {{text = "{}"}}'), ("Requires-Python", 'requires-python = "{}"'),
                        ("Classifier", '"{}"')):
        values = re.findall(rf"^{field}: (.*)$", metadata, re.M)
        assert values, field
        for value in values:
            assert form.format(value) in project, (field, value)
    build = os.path.dirname(os.path.dirname(os.path.dirname(folder)))
    installed = json.loads(subprocess.run(["meson", "introspect", "--installed", build], check=True,
                                          capture_output=True, text=True).stdout)
    module = installed[os.path.join(SOURCE, "bindings", "python", "glock", "__init__.py")]
    place = installed[os.path.join(folder, "METADATA")]
    packages = os.path.dirname(os.path.dirname(module))
    with tempfile.TemporaryDirectory() as root:
        copy = os.path.join(root, os.path.relpath(place, packages))
        os.makedirs(os.path.dirname(copy))
        shutil.copy(os.path.join(folder, "METADATA"), copy)
        [found] = importlib.metadata.distributions(path=[root])
        assert (found.name, found.version) == ("glock", VERSION), (place, found.name, found.version)


tap.run(dict(globals()))
