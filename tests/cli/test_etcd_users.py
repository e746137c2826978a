# SPDX-License-Identifier: MIT
# test_etcd_users.py - an etcd that wants a certificate of each client, and a user with a role.
#
# with_etcd.sh makes the certificates. Tokens of users end after 2 seconds.

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../etcd")
from cli import Node, glock, main, out, wait_for  # noqa: E402
from etcd import HEADERS, b64, tell  # noqa: E402

TOKEN_S = 2


def run(space, **more):
    """Returns the exit status and the messages of a short glock run."""
    env = {**os.environ, "GLOCK_LOCKMAN": "etcd", **more}
    r = glock("run", space, "inode:1", "true", env={k: v for k, v in env.items() if v})
    return r.returncode, r.stderr


def etcd_wants_a_certificate():
    wait_for(lambda: run("shop")[0] == 0)
    status, said = run("shop", ETCDCTL_CERT="", ETCDCTL_KEY="")
    assert status == 71 and "cannot join" in said, (status, said)
    status, said = run("shop", ETCDCTL_CACERT="/etc/hostname")
    assert status == 71 and "CA" in said, (status, said)


def a_role_has_one_space():
    tell("auth/user/add", name="root", password="top")
    tell("auth/user/grant", user="root", role="root")
    tell("auth/role/add", name="shop")
    tell("auth/role/grant", name="shop", perm={
        "permType": "READWRITE", "key": b64("/glock/shop/"), "range_end": b64("/glock/shop0")})
    tell("auth/user/add", name="app", password="pass")
    tell("auth/user/grant", user="app", role="shop")
    tell("auth/enable")
    os.environ["ETCDCTL_USER"] = "app:pass"
    assert run("shop") == (0, "")
    for space, user in ("other", "app:pass"), ("shop", "app:wrong"), ("shop", ""):
        status, said = run(space, ETCDCTL_USER=user)
        assert status == 77 and "cannot join" in said, (space, user, status, said)
    assert glock("ls", "--lockman", "etcd", "other").returncode == 77


def tokens_of_users_end():
    os.environ["GLOCK_LOCKMAN"] = "etcd"
    a, b = Node("shop"), Node("shop")
    a.do("nq 0 2 1 EX")
    for _ in range(3):
        time.sleep(TOKEN_S + 0.5)
        a.do("dq 0")
        b.do("nq 0 2 1 EX")  # asks etcd, and hears of it by the watch
        assert out("stat", "shop")  # logs in, too
        b.do("dq 0")
        a.do("nq 0 2 1 EX")
    a.end(), b.end()


def a_user_loses_the_role():
    a = Node("shop")
    HEADERS["Authorization"] = tell("auth/authenticate", name="root", password="top")["token"]
    tell("auth/role/revoke", role="shop", key=b64("/glock/shop/"), range_end=b64("/glock/shop0"))
    assert run("shop")[0] == 77
    a.kill()


main([etcd_wants_a_certificate, a_role_has_one_space, tokens_of_users_end, a_user_loses_the_role])
