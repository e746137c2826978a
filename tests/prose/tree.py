# SPDX-License-Identifier: MIT
"""tree.py - the files that the lint reads, and what it does not count in them."""

import fnmatch
import os
import re

import readers
import rules

EXEMPT = "tests/prose/exempt"
SKIPPED = re.compile(r"build.*|__pycache__")
HIDDEN = (".ci", ".github")


class Problem(Exception):
    """A file of the lint itself cannot be used."""


# ---- exemptions ----

class Exemptions:
    """The lines "PATTERN | WORDS | REASON" of a file exempt. WORDS "*" exempts all that the files say."""

    def __init__(self, text, place=EXEMPT):
        self.place, self.entries, self.used = place, [], set()
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip() or line.startswith("#"):
                continue
            parts = [part.strip() for part in line.split(" | ")]
            if len(parts) != 3 or not all(parts):
                raise Problem(f"{place}:{number}: not PATTERN | WORDS | REASON: {line}")
            self.entries.append((number, *parts))

    def whole(self, path):
        """Tells whether a file is exempt as a whole."""
        return self.matches(path, lambda words: words == "*")

    def sentence(self, path, text):
        return self.matches(path, lambda words: words != "*" and words in text)

    def matches(self, path, fits):
        for number, pattern, words, _ in self.entries:
            if fnmatch.fnmatch(path, pattern) and fits(words):
                self.used.add(number)
                return True
        return False

    def unused(self):
        return [f"{self.place}:{number}: {pattern} | {words}: nothing is left that needs it"
                for number, pattern, words, _ in self.entries if number not in self.used]


# ---- the tree ----

def paths(root):
    """Yields the paths of the tree. A source archive has no git, so this walks."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if not SKIPPED.fullmatch(f) and (f[0] != "." or f in HIDDEN))
        for name in sorted(files):
            yield os.path.relpath(os.path.join(folder, name), root)


def load_exemptions(root):
    try:
        with open(os.path.join(root, EXEMPT), encoding="utf-8") as file:
            return Exemptions(file.read())
    except FileNotFoundError:
        return Exemptions("")


def scan(root, exemptions):
    """Returns {path: findings} of the tree."""
    found = {}
    for path in paths(root):
        if exemptions.whole(path) or not readers.kind_of(path):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            found[path] = rules.find(path, file.read(), exemptions.sentence)
    return found
