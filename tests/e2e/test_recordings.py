# SPDX-License-Identifier: MIT
# test_recordings.py - tests recording as a service: rotation, SIGHUP, a full disk, the unit.
#
# The tests of --summary stand here, too, because a summary reads a recording.

import csv
import glob
import io
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import subprocess
import time

import tap

O2TOP = os.environ["O2TOP"]
CAPTURES = os.environ["O2TOP_CAPTURES"]
UNIT = os.path.join(os.environ["O2TOP_DATA"], "..", "..", "contrib", "systemd")
BUILT = os.path.join(os.path.dirname(O2TOP), "contrib")  # the units name the program
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC", "XDG_CONFIG_HOME": "/nowhere", "TERM": "xterm"}
LIVE = ["--local", "--debugfs", f"{CAPTURES}/ocfs2-hot/t1/node1", "-t", "0.05"]
PATIENCE = 60


def o2top(*arguments, status=0, **how):
    done = subprocess.run([O2TOP, *arguments], env=ENV, cwd=CAPTURES, capture_output=True, text=True, timeout=120,
                          check=False, **how)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout, done.stderr


def frames(*arguments):
    return [json.loads(line) for line in o2top("--json", *arguments)[0].splitlines()]


def wait_for(what):
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.02)


def size(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


# ---- files ---------------------------------------------------------------------------------------


def test_a_rotated_set_is_replayed_in_order(folder):
    path = os.path.join(folder, "rec")
    o2top("-b", "--record", path + ".2", "ocfs2-hot")
    o2top("-b", "--record", path, "ocfs2-hang")
    samples = lambda *of: [f["time"] for f in frames("--replay", *of)]
    both = samples(path)
    assert len(both) == 7, both  # a gap in the numbers is no end
    assert both == sorted(both) and len(samples(path + ".2")) == 4
    assert samples(path, "--from", "06:07") == [t for t in both if t >= 1795154820]
    # the newest file was moved away and not yet made again
    os.rename(path, path + ".1")
    assert samples(path) == both


def test_options_of_a_limit(folder):
    for wrong, said in ((["--record-keep", "2", "--record", "x"], "--record-keep needs --record-size"),
                        (["--record-size", "2"], "--record-size needs --record"),
                        (["--record-size", "0", "--record", "x"], "from 1 to 1048576"),
                        (["--record-size", "1", "--record-keep", "101", "--record", "x"], "from 1 to 100")):
        assert said in o2top("-b", *wrong, "ocfs2-hot", status=2)[1], wrong
    o2top("-b", "--record", os.path.join(folder, "r"), "--record-size", "1", "--record-keep", "2", "ocfs2-hot")


def test_sighup_opens_the_file_again(folder):
    path = os.path.join(folder, "rec")
    with subprocess.Popen([O2TOP, "--csv", *LIVE, "--record", path], env=ENV, stdout=subprocess.DEVNULL) as p:
        wait_for(lambda: size(path) > 4000)
        os.rename(path, path + ".1")
        assert not os.path.exists(path)
        p.send_signal(signal.SIGHUP)
        wait_for(lambda: size(path) > 4000)
        old = size(path + ".1")
        wait_for(lambda: size(path) > 6000)
        assert size(path + ".1") == old and p.poll() is None
        p.terminate()
        assert p.wait(PATIENCE) == -signal.SIGTERM
    for one in (path, path + ".1"):
        assert o2top("-b", "--replay", one)[1] == "", one


def limit(p, size_limit):
    resource.prlimit(p.pid, resource.RLIMIT_FSIZE, (size_limit, resource.RLIM_INFINITY))


def test_a_full_disk(folder):
    """A limit on the size of files stands for a full disk."""
    path = os.path.join(folder, "rec")
    with subprocess.Popen([O2TOP, "-b", *LIVE, "--record", path], env=ENV, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.PIPE) as p:
        wait_for(lambda: size(path) > 3000)
        limit(p, size(path) + 10)
        said = []
        for line in p.stdout:
            said.append(line)
            if line.startswith(f"!! {path} lacks 3 samples: File too large"):
                break
        assert any("this sample is not recorded: File too large" in line for line in said), said
        full = size(path)
        limit(p, resource.RLIM_INFINITY)
        for line in p.stdout:
            if size(path) > full + 3000:
                break
        p.terminate()
        _, err = p.communicate(timeout=PATIENCE)
        assert p.returncode == -signal.SIGTERM and re.search(r"lacks \d+ samples?: File too large", err), err
    assert o2top("-b", "--replay", path)[1] == ""
    # a run that ends by itself has a status
    p = subprocess.run(["sh", "-c", 'ulimit -f 8; "$@"', "sh", O2TOP, "-b", *LIVE, "-i", "40", "--record", path + "2"],
                       env=ENV, capture_output=True, text=True, timeout=120, check=False)
    assert p.returncode == 2 and "lacks" in p.stderr, (p.returncode, p.stderr)


def test_a_full_disk_on_the_screen(folder):
    path = os.path.join(folder, "rec")
    pid, fd = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))
        os.execve(O2TOP, [O2TOP, *LIVE, "--record", path], ENV)
    out = b""
    quits = False
    try:
        while select.select([fd], [], [], PATIENCE)[0]:
            out += os.read(fd, 1 << 16)
            if not quits and re.search(rb"lacks \d", out):
                time.sleep(0.3)  # the screen goes on
                os.write(fd, b"q")
                quits = True
    except OSError:  # the program ended
        pass
    os.close(fd)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2, out[-2000:]
    assert re.search(rb"rec lacks \d+ samples: File too large\r\n$", out), out[-2000:]


