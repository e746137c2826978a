# SPDX-License-Identifier: MIT
"""Runs the functions test_* of a module, each with a folder of its own, and prints TAP."""

import os
import sys
import tempfile
import traceback


def run(module):
    """Ends the program. What a test returns is a comment; one that begins with SKIP skips."""
    tests = [(name, test) for name, test in module.items() if name.startswith("test_")]
    failed = 0
    print(f"1..{len(tests)}")
    for number, (name, test) in enumerate(tests, 1):
        label = f"{number} - {name[5:].replace('_', ' ')}"
        with tempfile.TemporaryDirectory(prefix="o2top-test.") as folder:
            try:
                said = test(os.path.realpath(folder))
                skips = str(said).startswith("SKIP")
                print(f"ok {label}{' # ' + said if skips else ''}", flush=True)
                if said and not skips:
                    print(f"# {said}", flush=True)
            except Exception:  # the next one goes on
                failed += 1
                print(f"not ok {label}", flush=True)
                for line in traceback.format_exc().splitlines():
                    print(f"# {line}")
    sys.exit(failed != 0)
