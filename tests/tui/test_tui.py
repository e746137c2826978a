#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# test_tui.py - tests o2top in a real terminal, key by key, its screens against tests/golden. TAP.
#
# Usage: test_tui.py [--update] [NAME...]. O2TOP, O2TOP_CAPTURES and O2TOP_DATA are the paths that
# meson test sets.

import difflib
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from time import monotonic

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from terminal import Terminal  # noqa: E402

O2TOP = os.environ["O2TOP"]
CAPTURES = os.environ["O2TOP_CAPTURES"]
DATA = os.environ["O2TOP_DATA"]
GOLDEN = os.path.join(DATA, "..", "golden")
tests = []
update = False
PATIENCE = 60


def test(f):
    tests.append(f)
    return f


def start(recording, *options, **how):
    """Starts o2top on a recording, paused at its first frame."""
    t = Terminal(**how)
    try:
        t.run("cd", CAPTURES)
        t.run("clear")
        names = []
        if os.path.exists(f"{DATA}/{recording}.names"):
            names = ["--names", f"{DATA}/{recording}.names"]
        t.run(O2TOP, "--speed", "0", *names, *options, recording)
        t.wait("o2top  ", "Help", "2/")
    except AssertionError:
        t.close()
        raise
    return t


def rows(screen):
    return "\n".join(line.rstrip() for line in screen.splitlines()) + "\n"


def golden(name, t, *texts):
    """Waits for the right screen. A screen may be half drawn, so one look is not enough."""
    path = os.path.join(GOLDEN, f"tui-{name}.txt")
    t.wait(*texts)
    if update:
        with open(path, "w") as f:
            f.write(rows(t.settled()))
        return
    with open(path) as f:
        wanted = f.read()
    if not t.until(lambda screen: rows(screen) == wanted):
        raise AssertionError("".join(difflib.unified_diff(wanted.splitlines(True),
                                                          rows(t.screen()).splitlines(True), name, "screen")))


class Use:
    """Closes the terminal at the end: with start(...) as t"""

    def __init__(self, t):
        self.t = t

    def __enter__(self):
        return self.t

    def __exit__(self, *args):
        self.t.close()


# ---- screens -----------------------------------------------------------------------------------


def stars(text):
    """Returns the ranks of the rows of files with a star."""
    files = re.split(r"(?m)^ *(?:.* )?SYSTEM\b", text)[0]
    return re.findall(r"(?m)^>? ?\* +(\d+)[ -]", files)


@test
def each_recording():
    """Checks every frame of each recording, at the smallest size. Text has stars at the same rows."""
    for name, frames in (("ocfs2-hot", 5), ("ocfs2-hang", 3), ("gfs2-hot", 5), ("gfs2-hang", 3)):
        text = subprocess.run([O2TOP, "-b", name], cwd=CAPTURES, capture_output=True, text=True, check=True).stdout
        texts = re.split(r"(?m)^o2top  ", text)[1:]
        with Use(start(name)) as t:
            for i in range(2, frames + 1):
                golden(f"{name}-{i}", t, f"{i}/{frames}")
                assert stars(t.screen()) == stars(texts[i - 2]) != [], (stars(t.screen()), texts[i - 2])
                t.key(".")


@test
def a_pane_that_is_cut_off():
    """The pane says how many lines are missing. With more room nothing is missing."""
    folder = tempfile.mkdtemp(prefix="o2top-pane-")
    try:
        write_waiting(folder, 12)
        for lines, missing in ((24, True), (60, False)):
            with Use(start(folder, "--no-mouse", rows=lines)) as t:
                screen = t.wait("pid 1001 ", gone=() if missing else ("more lines",))
                shown = len(re.findall(r"(?m)^  node1: pid 1\d\d\d ", screen))
                more = re.search(r"(?m)^  \.\.\. (\d+) more lines$", screen)
                assert shown + (int(more[1]) if more else 0) == 12 and bool(more) == missing, screen
    finally:
        shutil.rmtree(folder)


@test
def banners_on_a_small_screen():
    """A banner takes two lines if no other text needs the second one. Otherwise "..." marks the cut,
    and the page of problems has all of it."""
    folder = tempfile.mkdtemp(prefix="o2top-banner-")
    recording = os.path.join(folder, "power-cut")
    try:
        shutil.copytree(os.path.join(CAPTURES, "power-cut"), recording)
        subprocess.run(["chmod", "-R", "u+w", recording], check=True)
        with Use(start(recording)) as t:
            t.key(".", ".")
            screen = t.wait("node2 silent for", "check its power and its fencing")
            # half of a number is another number
            assert "over 11" in screen.splitlines()[0] or "over" not in screen.splitlines()[0], screen
        with open(os.path.join(recording, "t2", "node1", "ocfs2", os.listdir(
                os.path.join(recording, "t2", "node1", "ocfs2"))[0], "fs_state"), "a", encoding="utf-8") as f:
            f.write("  Recovery => Pid: 7  Nodes: 2\n")
        with Use(start(recording)) as t:
            t.key(".")
            t.wait("node2 silent for", "...", "recovers the journal", gone=("its fencing",))
            t.key("!")
            t.wait("node2 silent for", "its fencing", "recovers the journal")
    finally:
        shutil.rmtree(folder)


