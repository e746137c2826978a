# SPDX-License-Identifier: MIT
# truth.py - judges o2top's frames by the truth that a load wrote down (truth_load.c).
#
# All times are this machine's. A sample of a node lies somewhere between the frame before and the
# frame. A late sample was asked for before that, and o2top tells how long before it came. A frame
# counts from the sample before. So a statement is a contradiction only if it holds at no moment of
# this span.

import os
import re
from collections import defaultdict

SLACK = 2.5  # seconds: the frame before came so much later than its samples, on a busy machine
STALLED = 1.5  # seconds without the end of an operation: the machine itself stands still
LEFT_OUT = 20  # seconds: a lock's line may be missing so long
ALWAYS = float("inf")
WRITES = ("write", "touch", "flock", "reopen", "churn", "append", "map", "truncate", "rename", "orphan")


class Truth:
    """The workers' waits and holds. A key is (node, fs, ino)."""

    def __init__(self, folder, offsets, ended):
        """offsets: what to add to a node's time since boot. ended: the time at which a node lost
        its power, or the end."""
        self.paths, self.operations, self.work = {}, defaultdict(set), {}
        self.waits, self.holds = defaultdict(list), defaultdict(list)
        for name in sorted(os.listdir(folder)):
            if name.startswith("truth.node"):
                node = name.split(".")[1]
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    self._read(f.read().splitlines(), node, offsets[node], ended)
        self.ends = {node: sorted(e for (n, *_), waits in self.waits.items() if n == node for _, e, *_ in waits)
                     for node in offsets}

    def _read(self, lines, node, offset, ended):
        if not lines:
            return
        _, pid, operation, ino, path = lines[0].split(" ", 4)
        fs = path.split("/")[2]
        key = (node, fs, int(ino))
        self.paths[fs, int(ino)] = path
        self.operations[fs, int(ino)].add((node, operation))
        waits, begin = [], None
        for line in lines[1:]:
            words = line.split()
            if words[0] == "b" and len(words) == 2:
                begin = int(words[1]) * 1e-6 + offset
            elif words[0] == "e" and begin is not None:
                end = int(words[1]) * 1e-6 + offset
                waits.append((begin, end))
                if operation in ("flock", "share", "fcntl", "fread"):
                    self._hold(key, end, [int(word) * 1e-6 + offset for word in words[2:]], int(pid))
                begin = None
        if begin is not None:
            waits.append((begin, ended.get(node, ALWAYS)))
        if path.rsplit("/", 1)[1].startswith("own") and waits:
            # a file of its own never waits, so this is what an operation takes on that machine
            took = [end - begin for begin, end in waits if end < ALWAYS]
            self.work[node, fs, operation] = sum(took) / max(len(took), 1)
        self.waits[key] += [(b, e, int(pid), operation) for b, e in waits]

    def _hold(self, key, end, given_up, pid):
        """Giving a flock up asks the DLM, too, and so may wait. Until then the node has it."""
        free = given_up[1] if len(given_up) > 1 else ALWAYS
        self.holds[key].append((end, free, pid, "flock"))
        if given_up:
            self.waits[key].append((given_up[0], free, pid, "unlock"))

    def nodes(self, fs, ino):
        return sorted({node for node, f, i in self.waits if (f, i) == (fs, ino)})

    def lost(self, fs, ino, begin, end):
        """Returns the seconds that all nodes waited in this span."""
        total = 0
        for node in self.nodes(fs, ino):
            for b, e, _, operation in self.waits[node, fs, ino]:
                inside, whole = min(e, end) - max(b, begin), min(e, end + 1e6) - b
                if inside > 0:
                    # beyond the work that one takes, it waits
                    work = self.work.get((node, fs, operation), self.work.get((node, fs, "write"), 0))
                    total += inside * (1 - work / max(whole, 1e-6))
        return total

    def waits_in(self, node, fs, ino, begin, end):
        """Returns the waits that overlap a span, each as (age at its end in the span, ...)."""
        return [(min(e, end) - b, b, e, pid, operation) for b, e, pid, operation in self.waits[node, fs, ino]
                if b < end and e > begin]

    def holders_in(self, node, fs, ino, begin, end):
        return {pid for b, e, pid, _ in self.holds[node, fs, ino] if b < end and e > begin}


