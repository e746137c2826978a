#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# test_two_users.py - tests that another user makes o2top of root write, read and show nothing. TAP.
#
# Each test is an attack of a user in a folder of its own. O2TOP, O2TOP_CAPTURES and O2TOP_DATA are
# the paths that meson test sets.

import csv
import io
import os
import pty
import re
import select
import signal
import stat
import subprocess
import time

import tap
import two_users
from two_users import MALLORY, Folders, as_mallory, exchange, start_mallory

O2TOP = os.environ["O2TOP"]
CAPTURES = os.environ["O2TOP_CAPTURES"]
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC", "XDG_CONFIG_HOME": "/nowhere"}
PATIENCE = 60
LIVE = ["--local", "--debugfs", f"{CAPTURES}/ocfs2-hot/t1/node1", "-t", "0.05"]
# the ways to name a file that o2top writes, and the options that make o2top write it
WRITES = {
    "--record": ("-b", "--record", "{}", "ocfs2-hot"),
    "-o": ("-b", "-o", "{}", "ocfs2-hot"),
    "--textfile": ("--textfile", "{}", "ocfs2-hot"),
}
HEAD = b"o2top recording\n" + bytes([1, 0, 0, 0, 0, 0, 0, 0])


def o2top(*arguments, **env):
    return subprocess.run([O2TOP, *arguments], env={**ENV, **env}, cwd=CAPTURES, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False)


def write(option, path):
    return o2top(*(word.format(path) for word in WRITES[option]))


def refused(f, path, why):
    for option in WRITES:
        done = write(option, path)
        assert done.returncode and why in done.stderr, (option, path, done.returncode, done.stderr)
        assert path in done.stderr, done.stderr
        f.unharmed()


# ---- files that o2top writes ---------------------------------------------------------------------


def test_a_link_is_not_written_through(_):
    with Folders() as f:
        rec = f"{f.mallory}/rec"
        for target in f.precious, f"{f.root}/new", "/dev/null", "rec":
            as_mallory("ln", "-sf", target, rec)
            refused(f, rec, "a link stands in place of the file")
        # a link on the way leads to a folder of root
        as_mallory("ln", "-s", f.root, f"{f.mallory}/way")
        as_mallory("ln", "-s", "mallory/way", f"{f.mallory}/../mallory/again")
        for way in "way", "again":
            refused(f, f"{f.mallory}/{way}/new", "another user made a link on the way" if way == "way" else "")
        assert os.path.exists("/dev/null") and stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_file_of_another_user_is_not_written(_):
    with Folders() as f:
        rec = f"{f.mallory}/rec"
        for text in b"", HEAD:
            as_mallory("sh", "-c", 'cat >"$0"', rec, input=text)
            as_mallory("chmod", "666", rec)
            refused(f, rec, "another user owns the file")
            with open(rec, "rb") as file:
                assert file.read() == text


def test_a_second_name_of_a_file_is_not_written(_):
    with Folders() as f:
        # with fs.protected_hardlinks 0 the other user could do that itself
        os.link(f.precious, f"{f.mallory}/rec")
        refused(f, f"{f.mallory}/rec", "a second name")


def test_a_fifo_holds_nothing_up(_):
    with Folders() as f:
        as_mallory("mkfifo", "-m", "666", f"{f.mallory}/rec")
        refused(f, f"{f.mallory}/rec", "no regular file")
        os.mkfifo(f"{f.root}/rec")
        for option in WRITES:
            done = write(option, f"{f.root}/rec")
            assert done.returncode and "no regular file" in done.stderr, (option, done)


def test_own_files_and_links_are_written(_):
    """Files and links of root are no trap for root."""
    with Folders() as f:
        os.symlink(f.root, f"{f.root}/way")
        os.symlink("way", f"{f.root}/again")
        for option in WRITES:
            for path in f"{f.mallory}/mine{option}", f"{f.root}/way/mine{option}", f"{f.root}/again/../root/mine2{option}":
                old = os.umask(0)
                for _ in range(2):  # once new, once there
                    done = write(option, path)
                    assert done.returncode == 0, (option, path, done.stderr)
                os.umask(old)
                st = os.stat(path)
                mode = 0o644 if option == "--textfile" else 0o600
                assert stat.S_IMODE(st.st_mode) == mode and st.st_uid == 0 and st.st_size > 100, (option, st)