@test
def hang_is_found():
    """The hot file, the nodes and the advice are on the first screen, without a key."""
    with Use(start("ocfs2-hang")) as t:
        t.wait("/mnt/ocfs2/hang/victim.db", "!node3 not answering", "node1 and node2 wait", "node3, the lock's master,")
    with Use(start("gfs2-hang")) as t:
        t.wait("/mnt/gfs2/hang/victim.db", "node1 (pid 1770 hotload)", "node2 (pid 1757", "node3 holds EX")


@test
def wide():
    with Use(start("ocfs2-hot", columns=140, rows=40)) as t:
        t.key("Enter")
        golden("wide-open", t, "META", "wrote and read")
        t.key("Enter")
        t.wait("SHARE", gone=("META",))
        t.key("d")
        golden("wide-nodes", t, "each row by node")


@test
def by_directory():
    with Use(start("ocfs2-hot", columns=100, rows=30)) as t:
        t.key("D")
        golden("directories", t, "DIRECTORY", "by directory")
        t.key("Enter")
        t.wait("/mnt/ocfs2/db/  (2)", "    journal.log")


@test
def by_node():
    """A line for each node, its worst rows below, and from there to the row itself."""
    with Use(start("ocfs2-hot")) as t:
        t.key("v")
        screen = t.wait("ACQ/s STATE             SILENT     TOOK  NODE", "by node: Enter")
        assert re.findall(r"  [123]\+ .* ok .*  (node\d)$", screen, re.M) == ["node3", "node2", "node1"], screen
        t.key("Enter")
        screen = t.wait(">   1-  513 ms    1    0  4.4k ok", "/mnt/ocfs2/spool/", "node1")
        worst = re.findall(r"^ +(\S+ (?:ms|us)) .*[\u251c\u2514]\u2500 (\S+)$", screen, re.M)
        assert worst[:2] == [("330 ms", "/mnt/ocfs2/spool/"), ("169 ms", "/mnt/ocfs2/db/journal.log")], worst
        t.key("Down", "Down", "Enter")
        screen = t.wait("FILE", ">*  1", "each other: let one", gone=("NODE",))
        assert [line for line in screen.splitlines() if line.startswith(">")][0].endswith("journal.log"), screen
    with Use(start("ocfs2-hang", columns=100, rows=30)) as t:
        t.key("v")
        t.wait(" !  3+       -    -             -     - not answering    >4.46 s        -  node3")
        t.key("P", "r", "Home")
        t.wait(">!  1+       -    -", "node3  not answering", "no sample covers 4.46 s since the start")


# ---- keys --------------------------------------------------------------------------------------


def order(screen):
    """Returns the files in the order of the table."""
    table = screen.split("LOST/s", 1)[1].split("\u2500\u2500\u2500")[0]
    return re.findall(r"(\S+\.(?:log|ini|dat|db)|\S*spool/)", table)


@test
def sorting():
    with Use(start("ocfs2-hot", columns=140, rows=40)) as t:
        by_lost = order(t.screen())
        assert by_lost[0].endswith("journal.log"), by_lost
        t.key("P")
        by_name = order(t.wait("sorted by name"))
        assert by_name == sorted(by_name) and by_name != by_lost, by_name
        t.key("r")
        screen = t.wait(", reversed")
        assert order(screen)[-1] == by_name[0], screen
        t.key("L")
        assert order(t.wait("sorted by lost")) == by_lost
        t.key(">")
        t.wait("sorted by waiting")
        t.key("<")
        t.wait("sorted by lost")


@test
def sort_menu():
    """The list sorts by arrows or by letter, and in reverse. Another key changes nothing."""
    with Use(start("ocfs2-hot", columns=140, rows=40)) as t:
        by_lost = order(t.screen())
        t.key("s")
        screen = t.wait("Sort by", ">* l  lost", "(now)", "   p  name", gone=("Help",))
        assert all(f"  {key} " in screen for key in
                   "lost waiting age mean longest acquired hit writers readers size inode name".split()), screen
        t.key("Down", "Down", "Down", "Enter")
        t.wait("sorted by mean", "journal.log")
        t.key("s", "r")
        t.wait("sorted by mean, reversed")
        t.key("s")
        t.wait(">* m  mean      time lost per acquisition (now, reversed)")
        t.key("p")
        by_name = order(t.wait("sorted by name"))
        assert by_name == sorted(by_name) and by_name != by_lost, by_name
        t.key("s")
        t.wait("Sort by")
        t.key("Escape")
        assert order(t.wait("Help", gone=("Sort by",))) == by_name
        t.resize(80, 10)
        t.key("s")
        t.wait(">* p  name")
        t.key("l")
        t.wait("sorted by lost")


