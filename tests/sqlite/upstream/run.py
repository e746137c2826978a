#!/usr/bin/env python3
"""run.py - runs SQLite's own tests with the VFS as default one, and compares their failures with a list.

Usage: run.py DIR [unix] [all | NAME...]. build.sh made DIR. The tests run as user nobody, because some of
SQLite's tests fail as root. Without a NAME the tests of locks, busy handlers, pagers, crashes, journals and WAL run.
"all" adds those that take minutes, veryquick, mptester and threadtest3. With "unix" the VFS `unix` is the default
one, and no failure is listed. The file `differences` lists failures with reasons. A failure that is not in the
list is an error, and so is a failure in the list that does not occur. A few failed tests run once more, alone,
because other tests and the machine's load make some slow.
"""
import concurrent.futures
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SET = re.compile(r"((lock|busy|pager|crash|journal|wal|checkpoint)[a-z0-9_]*|ioerr2|sysfault)\.test$")
MINUTES = ("walcrash3.test", "walthread.test")  # each takes minutes, so only "all" runs them
LIMIT = 1500   # seconds for a test
MOST = 30      # lines of a failed test
MPTEST = ("multiwrite01", "config02", "crash01")
AGAIN = 3      # failed tests that run once more: trace3-4.4 measures 10 ms, whatever the VFS
THREADTEST3 = ("cgt_pager_1", "dynamic_triggers", "create_drop_index_1", "lookaside1", "shared1", "vacuum1", "stress1")


def differences():
    """Returns {test: [(pattern, reason)]}."""
    found = {}
    with open(os.path.join(HERE, "differences"), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.split("#")[0].split(None, 2)
            if words and len(words) != 3:
                sys.exit(f"differences:{number}: not TEST PATTERN REASON")
            if words:
                found.setdefault(words[0], []).append((words[1], words[2]))
    return found


def as_nobody():
    if os.geteuid() == 0:
        return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    return []


def run(name, command, root, vfs):
    """Runs a test in a folder of its own. Returns its exit status, output and seconds."""
    folder = os.path.join(root, "runs", name)
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    since = time.monotonic()
    env = {**os.environ, "GLOCK_DIR": os.path.join(root, "spaces")}
    if vfs == "unix":
        env["GLOCK_TEST_UNIX"] = "1"
    try:
        done = subprocess.run(as_nobody() + command, cwd=folder, capture_output=True, check=False, timeout=LIMIT,
                              env=env)
        status, text = done.returncode, (done.stdout + done.stderr).decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        status, text = -1, (late.stdout or b"").decode(errors="replace") + f"\nno end within {LIMIT} s\n"
    shutil.rmtree(folder, ignore_errors=True)
    return status, text, time.monotonic() - since


def failures(status, text):
    """Returns the names of failed tests; "end" if the program did not come to its end."""
    found = set(re.findall(r"^! (\S+) (?:expected|got):", text, re.M))
    for names in re.findall(r"^!Failures on these tests: (.*)", text, re.M):
        found.update(names.split())
    if not re.search(r"^\d+ errors? out of \d+ test", text, re.M) and not text.endswith("all tests passed\n"):
        found.add("end")
    elif status and not found:
        found.add("status")
    return sorted(found)


def scripts(root, chosen):
    """Returns the paths of SQLite's test scripts."""
    folder = os.path.join(root, "test")
    if chosen and chosen != ["all"]:
        return [os.path.join(folder, name + ".test") for name in chosen if "-" not in name]
    found = [os.path.join(folder, name) for name in sorted(os.listdir(folder))
             if SET.match(name) and (chosen or name not in MINUTES)]
    if chosen:
        command = [os.path.join(root, "testfixture"), os.path.join(root, "each.tcl"), "files", folder]
        with tempfile.TemporaryDirectory() as empty:
            text = subprocess.run(command, cwd=empty, capture_output=True, check=True, text=True).stdout
        found += re.findall(r"^file: (.*)", text, re.M)
    return sorted(set(found))


def tests(root, chosen):
    """Returns {name: command}."""
    found = {}
    for part in THREADTEST3:
        found["threadtest3-" + part] = ["sh", "-c", f"{root}/threadtest3 {part} && echo all tests passed"]
    for part in MPTEST:
        shell = f"{root}/mptester mp.db {root}/mptest/{part}.test --journalmode DELETE && echo all tests passed"
        found["mptest-" + part] = ["sh", "-c", shell]
    if chosen != ["all"]:
        found = {name: command for name, command in found.items() if name in chosen}
    runner = [os.path.join(root, "testfixture"), os.path.join(root, "each.tcl")]
    for script in scripts(root, chosen):
        found[os.path.basename(script)[:-5]] = runner + [script]
    return found


def judge(name, result, listed):
    """Prints the result of a test. Returns whether it is as listed, and the number of its tests."""
    status, text, seconds = result
    found = failures(status, text)
    new = [failure for failure in found if not any(fnmatch.fnmatchcase(failure, pattern) for pattern, _ in listed)]
    gone = [pattern for pattern, _ in listed if not fnmatch.filter(found, pattern)]
    count = re.search(r"^\d+ errors? out of (\d+) test", text, re.M)
    for failure in new:
        print(f"# {name}: {failure} fails and is not in the list")
        lines = [line for line in text.splitlines() if failure in line or failure in ("end", "status")]
        print("\n".join("#   " + line[:300] for line in lines[-MOST:]))
    for pattern in gone:
        print(f"# {name}: {pattern} is in the list and does not fail")
    ok = not new and not gone
    print(f"{'ok' if ok else 'not ok'} - {name}: {count.group(1) if count else '?'} tests, {len(found) - len(new)} "
          f"listed differences, {len(new)} others, {seconds:.0f} s", flush=True)
    return ok, int(count.group(1)) if count else 0


def prepare(directory, root):
    """Copies what the tests need to a folder that user nobody may read."""
    os.chmod(root, 0o755)
    for name in ("runs", "spaces"):
        os.mkdir(os.path.join(root, name))
    os.chmod(os.path.join(root, "spaces"), 0o777)
    for name in ("testfixture", "mptester", "threadtest3"):
        path = os.path.join(directory, "bld", name)
        if os.path.exists(path):
            shutil.copy(path, root)
    shutil.copy(os.path.join(HERE, "each.tcl"), root)
    for name in ("test", "ext", "mptest"):
        shutil.copytree(os.path.join(directory, "tree", name), os.path.join(root, name))
    subprocess.run(["chmod", "-R", "a+rX", root], check=True)


def main():
    directory, chosen = os.path.abspath(sys.argv[1]), sys.argv[2:]
    vfs = "unix" if chosen[:1] == ["unix"] else "glock"
    chosen = chosen[vfs == "unix":]
    listed = differences() if vfs == "glock" else {}
    root = tempfile.mkdtemp(prefix="glock-sqlite-", dir="/dev/shm")
    good = total = 0
    try:
        prepare(directory, root)
        every = tests(root, chosen)
        failed = []
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            jobs = {pool.submit(run, name, command, root, vfs): name for name, command in every.items()}
            for job in concurrent.futures.as_completed(jobs):
                ok, count = judge(jobs[job], job.result(), listed.get(jobs[job], []))
                good += ok
                total += count
                failed += [] if ok else [jobs[job]]
        if 0 < len(failed) <= AGAIN:
            print(f"# once more, alone: {' '.join(failed)}")
            for name in failed:
                good += judge(name, run(name, every[name], root, vfs), listed.get(name, []))[0]
        print(f"# SQLite's scripts made {total} tests")
        print(f"{good} passed, {len(every) - good} failed")
        return good != len(every)
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
