#!/usr/bin/env python3
"""test_watch.py - tests that glock stat and o2top show databases by path, with their transactions and waits.

Usage: test_watch.py LOAD EXTENSION GLOCK O2TOP READER. LOAD is bench/sqlite/load.c, READER is reader.c. The output is
TAP.
"""
import json
import os
import subprocess
import sys
import time

SECONDS = 5
SHOWN = 240  # bytes of a path that the VFS shows


def texts_of_odd_path(load, extension, glock, folder, space):
    """Opens a database with a line break in its long path. Returns what stands for the path, and texts of glock stat."""
    odd = f"{folder}/{'x' * 200}/line\nbreak{'y' * 200}"
    os.makedirs(odd)
    with subprocess.Popen([load, extension, odd, "glock", "off", "2", "500", "3000"], stdout=subprocess.DEVNULL) as workers:
        time.sleep(1.5)
        texts = [subprocess.run([glock, "stat", space], capture_output=True, text=True, check=True).stdout
                 for _ in range(20)]
        workers.wait()
    return "..." + (odd.replace("\n", "?") + "/app.db")[3 - SHOWN:], texts


def advice_beside_a_long_read(load, extension, o2top, reader, folder):
    """Writers wait for a process that reads on. Returns that process and the row with the waits."""
    os.makedirs(folder)
    row, end = {}, time.monotonic() + 60
    with subprocess.Popen([load, extension, folder, "glock", "off", "2", "1000", "3000"], stdout=subprocess.DEVNULL) as workers:
        time.sleep(1.5)
        with subprocess.Popen([reader, extension, folder + "/app.db"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reads:
            reads.stdout.readline()
            while row.get("advice_code") != "SQLITE" and time.monotonic() < end:
                done = subprocess.run([o2top, "--fs", "glock", "--json", "-n", "2", "-d", "1"], capture_output=True, text=True,
                                      check=False)
                rows = json.loads(done.stdout.splitlines()[-1])["rows"] if done.stdout else []
                row = max((r for r in rows if (r["path"] or "").startswith(folder) and r["waiting"]),
                          key=lambda r: r["oldest_wait_s"] or 0, default={})
        workers.wait()
    return reads.pid, row


def main():
    load, extension, glock, o2top, reader = map(os.path.abspath, sys.argv[1:])
    folder = os.path.dirname(os.environ["GLOCK_DIR"]) + "/data"
    database = folder + "/app.db"
    with subprocess.Popen([load, extension, folder, "glock", "off", "2", "100", str(SECONDS * 1000)],
                          stdout=subprocess.PIPE, text=True) as workers:
        time.sleep(1.5)
        space = next(name for name in os.listdir(os.environ["GLOCK_DIR"]) if "," not in name)
        frames = subprocess.run([o2top, "--fs", "glock", "--json", "-n", "2", "-d", "1"], capture_output=True, text=True,
                                check=True).stdout
        texts = []
        for _ in range(20):  # a lock that is in no process for a moment has no text
            texts.append(subprocess.run([glock, "stat", space], capture_output=True, text=True, check=True).stdout)
        figures = dict(word.split("=") for word in workers.communicate()[0].split())
    odd, odd_texts = texts_of_odd_path(load, extension, glock, folder, space)
    reads, waits = advice_beside_a_long_read(load, extension, o2top, reader, folder + "/read")
    advice = waits.get("advice") or ""
    frame = json.loads(frames.splitlines()[-1])
    rows = {row["path"]: row for row in frame["rows"]}
    data, writers = rows.get(database, {}), rows.get(database + " (writers)", {})
    rate = data.get("acquired", 0) / frame["interval_s"]
    writes = writers.get("acquired", 0) / frame["interval_s"]
    n = failed = 0
    for ok, what in (
            (workers.returncode == 0, "the load runs"),
            (any(f" P: {database}\n" in text for text in texts), "glock stat: the path of the database"),
            (any(f" P: {database} (writers)\n" in text for text in texts), "glock stat: the lock of writers"),
            (any(f" P: {odd}\n" in text for text in odd_texts), "glock stat: the end of a long path, in one line"),
            (any(f" P: {odd} (writers)\n" in text for text in odd_texts), "glock stat: the end of a long path, and which lock"),
            (data and writers, "o2top: both locks by path"),
            (0.3 < rate / float(figures["rate"]) < 3, "o2top: acquisitions are transactions"),
            (0.3 < writes / float(figures["writes"]) < 3, "o2top: acquisitions of writers are write transactions"),
            (len(data.get("writers", ())) == 2, "o2top: both processes write"),
            (data.get("wait_s", 0) + writers.get("wait_s", 0) > 0, "o2top: processes wait for each other"),
            (waits.get("advice_code") == "SQLITE" and "journal_mode=WAL" in advice and "own file" not in advice,
             "o2top: the advice is for a database"),
            (f"see sqlite_reader-{reads}" in advice, "o2top: the advice names the process that reads on"),
            ((data.get("hit_ratio") or 0) > 0.5, "o2top: most transactions find the lock cached")):
        n += 1
        failed += not ok
        print(f"{'ok' if ok else 'not ok'} {n} - {what}")
    if failed:
        print(f"# {figures}, {rate:.0f} acquisitions a second, {writes:.0f} of writers, rows {list(rows)}")
        print("#", json.dumps(data)[:2000])
        print("#", reads, json.dumps(waits)[:2000])
    print(f"1..{n}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