@test
def searching():
    with Use(start("ocfs2-hot", columns=120)) as t:
        t.key("/")
        t.wait("Search:")
        t.type("settings")
        t.wait(">*  3")
        t.key("Enter")
        t.wait("Help")
        t.key("n")
        t.wait("no match below")
        t.key("/")
        t.type("own.dat")
        t.key("Enter")
        first = t.wait("Help", "> ")
        t.key("n")
        t.wait("node", gone=(next(l for l in first.splitlines() if l.startswith(">")),))
        t.key("N")
        t.wait(next(l for l in first.splitlines() if l.startswith(">")))


@test
def filtering():
    with Use(start("ocfs2-hot", columns=120)) as t:
        t.key("\\")
        t.type("conf/")
        screen = t.wait("Show only rows that contain: conf/", "only rows with \"conf/\"", gone=("journal.log",))
        assert len(order(screen)) == 2, screen
        t.key("Enter")
        t.wait("Help", gone=("journal.log",))
        t.key("\\")
        t.key("Escape")
        t.wait("journal.log", "Help")
        t.key("\\")
        t.type("there is none")
        t.wait("no row here has")
        t.key("Escape")
        t.wait("journal.log")
        t.key("o")
        t.wait("only hot rows", gone=("own.dat",))


@test
def paths():
    with Use(start("ocfs2-hot", columns=120)) as t:
        t.key("p")
        t.wait(" journal.log", "names without directories")
        t.key("p")
        t.wait("<32264>", "inode numbers")
        t.key("p")
        t.wait("/mnt/ocfs2/db/journal.log", "whole paths")


@test
def copying():
    """The clipboard gets path and inode number, on a terminal that may know the sequence. The last
    line shows the text."""
    with Use(start("ocfs2-hot")) as t:
        t.key("y")
        t.wait("copied: /mnt/ocfs2/db/journal.log inode 32264")
        assert t.until(lambda _: t.clipboard() == "/mnt/ocfs2/db/journal.log inode 32264"), t.clipboard()
        t.key("p", "Down", "y")
        t.wait("copied: /mnt/ocfs2/spool inode 32259")
        assert t.until(lambda _: t.clipboard() == "/mnt/ocfs2/spool inode 32259"), t.clipboard()
        t.key("v", "y")
        t.wait("copied: node")
    with Use(start("ocfs2-hot", term="vt100")) as t:
        t.key("y")
        t.wait("no clipboard, mark this: /mnt/ocfs2/db/journal.log inode 32264")
        t.resize(42, 24)
        t.wait("no clipboard, mark this: /mnt/ocfs2/db/jou\nrnal.log inode 32264")
        assert t.clipboard() is None, t.clipboard()
    folder = f"{CAPTURES}/../evil-{os.getpid()}"
    with open(folder, "wb") as f:
        f.write(b"32264 /mnt/a\x07b\x1b]52;c;eA==\x07c\n")
    try:
        with Use(Terminal()) as t:
            t.run(O2TOP, "--speed", "0", "--names", folder, f"{CAPTURES}/ocfs2-hot")
            t.wait("Help")
            t.key("y")
            t.wait("copied: /mnt/a\\x07b\\x1b]52;c;eA==\\x07c inode 32264")
            assert t.until(lambda _: t.clipboard() == "/mnt/a\\x07b\\x1b]52;c;eA==\\x07c inode 32264"), t.clipboard()
    finally:
        os.unlink(folder)


