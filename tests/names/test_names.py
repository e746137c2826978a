#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_names.py - tests of names.py: it finds a stale name of each kind, and takes none that is there. TAP."""

import contextlib
import io
import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]
import names  # noqa: E402
import tap  # noqa: E402

TESTS = {"cli", "cli_run", "docs"}
TREE = {
    "src/cli/main.c": "static struct command *all[] = {&cmd_ls};\n",
    "src/cli/ls.c": 'static struct option longs[] = {{"json", no_argument}};\n',
    "src/o2top/options/options_table.c": '    {"once", 0, ONCE},\n',
    "src/o2top/views/openmetrics.c": 'one(e, "lost_seconds");\n',
    "src/glock/state/queue.c": 'struct glock { int a; };\n#define GLOCK__H_DIED 1\nint glock_nq(int t) { return LATE_1; }\n'
                               'char *s = getenv("GLOCK_DEBUG"); void atom_add32(void);\n',
    "tests/glock/test_queue.c": "/* glock__gone() and old_comment were here */\n",
    "tests/cli/test_run.py": '"""old_docstring"""\ndef test_a_rule_holds(): pass\nparser.add_argument("--all")\n',
    "run": "case ${1-} in\nbuild | demo)\n\t;;\nbench)\n\tif [ $2 = hold ]; then\n",
    "CHANGELOG.md": "# Changes\n\n## Unreleased\n\n- glock_nq()\n\n## 0.1.0\n\n- glock_oldest() is new\n",
}
THERE = """# A page

## Its Part: one, two

src/glock/state/queue.c, src/glock/state, state/queue.c, queue.c and tests/cli/test_THING.py; `glock_nq()` in queue.c,
`LATE_1` (state/queue.c). See [this](#its-part-one-two), [a page](page.md#a-page) and [a site](https://example.org/x.c).
glock_nq(), GLOCK__H_DIED, H_DIED, GLOCK_DEBUG, a_rule_holds, atom_add, GLOCK__H_, o2top_lost_seconds, say_NAME().
struct glock; `o2top --once`, `glock ls --json`, `git log --stat`, `--all`, `python3 tests/cli/test_run.py --all`.
The suite `docs`; the tests `cli` and `cli_run`.

    ./run bench hold && sudo glock ls | grep --color x
    ./run test cli_ && meson test -C build --suite docs cli

A list:

    another version of glock made it
"""
STALE = {
    "path": ("state/gone.c", "src/gone/x", "see gone.h", "tests/cli/gone_THING.py"),
    "place": ("`glock_nq()`, ls.c", "`GLOCK_DEBUG` (src/cli/ls.c)", "H_DIED in cli/main.c"),
    "link": ("[x](gone/)", "[x](page.md#gone)", "[x](#gone)"),
    "function": ("gone()", "nq()", "glock_gone", "glock__gone", "GLOCK_GONE", "`gone_by`", "old_comment", "old_docstring",
                 "o2top_gone", "GLOCK__Z_"),
    "struct": ("struct gone", "enum gone"),
    "option": ("`o2top --json`", "`glock ls --once`", "`--gone`", "`./run bench --all`",
               "`python3 tests/cli/test_run.py --gone`"),
    "command": ("`glock gone`", "`./run gone`", "`./run bench gone`", "    sudo glock gone"),
    "test": ("the test `gone`", "suites `docs` and `gone`", "`./run test gone`", "`meson test -C build gone`"),
}


def result_of(files):
    """Returns the status of names.py in a small tree, and its lines of TAP that failed."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in (TREE | files).items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = names.check(root, TESTS)
    return status, output.getvalue()


def check(files, kind, shown=""):
    status, output = result_of(files)
    failed = [line for line in output.split("\n") if line.startswith("not ok")]
    assert status == bool(kind) and len(failed) == bool(kind), f"{files}: {output}"
    assert not kind or kind in failed[0] and shown in output, f"{files}: {output}"


def test_no_name_that_is_there_is_stale(_):
    check({"docs/page.md": THERE}, None)
    check({"src/glock/a.c": '/* queue.c has glock_nq() */ char *s = "gone()"; // H_DIED\n'}, None)


def test_each_kind_of_stale_name_is_found(_):
    last = THERE.count("\n") + 2
    for kind, texts in STALE.items():
        for text in texts:
            check({"docs/page.md": THERE + "\n" + text + "\n"}, f"each {kind} ", f"# docs/page.md:{last}: ")


def test_comments_manuals_and_the_next_release_are_read(_):
    check({"src/glock/a.c": "int x; /*\n * See gone(). */\n"}, "each function", "# src/glock/a.c:2: gone")
    check({"include/glock.h": "// See gone.c.\n"}, "each path", "# include/glock.h:1: gone.c")
    check({"man/o2top.1.scd": "*o2top --gone* and _NAME_\n"}, "each option", "# man/o2top.1.scd:1: ")
    check({"CHANGELOG.md": TREE["CHANGELOG.md"].replace("glock_nq", "glock_gone")}, "each function", "# CHANGELOG.md:5: ")


def test_an_exemption_needs_a_name(_):
    page = {"docs/page.md": "gone_by\n"}
    check(page | {names.EXEMPT: "docs/* | gone_* | a name of the kernel\n"}, None)
    check({names.EXEMPT: "docs/* | gone_* | a name of the kernel\n"}, "each exemption", "nothing is left that needs it")


if __name__ == "__main__":
    tap.run(globals())