# ---- the unit ------------------------------------------------------------------------------------


def command_of(unit, settings):
    """Returns the settings of a unit in contrib/systemd, and the words of its command with them."""
    with open(os.path.join(BUILT, unit + ".service"), encoding="utf-8") as file:
        command = re.search(r"^ExecStart=(.*)$", file.read(), re.M)[1]
    with open(os.path.join(UNIT, unit), encoding="utf-8") as file:
        settings = settings | dict(re.findall(r"^([A-Z_0-9]+)=(.*)$", file.read(), re.M))
    return settings, [word for part in command.split()
                      for word in (settings[part[1:]].split() if re.match(r"\$[A-Z]", part) else
                                   [re.sub(r"\$\{(\w+)\}", lambda m: settings[m[1]], part)])]


def sandbox_of(unit, folder):
    """Checks the unit and its exposure by systemd-analyze. Returns the line that tells the exposure."""
    if not shutil.which("systemd-analyze"):
        return "SKIP needs program systemd-analyze"
    copy = os.path.join(folder, unit + ".service")
    with open(os.path.join(BUILT, unit + ".service"), encoding="utf-8") as file:
        text = file.read()
    with open(copy, "w", encoding="utf-8") as file:
        file.write(re.sub(r"^ExecStart=\S+", f"ExecStart={O2TOP}", text, flags=re.M))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if "o2top" in line]
    assert done.returncode == 0 and not ours, done.stderr
    done = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--threshold=30", copy], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()[-1].strip()



def test_the_unit(folder):
    _, words = command_of("o2top-record", {"LOGS_DIRECTORY": folder})
    # the command runs with the settings, on a recording in the place of the cluster
    where = words.index("--record") + 1
    words[where] = os.path.join(folder, "rec")
    o2top(*words[1:], "-i", "1", *LIVE[:3])
    assert size(words[where]) > 1000
    return sandbox_of("o2top-record", folder)


def test_metrics_service(folder):
    """The unit of contrib/systemd writes the metrics, and another user may read them."""
    settings, words = command_of("o2top-metrics", {})
    assert settings["O2TOP_TEXTFILE"] in words
    place = os.path.join(folder, "o2top.prom")
    words = [place if word == settings["O2TOP_TEXTFILE"] else word for word in words]
    words[words.index("--interval") + 1] = "0.1"
    o2top(*words[1:], "-i", "2", *LIVE[1:3], umask=0o022)
    with open(place, encoding="utf-8") as file:
        assert "\no2top_locks 130\n" in file.read()
    assert os.stat(place).st_mode & 0o777 == 0o644, oct(os.stat(place).st_mode)
    return sandbox_of("o2top-metrics", folder)


# ---- the summary ---------------------------------------------------------------------------------


def key(row):
    return row["section"], row["lockspace"], row["ino"], row.get("path"), row["kind"] if row["ino"] is None else None