@test
def saving():
    """The settings of the screen go to the configuration file after a yes. Other lines stay."""
    with Use(Terminal()) as t:
        file = os.path.join(t.folder, "saved", "o2toprc")
        start_it = (O2TOP, "--debugfs", f"{CAPTURES}/gfs2-hang/t1/node1", "--mountinfo", MOUNTINFO, "--config", file)
        with_lines = "# my file\nsort = age\n  interval=2\n\n# sort = mean\nsort = size\nlocal = yes\nhot = yes"
        os.mkdir(os.path.dirname(file))
        with open(file, "w") as f:
            f.write(with_lines)
        os.chmod(file, 0o640)
        t.run("clear")
        t.run(*start_it)
        t.wait("every 2 s", "Help")
        t.key("W", "D", "+", "w")
        t.wait("Save the view? y/n: ", "saved/o2toprc (other lines stay)")
        t.key("n")
        t.wait("not saved")
        with open(file) as f:
            assert f.read() == with_lines
        t.key("w", "y")
        t.wait("saved in ", gone=("not saved",))
        with open(file) as f:
            text = f.read()
        assert text == ("# my file\nsort = waiting\ninterval = 1\n\n# sort = mean\nlocal = yes\nhot = yes\n"
                        "by-dir = yes\ndebug = no\n"), text
        assert os.stat(file).st_mode & 0o777 == 0o640
        assert os.listdir(os.path.dirname(file)) == ["o2toprc"]
        t.key("q")
        t.wait("ready>", gone=("Help",))
        t.run("clear")
        t.run(*start_it)
        t.wait("every 1 s", "DIRECTORY")
        shutil.rmtree(os.path.dirname(file))
        t.key("q")
    with Use(Terminal()) as t:
        t.run(O2TOP, "--demo", "--speed", "0", "--columns", "lost,fs")
        t.wait("Help")
        t.key("w")
        t.wait(".config/o2top/o2toprc (new)")
        t.key("y")
        t.wait("saved in ")
        with open(f"{t.folder}/.config/o2top/o2toprc") as f:
            assert f.read() == "columns = lost,fs\nsort = lost\nby-dir = no\nhot = no\ndebug = no\n"
        # the folder is gone, and a file is in its place
        shutil.rmtree(f"{t.folder}/.config")
        with open(f"{t.folder}/.config", "w", encoding="utf-8"):
            pass
        t.key("w", "y")
        t.wait("not saved: Not a directory")
        t.key("q")
        t.wait("ready>", gone=("Help",))
        t.run("clear")
        t.run(O2TOP, "--demo", "--no-config")
        t.wait("Help")
        t.key("w")
        t.wait("no configuration file: HOME is not set, or --no-config is given")


@test
def system_section():
    with Use(start("ocfs2-hot", columns=120, rows=50)) as t:
        few = t.wait("12 more that cost little")
        t.key("a")
        many = t.wait("all of the system section", "SYSTEM 12", gone=("more that cost",))
        assert many.count("system inode") > few.count("system inode"), many


@test
def opening():
    with Use(start("gfs2-hang", columns=120, rows=40)) as t:
        t.key("Space")
        golden("processes", t, "pid", "for SH", "INODE")


@test
def time():
    with Use(start("ocfs2-hot")) as t:
        t.key(".")
        t.wait("3/5", "PAUSED")
        t.key(".", ".")
        t.wait("5/5", "END")
        t.key(",")
        t.wait("4/5", "PAUSED")
        t.key("g")
        t.type("06:01:41")
        t.key("Enter")
        t.wait("2/5")
        t.key("g")
        t.type("2026-11-20 06:01:50")
        t.key("Enter")
        t.wait("4/5")
        t.key("g")
        t.type("nonsense")
        t.key("Enter")
        t.wait("not a time: nonsense")
        t.key("+", "+", "+", "+", "+", "+")
        t.wait("64 times as fast")
        t.key("z")
        t.wait("5/5", "END")


@test
def same_frame_again():
    """A step back shows the same frame as the step forward."""
    with Use(start("ocfs2-hot", columns=130)) as t:
        t.key(".")
        t.wait("3/5")
        before = t.settled()
        t.key(".")
        t.wait("4/5")
        t.key(",")

        # equal apart from the lost time of frames that the jump left out

        def of(screen):
            return [line for line in screen.splitlines() if not line.startswith("lost")]
        assert t.until(lambda screen: of(screen) == of(before)), before + t.screen()


@test
def live():
    """Watches this machine, with a folder as its debugfs."""
    tree = f"{CAPTURES}/gfs2-hang/t1/node1"
    t = Terminal(columns=100)
    with Use(t):
        t.run(O2TOP, "--debugfs", tree, "--mountinfo", MOUNTINFO, "-t", "0.5")
        t.wait("every 0.5 s", "Help")
        t.key("z")
        t.wait("PAUSED every 0.5 s")
        t.key("+")
        t.wait("a sample every 0.25 s")
        t.key(",")
        t.wait("only a recording")
        t.key("q")
        t.wait("ready>")


