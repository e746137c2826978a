# SPDX-License-Identifier: MIT
"""run.py BUILD_DIR [OPTION...] [TEST...] - tests on a real cluster of three emulated machines.

Boots it, runs the functions named test_* of each test_*.py here, in the order in which they stand there, and
prints TAP; those of modules with LATE, which leave a machine without power, after others; those of modules with
LAST, which end parts of the cluster, on machines booted anew, without the file systems, and each finds a whole
cluster, whatever the one before left. Each gets the cluster and the build folder; what it returns is printed as a
comment: the figures. Functions that say takes_long run where they are asked for, or with --all.

  --but=TEST,...  all but those
  --again         what fails is tried once more, on machines booted anew, and has failed if it fails there,
                  too: emulated machines on a machine that does other things do stumble. Both is told.
  --keep          the cluster stays up until Enter is pressed
  --soak=SECONDS  the tests are done again and again, in random order, for that long
"""

import glob
import importlib
import os
import random
import signal
import sys
import time
import traceback

from clients import make_whole
from machines import Cluster, Trouble

LONGEST = 600  # seconds: a test that takes so long hangs
TOKEN = 10.0  # seconds until corosync gives a machine up: file systems keep emulated ones busy
TOKEN_LAST = 4.0  # where that is what is waited for


def tests(wanted, but, every):
    here = os.path.dirname(os.path.abspath(__file__))
    modules = [importlib.import_module(os.path.basename(path)[:-3])
               for path in sorted(glob.glob(os.path.join(here, "test_*.py")))]
    for module in sorted(modules, key=lambda module: (hasattr(module, "LAST"), hasattr(module, "LATE"))):
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


def hangs(*_):
    raise Trouble(f"no end after {LONGEST} s")


def ended(number, _):
    """By whoever started it: the machines go, too."""
    sys.exit(128 + number)


def again_and_again(chosen, seconds):
    """For that long, in any order."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield random.choice(chosen)


class Report:
    """TAP. What fails and is tried again is no line yet."""

    def __init__(self):
        self.number = self.failed = 0

    def passed(self, label, said=None):
        self.number += 1
        print(f"ok {self.number} - {label}", flush=True)
        if said:
            say(said)

    def not_passed(self, label, why, final):
        say(why)
        if final:
            self.number += 1
            self.failed += 1
            print(f"not ok {self.number} - {label}", flush=True)
        else:
            say(f"FAILED, and is tried once more: {label}")


def boot(cluster, report, final, file_systems):
    began = time.monotonic()
    label = "three machines form a cluster" + ("" if file_systems else ", without file systems")
    try:
        cluster.up(file_systems)
    except Trouble as trouble:
        report.not_passed(label, trouble, final)
        return False
    report.passed(label)
    say(f"{time.monotonic() - began:.0f} s, Linux {cluster.run(1, 'uname -r').strip()}")
    say("ssh -F " + cluster._path("ssh_config") + " node1")
    return True


def last_words(cluster):
    """What the daemons of each machine said, for whoever asks why."""
    for n in cluster.numbers:
        try:
            say(f"node{n}:")
            say(cluster.run(n, "tail -n 15 /run/dlm_controld.log /run/corosync.log", timeout=20, check=False))
        except Trouble as trouble:
            say(trouble)


def on_a_cluster(chosen, file_systems, build, report, final, keep=False):
    """Those that failed; None: the machines did not come up."""
    failed = []
    with Cluster(token=TOKEN if file_systems else TOKEN_LAST) as cluster:
        if not boot(cluster, report, final, file_systems):
            return None
        for one in chosen:
            label, function, _ = one
            began = time.monotonic()
            signal.alarm(LONGEST)
            try:
                for n in [] if file_systems else make_whole(cluster, build):
                    say(f"node{n} was not in the cluster and has been brought back")
                report.passed(label, function(cluster, build))
            except Exception:  # whatever it is, the next test goes on
                failed.append(one)
                report.not_passed(label, traceback.format_exc(), final)
                last_words(cluster)
            signal.alarm(0)
            say(f"{time.monotonic() - began:.0f} s")
        if keep:
            input("# the cluster is up; Enter ends it\n")
    return failed


def on_clusters(chosen, build, report, final, keep=False):
    """The same: one for those that want it whole, and one for those that do not leave it so."""
    failed = []
    for last in (False, True):
        group = [one for one in chosen if one[2] == last]
        if group:
            left = on_a_cluster(group, not last, build, report, final, keep)
            failed += group if left is None else left
    return failed


def main():
    keep = "--keep" in sys.argv
    soak = sum(int(a.split("=")[1]) for a in sys.argv if a.startswith("--soak="))
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    if not arguments:
        sys.exit(__doc__)
    build, report = os.path.abspath(arguments[0]), Report()
    but = [word for a in sys.argv if a.startswith("--but=") for word in a[6:].split(",")]
    chosen = list(tests(arguments[1:], but, "--all" in sys.argv))
    again = "--again" in sys.argv
    signal.signal(signal.SIGALRM, hangs)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, ended)
    if soak:
        # what ends parts of the cluster does so without file systems, and then so do all
        file_systems = not any(last for *_, last in chosen)
        on_a_cluster(again_and_again(chosen, soak), file_systems, build, report, True, keep)
    else:
        failed = on_clusters(chosen, build, report, not again, keep)
        if again and failed:
            on_clusters(failed, build, report, True)
    print(f"1..{report.number}", flush=True)
    sys.exit(report.failed != 0)


main()