def seconds(text):
    """Reads an age as o2top prints it: 120 ms, 3.2 s, 2m05s, 1h02m."""
    units = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
    found = re.findall(r"([\d.]+) ?(us|ms|min|s|m|h|d)\b|([\d.]+)(h|m)(?=\d)", text)
    return sum(float(a or c) * units[b or d] for a, b, c, d in found)


class Judge:
    def __init__(self, truth, events):
        """events: (what, node, begin, end), when a node was stopped, cut off or without power."""
        self.truth, self.events = truth, events
        self.contradictions, self.judged = [], defaultdict(int)
        self.before = ALWAYS  # when the frame before came

    def troubled(self, node, begin, end):
        return any((node is None or n == node) and b < end and e > begin for _, n, b, e in self.events)

    def silent(self, node, begin, end):
        """Tells whether a node did not answer: by an event, or because its machine stood still."""
        if self.troubled(node, begin - 60, end):
            return True
        for one in [node] if node else self.truth.ends:
            ends = [begin - 60, *(e for e in self.truth.ends[one] if begin - 60 < e < end), end]
            if max(b - a for a, b in zip(ends, ends[1:])) > STALLED:
                return True
        return False

    def wrong(self, frame, kind, text):
        self.contradictions.append(f"frame {frame['number']} {kind}: {text}")

    def claim(self, frame, kind, holds, text):
        self.judged[kind] += 1
        if not holds:
            self.wrong(frame, kind, text)

    def frame(self, frame):
        for row in frame["rows"]:
            key = row["fs"], row["ino"]
            if key in self.truth.paths:
                self.row(frame, row, *self.span(frame))
        for banner in frame["banners"]:
            if m := re.match(r"(node\d+) silent for", banner):
                self.claim(frame, "banner", self.silent(m[1], *self.span(frame)), banner)
            elif re.search(r"recovers|is fenced|dead or not watched", banner):
                self.claim(frame, "banner", self.troubled(None, frame["at"] - 120, frame["at"]), banner)
        self.before = frame["at"]

    def span(self, frame):
        longest = max([n["interval_s"] or 0 for n in frame["nodes"]] + [frame["interval_s"] or 0])
        begin = frame["at"] - longest - SLACK
        for node in frame["nodes"]:
            if late := re.match(r"the sample came ([\d.]+) s after", node["why"] or ""):
                asked = min(self.before, frame["at"]) - float(late[1])
                begin = min(begin, asked - (node["interval_s"] or 0) - 0.2)
        return begin, frame["at"] + 0.2

    def row(self, frame, row, begin, end):
        fs, ino = row["fs"], row["ino"]
        truth, path = self.truth, self.truth.paths[fs, ino]
        if row["path"]:
            self.claim(frame, "path", row["path"] == path, f"{row['path']} is {path}")
        where = f"{path}: {row['sentence'] or row['advice']}"
        for node in row["nodes"]:
            waits = truth.waits_in(node["name"], fs, ino, begin, end)
            if node["waiting"] and node["oldest_wait_s"] and node["oldest_wait_s"] > 0.5:
                self.claim(frame, "age", any(age > node["oldest_wait_s"] - 0.3 for age, *_ in waits),
                           f"{path}: {node['name']} waits {node['oldest_wait_s']:.2f} s; true waits {ages(waits)}")
            if (node["longest_wait_s"] or 0) > 0.5 and not node["estimated"]:
                # the kernel rounds nothing, but a call includes the work
                longest = max((age for age, *_ in truth.waits_in(node["name"], fs, ino, 0, end)), default=0)
                self.claim(frame, "longest", node["longest_wait_s"] < 1.1 * longest + 0.3,
                           f"{path}: {node['name']} waited {node['longest_wait_s']:.2f} s; the longest is {longest:.2f}")
        if not row["access_seen"]:
            for name in row["writers"]:
                wrote = any(op in WRITES for *_, op in truth.waits_in(name, fs, ino, begin, end))
                self.claim(frame, "writer", wrote, f"{path}: {name} writes")
            for name in row["readers"]:
                self.claim(frame, "reader", bool(truth.waits_in(name, fs, ino, begin, end)), f"{path}: {name} reads")
        if row["sentence"]:
            self.sentence(frame, row, begin, end, where)
        if row["advice"]:
            self.advice(frame, row, begin, end, where)

    def sentence(self, frame, row, begin, end, where):
        fs, ino, text = row["fs"], row["ino"], row["sentence"]
        text = text.split(": ", 1)[1] if ": " in text else text
        if m := re.search(r"((?:node\d+[^;]*?)) waits? (?:at least )?([\d.]+ ?[a-z]+(?: ?\d+ ?[a-z]+)?)", text):
            age, nodes = seconds(m[2]), re.findall(r"node\d+", m[1])
            waits = {n: self.truth.waits_in(n, fs, ino, begin, end) for n in nodes}
            self.claim(frame, "waiters", all(waits.values()) and
                       any(w[0] > age - 0.3 for each in waits.values() for w in each),
                       f"{where}; true waits {({n: ages(w) for n, w in waits.items()})}")
            for node, pid in re.findall(r"(node\d+) \(pid (\d+)", m[1]):
                pids = {w[3] for w in waits[node]}
                self.claim(frame, "waiter's pid", int(pid) in pids, f"{where}; waiting are {pids}")
        for node in re.findall(r"a process on (node\d+) holds \S+ \(flock\)", text):
            self.claim(frame, "holder", self.truth.holders_in(node, fs, ino, begin, end), where)
        for pid, node in re.findall(r"pid (\d+) \S+ on (node\d+) holds", text):
            there = self.truth.holders_in(node, fs, ino, begin, end) | \
                {w[3] for w in self.truth.waits_in(node, fs, ino, begin, end)}
            self.claim(frame, "holder", int(pid) in there, f"{where}; inside are {there}")
        for node in re.findall(r"\d+ process(?:es)? on (node\d+) hold", text):
            self.claim(frame, "holder", self.truth.waits_in(node, fs, ino, begin, end), where)
        for node in re.findall(r"(node\d+) caches it", text):
            self.claim(frame, "cacher", node in self.truth.nodes(fs, ino), where)
        for node in re.findall(r"(node\d+)(?:, the lock's master,| holds \S+ and) (?:has not answered|does not answer)", text):
            self.claim(frame, "silence", self.silent(node, begin, end), where)
        if "deadlock" in text:
            self.claim(frame, "deadlock", False, where)
        if "recover" in text:
            self.claim(frame, "recovery", self.troubled(None, begin - 120, end), where)
        if m := re.search(r"\b(node\d+)\b", row["advice"] or ""):
            # line and advice name the same blocker
            on = re.search(r"; on (node\d+): fuser", row["advice"])
            self.claim(frame, "agreement", not on or on[1] in text, f"{text} / {row['advice']}")

    def advice(self, frame, row, begin, end, where):
        fs, ino, code, text = row["fs"], row["ino"], row["advice_code"], row["advice"]
        nodes = self.truth.nodes(fs, ino)
        waits = [w for n in nodes for w in self.truth.waits_in(n, fs, ino, begin, end)]
        if code == "WAIT_HANGS":
            self.claim(frame, "hang", any(w[0] > 0.8 for w in waits), f"{where}; true waits {ages(waits)}")
        elif code == "WAIT_HUNG":
            longest = seconds(re.search(r"waited up to ([\d.]+ s)", text)[1])
            # the kernel leaves lines out, so a lock's last sample may be some frames old
            late = [w for n in nodes for w in self.truth.waits_in(n, fs, ino, begin - LEFT_OUT, end)]
            true = max((e - b for _, b, e, *_ in late), default=0)
            self.claim(frame, "hang", true > 0.75 * longest - 0.2, f"{where}; true waits {ages(waits)}")
        elif code in ("HOT_WRITE_SHARED", "HOT_WRITE_READ") and "as far as seen" not in text:
            writers = {n for n, op in self.truth.operations[fs, ino] if op in WRITES}
            told = re.findall(r"node\d+", text.split(" write")[0])
            self.claim(frame, "advice", set(told) <= writers, f"{where}; writers are {sorted(writers)}")
        elif code == "WAIT_NODE_SILENT":
            node = re.search(r"while (node\d+)", text)
            self.claim(frame, "silence", self.silent(node[1] if node else None, begin, end), f"{where} / {text}")
        elif code == "DEADLOCK":
            self.claim(frame, "deadlock", False, where)


