# SPDX-License-Identifier: MIT
# test_recording_page.py - tests that the script in o2top-recording(5) copies what o2top needs.
#
# The test takes the script out of the manual page. It runs the script on each node of a recording,
# with the node's folder in the place of debugfs, and replays the copies.

import os
import re
import shutil
import subprocess

import tap

O2TOP, CAPTURES = os.environ["O2TOP"], os.environ["O2TOP_CAPTURES"]
PAGE = os.path.join(os.environ["O2TOP_TESTS"], "..", "..", "man", "o2top-recording.5.scd")


def page():
    with open(PAGE, encoding="utf-8") as f:
        return f.read()


def script(debugfs):
    found = re.search(r"^Save this as record\.sh.*?^```\n(.*?)^```", page(), re.M | re.S)
    text = found[1].replace("\\\\", "\\")
    assert text.count("/sys/kernel/debug") == 1, text
    return text.replace("/sys/kernel/debug", debugfs)


def copy(recording, folder):
    """The recording as the script makes it, with the clocks of the original."""
    for sample in sorted(os.listdir(recording)):
        for node in sorted(os.listdir(os.path.join(recording, sample))
                           if os.path.isdir(os.path.join(recording, sample)) else []):
            there = os.path.join(recording, sample, node)
            here = os.path.join(folder, sample, node)
            os.makedirs(here)
            if not os.path.exists(os.path.join(there, "realtime")):
                continue
            tar = subprocess.run(["sh", "-s", "1"], input=script(there).encode(), check=True,
                                 stdout=subprocess.PIPE).stdout
            subprocess.run(["tar", "-xf", "-", "-C", here], input=tar, check=True)
            for clock in ("realtime", "uptime"):
                shutil.copy(os.path.join(there, clock), here)


def frames(recording):
    return subprocess.run([O2TOP, "-b", "--details", "--no-config", os.path.basename(recording)],
                          cwd=os.path.dirname(recording), check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def same_frames(folder, name):
    original = os.path.join(CAPTURES, name)
    made = os.path.join(folder, name)
    copy(original, made)
    assert frames(made) == frames(original), frames(made)
    return frames(made)


def test_the_script_keeps_the_holder_on_ocfs2(folder):
    assert "node3, the lock's master, has" in same_frames(folder, "ocfs2-hang")


def test_the_script_keeps_the_holder_on_gfs2(folder):
    assert "node3 holds EX" in same_frames(folder, "gfs2-hang")


def test_the_page_names_each_file_that_o2top_opens(folder):
    if not shutil.which("strace"):
        return "SKIP needs program strace"
    log = os.path.join(folder, "log")
    traced = subprocess.run(["strace", "-f", "-e", "trace=openat", "-o", log, O2TOP, "-b", "ocfs2-hang"],
                            cwd=CAPTURES, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if traced.returncode:
        return "SKIP strace may not trace here"
    with open(log, encoding="utf-8", errors="replace") as f:
        opened = set(re.findall(r'"ocfs2-hang/t\d+/node\d+/([^"]+)"', f.read()))
    listed = page().split("# A FOLDER OF SAMPLES")[1].split("```")[1]
    names = {re.sub(r"^.*_(all|plocks)$", r"dlm_\1", os.path.basename(p)) for p in opened if "/" in p or "." not in p}
    names -= {"ocfs2", "gfs2", "glock"}  # these folders are listed
    assert len(names) >= 12, names
    for name in names:
        word = {"dlm_all": "LOCKSPACE_all", "dlm_plocks": "LOCKSPACE_plocks"}.get(name, name)
        assert re.search(rf"/{word}\b", listed), f"{name} is not in the list"


tap.run(globals())
