#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# names.py - names the programs of a cross build that run under QEMU's user emulation.
#
# Usage: names.py BUILD NAME... A NAME is a suite or a test to leave out. Scripts are left out, too:
# they run programs of this machine, and some of them have no access to the emulation.

import json
import subprocess
import sys

build, *without = sys.argv[1:]
shown = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, text=True,
                       check=True).stdout
for test in json.loads(shown):
    suites = {suite.split(":")[-1] for suite in test["suite"]}
    is_program = "/tests/" in test["cmd"][0] and not test["cmd"][0].endswith((".sh", ".py"))
    if is_program and test["name"] not in without and not suites & set(without):
        print(test["name"])