def ages(waits):
    return sorted((round(w[0], 2) for w in waits), reverse=True)[:5]


# ---- figures over many frames


def paths_found(frames, within=3):
    """Returns how many hot rows had a path `within` frames after they were hot, and how many there
    were."""
    first, good, every, without = {}, 0, 0, set()
    for i, frame in enumerate(frames):
        for row in frame["rows"]:
            key = row["fs"], row["ino"]
            if row["hot"] and row["ino"] and row["section"] == "files":
                if i - first.setdefault(key, i) >= within:
                    every += 1
                    good += row["path"] is not None
                    without |= set() if row["path"] else {key}
    return good, every, without


def lost_by_row(frames, truth):
    """Returns {(fs, ino): (o2top's seconds, true seconds, estimated)} over all frames but the first."""
    told, estimated = defaultdict(float), set()
    for frame in frames[1:]:
        for row in frame["rows"]:
            told[row["fs"], row["ino"]] += row["wait_s"]
            if row["estimated"]:
                estimated.add((row["fs"], row["ino"]))
    begin, end = frames[0]["at"], frames[-1]["at"]
    return {key: (told[key], truth.lost(*key, begin, end), key in estimated) for key in truth.paths}


def disorder(frames, truth, fs, minute=60, first=5, tolerance=1.25, flocks=False):
    """Returns the wrong pairs among the first rows of each minute, and how many pairs there are.
    Pairs with a flock are left out, because its time is estimated within a factor of two. With
    `flocks` these are the only pairs."""
    wrong, pairs, begin = [], 0, 0
    for i, frame in enumerate(frames):
        if frame["at"] - frames[begin]["at"] < minute:
            continue
        told = defaultdict(float)
        for each in frames[begin + 1:i + 1]:
            for row in each["rows"]:
                if (row["fs"], row["ino"]) in truth.paths and row["fs"] == fs:
                    told[row["fs"], row["ino"]] += row["wait_s"]
        order = sorted(told, key=told.get, reverse=True)[:first]
        true = {key: truth.lost(*key, frames[begin]["at"], frame["at"]) for key in order}
        for a, above in enumerate(order):
            for below in order[a + 1:]:
                names = {truth.paths[key].rsplit("/", 1)[1] for key in (above, below)}
                if bool(names & {"flocked", "held"}) != flocks:
                    continue
                pairs += 1
                if true[below] > tolerance * true[above] + 0.5:
                    wrong.append(f"{truth.paths[above]} ({told[above]:.1f} s, truly {true[above]:.1f}) above "
                                 f"{truth.paths[below]} ({told[below]:.1f} s, truly {true[below]:.1f})")
        begin = i
    return wrong, pairs
