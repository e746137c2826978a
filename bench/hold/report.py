#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# report.py - turns the output of bench_hold into percentages and a picture, and checks the goals.

"""report.py: turns the output of bench_hold into percentages and a picture, and checks the goals.

Usage: report.py [--worst N | --svg FILE | --goals] [FILE...]
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


def goals(rows):
    """Prints a line of TAP for each goal. Returns how many fail."""
    four = rows[0]["threads"] > 1
    r = [c["ours"] for c in rows]
    p99 = [longest(c) for c in rows]
    steady = [c["ours"] for c in rows if c["arrivals"] in ("exponential", "constant") and c["sh"] <= 0.5]
    most_below, least = (7, 0.4) if four else (3, 0.48)
    checks = [
        ("at least 0.9 of the best", share(r, lambda x: x >= 0.9), 80 if four else 93),
        ("not below 0.8 of the best", share(r, lambda x: x >= 0.8), 100 - most_below),
        ("percent of the best in the worst cell", 100 * min(r), 100 * least),
    ]
    if not four:
        checks += [
            ("at least 0.95 of the best", share(r, lambda x: x >= 0.95), 84),
            ("steady loads, SH 0 to 0.5: at least 0.9", share(steady, lambda x: x >= 0.9), 90),
            ("p99 at most twice", share(p99, lambda x: x <= 2), 92),
            ("p99 at most seven times", share(p99, lambda x: x <= 7), 100),
        ]
    print(f"1..{len(checks)}")
    for i, (what, got, want) in enumerate(checks, 1):
        print(f"{'ok' if got >= want else 'not ok'} {i} - {what}: {got:.1f}, goal {want}")
    return sum(got < want for _, got, want in checks)


# ---- the picture ----

BOUNDS = (0.1, 0.3, 1, 3, 10)
PANELS = (("SH 0", lambda s: s == 0), ("SH below 0.5", lambda s: 0 < s <= 0.5), ("SH above 0.5", lambda s: s > 0.5))
BOX, TOP, LEFT = 44, 60, 90


def step(x):
    return sum(x >= b for b in BOUNDS)


def color(x):
    """Returns red at 0.5 and below, yellow at 0.75, green at 1 and above."""
    x = min(max((x - 0.5) * 2, 0), 1)
    return f"rgb({int(255 * min(2 - 2 * x, 1))},{int(200 * min(2 * x, 1))},60)"


def text(x, y, words, anchor="middle"):
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>'


def labels():
    return ["&lt; " + str(BOUNDS[0])] + [f"{a} to {b}" for a, b in zip(BOUNDS, BOUNDS[1:])] + ["&gt; " + str(BOUNDS[-1])]


def panel(rows, left):
    n, out = len(BOUNDS) + 1, []
    for y in range(n):
        for x in range(n):
            r = [c["ours"] for c in rows if step(c["gap"] / c["hand_over"]) == x and step(c["use"] / c["hand_over"]) == y]
            at, top = left + x * BOX, TOP + (n - 1 - y) * BOX
            mean = sum(r) / len(r) if r else 0
            fill = color(mean) if r else "#eee"
            out.append(f'<rect x="{at}" y="{top}" width="{BOX - 1}" height="{BOX - 1}" fill="{fill}"/>')
            if r:
                out.append(text(at + BOX // 2, top + BOX // 2, f"{mean:.2f}"))
                out.append(text(at + BOX // 2, top + BOX // 2 + 14, f"{min(r):.2f}"))
    for x, label in enumerate(labels()):
        out.append(text(left + x * BOX + BOX // 2, TOP + n * BOX + 14, label))
    return out


def svg(rows, path):
    n = len(BOUNDS) + 1
    width, height = LEFT + len(PANELS) * (n * BOX + 20), TOP + n * BOX + 50
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="10">',
           '<rect width="100%" height="100%" fill="white"/>',
           text(LEFT, 18, "Throughput over that of the best fixed hold time: mean and least of the cells", "start"),
           text(LEFT - 8, TOP - 8, "use / hand-over", "end"),
           text(width // 2, height - 8, "gap / hand-over")]
    for y, label in enumerate(labels()):
        out.append(text(LEFT - 8, TOP + (n - 1 - y) * BOX + BOX // 2, label, "end"))
    for i, (name, test) in enumerate(PANELS):
        left = LEFT + i * (n * BOX + 20)
        out.append(text(left + n * BOX // 2, TOP - 8, name))
        out += panel([c for c in rows if test(c["sh"])], left)
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(out + ["</svg>", ""]))


def main(args):
    option, value = None, None
    if args and args[0].startswith("--"):
        option = args.pop(0)
        value = args.pop(0) if option in ("--worst", "--svg") else None
    rows = list(cells(args))
    if option == "--goals":
        sys.exit(goals(rows) != 0)
    if option == "--svg":
        svg(rows, value)
        return
    report(rows)
    if option == "--worst":
        worst(rows, int(value))


if __name__ == "__main__":
    main(sys.argv[1:])
