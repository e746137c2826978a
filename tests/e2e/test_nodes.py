# SPDX-License-Identifier: MIT
# test_nodes.py - tests nodes of a cluster: discovery, the first screen, reading costs, the remains.

import json
import os
import shutil
import subprocess
import time

import tap

O2TOP = os.environ["O2TOP"]
SSH = os.path.join(os.environ["O2TOP_TESTS"], "fakessh.sh")
CAPTURES = os.environ["O2TOP_CAPTURES"]
PATIENCE = 90  # s
WAIT = ("--answer-limit", "60")  # each frame waits for nodes that need seconds for a sample


def slowness():
    """Returns how many times longer a program takes to start here than on a usual machine, at least 1."""
    began = time.monotonic()
    for _ in range(10):
        subprocess.run(["true"], check=True)
    return max(1.0, (time.monotonic() - began) / 0.03)


def put(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def environment(folder, recording="ocfs2-hot", **modes):
    """Returns the environment with three nodes behind fakessh.sh."""
    for node in ("node1", "node2", "node3"):
        put(folder, f"{node}.samples", "t0\nt1\nt2\nt3\nt4\n")
        put(folder, f"{node}.mode", modes.get(node, "") + "\n")
    return {**os.environ, "O2TOP_FAKE": folder, "O2TOP_CAPTURE": os.path.join(CAPTURES, recording)}


def frames(folder, *arguments, nodes=("node1", "node2", "node3"), **modes):
    """Returns the frames of a run, which wait for all nodes. Arguments set the modes of the nodes and the recording."""
    done = subprocess.run([O2TOP, "--json", "--ssh", SSH, *WAIT, *[w for n in nodes for w in ("-n", n)], *arguments],
                          env=environment(folder, **modes), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def frames_until(enough, folder, *arguments, nodes=("node1",), patience=PATIENCE, **modes):
    """Returns the frames until enough(frames) is true. On a busy machine a node needs seconds for a sample,
    so that only time ends the wait."""
    seen, end = [], time.monotonic() + patience
    with subprocess.Popen([O2TOP, "--json", "--ssh", SSH, *[w for n in nodes for w in ("-n", n)], *arguments],
                          env=environment(folder, **modes), stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout:
            seen.append(json.loads(line))
            if enough(seen):
                break
            assert time.monotonic() < end, seen[-9:]
        run.terminate()
    return seen


def found(folder, *arguments):
    """Returns the nodes of a frame if the command line names none."""
    return [n["name"] for n in frames(folder, "--once", *arguments, nodes=())[0]["nodes"]]


def test_nodes_are_found_in_configfs(folder):
    for name in ("node1", "node3", "node2"):
        put(folder, f"config/cluster/lab/node/{name}/num", "1\n")
    assert found(folder, "--configfs", f"{folder}/config", "--corosync", "/nowhere") == ["node1", "node2", "node3"]


def test_nodes_are_found_in_corosyncs_configuration(folder):
    conf = put(folder, "corosync.conf", "totem {\n\tname: nobody\n}\nnodelist {\n node {\n  ring0_addr: 10.0.0.1\n"
               "  name: node2\n  nodeid: 1\n }\n\tnode {\n\t\tring0_addr: node3\n\t}\n}\n")
    assert found(folder, "--configfs", "/nowhere", "--corosync", conf) == ["node2", "node3"]


def test_nodes_are_found_in_the_comms_of_the_dlm(folder):
    for number in (1, 2):
        put(folder, f"config/dlm/cluster/comms/{number}/addr_list", f"AF_INET node{number}\n")
    assert found(folder, "--configfs", f"{folder}/config", "--corosync", "/nowhere") == ["node1", "node2"]


def test_the_first_screen_comes_with_the_first_answer(folder):
    """The screen comes within two seconds of the answer, although one node never answers. The best
    of several runs counts on a busy machine."""
    took = []
    for _ in range(8):
        for node in ("node1", "node2"):
            asked = os.path.join(folder, node, "asked")
            if os.path.exists(asked):
                os.unlink(asked)
        with subprocess.Popen([O2TOP, "-b", "--ssh", SSH, "-n", "node1", "-n", "node2", "-n", "node3", "-t", "60"],
                              env=environment(folder, node3="mute"), stdout=subprocess.PIPE) as run:
            assert run.stdout.readline()
            now = time.time()
            run.terminate()
        # the time of the first request, which comes before the answer
        took.append(now - min(os.stat(os.path.join(folder, n, "asked")).st_mtime for n in ("node1", "node2")))
        if took[-1] < 2 * slowness():
            return f"{took[-1]:.2f} s"
    raise AssertionError(took)


def test_the_interval_stretches(folder):
    """A node that needs seconds of its own time for a sample is asked less often, up to four times."""
    said = "reading takes over a tenth of the interval: the interval is now 2.0 s"
    # each stamp is half a second after the one before
    with subprocess.Popen([O2TOP, "--json", "--ssh", SSH, "-n", "node1", "-t", "0.5"],
                          env=environment(folder, node1="worn"), stdout=subprocess.PIPE, text=True) as run:
        stretched = None
        for line in run.stdout:
            now, frame = time.monotonic(), json.loads(line)
            if stretched:
                break
            stretched = now if said in frame["banners"] else None
        run.terminate()
    # a longer pause followed the frame with this message
    assert now - stretched > 1.5, now - stretched
    # and a quick node keeps its interval
    quick = frames(folder, "-t", "0.5", "-i", "2", nodes=("node1",))
    assert not any("tenth" in b for frame in quick for b in frame["banners"]), quick


def frames_in_some_interval(enough, folder, seconds, **modes):
    """Returns frames as frames_until() does. A busy machine needs a longer interval for the same."""
    for longer in (1, 4, 16):
        try:
            return frames_until(enough, folder, "-t", f"{longer * seconds:.1f}", patience=40, **modes)
        except AssertionError as late:
            said = late
    raise said


def test_a_node_that_is_not_asked_is_not_silent(folder):
    def rested(seen):
        return [n for frame in seen for n in frame["nodes"] if "asks less often" in (n["why"] or "")]

    seen = frames_in_some_interval(lambda seen: len(rested(seen)) > 2, folder, 0.3, node1="worn")
    assert all(n["silent_s"] < 0.1 for n in rested(seen)), rested(seen)


def test_a_stretched_interval_waits_for_slow_nodes(folder):
    """The node answers after more than a second. In a longer interval its samples are in time. They
    would be as old as the interval otherwise."""
    frames_in_some_interval(lambda seen: len(seen) > 2 and seen[-1]["nodes"][0]["state"] == "ok", folder, 1, node1="wornslow")


def test_a_frame_waits_for_loaded_nodes(folder):
    """Each node takes 2 s for a sample. A frame without them would say that no lock waits. The first frame knows
    no node yet, and one more may be without a node, because a machine can become busy."""
    seen = frames_until(lambda seen: len(seen) > 5, folder, "-t", "0.5", nodes=("node1", "node2"), node1="loaded", node2="loaded")
    lacking = [frame for frame in seen[1:] if not all(n["read_bytes"] for n in frame["nodes"])]
    assert len(lacking) <= 1, lacking


def check(folder, *arguments, **modes):
    done = subprocess.run([O2TOP, "--check", "--ssh", SSH, "-n", "node1", "-n", "node2", "-n", "node3", *arguments],
                          env=environment(folder, **modes), capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout


def test_a_check_waits_for_loaded_nodes(folder):
    """All nodes take 2 s for a sample, which is more than a frame on a screen waits."""
    limits = ("-t", "0.5", "--warn", "lost=1000,oldest=1000,silent=1", "--crit", "lost=1000,oldest=1000")
    status, said = check(folder, *limits, node1="loaded", node2="loaded", node3="loaded")
    assert status == 0 and "O2TOP OK - lost" in said, (status, said)
    # The node that is silent is named, and the others are judged.
    status, said = check(folder, "--answer-limit", "4", *limits, node1="loaded", node3="silent")
    assert status == 1 and "node3 stale [NODE_SILENT]" in said and "node1" not in said, (status, said)


def test_a_check_without_an_answer_names_the_node(folder):
    status, said = check(folder, "--answer-limit", "0.5", "-t", "0.2", node1="loaded", node2="loaded", node3="loaded")
    assert status == 3 and any(f"UNKNOWN - node{n}: " in said for n in (1, 2, 3)), (status, said)
    assert "no reply for 0.0 s" not in said, said


def test_read_boundaries_move(folder):
    """The kernel loses the line at each 4 KiB. The first read of each sample has another size."""
    for agent in ("", "agent"):
        frames(folder, "-t", "0.3", "-i", "4", nodes=("node1",), node1=agent)
        with open(f"{folder}/node1.asked", encoding="utf-8") as f:
            sizes = [int(line.split()[1]) for line in f if line.startswith("S ")]
        assert len(set(sizes)) >= 4 and all(0 <= size < 4096 for size in sizes), sizes
        os.unlink(f"{folder}/node1.asked")


def test_what_was_left_by_the_killed_is_removed(folder):
    """o2top removes tracing instances of dead o2tops. Instances of other programs and of running
    o2tops stay."""
    put(folder, "node1/proc/4242/comm", "o2top\n")
    put(folder, "node1/proc/4343/comm", "another\n")
    stay = ["o2top-4242", "o2top-x", "somebody"]
    for mode in ("paths", "agentpaths"):
        instances = f"{folder}/node1/tracing/instances"
        for name in ("o2top-99999999", "o2top-4343", *stay):
            os.makedirs(f"{instances}/{name}", exist_ok=True)
        frames(folder, "--once", nodes=("node1",), node1=mode)
        left = sorted(os.listdir(instances))
        assert left == stay, left


def test_a_node_that_may_not_be_read_is_named(folder):
    """The message tells what is missing, and the status is that of this machine without root."""
    env = environment(folder, node1="nodebugfs", node2="nodebugfs")
    for arguments in (["-b", "--once"], ["--json", "-i", "1"], ["--check"]):
        done = subprocess.run([O2TOP, "--ssh", SSH, "-n", "node1", "-n", "node2", *arguments], env=env, capture_output=True,
                              text=True, timeout=120, check=False)
        assert done.returncode == 3, done
        for node in ("node1", "node2"):
            assert f"o2top: {node}: no permission: debugfs is not mounted there" in done.stderr, done.stderr
        assert "nothing to watch" not in done.stderr, done.stderr
        assert "UNKNOWN - " in done.stdout or "--check" not in arguments, done.stdout


def test_names_that_only_other_nodes_know(folder):
    """GFS2 does not say that an inode has several names. Each node that caches the inode is asked
    one time for the names used there."""
    for node, name in (("node1", "one"), ("node2", "two")):
        put(folder, f"{node}/proc/8/fdinfo/3", "pos:\t0\nmnt_id:\t91\nino:\t9291\n")
        os.makedirs(f"{folder}/{node}/proc/8/fd")
        os.symlink(f"/mnt/g/db/{name}", f"{folder}/{node}/proc/8/fd/3")
    for node in ("node1", "node2", "node3"):
        put(folder, f"{node}/mounts", "91 28 254:0 / /mnt/g rw - gfs2 /dev/vda rw\n")
        put(folder, f"{node}/sys/fs/gfs2/lab:fs1/id", "254:0\n")

    def called_by_both(seen):
        """Both names are known for the last eight frames that have the row with its path."""
        rows = [row for frame in seen for row in frame["rows"] if row["ino"] == 9291 and row["path"]]
        return len(rows) > 7 and {rows[-8]["path"], rows[-8]["other_paths"]} == {"/mnt/g/db/one", "/mnt/g/db/two"}

    for mode in ("paths", "agentpaths"):
        modes = {node: mode for node in ("node1", "node2", "node3")}
        seen = frames_until(called_by_both, folder, "-t", "0.5", *WAIT, nodes=modes, recording="gfs2-hot", **modes)
        for node in modes:
            with open(f"{folder}/{node}.looked", encoding="utf-8") as f:
                asked = sum("9291:" in line for line in f)
            os.unlink(f"{folder}/{node}.looked")
            # a known path is not asked for again
            assert 1 <= asked <= len(seen) - 7, (node, asked, len(seen))


def test_flock_totals_come_over_ssh(folder):
    """A shell and an agent tell the totals of all flocks. The frames are those of the recording, which
    has all of sbstats. They can be recorded."""
    def flock(frame):
        row = next(r for r in frame["rows"] if r["ino"] == 9639)
        return {key: row[key] for key in ("wait_s", "estimated", "acquired")}

    done = subprocess.run([O2TOP, "--json", os.path.join(CAPTURES, "mail-gfs2")], capture_output=True, text=True, check=True)
    there = [flock(json.loads(line)) for line in done.stdout.splitlines()]
    assert all(one["wait_s"] > 0.1 and one["acquired"] > 100 for one in there), there
    for mode in ("", "agent"):
        modes = {node: mode for node in ("node1", "node2", "node3")}
        record = os.path.join(folder, f"record{mode}")
        came = frames(folder, "-t", "0.3", "-i", "3", "--record", record, recording="mail-gfs2", **modes)
        assert [flock(frame) for frame in came] == there, (mode, [flock(frame) for frame in came], there)
        done = subprocess.run([O2TOP, "--json", "--replay", record], capture_output=True, text=True, check=True)
        assert [flock(json.loads(line)) for line in done.stdout.splitlines()] == there, (mode, done.stdout)


def test_daemons_are_asked_in_trouble_only(folder):
    """A node is silent, and locks wait: then the other node's daemons are asked."""
    for second, trouble in (("agent", False), ("refused", True)):
        frames(folder, "-t", "0.5", "-i", "5", nodes=("node1", "node2"), recording="power-cut", node1="agent", node2=second)
        with open(f"{folder}/node1.asked", encoding="utf-8") as f:
            asked = [line.split()[2] for line in f if line.startswith("S ")]
        os.unlink(f"{folder}/node1.asked")
        assert asked[0] == "all" and ("deep+ask" in asked) == trouble, asked


def shifted(folder, recording, sample, back):
    """Copies a recording and makes one of its samples earlier by its machines' clocks."""
    to = os.path.join(folder, "shifted")
    shutil.copytree(os.path.join(CAPTURES, recording), to)
    for node in os.listdir(os.path.join(to, sample)):
        for clock in ("uptime", "realtime"):
            with open(os.path.join(to, sample, node, clock), encoding="utf-8") as f:
                first, *rest = f.read().split()
            put(to, f"{sample}/{node}/{clock}", " ".join([f"{float(first) - back:.6f}", *rest]) + "\n")
    return to


def test_a_node_that_dies_is_the_cause(folder):
    """The waits begin with the silence. The live frames and their recording have the same banner."""
    record = os.path.join(folder, "died.o2r")
    recording = shifted(folder, "power-cut", "t2", 5)  # its waits are 4 s old
    environment(folder)
    put(folder, "node2.mode", "dies\n")
    for node in ("node1", "node3"):
        put(folder, f"{node}.samples", "t1\nt2\n")
    put(folder, "node2.samples", "t1\n")
    nodes = [w for n in ("node1", "node2", "node3") for w in ("-n", n)]
    done = subprocess.run([O2TOP, "--json", "--ssh", SSH, *nodes, "-t", "1", "-i", "5", *WAIT, "--record", record],
                          env={**os.environ, "O2TOP_FAKE": folder, "O2TOP_CAPTURE": recording},
                          capture_output=True, text=True, timeout=60, check=True)
    live = [json.loads(line) for line in done.stdout.splitlines()]
    assert live[-1]["nodes"][1]["state"] == "unreachable", live[-1]["nodes"]
    said = [b for b in live[-1]["banners"] if b.startswith("node2 silent for")]
    assert said and "8 waits on 4 files began then" in said[0], live[-1]["banners"]
    again = subprocess.run([O2TOP, "--json", "--replay", record], capture_output=True, text=True, check=True).stdout
    assert json.loads(again.splitlines()[-1])["banners"] == live[-1]["banners"], again
    # in the metrics, too, node2 is a machine and no process
    metrics = os.path.join(folder, "died.prom")
    subprocess.run([O2TOP, "--textfile", metrics, "-i", "1", "--ssh", SSH, *nodes, "-t", "0.3", *WAIT],
                   env={**os.environ, "O2TOP_FAKE": folder, "O2TOP_CAPTURE": recording},
                   capture_output=True, timeout=60, check=True)
    with open(metrics, encoding="utf-8") as f:
        text = f.read()
    assert 'o2top_node_ok{node="node1"} 1' in text and 'o2top_node_ok{node="node2"} 0' in text, text
    assert 'node="node3"' in text.split("o2top_lost_seconds_total{", 1)[1].split("# ", 1)[0], text


def test_paths_of_a_node_that_is_late(folder):
    """Frames that lack the node have no place for its answers. The answers wait for its next
    sample."""
    with subprocess.Popen([O2TOP, "--json", "--ssh", SSH, "-t", "0.5", "-n", "node1"],
                          env=environment(folder, node1="late"), stdout=subprocess.PIPE, text=True) as run:
        lacked = 0
        for i, line in enumerate(run.stdout):
            frame = json.loads(line)
            lacked += frame["nodes"][0]["read_bytes"] is None
            if any(row["ino"] == 32264 and row["path"] == "/mnt/o2/a log" for row in frame["rows"]):
                break
            assert i < 20, "no path"
        run.terminate()
    assert lacked, "the node was never late"


def test_no_handle_of_a_directory_on_ocfs2(folder):
    """The handle of a directory can make Linux turn OCFS2 read-only. System inodes have no path,
    and most of them are directories without a name. A generation of 0 forbids the handle."""
    taken = frames(folder, "-t", "0.3", "-i", "8", nodes=("node1", "node2", "node3"), node1="agentpaths", node2="agentpaths",
                   node3="agentpaths")
    rows = {r["ino"]: r for frame in taken for r in frame["rows"] if r["ino"]}
    items = set()
    for node in ("node1", "node2", "node3"):
        with open(f"{folder}/{node}.looked", encoding="utf-8") as f:
            items |= {item for line in f for item in line.split()[2].split(",")}
    asked = {}
    for item in items:
        inode, generation, _, flags = map(int, item.split(":"))
        asked.setdefault(inode, set()).add((generation, flags & 1))
    for inode, how in asked.items():
        if any(flag for _, flag in how):
            assert rows[inode]["section"] == "files", (inode, rows[inode])
        if not any(flag for _, flag in how) or rows[inode]["kind"] in ("directory", None):
            assert {generation for generation, _ in how} == {0}, (inode, how)
    kinds = {rows[inode]["kind"] for inode in asked if inode in rows}
    assert {"file", "directory"} <= kinds, kinds
    # files keep their handles
    assert any(generation for inode, how in asked.items() if inode in rows and rows[inode]["kind"] == "file"
               for generation, _ in how), asked


def test_a_node_that_cannot_trace_says_so(folder):
    for agent in ("", "agent"):
        said = frames(folder, "--trace", "-t", "0.3", "-i", "2", nodes=("node1",), node1=agent,
                      recording="gfs2-hot")
        assert any("no trace" in p for p in said[-1]["problems"]), said[-1]["problems"]
        assert said[-1]["rows"], said[-1]


def test_unprotected_files_of_several_nodes(folder):
    """node.sh and the agent tell flocks and the fcntl locks on OCFS2, with names. A flock is not compared."""
    for node, mode, kind in (("node1", "paths", "WRITE"), ("node2", "agentpaths", "READ")):
        put(folder, f"{node}/proc/4242/comm", f"writer {node}\n")
        put(folder, f"{node}/proc/locks",
            f"1: POSIX  ADVISORY  {kind} 4242 fe:10:12827 0 EOF\n"
            "1: -> POSIX  ADVISORY  WRITE 7 fe:10:12827 0 EOF\n"
            "2: FLOCK  ADVISORY  WRITE 4242 fe:10:32264 0 EOF\n"
            f"3: OFDLCK ADVISORY  WRITE -1 fe:10:500 {0 if node == 'node1' else 9} 9\n"
            "4: POSIX  ADVISORY  WRITE 4242 fe:11:12828 0 EOF\n")
    for modes in (("paths", "agentpaths"), ("agentpaths", "paths")):
        frame = frames(folder, "--once", "--record", f"{folder}/{modes[0]}.o2r", nodes=("node1", "node2"),
                       node1=modes[0], node2=modes[1])[0]
        assert [f["ino"] for f in frame["unprotected"]] == [500, 12827], frame["unprotected"]
        assert frame["unprotected"][1]["processes"] == [
            {"node": "node1", "pid": 4242, "command": "writer node1", "writes": True, "start": 0, "end": None},
            {"node": "node2", "pid": 4242, "command": "writer node2", "writes": False, "start": 0, "end": None}]
        assert any("inode 12827 is unprotected" in b for b in frame["banners"]), frame["banners"]
        # the recording has these locks and no others
        again = subprocess.run([O2TOP, "--json", "--replay", f"{folder}/{modes[0]}.o2r"], capture_output=True,
                               text=True, check=True).stdout
        assert json.loads(again.splitlines()[0])["unprotected"] == frame["unprotected"], again
        assert not frame["problems"], frame["problems"]


def test_this_machine_reads_its_locks(folder):
    """A wrong range is a problem that names the file, so the collector has read it."""
    put(folder, "proc/locks", "1: POSIX  ADVISORY  WRITE 4242 fe:10:12827 9 8\n"
        "2: LEASE  ADVISORY  WRITE 4242 fe:10:12827 7 6\n")
    mounts = put(folder, "mountinfo", "90 28 254:16 / /mnt/o2 rw - ocfs2 /dev/vdb rw\n")
    done = subprocess.run([O2TOP, "--json", "--once", "--debugfs", f"{CAPTURES}/ocfs2-hot/t0/node1", "--mountinfo", mounts],
                          env={**os.environ, "O2TOP_PROC": f"{folder}/proc"}, capture_output=True, text=True, timeout=60,
                          check=True)
    problems = json.loads(done.stdout.splitlines()[0])["problems"]
    assert len(problems) == 1 and problems[0].startswith("plocks:1: "), problems


# With a sanitizer strace may not trace. The files that the agent opens do not depend on a sanitizer.
if not os.environ.get("O2TOP_SANITIZED"):

    def test_proc_locks_is_read_once_a_sample_and_only_with_a_cluster_file_system(folder):
        if not shutil.which("strace"):
            return "SKIP needs program strace"
        put(folder, "proc/locks", "1: POSIX  ADVISORY  WRITE 4242 fe:10:12827 0 EOF\n"
            "2: FLOCK  ADVISORY  READ 4242 fe:10:12827 0 EOF\n")
        for mounts, most in (("90 28 254:16 / /mnt/o2 rw - ocfs2 /dev/vdb rw\n", 1),
                             ("90 28 254:16 / /mnt/g rw - gfs2 /dev/vdb rw\n", 1), ("", 0)):
            put(folder, "proc/self/mountinfo", mounts)
            log = f"{folder}/log"
            request = "N=0123456789abcdef\nS 0 all\nS 0 all\n"
            done = subprocess.run(["strace", "-f", "-e", "trace=openat,open", "-o", log, O2TOP, "--agent"], input=request,
                                  env={**os.environ, "O2TOP_PROC": f"{folder}/proc", "O2TOP_DEBUGFS": f"{folder}/none"},
                                  capture_output=True, text=True, check=False, timeout=60)
            assert done.returncode == 0, done.stderr
            assert ("FLOCK ADVISORY READ 4242 fe:10:12827" in done.stdout) == bool(mounts), done.stdout
            assert ("POSIX ADVISORY" in done.stdout) == ("ocfs2" in mounts), done.stdout
            with open(log, encoding="utf-8", errors="replace") as f:
                reads = sum("/proc/locks" in line for line in f)
            assert reads == 2 * most, reads


tap.run(globals())
