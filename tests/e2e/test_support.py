# SPDX-License-Identifier: MIT
# test_support.py - what people are sent: support archives, logs, texts of other tools, other kernels.
#
# tests/data/support.tar.xz has a sample of each form; its ORIGIN tells where each comes from.

import bz2
import gzip
import io
import json
import lzma
import os
import pty
import re
import shutil
import subprocess
import tarfile

import tap

O2TOP = os.environ["O2TOP"]
CAPTURES = os.environ["O2TOP_CAPTURES"]
SUPPORT = os.path.join(CAPTURES, "support")
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC", "XDG_CONFIG_HOME": "/nowhere"}


def run(*args, cwd=SUPPORT):
    return subprocess.run([O2TOP, "--no-config", *args], cwd=cwd, env=ENV, capture_output=True, text=True,
                          errors="replace", timeout=120, check=False)


def frames(*args, cwd=SUPPORT):
    done = run("--json", "--details", *args, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def text(*args, cwd=SUPPORT):
    done = run("-b", "--details", *args, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_kernels_are_read_without_a_problem(_):
    """Two nodes with 6.12 and with 7.2: node2 waits for flocks of node1 on both file systems."""
    for kernel, pid in (("6.12", None), ("7.2", 224)):
        last = frames(os.path.join(CAPTURES, "kernels", kernel))[-1]
        wrong = [p for p in last["problems"] if "clock" not in p]
        assert not wrong, (kernel, wrong)
        waits = [row for row in last["rows"] if row["waiting"]]
        assert len(waits) == 2, (kernel, waits)
        for row in waits:
            assert "on node1 holds EX (flock); node2" in row["sentence"], (kernel, row["sentence"])
            assert row["oldest_wait_s"] > 10, (kernel, row)
        if pid:
            assert any(f"node2 (pid {pid} flock)" in row["sentence"] for row in waits), waits


def test_an_unknown_form_of_the_dlm_is_one_problem(folder):
    """All else goes on."""
    shutil.copytree(os.path.join(CAPTURES, "kernels", "7.2"), os.path.join(folder, "k"))
    for sample in ("t0", "t1"):
        for node in ("node1", "node2"):
            path = os.path.join(folder, "k", sample, node, "dlm", "fs1_all")
            with open(path, encoding="utf-8") as f:
                lines = f.read().replace("rsb 0", "rsb new:0")
            with open(path, "w", encoding="utf-8") as f:
                f.write(lines)
    last = frames("k", cwd=folder)[-1]
    wrong = [p for p in last["problems"] if "clock" not in p]
    assert len(wrong) <= 2 and all("fs1_all" in p for p in wrong), wrong
    assert sum(row["waiting"] for row in last["rows"]) == 2


def test_a_log_of_the_kernel(_):
    for name, host in (("dmesg.txt", "node"), ("journal.txt", "node"), ("messages", "web1"), ("journal-iso", "web2")):
        said = text(name)
        assert re.search(f"^nodes +!?{host} ", said, re.M), (name, said)
        assert "2 locks" in said, (name, said)


def test_texts_of_ocfs2_tools(_):
    """The node waits for RW in EX, and another node waits for META, which this node holds."""
    said = text("fslocks.txt")
    assert "waiting 2" in said and "2 locks" in said, said
    assert "1 process on node holds PR, and waits for RW" in said, said
    assert "another node has asked for it in EX" in said, said
    said = text("dlm_locks")
    assert "on node: cat /sys/kernel/debug/ocfs2/*/locking_state" in said, said
    assert "<12820>: a process on node holds EX (flock); the DLM's node 2 has asked node, the lock's master, for it in EX" in said
    assert "18 locks" in said and "waiting 1" in said, said
    assert run("--check", "dlm_locks").returncode == 3


LOCKRES = """Lockres: M000000000000000000022300000000   Owner: %d    State: 0x0
Last Used: 0      ASTs Reserved: 0    Inflight: 0    Migration Pending: No
Refs: 4    Locks: 2    On Lists: None
Reference Map: 2
 Lock-Queue  Node  Level  Conv  Cookie           Refs  AST  BAST  Pending-Action
"""


def test_the_node_of_dlm_locks_is_found(folder):
    """The master lists the locks of all nodes, another node its own. The text does not name the node."""
    kinds = {
        "another waits for this node": (
            1, ("Granted     1     EX     -1    1:19", "Blocked     3     EX     -1    3:11"),
            "node has it in EX; the DLM's node 3 has asked node"),
        "others wait for each other": (
            1, ("Granted     2     PR     -1    2:19", "Blocked     3     EX     -1    3:11"),
            "the DLM's node 2, which is dead or not watched, holds PR; the DLM's node 3 has asked node, the lock's master"),
        "this node waits for another master": (
            2, ("Blocked     3     EX     -1    3:11",), "node waits, for how long is not known; no holder was seen"),
        "this node waits, and decides": (
            1, ("Granted     2     EX     -1    2:19", "Converting  1     NL     PR    1:11"),
            "the DLM's node 2, which is dead or not watched, holds EX; node waits"),
    }
    for name, (owner, locks, said) in kinds.items():
        path = os.path.join(folder, "dlm_locks.txt")
        with open(path, "w", encoding="utf-8") as f:
            f.write(LOCKRES % owner + "".join(f" {lock}             2     No   No    None\n" for lock in locks))
        told = text(path)
        assert "waiting 1" in told and said in told, (name, told)
        assert run("--check", path).returncode == 3, name


def test_a_report_of_crm(_):
    """Its dlm_dump.txt has all spaces of the DLM: a flock of GFS2, and a lock of OCFS2."""
    said = text("crm")
    assert "nodes   node1 " in said and "waiting 2" in said, said
    assert "pid 100 on node1 holds EX (flock); the DLM's node 2 (pid 100) has asked node1" in said, said
    assert "the DLM's node 2, which is dead or not watched, holds EX (asked for by pid 277 there); node1 waits" in said, said


def test_texts_of_the_dlm(_):
    """node1, the master, holds a flock in EX, and node2 waits for it. Each text shows it by itself."""
    for name in ("dlm_locks_fs1", "lockdump", "fs1", "fs1_locks"):
        said = text(name)
        assert "nodes   node ok" in said, (name, said)
        assert re.search(r"\b(3[0-9]|[0-9]) locks", said), (name, said)
        assert "on node: cat /sys/kernel/debug/gfs2/*/glocks" in said, (name, said)
        # lockdump lists no request of another node
        if name == "lockdump":
            continue
        pid, there = ("", "") if name == "fs1" else ("pid 100", " (pid 100)")
        holder = (pid or "a process") + " on node holds EX (flock)"
        assert f"{holder}; the DLM's node 2{there} has asked node, the lock's master, for it in EX" in said, (name, said)
        done = run("--check", name)
        assert done.returncode != 0 and "<6972>" in done.stdout, (name, done)
    said = text("lockdump2")
    assert "waiting 1" in said and "<6972>" in said, said
    assert "the lock's master is the DLM's node 1, which is dead or not watched; node (pid 100) waits" in said, said


def test_glocktop(_):
    said = text("glocktop.txt")
    assert "nodes   alpha ok" in said and "1 locks" in said, said


def test_old_kernels(_):
    for name in ("rhel5", "rhel6"):
        done = run("-b", "--details", name)
        assert done.returncode == 0 and "problem" not in done.stdout, (name, done.stdout)


def test_runs_of_gfs2_lockcapture_are_samples(_):
    all_frames = frames("lockcapture")
    assert len(all_frames) == 1, len(all_frames)
    assert abs(all_frames[0]["nodes"][0]["interval_s"] - 10) < 0.01, all_frames[0]["nodes"]
    assert all_frames[0]["nodes"][0]["name"] == "node1"
    assert not [p for p in all_frames[0]["problems"] if "lockcapture.log" in p]


def test_the_host_comes_from_the_path(_):
    """Two files of two hosts are one sample of two nodes, however they are given."""
    uuid = os.listdir(os.path.join(SUPPORT, "sos/web1/sys/kernel/debug/ocfs2"))[0]
    files = [f"sos/{host}/sys/kernel/debug/ocfs2/{uuid}/locking_state" for host in ("web1", "web2")]
    for given in (["sos"], ["sos/web1", "sos/web2"], ["sos/web1/sys/kernel/debug", "sos/web2/sys/kernel/debug"], files):
        said = frames(*given)
        assert len(said) == 1, given
        assert [n["name"] for n in said[0]["nodes"]] == ["web1", "web2"], given
        assert not said[0]["rows"] or not any(r["wait_s_per_s"] for r in said[0]["rows"]), given


def packed(folder, name, mode, source, inside):
    path = os.path.join(folder, name)
    with tarfile.open(path, mode) as tar:
        tar.add(source, arcname=inside)
    return path


def test_archives_of_each_packer(folder):
    whole = text("sos")
    rest = whole[whole.index("\n"):]
    for name, mode in (("a.tar", "w"), ("a.tar.gz", "w:gz"), ("a.tgz", "w:gz"), ("a.tar.bz2", "w:bz2"),
                       ("a.tar.xz", "w:xz")):
        said = text(packed(folder, name, mode, os.path.join(SUPPORT, "sos"), "case"))
        assert said[said.index("\n"):] == rest, (name, said)
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-q", os.path.join(folder, "a.tar")], check=True)
        said = text(os.path.join(folder, "a.tar.zst"))
        assert said[said.index("\n"):] == rest, said
    # several archives of several hosts at once
    two = [packed(folder, f"sosreport-{host}-2026-11-20-abc.tar.xz", "w:xz", os.path.join(SUPPORT, "sos", host),
                  f"sosreport-{host}-2026-11-20-abc") for host in ("web1", "web2")]
    assert [n["name"] for n in frames(*two)[0]["nodes"]] == ["web1", "web2"]


def test_single_packed_files(folder):
    with open(os.path.join(SUPPORT, "dmesg.txt"), "rb") as f:
        plain = f.read()
    for end, pack in (("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)):
        path = os.path.join(folder, "dmesg.txt." + end)
        with open(path, "wb") as f:
            f.write(pack(plain))
        assert "2 locks" in text(path), end


def test_an_archive_is_not_trusted(folder):
    """Names that lead out of the archive, links, terminal codes, a bomb, a cut end."""
    out = os.path.join(folder, "evil.tar.gz")
    with tarfile.open(out, "w:gz") as tar:
        def add(name, data=b"", **kw):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for key, value in kw.items():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(data))
        glock = b"G:  s:EX n:2/805f f:Dqob t:EX d:UN/603701000 a:0 v:0 r:4 m:200 p:1\n"
        add("../../outside/gfs2/c:a/glocks", glock)
        add("/absolute/gfs2/c:a/glocks", glock)
        add("h\x1b[31m/gfs2/c:\x07b/glocks", glock)
        add("host/gfs2/c:a/glocks", type=tarfile.SYMTYPE, linkname="/etc/passwd")
        add("host/gfs2/c:c/glocks", b"\0" * (16 << 20))
    before = sorted(os.listdir(folder))
    done = run("-b", "evil.tar.gz", cwd=folder)
    assert "\x1b" not in done.stdout + done.stderr and "\x07" not in done.stdout + done.stderr, done
    assert "root:" not in done.stdout and done.returncode in (0, 3), done
    assert sorted(os.listdir(folder)) == before
    with open(out, "rb") as f:
        whole = f.read()
    for cut in (10, 100, len(whole) // 2):
        with open(os.path.join(folder, "cut.tar.gz"), "wb") as f:
            f.write(whole[:cut])
        assert run("-b", "cut.tar.gz", cwd=folder).returncode in (0, 2, 3), cut


def test_a_huge_member_takes_no_memory(folder):
    """A sparse member of 2 GiB, and a line of 64 MiB. The size that a header tells is not believed."""
    space = os.path.join(folder, "h", "sys/kernel/debug/gfs2/c:a")
    os.makedirs(space)
    glock = b"G:  s:EX n:2/805f f:Dqob t:EX d:UN/603701000 a:0 v:0 r:4 m:200 p:1\n"
    for name, size, fill in (("sparse", 2 << 30, b""), ("line", 0, b"G" * (64 << 20))):
        with open(os.path.join(space, "glocks"), "wb") as f:
            f.write(glock + fill)
            f.truncate(max(size, len(glock) + len(fill)))
        subprocess.run(["tar", "-C", folder, "-Sczf", os.path.join(folder, name + ".tar.gz"), "h"], check=True)
        child = subprocess.Popen([O2TOP, "--no-config", "-b", name + ".tar.gz"], cwd=folder, env=ENV,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        said = child.stdout.read().decode()
        used = os.wait4(child.pid, 0)[2].ru_maxrss
        child.returncode = 0
        assert "zero bytes, or a line of more than 64 KiB: o2top skips the rest" in said, (name, said)
        # the lines before it are read
        assert "<32863>" in said and "another node has asked for it" in said, (name, said)
        assert os.environ.get("O2TOP_SANITIZED") or used < 256 << 10, (name, used)  # KiB


def test_what_is_no_form_is_refused_with_the_command(folder):
    for name, data in (("notes.txt", b"hello\n"), ("picture.png", b"\x89PNG\0\0"), ("empty.tar", b"\0" * 10240)):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
        done = run("-b", name, cwd=folder)
        assert done.returncode == 2, (name, done)
        assert "run on each node: o2top --collect FILE" in done.stderr, (name, done.stderr)
        assert len(done.stderr.splitlines()) == 1, done.stderr


def test_the_script_makes_an_archive(folder):
    """o2top shows the archive that the script makes of a node's files."""
    with open("/proc/uptime", encoding="ascii") as f:
        assert float(f.read().split()[0]) > 0
    script = run("--collect-script").stdout
    for shell in ("sh", "bash"):
        done = subprocess.run([shell], input=script.encode(), capture_output=True, timeout=60, check=True,
                              env={**ENV, "O2TOP_PAUSE": "0.1",
                                   "O2TOP_DEBUGFS": os.path.join(CAPTURES, "kernels", "7.2", "t0", "node1")})
        path = os.path.join(folder, "node.tgz")
        with open(path, "wb") as f:
            f.write(done.stdout)
        said = frames(path)
        assert len(said) == 1 and said[0]["nodes"][0]["name"] == os.uname().nodename, said[0]["nodes"]
        assert not [p for p in said[0]["problems"] if "clock" not in p], said[0]["problems"]
    # the way out is that of the user
    done = subprocess.run(["sh"], input=script, capture_output=True, text=True, check=False, timeout=60,
                          env={**ENV, "O2TOP_DEBUGFS": "/nonexistent"})
    way = "run as root" if os.geteuid() else "mount -t debugfs none /nonexistent"
    assert done.returncode == 1 and done.stderr == f"/nonexistent cannot be read: {way}\n", done
    with tarfile.open(path) as tar:
        names = {os.path.basename(n) for n in tar.getnames()}
    assert {"glocks", "glstats", "sbstats", "locking_state", "fs_state", "fs1_all", "realtime", "uptime"} <= names, names


def test_collect_keeps_what_nobody_asked_for(folder):
    """Nothing waits here, so no frame needs the dump of the DLM. The file has it."""
    node = os.path.join(CAPTURES, "gfs2-hot", "t0", "node1")
    mounts = os.path.join(folder, "mountinfo")
    with open(mounts, "w", encoding="utf-8") as f:
        f.write("90 28 254:0 / /mnt/gfs2 rw,relatime - gfs2 /dev/vda rw\n")
    live = os.path.join(folder, "debug")
    shutil.copytree(node, live)
    os.unlink(os.path.join(live, "realtime"))
    glocks = os.path.join(live, "gfs2", "lab:fs1", "glocks")
    with open(glocks, encoding="utf-8") as f:
        idle = "".join(line for line in f if not re.match(r" H: s:\w+ f:\S*W", line))
    with open(glocks, "w", encoding="utf-8") as f:
        f.write(idle)
    for option in ("--collect", "--record"):
        path = os.path.join(folder, option)
        more = ["-b", "--once"] if option == "--record" else []
        done = run(option, path, "--local", "-t", "0.1", "--debugfs", live, "--mountinfo", mounts, *more)
        assert done.returncode == 0, done
        assert option != "--collect" or "2 samples of 1 node; o2top" in done.stdout, done.stdout
    assert os.path.getsize(os.path.join(folder, "--collect")) > 1.2 * os.path.getsize(os.path.join(folder, "--record"))
    assert frames(os.path.join(folder, "--collect"))


def test_two_times_of_one_host_need_a_time(folder):
    for name in ("a", "b"):
        shutil.copytree(os.path.join(SUPPORT, "sos", "web1"), os.path.join(folder, name, "web1"))
    done = run("-b", "a/web1", "b/web1", cwd=folder)
    assert done.returncode == 2 and "may be two times of one node or two nodes" in done.stderr, done


def test_two_files_may_be_of_two_nodes(folder):
    """A lock at rest, a journal or a process that holds a glock proves one node. Otherwise o2top asks."""
    hot = os.path.join(CAPTURES, "ocfs2-hot")
    uuid = os.listdir(os.path.join(hot, "t0", "node1", "ocfs2"))[0]
    given = [("ocfs2/" + uuid + "/locking_state", hot), ("gfs2/lab:fs1/glocks", os.path.join(CAPTURES, "gfs2-hot"))]
    for file, capture in given:
        for number, (sample, node) in enumerate((("t0", "node1"), ("t1", "node1"), ("t0", "node2"))):
            shutil.copy(os.path.join(capture, sample, node, file), os.path.join(folder, f"f{number}"))
        assert run("-b", "f0", "f1", cwd=folder).returncode == 0, file
        done = run("-b", "f0", "f2", cwd=folder)
        assert done.returncode == 2 and "f2: may be of another node than f0" in done.stderr, (file, done)
        assert run("-b", "--recording", "f0", "f2", cwd=folder).returncode == 0, file
    for answer, status in ((b"n\n", 2), (b"y\n", 0)):
        ours, theirs = pty.openpty()
        os.write(ours, answer)
        done = subprocess.run([O2TOP, "--no-config", "-b", "f0", "f2"], cwd=folder, env=ENV, stdin=theirs,
                              stdout=subprocess.PIPE, stderr=theirs, timeout=120, check=False)
        asked = os.read(ours, 4096)
        os.close(theirs)
        os.close(ours)
        assert done.returncode == status and b"Are f0 and f2 two times of one node?" in asked, (answer, asked, done)


# The columns of a row's line, and the fields of JSON.
DASHES = {"LOST/s": "wait_s_per_s", "SHARE": "share", "AGE": "oldest_wait_s", "MEAN": "mean_wait_s", "LONGEST": "longest_wait_s",
          "ACQ/s": "acquired", "WR": "writers", "RD": "readers"}


def test_json_has_null_where_the_text_has_a_dash(_):
    """One sample, samples without a time, with and without a proved age, and frames with rates."""
    seen = {field: set() for field in DASHES.values()}
    ages = set()  # of processes that wait
    for path in ("01/one", "01/noclock", "05/rhel5/glocks", "09/data_all", "09/fs1_locks", "09/locksonly",
                 "23/count-v2"):
        path = os.path.join(CAPTURES, "field", path)
        frame = frames(path)[-1]
        lines = text(path).split("\no2top ")[-1].splitlines()
        header = next(line for line in lines if "LOST/s" in line)
        places = {name: header.index(name) + len(name) for name in DASHES}
        marked = [line for line in lines if re.match(r"[* ] +\d+ +\S", line)]
        assert len(marked) == len(frame["rows"]) > 0, (path, lines)
        rates = frame["totals"]["wait_s_per_s"] is not None
        assert rates == (frame["totals"]["acquired_per_s"] is not None) == (frame["interval_s"] not in (None, 0)), frame["totals"]
        for row, line in zip(frame["rows"], marked):
            for name, field in DASHES.items():
                dash = line[:places[name]].endswith("-")
                none = row[field] is None or (name == "LONGEST" and row[field] == 0)
                assert dash == none, (path, name, line, row[field])
                seen[field].add(dash)
            for part in (*row["nodes"], *row["locks"]):
                assert rates or part["acquired"] is None, (path, part)
                ages |= {process["waits_s"] for process in part.get("processes", ()) if process["waits"]}
    assert {f for f, kinds in seen.items() if len(kinds) == 2} >= {"wait_s_per_s", "oldest_wait_s", "acquired"}, seen
    assert None in ages and 0 not in ages, ages


def test_counters_that_no_waiters_explain_are_a_doubt(_):
    files = [os.path.join(CAPTURES, "field", "24", "plain", f"{host}.locking_state") for host in ("web1", "web2")]
    frame = frames("--recording", *files)[0]
    assert frame["totals"]["wait_s"] == 0 and not frame["totals"]["hot"], frame["totals"]
    assert any("2 locks are doubtful" in p and "two nodes" in p for p in frame["problems"]), frame["problems"]
    done = run("--check", "--recording", *files)
    assert done.returncode == 0, done


def test_a_trace_alone_tells_what_it_lacks(folder):
    path = os.path.join(folder, "perf.txt")
    with open(path, "w", encoding="utf-8") as f:
        f.write("kworker/0:2H   383 [000]   329.869330: gfs2:gfs2_glock_lock_time: 254,0 glock 2:9291 status:0 "
                "flags:00 tdiff:528862 srtt:1/1 srttb:3/3 sirt:1/3 dcnt:534 qcnt:1\n")
    done = run("-b", path)
    assert done.returncode == 2 and "cat /sys/kernel/debug/gfs2/*/glocks" in done.stderr, done


def test_perf_and_trace_cmd_give_waits(folder):
    """The same events as the kernel prints them, as trace-cmd pads them and as perf names them."""
    source = os.path.join(CAPTURES, "kernels", "7.2", "t0", "node1", "gfs2", "lab:fs1")
    tail = ": 254,0 glock 2:182b status:0 flags:00 tdiff:500000000 srtt:1/1 srttb:3/3 sirt:1/3 dcnt:534 qcnt:1\n"
    forms = {"native": "   kworker/0:2H-383     [000] .....   329.869330: gfs2_glock_lock_time" + tail,
             "tc": "    kworker/0:2H-383     [000] 329.869330: gfs2_glock_lock_time" + tail.replace(": ", ":     ", 1),
             "perf": "kworker/0:2H   383 [000]   329.869330: gfs2:gfs2_glock_lock_time" + tail}
    said = {}
    for name, line in forms.items():
        host = os.path.join(folder, name, "web1")
        shutil.copytree(source, os.path.join(host, "gfs2", "lab:fs1"))
        for file, value in (("trace.txt", line), ("uptime", "330.00 1.0\n"), ("realtime", "1795700000.0\n")):
            if name != "native" or file != "trace.txt":
                with open(os.path.join(host, file), "w", encoding="utf-8") as f:
                    f.write(value)
            else:
                with open(os.path.join(host, "trace"), "w", encoding="utf-8") as f:
                    f.write(value)
        with tarfile.open(os.path.join(folder, name + ".tar"), "w") as tar:
            tar.add(os.path.join(folder, name), arcname="case")
        said[name] = frames(os.path.join(folder, name + ".tar"))[0]["rows"]
    assert said["tc"] == said["native"] and said["perf"] == said["native"], said


tap.run(globals())
