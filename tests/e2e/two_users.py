# SPDX-License-Identifier: MIT
# two_users.py - root and another user for tests of what one can do to the other.
#
# The other user is a number without a line in passwd(5). The tests need root, and skip without it.
# fs.protected_symlinks and its sisters do not help here: the folders of the tests are not sticky.

import ctypes
import os
import shutil
import subprocess
import tempfile

MALLORY = 54321
AT_FDCWD = -100
RENAME_EXCHANGE = 2

libc = ctypes.CDLL(None, use_errno=True)


def needs_root():
    return None if os.geteuid() == 0 else "SKIP needs root"


def as_mallory(*command, **options):
    """Runs a program as the other user, with no group of root."""
    return subprocess.run(command, user=MALLORY, group=MALLORY, extra_groups=[], check=True, timeout=60, **options)


def start_mallory(function):
    """Starts a process of the other user that calls a function until it is killed. Returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setgroups([])
        os.setresgid(MALLORY, MALLORY, MALLORY)
        os.setresuid(MALLORY, MALLORY, MALLORY)
        libc.prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: ends with the test
        while True:
            function()
    finally:
        os._exit(1)


def exchange(a, b):
    if libc.renameat2(AT_FDCWD, a.encode(), AT_FDCWD, b.encode(), RENAME_EXCHANGE):
        raise OSError(ctypes.get_errno(), a)


class Folders:
    """A folder of the other user, and a file of root that must stay as it is."""

    PRECIOUS = b"root's own\n" * 100

    def __enter__(self):
        self.top = tempfile.mkdtemp(prefix="two-users-", dir="/tmp")
        os.chmod(self.top, 0o755)
        self.mallory = os.path.join(self.top, "mallory")
        os.mkdir(self.mallory)
        os.chown(self.mallory, MALLORY, MALLORY)
        self.root = os.path.join(self.top, "root")
        os.mkdir(self.root, 0o755)
        self.precious = os.path.join(self.root, "precious")
        with open(self.precious, "wb") as f:
            f.write(self.PRECIOUS)
        os.chmod(self.precious, 0o600)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.top, ignore_errors=True)

    def unharmed(self, *allowed):
        """Checks that root's folder holds only what it held, unchanged."""
        with open(self.precious, "rb") as f:
            assert f.read() == self.PRECIOUS, "a file of root was written"
        assert os.stat(self.precious).st_mode & 0o7777 == 0o600
        assert set(os.listdir(self.root)) <= {"precious", *allowed}, os.listdir(self.root)
