# SPDX-License-Identifier: MIT
# __init__.py - the public names of the module, and its manual.
"""Cluster locks that stay with the process that used them last.

    import glock

    with glock.Space("shop") as space:
        with space.lock(42):
            ...             # no other process of this machine has the lock now

After `with` this process keeps the lock cached. Another process gets the lock when it asks. Cached
also keeps a value, which load reads and save writes. docs/python.md has a first
program (Debian: /usr/share/doc/python3-glock). glock.h is the manual of the library below. Times
are seconds. FileLock is the lock of a file, with the interface of the package filelock.
"""
from ._filelock import AsyncFileLock, FileLock, Timeout

_OF_EXTENSION = [
    "ANY", "DF", "EX", "EXACT", "NOCACHE", "NODE_SCOPE", "PRIORITY", "RECOVER", "SH", "TYPE_CACHED",
    "TYPE_FLOCK", "TYPE_INODE", "TYPE_IOPEN", "TYPE_JOURNAL", "TYPE_META", "TYPE_NONDISK",
    "TYPE_PLAIN", "TYPE_PLOCK", "TYPE_QUOTA", "TYPE_RGRP", "UN", "VALUE_BLOCK_SIZE", "Cached",
    "Lock", "Space"]
__all__ = ["AsyncFileLock", "FileLock", "Timeout"]
__version__ = "0.2.0~dev"

try:
    from ._glock import (
        ANY, DF, EX, EXACT, NOCACHE, NODE_SCOPE, PRIORITY, RECOVER, SH, TYPE_CACHED, TYPE_FLOCK,
        TYPE_INODE, TYPE_IOPEN, TYPE_JOURNAL, TYPE_META, TYPE_NONDISK, TYPE_PLAIN, TYPE_PLOCK,
        TYPE_QUOTA, TYPE_RGRP, UN, VALUE_BLOCK_SIZE, Cached, Lock, Space)
    __all__ += _OF_EXTENSION
except ModuleNotFoundError as error:
    if error.name != "glock._glock":
        raise

    def __getattr__(name):
        if name in _OF_EXTENSION:
            raise ImportError(f"glock.{name} needs Linux and the extension module, which is not here: only FileLock, "
                              "AsyncFileLock and Timeout are")
        raise AttributeError(f"module 'glock' has no attribute {name!r}")
