# SPDX-License-Identifier: MIT
# test_plocks.py - tests the fcntl(2) locks of dlm_controld: waits, ages, holders, deadlocks.
#
# The lists are made in the form of `dlm_tool plocks` of dlm 4.2 and 4.3. Each sample has three nodes
# with a GFS2 that does nothing else.

import json
import os
import shutil
import subprocess

import tap

O2TOP = os.environ["O2TOP"]
NODES = ("node1", "node2", "node3")
TO_END = 9223372036854775807  # the kernel's end of a file
INODE = 0x2448
GLOCKS = """G:  s:SH n:2/2448 f:Iqob t:SH d:EX/0 a:0 v:0 r:3 m:200 p:0
 I: n:1/9288 t:8 f:0x00 d:0x00000000 s:4096 p:0
"""
GLSTATS = "G: n:2/2448 rtt:19408/7188 rttb:1200545/1826172 irt:141/163 dcnt: 1 qcnt: 3469\n"


def lock(node, pid, mode="WR", start=0, end=TO_END, waits=False, inode=INODE):
    """A line as dlm_controld prints it."""
    owner = f"ffff8c0a{pid:08x}"
    return f"{inode} {mode} {start}-{end} nodeid {node} pid {pid} owner {owner} rown 0{' WAITING' if waits else ''}\n"


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def sample(folder, t, seconds, text, tellers=NODES, ids=True):
    """Sample t of all nodes. The nodes `tellers` have the list."""
    for number, name in enumerate(NODES, 1):
        at = os.path.join(folder, f"t{t}", name)
        put(f"{at}/realtime", f"{1795154800 + seconds:.9f}\n")
        put(f"{at}/uptime", f"{1000 + seconds:.2f} 5.00\n")
        put(f"{at}/gfs2/lab:fs1/glocks", GLOCKS)
        put(f"{at}/gfs2/lab:fs1/glstats", GLSTATS)
        if ids:
            put(f"{at}/ids", "".join(f"dlm {n} {int(n == number)}\n" for n in (1, 2, 3)))
        if name in tellers and text is not None:
            put(f"{at}/dlm/fs1_plocks", text)


