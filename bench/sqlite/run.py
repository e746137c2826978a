#!/usr/bin/env python3
"""run.py - measures SQLite with the VFS glock beside WAL and beside SQLite's own locks, in turns.

Usage: run.py BUILD_DIR [DISK_FOLDER] [ROUNDS] [SECONDS]
       run.py --chart FIGURES.tsv >docs/bench-sqlite.svg

LOADS has the loads and their goals. Each load runs on /dev/shm and in DISK_FOLDER (the build's folder),
with synchronous off, normal and full where it writes. In each round all peers take turns. A ratio is the
median over the rounds of the ratios within a round. A lone process waits for nothing, so its rate is that
of a second of CPU time. Other programs of the machine then change it less. The script prints a table, and
writes BUILD_DIR/bench_sqlite.tsv. A missed goal is printed clearly but is no error.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# name, processes, writes of 1,000 transactions, {peer: least ratio}, {figure: most}
LOADS = (
    ("1 process, reads by key", 1, 0, {"exclusive": 0.8, "wal": 2.2}, {}),
    ("4 processes, reads", 4, 0, {"wal": 2.2, "fcntl": 5}, {}),
    ("2 processes, 1 % writes", 2, 10, {"wal": 1.0, "fcntl": 4}, {"read99": 50}),
    ("2 processes, 10 % writes", 2, 100, {"wal": None, "fcntl": 1.5}, {"write999": 5000}),
    ("8 processes, 1 % writes", 8, 10, {"wal": None, "fcntl": None}, {}),
    ("8 processes, 10 % writes", 8, 100, {"wal": None, "fcntl": None}, {}),
)
QUEUE = 64        # processes that wait to write
QUEUE_S = 10
FAIR = 1.2        # luckiest to unluckiest
FSYNCS = 1000
FIGURES = {"read99": ("p99 of reads", "us"), "write999": ("p99.9 of writes", "us")}
PEERS = {"exclusive": "exclusive mode", "wal": "WAL", "fcntl": "rollback, fcntl"}


def measure(build, folder, kind, synchronous, processes, writes, seconds):
    """Runs a load in an empty folder. Returns its figures."""
    data = tempfile.mkdtemp(prefix="glock-bench-", dir=folder)
    spaces = tempfile.mkdtemp(prefix="glock-bench-", dir="/dev/shm")
    try:
        line = subprocess.run(
            [f"{build}/bench/sqlite/sqlite_load", f"{build}/src/sqlite/libglock_sqlite.so", data, kind, synchronous,
             str(processes), str(writes), str(int(1000 * seconds))],
            check=True, capture_output=True, text=True, env={**os.environ, "GLOCK_DIR": spaces}).stdout
    finally:
        shutil.rmtree(data)
        shutil.rmtree(spaces)
    figures = {name: float(value) for name, value in (word.split("=") for word in line.split())}
    if figures["failures"]:
        sys.exit(f"{kind}: {figures['failures']} transactions failed")
    return figures


def short(rate):
    return f"{rate / 1e6:.2f} M" if rate >= 1e6 else f"{rate / 1e3:.1f} k" if rate >= 1e3 else f"{rate:.0f}"


def plain(value):
    return f"{value:.3f}" if value < 2 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


class Table:
    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")
        self.missed = 0

    def row(self, *columns):
        print("{:<25} {:<15} {:<15} {:>10} {:>15} {:>6} {:>5}  {}".format(*columns).rstrip(), flush=True)

    def ratio(self, load, where, peer, ours, theirs, ratio, least):
        verdict = "" if least is None else "met" if ratio >= least else "MISSED"
        self.missed += verdict == "MISSED"
        self.row(load, where, PEERS[peer], short(ours), short(theirs), f"{ratio:.2f}",
                 "-" if least is None else f"{least:g}", verdict)
        self.file.write(f"{load}\t{where}\t{peer}\t{ours:.0f}\t{theirs:.0f}\t{ratio:.3f}\t{least or '-'}\n")

    def figure(self, load, where, name, unit, value, theirs, most):
        verdict = "" if most is None else "met" if value <= most else "MISSED"
        self.missed += verdict == "MISSED"
        self.row(load, where, name, f"{plain(value)} {unit}".rstrip(), theirs, "", "-" if most is None else f"{most:g}", verdict)
        self.file.write(f"{load}\t{where}\t{name}\t{value:.3f}\t{theirs}\t-\t{most or '-'}\n")


def run_load(table, build, place, folder, synchronous, load, rounds, seconds):
    name, processes, writes, peers, limits = load
    found = {kind: [] for kind in ("glock", *peers)}
    for _ in range(rounds if writes else 3 * rounds):
        for kind, figures in found.items():
            figures.append(measure(build, folder, kind, synchronous, processes, writes, seconds))
    where = f"{place} {synchronous}" if writes else place
    rate = "percpu" if processes == 1 else "rate"
    ours = statistics.median(f[rate] for f in found["glock"])
    for peer, least in peers.items():
        ratio = statistics.median(a[rate] / max(b[rate], 1) for a, b in zip(found["glock"], found[peer]))
        table.ratio(name, where, peer, ours, statistics.median(f[rate] for f in found[peer]), ratio, least)
    for figure, (text, unit) in FIGURES.items():
        if not writes:
            continue
        values = {kind: statistics.median(f[figure] for f in figures) for kind, figures in found.items()}
        theirs = "/".join(plain(values[peer]) for peer in peers)
        table.figure(name, where, text, unit, values["glock"], theirs, limits.get(figure))


def run_queue(table, build, place, folder, synchronous, rounds):
    for kind in ("glock", "wal", "fcntl"):
        found = [measure(build, folder, kind, synchronous, QUEUE, 1000, QUEUE_S) for _ in range(rounds)]
        fair = statistics.median(f["fair"] for f in found)
        what = {"glock": "glock"}.get(kind) or PEERS[kind]
        table.figure(f"{QUEUE} processes that write", f"{place} {synchronous}", what, "", fair,
                     short(statistics.median(f["rate"] for f in found)), FAIR if kind == "glock" else None)


def run_fsync(table, place, folder):
    """Measures a write of a page and an fsync, alone. No commit that waits for the disk is faster."""
    times = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for i in range(FSYNCS):
            os.pwrite(file.fileno(), b"x" * 4096, 4096 * (i % 16))
            begun = time.monotonic()
            os.fsync(file.fileno())
            times.append(1e6 * (time.monotonic() - begun))
    times.sort()
    for name, share in (("p50", 0.5), ("p99.9", 0.999)):
        table.figure("an fsync alone", place, name, "us", times[int(share * (FSYNCS - 1))], "", None)


# ---- the chart ----

WIDE, LEFT, BAR = 960, 200, 18
COLOURS = {"glock": "glock", "wal": "wal", "fcntl": "fcntl", "exclusive": "exclusive"}


def chart(path):
    """Draws the rates on /dev/shm with synchronous off, those of each load relative to its best one."""
    loads = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            load, where, peer, ours, theirs, *_ = line.rstrip("\n").split("\t")
            if where in ("/dev/shm", "/dev/shm off") and peer in PEERS:
                loads.setdefault(load, {"glock": float(ours)})[peer] = float(theirs)
    high = 40 + sum(24 + len(rates) * (BAR + 4) for rates in loads.values()) + 30
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {high}" width="{WIDE}" height="{high}" '
          'role="img" aria-labelledby="title">')
    print('<title id="title">Transactions a second with the VFS glock, with WAL, and with SQLite\'s own locks</title>')
    print("<style>\n"
          '\tsvg { font-family: ui-sans-serif, system-ui, "DejaVu Sans", Helvetica, Arial, sans-serif; font-size: 14px }\n'
          "\ttext { fill: #1f2328 } .small { font-size: 12.5px; fill: #57606a }\n"
          "\t.glock { fill: #0969da } .wal { fill: #bf8700 } .fcntl { fill: #8c959f } .exclusive { fill: #afb8c1 }\n"
          "\t@media (prefers-color-scheme: dark) {\n"
          "\t\ttext { fill: #e6edf3 } .small { fill: #9198a1 } .glock { fill: #4493f8 } .wal { fill: #d29922 }\n"
          "\t\t.fcntl { fill: #656c76 } .exclusive { fill: #3d444d }\n\t}\n</style>")
    y = 16
    for load, rates in loads.items():
        print(f'<text x="10" y="{y + 14}">{load}</text>')
        y += 24
        best = max(rates.values())
        for kind, rate in rates.items():
            name = PEERS.get(kind, "glock")
            wide = (WIDE - LEFT - 120) * rate / best
            print(f'<text class="small" x="{LEFT - 10}" y="{y + 14}" text-anchor="end">{name}</text>')
            print(f'<rect class="{COLOURS[kind]}" x="{LEFT}" y="{y}" width="{max(wide, 1):.1f}" height="{BAR}"/>')
            print(f'<text class="small" x="{LEFT + wide + 8:.0f}" y="{y + 14}">{short(rate)}/s</text>')
            y += BAR + 4
    print(f'<text class="small" x="10" y="{y + 22}">Transactions a second, longer is better; each load has a scale of '
          "its own. /dev/shm, synchronous off.</text>")
    print("</svg>")


def main():
    if sys.argv[1] == "--chart":
        return chart(sys.argv[2])
    build = os.path.abspath(sys.argv[1])
    disk = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else build
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 0.5
    subprocess.run(["ninja", "--quiet", "-C", build, "bench/sqlite/sqlite_load", "src/sqlite/libglock_sqlite.so"],
                   check=True, stdout=sys.stderr)
    with open("/proc/loadavg", encoding="utf-8") as file:
        load = " ".join(file.read().split()[:3])
    print(f"{time.strftime('%F')}, Linux {os.uname().release}, {os.cpu_count()} CPUs, load: {load}")
    table = Table(f"{build}/bench_sqlite.tsv")
    table.row("load", "where", "peer or figure", "glock", "peer", "ratio", "goal", "")
    run_fsync(table, "disk", disk)
    for place, folder in (("/dev/shm", "/dev/shm"), ("disk", disk)):
        for load in LOADS:
            for synchronous in ("off", "normal", "full") if load[2] else ("off",):
                slow = place == "disk" and synchronous != "off"  # a write takes milliseconds
                run_load(table, build, place, folder, synchronous, load, rounds, seconds * (4 if slow else 1))
        run_queue(table, build, place, folder, "off", max(rounds // 2, 1))
    with open("/proc/loadavg", encoding="utf-8") as file:
        print("load at the end:", " ".join(file.read().split()[:3]))
    if table.missed:
        print(f"\n*** {table.missed} GOAL{'S' if table.missed > 1 else ''} MISSED ***")
    return 0


if __name__ == "__main__":
    sys.exit(main())