def test_a_summary_is_the_sum_of_its_frames(folder):
    for recording in ("ocfs2-hot", "gfs2-hot", "ocfs2-hang", "gfs2-hang"):
        one = json.loads(o2top("--summary", "--json", "-d", recording)[0])
        all_frames = frames("-d", recording)
        assert one["frames"] == len(all_frames)
        assert abs(one["to"] - all_frames[-1]["time"]) < 1e-3
        assert abs(one["totals"]["wait_s"] - sum(f["totals"]["wait_s"] for f in all_frames)) < 1e-4
        assert one["rows"], recording
        for row in one["rows"]:
            if row["ino"] is None:
                continue
            found = [(f["time"], r) for f in all_frames for r in f["rows"]
                     if (r["lockspace"], r["ino"]) == (row["lockspace"], row["ino"])]
            rows = [r for _, r in found]
            hot = [t for t, r in found if r["hot"]]
            assert abs(row["wait_s"] - sum(r["wait_s"] for r in rows)) < 1e-4, (row, rows)
            assert row["acquired"] == sum(r["acquired"] for r in rows)
            assert row["peak_waiting"] == max(r["waiting"] for r in rows)
            assert row["longest_wait_s"] == max((r["longest_wait_s"] or 0 for r in rows)) or row["longest_wait_s"] is None
            assert row["hot_frames"] == len(hot)
            assert [row["first_hot"], row["last_hot"]] == ([hot[0], hot[-1]] if hot else [None, None])
            assert abs(row["share"] - row["wait_s"] / one["totals"]["wait_s"]) < 1e-4
        lost = [r["wait_s"] for r in one["rows"] if r["section"] == "files"]
        assert lost == sorted(lost, reverse=True)


def test_a_summary_tells_what_it_lacks(folder):
    """node2 lost its power after the first frame."""
    one = json.loads(o2top("--summary", "--json", "power-cut")[0])
    assert [m["node"] for m in one["missed"]] == ["node2"] and 50 < one["missed"][0]["s"] < 60, one["missed"]
    assert "\nnot in these sums: 57.7 s of node2 without samples\n" in o2top("--summary", "power-cut")[0]
    assert json.loads(o2top("--summary", "--json", "ocfs2-hot")[0])["missed"] == []


def test_forms_of_a_summary(folder):
    path = os.path.join(folder, "rec")
    o2top("-b", "--record", path, "ocfs2-hot")
    one = json.loads(o2top("--summary", "--json", path)[0])
    rows = list(csv.DictReader(io.StringIO(o2top("--summary", "--csv", path)[0], newline="")))
    assert [(int(r["rank"]), float(r["wait_s"]), int(r["acquired"])) for r in rows] == \
        [(r["rank"], r["wait_s"], r["acquired"]) for r in one["rows"]]
    text = o2top("--summary", "-l", "2", "-s", "acquired", path)[0]
    assert len(re.findall(r"^[* ] +\d+ ", text, re.M)) == 2 and "<5>/" in text, text
    part = json.loads(o2top("--summary", "--json", "--replay", path, "--from", "06:01:45", "--to", "06:01:57")[0])
    assert part["frames"] == 2 and part["totals"]["wait_s"] < one["totals"]["wait_s"]
    assert "give only one of these" in o2top("--summary", "--textfile", "x", path, status=2)[1]
    assert o2top("--summary", "--fs", "nosuch", path, status=2)[1]


def test_a_summary_shows_no_mean_and_no_longest_wait_of_estimates(folder):
    """OCFS2 counts no flock. A sum that is estimated tells neither a mean nor a longest wait."""
    path = os.path.join(CAPTURES, "mail-ocfs2")
    row = json.loads(o2top("--summary", "--json", "--inode", "12827", path)[0])["rows"][0]
    assert row["estimated"] and row["wait_s"] > 1 and row["mean_wait_s"] is None and row["longest_wait_s"] is None
    for form in (["--summary", "--csv"], ["--csv"]):
        lines = list(csv.DictReader(io.StringIO(o2top(*form, "--inode", "12827", path)[0], newline="")))
        lost = [line for line in lines if line["inode"] == "12827" and line["estimated"] == "1"]
        assert lost and all(line["mean_wait_s"] == line["longest_wait_s"] == "" for line in lost), (form, lines)
    assert re.search(r"~[0-9.]+ s +\d+% +\d+ +\d+ +- +- ", o2top("--summary", "--inode", "12827", path)[0])


def test_a_summary_of_live_nodes(folder):
    out = o2top("--summary", "--json", *LIVE, "-i", "3")[0]
    assert json.loads(out)["frames"] == 3
    with subprocess.Popen([O2TOP, "--summary", *LIVE, "--record", os.path.join(folder, "r")], env=ENV,
                          stdout=subprocess.PIPE, text=True) as p:
        wait_for(lambda: size(os.path.join(folder, "r")) > 8000)
        p.send_signal(signal.SIGINT)
        out, _ = p.communicate(timeout=PATIENCE)
        assert p.returncode == -signal.SIGINT and re.search(r"\d+ frames", out), out


tap.run(globals())