def run(*arguments, env=None):
    return subprocess.run([O2TOP, "--no-config", *arguments], capture_output=True, text=True, check=False,
                          env=dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC", **(env or {})))


def frames(*arguments):
    made = run("--json", *arguments)
    assert made.returncode == 0, made.stderr
    return [json.loads(line) for line in made.stdout.splitlines()]


def row(frame, ino=INODE):
    found = [r for r in frame["rows"] if r["ino"] == ino]
    return found[0] if found else None


def near(value, expected, by=0.01):
    assert value is not None and abs(value - expected) <= by * max(1, abs(expected)), (value, expected)


def held(folder, samples=4, tellers=NODES):
    """A process of node3 holds the file. From sample 1 on node1 and node2 wait."""
    for t in range(samples):
        waits = lock(1, 10, waits=True) + lock(2, 20, "RD", 0, 9, waits=True) if t else ""
        sample(folder, t, 5 * t, lock(3, 77) + waits, tellers)


def test_a_wait_ages_from_list_to_list(folder):
    held(folder)
    first, second, third = frames(folder)
    r = row(first)
    assert r["waiting"] == 2, r
    assert (r["oldest_wait_s"], r["oldest_wait_max_s"]) == (0, 5), r
    near(r["wait_s"], 5)  # half of the 5 s for each, because the waits began in the frame
    assert r["estimated"], r
    r = row(second)
    assert (r["oldest_wait_s"], r["oldest_wait_max_s"]) == (5, 10), r
    near(r["wait_s_per_s"], 2)
    assert not r["estimated"], r
    near(row(third)["oldest_wait_s"], 10)


def test_the_line_names_holder_waiters_and_bytes(folder):
    held(folder)
    r = row(frames(folder)[2])
    assert "pid 77 on node3 holds WR on all bytes (fcntl)" in r["sentence"], r["sentence"]
    assert "pid 10 on node1 (WR, all bytes) and pid 20 on node2 (RD, bytes 0-9) wait" in r["sentence"]
    assert r["advice_code"] == "FCNTL_HELD", r
    assert "pid 77 on node3" in r["advice"], r["advice"]
    # the time of the fcntl lock is a LockSet of its own
    assert [(s["type"], s["wait_s"]) for s in r["locks"]] == [("PLOCK", 10)], r["locks"]
    modes = {n["name"]: [(p["pid"], p["mode"], p["waits"]) for p in n["processes"]] for n in r["nodes"]}
    assert modes == {"node1": [(10, "WR", True)], "node2": [(20, "RD", True)], "node3": [(77, "WR", False)]}, modes


def test_one_list_has_the_locks_of_all_nodes(folder):
    held(folder, tellers=("node2",))
    r = row(frames(folder)[2])
    assert {n["name"] for n in r["nodes"]} == set(NODES), r["nodes"]
    near(r["wait_s_per_s"], 2)


def test_the_lists_of_several_nodes_count_once(folder):
    """A daemon with plock_ownership lists only the files of its node."""
    for t in range(3):
        sample(folder, t, 5 * t, lock(3, 77) + lock(1, 10, waits=True))
        put(f"{folder}/t{t}/node2/dlm/fs1_plocks",
            f"{INODE} rown 3 unused_ms 20\n" + lock(2, 21, inode=9999) + lock(3, 31, waits=True, inode=9999))
    last = frames(folder)[1]
    assert row(last)["waiting"] == 1 and row(last, 9999)["waiting"] == 1, last["rows"]
    assert last["problems"] == [], last["problems"]


def test_check_tells_a_long_wait(folder):
    held(folder, 6)
    for t in range(4):
        shutil.rmtree(f"{folder}/t{t}")
    sample(folder, 4, 0, lock(3, 77) + lock(1, 10, waits=True))
    sample(folder, 5, 12, lock(3, 77) + lock(1, 10, waits=True))
    made = run("--check", folder)
    assert made.returncode == 2 and "FCNTL_HELD" in made.stdout, made.stdout


def test_one_list_proves_no_age(folder):
    sample(folder, 0, 0, lock(3, 77) + lock(1, 10, waits=True))
    made = run("--check", folder)
    assert made.returncode == 3 and "AGE_UNKNOWN" in made.stdout, made.stdout


def test_two_ranges_are_a_deadlock(folder):
    text = (lock(1, 10, "WR", 0, 99) + lock(2, 20, "WR", 100, 199) +
            lock(1, 10, "WR", 100, 199, waits=True) + lock(2, 20, "WR", 0, 99, waits=True))
    for t in range(2):
        sample(folder, t, 5 * t, text + "comm 10 postgres\n", tellers=("node1",))
    r = row(frames(folder)[0])
    assert "(pid 20 on node2 -> pid 10 postgres on node1 -> pid 20 on node2: deadlock)" in r["sentence"], r["sentence"]
    assert r["advice_code"] == "DEADLOCK" and "one order" in r["advice"], r["advice"]
    made = run("--check", folder)
    assert "DEADLOCK" in made.stdout, made.stdout


def test_ranges_side_by_side_are_in_nobodys_way(folder):
    """The process that has other bytes is not the holder. Readers do not exclude each other."""
    text = (lock(2, 20, "WR", 100, 199) + lock(2, 21, "RD", 0, 50) + lock(3, 30, "WR", 50, 60) +
            lock(1, 10, "RD", 0, 99, waits=True))
    for t in range(2):
        sample(folder, t, 5 * t, text)
    sentence = row(frames(folder)[0])["sentence"]
    assert "pid 30 on node3 holds WR on bytes 50-60" in sentence, sentence


def test_a_wait_that_goes_behind_another_one_is_new(folder):
    """node1 waits before node2, and then behind it: the first wait has ended."""
    sample(folder, 0, 0, lock(3, 77) + lock(1, 10, waits=True) + lock(2, 20, waits=True))
    sample(folder, 1, 5, lock(3, 77) + lock(2, 20, waits=True) + lock(1, 10, waits=True))
    nodes = {n["name"]: n for n in row(frames(folder)[0])["nodes"]}
    near(nodes["node2"]["oldest_wait_s"], 5)
    near(nodes["node1"]["oldest_wait_s"], 0)
    # one wait ended and one began: half of the time of each
    near(nodes["node1"]["wait_s"], 5)


def test_an_absent_list_is_no_end_of_a_wait(folder):
    for t in range(4):
        sample(folder, t, 5 * t, None if t == 2 else lock(3, 77) + lock(1, 10, waits=True))
    first, second, third = frames(folder)
    assert row(second)["waiting"] == 1, second["rows"]
    near(row(second)["oldest_wait_s"], 5)
    near(row(third)["oldest_wait_s"], 15)
    near(row(first)["wait_s"] + row(second)["wait_s"] + row(third)["wait_s"], 15)


def test_a_node_that_is_not_watched_has_a_number(folder):
    for t in range(2):
        sample(folder, t, 5 * t, lock(9, 77) + lock(1, 10, waits=True))
    assert "pid 77 on the DLM's node 9 holds" in row(frames(folder)[0])["sentence"]


def test_wrong_lines_are_problems(folder):
    sample(folder, 0, 0, lock(3, 77) + "9288 XX 0-9 nodeid 1\n" + "9288 WR 9-0 nodeid 1 pid 2 owner 0 rown 0\n" +
           lock(1, 10, waits=True)[:-1], tellers=("node1",))
    problems = frames(folder)[0]["problems"]
    assert len(problems) == 3 and "cut off" in problems[2], problems


def test_a_recording_and_an_archive_have_the_list(folder):
    held(f"{folder}/in")
    made = run("--record", f"{folder}/rec", "--replay", f"{folder}/in", "-b")
    assert made.returncode == 0, made.stderr
    assert [row(f)["sentence"] for f in frames("--replay", f"{folder}/rec")] == \
        [row(f)["sentence"] for f in frames(f"{folder}/in")]
    host = f"{folder}/sosreport-web1-2026-11-20-abcdef"
    put(f"{host}/sys/kernel/debug/gfs2/lab:fs1/glocks", GLOCKS)
    put(f"{host}/sos_commands/dlm/dlm_tool_plocks_fs1", lock(3, 77) + lock(1, 10, waits=True))
    assert "pid 77 on the DLM's node 3 holds WR" in row(frames(host)[0])["sentence"]
    os.makedirs(f"{folder}/run")
    shutil.copytree(f"{host}/sys", f"{folder}/run/sys")
    put(f"{folder}/run/notes.txt", "# dlm_tool plocks fs1\n" + lock(3, 77) + lock(1, 10, waits=True))
    assert "pid 77 on the DLM's node 3 holds WR" in row(frames(f"{folder}/run")[0])["sentence"]


def test_proc_locks_names_the_process_that_holds_a_flock(folder):
    """A process of node3 holds a flock, and node1 waits. Only /proc/locks of node3 names the process."""
    for load, minor, inode, says in (("flock-gfs2", 0x20, 9908, "pid 77 backup on node3 holds EX"),
                                     ("flock-ocfs2", 0x10, 32273, "pid 77 backup on node3 holds EX (flock)")):
        at = f"{folder}/{load}"
        shutil.copytree(os.path.join(os.environ["O2TOP_CAPTURES"], load), at)
        for t in ("t0", "t1"):
            put(f"{at}/{t}/node3/gfs2/lab:fs1/condition", "id 254:32\n")  # OCFS2 has 254:16 in fs_state
            put(f"{at}/{t}/node3/plocks", f"FLOCK ADVISORY WRITE 77 fe:{minor:x}:{inode} 0 EOF backup\n"
                f"FLOCK ADVISORY WRITE 78 fe:99:{inode} 0 EOF other\nFLOCK ADVISORY WRITE 79 fe:{minor:x}:1 0 EOF idle\n")
        frame = frames(at)[0]
        assert says in row(frame, inode)["sentence"], row(frame, inode)["sentence"]
        named = {n["name"]: [(p["pid"], p["command"], p["mode"]) for p in n["processes"] if not p["waits"]]
                 for n in row(frame, inode)["nodes"]}
        assert named == {"node1": [], "node3": [(77, "backup", "EX")]}, named
        assert "node3: pid 77 backup holds EX" in run("-b", "--details", at).stdout
        assert not frame["problems"], frame["problems"]


def node(folder, tool):
    """The files of a node, with a program in the place of dlm_tool. Returns the command for --ssh."""
    put(f"{folder}/debug/gfs2/lab:fs1/glocks", GLOCKS)
    put(f"{folder}/debug/gfs2/lab:fs1/glstats", GLSTATS)
    put(f"{folder}/debug/dlm/fs1_all", "")
    put(f"{folder}/config/dlm/cluster/comms/1/local", "1\n")
    put(f"{folder}/config/dlm/cluster/comms/1/nodeid", "1\n")
    put(f"{folder}/proc/10/comm", "sqlite3\n")
    put(f"{folder}/proc/self/mountinfo", "30 25 254:16 / /mnt/g rw - gfs2 /dev/vdb rw\n")
    os.symlink("/proc/uptime", f"{folder}/proc/uptime")
    put(f"{folder}/bin/dlm_tool", tool)
    os.symlink(O2TOP, f"{folder}/bin/o2top")
    put(f"{folder}/ssh", f"""#!/bin/sh
shift
O2TOP_DEBUGFS={folder}/debug O2TOP_CONFIGFS={folder}/config O2TOP_PROC={folder}/proc PATH={folder}/bin:$PATH
export O2TOP_DEBUGFS O2TOP_CONFIGFS O2TOP_PROC PATH
exec "$@"
""")
    for name in ("bin/dlm_tool", "ssh"):
        os.chmod(f"{folder}/{name}", 0o755)
    return f"{folder}/ssh"


def several(attempt):
    """The rows of the file. On a busy machine a node may be too slow for a sample."""
    for _ in range(10):
        rows = [row(f) for f in attempt() if row(f)]
        if rows:
            return rows
    raise AssertionError("no sample had the list")


def test_a_node_runs_dlm_tool_with_and_without_the_agent(folder):
    put(f"{folder}/list", lock(3, 77) + lock(1, 10, waits=True))
    ssh = node(folder, f"#!/bin/sh\n[ \"$1 $2\" = 'plocks fs1' ] && cat {folder}/list\n")
    for option in ((), ("--no-agent",)):
        rows = several(lambda: frames("-n", "node1", "--ssh", ssh, "-t", "0.2", "-i", "1", *option))
        assert "pid 10 sqlite3 on node1 (WR, all bytes) waits" in rows[0]["sentence"], (option, rows)
        sent = f"{folder}/sent{len(option)}"
        rows = several(lambda: run("--collect", sent, "-n", "node1", "--ssh", ssh, *option) and frames(sent))
        assert rows[0]["waiting"] == 1, rows


def test_a_tool_that_hangs_is_ended(folder):
    """The sample comes nevertheless, and a problem tells that the list is missing."""
    ssh = node(folder, "#!/bin/sh\nexec sleep 600\n")
    for option in ((), ("--no-agent",)):
        frame = frames("-n", "node1", "--ssh", ssh, "-t", "0.2", "-i", "1", *option)[0]
        assert any("dlm_tool plocks" in p for p in frame["problems"]), (option, frame)


tap.run(globals())
