# SPDX-License-Identifier: MIT
# run.py - runs the tests on a real cluster of three emulated machines, and prints TAP.

"""run.py BUILD_DIR [OPTION...] [TEST...] - tests on a real cluster of three emulated machines.

Boots the cluster and runs the functions named test_* of each test_*.py here, in the order in which
the file has them, and prints TAP. Modules with LATE leave a machine without power and run after
others. Modules with LAST end parts of the cluster. They run on machines booted anew, without the
file systems, and each finds a whole cluster. Each test gets the cluster and the build folder. The
value that a test returns, its figures, is printed as a comment. A function that says takes_long
runs only by name or with --all. Modules with WITHOUT_FILE_SYSTEMS run while the file systems are
being mounted. The machines for the modules with LAST boot at once and run beside the others,
because all of them mostly wait. This machine must be idle and have the memory for six.

  --but=TEST,...  runs all tests but those
  --again         tries a failed test once more, on machines booted anew; the test has failed if it
                  fails there, too. Emulated machines on a busy machine stumble. The output tells
                  both tries.
  --within=SECONDS  a test that has not begun by then has failed
  --kernel=SUITE  the machines boot the kernel of this suite of Debian (bookworm 6.1, trixie 6.12, sid the newest)
  --keep          keeps the cluster up until Enter is pressed
  --soak=SECONDS  repeats the tests in random order for that long

If a machine does not answer any more, the output tells what the machine was doing. The tests that
are left go on with machines booted anew, unless three clusters in a row were of no use at all.
"""

import contextlib
import glob
import importlib
import io
import multiprocessing
import os
import random
import signal
import sys
import time
import traceback

from clients import make_whole
from machines import Cluster, Trouble

LONGEST = 300  # seconds: the limit of a test, and of its end after each AT_END more
AT_END = 30
ANSWER = 20  # seconds: a machine that needs longer for nothing, twice, is silent
USELESS = 3  # after so many clusters in a row without a test, no more are booted
TOKEN = 10.0  # seconds until corosync gives up a machine: file systems keep emulated ones busy
TOKEN_LAST = 4.0  # for tests that wait for this
MEMORY_FOR_BOTH = 5 << 20  # KiB: six machines
IDLE = 0.8  # this part of the processors' time
output = multiprocessing.Lock()
children = []  # processes that test


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


def end_block():
    """Prints the gathered lines of one test at once, because another process prints, too."""
    if isinstance(sys.stdout, io.StringIO):
        text = sys.stdout.getvalue().encode(errors="replace")
        with output:
            while text:
                text = text[os.write(1, text):]
        sys.stdout = io.StringIO()


def is_idle(seconds=3):
    """Tells whether this machine does little else. On a busy one, two clusters starve each other."""
    def times():
        with open("/proc/stat", encoding="ascii") as f:
            user, nice, system, idle, wait, *more = map(int, f.readline().split()[1:9])
        return idle + wait, user + nice + system + idle + wait + sum(more)

    before = times()
    time.sleep(seconds)
    idle, every = (now - then for now, then in zip(times(), before))
    return idle >= IDLE * every


def has_memory():
    with open("/proc/meminfo", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) > MEMORY_FOR_BOTH


@contextlib.contextmanager
def limited(seconds):
    """Raises Trouble if the block takes longer, and again if its clean-up does."""
    def hangs(*_):
        raise Trouble(f"no end after {seconds} s")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.setitimer(signal.ITIMER_REAL, seconds, AT_END)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def ended(number, _):
    """Ends on a signal. The machines end, too."""
    for process in children:
        process.terminate()
    children.clear()
    sys.exit(128 + number)


def again_and_again(chosen, seconds):
    """Yields tests in random order for that long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield random.choice(chosen)


class Report:
    """Prints TAP. A failure that is tried again prints no result line yet."""

    def __init__(self):
        self.number = multiprocessing.Value("i", 0)  # of all processes
        self.failed = multiprocessing.Value("i", 0)

    def next_number(self):
        with self.number.get_lock():
            self.number.value += 1
            return self.number.value

    def passed(self, label, said=None):
        print(f"ok {self.next_number()} - {label}", flush=True)
        if said:
            say(said)

    def not_passed(self, label, why, final):
        say(why)
        if final:
            with self.failed.get_lock():
                self.failed.value += 1
            print(f"not ok {self.next_number()} - {label}", flush=True)
        else:
            say(f"FAILED, and is tried once more: {label}")


def last_words(cluster):
    """Prints the last lines of the daemons' logs of each machine."""
    for n in cluster.numbers:
        try:
            say(f"node{n}:")
            say(cluster.run(n, "tail -n 15 /run/dlm_controld.log /run/corosync.log", timeout=ANSWER, check=False))
        except Trouble as trouble:
            say(trouble)


def answers(cluster, n, command):
    for _ in range(2):
        try:
            cluster.run(n, command, timeout=ANSWER)
            return True
        except Trouble as trouble:
            why = trouble
    say(f"node{n} does not answer: {why}\n{cluster.state_of(n)}")
    return False


def wants_file_systems(one):
    return not hasattr(sys.modules[one[1].__module__], "WITHOUT_FILE_SYSTEMS")


def is_sound(cluster, file_systems):
    """Tells whether all machines answer. With file systems, each must still have its power, because
    it would not return."""
    if file_systems:
        try:
            with limited(LONGEST):
                cluster.await_file_systems()
        except Trouble as trouble:
            say(trouble)
            return False
    for n in cluster.numbers:
        if cluster.runs(n):
            cluster.resume(n)  # a failed test may have left it stopped
    if not file_systems:
        return all([answers(cluster, n, "true") for n in cluster.numbers if cluster.runs(n)])
    mounted = "grep -q ' /mnt/ocfs2 ' /proc/mounts && grep -q ' /mnt/gfs2 ' /proc/mounts"
    return all([cluster.runs(n) and answers(cluster, n, mounted) for n in cluster.numbers])


