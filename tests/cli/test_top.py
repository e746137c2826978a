# SPDX-License-Identifier: MIT
# test_top.py - tests o2top on processes: waiters, holders, ages, and stopped, hung or dead nodes.

import json
import os
import pwd
import subprocess
import tempfile
import time

from cli import GLOCK, SLOW, Node, main, out, wait_for

O2TOP = os.environ["O2TOP"]
USER = pwd.getpwuid(os.geteuid()).pw_name


def frames(*args):
    r = subprocess.run([O2TOP, "--json", *args], capture_output=True, text=True, timeout=SLOW)
    assert r.returncode == 0, r.stderr
    return [json.loads(line) for line in r.stdout.splitlines()]


def once():
    return frames("--once", "-t", "0.1")[0]


def node(frame, name):
    (n,) = [n for n in frame["nodes"] if n["name"] == name]
    return n


def row(frame, **want):
    rows = [r for r in frame["rows"] if all(r[k] == v for k, v in want.items())]
    assert len(rows) == 1, "%s: %s" % (want, frame["rows"])
    return rows[0]


def spaces_are_found_and_waits_are_exact():
    a, b = Node("shop"), Node("shop")
    a.do("name /mnt/till")
    b.do("name /mnt/till")
    a.do("nq 1 2 17 EX")
    a.do("wait 1")
    b.do("nq 1 2 17 EX")
    asked = time.monotonic()
    wait_for(lambda: once()["rows"])
    f = once()
    r = row(f, ino=17)
    assert r["fs"] == "glock" and r["lockspace"] == "shop" and r["section"] == "files" and r["hot"], r
    assert r["waiting"] == 1 and not r["estimated"] and r["oldest_wait_s"] == r["oldest_wait_max_s"], r
    assert r["oldest_wait_s"] <= time.monotonic() - asked + 1, r
    assert node(f, a.name)["state"] == "ok"
    a.do("dq 1")
    b.do("wait 1")
    b.do("dq 1")
    a.end(), b.end()


def frames_count_waits_once():
    a, b = Node("shop"), Node("shop")
    a.do("name the till")
    a.do("nq 1 2 17 EX")
    a.do("wait 1")
    b.do("nq 1 2 17 EX")
    p = subprocess.Popen([O2TOP, "--json", "-t", "0.5", "-i", "4"], stdout=subprocess.PIPE, text=True)
    f = [json.loads(p.stdout.readline()) for _ in range(2)]
    a.do("dq 1")
    b.do("wait 1")
    f += [json.loads(line) for line in p.communicate(timeout=SLOW)[0].splitlines()]
    for frame in f[:2]:
        r = row(frame, ino=17)
        length = node(frame, b.name)["interval_s"]
        assert abs(r["wait_s"] - length) < 0.05 * length + 0.01, (r["wait_s"], length)
        assert r["path"] == "the till"
    # afterwards no thread waits, and earlier waits do not count again
    assert all(not r["waiting"] and r["wait_s"] < 0.3 for r in f[-1]["rows"]), f[-1]["rows"]
    (o,) = [o for o in map(json.loads, out("stat", "--json", "-n", str(b.pid), "shop").splitlines())]
    lost = [sum(r["wait_s"] for r in frame["rows"]) for frame in f]
    assert sum(lost) <= o["waited_s"] + 0.01, (lost, o)
    a.end(), b.end()


def a_stopped_process_is_named():
    a, b = Node("shop"), Node("shop")
    a.do("nq 1 6 99 EX")
    a.do("wait 1")
    a.stop()
    b.do("nq 1 6 99 SH")
    time.sleep(0.6)
    f = once()
    assert node(f, a.name)["state"] == "stopped"
    r = row(f, waiting=1)
    want = "%s (pid %d node, %s) has held EX for" % (a.name, a.pid, USER)
    waits = " and is stopped; %s (pid %d node, %s) waits " % (b.name, b.pid, USER)
    assert "kill -CONT" in r["advice"], r["advice"]
    assert r["sentence"].startswith(want) and waits in r["sentence"], r["sentence"]
    a.go_on()
    a.do("dq 1")
    b.do("wait 1")
    a.end(), b.end()


