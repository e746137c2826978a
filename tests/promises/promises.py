#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""promises.py - checks that each promise of the headers has a test. TAP.

usage: promises.py             checks docs/promises.md against include/glock.h and glock-choose.h
       promises.py --missing   prints a row for each promise that has none; a row that lost its sentence lends its test
       promises.py --stale     prints the rows of docs/promises.md that have no sentence
       promises.py --list      prints each sentence with its place, its line, and whether it is a promise
       --tree DIR              another tree than the one of this file

A sentence is a promise if it has one of the words of PROMISE below. A row of a table is one, too. Such a sentence
needs a row in docs/promises.md, or a line in tests/promises/exempt that says why it is no promise. Any other sentence
may have a row. A row gives the words of its sentence; three dots at the end stand for the rest.
"""

import argparse
import difflib
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import header  # noqa: E402

HEADERS = ("include/glock.h", "include/glock-choose.h")
ROWS = "docs/promises.md"
EXEMPT = "tests/promises/exempt"
REST = "..."

PROMISE = re.compile(r"""-E[A-Z]+|\b(?:
    # results and errors
    returns?|results?|errors?|fails?|failed|succeeds?|stores?|gives?|gets?|granted|tells?|told|reports?|prints?|
    # what blocks
    waits?|blocks?|at\ once|until|delayed|for\ ever|lasts?|within|sleeps?|
    # which thread calls
    threads?|runs?|calls?|called|callbacks?|dispatch|
    # limits and order
    never|always|at\ most|at\ least|only|before|after|afterwards|while|
    no|none|nothing|each|every|all|lost|withdraws?|undone|drops|dropped|stays?|kept
    )\b""", re.X | re.I)


class Row:
    def __init__(self, line, place, text, tests):
        self.line, self.place, self.text, self.tests = line, place, text, tests

    def fits(self, sentence):
        if self.place != sentence.place:
            return False
        if self.text.endswith(REST):
            return sentence.text.startswith(self.text.removesuffix(REST))
        return self.text == sentence.text


def cells(line):
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def read_rows(text):
    """Returns the rows of docs/promises.md: place, sentence, tests."""
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("| ") or re.fullmatch(r"[|:\- ]+", line) or line.startswith("| Place |"):
            continue
        row = (cells(line) + ["", "", ""])[:3]
        rows.append(Row(number, row[0], row[1], [t.strip() for t in row[2].split(",") if t.strip()]))
    return rows


def read_exemptions(text):
    """Returns the exemptions as rows: place, sentence, and the reason in place of the tests."""
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            row = (cells(line) + ["", "", ""])[:3]
            rows.append(Row(number, row[0], row[1], row[2]))
    return rows


def is_promise(sentence):
    return sentence.is_row or bool(PROMISE.search(sentence.text))


# ---- tests ----

def is_run(root, path):
    """Tells whether the meson.build beside the test names it, whole or by the middle of its name. The meson.build may
    also stand one folder above."""
    folder, name = os.path.split(path)
    stem = name.rsplit(".", 1)[0]
    above, last = os.path.split(folder)
    for place, words in ((folder, (name, stem, re.sub(r"^(?:test|bad)_", "", stem))), (above, (f"{last}/{name}",))):
        try:
            with open(os.path.join(root, place, "meson.build"), encoding="utf-8") as f:
                build = f.read()
        except OSError:
            continue
        if any(f"'{word}'" in build for word in words):
            return True
    return False


def trouble_with(root, test):
    """Returns why a test of the form file:function is none, or None."""
    path, _, name = test.partition(":")
    if not path.startswith(("tests/", "examples/")) or not re.fullmatch(r"\w+", name):
        return "is not of the form tests/FILE:FUNCTION"
    try:
        with open(os.path.join(root, path), encoding="utf-8") as f:
            text = f.read()
    except OSError:
        return "has no such file"
    if path.endswith((".c", ".cc")):
        if not re.search(rf"^static (?:void|int) {name}\(void", text, re.M):
            return "has no such function"
        if not re.search(rf'(?:cmocka\w*|TEST\w*)\({name}[,)]|"{name}", {name}\b|\{{{name}\(\), ', text):
            return "has the function, but no list of tests has it"
    elif not re.search(rf"\b{name}\b", text):
        return "does not have this name"
    # run.py of tests/cluster finds its tests by itself
    if not is_run(root, path) and not path.startswith("tests/cluster/test_"):
        return "is in no meson.build"
    return None


# ---- checks ----

class Tree:
    def __init__(self, root):
        self.root = root
        self.sentences = []
        for path in HEADERS:
            for sentence in header.read(self.text(path)):
                sentence.path = path
                self.sentences.append(sentence)
        self.rows = read_rows(self.text(ROWS))
        self.exempt = read_exemptions(self.text(EXEMPT))
        self.promises = [s for s in self.sentences if is_promise(s)]

    def text(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as f:
            return f.read()

    def missing(self):
        return [s for s in self.promises if not any(row.fits(s) for row in self.rows + self.exempt)]

    def stale(self, rows):
        return [row for row in rows if not any(row.fits(s) for s in self.sentences)]

    def ambiguous(self):
        """Returns the rows that fit two different sentences, and the second of two rows for one sentence."""
        found = [row for row in self.rows + self.exempt
                 if len({s.text for s in self.sentences if row.fits(s)}) > 1]
        seen = set()
        for row in self.rows + self.exempt:
            if (row.place, row.text) in seen:
                found.append(row)
            seen.add((row.place, row.text))
        return found

    def bad_tests(self):
        for row in self.rows:
            if not row.tests:
                yield f"{ROWS}:{row.line}: no test"
            for test in row.tests:
                why = trouble_with(self.root, test)
                if why:
                    yield f"{ROWS}:{row.line}: {test} {why}"

    def bad_exemptions(self):
        promises = {s.key for s in self.promises}
        for row in self.exempt:
            if len(row.tests.split()) < 3:
                yield f"{EXEMPT}:{row.line}: no reason"
            elif not any(row.fits(s) for s in self.sentences):
                yield f"{EXEMPT}:{row.line}: no such sentence: {row.place}: {row.text}"
            elif not any(row.fits(s) and s.key in promises for s in self.sentences):
                yield f"{EXEMPT}:{row.line}: the sentence needs no exemption"


def row_of(sentence, tests):
    text = sentence.text.replace("|", "\\|")
    return f"| {sentence.place} | {text} | {tests} |"


def print_missing(tree):
    lost = tree.stale(tree.rows)
    for sentence in tree.missing():
        near = [row for row in lost if row.place == sentence.place] or lost
        best = difflib.get_close_matches(sentence.text, [row.text for row in near], 1, 0.6)
        tests = next((", ".join(row.tests) for row in near if best and row.text == best[0]), "?")
        print(row_of(sentence, tests))
    return 0


def check(tree):
    number, failed = 0, False

    def test(name, messages):
        nonlocal number, failed
        number += 1
        for message in messages:
            failed = True
            print(f"# {message}")
        print(f"{'not ok' if messages else 'ok'} {number} - {name}")

    test("each promise of the header has a row, or is exempt",
         [f"{s.path}:{s.line}: no row: {row_of(s, '?')}" for s in tree.missing()])
    test("each row has its sentence",
         [f"{ROWS}:{row.line}: no such sentence: {row.place}: {row.text}" for row in tree.stale(tree.rows)])
    test("each row is for one sentence, and the only one",
         [f"{row.line}: {row.place}: {row.text}" for row in tree.ambiguous()])
    test("each test exists and is run", list(tree.bad_tests()))
    test("each exemption is needed, and has a reason", list(tree.bad_exemptions()))
    test("the header has promises", [] if len(tree.promises) >= 250 else [f"{len(tree.promises)} found"])
    print(f"# {len(tree.sentences)} sentences, {len(tree.promises)} of them promises; "
          f"{len(tree.rows)} rows, {len(tree.exempt)} exemptions")
    print(f"1..{number}")
    return int(failed)


def main(arguments=None):
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--tree", default=os.path.join(here, "..", ".."))
    choice = parser.add_mutually_exclusive_group()
    for option in ("--missing", "--stale", "--list"):
        choice.add_argument(option, action="store_true")
    chosen = parser.parse_args(arguments)
    tree = Tree(os.path.realpath(chosen.tree))
    if chosen.missing:
        return print_missing(tree)
    if chosen.stale:
        for row in tree.stale(tree.rows):
            print(f"{ROWS}:{row.line}: {row.place}: {row.text}")
        return 0
    if chosen.list:
        for s in tree.sentences:
            print(f"{s.path}:{s.line:4} {'promise' if is_promise(s) else '       '} {s.place}: {s.text}")
        return 0
    return check(tree)


if __name__ == "__main__":
    sys.exit(main())