@test
def nodes_that_do_not_answer():
    """If no node answers, o2top says for how long. The screen appears as soon as one node has
    answered, even with nothing."""
    t = Terminal(columns=100)
    with Use(t):
        ssh = os.path.join(t.folder, "ssh")
        with open(ssh, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n[ $1 = node1 ] || exec sleep 600\nO2TOP_DEBUGFS={t.folder} exec sh\n")
        os.chmod(ssh, 0o755)
        t.run(O2TOP, "--ssh", ssh, "-n", "node2", "-n", "node3")
        t.wait("node2, node3: no answer for")
        t.key("C-c")
        t.wait("ready>", gone=("no answer",))
        t.run("clear")
        t.run(O2TOP, "--ssh", ssh, "-n", "node1", "-n", "node2", "-t", "0.5")
        t.wait("node2 unreachable", "Help")
        t.key("q")
        t.wait("ready>", gone=("Help",))


@test
def help_tells_all():
    with Use(start("ocfs2-hang")) as t:
        t.key("?")
        golden("help", t, "Moving", "scroll")
        t.key("PageDown", "PageDown", "PageDown", "PageDown")
        golden("help-end", t, "beginning of the wait")
        # all columns are on one screen of 80x24, and none is cut
        screen = t.screen()
        for title in ("LOST/s", "SHARE", "TREND", "WAIT", "AGE", "MEAN", "LONGEST", "ACQ/s", "HIT", "WR", "RD", "SIZE",
                      "FS", "FILE"):
            assert len(re.findall(f"^    {title} +\\S.*", screen, re.M)) == 1, (title, screen)
        assert "only a mean is known\n" in screen, screen
        t.key("Home")
        t.wait("Moving", gone=("beginning of the wait",))
        t.key("End")
        t.wait("beginning of the wait")
        t.key("x")
        t.wait("victim.db", "Help")
        t.key("Y")
        t.wait("no such key")


@test
def mouse():
    for term in ("tmux-256color", "xterm-256color"):
        clicks(term)


def clicks(term):
    with Use(start("ocfs2-hot", columns=94, term=term)) as t:
        screen = t.screen().splitlines()
        y = next(i for i, l in enumerate(screen) if "LOST/s" in l)
        t.click(screen[y].index("FILE") + 2, y)
        t.wait("sorted by name")
        t.click(screen[y].index("WAIT"), y)
        t.wait("sorted by waiting")
        screen = t.screen().splitlines()
        y = next(i for i, l in enumerate(screen) if "settings.ini" in l)
        t.click(40, y)
        t.wait(">*  ", "conf/settings.ini  inode 12821")
        row = next(i for i, l in enumerate(t.screen().splitlines()) if l.startswith(">"))
        t.click(40, row)
        t.wait("META")


# ---- looks -------------------------------------------------------------------------------------


@test
def colours():
    with Use(start("ocfs2-hang")) as t:
        assert re.search(r"\x1b\[[0-9;]*33m!node3", t.coloured()), t.coloured()
        assert re.search(r"\x1b\[[0-9;]*41m", t.coloured()), t.coloured()
    for how in ({"environment": {"NO_COLOR": "1"}}, {"term": "vt100"}):
        with Use(start("ocfs2-hang", **how)) as t:
            colours_used = [c for m in re.findall(r"\x1b\[([0-9;]*)m", t.coloured()) for c in m.split(";")
                            if c.isdigit() and 30 <= int(c) <= 48 and c != "39" and c != "49"]
            assert not colours_used, colours_used
            # signs show the facts that colours showed
            t.wait("!node3 not answering", "*  1", "!4.46..10.0 s")
    with Use(start("ocfs2-hang", "--no-color")) as t:
        assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", t.coloured())


@test
def ascii_only():
    with Use(start("ocfs2-hang", "--ascii")) as t:
        t.key(".")
        t.wait("3/3")
        t.key("Enter")
        golden("ascii", t, "META")
        assert t.screen().isascii(), t.screen()
    with Use(start("ocfs2-hang", environment={"LC_ALL": "C"})) as t:
        assert t.screen().isascii(), t.screen()


@test
def wide_characters():
    """Names with characters of two columns, with combining ones, and names that are no UTF-8."""
    folder = f"{CAPTURES}/../names-{os.getpid()}"
    with open(folder, "wb") as f:
        f.write("32264 /mnt/\u65e5\u672c\u8a9e\u306e\u30d5\u30a9\u30eb\u30c0/\u8a18\u9332.log\n"
                "32259 /mnt/e\u0301te\u0301/\u00fcber\n".encode() + b"12821 /mnt/\xff\xfe/\x1b[31mred\n")
    try:
        for columns in (80, 81, 120):
            with Use(Terminal(columns=columns)) as t:
                t.run("cd", CAPTURES)
                t.run("clear")
                t.run(O2TOP, "--speed", "0", "--names", folder, "ocfs2-hot")
                t.wait("2/5", "Help", "\u8a18\u9332.log", "\\xff\\xfe/\\x1b[31mred")
                golden(f"wide-characters-{columns}", t)
    finally:
        os.unlink(folder)


@test
def names_that_turn_text_around():
    """A recording chooses names of nodes and lock spaces. Characters that a terminal must not see
    are spelled out."""
    folder = f"{CAPTURES}/../turned-{os.getpid()}"
    shutil.copytree(f"{CAPTURES}/ocfs2-hot", folder)
    try:
        for sample in os.listdir(folder):
            if os.path.isdir(f"{folder}/{sample}/node1"):
                os.rename(f"{folder}/{sample}/node1", f"{folder}/{sample}/n\u202e1")
        with Use(start(f"../turned-{os.getpid()}", columns=140, rows=40)) as t:
            t.key("Enter")
            screen = t.wait("META", "wrote and read")
            locks = [line for line in screen.splitlines() if "META" in line]
            assert locks and "META node2 n\\xe2\\x80\\xae1" in locks[0], screen
            assert "\u202e" not in screen
    finally:
        shutil.rmtree(folder)


@test
def sizes():
    with Use(start("ocfs2-hot")) as t:
        t.resize(132, 43)
        t.wait("SHARE", "TREND", "SIZE")
        t.resize(80, 24)
        t.wait("LOST/s", gone=("SHARE",))
        t.resize(60, 12)
        t.wait("LOST/s", "journal.log")
        t.resize(30, 5)
        t.wait("too small", "needs 40 x 10")
        t.resize(80, 24)
        golden("ocfs2-hot-2", t, "Help", "journal.log", "take the lock from each other")


@test
def columns_chosen():
    with Use(start("ocfs2-hot", "--columns", "waiting,lost,size")) as t:
        t.wait("WAIT   LOST/s SIZE", gone=("LONGEST",))


@test
def file_systems():
    """If there are several file systems, each row names its own, also at 80 columns."""
    for columns in (80, 120):
        with Use(start("gfs2-hot", columns=columns)) as t:
            screen = t.wait("FS       FILE", "lab:fs1  /mnt/gfs2/spool/")
            files = screen.split("FILES 477\n")[1].split("\u2500\u2500")[0].splitlines()
            assert files and all("lab:fs1" in line for line in files if line.strip()), screen
    for options, title in ((), "SIZE  FILE"), (("--columns", "lost,fs"), "LOST/s FS        FILE"):
        with Use(Terminal(columns=200)) as t:
            t.run(O2TOP, "--demo", "--speed", "0", *options)
            t.wait(title, "Help")


@test
def beside_fs_a_wide_path_leaves_out_its_mount_point():
    root = tempfile.mkdtemp(prefix="o2top-mounts-")
    mount = "/srv/a/mount/point/with/a/long/name"
    os.makedirs(f"{root}/fs/gfs2/lab:fs1")
    for name, text in (("mounts", f"91 28 254:0 / {mount} rw - gfs2 /dev/vda rw\n"), ("fs/gfs2/lab:fs1/id", "254:0\n"),
                       ("names", f"9907 {mount}/hang/victim.db\n")):
        with open(f"{root}/{name}", "w") as f:
            f.write(text)
    try:
        with Use(Terminal()) as t:
            t.run(O2TOP, "--debugfs", f"{CAPTURES}/gfs2-hang/t1/node1", "--mountinfo", f"{root}/mounts", "--sysfs", root,
                  "--names", f"{root}/names", "--columns", "lost,waiting,longest,fs", "--touch-nothing")
            t.wait("h/a/long/name  hang/victim.db")
            t.resize(140, 24)
            t.wait(f"h/a/long/name  {mount}/hang/victim.db")
    finally:
        shutil.rmtree(root)


def trends(screen):
    """Returns the last bar of each file's TREND."""
    table = screen.split("FILES 14\n")[1].split("\u2500\u2500")[0]
    return [m[1] for m in re.finditer("^.{6} +\\S+ \\S+ +\\S+ +[\u2581-\u2588 ]*([\u2581-\u2588]) ", table, re.M)]


@test
def trends_have_one_scale():
    """The bars of two rows compare, unless the user asks for each row's own scale."""
    with Use(start("ocfs2-hot", columns=140, rows=40)) as t:
        bars = trends(t.screen())
        assert bars[0] == "\u2588" and set(bars[2:]) == {"\u2581"} and "\u2581" < bars[1] < "\u2588", bars
        t.key("t")
        bars = trends(t.wait("each row by its own highest"))
        assert bars[:3] == ["\u2588"] * 3, bars
        t.key("t")
        assert trends(t.wait("one scale for all rows"))[2] == "\u2581"


@test
def age_is_as_wide_as_its_content():
    """Without a long range AGE is narrow, and FILE gets the room."""
    with Use(start("ocfs2-hot")) as t:
        screen = t.wait("WAIT  AGE  LONGEST", "/mnt/ocfs2/private/node1/own.dat")
        assert ".../" not in screen, screen
    with Use(start("ocfs2-hang")) as t:
        t.wait("WAIT           AGE  LONGEST", "2 !4.46..10.0 s   4.46 s")


@test
def a_long_age_keeps_its_unit():
    """A range with two units is wider than any other AGE. Here all clocks after the first sample are
    110 s later than in the recording."""
    folder = f"{CAPTURES}/../long-{os.getpid()}"
    shutil.copytree(f"{CAPTURES}/ocfs2-hang", folder)
    try:
        for node in ("node1", "node2"):
            for sample, later in (("t0", 10), ("t1", 120), ("t2", 120)):
                for clock in ("uptime", "realtime"):
                    with open(f"{folder}/{sample}/{node}/{clock}", "r+") as f:
                        seconds = float(f.read().split()[0]) + later
                        f.seek(0)
                        f.truncate()
                        f.write(f"{seconds:.6f}\n")
        with Use(start(f"../long-{os.getpid()}")) as t:
            t.wait("2 !114 s..2.17 min    114 s", "WAIT              AGE")
    finally:
        shutil.rmtree(folder)


# ---- leaving -----------------------------------------------------------------------------------

BEFORE = "alt=0 cursor=1 mouse=0 keypad=0"


def shell_is_well(t):
    """The shell echoes and runs typed text, and the terminal has its old modes."""
    t.run("stty", "-a")
    screen = t.wait("icanon", "ready>")
    for word in (" echo ", " icanon ", " isig ", " icrnl ", " opost "):
        assert word in screen.replace("\n", " ") + " ", (word, screen)
    assert t.modes() == BEFORE, t.modes()


@test
def leaves_by_key():
    with Use(start("ocfs2-hang")) as t:
        assert t.modes() != BEFORE
        t.key("q")
        t.wait("ready>", gone=("victim.db",))
        t.run("echo", "status", "$?")
        shell_is_well(t)
    with Use(start("ocfs2-hang")) as t:
        t.key("C-c")
        t.wait("ready>", gone=("victim.db",))
        shell_is_well(t)


@test
def leaves_by_signal():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS,
                   signal.SIGFPE, signal.SIGILL):
        with Use(start("ocfs2-hang")) as t:
            os.kill(t.pid_of("o2top"), number)
            t.wait("ready>", gone=("Help",))
            t.key("C-c")
            t.run("clear")
            shell_is_well(t)


