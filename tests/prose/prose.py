#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""prose.py - checks that the prose of the tree gets better only. TAP.

usage: prose.py               compares each file's counts with the record, tests/prose/counts
       prose.py --limits      checks the limits for every file instead
       prose.py --update      writes lower counts into the record, follows sentences that moved, raises none
       prose.py --show FILE   prints the offences of FILE, a line each
       prose.py --worst N     prints the N files with the most offences
       prose.py --totals      prints the sums over the tree
       --tree DIR             another tree than the one of this file
"""

import argparse
import collections
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import record  # noqa: E402
import rules  # noqa: E402

PERSONS_OF_TREE = 20
HINT = "see the sentences: tests/prose/prose.py --show FILE"
TIGHTEN = "run tests/prose/prose.py --update, so that the counts stay as low as they are"


class Tap:
    """Prints a test for each list of messages. A test without a message passes."""

    def __init__(self):
        self.number, self.failed = 0, False

    def test(self, name, messages, hint=HINT):
        self.number += 1
        if messages:
            self.failed = True
            print("".join(f"# {message}\n" for message in [*messages, hint]), end="")
        print(f"{'not ok' if messages else 'ok'} {self.number} - {name}")

    def end(self):
        print(f"1..{self.number}")
        return 1 if self.failed else 0


def total(found):
    sums = collections.Counter()
    for findings in found.values():
        sums.update({rule: n for rule, n in findings.counts().items() if rule != "median"})
    return sums


def check(root, exemptions, found):
    recorded = record.load(root)
    if recorded is None:
        raise record.Problem(f"{record.RECORD} is missing")
    differences = record.Differences(recorded, found)
    tap = Tap()
    tap.test("no count of a file rose", differences.raised)
    tap.test("new files obey the limits", differences.new)
    tap.test("each recorded file is there", differences.gone, TIGHTEN)
    tap.test("the record is as low as the counts", differences.lower, TIGHTEN)
    tap.test("each exemption is needed", exemptions.unused(), f"remove it from {record.EXEMPT}")
    return tap.end()


def check_limits(_, exemptions, found):
    def above(rule):
        return [record.Differences.message(path, rule, findings.counts()[rule], "the limit is " +
                                           (str(rules.MEDIAN) if rule == "median" else "0"))
                for path, findings in found.items() if rule in findings.counts()]

    tap = Tap()
    tap.test("no sentence has a headless subject", above("headless"))
    persons = total(found)["persons"]
    tap.test(f"the tree has at most {PERSONS_OF_TREE} indefinite persons",
             [f"{persons} in all", *above("persons")] if persons > PERSONS_OF_TREE else [])
    tap.test(f"no sentence has more than {rules.VERY_LONG} words", above("over40"))
    tap.test(f"the median of a file is at most {rules.MEDIAN} words", above("median"))
    tap.test(f"no line of C has more than {rules.COLUMNS} columns", above("columns"))
    tap.test("each exemption is needed", exemptions.unused(), f"remove it from {record.EXEMPT}")
    return tap.end()


def update(root, exemptions, found):
    recorded = record.load(root)
    if recorded is None:
        # The first record takes the counts as they are. A record that git knows is not to be replaced in this way.
        if record.git(root, "ls-files", "--error-unmatch", record.RECORD) is not None:
            raise record.Problem(f"{record.RECORD} is missing: git checkout {record.RECORD}")
        record.save(root, {path: findings.counts() for path, findings in found.items()})
        return 0
    base = record.scan_base(root, exemptions)
    change = record.Update(recorded, found, base)
    record.save(root, change.record)
    for line in change.moved:
        print(f"moved: {line}")
    for line in change.refused:
        print(f"refused: {line}", file=sys.stderr)
    if change.refused:
        print(HINT, file=sys.stderr)
    return 1 if change.refused else 0


def show(found, name, root):
    path = os.path.relpath(os.path.abspath(name), root) if os.path.exists(name) else name
    if path not in found:
        raise record.Problem(f"{name}: not a file that the lint reads")
    findings = found[path]
    for offence in sorted(findings.offences, key=lambda o: (o.line, o.rule)):
        print(f"{path}:{offence.line}: {offence.rule}: {offence.text}")
    print(f"{record.format_line(path, findings.counts())} ({findings.sentences} sentences, "
          f"median {findings.median} words)")
    return 0


def worst(found, count):
    def weight(findings):
        return sum(1 for offence in findings.offences if offence.rule != "over20")

    for path in sorted(found, key=lambda p: (-weight(found[p]), p))[:count]:
        print(record.format_line(path, found[path].counts()))
    return 0


def totals(found):
    sums = total(found)
    above = sum(1 for findings in found.values() if "median" in findings.counts())
    for rule in rules.ADDITIVE:
        print(f"{rule:10}{sums[rule]:6}")
    print(f"{'median':10}{above:6}   files above {rules.MEDIAN} words")
    print(f"{'files':10}{len(found):6}\n{'sentences':10}{sum(f.sentences for f in found.values()):6}")
    return 0


def main(arguments=None):
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--tree", default=os.path.join(here, "..", ".."))
    choice = parser.add_mutually_exclusive_group()
    for option in ("--limits", "--update", "--totals"):
        choice.add_argument(option, action="store_true")
    choice.add_argument("--show", metavar="FILE")
    choice.add_argument("--worst", metavar="N", type=int)
    chosen = parser.parse_args(arguments)
    root = os.path.realpath(chosen.tree)
    try:
        exemptions = record.load_exemptions(root)
        found = record.scan(root, exemptions)
        if chosen.show:
            return show(found, chosen.show, root)
        if chosen.worst is not None:
            return worst(found, chosen.worst)
        if chosen.totals:
            return totals(found)
        action = update if chosen.update else check_limits if chosen.limits else check
        return action(root, exemptions, found)
    except record.Problem as problem:
        print(f"prose.py: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