def a_command_is_named():
    """Of glock run: the name, the command, the user, and what shows the command."""
    jobs = [subprocess.Popen([GLOCK, "run", "jobs", "nightly", "sh", "-c", "read x"], stdin=subprocess.PIPE) for _ in "ab"]
    f = wait_for(lambda: (f := once())["rows"] and (f["rows"][0]["oldest_wait_s"] or 0) > 0.6 and f)
    r = row(f, path="nightly", waiting=1)
    pid = next(p.pid for p in jobs if r["sentence"].startswith("glock-%d " % p.pid))
    assert "(pid %d sh, %s) has held EX for" % (pid, USER) in r["sentence"], r["sentence"]
    assert "on glock-" not in r["advice"] and "ps -fp %d --ppid %d" % (pid, pid) in r["advice"], r["advice"]
    for p in sorted(jobs, key=lambda p: p.pid != pid):
        p.communicate(timeout=SLOW)


def a_process_that_hangs_is_named():
    a, b = Node("shop"), Node("shop")
    a.do("cached 2 6 EX")
    a.do("hang 8")
    b.do("nq 1 2 5 EX")
    f = wait_for(lambda: (f := once()) and node(f, a.name)["state"] == "hangs" and f)
    assert "2:5" in node(f, a.name)["why"]
    assert "caches it in EX" in row(f, ino=5)["sentence"], row(f, ino=5)["sentence"]
    b.do("wait 1")
    a.end(), b.end()


def a_dead_process_is_named():
    a, b = Node("shop"), Node("shop")
    a.do("cached 2 6 EX")
    a.kill()
    assert node(once(), a.name)["state"] == "dead"
    b.end()
    text = subprocess.run([O2TOP, "-b", "--once", "-t", "0.1"], capture_output=True, text=True, timeout=SLOW, check=False).stdout
    assert "all watched processes have ended" in text and "no node" not in text, text


def processes_that_end_are_forgotten():
    a = Node("shop")
    p = subprocess.Popen([O2TOP, "--json", "-t", "0.2", "-i", "8"], stdout=subprocess.PIPE, text=True)
    assert [n["name"] for n in json.loads(p.stdout.readline())["nodes"]] == [a.name]
    b = Node("shop")
    a.end()
    last = [json.loads(line) for line in p.communicate(timeout=SLOW)[0].splitlines()][-1]
    assert [n["name"] for n in last["nodes"]] == [b.name], last["nodes"]
    b.end()


def garbage_in_a_segment_is_survived():
    a = Node("shop")
    a.do("cached 2 2000 SH")
    folder = os.environ["GLOCK_DIR"]
    (file,) = [os.path.join(folder, f) for f in os.listdir(folder) if "," in f]
    for seed in range(40):
        with open(file, "r+b") as f:
            f.seek(seed * 977)
            f.write(os.urandom(2000))
        r = subprocess.run([O2TOP, "--json", "--once", "-t", "0.05"], capture_output=True, text=True, timeout=SLOW)
        assert r.returncode in (0, 1, 3), (r.returncode, r.stderr)  # 3: no file was usable
        assert all(json.loads(line) for line in r.stdout.splitlines())
        for command in (["stat", "shop"], ["stat", "--json", "shop"], ["ls", "shop"]):
            r = subprocess.run([GLOCK, *command], capture_output=True, timeout=SLOW)
            assert r.returncode in (0, 66), (command, r.returncode, r.stderr)
    # and so does the process of this file
    a.do("cached 2 2500 SH")
    a.do("cached 2 50 EX")
    a.end()


def a_machine_that_is_asked_tells_of_its_processes():
    a, b, c, d = Node("shop"), Node("shop"), Node("shop"), Node("shop")
    names = ["localhost:" + n.name for n in (a, b, c, d)]
    a.do("nq 1 2 17 EX")
    a.do("wait 1")
    b.do("nq 1 2 17 EX")
    c.stop()
    d.kill()

    def asked():
        f = frames("-n", "localhost", "--once", "-t", "0.1")[0]
        named = f["rows"] and f["rows"][0]["sentence"]
        return f if named and {n["name"] for n in f["nodes"]} == set(names) else None

    try:
        f = wait_for(asked)
    finally:
        c.go_on()
    assert [node(f, n)["state"] for n in names] == ["ok", "ok", "stopped", "dead"], f["nodes"]
    r = row(f, ino=17)
    assert r["lockspace"] == "shop" and r["waiting"] == 1 and not r["estimated"], r
    assert names[1] in r["sentence"] and names[0] + " (pid" in r["sentence"], r
    a.do("dq 1")
    b.do("wait 1")
    b.do("dq 1")
    p = subprocess.Popen([O2TOP, "--json", "-n", "localhost", "-t", "0.2"], stdout=subprocess.PIPE, text=True)
    told = (json.loads(line) for line in p.stdout)
    assert next(told)
    b.end(), c.end()
    wait_for(lambda: [n["name"] for n in next(told)["nodes"] if n["state"] != "dead"] == names[:1])
    a.end()
    p.kill()
    p.communicate()


