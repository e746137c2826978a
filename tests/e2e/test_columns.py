# SPDX-License-Identifier: MIT
# test_columns.py - tests that CSV and JSON have the same values of the one table of columns.

import csv
import json
import os
import subprocess

import tap

O2TOP, CAPTURES = os.environ["O2TOP"], os.environ["O2TOP_CAPTURES"]


def o2top(*arguments):
    run = subprocess.run([O2TOP, "--no-config", *arguments], check=True, capture_output=True, text=True,
                         errors="replace", env=dict(os.environ, LC_ALL="C.UTF-8"))
    return run.stdout


def same(name, text, value):
    if isinstance(value, list):
        return text.split() == value
    if value is None or text == "":
        # CSV leaves out a longest wait of 0
        return text == "" and (value is None or (name == "longest_wait_s" and value == 0))
    return abs(float(text) - float(value)) <= 1e-6 * max(1, abs(float(value)))


def test_csv_knows_what_json_knows(_folder):
    """CSV and JSON have the same value for each column of both, and leave out the same ones."""
    compared = 0
    for recording in ("flock-ocfs2", "gfs2-hang", "gfs2-hot", "ocfs2-hang", "power-cut", "mail-ocfs2"):
        rows = [row for frame in o2top("--json", recording).splitlines() for row in json.loads(frame)["rows"]]
        lines = list(csv.DictReader(o2top("--csv", recording).splitlines()))
        assert len(rows) == len(lines), (len(rows), len(lines))
        for row, line in zip(rows, lines):
            shared = [name for name in line if name in row and not isinstance(row[name], str)]
            for name in shared:
                assert same(name, line[name], row[name]), (recording, name, line[name], row[name])
            assert (line["acquired_per_s"] == "") == (row["acquired"] is None), (recording, line)
            compared += len(shared)
    assert compared > 1000, compared


os.chdir(CAPTURES)
tap.run(globals())
