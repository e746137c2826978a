#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_promises.py - tests of promises.py: which sentences it finds, and that each kind of gap fails. TAP."""

import contextlib
import io
import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]
import header  # noqa: E402
import promises  # noqa: E402
import tap  # noqa: E402

HEADER = """/* SPDX-License-Identifier: MIT */
/*
 * x.h - a header.
 *
 * WHAT TO KNOW
 *
 *   Threads. Any thread may call. It is green.
 *   A long line goes on.
 *
 *	int main(void) // never read
 *
 *   Names are long. No function waits.
 *
 * Times are in ns, and 0 is none, else
 * 1. That is all.
 */

/* ---- part ---- */

#define GLOCK_TRY 1u /* do not wait: -EAGAIN */

/*
 * Does a thing. At once.
 *   -EINVAL  a wrong thing
 *   -EBUSY   another one, that
 *            is long. Also: more
 * or the error of the thing.
 *
 *   first   runs first, and       no
 *           never again
 *   second  never                 yes, in all
 *                                 cases
 */
#define glock_do(x) glock_do_at(x, 1)
int glock_do_at(int x, int y);

struct glock_ops {
	/* Called first. */
	void (*go)(int x);
	int size; /* never 0 */
};
"""
TEST = "static void tested(void **state)\ncmocka_unit_test(tested),\nstatic void lonely(void)\n"


def check(got, expected):
    assert got == expected, f"got {got!r}, expected {expected!r}"


def test_sentences_and_places(_):
    found = [(s.place, s.text) for s in header.read(HEADER)]
    check(found, [
        ("head", "x.h - a header."),
        ("Threads", "Any thread may call."), ("Threads", "It is green."), ("Threads", "A long line goes on."),
        ("Names are long", "Names are long."), ("Names are long", "No function waits."),
        ("What to know", "Times are in ns, and 0 is none, else 1."), ("What to know", "That is all."),
        ("GLOCK_TRY", "do not wait: -EAGAIN"),
        ("glock_do", "Does a thing."), ("glock_do", "At once."),
        ("glock_do", "-EINVAL a wrong thing"), ("glock_do", "-EBUSY another one, that is long."),
        ("glock_do", "Also: more"), ("glock_do", "or the error of the thing."),
        ("glock_do", "first runs first, and never again no"), ("glock_do", "second never yes, in all cases"),
        ("go", "Called first."), ("size", "never 0")])


def test_promises_have_words(_):
    found = [s.text for s in header.read(HEADER) if not promises.is_promise(s)]
    check(found, ["x.h - a header.", "It is green.", "A long line goes on.", "Names are long.", "Does a thing."])


ROWS = [f"| {s.place} | {s.text} | tests/x/test_x.c:tested |" for s in header.read(HEADER)
        if promises.is_promise(s) and s.place != "size"]
EXEMPT = ["size | never 0 | a duty of the program"]


def run(text=HEADER, rows=None, exempt=None, arguments=()):
    """Returns the status of promises.py and its output, for a tree of that header, rows and exemptions."""
    with tempfile.TemporaryDirectory() as root:
        for path, content in ((promises.HEADERS[0], text), (promises.HEADERS[1], "/* SPDX-License-Identifier: MIT */\n"), (promises.ROWS, "\n".join(ROWS if rows is None else rows)),
                              (promises.EXEMPT, "\n".join(EXEMPT if exempt is None else exempt)),
                              ("tests/x/test_x.c", TEST), ("tests/x/meson.build", "test('x')"),
                              ("tests/y/test_x.c", TEST)):
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(content)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = promises.main(["--tree", root, *arguments])
        return status, out.getvalue()


def fails(number, what, **tree):
    """Checks that exactly the test of that number fails, besides the one that counts, and names the reason."""
    status, said = run(**tree)
    failed = [line.split()[2] for line in said.splitlines() if line.startswith("not ok")]
    check((status, failed, what in said), (1, [number, "6"], True))


def test_a_whole_tree_passes(_):
    _, said = run()
    check([line for line in said.splitlines() if line.startswith("not ok")], ["not ok 6 - the header has promises"])


def test_gaps_fail(_):
    fails("1", "no row: | glock_do | Never waits.", text=HEADER.replace("Does a thing.", "Never waits."))
    fails("2", "no such sentence: glock_do: Waits.", rows=ROWS + ["| glock_do | Waits. | tests/x/test_x.c:tested |"])
    fails("3", "glock_do: At once.", rows=ROWS + ["| glock_do | At once. | tests/x/test_x.c:tested |"])
    for test, why in (("tests/x/test_x.c:none", "has no such function"), ("tests/x/test_z.c:tested", "has no such file"),
                      ("tests/x/test_x.c:lonely", "no list of tests"), ("tests/y/test_x.c:tested", "in no meson.build"),
                      ("x:y", "is not of the form"), ("", "no test")):
        fails("4", why, rows=[ROWS[0].replace("tests/x/test_x.c:tested", test), *ROWS[1:]])
    for line, why in (("glock_do | Does a thing. | a duty of the program", "needs no exemption"),
                      ("glock_do | No thing. | a duty of the program", "no such sentence"),
                      ("size | never 0... | why", "no reason")):
        fails("5", why, exempt=EXEMPT + [line])


def test_prefixes_fit_one_sentence(_):
    row = "| glock_do | -EBUSY another... | tests/x/test_x.c:tested |"
    rows = [r for r in ROWS if "-EBUSY" not in r]
    _, said = run(rows=[*rows, row])
    assert "not ok 1" not in said and "not ok 3" not in said, said
    fails("3", "-E...", rows=[*ROWS, "| glock_do | -E... | tests/x/test_x.c:tested |"])


def test_a_changed_sentence_keeps_its_test(_):
    text = HEADER.replace("a wrong thing", "a thing that is wrong")
    status, said = run(text=text, arguments=["--missing"])
    check((status, said), (0, "| glock_do | -EINVAL a thing that is wrong | tests/x/test_x.c:tested |\n"))
    check(run(text=text, arguments=["--stale"])[1].count("a wrong thing"), 1)


if __name__ == "__main__":
    tap.run(globals())