def beside_a_file_system_they_show_where_asked_for():
    """A machine has a GFS2 and a process of libglock. The process shows with --fs glock, or with
    --fs and the name of its space."""
    a = Node("shop")
    a.do("nq 1 2 17 EX")
    a.do("wait 1")
    with tempfile.TemporaryDirectory(prefix="o2top-beside.") as folder:
        os.makedirs(f"{folder}/gfs2/lab:fs1")
        with open(f"{folder}/gfs2/lab:fs1/glocks", "w") as f:
            f.write("G:  s:SH n:2/1000 f:Iob t:SH d:EX/0 a:0 v:0 r:3 m:50 p:1\n")

        def nodes(*args):
            env = {**os.environ, "O2TOP_DEBUGFS": folder, "PATH": os.path.dirname(O2TOP) + ":" + os.environ["PATH"]}
            r = subprocess.run([O2TOP, "--json", "-n", "localhost", "--once", "-t", "0.1", *args], capture_output=True,
                               text=True, timeout=SLOW, env=env, check=False)
            assert r.returncode == 0, r.stderr
            return [n["name"] for n in json.loads(r.stdout)["nodes"]]

        assert nodes() == nodes("--fs", "gfs2") == nodes("--fs", "ocfs2") == ["localhost"], nodes()
        both = ["localhost", "localhost:" + a.name]
        assert nodes("--fs", "glock") == nodes("--fs", "shop") == both, nodes("--fs", "glock")
        os.unlink(f"{folder}/gfs2/lab:fs1/glocks")
        os.rmdir(f"{folder}/gfs2/lab:fs1")
        assert nodes() == both[1:], nodes()
    a.end()


def a_kind_of_file_system_shows_no_processes():
    """Neither a machine nor a cluster has a file system. --fs with a kind shows no process of libglock, and
    names the way out."""
    a = Node("shop")
    a.do("nq 1 2 17 EX")
    a.do("wait 1")
    with tempfile.TemporaryDirectory(prefix="o2top-empty.") as folder:
        def o2top(*args):
            env = {**os.environ, "O2TOP_DEBUGFS": folder, "PATH": os.path.dirname(O2TOP) + ":" + os.environ["PATH"]}
            return subprocess.run([O2TOP, "--json", "--once", "-t", "0.1", *args], capture_output=True, text=True,
                                  timeout=SLOW, env=env, check=False)

        for where in (["--local"], ["-n", "localhost"]):
            r = o2top(*where)
            assert r.returncode == 0 and a.name in r.stdout, (where, r.stdout, r.stderr)
            for kind, name in (("ocfs2", "OCFS2"), ("GFS2", "GFS2")):
                r = o2top(*where, "--fs", kind)
                assert a.name not in r.stdout and r.stdout == "", (where, r.stdout)
                if where == ["--local"] and "run o2top as root" in r.stderr:
                    assert r.returncode == 3, r
                    continue
                assert r.returncode == 1, r
                assert f"no {name} is mounted" in r.stderr and "--fs glock" in r.stderr, r.stderr
    a.end()
    r = subprocess.run([O2TOP, "--local", "--fs", "glock", "--once", "-t", "0.1"], capture_output=True, text=True,
                       timeout=SLOW, check=False)
    assert r.returncode in (1, 3) and ("no process is in a lock space here" in r.stderr or
                                       "run o2top as root" in r.stderr), r


def glock_top_is_o2top():
    a = Node("shop")
    text = out("top", "shop", "--once", "-t", "0.1", "-b")
    assert a.name in text, text
    a.end()


if __name__ == "__main__":
    main(
        [
            spaces_are_found_and_waits_are_exact,
            frames_count_waits_once,
            a_stopped_process_is_named, a_command_is_named,
            a_process_that_hangs_is_named,
            a_dead_process_is_named,
            processes_that_end_are_forgotten,
            garbage_in_a_segment_is_survived,
            a_machine_that_is_asked_tells_of_its_processes,
            beside_a_file_system_they_show_where_asked_for,
            a_kind_of_file_system_shows_no_processes,
            glock_top_is_o2top,
        ]
    )
