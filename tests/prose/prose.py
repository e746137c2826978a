#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""prose.py - checks the prose of the tree against the limits. TAP.

usage: prose.py               checks each file
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
import rules  # noqa: E402
import tree  # noqa: E402

PERSONS_OF_TREE = 20
HINT = "see the sentences: tests/prose/prose.py --show FILE"


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
        sums.update({rule: n for rule, n in findings.counts().items() if rule in rules.ADDITIVE})
    return sums


def check(exemptions, found):
    def above(rule):
        return [f"{path}: {rule} {findings.counts()[rule]}" for path, findings in found.items()
                if rule in findings.counts()]

    tap = Tap()
    tap.test("no sentence has a headless subject", above("headless"))
    persons = total(found)["persons"]
    tap.test(f"the tree has at most {PERSONS_OF_TREE} indefinite persons",
             [f"{persons} in all", *above("persons")] if persons > PERSONS_OF_TREE else [])
    tap.test(f"no sentence has more than {rules.LONG} words", above("long"))
    tap.test(f"the median of a file is at most {rules.MEDIAN} words", above("median"))
    tap.test(f"at most {rules.PAIRS} % of a page's sentences stand in pairs of {rules.SHORT} words or fewer", above("pairs"))
    tap.test(f"no line of C has more than {rules.COLUMNS} columns", above("columns"))
    tap.test("each exemption is needed", exemptions.unused(), f"remove it from {tree.EXEMPT}")
    return tap.end()


def summary(path, findings):
    return " ".join([path] + [f"{rule}={count}" for rule, count in findings.counts().items()])


def show(found, name, root):
    path = os.path.relpath(os.path.abspath(name), root) if os.path.exists(name) else name
    if path not in found:
        raise tree.Problem(f"{name}: not a file that the lint reads")
    findings = found[path]
    for offence in sorted(findings.offences, key=lambda o: (o.line, o.rule)):
        print(f"{path}:{offence.line}: {offence.rule}: {offence.text}")
    print(f"{summary(path, findings)} ({findings.sentences} sentences, median {findings.median} words)")
    return 0


def worst(found, count):
    for path in sorted(found, key=lambda p: (-len(found[p].offences), p))[:count]:
        print(summary(path, found[path]))
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
    choice.add_argument("--totals", action="store_true")
    choice.add_argument("--show", metavar="FILE")
    choice.add_argument("--worst", metavar="N", type=int)
    chosen = parser.parse_args(arguments)
    root = os.path.realpath(chosen.tree)
    try:
        exemptions = tree.load_exemptions(root)
        found = tree.scan(root, exemptions)
        if chosen.show:
            return show(found, chosen.show, root)
        if chosen.worst is not None:
            return worst(found, chosen.worst)
        if chosen.totals:
            return totals(found)
        return check(exemptions, found)
    except tree.Problem as problem:
        print(f"prose.py: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
