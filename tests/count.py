#!/usr/bin/env python3
"""count.py BUILD_DIR STATUS: how many tests of the last `meson test` passed and failed.

A TAP program counts as many as it ran; one that died, or ran none, counts as one that failed. STATUS is what
meson test exited with: where it says that something failed, at least one did.
"""
import json
import re
import sys

passed = failed = 0
with open(f"{sys.argv[1]}/meson-logs/testlog.json", encoding="utf-8", errors="replace") as log:
    for line in log:
        test = json.loads(line)
        tap = re.findall(r"^(not )?ok \d+", test.get("stdout", ""), re.M)
        bad = sum(1 for not_ok in tap if not_ok)
        passed += len(tap) - bad
        failed += bad
        if test["result"] == "SKIP":
            continue
        if test["result"] not in ("OK", "EXPECTEDFAIL"):
            failed += bad == 0
        elif not tap:
            passed += 1
if sys.argv[2] != "0" and failed == 0:
    failed = 1
print(passed, failed)
