# SPDX-License-Identifier: MIT
# trace_load.py - makes a recording out of kernel traces of GFS2, and tells how long processes waited.
#
# Each line of a trace that counts a request has the glstats of that moment, and lines about holders tell
# the queue of each glock. So the trace has what samples would have shown, and the time of each wait.

import collections
import os
import re

LINE = re.compile(r"\s*(.{1,16}?)-(\d+)\s+\[\d+\] \S+\s+([\d.]+): gfs2_(\w+): \S+ glock (\d+):(\d+) (.*)")
STATS = re.compile(r"tdiff:(\d+) srtt:(-?\d+)/(-?\d+) srttb:(-?\d+)/(-?\d+) sirt:(-?\d+)/(-?\d+) dcnt:(\d+) qcnt:(\d+)")
MODES = {"NL": "UN", "PR": "SH", "CW": "DF", "EX": "EX"}
TYPES = ["reserved", "nondisk", "inode", "rgrp", "meta", "iopen", "flock", "plock", "quota", "journal"]
COUNTERS = ["srtt", "srttvar", "srttb", "srttvarb", "sirt", "sirtvar", "dlm", "queue"]
SRTTB, DCNT, QCNT = 2, 6, 7
STEP = 5.0
Holder = collections.namedtuple("Holder", "mode pid comm since")


def events_of(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            m = LINE.match(line)
            if m:
                comm, pid, at, event, kind, number, rest = m.groups()
                yield float(at), int(pid), comm.strip(), event, (int(kind), int(number)), rest


class Node:
    """A node's glocks at one moment of its trace."""

    def __init__(self, events):
        self.state, self.stats = {}, {}
        self.waiting, self.held = collections.defaultdict(list), collections.defaultdict(list)
        self.born = collections.defaultdict(list)  # the means that a glock inherits, for each of its lives
        self.sums = [[0] * len(COUNTERS) for _ in TYPES]
        self.begin(events)

    def begin(self, events):
        """Takes back the first request of each glock, which tells what the glock was before the trace."""
        queued = collections.Counter()
        for _, _, _, event, glock, rest in events:
            if event == "glock_queue":
                queued[glock] += rest.startswith("queue")
            elif event == "glock_state_change":
                self.state.setdefault(glock, MODES[rest.split()[1]])
            elif event == "glock_lock_time":
                took, *stats = map(int, STATS.search(rest).groups())
                before = stats[:SRTTB] + [max((8 * stats[SRTTB] - took) // 7, 0)] + stats[SRTTB + 1:]
                if stats[DCNT] == 1:
                    self.born[glock].append(before[:DCNT] + [0, 0])
                elif glock not in self.stats and glock not in self.born:
                    self.stats[glock] = before[:DCNT] + [stats[DCNT] - 1, max(stats[QCNT] - queued[glock], 0)]

    def take(self, at, pid, comm, event, glock, rest):
        """Takes an event. Returns the begin of a wait that it ends, or None."""
        waiting, held = self.waiting[glock], self.held[glock]
        if glock not in self.stats:
            self.stats[glock] = self.born[glock].pop(0) if self.born[glock] else [0] * len(COUNTERS)
        mode = MODES.get(rest.split()[-1], "EX")
        if event == "glock_queue" and rest.startswith("queue"):
            waiting.append(Holder(mode, pid, comm, at))
            self.stats[glock][QCNT] += 1
            self.sums[glock[0]][QCNT] += 1
        elif event == "promote":
            for h in waiting:
                if h.mode == mode:
                    waiting.remove(h)
                    held.append(h)
                    return h.since
        elif event == "glock_queue":
            for own in (lambda h: h.pid == pid), (lambda h: True):
                for queue in held, waiting:
                    for h in queue:
                        if h.mode == mode and own(h):
                            queue.remove(h)
                            return h.since if queue is waiting else None
        elif event == "glock_state_change":
            self.state[glock] = MODES[rest.split()[3]]
        elif event == "glock_lock_time":
            took, *stats = map(int, STATS.search(rest).groups())
            total = self.sums[glock[0]]
            total[DCNT] += 1
            if stats[SRTTB:SRTTB + 2] != self.stats[glock][SRTTB:SRTTB + 2]:
                total[SRTTB] += (took - total[SRTTB]) >> 3
            self.stats[glock] = stats
        elif event == "glock_put":
            for known in self.state, self.stats, self.waiting, self.held:
                known.pop(glock, None)
        return None

    def write(self, folder, node, at, number):
        at_node, lockspace = f"{folder}/t{number:02}/{node}", f"{folder}/t{number:02}/{node}/gfs2/lab:fs1"
        os.makedirs(lockspace)
        for path, text in (f"{at_node}/uptime", f"{at:.2f} 1.00\n"), (f"{at_node}/realtime", f"{1795154607 + number * STEP}\n"):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        with open(f"{lockspace}/glocks", "w", encoding="utf-8") as glocks, \
                open(f"{lockspace}/glstats", "w", encoding="utf-8") as glstats:
            for glock, stats in self.stats.items():
                state, waiting, held = self.state.get(glock, "UN"), self.waiting[glock], self.held[glock]
                if not any(stats):
                    continue
                name = f"n:{glock[0]}/{glock[1]:x}"
                glocks.write(f"G:  s:{state} {name} f:Iqob t:{state} d:EX/0 a:0 v:0 r:3 m:50 p:1\n")
                for flag, h in [("W", h) for h in waiting] + [("H", h) for h in held]:
                    glocks.write(f" H: s:{h.mode} f:{flag} e:0 p:{h.pid} [{h.comm}] gfs2_open+0x1c/0x40 [gfs2]\n")
                s = list(stats)
                s[DCNT] += bool(waiting and not held)  # a request counts when it begins
                glstats.write(f"G: {name} rtt:{s[0]}/{s[1]} rttb:{s[2]}/{s[3]} irt:{s[4]}/{s[5]} dcnt: {s[6]} qcnt: {s[7]}\n")
        with open(f"{lockspace}/sbstats", "w", encoding="utf-8") as f:
            f.write("type            cpu:               0\n")
            for kind, counters in zip(TYPES, self.sums):
                f.writelines(f"{kind:9}{name:>10}:{value:16}\n" for name, value in zip(COUNTERS, counters))


def make(traces, folder):
    """Writes samples of the nodes in `traces` (node -> path). Returns the seconds that processes waited
    for each glock between the first sample and the last one."""
    waited = collections.Counter()
    every = {node: list(events_of(path)) for node, path in traces.items()}
    samples = int(min(events[-1][0] - events[0][0] for events in every.values()) // STEP)
    for name, events in every.items():
        node, number = Node(events), 0
        first = events[0][0] + 0.5
        last = first + (samples - 1) * STEP

        def add(glock, begin, end):
            waited[glock] += max(min(end, last) - max(begin, first), 0)

        for event in events:
            while number < samples and event[0] >= first + number * STEP:
                node.write(folder, name, first + number * STEP, number)
                number += 1
            begin = node.take(*event)
            if begin is not None:
                add(event[4], begin, event[0])
        for glock, queue in node.waiting.items():
            for h in queue:
                add(glock, h.since, last)
    return waited
