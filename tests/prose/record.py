# SPDX-License-Identifier: MIT
"""record.py - the recorded counts of each file, what differs from them today, and how an update lowers them.

The record has one line a file: the path, then RULE=COUNT for each rule with a count. An update never raises the sum of
a rule over the tree. A file may get a higher count only for sentences that moved into it from another file.
"""

import collections
import fnmatch
import io
import os
import re
import subprocess
import tarfile

import readers
import rules

RECORD = "tests/prose/counts"
EXEMPT = "tests/prose/exempt"
SKIPPED = re.compile(r"build.*|__pycache__")
HIDDEN = (".ci", ".github")
ALIKE = 0.5     # of the words of two sentences, for the second to be the first after a change of names

HEADER = """\
# The offences of each file against the rules of prose. A count may only fall: tests/prose/prose.py --update.
"""


class Problem(Exception):
    """A file of the lint itself cannot be used."""


# ---- exemptions ----

class Exemptions:
    """The lines "PATTERN | WORDS | REASON" of the file exempt. WORDS "*" exempts all that the files say."""

    def __init__(self, text):
        self.entries, self.used = [], set()
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip() or line.startswith("#"):
                continue
            parts = [part.strip() for part in line.split(" | ")]
            if len(parts) != 3 or not all(parts):
                raise Problem(f"{EXEMPT}:{number}: not PATTERN | WORDS | REASON: {line}")
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
        return [f"{EXEMPT}:{number}: {pattern} | {words}: nothing is left that needs it"
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


# ---- the record ----

def parse(text):
    record = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        path, *fields = line.split()
        counts = {}
        for field in fields:
            rule, _, count = field.partition("=")
            if rule not in rules.RULES or not count.isdigit() or int(count) == 0:
                raise Problem(f"{RECORD}:{number}: {field}")
            counts[rule] = int(count)
        if path in record:
            raise Problem(f"{RECORD}:{number}: {path} again")
        record[path] = counts
    return record


def format_line(path, counts):
    return " ".join([path] + [f"{rule}={counts[rule]}" for rule in rules.RULES if counts.get(rule)])


def format_record(record):
    return HEADER + "".join(format_line(path, record[path]) + "\n" for path in sorted(record))


def load(root):
    """Returns the record, or None where there is none."""
    try:
        with open(os.path.join(root, RECORD), encoding="utf-8") as file:
            return parse(file.read())
    except FileNotFoundError:
        return None


def save(root, record):
    with open(os.path.join(root, RECORD), "w", encoding="utf-8") as file:
        file.write(format_record(record))


# ---- the ratchet ----

NEW = {"over20": None}      # a new file may have sentences of 21 to 40 words; it obeys every other limit


class Differences:
    """Compares today's counts with the record: lists of messages."""

    def __init__(self, record, found):
        self.raised, self.new, self.lower = [], [], []
        self.gone = [f"{path}: recorded, but not there" for path in sorted(record) if path not in found]
        for path in sorted(found):
            counts = found[path].counts()
            if path not in record:
                self.new.extend(self.message(path, rule, counts[rule], "a new file may have none")
                                for rule in rules.RULES if rule in counts and rule not in NEW)
                continue
            for rule in rules.RULES:
                now, then = counts.get(rule, 0), record[path].get(rule, 0)
                if now > then:
                    self.raised.append(self.message(path, rule, now, f"recorded are {then}"))
                elif now < then:
                    self.lower.append(self.message(path, rule, now, f"recorded are {then}"))

    @staticmethod
    def message(path, rule, now, why):
        return f"{path}: {rule} {now}, {why}"


# ---- the update ----

def git(root, *arguments):
    """Returns what git prints, or None without git or without a repository."""
    try:
        return subprocess.run(["git", "-C", root, *arguments], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def scan_base(root, exemptions):
    """Returns {path: findings} of the commit that changed the record last; {} where that is not known."""
    commit = git(root, "log", "-1", "--format=%H", "--", RECORD)
    if not commit or not commit.strip():
        return {}
    archive = git(root, "archive", "--format=tar", commit.decode().strip())
    if archive is None:
        return {}
    found = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tree:
        for member in tree:
            if member.isfile() and readers.kind_of(member.name) and not exemptions.whole(member.name):
                text = tree.extractfile(member).read().decode("utf-8", "replace")
                found[member.name] = rules.find(member.name, text, exemptions.sentence)
    return found


def word_set(text):
    return frozenset(re.findall(r"\w+", text.lower()))


def likeness(a, b):
    return len(a & b) / len(a | b) if a | b else 0


class Moves:
    """Finds the files from which the offences of one rule came to another file.

    An offence is lost if the base has it in a file that has it no more. It moved to the file that has the same words
    now, or words much like them. The files together never get more than the counts of other files fell.
    """

    def __init__(self, rule, base, found, budget):
        self.budget = budget
        self.base = {path: collections.Counter(findings.texts(rule)) for path, findings in base.items()}
        self.now = {path: collections.Counter(findings.texts(rule)) for path, findings in found.items()}
        self.lost = collections.defaultdict(list)       # text: the paths that lost it
        for path, texts in self.base.items():
            for text in (texts - self.now.get(path, collections.Counter())).elements():
                self.lost[text].append(path)

    def claim(self, path, needed, find):
        """Takes up to `needed` lost offences for that path. Returns {path they come from: count}."""
        origins = collections.Counter()
        arrived = self.now[path] - self.base.get(path, collections.Counter())
        for text in arrived.elements():
            if needed == 0 or self.budget == 0:
                break
            lost = find(self, text, path)
            if lost is not None:
                origin = self.elsewhere(lost, path)
                self.lost[lost].remove(origin)
                origins[origin] += 1
                needed -= 1
                self.budget -= 1
        return origins

    def elsewhere(self, text, path):
        """Returns a file other than `path` that lost the text, or None."""
        return next((owner for owner in self.lost.get(text, ()) if owner != path), None)

    def same(self, text, path):
        return text if self.elsewhere(text, path) else None

    def alike(self, text, path):
        words = word_set(text)
        best = max((lost for lost in self.lost if self.elsewhere(lost, path)),
                   key=lambda lost: likeness(words, word_set(lost)), default=None)
        return best if best is not None and likeness(words, word_set(best)) >= ALIKE else None


class Update:
    """The record that replaces an older one: what moved, and what is refused."""

    def __init__(self, record, found, base):
        self.found = found
        self.counts = {path: findings.counts() for path, findings in found.items()}
        self.allowed = {path: dict(record[path]) for path in found if path in record}
        self.moved, self.refused = [], []
        vanished = {path: dict(counts) for path, counts in record.items() if path not in found}
        self.carry(record, vanished)
        for rule in rules.ADDITIVE:
            self.move(rule, base, vanished)
        for path in found:
            self.settle(path)
        self.record = self.allowed

    def carry(self, record, vanished):
        """Gives the counts of a vanished path to the one new path that has its name."""
        by_name = collections.defaultdict(list)
        for path in self.found:
            if path not in record:
                by_name[os.path.basename(path)].append(path)
        names = collections.Counter(os.path.basename(path) for path in vanished)
        for old in list(vanished):
            name = os.path.basename(old)
            if names[name] == 1 and len(by_name[name]) == 1:
                new = by_name[name][0]
                self.allowed[new] = vanished.pop(old)
                self.moved.append(f"{old} -> {new}")

    def move(self, rule, base, vanished):
        """Raises what is allowed by the offences that moved."""
        allowed = {path: self.allowed.get(path, {}).get(rule, 0) for path in self.found}
        needs = {path: self.counts[path].get(rule, 0) - count for path, count in allowed.items()}
        budget = sum(-need for need in needs.values() if need < 0)
        budget += sum(counts.get(rule, 0) for counts in vanished.values())
        moves = Moves(rule, base, self.found, budget)
        for find in (Moves.same, Moves.alike):
            for path in sorted(self.found):
                if needs[path] <= 0:
                    continue
                for origin, count in sorted(moves.claim(path, needs[path], find).items()):
                    needs[path] -= count
                    counts = self.allowed.setdefault(path, {})
                    counts[rule] = counts.get(rule, 0) + count
                    self.moved.append(f"{origin} -> {path}: {rule} {count}")

    def settle(self, path):
        """Lowers the allowed counts to today's, and refuses a count above them."""
        counts = self.counts[path]
        is_new = path not in self.allowed
        allowed = self.allowed.setdefault(path, {})
        refused = []
        for rule in rules.ADDITIVE:
            now, then = counts.get(rule, 0), allowed.get(rule, 0)
            if now > then and not (is_new and rule in NEW):
                refused.append((rule, then))
            else:
                allowed[rule] = now
        # Fewer short sentences raise a median. No sentence got worse where none above 20 words was added.
        now, then = counts.get("median", 0), allowed.get("median", 0)
        if now > then and (is_new or any(rule == "over20" for rule, _ in refused)):
            refused.append(("median", then or rules.MEDIAN))
        else:
            allowed["median"] = now
        self.refused.extend(Differences.message(path, rule, counts[rule], f"allowed are {then}")
                            for rule, then in refused)
        if is_new and refused:
            del self.allowed[path]
