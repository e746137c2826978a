#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# report.py - turns the output of bench_hold into percentages.

"""report.py: turns the output of bench_hold into percentages.

Usage: report.py [--worst N] [FILE...]
"""
import sys

NAMES = ("cell nodes threads gap other_gap use hand_over sh io arrivals best best_per_s shortest best_p99 "
         "ours_p99 ours gfs2 none least").split()
WORDS = {"arrivals"}


def cells(files):
    for name in files:
        with open(name, encoding="ascii") as lines:
            for line in lines:
                words = line.split()
                yield {n: w if n in WORDS else float(w) for n, w in zip(NAMES, words)}


def share(rows, test):
    return 100 * sum(map(test, rows)) / len(rows) if rows else float("nan")


def throughput(rows, policy, name):
    r = [c[policy] for c in rows]
    print(f"{name:34} {share(r, lambda x: x >= 0.95):6.1f} {share(r, lambda x: x >= 0.9):6.1f} "
          f"{share(r, lambda x: x < 0.8):6.1f} {min(r):7.2f}")


def longest(c):
    """Returns the p99 of ours by that of the shortest hold within 5 % of the best."""
    return c["ours_p99"] / c["best_p99"] if c["best_p99"] else 1.0


def report(rows):
    steady = [c for c in rows if c["arrivals"] in ("exponential", "constant") and c["sh"] <= 0.5]
    print(f"{len(rows)} cells; % of the cells".ljust(34), " >=.95   >=.9    <.8     min")
    for policy, name in (("ours", "the default"), ("gfs2", "GFS2's rule"), ("old", "the rule before"),
                         ("none", "no hold time")):
        if policy in rows[0]:
            throughput(rows, policy, name)
    throughput(steady, "ours", "the default, steady, SH 0 to 0.5")
    p99 = [longest(c) for c in rows]
    print(f"p99 at most twice: {share(p99, lambda x: x <= 2):.1f} %, most {max(p99):.1f}")


def worst(rows, n):
    for key, what in ((lambda c: c["ours"], "throughput"), (lambda c: -longest(c), "p99")):
        print(f"worst {what}:")
        for c in sorted(rows, key=key)[:n]:
            print("  " + " ".join(f"{k}={c[k]:g}" if k not in WORDS else c[k] for k in NAMES[:10]),
                  f"best hold {c['best']:g} ours {c['ours']:.3f} none {c['none']:.2f} p99 {longest(c):.2f}")


def main(args):
    n = 0
    if args and args[0] == "--worst":
        n = int(args[1])
        args = args[2:]
    rows = list(cells(args))
    report(rows)
    if n:
        worst(rows, n)


if __name__ == "__main__":
    main(sys.argv[1:])
