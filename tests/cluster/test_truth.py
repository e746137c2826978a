# SPDX-License-Identifier: MIT
# test_truth.py - judges o2top on a load that writes down the truth: sentences, order, seconds, paths.
#
# These tests take many minutes and run by name: ./run cluster-test truth:. GLOCK_TRUTH_FRAMES sets
# the number of frames, and GLOCK_TRUTH_LOAD the load of this machine, which processes without end
# make if it is lower. GLOCK_TRUTH_KEEP=FILE keeps the recording, the frames and the truth there.

import contextlib
import json
import os
import re
import subprocess
import threading
import time

import truth
from test_o2top import command

LATE = True  # some cut a machine's power
FRAMES = int(os.environ.get("GLOCK_TRUTH_FRAMES", "200"))
LOAD = float(os.environ.get("GLOCK_TRUTH_LOAD", "10"))
LONGEST = 1100  # seconds for a run
BOTH = ("ocfs2", "gfs2")


def plan(number):
    """Returns the workers of a machine. The files lose very different times."""
    workers = []
    for fs in BOTH:
        place = f"/mnt/{fs}/truth"
        workers += [f"{place}/hot:write:60:0", f"{place}/warm:write:400:0",
                    f"{place}/mixed:{'write' if number == 1 else 'read'}:250:0",
                    f"{place}/flocked:flock:300:150", f"{place}/held:flock:5000:{4000 + 1000 * number}",
                    f"{place}/closed:reopen:700:0", f"{place}/own{number}:write:300:0",
                    f"{place}/ownclosed{number}:reopen:700:0", f"{place}/owntouched{number}:touch:1500:0"]
        if number != 3:
            workers.append(f"{place}/touched:touch:1500:0")
    return workers


def fcntl_plan(number):
    """A process of each machine holds one file by fcntl(2) for 1.5 s, and the others wait."""
    del number
    return ["/mnt/gfs2/truth/plocked:fcntl:200:1500"]


def offsets(cluster, numbers=None):
    """Returns what to add to each machine's time since boot to get this machine's clock."""
    found = {}
    for n in numbers or cluster.numbers:
        best = 1e9
        for _ in range(8):
            before = time.monotonic()
            up = float(cluster.run(n, "cat /proc/uptime").split()[0])
            took = time.monotonic() - before
            if took < best:
                best, found[f"node{n}"] = took, before + took / 2 - up
    return found


def assert_clocks(cluster, add):
    """An emulated machine that booted beside a high load may take its clock for faster or slower
    than it is. Then its truth has no place among this machine's times."""
    for n, offset in offsets(cluster, [n for n in cluster.numbers if cluster.runs(n)]).items():
        assert abs(offset - add[n]) < 1, f"the clock of {n} moved by {offset - add[n]:.1f} s in this run: boot anew"


@contextlib.contextmanager
def busy():
    """Keeps this machine's processors busy. The machines make a load of their own."""
    count = max(0, round(LOAD - os.getloadavg()[0] - 3))
    processes = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextlib.contextmanager
