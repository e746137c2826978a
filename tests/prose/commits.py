#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""commits.py - checks the messages of the last commits. TAP.

usage: commits.py [N] [FOLDER]   checks the last N commits (50) of the repository in FOLDER (this tree)

A subject has at most 72 characters and no full stop, and a body says why. Merges are exempt.
"""
import os
import subprocess
import sys

SUBJECT = 72


def read(count, folder):
    """Returns (name, subject, body) of the last commits that are no merges."""
    out = subprocess.run(["git", "-C", folder, "log", "--no-merges", f"-{count}", "-z", "--format=%h%x01%s%x01%b"],
                         capture_output=True, text=True, errors="replace", check=True).stdout
    return [entry.split("\x01") for entry in out.split("\0") if entry]


def offences(subject, body):
    """Returns why the message of a commit does not pass."""
    if len(subject) > SUBJECT:
        yield f"the subject has {len(subject)} characters"
    if subject.endswith("."):
        yield "the subject ends with a full stop"
    if not body.strip():
        yield "no body says why"


def main(count="50", folder=os.path.dirname(os.path.abspath(__file__))):
    commits = read(count, folder)
    wrong = [f"# {name} {subject}: {why}" for name, subject, body in commits for why in offences(subject, body)]
    for line in wrong:
        print(line)
    print(f"{'not ok' if wrong or not commits else 'ok'} 1 - the last {len(commits)} commits have a subject and a reason\n1..1")
    return 1 if wrong or not commits else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