class Clusters:
    """Boots clusters, one after the other or two at once, and tests on them."""

    def __init__(self, build, report, suite="", within=None):
        self.build, self.report, self.suite = build, report, suite
        self.end = time.monotonic() + within if within else float("inf")
        self.useless = self.tested = 0

    def on_each(self, chosen, final, keep=False):
        """Runs the tests that need a whole cluster on one, then the tests that end parts of it on
        another. Returns the failed ones."""
        failed = []
        for last in (False, True):
            group = [one for one in chosen if one[2] == last]
            if group:
                failed += self.on_one(iter(group), not last, final, keep)
        return failed

    def on_both(self, chosen, final):
        """Tests as on_each() does, on two clusters at once: each in a process of its own."""
        with Cluster(suite=self.suite) as cluster:
            cluster.fetch_kernel()  # both would at once
        groups = [[one for one in chosen if one[2] == last] for last in (False, True)]
        ends = [self.begin(group, final) for group in groups]
        failed = []
        for process, pipe, group in ends:
            try:
                numbers = pipe.recv()
            except EOFError:
                numbers = []
                self.report.not_passed("the tests' process", "it ended", True)
            process.join()
            failed += [group[i] for i in numbers]
        return failed

    def begin(self, group, final):
        """Starts a process that tests this group and sends the places of the failed tests."""
        def run():
            children.clear()  # those of the other process
            sys.stdout = io.StringIO()
            failed = self.on_one(iter(group), not group[0][2], final)
            end_block()
            theirs.send([group.index(one) for one in failed])

        ours, theirs = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(target=run)
        process.start()
        theirs.close()
        children.append(process)
        return process, ours, group

    def on_one(self, chosen, file_systems, final, keep=False):
        """Runs the tests on a cluster, and on a new one each time that machines fall silent.
        Returns the failed ones."""
        failed, one = [], next(chosen, None)
        while one and self.may_go_on():
            before = self.tested
            with Cluster(token=TOKEN if file_systems else TOKEN_LAST, suite=self.suite) as cluster:
                if self.boot(cluster, file_systems):
                    while one and self.may_go_on() and is_sound(cluster, file_systems and wants_file_systems(one)):
                        if not self.test(cluster, one, file_systems, final):
                            failed.append(one)
                        one = next(chosen, None)
                if keep and not one:
                    input("# the cluster is up; Enter ends it\n")
            self.useless = self.useless + 1 if self.tested == before else 0
        for label, *_ in [one, *chosen] if one else []:
            self.report.not_passed(label, "it was not run: " + self.why_not(), True)
        return failed

    def may_go_on(self):
        return time.monotonic() < self.end and self.useless < USELESS

    def why_not(self):
        return "the time is up" if time.monotonic() >= self.end else f"{USELESS} clusters in a row were of no use"

    def boot(self, cluster, file_systems):
        began = time.monotonic()
        label = "three machines form a cluster" + ("" if file_systems else ", without file systems")
        try:
            with limited(LONGEST):
                cluster.up(file_systems)
                kernel = cluster.run(1, "uname -r").strip()
        except Trouble as trouble:
            self.report.not_passed(label, trouble, self.useless + 1 >= USELESS)
            end_block()
            return False
        self.report.passed(label)
        say(f"{time.monotonic() - began:.0f} s; the machines used {cluster.processor_time():.0f} s of processors; "
            f"Linux {kernel}")
        say("ssh -F " + cluster._path("ssh_config") + " node1")
        end_block()
        return True

    def test(self, cluster, one, file_systems, final):
        label, function, _ = one
        began, used, passed = time.monotonic(), cluster.processor_time(), False
        self.tested += 1
        try:
            with limited(LONGEST * (4 if hasattr(function, "takes_long") else 1)):
                for n in [] if file_systems else make_whole(cluster, self.build):
                    say(f"node{n} was not in the cluster and has been brought back")
                told = function(cluster, self.build)
            self.report.passed(label, told)
            passed = True
        except Exception:  # after any error, the next test runs
            self.report.not_passed(label, traceback.format_exc(), final)
            last_words(cluster)
        say(f"{time.monotonic() - began:.0f} s; the machines used {cluster.processor_time() - used:.0f} s of processors")
        end_block()
        return passed


def option(name):
    """Returns the value of --NAME=VALUE, or ""."""
    return next((a.split("=", 1)[1] for a in sys.argv if a.startswith(f"--{name}=")), "")


def seconds(name):
    return int(option(name) or 0)


def main():
    keep = "--keep" in sys.argv
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    if not arguments:
        sys.exit(__doc__)
    build, report = os.path.abspath(arguments[0]), Report()
    but = [word for word in option("but").split(",") if word]
    chosen = list(tests(arguments[1:], but, "--all" in sys.argv))
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, ended)
    clusters = Clusters(build, report, option("kernel"), seconds("within"))
    if soak := seconds("soak"):
        # if any test ends parts of the cluster, all tests run without file systems
        file_systems = not any(last for *_, last in chosen)
        clusters.on_one(again_and_again(chosen, soak), file_systems, True, keep)
    else:
        again = "--again" in sys.argv
        if len({last for *_, last in chosen}) == 2 and not keep and has_memory() and is_idle():
            say("two clusters at once")
            failed = clusters.on_both(chosen, not again)
        else:
            failed = clusters.on_each(chosen, not again, keep)
        if again and failed:
            clusters.on_each(failed, True)
    print(f"1..{report.number.value}", flush=True)
    sys.exit(report.failed.value != 0)


main()