@test
def a_signal_at_once():
    """The signal comes as soon as a handler exists, before the screen."""
    for _ in range(5):
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(CAPTURES)
            os.execve(O2TOP, [O2TOP, "--speed", "0", "ocfs2-hot"], {**os.environ, "TERM": "xterm"})
        caught = 0
        while not caught & 1 << (signal.SIGTERM - 1):
            with open(f"/proc/{pid}/status") as f:
                status = f.read()
            caught = int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16) if O2TOP[-5:] in status else 0
        os.kill(pid, signal.SIGTERM)
        end = monotonic() + PATIENCE
        got = 0
        while not got and monotonic() < end:
            if select.select([fd], [], [], 0.05)[0]:
                try:
                    os.read(fd, 1 << 16)
                except OSError:
                    pass
            got, status = os.waitpid(pid, os.WNOHANG)
        if not got:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(fd)
        assert got and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM, (got, status)


@test
def a_terminal_that_goes():
    """A program that nohup started gets no signal. It still ends, and does not ask the terminal for
    ever."""
    pid, fd = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.chdir(CAPTURES)
        os.execve(O2TOP, [O2TOP, "--speed", "0", "ocfs2-hot"], {**os.environ, "TERM": "xterm"})
    seen = b""
    while b"journal.log" not in seen and b"Help" not in seen:
        assert select.select([fd], [], [], PATIENCE)[0], seen
        seen += os.read(fd, 1 << 16)
    os.close(fd)
    end, got = monotonic() + PATIENCE, 0
    while not got and monotonic() < end:
        got, status = os.waitpid(pid, os.WNOHANG)
        select.select([], [], [], 0.05)
    if not got:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert got, "it goes on"
    assert os.WIFEXITED(status), status


