# SPDX-License-Identifier: MIT
# tap.py - runs tests and prints TAP.
#
# The tests are the functions test_* of a module, each with a folder of its own. Or they are the
# functions marked with @tap.test: all, or the ones that the command line names.

import os
import signal
import sys
import tempfile
import traceback

# The defaults, as for a tester at a terminal. nohup, or a shell's "&", has some signals ignored,
# and programs inherit that.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)


def run(module):
    """Ends the program. The text that a test returns is a comment. A text that begins with SKIP
    skips."""
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
            except Exception:  # the next test goes on
                failed += 1
                print(f"not ok {label}", flush=True)
                for line in traceback.format_exc().splitlines():
                    print(f"# {line}")
    sys.exit(failed != 0)


marked = []


def test(function):
    marked.append(function)
    return function


def run_marked():
    """A failed test prints its reason in one line."""
    chosen = [f for f in marked if len(sys.argv) < 2 or f.__name__ in sys.argv[1:]]
    for number, function in enumerate(chosen, 1):
        try:
            function()
            print(f"ok {number} - {function.__name__}", flush=True)
        except Exception as e:  # the next test goes on
            print("".join(f"# {line}\n" for line in repr(e)[:3000].split("\\n")), end="")
            print(f"not ok {number} - {function.__name__}", flush=True)
    print(f"1..{len(chosen)}")
