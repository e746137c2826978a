#!/usr/bin/env python3
"""shared_words.py - lists the runs of words that the tree has in common with documents of others.

    python3 tests/provenance/shared_words.py [--words N] [--code N] [--quiet] FOLDER...

FOLDER holds the documents or the source of others. The project does not have them: docs/provenance.md
names them. Every text file under FOLDER is read.

Two comparisons run:
  prose  words of two letters or more, without punctuation, case and line breaks. Numbers and single
         letters are left out, because lines of the kernels' formats consist of them. A run has N words
         or more (--words, 8).
  code   words and operators, comments left out, in C files only. A run has N tokens or more (--code, 24).

A shared run is printed once, at its longest, with file and line on both sides. The last two lines have
the figures. The status is 1 if a prose run or a code run is shared, 2 if a folder has no text.
"""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LETTERS = re.compile(r"[^\W\d_]\w+")
TOKENS = re.compile(r'"(?:[^"\\\n]|\\.)*"|\w+|[^\w\s]')
COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
# The project does not choose these words: the text of the licence, and recordings of other
# programs' output.
LEFT_OUT = re.compile(r"^LICENSE$|^tests/data/|^tests/golden/|\.svg$|\.o2r$")


def text_of(path):
    """Returns the text of a file, or None if the file is binary."""
    with open(path, "rb") as file:
        raw = file.read()
    if b"\0" in raw:
        return None
    return raw.decode("utf-8", "replace")


def prose(text):
    """Returns the words of a text, each with its line."""
    return [(match.group().lower(), line) for line, row in enumerate(text.split("\n"), 1)
            for match in LETTERS.finditer(row)]


def code(text):
    """Returns the tokens of a C text without its comments, each with its line."""
    text = COMMENTS.sub(lambda match: "\n" * match.group().count("\n"), text)
    return [(match.group(), line) for line, row in enumerate(text.split("\n"), 1)
            if not row.lstrip().startswith("#include") for match in TOKENS.finditer(row)]


def runs_of(words, length):
    """Yields each run of `length` words with the place where the run begins."""
    plain = [word for word, _ in words]
    for at in range(len(plain) - length + 1):
        yield at, tuple(plain[at:at + length])


class Comparison:
    """The runs that the tree shares with the folders, for one way to cut a text into words."""

    def __init__(self, name, cut, length):
        self.name = name
        self.cut = cut
        self.length = length
        self.others = {}        # a run: where it begins, as (file, index)
        self.words = {}         # a file of others: its words
        self.distinct = set()   # runs of exactly `length` that are shared
        self.found = []         # shared runs at their longest

    def learn(self, path, text):
        """Adds a file of others."""
        words = self.cut(text)
        self.words[path] = words
        for at, run in runs_of(words, self.length):
            self.others.setdefault(run, []).append((path, at))

    def longest_from(self, ours, at, places):
        """Returns how many words from `at` on are shared, and the file and line of others."""
        best = (0, None, 0)
        for path, begin in places:
            theirs = self.words[path]
            count = self.length
            while (at + count < len(ours) and begin + count < len(theirs)
                   and ours[at + count][0] == theirs[begin + count][0]):
                count += 1
            if count > best[0]:
                best = (count, path, theirs[begin][1])
        return best

    def compare(self, path, text):
        """Looks for shared runs in a file of the tree."""
        ours = self.cut(text)
        past = 0
        for at, run in runs_of(ours, self.length):
            places = self.others.get(run)
            if not places:
                continue
            self.distinct.add(run)
            if at < past:
                continue
            count, theirs, line = self.longest_from(ours, at, places)
            past = at + count - self.length + 1
            shared = " ".join(word for word, _ in ours[at:at + count])
            self.found.append((count, path, ours[at][1], theirs, line, shared))

    def report(self, quiet):
        """Prints the shared runs, the longest first."""
        if not quiet:
            for count, path, line, theirs, there, shared in sorted(self.found, reverse=True):
                print(f"{self.name} {count}: {path}:{line} and {theirs}:{there}\n    {shared}")

    def figures(self):
        """Returns the line that sums up."""
        longest = max((found[0] for found in self.found), default=0)
        return (f"{self.name}: {len(self.others)} runs of {self.length} in {len(self.words)} files of others; "
                f"{len(self.distinct)} shared, at {len(self.found)} places; the longest has {longest}")


def files_under(folder):
    """Yields the files of a folder, sorted, without what git keeps for itself."""
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(files):
            path = os.path.join(where, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield path


def files_of_tree():
    """Returns the files of the tree as git lists them, or without git all but build folders."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            check=False, capture_output=True)
    if listed.returncode == 0:
        return sorted(path for path in listed.stdout.decode().split("\0") if path)
    paths = [os.path.relpath(path, ROOT) for path in files_under(ROOT)]
    return [path for path in paths if not path.startswith("build")]


def main():
    """Compares the tree that holds this script with the folders."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--words", type=int, default=8)
    parser.add_argument("--code", type=int, default=24)
    parser.add_argument("--quiet", action="store_true", help="figures only")
    options = parser.parse_args()

    words = Comparison("prose", prose, options.words)
    tokens = Comparison("code", code, options.code)
    for folder in options.folder:
        before = len(words.words)
        for path in files_under(folder):
            text = text_of(path)
            if text is None:
                continue
            words.learn(path, text)
            if path.endswith((".c", ".h")):
                tokens.learn(path, text)
        if len(words.words) == before:
            print(f"{folder}: no text there", file=sys.stderr)
            return 2

    for path in files_of_tree():
        full = os.path.join(ROOT, path)
        if LEFT_OUT.search(path) or not os.path.isfile(full):
            continue
        text = text_of(full)
        if text is None:
            continue
        words.compare(path, text)
        if path.endswith((".c", ".h")):
            tokens.compare(path, text)

    for comparison in (words, tokens):
        comparison.report(options.quiet)
    for comparison in (words, tokens):
        print(comparison.figures())
    return 1 if words.found or tokens.found else 0


if __name__ == "__main__":
    sys.exit(main())
