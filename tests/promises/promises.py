#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""promises.py - checks that each promise of the headers has a test. TAP.

usage: promises.py             checks the marks of the tests against the headers of HEADERS
       promises.py --missing   prints a mark for each promise that has none, and the test of a mark that lost its sentence
       promises.py --table     prints each promise with its tests
       promises.py --list      prints each sentence with its place, its line, and whether it is a promise
       --tree DIR              another tree than the one of this file

A sentence is a promise if it has one of the words of PROMISE below. A row of a table is one, too. Each promise needs a
mark above a test, or a line in tests/promises/exempt that says why it is no promise. A mark is a comment:

    Promises: glock_poll: "At once", "Returns 1 if"; fork: "In a child process".

The place comes first: the name that the comment of the sentence belongs to, or the title of the paragraph at the top of
the file. Some words of the sentence follow, which only this sentence of the place has.
"""

import argparse
import difflib
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import header  # noqa: E402

HEADERS = ("include/glock.h", "include/glock-choose.h", "include/glock-path.h")
FOLDERS = ("tests", "examples")
EXEMPT = "tests/promises/exempt"

MARK = re.compile(r"^[/ ]\*  ?(?=Promises:)(?P<c>.*?)\*/|^# (?=Promises:)(?P<py>[^\n]*(?:\n# [^\n]*)*)", re.M | re.S)
PART = re.compile(r'(?:^|; )(.+?): ((?:"[^"]*"(?:, )?)+)')
TEST = re.compile(r"(?:static (?:void|int)|(?:async )?def) (\w+)\(")

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
    """Some words of a sentence, and a test of it, or the reason why it needs none."""

    def __init__(self, where, place, words, test):
        self.where, self.place, self.words, self.test = where, place, words, test

    def fits(self, sentence):
        return self.place == sentence.place and self.words in sentence.text

    def __str__(self):
        return f'{self.where}: {self.place}: "{self.words}"'


def read_marks(path, text):
    """Returns the rows that the marks of a file make."""
    rows = []
    for mark in MARK.finditer(text):
        said = re.sub(r"\n(?: \*|#)\s*|\s+", " ", mark["c"] or mark["py"]).strip().removeprefix("Promises: ")
        test = TEST.search(text, mark.end())
        where = f"{path}:{text.count(chr(10), 0, mark.start()) + 1}"
        if PART.sub("", said) != ".":
            rows.append(Row(where, "?", PART.sub("", said), None))
        for part in PART.finditer(said):
            rows += [Row(where, part[1], words, f"{path}:{test[1]}" if test else None)
                     for words in re.findall(r'"([^"]*)"', part[2])]
    return rows


def read_exemptions(text):
    """Returns the exemptions as rows, with the reason in place of the test."""
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            place, words, why = (line.split(" | ") + ["", ""])[:3]
            rows.append(Row(f"{EXEMPT}:{number}", place, words, why))
    return rows


def is_promise(sentence):
    return sentence.is_row or bool(PROMISE.search(sentence.text))


# ---- tests ----

def is_run(root, path):
    """Tells whether the meson.build beside the test names it, whole or by the middle of its name. The meson.build may
    also stand one folder above, or with the bench of the same name."""
    folder, name = os.path.split(path)
    stem = name.rsplit(".", 1)[0]
    above, last = os.path.split(folder)
    for place, words in ((folder, (name, stem, re.sub(r"^(?:test|bad)_", "", stem))), (above, (f"{last}/{name}",)),
                         (f"bench/{last}", (f"../../{path}",))):
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
    if not path.startswith(("tests/", "examples/")) or not name:
        return "is not of the form tests/FILE:FUNCTION"
    try:
        with open(os.path.join(root, path), encoding="utf-8") as f:
            text = f.read()
    except OSError:
        return "has no such file"
    if path.endswith((".c", ".cc")):
        if not re.search(rf"^static (?:void|int) {name}\(void", text, re.M):
            return "has no such function"
        if not re.search(rf'(?:cmocka\w*|[A-Z_]+)\({name}[,)]|"{name}", {name}\b|\{{{name}\(\), ', text):
            return "has the function, but no list of tests has it"
    elif name not in text:
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
        self.rows = [row for path in self.marked() for row in read_marks(path, self.text(path))]
        self.exempt = read_exemptions(self.text(EXEMPT))
        self.promises = [s for s in self.sentences if is_promise(s)]

    def text(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as f:
            return f.read()

    def marked(self):
        """Returns the files that may have marks."""
        return sorted(os.path.relpath(os.path.join(folder, name), self.root)
                      for top in FOLDERS for folder, _, names in os.walk(os.path.join(self.root, top))
                      for name in names if name.endswith((".c", ".cc", ".py")) and "promises" not in name)

    def rows_of(self, sentence):
        return [row for row in self.rows if row.fits(sentence)]

    def missing(self):
        return [s for s in self.promises if not any(row.fits(s) for row in self.rows + self.exempt)]

    def stale(self, rows):
        return [row for row in rows if not any(row.fits(s) for s in self.sentences)]

    def ambiguous(self):
        """Returns the rows that fit two different sentences."""
        return [row for row in self.rows + self.exempt
                if len({s.text for s in self.sentences if row.fits(s)}) > 1]

    def bad_tests(self):
        for row in self.rows:
            why = trouble_with(self.root, row.test) if row.test else "has no test below it"
            if why:
                yield f"{row}: {row.test or 'the mark'} {why}"

    def bad_exemptions(self):
        promises = {s.key for s in self.promises}
        for row in self.exempt:
            if len(row.test.split()) < 3:
                yield f"{row}: no reason"
            elif not any(row.fits(s) for s in self.sentences):
                yield f"{row}: no such sentence"
            elif not any(row.fits(s) and s.key in promises for s in self.sentences):
                yield f"{row}: the sentence needs no exemption"


def mark_of(sentence):
    return f'Promises: {sentence.place}: "{sentence.text}".'


def print_missing(tree):
    lost = tree.stale(tree.rows)
    for sentence in tree.missing():
        near = {row.words: row for row in lost if row.place == sentence.place}
        best = max(near, key=lambda w: difflib.SequenceMatcher(None, w, sentence.text).ratio(), default=None)
        print(f"{near[best].where if best else '?'}: {mark_of(sentence)}")
    return 0


def print_table(tree):
    print("| Place | Sentence | Test |\n| --- | --- | --- |")
    for s in tree.sentences:
        tests = sorted({row.test for row in tree.rows_of(s)})
        if tests:
            print(f"| {s.place} | {s.text.replace('|', chr(92) + '|')} | {', '.join(tests)} |")
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

    test("each promise of the header has a mark, or is exempt",
         [f"{s.path}:{s.line}: no mark: {mark_of(s)}" for s in tree.missing()])
    test("each mark has its sentence", [f"{row}: no such sentence" for row in tree.stale(tree.rows)])
    test("the words of a mark are in one sentence", [str(row) for row in tree.ambiguous()])
    test("each test exists and is run", list(tree.bad_tests()))
    test("each exemption is needed, and has a reason", list(tree.bad_exemptions()))
    test("the header has promises", [] if len(tree.promises) >= 250 else [f"{len(tree.promises)} found"])
    print(f"# {len(tree.sentences)} sentences, {len(tree.promises)} of them promises; "
          f"{len(tree.rows)} marks, {len(tree.exempt)} exemptions")
    print(f"1..{number}")
    return int(failed)


def main(arguments=None):
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--tree", default=os.path.join(here, "..", ".."))
    choice = parser.add_mutually_exclusive_group()
    for option in ("--missing", "--table", "--list"):
        choice.add_argument(option, action="store_true")
    chosen = parser.parse_args(arguments)
    tree = Tree(os.path.realpath(chosen.tree))
    if chosen.missing:
        return print_missing(tree)
    if chosen.table:
        return print_table(tree)
    if chosen.list:
        for s in tree.sentences:
            print(f"{s.path}:{s.line:4} {'promise' if is_promise(s) else '       '} {s.place}: {s.text}")
        return 0
    return check(tree)


if __name__ == "__main__":
    sys.exit(main())