class Live:
    """o2top that records the nodes of a folder until it is ended."""

    def __init__(self, path, *options):
        self.p = subprocess.Popen([O2TOP, "--csv", *LIVE, "--record", path, *options], env=ENV, text=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def __enter__(self):
        return self.p

    def __exit__(self, *_):
        self.p.kill()
        self.p.communicate()


def until(holds, what):
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def size(path):
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0


def test_a_recording_is_not_led_astray(_):
    """A link takes the name of the recording. Then o2top opens the recording again."""
    with Folders() as f:
        rec, alt = f"{f.mallory}/rec", f"{f.mallory}/alt"
        with Live(rec) as p:
            until(lambda: size(rec) > 500, "nothing is recorded")
            as_mallory("ln", "-s", f"{f.root}/new", alt)
            as_mallory("mv", "-T", alt, rec)  # the file has no name any more
            assert "a link stands in place of the file" in p.stderr.readline()
            as_mallory("rm", rec)
            until(lambda: size(rec) > 500, "the recording does not go on")
        f.unharmed()


def test_a_rotation_stays_in_its_folder(_):
    with Folders() as f:
        folder, other = f"{f.mallory}/day", f"{f.mallory}/other"
        as_mallory("mkdir", folder)
        as_mallory("ln", "-s", f.root, other)
        with open(f"{f.root}/rec", "wb") as file:
            file.write(HEAD)
        with Live(f"{folder}/rec", "--record-size", "1", "--record-keep", "3") as p:
            until(lambda: size(f"{folder}/rec") > 500, "nothing is recorded")
            exchange(folder, other)
            # the file grows beyond its limit: it is rotated by its folder's descriptor
            with open(f"{other}/rec", "ab") as file:
                file.write(b"\0" * (1 << 20))
            p.send_signal(signal.SIGHUP)
            as_mallory("rm", "-f", f"{other}/rec")
            until(lambda: size(f"{other}/rec") > 500, "the recording does not go on")
        f.unharmed("rec")
        assert size(f"{f.root}/rec") == len(HEAD)


def test_a_race_for_the_name_is_lost(_):
    """The other user exchanges a file with a link to root's file in a loop."""
    with Folders() as f:
        rec, alt = f"{f.mallory}/rec", f"{f.mallory}/alt"
        with open(rec, "wb") as file:  # a file that root would continue
            file.write(HEAD)
        as_mallory("ln", "-s", f.precious, alt)
        pid = start_mallory(lambda: exchange(rec, alt))
        try:
            for option in WRITES:
                for _ in range(15):
                    write(option, rec)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        f.unharmed()


# ---- the configuration ---------------------------------------------------------------------------


def config_of(f, text, mode=0o644, owner=0):
    os.makedirs(f"{f.root}/config/o2top", exist_ok=True)
    path = f"{f.root}/config/o2top/o2toprc"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)
    os.chown(path, owner, owner)
    return path


def test_a_configuration_of_another_user_is_ignored(_):
    """Its setting ssh would run a command as root."""
    with Folders() as f:
        text = f"ssh = touch {f.root}/ran;\nnodes = far\nlength = 1\n"
        for mode, owner, why in ((0o644, MALLORY, "another user owns it"), (0o664, 0, "other users can write it"),
                                 (0o646, 0, "other users can write it"), (0o666, MALLORY, "another user owns it")):
            path = config_of(f, text, mode, owner)
            done = o2top("-b", "--once", "--local", "--debugfs", "ocfs2-hot/t1/node1", XDG_CONFIG_HOME=f"{f.root}/config")
            assert done.returncode == 0 and f"{path} is ignored: {why}" in done.stderr, done
            done = o2top("--once", XDG_CONFIG_HOME=f"{f.root}/config")
            assert not os.path.exists(f"{f.root}/ran"), (mode, owner)
            # a file that the user names is refused
            done = o2top("--demo", "-b", "--config", path)
            assert done.returncode == 2 and why in done.stderr, done
        # root's own file is read
        config_of(f, text)
        o2top("--once", XDG_CONFIG_HOME=f"{f.root}/config")
        assert os.path.exists(f"{f.root}/ran")
        os.unlink(f"{f.root}/ran")


