# SPDX-License-Identifier: MIT
"""tap.py - runs the functions of a module whose names begin with test_. TAP."""
import faulthandler
import os
import subprocess
import sys
import tempfile
import traceback

LONGEST_S = 100  # for a whole program: then each thread's stack is printed


def run(module):
    """Runs the tests in a directory of spaces of their own, and exits."""
    faulthandler.dump_traceback_later(LONGEST_S, exit=True)
    tests = [(name, value) for name, value in module.items() if name.startswith("test_")]
    failed = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        os.environ["GLOCK_DIR"] = directory
        for number, (name, test) in enumerate(tests, 1):
            try:
                test()
                print(f"ok {number} - {name}", flush=True)
            except Exception:  # a failure of one test
                print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="")
                print(f"not ok {number} - {name}", flush=True)
                failed += 1
    print(f"1..{len(tests)}", flush=True)
    faulthandler.cancel_dump_traceback_later()
    sys.exit(failed > 0)


def raises(error, function, *args, errno=None, **kwds):
    """Returns the exception that the call raises, or fails."""
    try:
        function(*args, **kwds)
    except error as found:
        assert errno is None or found.errno == errno, found
        return found
    raise AssertionError(f"{function} raised nothing")


def enter(lock):
    with lock:
        pass


def program(text, *args, **kwds):
    """Runs a Python program with this module path, and returns its process."""
    return subprocess.Popen([sys.executable, "-c", text, *args], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/", **kwds)


def output(text, *args, status=0):
    """Returns the standard output and error of a program that ends by itself."""
    process = program(text, *args)
    out, err = process.communicate(timeout=30)
    assert process.returncode == status, (process.returncode, out, err)
    return out, err


def in_child(function):
    """Returns the exit status of a child that runs the function. 0: it raised nothing."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException as error:  # the parent must hear of each
            print(f"# child: {error!r}", file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
