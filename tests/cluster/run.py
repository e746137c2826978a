# SPDX-License-Identifier: MIT
"""run.py BUILD_DIR [TEST...] - tests on a real cluster of three emulated machines.

Boots it once, runs the functions named test_* of each test_*.py here, in the order in which they
stand there, and prints TAP; those of modules with LAST, which end parts of the cluster, after all others and
without the file systems. Each gets the cluster and the build folder; what it returns is printed
as a comment: the figures. With --keep the cluster stays up until a key is pressed; with --soak=SECONDS
those tests are done again and again, in random order, for that long; with --but=TEST,... all but those. Functions that say takes_long run
where they are asked for, or with --all.
"""

import glob
import importlib
import os
import random
import sys
import time
import traceback

from machines import Cluster, Trouble


def tests(wanted, but, every):
    here = os.path.dirname(os.path.abspath(__file__))
    modules = [importlib.import_module(os.path.basename(path)[:-3])
               for path in sorted(glob.glob(os.path.join(here, "test_*.py")))]
    for module in sorted(modules, key=lambda module: hasattr(module, "LAST")):
        for name, function in vars(module).items():
            if name.startswith("test_") and callable(function):
                label = f"{module.__name__[5:]}: {name[5:].replace('_', ' ')}"
                due = every or not hasattr(function, "takes_long") if not wanted else \
                    any(w in label for w in wanted)
                if due and not any(b in label for b in but):
                    yield label, function, hasattr(module, "LAST")


def say(text):
    for line in str(text).splitlines():
        print("# " + line, flush=True)


def again_and_again(chosen, seconds):
    """Those in their order, or for that long in any."""
    if not seconds:
        yield from chosen
        return
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield random.choice(chosen)


def main():
    keep = "--keep" in sys.argv
    soak = sum(int(a.split("=")[1]) for a in sys.argv if a.startswith("--soak="))
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    if not arguments:
        sys.exit(__doc__)
    build, failed, number = os.path.abspath(arguments[0]), 0, 0
    but = [word for a in sys.argv if a.startswith("--but=") for word in a[6:].split(",")]
    chosen = list(tests(arguments[1:], but, "--all" in sys.argv))
    with Cluster() as cluster:
        began = time.monotonic()
        try:
            cluster.up()
        except Trouble as trouble:
            print(f"not ok 1 - three machines form a cluster\n# {trouble}\n1..1")
            sys.exit(1)
        number += 1
        print(f"ok {number} - three machines form a cluster")
        say(f"{time.monotonic() - began:.0f} s, Linux {cluster.run(1, 'uname -r').strip()}")
        say("ssh -F " + cluster._path("ssh_config") + " node1")
        mounted = True
        for label, function, last in again_and_again(chosen, soak):
            number += 1
            if last and mounted:
                cluster.unmount()
                mounted = False
            began = time.monotonic()
            try:
                said = function(cluster, build)
                print(f"ok {number} - {label}", flush=True)
                if said:
                    say(said)
            except Exception:  # whatever it is, the next test goes on
                failed += 1
                print(f"not ok {number} - {label}", flush=True)
                say(traceback.format_exc())
            say(f"{time.monotonic() - began:.0f} s")
        print(f"1..{number}", flush=True)
        if keep:
            input("# the cluster is up; Enter ends it\n")
    sys.exit(failed != 0)


main()