def load(cluster, build, workers):
    shared = os.path.join(cluster.dir, "shared")
    for name in os.listdir(shared):
        if name.startswith("truth.") or name == "stop":
            os.unlink(os.path.join(shared, name))
    program = cluster.share(os.path.join(build, "tests/cluster/truth_load"))
    names = " ".join(sorted({w.split(":")[0].rsplit("/", 1)[1] for n in cluster.numbers for w in workers(n)}))
    for fs in BOTH:
        cluster.run(1, f"mkdir -p /mnt/{fs}/truth; cd /mnt/{fs}/truth; for f in {names}; do echo 12345678 >$f; done; sync")
    running = {n: cluster.start(n, f"{program} /run/shared /run/shared/stop {' '.join(workers(n))}",
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for n in cluster.numbers}
    try:
        time.sleep(3)
        yield
    finally:
        open(os.path.join(shared, "stop"), "w", encoding="utf-8").close()
        for n, process in running.items():
            if cluster.runs(n):
                try:
                    process.wait(60)
                except subprocess.TimeoutExpired:
                    process.kill()  # its machine was cut off
            else:
                process.kill()


def watch(cluster, build, count, *arguments, act=None):
    """Returns the frames of a run, with the time of this machine's clock when each came. act() gets
    the number of each frame."""
    frames = []
    keep = os.environ.get("GLOCK_TRUTH_KEEP")
    with subprocess.Popen(command(cluster, build, "-t", "3", *arguments, *(["--record", keep] if keep else [])),
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
        watchdog = threading.Timer(LONGEST, run.kill)
        watchdog.start()
        for line in run.stdout:
            frames.append({**json.loads(line), "at": time.monotonic(), "number": len(frames)})
            if act:
                act(len(frames))
            if len(frames) > count:
                break
        watchdog.cancel()
        run.terminate()
    return frames


def judged(cluster, build, count, *arguments, act=None, events=(), ended=None, workers=plan):
    """Runs load and o2top. Returns the frames, the truth and the judge."""
    add = offsets(cluster)
    with busy(), load(cluster, build, workers):
        frames = watch(cluster, build, count, *arguments, act=act)
        host_load = os.getloadavg()[0]
    assert_clocks(cluster, add)
    true = truth.Truth(os.path.join(cluster.dir, "shared"), add, ended if ended is not None else {})
    judge = truth.Judge(true, events)
    judge.before = frames[0]["at"]
    for frame in frames[1:]:
        judge.frame(frame)
    if keep := os.environ.get("GLOCK_TRUTH_KEEP"):
        with open(keep + ".json", "w", encoding="utf-8") as f:
            json.dump({"frames": frames, "offsets": add, "events": list(events), "ended": ended or {}}, f)
        subprocess.run(f"tar -C {cluster.dir}/shared -cf {keep}.truth.tar $(cd {cluster.dir}/shared && ls -d truth.node*)",
                       shell=True, check=False)
    seconds = frames[-1]["at"] - frames[0]["at"]
    good, every, without = truth.paths_found(frames)
    said = [f"{len(frames) - 1} frames in {seconds:.0f} s, host load {host_load:.1f}",
            f"{sum(judge.judged.values())} statements judged: " +
            ", ".join(f"{n} {kind}" for kind, n in sorted(judge.judged.items())),
            f"{len(judge.contradictions)} contradictions",
            f"{good} of {every} hot rows had a path within three frames" + (f"; without: {sorted(without)}" if without else "")]
    return frames, true, judge, said


def assert_true(judge, said):
    assert not judge.contradictions, "\n".join(said + judge.contradictions[:60])


def measure(frames, true, said, exact):
    """Compares the seconds lost by row. `exact` are the file systems whose seconds are measured."""
    wrong = []
    lost = truth.lost_by_row(frames, true)
    for key, (told, really, estimated) in sorted(lost.items(), key=lambda one: -one[1][1]):
        path = true.paths[key]
        flock = path.endswith(("flocked", "held"))
        ratio = told / really if really else 0
        said.append(f"{path}: {told:.1f} s, truly {really:.1f} s, ratio {ratio:.2f}{' ~' if estimated else ''}")
        span = frames[-1]["at"] - frames[0]["at"]
        limit = 2 if flock else 1.25
        if really > 0.01 * span and (flock or key[0] in exact) and not 1 / limit <= ratio <= limit:
            wrong.append(said[-1])
    for fs in exact:
        pairs = truth.disorder(frames, true, fs)
        said.append(f"{fs}: {len(pairs[0])} of {pairs[1]} pairs of first rows in the wrong order")
        wrong += pairs[0]
        pairs = truth.disorder(frames, true, fs, flocks=True)
        said.append(f"{fs}: {len(pairs[0])} of {pairs[1]} pairs with a flock in the wrong order")
    return wrong


def test_truth_of_each_row(cluster, build):
    frames, true, judge, said = judged(cluster, build, FRAMES)
    wrong = measure(frames, true, said, ("ocfs2",))
    good, every, _ = truth.paths_found(frames)
    assert_true(judge, said)
    assert not wrong, "\n".join(said + wrong)
    assert every and good >= 0.95 * every, said
    return "\n".join(said)


def test_truth_of_the_trace(cluster, build):
    frames, true, judge, said = judged(cluster, build, FRAMES // 2, "--trace")
    wrong = measure(frames, true, said, BOTH)
    assert_true(judge, said)
    assert not wrong, "\n".join(said + wrong)
    return "\n".join(said)


def test_truth_of_fcntl_locks(cluster, build):
    """The line names a process that had the lock in the frame, and the sum is right within a factor of two."""
    frames, true, _, said = judged(cluster, build, min(FRAMES, 60), workers=fcntl_plan)
    wrong, named = [], 0
    for before, frame in zip(frames, frames[1:]):
        for row in frame["rows"]:
            holder = re.search(r"pid (\d+)[^;]* on (node\d) holds WR on all bytes \(fcntl\)", row["sentence"] or "")
            if not holder:
                continue
            named += 1
            begin = before["at"] - frame["interval_s"] - truth.SLACK
            if int(holder[1]) not in true.holders_in(holder[2], "gfs2", row["ino"], begin, frame["at"]):
                wrong.append(f"frame {frame['number']}: {row['sentence']}")
    lost = truth.lost_by_row(frames, true)
    for key, (told, really, _) in lost.items():
        said.append(f"{true.paths[key]}: {told:.1f} s, truly {really:.1f} s")
        if really > 5 and not really / 2 <= told <= 2 * really:
            wrong.append(said[-1])
    assert named and not wrong, "\n".join(said + wrong)
    return "\n".join([f"{named} holders named", *said])


def test_truth_while_a_node_stands_still(cluster, build):
    """Shorter than the token's time, so all is well afterwards."""
    events = []

    def act(number):
        if number % 12 == 6:
            cluster.pause(3)
            events.append(("paused", "node3", time.monotonic(), truth.ALWAYS))
            timer = threading.Timer(0.8 * cluster.token, resume)
            timer.start()

    def resume():
        cluster.resume(3)
        events[-1] = (*events[-1][:3], time.monotonic() + 15)  # o2top reaches it again

    _, _, judge, said = judged(cluster, build, min(FRAMES, 60), act=act, events=events)
    assert_true(judge, said)
    return "\n".join(said)


def test_truth_when_a_node_is_cut_off(cluster, build):
    events = []

    def act(number):
        if number == 10:
            cluster.link(3, False)
            events.append(("cut off", "node3", time.monotonic(), truth.ALWAYS))

    frames, _, judge, said = judged(cluster, build, min(FRAMES, 40), act=act, events=events)
    said += sorted({b for frame in frames for b in frame["banners"]})
    assert_true(judge, said)
    cluster.kill(3)  # it does not come back into these file systems
    return "\n".join(said)


def test_truth_when_a_node_dies(cluster, build):
    events, ended = [], {}

    def act(number):
        if number == 10:
            cluster.kill(3)
            ended["node3"] = time.monotonic()
            events.append(("killed", "node3", ended["node3"], truth.ALWAYS))

    frames, _, judge, said = judged(cluster, build, min(FRAMES, 40), act=act, events=events, ended=ended)
    said += sorted({b for frame in frames for b in frame["banners"]})
    assert_true(judge, said)
    assert any(b.startswith("node3 silent") for frame in frames for b in frame["banners"]), said
    return "\n".join(said)


for _test in [test for name, test in list(globals().items()) if name.startswith("test_")]:
    _test.takes_long = True
