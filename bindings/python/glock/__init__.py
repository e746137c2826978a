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
are seconds.
"""
from ._glock import (
    ANY, DF, EX, EXACT, NOCACHE, NODE_SCOPE, PRIORITY, RECOVER, SH, TYPE_CACHED, TYPE_FLOCK,
    TYPE_INODE, TYPE_IOPEN, TYPE_JOURNAL, TYPE_META, TYPE_NONDISK, TYPE_PLAIN, TYPE_PLOCK,
    TYPE_QUOTA, TYPE_RGRP, UN, VALUE_BLOCK_SIZE, Cached, Lock, Space)

__all__ = [
    "ANY", "DF", "EX", "EXACT", "NOCACHE", "NODE_SCOPE", "PRIORITY", "RECOVER", "SH", "TYPE_CACHED",
    "TYPE_FLOCK", "TYPE_INODE", "TYPE_IOPEN", "TYPE_JOURNAL", "TYPE_META", "TYPE_NONDISK",
    "TYPE_PLAIN", "TYPE_PLOCK", "TYPE_QUOTA", "TYPE_RGRP", "UN", "VALUE_BLOCK_SIZE", "Cached",
    "Lock", "Space"]
__version__ = "0.2.0~dev"