@test
def stops_and_goes_on():
    with Use(start("ocfs2-hang")) as t:
        for how in ("key", "signal"):
            pid = t.pid_of("o2top")
            if how == "key":
                t.key("C-z")
            else:
                os.kill(pid, signal.SIGTSTP)
            t.wait("ready>", gone=("Help",))
            shell_is_well(t)
            t.run("fg")
            t.wait("victim.db", "Help", gone=("ready>",))
            t.key("Enter")
            t.wait("META")
            t.key("Enter")
            t.wait("victim.db", gone=("META",))
        # stopped by a signal that no program can catch, and its screen is overwritten meanwhile
        os.kill(t.pid_of("o2top"), signal.SIGSTOP)
        t.wait("ready>")
        t.run("fg")
        t.wait("victim.db", "Help")
        t.key("q")
        t.wait("ready>")


@test
def nothing_to_show():
    t = Terminal()
    with Use(t):
        t.run(O2TOP, "--debugfs", "/nowhere", "--mountinfo", MOUNTINFO)
        t.wait("nothing to watch", "ready>", gone=("Help",))
        shell_is_well(t)


def write_many(folder, rows):
    """Writes two samples of a GFS2. Each inode was asked for, each more often than the one before."""
    for sample in (0, 1):
        place = f"{folder}/t{sample}/node1/gfs2/lab:many"
        os.makedirs(place)
        with open(f"{folder}/t{sample}/node1/realtime", "w") as f:
            f.write(f"{1795154566 + 5 * sample}.0\n")
        with open(f"{folder}/t{sample}/node1/uptime", "w") as f:
            f.write(f"{550 + 5 * sample}.00\n")
        with open(f"{place}/glstats", "w") as f:
            for i in range(rows):
                f.write(f"G: n:2/{4096 + i:x} rtt:11294/15624 rttb:12687/10875 irt:11861299/16344897 dcnt: {9 + sample} "
                        f"qcnt: {100 + sample * i}\n")
        with open(f"{place}/glocks", "w") as f:
            for i in range(rows):
                f.write(f"G:  s:SH n:2/{4096 + i:x} f:Iob t:SH d:EX/0 a:0 v:0 r:3 m:50 p:1\n")


