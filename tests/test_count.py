#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_count.py - the rules by which count.py counts, on made-up logs of meson test. TAP."""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "e2e"))
import tap  # noqa: E402  after the path to it

# Every machine has `sh`, and none has this program.
LACKS = "needs program glock-no-such-program"
HAS = "needs program sh"


def program(name, stdout="", result="OK", stderr=""):
    return {"name": f"glock:suite / {name}", "stdout": stdout, "stderr": stderr, "result": result}


def count(command, logs, *arguments, env=None):
    """Returns the output of a command of count.py on a build folder with these logs."""
    with tempfile.TemporaryDirectory() as build:
        os.mkdir(f"{build}/meson-logs")
        for log, records in logs.items():
            with open(f"{build}/meson-logs/{log}.json", "w", encoding="utf-8") as f:
                f.writelines(json.dumps(record) + "\n" for record in records)
        environment = {name: value for name, value in os.environ.items() if name != "GLOCK_CI"} | (env or {})
        return subprocess.run([sys.executable, os.path.join(HERE, "count.py"), command, build, *arguments],
                              capture_output=True, text=True, check=True, env=environment).stdout


def counted(*records, again=(), status=0, env=None):
    logs = {"testlog": records} | ({"again": again} if again else {})
    return tuple(map(int, count("count", logs, str(status), env=env).split()))


def join(lines):
    return subprocess.run([sys.executable, os.path.join(HERE, "count.py"), "join"], input=lines,
                          capture_output=True, text=True, check=True).stdout


@tap.test
def each_line_of_tap_is_a_test():
    assert counted(program("a", "1..3\nok 1 - x\n# ok 9 - a comment\nok 2\nok 3 - z\n")) == (3, 0)
    assert counted(program("a", "ok 1 - x\n"), program("b", "1..2\nok 1\nok 2\n")) == (3, 0)


@tap.test
def a_program_without_tap_is_one_test():
    assert counted(program("a", "hello\n")) == (1, 0)
    assert counted(program("a", "hello\n", "FAIL"), status=1) == (0, 1)


@tap.test
def a_line_that_is_not_ok_is_a_failure():
    assert counted(program("a", "1..3\nok 1\nnot ok 2 - y\nnot ok 3\n", "FAIL"), status=1) == (1, 2)


@tap.test
def a_crash_is_a_failure():
    """One program died after tests that passed, and another one before any test."""
    assert counted(program("a", "1..3\nok 1\nok 2\n", "ERROR"), status=1) == (2, 1)
    assert counted(program("a", "", "ERROR"), program("b", "", "TIMEOUT"), status=2) == (0, 2)


@tap.test
def a_failure_of_meson_itself_is_a_failure():
    assert counted(program("a", "1..1\nok 1\n"), status=125) == (1, 1)
    assert counted(status=1) == (0, 1)


@tap.test
def the_second_run_counts():
    first = program("a", "1..2\nok 1\nnot ok 2\n", "FAIL")
    assert counted(first, again=[program("a", "1..2\nok 1\nok 2\n")]) == (2, 0)
    assert counted(first, again=[first], status=1) == (1, 1)
    assert counted(first, again=[program("a", "", "SKIP")], status=1) == (1, 1)


@tap.test
def a_skip_with_a_true_reason_is_neither():
    assert counted(program("a", f"1..2\nok 1 - x\nok 2 - y # SKIP {LACKS}\n")) == (1, 0)
    assert counted(program("a", f"1..0 # SKIP {LACKS}\n", "SKIP")) == (0, 0)


@tap.test
def a_skip_that_the_machine_could_run_is_a_failure():
    assert counted(program("a", f"1..2\nok 1 - x\nok 2 - y # SKIP {HAS}\n")) == (1, 1)
    assert counted(program("a", f"1..0 # SKIP {HAS}\n", "SKIP")) == (0, 1)


@tap.test
def a_skip_without_a_known_reason_is_a_failure():
    for reason in ("", "no time", "needs luck", "needs program", f"it {LACKS}"):
        assert counted(program("a", f"1..1\nok 1 - x # SKIP {reason}\n", "SKIP")) == (0, 1), reason
    assert counted(program("a", "exit 77\n", "SKIP")) == (0, 1)
    # cmocka's own skip, with the test's name in place of the reason
    assert counted(program("a", "1..2\nok 1 - x\nnot ok 2 # SKIP y\n", "FAIL"), status=1) == (1, 1)


@tap.test
def no_program_is_missing_in_ci():
    skip = program("a", f"1..0 # SKIP {LACKS}\n", "SKIP")
    assert counted(skip) == (0, 0)
    assert counted(skip, env={"GLOCK_CI": "1"}) == (0, 1)


@tap.test
def each_capability_is_asked_of_the_machine():
    with open("/proc/self/status", encoding="ascii") as lines:
        held = next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff"))
    mounts = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/tmp"], stderr=subprocess.DEVNULL, check=False)
    answers = {"needs root": os.geteuid() != 0 or not held, "needs mount": mounts.returncode != 0,
               "needs 1 MB of /dev/shm": False, "needs 99999999 MB of /dev/shm": True,
               "needs library libc.so.6": False, "needs library libglock-no-such.so.1": True,
               "needs commit " + 40 * "0": True, "needs a kernel without dlm": os.path.exists("/sys/kernel/dlm"),
               "needs CAP_DAC_READ_SEARCH": os.geteuid() != 0 or not held >> 2 & 1}
    for reason, lacks in answers.items():
        assert counted(program("a", f"1..0 # SKIP {reason}\n", "SKIP")) == (0, 0 if lacks else 1), reason


@tap.test
def skips_are_listed_with_their_reasons():
    logs = {"testlog": [program("a", f"1..2\nok 1 - x\nok 2 - y # SKIP {LACKS}\n"), program("b", "ok 1\n"),
                        program("c", f"1..0 # SKIP {HAS}\n", "SKIP")]}
    lines = count("skipped", logs)
    assert lines == f"a: y\t{LACKS}\nc\t{HAS} (NOT TRUE: counted as failed)\n", lines
    joined = join(lines + lines.splitlines(keepends=True)[0])
    assert joined == f"skipped: a: y ({LACKS}) in 2 builds; c ({HAS} (NOT TRUE: counted as failed))\n", joined
    assert join("") == "skipped: none\n"


@tap.test
def programs_that_failed_are_named():
    logs = {"testlog": [program("a", "ok 1\n"), program("b c", "not ok 1\n", "FAIL"), program("d", "", "TIMEOUT"),
                        program("e", "1..0 # SKIP x\n", "SKIP")]}
    assert count("failed", logs) == "b c\nd\n"


@tap.test
def the_report_has_what_a_failure_printed():
    logs = {"testlog": [program("a", "1..2\nok 1 - x\n# why\nnot ok 2 - y\n", "FAIL", stderr="on stderr\n")],
            "again": [program("a", "1..2\nok 1\nok 2\n")]}
    text = count("report", logs)
    assert "a: FAIL, tried alone: OK" in text and "# why" in text and "on stderr" in text, text
    assert "ok 1 - x" not in text, text


tap.run_marked()
