# SPDX-License-Identifier: MIT
# test_etcd.py - tests glock(1) with lock manager etcd: the keys of a real etcd tell of nodes and locks.
#
# tests/etcd/with_etcd.sh runs the etcd. Processes that stand still or are killed stay visible.

import base64
import contextlib
import json
import os
import signal
import socket
import time
import urllib.request

from cli import Node, glock, main, objects, out, wait_for

REAP_S = 4.2  # src/lockman/etcd/etcd_impl.h


@contextlib.contextmanager
def nodes(space, n=1):
    """Nodes of a space, which the test removes afterwards."""
    os.environ["GLOCK_LOCKMAN"] = "etcd"
    all_nodes = [Node(space) for _ in range(n)]
    try:
        yield all_nodes
    finally:
        for node in all_nodes:
            node.go_on()
            node.end()


def take(node, what):
    """The request waits for etcd's answer, and `nq` does not."""
    node.do("nq 0 " + what)
    node.do("wait 0")


def shows_users_of_a_lock():
    with nodes("shop", 2) as (a, b):
        take(a, "2 1 EX")
        b.do("nq 0 2 1 SH")
        wait_for(lambda: len(objects("stat", "--json", "shop")) == 2)
        text = out("stat", "-n", b.name, "shop").splitlines()
        assert text == ["G:  n:2/1", " H: s:SH f:W p:%d [node] %s" % (b.pid, socket.gethostname())], text
        assert [n["held"] for n in objects("ls", "--json", "shop")] == [1, 0]
        a.stop()  # for one command, because its lease ends after 5 s
        holder, waiter = objects("stat", "--json", "shop")
        assert (holder["mode"], holder["waits"], holder["node"]) == ("EX", False, a.name), holder
        assert (waiter["mode"], waiter["waits"], waiter["pid"]) == ("SH", True, b.pid), waiter
        a.go_on()
        assert holder["host"] == socket.gethostname(), holder
        a.do("dq 0")
        b.do("wait 0")


def lists_spaces_of_a_prefix():
    with nodes("a/b%c"), nodes("b"):
        assert {"a/b%c", "b"} <= {n["space"] for n in objects("ls", "--json")}
        assert "a/b%c" in out("ls")
        os.environ["GLOCK_ETCD_PREFIX"] = "/other"
        try:
            assert out("ls") == ""
            with nodes("b") as (b,):
                take(b, "2 1 EX")
                assert len(objects("ls", "--json")) == 1
        finally:
            del os.environ["GLOCK_ETCD_PREFIX"]
    assert glock("ls", "b").returncode == 66


def call(path, **fields):
    body = {name: base64.b64encode(value).decode() for name, value in fields.items()}
    with urllib.request.urlopen(os.environ["GLOCK_ETCD"] + path, json.dumps(body).encode()) as answer:
        return json.load(answer)


def lists_spaces_among_keys_of_others():
    keys = [b"/glock//n/x", b"/glock/%zz/l/x", b"/glock/" + b"a" * 400 + b"/n/x", b"/glock/plain", b"/glock/\0/n/x",
            b"/glock/\x1b[31m/n/0000000000000001"]
    for key in keys:
        call("/v3/kv/put", key=key, value=b"7 \x1b[31m \x1b[32m")
    try:
        with nodes("shop"):
            assert "shop" in [n["space"] for n in objects("ls", "--json")]
            assert "\x1b" not in out("ls")
    finally:
        for key in keys:
            call("/v3/kv/deleterange", key=key)


def demotes_a_lock_of_any_node():
    with nodes("shop") as (a,):
        take(a, "2 1 EX")
        assert glock("demote", "shop", "inode:2", "EX").returncode == 66
        assert glock("demote", "shop", "inode:1", "EX").returncode == 75
        assert len(objects("stat", "--json", "shop")) == 1
        a.do("dq 0")
        wait_for(lambda: not objects("stat", "--json", "shop"))
        take(a, "2 3 EX")
        a.do("dq 0")
        assert len(objects("stat", "--json", "shop")) == 1  # cached
        assert glock("demote", "shop", "inode:3", "EX").returncode == 0
        assert not objects("stat", "--json", "shop")
        assert glock("demote", "-n", a.name, "shop", "inode:1", "EX").returncode == 64


def removes_a_space_without_nodes():
    with nodes("shop", 2) as (a, b):
        take(b, "2 1 EX")
        r = glock("rm", "shop")
        assert r.returncode == 1 and a.name in r.stderr and b.name in r.stderr, r.stderr
        b.kill()
        a.end()
        assert glock("rm", "shop").returncode == 1  # its lease has not ended
        dead = wait_for(lambda: [n for n in objects("ls", "--json", "shop") if n["state"] == "dead"])
        assert dead[0]["held"] == 1, dead
        start = time.monotonic()
        assert out("rm", "shop") == ""
        assert time.monotonic() - start >= REAP_S  # the gate of the dead node
        assert glock("rm", "shop").returncode == 66
        assert glock("ls", "shop").returncode == 66


def runs_one_command_of_a_fleet():
    with nodes("jobs") as (a,):
        assert glock("run", "jobs", "inode:1", "sh", "-c", "exit 7").returncode == 7
        assert glock("run", "jobs", "inode:1", "sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM
        assert glock("run", "jobs", "inode:1", "/nonexistent").returncode == 69
        take(a, "2 1 EX")
        assert glock("run", "-n", "jobs", "inode:1", "true").returncode == 1
        assert glock("run", "-n", "-E", "9", "jobs", "inode:1", "true").returncode == 9
        assert glock("run", "-w", "0.2", "jobs", "inode:1", "true").returncode == 1
        assert glock("run", "-n", "jobs", "inode:2", "true").returncode == 0
        a.do("dq 0")
        assert glock("run", "-n", "jobs", "inode:1", "true").returncode == 0  # a cached lock is no conflict
        nowhere = dict(os.environ, GLOCK_ETCD="http://127.0.0.1:1")
        assert glock("run", "jobs", "x", "true", env=nowhere).returncode == 71
        assert glock("ls", env=nowhere).returncode == 71
        assert glock("ls", "--lockman", "nosuch").returncode == 64
        assert glock("stat", "--hold", "jobs").returncode == 64


main(
    [
        shows_users_of_a_lock,
        lists_spaces_of_a_prefix,
        lists_spaces_among_keys_of_others,
        demotes_a_lock_of_any_node,
        removes_a_space_without_nodes,
        runs_one_command_of_a_fleet,
    ]
)
