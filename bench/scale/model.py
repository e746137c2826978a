# SPDX-License-Identifier: MIT
"""model.py - how readers of one lock scale: a model for 1 to 256 CPUs, beside what this machine does.

Usage: model.py [--svg FILE] OUTPUT     OUTPUT: that of bench_scale, which says what was measured

The model knows the costs of one CPU and the time of a move, and nothing else. A reader takes the
lock, works, lets it go, and works. A counted word and a rwlock have one cache line for all readers.
Each of the two steps of a pair changes that line, and one CPU at a time has it. So the line is a
queue with one server, and the readers are its customers. If another CPU had the line last, a step
takes the time of a move. Else it takes the time of an atomic operation. Biased readers and readers
of RCU share no line that one of them writes. So n of them are n times as fast as one.
"""
import sys

KINDS = {"counted": "a glock, counted", "biased": "a glock, biased", "rwlock": "a rwlock of libc", "rcu": "RCU"}
SHARED = ("counted", "rwlock", "word")  # these have one line for all readers
STEPS = 2  # of a pair that change the line
CPUS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LEFT, TOP, WIDE, HIGH = 90, 50, 560, 320
LEAST, MOST = 1, 10000  # millions of pairs a second on the chart
COLORS = {"counted": "#cf222e", "biased": "#0969da", "rwlock": "#9a6700", "rcu": "#57606a"}


def read(path):
    """Returns the constants by name, and the measured readers by kind and threads."""
    constants, readers = {}, {}
    with open(path, encoding="ascii") as lines:
        for line in lines:
            words = line.rstrip("\n").split("\t")
            if words[0] == "constant":
                constants[words[1]] = float(words[2])
            elif words[0] == "readers":
                readers[words[1], int(words[2])] = float(words[3])
    return constants, readers


def queue(cpus, service, away):
    """Returns the pairs of each ns that so many readers make. A pair is served STEPS times, and is `away` for the rest."""
    waiting, rate = 0.0, 0.0
    for n in range(1, cpus + 1):  # mean value analysis: a reader finds the queue of one reader fewer
        there = STEPS * service * (1 + waiting)
        rate = n / (away + there)
        waiting = rate * there
    return rate


def predict(constants, kind, cpus):
    """Returns millions of pairs a second."""
    pair = constants[kind] + constants["work"]
    if kind not in SHARED:
        return cpus * 1e3 / pair
    own = constants["atomic"] / STEPS  # a step whose line is here
    service = (constants["move"] * (cpus - 1) + own) / cpus
    return 1e3 * queue(cpus, service, pair - STEPS * own)


def print_check(constants, readers):
    print("%-18s %7s %10s %10s %7s" % ("", "threads", "predicted", "measured", "ratio"))
    for kind, threads in readers:
        if kind in KINDS or kind == "word":
            says, does = predict(constants, kind, threads), readers[kind, threads]
            print("%-18s %7d %10.1f %10.1f %7.2f" % (KINDS.get(kind, "two bare atomics"), threads, says, does, says / does))


def print_model(constants):
    print("%6s" % "CPUs" + "".join("%20s" % KINDS[k] for k in KINDS))
    for cpus in CPUS:
        print("%6d" % cpus + "".join("%20.1f" % predict(constants, k, cpus) for k in KINDS))


# ---- the chart ----

def logarithm(value, base):
    n = 0.0
    while value >= base:
        value, n = value / base, n + 1
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if base ** middle <= value else (low, middle)
    return n + low


def place(cpus, rate):
    x = LEFT + WIDE * logarithm(cpus, 2) / 8
    share = logarithm(max(rate, LEAST) / LEAST, 10) / logarithm(MOST / LEAST, 10)
    return round(x, 1), round(TOP + HIGH * (1 - share), 1)


def text(x, y, words, anchor="middle", kind=""):
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{kind}>{words}</text>'


def axes():
    out = [text(LEFT, 20, "Model: readers of one lock, millions of pairs a second", "start"),
           text(LEFT, 38, "Lines are the model, dots were measured.", "start", ' class="small"')]
    rate = LEAST
    while rate <= MOST:
        y = place(1, rate)[1]
        out.append(f'<path class="grid" d="M{LEFT} {y}h{WIDE}"/>' + text(LEFT - 10, y + 4, f"{rate:,}", "end"))
        rate *= 10
    for cpus in CPUS:
        out.append(text(place(cpus, LEAST)[0], TOP + HIGH + 22, str(cpus)))
    return out + [text(LEFT + WIDE // 2, TOP + HIGH + 44, "CPUs")]


def curve(constants, readers, kind):
    points = [place(c, predict(constants, kind, c)) for c in CPUS]
    path = " ".join("%g,%g" % p for p in points)
    out = [f'<polyline points="{path}" fill="none" stroke="{COLORS[kind]}" stroke-width="2"/>',
           text(points[-1][0] + 8, points[-1][1] + 4, KINDS[kind], "start")]
    for (name, threads), rate in readers.items():
        if name == kind:
            x, y = place(threads, rate)
            out.append(f'<circle cx="{x}" cy="{y}" r="4" fill="{COLORS[kind]}"/>')
    return out


def svg(constants, readers, path):
    width, height = LEFT + WIDE + 150, TOP + HIGH + 60
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'role="img" aria-labelledby="title">',
           '<title id="title">A model of how readers of one lock scale from 1 to 256 CPUs</title>',
           "<style>",
           '\tsvg { font-family: ui-sans-serif, system-ui, "DejaVu Sans", Helvetica, Arial, sans-serif; font-size: 14px }',
           "\ttext { fill: #1f2328 } .small { font-size: 12.5px; fill: #57606a } .grid { stroke: #d0d7de }",
           "\t@media (prefers-color-scheme: dark) {",
           "\t\ttext { fill: #e6edf3 } .small { fill: #9198a1 } .grid { stroke: #30363d }",
           "\t}",
           "</style>"] + axes()
    for kind in KINDS:
        out += curve(constants, readers, kind)
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(out + ["</svg>", ""]))


def main(args):
    path = None
    if args[:1] == ["--svg"]:
        path, args = args[1], args[2:]
    if len(args) != 1:
        sys.exit(__doc__)
    constants, readers = read(args[0])
    if path:
        svg(constants, readers, path)
        return
    for name, ns in constants.items():
        print("%-10s %8.1f ns" % (name, ns))
    print("\nMillions of pairs a second, with the work of each reader:")
    print_check(constants, readers)
    print("\nThe model, millions of pairs a second:")
    print_model(constants)


main(sys.argv[1:])