def write_waiting(folder, processes):
    """Writes two samples of a GFS2 in which so many processes wait for one inode. Six other inodes fill the table."""
    for sample in (0, 1):
        place = f"{folder}/t{sample}/node1/gfs2/lab:many"
        os.makedirs(place)
        with open(f"{folder}/t{sample}/node1/realtime", "w") as f:
            f.write(f"{1795154566 + 5 * sample}.0\n")
        with open(f"{folder}/t{sample}/node1/uptime", "w") as f:
            f.write(f"{550 + 5 * sample}.00\n")
        with open(f"{place}/glstats", "w") as f:
            for i in range(20):
                answers = 9 + sample if i else 9
                f.write(f"G: n:2/{4096 + i:x} rtt:11294/15624 rttb:12687/10875 irt:11861299/16344897 dcnt: {answers} "
                        f"qcnt: {100 + sample * i}\n")
        with open(f"{place}/glocks", "w") as f:
            for i in range(20):
                f.write(f"G:  s:SH n:2/{4096 + i:x} f:lIob t:EX d:EX/0 a:0 v:0 r:3 m:50 p:1\n")
                for j in range(processes if i == 0 else 0):
                    f.write(f" H: s:EX f:W e:0 p:{1001 + j} [writer] gfs2_glock_nq\n")


@test
def many_rows():
    """The number of a row far down is its own, perhaps rounded. Each order holds all rows."""
    folder = tempfile.mkdtemp(prefix="o2top-many-")
    try:
        write_many(folder, 12500)
        with Use(start(folder, "--no-mouse")) as t:
            for _ in range(5):
                t.key(">")
            t.wait("sorted by acquired", "<16595>")
            t.key("r")
            t.wait(", reversed", "<4096>", "<4097>", "<4098>")
            t.key("P")
            screen = t.wait("sorted by name", "<4096>", "<4097>", "<4098>")
            assert screen.index("<4096>") < screen.index("<4097>") < screen.index("<4098>"), screen
            t.key("L")
            t.wait("sorted by lost")
            t.key("End")
            screen = t.wait("<4096>", gone=("<16594>",))
            assert re.search(r"^> +12k ", screen, re.M) and not re.search(r"^> +\d+ ", screen, re.M), screen
    finally:
        shutil.rmtree(folder)


MOUNTINFO = "/proc/self/mountinfo"


def main():
    global update
    arguments = sys.argv[1:]
    if "--update" in arguments:
        update = True
        arguments.remove("--update")
    if not shutil.which("tmux"):
        print("1..0 # SKIP needs program tmux")
        return
    chosen = [f for f in tests if not arguments or f.__name__ in arguments]
    failed = 0
    for i, f in enumerate(chosen, 1):
        try:
            f()
            print(f"ok {i} - {f.__name__}", flush=True)
        except AssertionError as e:
            failed += 1
            print("".join(f"# {line}\n" for line in str(e).splitlines()), end="")
            print(f"not ok {i} - {f.__name__}", flush=True)
    print(f"1..{len(chosen)}")


main()