def screen(keys, *arguments, **env):
    """Types keys into the screen of the demo. Returns all that the terminal got."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(O2TOP, [O2TOP, "--demo", "--speed", "0", *arguments], {**ENV, "TERM": "xterm", "LINES": "30", "COLUMNS": "150", **env})
    got, end = b"", time.monotonic() + PATIENCE

    def until_seen(what):
        nonlocal got
        while what not in got:
            assert time.monotonic() < end, (what, got[-3000:])
            if select.select([fd], [], [], 0.2)[0]:
                got += os.read(fd, 1 << 16)

    try:
        until_seen(b"LOST/s")
        for key, answer in keys:
            os.write(fd, key)
            until_seen(answer)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(fd)
    return got


def test_the_screen_under_sudo_writes_nothing(_):
    """A rule of sudo allows a user to look. The user must not change what root's next o2top does."""
    with Folders() as f:
        for options, env in (((), {"SUDO_UID": str(MALLORY)}), ((), {"DOAS_USER": "x"}), ((), {"PKEXEC_UID": "1"}),
                             (("--read-only",), {})):
            screen([(b"w", b"not saved: ")], *options, XDG_CONFIG_HOME=f"{f.root}/config", **env)
            assert not os.path.exists(f"{f.root}/config")
        # without them it asks, and saves
        screen([(b"w", b"Save the view?"), (b"y", b"saved in ")], XDG_CONFIG_HOME=f"{f.root}/config")
        assert os.path.exists(f"{f.root}/config/o2top/o2toprc")
        # the screen says that a file is ignored, and does not replace it
        path = config_of(f, "sort = mean\n", 0o666)
        screen([(b"w", b"is ignored: other users can write it"), (b"y", b""), (b"q", b"\x1b[?1049l")],
               XDG_CONFIG_HOME=f"{f.root}/config")
        with open(path, encoding="utf-8") as file:
            assert file.read() == "sort = mean\n"
        # a link of another user at its place is not followed, one of root is
        os.unlink(path)
        os.chown(f"{f.root}/config/o2top", MALLORY, MALLORY)
        as_mallory("ln", "-s", f.precious, path)
        screen([(b"w", b"another user made a link"), (b"y", b""), (b"q", b"\x1b[?1049l")], XDG_CONFIG_HOME=f"{f.root}/config")
        f.unharmed("config")
        os.unlink(path)
        os.symlink(f"{f.root}/real", path)
        screen([(b"w", b"Save the view?"), (b"y", b"saved in ")], XDG_CONFIG_HOME=f"{f.root}/config")
        assert os.path.islink(path) and os.path.getsize(f"{f.root}/real") > 10


def test_read_only_writes_no_file(_):
    with Folders() as f:
        for option in WRITES:
            done = o2top("--read-only", *(word.format(f"{f.root}/new") for word in WRITES[option]))
            assert done.returncode == 2 and "--read-only writes no file" in done.stderr, done
        f.unharmed()


def test_check_takes_no_interval_from_the_file(_):
    with Folders() as f:
        config_of(f, "interval = 1024\n")
        done = o2top("--check", "--local", "--debugfs", "ocfs2-hot/t1/node1", XDG_CONFIG_HOME=f"{f.root}/config")
        assert done.stdout.startswith("O2TOP "), done


def test_the_examples_of_sudo_read_no_configuration(_):
    top = f"{os.environ['O2TOP_DATA']}/../.."
    for name in ("contrib/nagios/sudoers.in", "contrib/nagios/o2top.cfg.in", "contrib/icinga/o2top.conf.in", "docs/o2top.md",
                 "contrib/systemd/o2top-metrics.service.in", "contrib/systemd/o2top-record.service.in"):
        with open(f"{top}/{name}", encoding="utf-8") as file:
            for line in file:
                if re.search(r"Cmnd_Alias O2TOP\w* =|command_line|command = \[|^ExecStart=", line) and "--agent" not in line:
                    assert line.count("--no-config") == len(re.findall(r"(?:bin|@)/o2top\b", line)), (name, line)


# ---- what another user's names do to a terminal and to a spreadsheet -----------------------------


