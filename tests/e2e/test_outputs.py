#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# test_outputs.py - tests what monitoring systems and scripts read of o2top, and its set-up. TAP.
#
# These are --csv, --textfile, --check, --from and --to, --demo, --record with a kill in the middle,
# the configuration file, completion. O2TOP, O2TOP_CAPTURES and O2TOP_DATA are the paths that meson
# test sets.

import csv
import io
import json
import os
import pty
import re
import select
import shutil
import signal
import stat
import subprocess
import tempfile
import time

import tap

O2TOP = os.environ["O2TOP"]
CAPTURES = os.environ["O2TOP_CAPTURES"]
DATA = os.environ["O2TOP_DATA"]
CONTRIB = os.path.join(DATA, "..", "..", "contrib")
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC", "XDG_CONFIG_HOME": "/nowhere"}
PATIENCE = 60
OCFS2 = "2AAE8B67B17D4F169DF133216A14ED3D"
tmp = tempfile.mkdtemp(prefix="o2top-outputs-")


def o2top(*arguments, status=0, **env):
    done = subprocess.run([O2TOP, *arguments], env={**ENV, **env}, cwd=CAPTURES, capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout, done.stderr


def names(recording):
    return ["--names", f"{DATA}/{recording}.names"]


# ---- on a terminal -------------------------------------------------------------------------------


def on_a_terminal(*arguments, **env):
    """Runs o2top on a terminal. Returns its status, output and standard error."""
    stderr = os.path.join(tmp, "stderr")
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(CAPTURES)
        os.dup2(os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
        os.execve(O2TOP, [O2TOP, *arguments], {**ENV, **env})
    out = b""
    try:
        while select.select([fd], [], [], PATIENCE)[0]:
            out += os.read(fd, 1 << 16)
    except OSError:  # the program ended
        pass
    os.close(fd)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with open(stderr, encoding="utf-8") as f:
        return status, out.replace(b"\r\n", b"\n").decode(), f.read()


@tap.test
def a_terminal_that_is_not_known():
    """A machine may not know a newer terminal. Then frames are printed, as on a dumb terminal, and
    a message says why."""
    arguments = [*names("gfs2-hang"), "gfs2-hang"]
    status, dumb, said = on_a_terminal(*arguments, TERM="dumb")
    assert (status, said) == (0, "") and dumb.startswith("o2top  gfs2-hang"), (status, dumb, said)
    status, frames, said = on_a_terminal(*arguments, TERM="o2top-knows-\x1b[1mno-such")
    assert (status, frames) == (0, dumb), (status, frames)
    assert said == ('o2top: this machine does not know the terminal "o2top-knows-\\x1b[1mno-such": no screen, '
                    "frames only; try TERM=xterm-256color\n"), said
    # with text output, there is no message about it
    assert on_a_terminal("-b", *arguments, TERM="o2top-knows-no-such")[2] == ""


# ---- CSV -----------------------------------------------------------------------------------------


@tap.test
def csv_is_what_json_is():
    for recording in ("ocfs2-hot", "gfs2-hot", "ocfs2-hang", "gfs2-hang"):
        rows = list(csv.DictReader(io.StringIO(o2top("--csv", *names(recording), recording)[0], newline="")))
        frames = [json.loads(line) for line in o2top("--json", *names(recording), recording)[0].splitlines()]
        wanted = [(frame, row) for frame in frames for row in frame["rows"]]
        assert len(rows) == len(wanted) > 0, (len(rows), len(wanted))
        for got, (frame, row) in zip(rows, wanted):
            assert got["sample"] == frame["sample"]
            assert abs(float(got["time"]) - frame["time"]) < 1e-5
            for key in ("path", "kind", "fs", "lockspace", "advice", "sentence"):
                if key != "kind" or row["kind"] in (None, "file", "directory"):
                    assert got[key] == (row[key] or ""), (key, got, row)
            for key in ("waiting", "rank"):
                assert int(got[key]) == row[key]
            assert got["inode"] == ("" if row["ino"] is None else str(row["ino"]))
            assert abs(float(got["wait_s_per_s"]) - row["wait_s_per_s"]) < 2e-6
            for key in ("oldest_wait_s", "oldest_wait_max_s", "mean_wait_s", "hit_ratio"):
                assert (got[key] == "") == (row[key] is None), (key, got, row)
                assert got[key] == "" or abs(float(got[key]) - row[key]) < 2e-6
            assert got["writers"].split() == row["writers"] and got["readers"].split() == row["readers"]


@tap.test
def csv_of_nasty_names():
    path = os.path.join(tmp, "nasty")
    with open(path, "wb") as f:
        f.write(b'32264 /mnt/a "quoted", with\ttab and \xff\n')
    out = o2top("--csv", "--names", path, "-l", "1", "ocfs2-hot")[0]
    rows = list(csv.DictReader(io.StringIO(out, newline="")))
    assert rows[0]["path"] == '/mnt/a "quoted", with\\x09tab and \\xff', rows[0]["path"]
    raw = subprocess.run([O2TOP, "--csv", "ocfs2-hot"], env=ENV, cwd=CAPTURES, capture_output=True, check=False).stdout
    assert raw and all(line.endswith(b"\r") for line in raw.split(b"\n")[:-1])


def stems(number):
    """Returns the significant digits of a number as it is written."""
    return re.sub(r"[eE].*", "", number).replace(".", "").strip("-").lstrip("0")


@tap.test
def json_has_no_invented_digits():
    """Nine significant digits. The time of day has microseconds."""
    for recording in ("ocfs2-hot", "gfs2-hang"):
        for line in o2top("--json", recording)[0].splitlines():
            head, rest = line.split(",", 1)
            assert re.fullmatch(r'\{"time":\d{10}\.\d{6}', head), head
            numbers = re.findall(r'(?<=[:,\[])-?\d+\.\d+(?:e[-+]?\d+)?(?=[,\]}])', rest)
            assert len(numbers) > 20
            assert all(len(stems(n)) <= 9 for n in numbers), [n for n in numbers if len(stems(n)) > 9]
    assert o2top("--json", f"gfs2-hang/t1/node1/gfs2/lab:fs1/glocks")[0].startswith('{"time":null,')


@tap.test
def no_share_of_nothing():
    """A row that is shown to have lost 0 has lost 0 %."""
    for recording in ("ocfs2-hang", "ocfs2-hot"):
        text = o2top("-d", "-l", "0", recording)[0]
        assert re.search(r"(?m)^. +\d+ +0 +0% ", text) or recording == "ocfs2-hot"
        assert not re.search(r"(?m)^. +\d+ +0 +<1% ", text)
        rows = [row for line in o2top("--json", recording)[0].splitlines() for row in json.loads(line)["rows"]]
        assert all(row["share"] == 0 for row in rows if row["wait_s_per_s"] == 0)
        rows = csv.DictReader(io.StringIO(o2top("--csv", recording)[0], newline=""))
        assert all(float(row["share"]) == 0 for row in rows if float(row["wait_s_per_s"]) == 0)


@tap.test
def an_error_is_said_once():
    """Until a frame comes without it."""
    place = os.path.join(tmp, "once", "gfs2", "lab:fs1")
    good, bad = "G:  s:SH n:2/1000 f:Iob t:SH d:EX/0 a:0 v:0 r:3 m:50 p:1\n", "broken\n"
    os.makedirs(place)
    with open(f"{place}/glstats", "w") as f:
        f.write("G: n:2/1000 rtt:11294/15624 rttb:12687/10875 irt:11861299/16344897 dcnt: 9 qcnt: 100\n")

    def write(text):
        with open(f"{place}/glocks.new", "w") as f:
            f.write(text)
        os.rename(f"{place}/glocks.new", f"{place}/glocks")

    write(good + bad)
    said = os.path.join(tmp, "once.err")
    with open(said, "w") as err:
        p = subprocess.Popen([O2TOP, "--json", "--local", "--debugfs", os.path.join(tmp, "once"), "-t", "0.05"], env=ENV,
                             stdout=subprocess.PIPE, stderr=err, text=True)
        try:
            def frames_until(problems):
                found = [len(json.loads(p.stdout.readline())["problems"]) > 0 for _ in range(20)]
                assert found[-3:] == [problems] * 3, (found, problems)

            for text, problems in ((good + bad, True), (good, False), (good + bad, True)):
                write(text)
                frames_until(problems)
        finally:
            p.terminate()
            p.wait()
            p.stdout.close()
    with open(said) as f:
        lines = [line for line in f if "glocks:2" in line]
    assert len(lines) == 2 and lines[0] == lines[1], lines
    _, err = o2top("--textfile", "/nowhere/x.prom", "ocfs2-hot", status=2)
    assert err.count("No such file") == 1, err


# ---- OpenMetrics ---------------------------------------------------------------------------------

LINE = re.compile(r'^(?P<name>[a-z_:][a-z0-9_:]*)(?:\{(?P<labels>(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? '
                  r'(?P<value>[-+0-9.e]+)$')


def parse(text, openmetrics=False):
    """Parses strictly: families in a row, each with its type, no series twice. OpenMetrics has units and
    an end mark."""
    lines = text.split("\n")
    assert lines.pop() == "" and ("# EOF" in lines) == openmetrics, lines[-2:]
    if openmetrics:
        assert lines.pop() == "# EOF"
    family, kind, seen, series = None, None, set(), {}
    for line in lines:
        if line.startswith("# TYPE "):
            family, kind = line.split()[2:]
            assert family not in seen and kind in ("gauge", "counter", "histogram"), line
            assert family.endswith("_total") == (kind == "counter" and not openmetrics), line
            seen.add(family)
        elif line.startswith("# UNIT "):
            assert openmetrics and line.split()[2] == family and family.endswith("_" + line.split()[3]), line
        elif line.startswith("# HELP "):
            assert line.split()[2] == family
        else:
            m = LINE.match(line)
            endings = {"gauge": [""], "counter": ["_total" if openmetrics else ""],
                       "histogram": ["_bucket", "_sum", "_count"]}
            assert m and m["name"] in [family + end for end in endings[kind]], line
            key = (m["name"], m["labels"] or "")
            assert key not in series, line
            series[key] = float(m["value"])
    return series


def label_of(labels, name):
    return re.search(rf'{name}="([^"]*)"', labels)[1]


def summed(frames, field):
    """Returns the sums of all frames by lock space and node, without sums of nothing."""
    sums = {}
    for row in [row for frame in frames for row in frame["rows"]]:
        for node in row["nodes"]:
            key = row["lockspace"], node["name"]
            sums[key] = sums.get(key, 0) + node[field]
    return {key: v for key, v in sums.items() if v}


def counted(series, name):
    found = {(label_of(labels, "lockspace"), label_of(labels, "node")): v for (n, labels), v in series.items() if n == name}
    return {key: v for key, v in found.items() if v}


def near(a, b):
    return a.keys() == b.keys() and all(abs(a[key] - b[key]) < 1e-4 for key in a)


@tap.test
def textfile():
    path = os.path.join(tmp, "o2top.prom")
    for recording in ("ocfs2-hot", "gfs2-hot", "ocfs2-hang", "gfs2-hang"):
        out, err = o2top("--textfile", path, *names(recording), recording)
        assert out == "" and err == "", (out, err)
        with open(path) as f:
            text = f.read()
        series = parse(text)
        frames = [json.loads(line) for line in o2top("--json", *names(recording), recording)[0].splitlines()]
        last = frames[-1]
        assert near(counted(series, "o2top_lost_seconds_total"), summed(frames, "wait_s")), recording
        assert near(counted(series, "o2top_acquired_total"), summed(frames, "acquired")), recording
        assert series[("o2top_waiting", "")] == last["totals"]["waiting"]
        assert series[("o2top_hot_files", "")] == last["totals"]["hot"]
        assert series[("o2top_nodes", 'state="ok"')] == sum(n["state"] == "ok" for n in last["nodes"])
        files = {label_of(labels, "id"): v for (name, labels), v in series.items() if name == "o2top_file_lost_seconds"}
        assert 0 < len(files) <= 20 and len(files) == last["totals"]["hot"], files
        seconds = {n["name"]: n["interval_s"] or 0 for n in last["nodes"]}
        for row in last["rows"]:
            inside = sum(n["wait_s_per_s"] * seconds[n["name"]] for n in row["nodes"])
            assert not row["hot"] or not row["ino"] or abs(files[str(row["ino"])] - inside) < 1e-5, (row, files)
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o644
        assert not [n for n in os.listdir(tmp) if n.startswith("o2top.prom.")]
        promtool(text)


def promtool(text):
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and not done.stderr.strip(), done.stderr


@tap.test
def counters_only_grow():
    path = os.path.join(tmp, "grow.prom")
    before = {}
    for n in "123":
        o2top("--textfile", path, "-i", n, "ocfs2-hot")
        with open(path) as f:
            now = {k: v for k, v in parse(f.read()).items() if k[0].endswith(("_total", "_bucket", "_count", "_sum"))}
        assert before.keys() <= now.keys() and all(now[k] >= v for k, v in before.items())
        assert sum(now.values()) > sum(before.values())
        before = now


@tap.test
def counters_that_lack_a_node():
    """node2 lost its power after the first frame."""
    path = os.path.join(tmp, "lacks.prom")
    o2top("--textfile", path, "power-cut")
    with open(path) as f:
        series = parse(f.read())
    assert 50 < series[("o2top_node_missed_seconds", 'node="node2"')] < 60
    assert series[("o2top_node_missed_seconds", 'node="node1"')] == 0


@tap.test
def histogram_of_waits():
    """Two processes hang for 8 s. Both waits are counted once, when they have ended."""
    path = os.path.join(tmp, "waits.prom")
    for recording, lockspace, lengths in (("gfs2-hang", "lab:fs1", 16.50), ("ocfs2-hang", OCFS2, 16.45)):
        o2top("--textfile", path, recording)
        with open(path) as f:
            series = parse(f.read())
        buckets = [(label_of(labels, "le"), v) for (name, labels), v in series.items()
                   if name == "o2top_wait_seconds_bucket" and lockspace in labels]
        assert [le for le, _ in buckets][-1] == "+Inf" and sorted(v for _, v in buckets) == [v for _, v in buckets]
        at = dict(buckets)
        assert at["10.0"] - at["5.0"] == 2 and at["+Inf"] == at["10.0"], buckets
        of = [v for (name, labels), v in series.items() if lockspace in labels and name in
              ("o2top_wait_seconds_sum", "o2top_wait_seconds_count")]
        assert at["+Inf"] in of and any(abs(v - lengths) < 0.1 for v in of), of
        # the hang has not ended before the last frame
        o2top("--textfile", path, "-i", "1", recording)
        with open(path) as f:
            assert 'le="+Inf"} 2' not in f.read()


@tap.test
def openmetrics():
    """python3-prometheus-client of Debian reads the other form, with the same values."""
    path, plain = os.path.join(tmp, "o2top.om"), os.path.join(tmp, "o2top.txt")
    reader = ("import sys; from prometheus_client.openmetrics.parser import text_string_to_metric_families as read; "
              "print(sorted((s.name, sorted(s.labels.items()), s.value) for m in read(sys.stdin.read()) for s in m.samples))")
    for recording in ("ocfs2-hot", "gfs2-hang"):
        o2top("--openmetrics", "--textfile", path, *names(recording), recording)
        o2top("--textfile", plain, *names(recording), recording)
        with open(path) as f:
            text = f.read()
        with open(plain) as f:
            assert parse(text, True) == parse(f.read())
        if subprocess.run(["/usr/bin/python3", "-c", "import prometheus_client"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0:
            done = subprocess.run(["/usr/bin/python3", "-c", reader], input=text, capture_output=True, text=True, check=False)
            assert done.returncode == 0 and "o2top_wait_seconds_bucket" in done.stdout, done.stderr
    assert "needs a file" in o2top("--openmetrics", "ocfs2-hot", status=2)[1]


@tap.test
def textfile_is_bounded():
    path = os.path.join(tmp, "bounded.prom")
    o2top("--textfile", path, "-l", "1", *names("ocfs2-hot"), "ocfs2-hot")
    with open(path) as f:
        series = parse(f.read())
    assert len([k for k in series if k[0] == "o2top_file_lost_seconds"]) == 1
    long_name = os.path.join(tmp, "long")
    with open(long_name, "w") as f:
        f.write("32264 /mnt/" + "x" * 5000 + "\\\"end\n")
    o2top("--textfile", path, "--names", long_name, "ocfs2-hot")
    with open(path) as f:
        text = f.read()
    parse(text)
    assert max(len(line) for line in text.split("\n")) < 400


@tap.test
def textfile_nowhere():
    _, err = o2top("--textfile", "/nowhere/o2top.prom", "-i", "1", "ocfs2-hot", status=2)
    assert "/nowhere/o2top.prom: No such file" in err, err
    # also for a whole recording, because no textfile holds the recorded values then
    o2top("--textfile", "/nowhere/o2top.prom", "ocfs2-hot", status=2)


@tap.test
def more_than_one_thing_to_show():
    for arguments in (("--demo", "ocfs2-hot"), ("--replay", "ocfs2-hot", "ocfs2-hang"), ("--demo", "--replay", "ocfs2-hot")):
        out, err = o2top("-b", *arguments, status=2)
        assert not out and "give only one of them" in err, (arguments, err)
    _, err = o2top("--columns", " ,", "ocfs2-hot", status=2)
    assert "no such column (--columns help lists them): the list is empty" in err, err
    listed, _ = o2top("--columns", "help")
    assert [line.split()[0] for line in listed.splitlines()][:3] == ["lost", "share", "trend"], listed
    # from an unset variable: the nodes' names must not become commands
    for nothing in ("", " \t"):
        _, err = o2top("-b", "--ssh", nothing, "-n", "true", status=2)
        assert "--ssh needs a command" in err, err


# ---- habits of top and iostat -----------------------------------------------------------------------


@tap.test
def numbers_as_in_top_and_iostat():
    whole = o2top("-b", "ocfs2-hot")[0]
    two = o2top("-b", "-i", "2", "ocfs2-hot")[0]
    assert two != whole
    for arguments in (["-n", "2", "ocfs2-hot"], ["-n2", "ocfs2-hot"], ["-bn", "2", "ocfs2-hot"], ["ocfs2-hot", "7", "2"],
                      ["-d", "5", "-n", "2", "ocfs2-hot"], ["-bd", "0.5", "-n", "2", "ocfs2-hot"]):
        assert o2top("-b", *arguments)[0] == two, arguments
    assert o2top("-b", "ocfs2-hot", "7")[0] == whole
    # a debug flag before anything else is still one
    assert o2top("-b", "-d", "ocfs2-hot")[0] == o2top("-b", "--debug", "ocfs2-hot")[0] != whole
    # a node of that name, a file of that name
    assert "no samples of 2" in o2top("--node", "2", "ocfs2-hot", status=1)[1]
    shutil.copytree(f"{CAPTURES}/ocfs2-hot", f"{tmp}/5")
    done = subprocess.run([O2TOP, "-b", "5"], env=ENV, cwd=tmp, capture_output=True, text=True, check=False)
    assert done.stdout.replace("o2top  5 ", "o2top  ocfs2-hot ") == whole, done
    for wrong, why in ((["-n", "0"], "-i needs a number"), (["-d5"], "-t 5"), (["0.001"], "-t needs seconds"),
                       (["5", "0.5"], "-i needs a number"), (["5", "3", "2"], "5: No such file")):
        assert why in o2top("-b", *wrong, status=2)[1], wrong


@tap.test
def columns_are_listed():
    listed = [line.split() for line in o2top("--sort", "help")[0].splitlines()]
    offered = re.search(r"--sort COLUMN +((?:.|\n)*?);", o2top("--help")[0])
    assert [words[0] for words in listed] == offered[1].split(), offered
    assert all(len(words) > 1 for words in listed)
    assert "--sort help lists them" in o2top("--sort", "colour", status=2)[1]


@tap.test
def once_tells_rates():
    """Two samples of a live machine, a second apart. Of a recording one, as of a copy."""
    shutil.copytree(f"{CAPTURES}/gfs2-hang/t1/node1/gfs2", f"{tmp}/live/gfs2")
    began = time.monotonic()
    frames = o2top("--json", "--local", "--debugfs", f"{tmp}/live", "--once")[0].splitlines()
    assert len(frames) == 1 and 0.9 < json.loads(frames[0])["interval_s"] < 30 and time.monotonic() - began > 0.9, frames
    frames = o2top("--json", "--local", "--debugfs", f"{tmp}/live", "--once", "-t", "0.1")[0].splitlines()
    assert len(frames) == 1 and 0.05 < json.loads(frames[0])["interval_s"] < 0.9, frames
    out = check("--local", "--debugfs", f"{tmp}/live", "--once", "--crit", "99", status=1)
    assert "lost 1.00 s/s [LOST_HIGH], 1 waiting, the oldest >1." in out and "| lost=1.000;" in out, out
    for copy in (["--local", "--debugfs", f"{CAPTURES}/gfs2-hang/t1/node1"], ["gfs2-hang"]):
        assert json.loads(o2top("--json", *copy, "--once")[0])["interval_s"] is None, copy


# ---- monitoring plugin ---------------------------------------------------------------------------


def check(*arguments, status, **env):
    out = o2top("--check", *arguments, status=status, **env)[0]
    assert out.count("\n") == 1 and out.startswith("O2TOP "), out
    return out


@tap.test
def check_says():
    out = check(*names("ocfs2-hang"), "ocfs2-hang", status=2)
    assert out.startswith("O2TOP CRITICAL - lost 2.00 s/s [LOST_HIGH], 2 waiting, the oldest 4.46..10.0 s [WAIT_LONG], "
                          "node3 not answering [NODE_SILENT]: [WAIT_NODE_SILENT] /mnt/ocfs2/hang/victim.db: node3, "), out
    assert "| lost=2.000;0.5;2;0 oldest_wait=4.460s;2;10;0 nodes_not_answering=1;1;;0\n" in out, out
    assert out.count("victim.db") == 1, out
    # exactly so much, and a little more
    lost = float(re.search(r"lost=([0-9.]+)", out)[1])
    never = "lost=99,oldest=99,silent=99"
    check("--warn", never, "--crit", never, "ocfs2-hang", status=0)
    check("--warn", f"lost={lost - 0.01}", "--warn", "oldest=99,silent=9", "--crit", never, "ocfs2-hang", status=1)
    check("--warn", f"lost={lost + 0.01},oldest=99,silent=9", "--crit", never, "ocfs2-hang", status=0)
    check("--warn", never, "--crit", "lost=99,oldest=4.4", "ocfs2-hang", status=2)
    check("--warn", "lost=99,oldest=4.5,silent=2", "--crit", never, "ocfs2-hang", status=0)
    check("--warn", "lost=99,oldest=99,silent=1", "--crit", never, "ocfs2-hang", status=1)
    check("--warn", never, "--crit", "99", "--crit", "silent=1", "ocfs2-hang", status=2)
    check("--warn", "99", "--warn", "silent=5", "--crit", "1", "ocfs2-hang", status=2)


@tap.test
def check_does_not_know():
    for arguments in (["--local", "--debugfs", "/nowhere"], ["/nowhere/at/all"], ["--from", "12:00", "ocfs2-hang"]):
        out = check(*arguments, status=3)
        assert out.startswith("O2TOP UNKNOWN - "), out
    for wrong in ("x", "-1", "lost", "lost=", "lost=1;oldest=2", "1 2", "speed=1", ""):
        err = o2top("--check", "--warn", wrong, "ocfs2-hang", status=3)[1]
        assert "not a limit" in err, err


@tap.test
def data_in_any_locale():
    """Programs get the same bytes in each locale: a service has none, and a terminal may be EUC-JP."""
    listed = os.path.join(tmp, "names")
    with open(listed, "wb") as f:
        f.write("32264 /mnt/\u65e5\u672c/caf\xe9\n".encode() + b"32259 /mnt/\xc6\xfc\xcb\xdc\n12821 /mnt/\xff/\x1b[31mred\n")
    locales = [{"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}]
    if shutil.which("localedef") and subprocess.run(
            ["localedef", "-i", "ja_JP", "-f", "EUC-JP", os.path.join(tmp, "ja_JP.eucJP")], check=False,
            capture_output=True).returncode == 0:
        # libc never frees its copy of LOCPATH
        locales.append({"LC_ALL": "ja_JP.eucJP", "LOCPATH": tmp, "ASAN_OPTIONS": "detect_leaks=0"})
    for form in (["--json"], ["--csv"], ["--summary", "--csv"], ["--textfile", os.path.join(tmp, "locale.prom")]):
        said = set()
        for env in locales:
            out = subprocess.run([O2TOP, *form, "--names", listed, "ocfs2-hot"], env={**ENV, **env}, cwd=CAPTURES,
                                 capture_output=True, check=True).stdout
            if form[0] == "--textfile":
                with open(form[1], "rb") as f:
                    out = f.read()
            assert "\u65e5\u672c/caf\xe9" in out.decode(), (form, env)
            said.add(out)
        assert len(said) == 1, (form, said)


@tap.test
def check_judges_what_is_chosen():
    """Rows that the filters hide do not count. A filter that chooses nothing gives no answer."""
    whole = check("ocfs2-hang", status=2)
    assert check("--fs", "ocfs2", "ocfs2-hang", status=2) == whole
    for filters in (["--fs", "gfs2"], ["--inode", "5"], ["--type", "SUPER"], ["--writers", "9"], ["--min-lost", "50"]):
        out = check(*filters, "--warn", "silent=9", "ocfs2-hang", status=0)
        assert "lost 0/s, no waits" in out and "lost=0.000;" in out and "oldest_wait=0.000s;" in out, (filters, out)
        assert "victim" not in out and "32272" not in out, out
    hang = check("--inode", "32272", "ocfs2-hang", status=2)
    assert "lost=2.000;" in hang and "2 waiting" in hang, hang
    part = check("--inode", "32272", "ocfs2-hot/t0", "ocfs2-hot/t1", status=3)
    assert part == "O2TOP UNKNOWN - no node has a lock of inode 32272 in memory\n", part
    for nothing, why in ((["--inode", "77"], "no node has a lock of inode 77 in memory"),
                         (["--inode", "32272", "--type", "RGRP"], "inode 32272 in memory of type RGRP"),
                         (["--type", "TRIM_FS"], "no node has a lock of type TRIM_FS"),
                         (["--fs", "glock"], "no node has a lock space that --fs chooses: glock"),
                         (["--fs", "lab:none"], "no such lock space")):
        out = check(*nothing, "ocfs2-hang", status=3)
        assert out.startswith("O2TOP UNKNOWN - ") and why in out, (nothing, out)


@tap.test
def check_does_not_invent():
    """One sample does not tell the time lost. Counts of nodes are whole."""
    out = check("--once", "ocfs2-hang", status=1)
    assert "time lost not known, 2 waiting" in out and "lost=U;0.5;2;0 " in out, out
    assert "nodes_not_answering=1;1;;0\n" in out, out


@tap.test
def limits_of_one_file_system():
    """Each file system has limits, by its name or kind. The name of a GFS2 holds a colon."""
    never = ["--warn", "lost=99,oldest=99,silent=99", "--crit", "lost=99,oldest=99,silent=99"]
    out = check(*never, "--warn", f"{OCFS2}:lost=1", "ocfs2-hang", status=1)
    assert f"{OCFS2}: lost 2.00 s/s [LOST_HIGH], 2 waiting, the oldest 4.46..10.0 s; node3 not answering: [WAIT" in out, out
    assert f"'{OCFS2} lost'=2.000;1;99;0 '{OCFS2} oldest_wait'=4.460s;99;99;0 nodes_not_answering=1;99;99;0\n" in out, out
    # the general limits judge the others
    assert "- lost 0/s, no waits; " in out and "| lost=0.000;99;99;0 oldest_wait=0.000s;99;99;0 '" in out, out
    check(*never, "--crit", "ocfs2:oldest=4", "ocfs2-hang", status=2)
    # the name goes before the kind, in either order
    check(*never, "--crit", "ocfs2:oldest=4", "--crit", f"{OCFS2}:oldest=50", "ocfs2-hang", status=0)
    check(*never, "--crit", f"{OCFS2.lower()}:oldest=50", "--crit", "ocfs2:oldest=4", "ocfs2-hang", status=0)
    out = check(*never, "--warn", "lab:fs1:2", "--crit", "lab:fs1:lost=50,oldest=7", "gfs2-hang",
                status=2)
    assert "lab:fs1: lost 2.00 s/s [LOST_HIGH], 2 waiting, the oldest 7.21 s [WAIT_LONG]" in out, out
    assert "'lab:fs1 lost'=2.000;2;50;0 'lab:fs1 oldest_wait'=7.211s;2;7;0 " in out, out
    env = configured("warn = lost=99,oldest=99,silent=99\ncrit = 99\nwarn = lab:fs1:lost=1\nwarn = lab:fs1:oldest=50\n")
    out = check("gfs2-hang", status=1, **env)
    assert "'lab:fs1 lost'=2.000;1;99;0 'lab:fs1 oldest_wait'=7.211s;50;99;0 " in out, out
    out = check("--warn", "lab:fs2:1", "gfs2-hang", status=3)
    assert out == "O2TOP UNKNOWN - a limit names lab:fs2, which is no lock space here\n", out
    for wrong in (":1", "lab:fs1:", "lab:fs1:1 2", "lab:fs1:silent=1", "lab:fs1:lost"):
        assert "not a limit" in o2top("--check", "--warn", wrong, "gfs2-hang", status=3)[1], wrong


@tap.test
def codes_are_documented():
    """o2top(1) has a line for each code of a limit and of an advice, and no other."""
    src = os.path.join(DATA, "..", "..", "src", "o2top")
    with open(f"{src}/advice/advice.c") as f:
        codes = re.findall(r'\{"([A-Z_]+)", \w+, say_', f.read())
    with open(f"{src}/views/check.c") as f:
        check = f.read()
    codes += re.findall(r'"([A-Z_]+)"', re.search(r"codes\[LIMITS\] = \{([^}]*)\}", check)[1])
    codes += re.findall(r'" \[([A-Z_]+)\]"', check)
    banners = set()
    for where, _, names in os.walk(src):
        for name in names:
            with open(os.path.join(where, name), encoding="utf-8", errors="replace") as f:
                banners |= set(re.findall(r'banner_(?:coded|add)\([^;"]*, "([A-Z_]+)"', f.read()))
    assert banners == {"CLUSTER_STATE", "SCAN", "UNPROTECTED"}, banners
    codes += banners
    assert len(codes) == len(set(codes)) > 10, codes
    with open(os.path.join(DATA, "..", "..", "man", "o2top.1.scd")) as f:
        table = f.read().split("## Codes\n")[1].split("\n# ")[0]
    documented = [c.replace("\\", "") for c in re.findall(r"(?m)^\|[:\[ ]+([A-Z\\_]+)$", table)]
    assert sorted(documented) == sorted(codes), set(documented) ^ set(codes)


# ---- recordings ----------------------------------------------------------------------------------


@tap.test
def parts_of_a_recording():
    recording = os.path.join(tmp, "parts.o2r")
    o2top("-b", "--record", recording, "ocfs2-hot")
    whole = [json.loads(line) for line in o2top("--json", "--replay", recording)[0].splitlines()]
    for where in (recording, "ocfs2-hot"):
        part = [json.loads(line) for line in
                o2top("--json", "--replay", where, "--from", "06:01:45", "--to", "2026-11-20 06:01:57")[0].splitlines()]
        assert [f["sample"] for f in part] == ["t2", "t3"], part
        # with a past: the frames are the same as in a run over the whole recording
        assert part == [f for f in whole if f["sample"] in ("t2", "t3")]
        at = o2top("--json", "--replay", where, "--from", "@1795154516")[0]
        assert [json.loads(line)["sample"] for line in at.splitlines()] == ["t3", "t4"]
    for wrong in (["--from", "25:00"], ["--to", "noon"], ["--from", "@"], ["--from", "23:00"]):
        o2top("-b", "--replay", recording, *wrong, status=2)
    # no wrong day is read as another day
    for wrong in ("2026-02-30", "2026-02-29 10:00", "2025-04-31T10:00:00", "2026-11-00"):
        assert f"{wrong}: not a time" in o2top("-b", "--replay", recording, "--from", wrong, status=2)[1]
    o2top("-b", "--replay", recording, "--from", "2024-02-29", "--to", "2026-12-31 23:59:59")
    o2top("-b", "--from", "06:00", "--local", "--debugfs", f"{CAPTURES}/gfs2-hang/t1/node1", status=2)


@tap.test
def recorded_while_killed():
    """A recording process is killed at any moment. The recording can still be shown."""
    recording = os.path.join(tmp, "killed.o2r")
    tree = f"{CAPTURES}/gfs2-hang/t1/node1"
    before = 0
    for _ in range(5):
        p = subprocess.Popen([O2TOP, "-b", "--local", "--debugfs", tree, "-t", "0.05", "--record", recording], env=ENV,
                             stdout=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while len(frames_of(recording)) < before + 5 and time.monotonic() < end:
            time.sleep(0.01)
        p.send_signal(signal.SIGKILL)
        p.wait()
        written = len(frames_of(recording))
        assert written >= before + 5, written
        out, _ = o2top("--json", recording)
        # one sample makes no frame
        assert len(out.splitlines()) >= written - 1, (written, len(out.splitlines()))
        before = written


def frames_of(path):
    """Returns the whole frames of a recording, by their heads."""
    try:
        with open(path, "rb") as f:
            data = f.read()
    except FileNotFoundError:
        return []
    at, found = 24, []
    while at + 24 <= len(data) and data[at:at + 4] == b"o2tF":
        length = int.from_bytes(data[at + 8:at + 12], "little")
        if at + 24 + length > len(data):
            break
        found.append(at)
        at += 24 + length
    return found


@tap.test
def record_refuses():
    other = os.path.join(tmp, "other")
    with open(other, "w") as f:
        f.write("this is something else, and nobody wants it gone\n")
    _, err = o2top("-b", "--record", other, "ocfs2-hot", status=2)
    assert "not a recording" in err, err
    with open(other) as f:
        assert f.read().startswith("this is something else")


@tap.test
def demo():
    out, err = o2top("--demo")
    assert err == "" and "/mnt/ocfs2/hang/victim.db" in out and "/mnt/ocfs2/spool/" in out, out
    assert "not answering" in out


# ---- configuration -------------------------------------------------------------------------------


def configured(text):
    folder = tempfile.mkdtemp(dir=tmp)
    os.mkdir(f"{folder}/o2top")
    with open(f"{folder}/o2top/o2toprc", "w") as f:
        f.write(text)
    return {"XDG_CONFIG_HOME": folder}


@tap.test
def configuration():
    plain = o2top("ocfs2-hot")[0]
    env = configured("# a remark\n\n  sort =  inode \nlength=3\nhot = no\nmouse = no\ncolumns = lost, age\n")
    same = o2top("-s", "inode", "-l", "3", "ocfs2-hot")[0]
    assert o2top("ocfs2-hot", **env)[0] == same != plain
    # the command line wins
    assert o2top("-s", "lost", "-l", "20", "ocfs2-hot", **env)[0] == plain
    assert o2top("--no-config", "ocfs2-hot", **env)[0] == plain
    path = env["XDG_CONFIG_HOME"] + "/o2top/o2toprc"
    assert o2top("--config", path, "ocfs2-hot")[0] == same
    assert o2top(f"--config={path}", "ocfs2-hot")[0] == same
    home = {"HOME": tempfile.mkdtemp(dir=tmp), "XDG_CONFIG_HOME": ""}
    os.makedirs(home["HOME"] + "/.config/o2top")
    shutil.copy(path, home["HOME"] + "/.config/o2top/")
    assert o2top("ocfs2-hot", **home)[0] == same
    # the cluster's nodes are not those of a recording
    assert o2top("ocfs2-hot", **configured("nodes = alpha, beta gamma\n"))[0] == plain


@tap.test
def configuration_that_is_wrong():
    for text, said in (("sort inode\n", "1: the line is not NAME = VALUE"), ("\nsort = colour\n", "o2toprc:2 has this setting"),
                       ("help = yes\n", "no such setting"), ("= 5\n", "1: the line is not NAME = VALUE"),
                       ("batch = yes\n", "no such setting")):
        _, err = o2top("ocfs2-hot", status=2, **configured(text))
        assert said in err, (said, err)
    o2top("--config", "/nowhere/rc", "ocfs2-hot", status=2)


@tap.test
def example_of_a_configuration():
    """o2top understands each line of contrib/o2toprc, with its # taken away."""
    with open(f"{CONTRIB}/o2toprc") as f:
        lines = [line[2:] for line in f if re.match(r"# [a-z-]+ = ", line)]
    assert len(lines) > 5
    o2top("ocfs2-hot", **configured("".join(lines)))


# ---- completion, dashboard -----------------------------------------------------------------------


def complete(*words):
    script = f'. {CONTRIB}/o2top.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _o2top; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, cwd=CAPTURES, check=False)
    return sorted(line.strip() for line in done.stdout.splitlines() if line.strip())


@tap.test
def completion():
    help_text = o2top("--help")[0]
    options = sorted(set(re.findall(r"--[a-z][a-z-]+", help_text.split("Columns")[0])))
    offered = complete("o2top", "--")
    assert offered == options, set(offered) ^ set(options)
    assert complete("o2top", "-s", "lo") == ["longest", "lost"]
    assert complete("o2top", "--sort", "=", "ag") == ["age"]
    assert complete("o2top", "--columns", "lost,ag") == ["lost,age"]
    assert complete("o2top", "--re") == ["--read-only", "--record", "--record-keep", "--record-size", "--recording", "--replay"]
    assert complete("o2top", "--replay", "ocfs2-h") == ["ocfs2-hang", "ocfs2-hot"]
    assert complete("o2top", "-t", "") == []


@tap.test
def lists_that_cannot_be_written():
    """A list on a full disk is a failure, and says so."""
    for option in (["--help"], ["--version"], ["--sort", "help"], ["--columns", "help"], ["--agent-check"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([O2TOP, *option], env=ENV, stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 2 and "o2top: standard output: " in done.stderr, (option, done)


@tap.test
def a_word_that_is_no_file_system():
    _, err = o2top("-b", "--fs", "ext4", "ocfs2-hot", status=2)
    assert "--fs ext4: no such lock space or kind of file system; try --fs ocfs2, gfs2 or glock, or --fs " in err, err
    _, err = o2top("-b", "--fs", "ext4", "--local", "--debugfs", tmp, status=1)
    assert "ext4" in err or "nothing to watch" in err, err
    if os.geteuid() == 0:
        _, err = o2top("-b", "--fs", "glock", "--local", status=1, GLOCK_DIR=tmp)
        assert "nothing to watch" in err and "as root" not in err, err


@tap.test
def dashboard():
    """o2top writes each metric that the dashboard asks for."""
    path = os.path.join(tmp, "dashboard.prom")
    o2top("--textfile", path, *names("ocfs2-hot"), "ocfs2-hot")
    with open(path) as f:
        there = {name for name, _ in parse(f.read())}
    with open(f"{CONTRIB}/grafana-o2top.json") as f:
        board = json.load(f)
    asked = set()
    for panel in board["panels"]:
        assert panel["targets"] and panel["title"]
        for target in panel["targets"]:
            found = re.findall(r"o2top_[a-z_]+", target["expr"])
            assert found, target
            asked |= set(found)
    assert asked <= there, asked - there
    assert len({p["id"] for p in board["panels"]}) == len(board["panels"])


try:
    tap.run_marked()
finally:
    shutil.rmtree(tmp, ignore_errors=True)
