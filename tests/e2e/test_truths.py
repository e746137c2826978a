# SPDX-License-Identifier: MIT
# test_truths.py - recordings of real clusters under load: no sentence says what was not so.
#
# The loads wrote down what they did, as tests/cluster/truth_load.c does. These tests hold the
# sentences that were wrong once.

import json
import os
import re
import subprocess
import tempfile

import tap

O2TOP = os.environ["O2TOP"]
DATA = os.environ["O2TOP_DATA"]
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC", "XDG_CONFIG_HOME": "/nowhere"}


def replay(name):
    """Plays a recording of tests/data, or a file by its whole path."""
    done = subprocess.run([O2TOP, "--json", "--replay", os.path.join(DATA, name)], env=ENV, capture_output=True,
                          text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def said(frames):
    """Yields the number of each frame with each of its sentences, and the code of an advice."""
    for number, frame in enumerate(frames):
        for banner in frame["banners"]:
            yield number, None, banner
        for row in frame["rows"]:
            for text, code in ((row["sentence"], None), (row["advice"], row["advice_code"])):
                if text:
                    yield number, code, text


def test_a_busy_cluster_is_not_silent(_):
    """Three nodes make, remove and move files of a GFS2, append, map and flock. All nodes work all
    the time. The machine is so busy that ssh reaches node1 only after minutes."""
    frames = replay("busy-gfs2.rec")
    assert len(frames) == 16, len(frames)
    for number, code, text in said(frames):
        # In the first seconds o2top still connects.
        assert "silent" not in text, (number, text)
        assert code != "WAIT_NODE_SILENT", (number, text)
        # node1 was not away: only o2top had not reached it.
        assert "what node1 did" not in text, (number, text)


def test_late_nodes_are_no_cause(_):
    """Three nodes work on an OCFS2 and a GFS2, on a machine so busy that samples come up to 8 s late.
    node3 is stopped now and then. In frames 10 and 33 (the last) node1 and node2 work, and are late."""
    frames = replay("late-nodes.rec")
    assert len(frames) == 34, len(frames)
    for number, code, text in said(frames):
        if number in (10, 33):
            assert code != "WAIT_NODE_SILENT" and "has not answered" not in text, (number, text)


def test_damage_is_no_silence(_):
    """The first samples of the recording are damaged. In the first one that is whole, node1's sample is on
    its way for 10 us, and the node was never heard before."""
    with open(os.path.join(DATA, "late-nodes.rec"), "rb") as f:
        whole = bytearray(f.read())
    first = whole.index(b"o2tF")
    with tempfile.TemporaryDirectory() as folder:
        for at in range(first + 100, first + 1500, 350):
            broken = whole.copy()
            broken[at] ^= 4
            path = os.path.join(folder, "broken.o2r")
            with open(path, "wb") as f:
                f.write(broken)
            frames = replay(path)
            assert 20 < len(frames) < 34, (at, len(frames))
            for number, _, text in said(frames):
                # No node was silent for less than the 2 s of a long wait.
                assert not re.search(r"has not answered for (at least )?[0-9.]+ [mun]s", text), (at, number, text)


def test_moves_of_files_take_the_rename_lock_of_gfs2(_):
    """The load moved files, and no directory."""
    moves = [text for _, code, text in said(replay("busy-gfs2.rec")) if code == "RENAME_LOCK"]
    assert moves
    for text in moves:
        assert "files or directories into other directories" in text, text


def test_a_node_that_stands_still_is_the_cause(_):
    """node3 is stopped for 40 s, between frames 5 and 10. No node recovers the lock, and node3 goes on."""
    frames = replay("paused-gfs2.rec")
    blamed = set()
    for number, code, text in said(frames):
        if code == "WAIT_NODE_SILENT" or " silent for " in text:
            assert 5 <= number <= 10 and "node3" in text, (number, text)
            blamed.add(number)
        assert "recovery is pending" not in text and "recovery is in progress" not in text, (number, text)
    assert {7, 8, 9, 10} <= blamed, blamed
    assert any("node1 and node2 waited up to 41.3 s" in text and "what node3 did" in text
               for _, _, text in said(frames))


tap.run(globals())