# C0, DEL, C1 as UTF-8; controls of direction; ends of lines; bytes that are no UTF-8
NAMES = ("\x1b[1m\x7f\x9b7m".encode(), "\u202et\u2066\u200f\u061c".encode(), "a\u2028\u2029".encode(), b"a\xff\xc3b\x9b1m")
BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def test_names_command_no_terminal(_):
    """Names of spaces and processes, as `glock ls`, `glock stat`, messages and o2top print them."""
    glock = os.path.join(os.path.dirname(O2TOP), "glock")
    if not os.path.exists(glock):
        return "SKIP needs glock(1)"
    with Folders() as f:
        env = {**ENV, "GLOCK_DIR": f.mallory}
        for raw in NAMES:
            tool = os.path.join(f.mallory.encode(), raw[:15])
            as_mallory("cp", "/bin/sleep", tool)
            with subprocess.Popen([glock, "run", b"s" + raw, "l", tool, "1000"], env=env, user=MALLORY, group=MALLORY,
                                  extra_groups=[], stderr=subprocess.DEVNULL, start_new_session=True) as p:
                try:
                    said = b""
                    until(lambda: subprocess.run([glock, "ls"], env=env, capture_output=True, check=False).stdout.count(b"\n") > 1,
                          "no space")
                    for command in ([glock, "ls"], [glock, "ls", "--json"], [glock, "stat", b"s" + raw], [glock, "stat", "--json", b"s" + raw],
                                    [glock, "rm", b"x" + raw], [O2TOP, "--fs", "glock", "--once", "-b", "--details"],
                                    [O2TOP, "--fs", "glock", "--once", "--csv"], [O2TOP, "--fs", raw, "--once", "-b"]):
                        done = subprocess.run(command, env=env, capture_output=True, check=False, timeout=PATIENCE)
                        said += done.stdout + done.stderr
                    text = said.decode().replace("\r\n", "\n")  # what is no UTF-8 raises; CSV has such ends of lines
                    assert "Permission denied" not in text, text
                    assert not BAD.search(text), (raw, BAD.search(text), text)
                finally:
                    os.killpg(p.pid, signal.SIGKILL)
            for left in os.listdir(f.mallory.encode()):
                os.unlink(os.path.join(f.mallory.encode(), left))
    return None


def test_a_configuration_commands_no_terminal(_):
    """The name of a configuration and its settings, in messages."""
    with Folders() as f:
        for raw in NAMES:
            path = os.path.join(f.root.encode(), b"rc" + raw)
            for text in (raw, b"no" + raw + b" = 1", b"interval = " + raw, None):
                if text is None:
                    os.chown(path, MALLORY, MALLORY)
                else:
                    with open(path, "wb") as file:
                        file.write(text + b"\n")
                done = subprocess.run([O2TOP, "--config", path, "-b", "--demo"], env=ENV, capture_output=True, check=False, timeout=PATIENCE)
                said = (done.stdout + done.stderr).decode()
                assert done.returncode == 2 and "/rc" in said and not BAD.search(said), (raw, text, done)


def test_a_name_is_no_formula(folder):
    """A path that begins with = + - or @ is text for a spreadsheet. Numbers stay numbers."""
    for sign in "=+-@":
        with open(f"{folder}/names", "w", encoding="utf-8") as file:
            file.write(f"32264 {sign}cmd|'/C calc'!A0\n")
        for more in (), ("--summary",):
            plain = list(csv.DictReader(io.StringIO(o2top("--csv", "--names", f"{folder}/names", *more, "ocfs2-hot").stdout)))
            raw = list(csv.DictReader(io.StringIO(o2top("--csv", "--csv-raw", "--names", f"{folder}/names", *more, "ocfs2-hot").stdout)))
            paths = [row["path"] for row in plain if row["inode"] == "32264"]
            assert paths and set(paths) == {f"'{sign}cmd|'/C calc'!A0"}, paths
            assert [row["path"] for row in raw if row["inode"] == "32264"] == [path[1:] for path in paths]
            for a, b in zip(plain, raw):
                for key in a:
                    assert a[key] == b[key] or (a[key] == "'" + b[key] and b[key][0] in "=+-@"), (key, a[key], b[key])
                    assert a[key][:1] not in ("=", "+", "@") and (a[key][:1] != "-" or re.fullmatch(r"-[\d.]+", a[key])), a


if __name__ == "__main__":
    if two_users.needs_root():
        print(f"1..0 # {two_users.needs_root()}")
    else:
        tap.run(globals())
