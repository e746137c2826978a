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
TEST = "static void tested(void **state)\ncmocka_unit_test(tested),\n"
LONELY = "static void lonely(void)\n"


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


def mark(*sentences):
    return "/* Promises: " + "; ".join(f'{place}: "{words}"' for place, words in sentences) + ". */\n"


PROMISES = [(s.place, s.text) for s in header.read(HEADER) if promises.is_promise(s) and s.place != "size"]
EXEMPT = ["size | never 0 | a duty of the program"]
MESON = "test('x')"


def run(text=HEADER, marks=mark(*PROMISES), test=TEST, exempt=(), meson=MESON, arguments=()):
    """Returns the status of promises.py and its output, for a tree of that header, marks and exemptions."""
    with tempfile.TemporaryDirectory() as root:
        for path, content in ((promises.HEADERS[0], text),
                              *((path, "/* SPDX-License-Identifier: MIT */\n") for path in promises.HEADERS[1:]),
                              (promises.EXEMPT, "\n".join([*EXEMPT, *exempt])), ("examples/README", ""),
                              ("tests/x/test_x.c", marks + test), ("tests/x/meson.build", meson)):
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
    fails("1", 'no mark: Promises: glock_do: "Never waits.".', text=HEADER.replace("Does a thing.", "Never waits."))
    fails("2", 'glock_do: "Waits": no such sentence', marks=mark(*PROMISES, ("glock_do", "Waits")))
    fails("2", 'tests/x/test_x.c:1: go: "At once": no such sentence', marks=mark(*PROMISES, ("go", "At once")))
    fails("3", 'glock_do: "-E"', marks=mark(*PROMISES, ("glock_do", "-E")))
    for more, why in ((LONELY, "lonely has the function, but no list of tests"), ("", "has no test below it")):
        fails("4", why, test=TEST + mark(PROMISES[0]) + more)
    fails("4", "is in no meson.build", meson="")
    for line, why in (("glock_do | Does a thing. | a duty of the program", "needs no exemption"),
                      ("glock_do | No thing. | a duty of the program", "no such sentence"),
                      ("size | never | why", "no reason")):
        fails("5", why, exempt=[line])


def test_marks_may_have_several_lines_and_words(_):
    marks = '/*\n * Promises: glock_do: "-EBUSY another\n * one", "At once"; Files of "x": "is kept".\n */\n'
    check([(r.place, r.words, r.test) for r in promises.read_marks("x.c", marks + TEST)],
          [("glock_do", "-EBUSY another one", "x.c:tested"), ("glock_do", "At once", "x.c:tested"),
           ('Files of "x"', "is kept", "x.c:tested")])
    check([(r.place, r.words, r.test) for r in promises.read_marks("x.py", '# Promises: a: "b",\n# "c".\ndef d():\n')],
          [("a", "b", "x.py:d"), ("a", "c", "x.py:d")])
    check([str(r) for r in promises.read_marks("x.c", "/* Promises: glock_do: At once. */\n" + TEST)],
          ['x.c:1: ?: "glock_do: At once."'])


def test_a_changed_sentence_names_its_test(_):
    text = HEADER.replace("a wrong thing", "a thing that is wrong")
    status, said = run(text=text, arguments=["--missing"])
    check((status, said), (0, 'tests/x/test_x.c:1: Promises: glock_do: "-EINVAL a thing that is wrong".\n'))
    status, said = run(marks=mark(*[(p, w.replace("-EINVAL a wrong thing", "-EINVAL a")) for p, w in PROMISES]), text=text)
    assert "not ok 1" not in said and "not ok 2" not in said, said


def test_the_table_has_each_promise(_):
    status, said = run(arguments=["--table"])
    check((status, said.count("tests/x/test_x.c:tested")), (0, len(PROMISES)))


if __name__ == "__main__":
    tap.run(globals())
