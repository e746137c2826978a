# SPDX-License-Identifier: MIT
# test_stat.py - tests glock stat, ls, rm and demote on real processes: the output is the truth.

import os
import re
import subprocess
import time

from cli import GLOCK, Node, glock, main, objects, out, wait_for


def glocks_of(text):
    """Returns a dump as a set of glocks, because a dump may have the hash table's order or the
    file's."""
    return sorted(re.split(r"(?m)^(?=G:)", text))


def same(node, space, file):
    ours, theirs = out("stat", "-n", str(node.pid), space, file), node.dump(file)
    assert glocks_of(ours) == glocks_of(theirs), "%s:\n%s---\n%s" % (file, ours, theirs)
    return ours


def stat_is_the_process_own_dump():
    a, b = Node("s"), Node("s")
    a.do("name /mnt/a file")
    a.do("cached 2 300 SH")
    a.do("cached 4 50 EX")
    a.do("nq 1 2 17 EX")
    a.do("wait 1")
    a.do("nq 2 2 17 SH")
    a.do("nq 3 2 17 SH 200")
    a.do("nq 4 6 99 SH 8")
    a.do("wait 4")
    b.do("nq 1 2 17 SH")
    b.do("nq 2 5 7 EX")
    b.do("wait 2")
    wait_for(lambda: a.dump("glocks").count(" I: ") and "n:2/11 f:" in b.dump("glocks"))
    time.sleep(0.3)  # time for running work to end; the comparison below checks that
    for node in (a, b):
        for file in ("glstats", "sbstats", "lkstats"):
            same(node, "s", file)
    # a demand that is due shows its age, which goes on
    undated = lambda text: re.sub(r"d:(\w\w)/\d+", r"d:\1/", text)
    for node in (a, b):
        ours, theirs = out("stat", "-n", node.name, "s"), node.dump("glocks")
        assert glocks_of(undated(ours)) == glocks_of(undated(theirs)), ours + "---\n" + theirs
    assert out("stat", "-n", str(a.pid), "s").count("\n H: ") == 4
    a.end(), b.end()


def taken_in_short(node):
    """Takes 4:5 in EX without the queue. Then its time is not known."""
    node.do("take 4 5 EX")
    (holder,) = (h for o in objects("stat", "--json", "-n", str(node.pid), "s") for h in o["holders"])
    if "holds_s" not in holder:
        return holder
    node.do("take 4 5 EX")  # this drops the lock


def holders_of_the_fast_path_are_shown():
    a, b = Node("s"), Node("s")
    assert wait_for(lambda: taken_in_short(a))["where"] == "taken.c:1"
    b.do("nq 1 4 5 SH")
    undated = lambda text: re.sub(r"d:(\w\w)/\d+", r"d:\1/", text)
    wait_for(lambda: undated(out("stat", "-n", str(a.pid), "s")) == undated(a.dump("glocks")))
    (o,) = objects("stat", "--json", "-n", str(a.pid), "s")
    assert [(h["mode"], h["pid"], h["waits"]) for h in o["holders"]] == [("EX", a.pid, False)], o
    assert re.search(r"(?m)^ H: s:EX f:H e:0 p:%d \[node\] " % a.pid, out("stat", "-n", str(a.pid), "s"))
    a.do("take 4 5 EX")
    b.do("wait 1")
    assert all(not o["holders"] for o in objects("stat", "--json", "-n", str(a.pid), "s"))
    a.end(), b.end()


def holders_of(node):
    """Returns number, mode, pid and place of each holder, and whether its time is known."""
    found = [(o["number"], h) for o in objects("stat", "--json", "-n", str(node.pid), "s") for h in o["holders"]]
    return sorted((n, h["mode"], h["pid"], h["where"], "holds_s" in h) for n, h in found)


def moved_in_short(node, ident, number, mode, flags):
    """Takes the lock by a movable holder without the queue."""
    before = holders_of(node)
    node.do("move %d 4 %d %s %x" % (ident, number, mode, flags))
    if sorted(before + [(number, mode, node.pid, "moved.c:1", False)]) == holders_of(node):
        return True
    node.do("dq %d" % ident)
    return False


def movable_holders_of_the_fast_path_are_shown():
    """A slot tells the flag NOPID. Any thread empties it."""
    movable = nopid = 0x0200
    a = Node("s")
    lines = lambda: sorted(
        re.findall(r"(?m)^ H: s:(\w\w) f:(\w+) e:0 p:(\d+) ", out("stat", "-n", str(a.pid), "s"))
    )
    wait_for(lambda: moved_in_short(a, 1, 5, "EX", movable))
    wait_for(lambda: moved_in_short(a, 2, 6, "SH", nopid))
    wait_for(lambda: moved_in_short(a, 3, 6, "SH", movable))
    assert lines() == [("EX", "H", "0"), ("SH", "H", "0"), ("SH", "H", "0")], lines()
    a.do("elsewhere 1")
    a.do("dq 2")
    assert holders_of(a) == [(6, "SH", a.pid, "moved.c:1", False)]
    assert lines() == [("SH", "H", "0")]
    a.do("elsewhere 3")
    assert holders_of(a) == []
    a.end()


def bias_of(node, number):
    """Returns the bias of a glock, its revocations, its line, and its holders."""
    (o,) = (o for o in objects("stat", "--json", "-n", str(node.pid), "s") if o["number"] == number)
    text = out("stat", "--hold", "-n", str(node.pid), "s")
    (line,) = re.findall(r"(?m)^G:.* n:\d/%x (?:.*\n)(?: .*\n)*? B: (.*)$" % number, text)
    return o["bias"], o["revocations"], line, [(h["mode"], h["pid"], h["where"]) for h in o["holders"]]


def take_by_the_bias(node, number, mode, bias):
    """Leaves a holder there that a slot has by the bias of the word."""
    node.do("take 4 %d %s" % (number, mode))
    if bias_of(node, number)[0] == bias:
        return True
    node.do("take 4 %d %s" % (number, mode))  # this drops the lock
    return False


def the_bias_and_its_revocations_are_shown():
    os.environ["GLOCK_BIAS_AFTER"] = "1"
    a = Node("s")
    del os.environ["GLOCK_BIAS_AFTER"]
    b = Node("s")
    if a.do("supports biased", None) != "ok":  # no membarrier(2), or ThreadSanitizer
        assert not any(take_by_the_bias(a, 5, "EX", "thread") for _ in range(5))
        a.end(), b.end()
        return
    for number, mode, bias in (5, "EX", "thread"), (6, "SH", "readers"):
        held = [(mode, a.pid, "taken.c:1")]
        wait_for(lambda: take_by_the_bias(a, number, mode, bias))
        assert bias_of(a, number) == (bias, 0, "biased, to: %s; revocations: 0" % bias, held)
        a.do("take 4 %d %s" % (number, mode))  # this drops the lock
        assert bias_of(a, number) == (bias, 0, "biased, to: %s; revocations: 0" % bias, [])
        assert take_by_the_bias(a, number, mode, bias)
        b.do("nq 1 4 %d EX" % number)
        wait_for(lambda: bias_of(a, number) == (None, 1, "not biased; revocations: 1", held))
        a.do("take 4 %d %s" % (number, mode))
        b.do("wait 1")
        assert bias_of(b, number)[:2] == (None, 0)
        b.do("dq 1")
    a.end(), b.end()


def a_stopped_process_is_read():
    a, b = Node("s"), Node("s")
    a.do("nq 1 2 5 EX")
    a.do("wait 1")
    a.stop()
    b.do("nq 1 2 5 EX")
    wait_for(lambda: any(o.get("waiting") for o in objects("ls", "--json", "s")))
    states = {o["pid"]: o for o in objects("ls", "--json", "s")}
    assert states[a.pid]["state"] == "stopped" and states[a.pid]["held"] == 1
    assert states[b.pid]["state"] == "ok" and states[b.pid]["oldest_wait_s"] >= 0
    assert "n:2/5" in out("stat", "-n", str(a.pid), "s") and "[node" in out("stat", "s")
    a.go_on()
    a.do("dq 1")
    b.do("wait 1")
    b.do("dq 1")
    a.end(), b.end()


def a_process_that_hangs_is_named():
    a, b = Node("s"), Node("s")
    a.do("cached 2 6 EX")
    a.do("hang 5")
    b.do("nq 1 2 5 EX")
    hung = wait_for(
        lambda: [o for o in objects("ls", "--json", "s") if o["pid"] == a.pid and o["state"] == "hangs"]
    )
    assert "2:5" in hung[0]["why"], hung[0]["why"]
    b.do("wait 1")
    wait_for(lambda: all(o["state"] == "ok" for o in objects("ls", "--json", "s")))
    a.end(), b.end()


def waits_that_ended_are_counted():
    a, b = Node("s"), Node("s")
    a.do("nq 1 6 5 EX")
    a.do("wait 1")
    b.do("nq 1 6 5 EX")
    time.sleep(0.2)
    a.do("dq 1")
    b.do("wait 1")
    (o,) = [o for o in objects("stat", "--json", "-n", str(b.pid), "s") if o["type"] == 6]
    assert o["waits"] == 1 and 0.2 <= o["longest_wait_s"] == o["waited_s"] < 60, o
    assert o["holders"][0]["mode"] == "EX" and not o["holders"][0]["waits"]
    a.end(), b.end()


def objects_are_shown_with_their_age():
    a = Node("s")
    a.do("name the log")
    a.do("cached 2 1 SH")
    (o,) = objects("stat", "--json", "s")
    assert o["object"] == [" I: n:0", " P: the log"] and o["object_age_s"] >= 0, o
    assert re.search(r"(?m)^ P: the log \(\d+\.\d{3} s old\)$", out("stat", "--ages", "s"))
    a.end()


def many_glocks_come_and_go():
    a = Node("s")
    a.do("cached 6 20000 SH")
    assert out("stat", "s").count("G:") == 20000
    same(a, "s", "glstats")
    a.end()
    assert not objects("ls", "--json", "s")[0].get("node")


def a_dead_process_leaves_nothing_that_lasts():
    a, b = Node("s"), Node("s")
    a.do("nq 1 6 5 EX")
    a.do("wait 1")
    a.kill()
    b.do("nq 1 6 5 EX")
    b.do("wait 1")
    assert [o["pid"] for o in objects("ls", "--json", "s")] == [b.pid]
    b.end()


def rm_refuses_while_somebody_lives():
    a = Node("s")
    r = glock("rm", "s")
    assert r.returncode == 1 and a.name in r.stderr, r.stderr
    a.end()
    assert glock("rm", "s").returncode == 0
    assert glock("rm", "s").returncode == 66
    assert os.listdir(os.environ["GLOCK_DIR"]) == []


def rm_takes_what_the_dead_left():
    a = Node("s")
    a.do("cached 6 10 SH")
    a.kill()
    assert [o["state"] for o in objects("ls", "--json", "s")] == ["dead"]
    assert "G:" in out("stat", "s")
    assert glock("rm", "s").returncode == 0
    assert os.listdir(os.environ["GLOCK_DIR"]) == []


def a_name_may_have_a_slash():
    for name in ("a/b", "/a", "c/"):
        a = Node(name)
        assert [o["pid"] for o in objects("ls", "--json", name)] == [a.pid]
        assert glock("stat", name).returncode == 0
        a.end()
        assert glock("rm", name).returncode == 0
    assert os.listdir(os.environ["GLOCK_DIR"]) == []


def a_path_is_one_however_it_is_written():
    folder = os.environ["GLOCK_DIR"]
    a = Node("s")
    for said in (folder, folder + "/", os.path.relpath(folder)):
        os.environ["GLOCK_DIR"] = said
        for path in (folder + "/s", folder + "//s", os.path.relpath(folder) + "/s"):
            assert [o["pid"] for o in objects("ls", "--json", path)] == [a.pid], (said, path)
        assert glock("ls", folder + "/t").returncode == 66
    os.environ["GLOCK_DIR"] = folder
    a.end()


def histograms_and_grants_are_counted():
    """A glock that leaves memory loses its counts. Its type keeps them."""
    a, b = Node("s"), Node("s")

    def has_left():
        return not any((o["pid"], o["number"]) == (b.pid, 9) for o in objects("stat", "--json", "s"))

    for _ in range(3):
        a.do("nq 1 6 9 EX")
        a.do("wait 1")
        wait_for(has_left)
        b.do("nq 1 6 9 SH")
        time.sleep(0.02)
        a.do("dq 1")
        b.do("wait 1")
        b.do("dq 1")
    b.do("nq 1 6 9 SH")
    b.do("wait 1")
    of = {(o["pid"], o["number"]): o for o in objects("stat", "--histogram", "--json", "s") if o["type"] == 6}
    type_a, type_b, theirs = of[(a.pid, None)], of[(b.pid, None)], of[(b.pid, 9)]
    assert theirs["granted"] == {"EX": 0, "DF": 0, "SH": 2}, theirs
    assert theirs["waits"]["count"] in (1, 2) and theirs["waits"]["p90_s"] > 0.02, theirs
    # the last request was granted at once, if this machine had time
    assert type_b["waits"]["count"] in (3, 4), type_b
    assert type_b["waits"]["p50_s"] > 0.02 and type_b["hand_overs"]["count"] == 2, type_b
    assert type_a["hand_overs"]["count"] == 3 and type_a["hand_overs"]["p50_s"] > 0.001, type_a
    assert type_a["holds"]["count"] >= 3 and type_a["holds"]["p50_s"] > 0.02, type_a
    for o in of.values():
        for key in ("waits", "holds", "hand_overs"):
            assert sum(b["count"] for b in o[key]["buckets"]) == o[key]["count"], o
    text = out("stat", "--histogram", "-n", str(b.pid), "s")
    assert re.search(r"(?m)^glock 6/9 for .*: granted 0 EX, 0 DF, 2 SH$", text), text
    assert re.search(r"(?m)^   p50    < +\S+ .s ", text), text
    (o,) = [o for o in objects("stat", "--json", "-n", str(b.pid), "s") if o["number"] == 9]
    assert o["granted"]["SH"] == 2, o
    r = glock("stat", "--histogram", "s", "glstats")
    assert r.returncode == 64 and "takes no file" in r.stderr, r
    a.end(), b.end()


def hold_says_why():
    """A process that sleeps wakes up late: that counts as part of a hand-over."""
    a, b = Node("s"), Node("s")
    a.do("nq 1 3 9 EX")
    a.do("wait 1")
    assert "\n T: no demand yet\n" in out("stat", "--hold", "-n", str(a.pid), "s")
    for i in range(13):
        b.do("nq 1 3 9 EX")
        b.stop()
        a.do("dq 1")
        time.sleep(0.01)
        b.go_on()
        b.do("wait 1")
        a.do("nq 1 3 9 EX")
        if i == 12:
            break
        b.do("dq 1")
        a.do("wait 1")
    wait_for(lambda: "a hand-over takes" in out("stat", "--hold", "-n", str(b.pid), "s"))

    def forms_agree():
        """The reason changes while the demand waits, so both forms are read until they agree."""
        (o,) = [o for o in objects("stat", "--json", "-n", str(b.pid), "s") if o["number"] == 9]
        assert 0 <= o["hold"]["give_up_s"] < 10, o
        text = out("stat", "--hold", "-n", str(b.pid), "s")
        m = re.search(r"(?m)^ T: [0-9.]+ ms; (.*)\n T: a hand-over takes ([0-9.]+) us .*; \d+ % of the uses", text)
        assert m and float(m[2]) > 500, text
        return m[1] == o["hold"]["why"]

    wait_for(forms_agree)
    assert " T:" not in out("stat", "s")
    # the type flock has no hold time
    a.do("nq 2 6 9 EX")
    a.do("wait 2")
    b.do("nq 2 6 9 EX 0x2", None)  # TRY_1CB: demands the lock
    wait_for(lambda: "\n T: the program has set no hold time\n" in out("stat", "--hold", "-n", str(a.pid), "s"))
    a.do("dq 2")
    a.end(), b.end()


def demote_has_cached_locks_given_up():
    a = Node("s")
    state = lambda: re.findall(r"s:(\w\w) n:2/5 ", out("stat", "s"))
    a.do("cached 2 6 EX")
    assert state() == ["EX"]
    assert glock("demote", "s", "2:5", "SH").returncode == 0
    wait_for(lambda: state() == ["SH"])
    assert glock("demote", "s", "inode:0x5", "EX").returncode == 0
    wait_for(lambda: state() in (["UN"], []))
    assert glock("demote", "s", "2:99", "EX").returncode == 66
    assert glock("demote", "s", "2:5", "XX").returncode == 64
    assert glock("demote", "s", "main", "EX").returncode == 64
    a.end()


def demote_of_one_node():
    a, b = Node("s"), Node("s")
    for node in (a, b):
        node.do("cached 2 6 SH")
    state = lambda node: re.findall(r"s:(\w\w) n:2/5 ", out("stat", "-n", node.name, "s"))
    assert glock("demote", "-n", str(b.pid), "s", "2:5", "EX").returncode == 0
    wait_for(lambda: state(b) in (["UN"], []))
    assert state(a) == ["SH"]
    assert glock("demote", "-n", "1", "s", "2:5", "EX").returncode == 66
    # in use: the demand waits for the holder
    a.do("nq 1 2 4 SH")
    assert glock("demote", "-n", a.name, "s", "2:4", "EX").returncode == 0
    assert [o["state"] for o in objects("stat", "--json", "-n", a.name, "s") if o["number"] == 4] == ["SH"]
    a.do("dq 1")
    wait_for(lambda: not re.search(r"s:SH n:2/4 ", out("stat", "-n", a.name, "s")))
    # stopped: the process gives way later
    a.stop()
    r = glock("demote", "s", "2:3", "EX")
    assert r.returncode == 75 and "does not answer" in r.stderr, r
    a.go_on()
    wait_for(lambda: not re.search(r"s:SH n:2/3 ", out("stat", "-n", a.name, "s")))
    # no node joined for this
    assert len(objects("ls", "--json", "s")) == 2
    a.end(), b.end()


def demote_where_a_demand_came_before():
    """A demand for a lock in use wakes no thread. A later control message is still answered."""
    a, b = Node("s"), Node("s")
    a.do("nq 1 2 4 EX")
    b.do("nq 1 2 4 EX 0x2", None)  # TRY_1CB: demands the lock and does not wait
    assert glock("demote", "-n", a.name, "s", "2:4", "EX").returncode == 0
    a.do("dq 1")
    a.end(), b.end()


def bench_measures_a_plain_lock():
    """A lock of type flock (6) may be taken twice by a thread, and costs several plain locks (1)."""
    p = subprocess.Popen([GLOCK, "bench", "-t", "60", "s"], stdout=subprocess.DEVNULL)
    wait_for(lambda: "n:" in glock("stat", "s").stdout)
    text = out("stat", "s")
    p.kill()
    p.wait()
    assert "n:1/" in text and "n:6/" not in text, text


if __name__ == "__main__":
    main(
        [
            stat_is_the_process_own_dump,
            holders_of_the_fast_path_are_shown,
            movable_holders_of_the_fast_path_are_shown,
            the_bias_and_its_revocations_are_shown,
            a_stopped_process_is_read,
            a_process_that_hangs_is_named,
            waits_that_ended_are_counted,
            objects_are_shown_with_their_age,
            many_glocks_come_and_go,
            a_dead_process_leaves_nothing_that_lasts,
            rm_refuses_while_somebody_lives,
            rm_takes_what_the_dead_left,
            a_name_may_have_a_slash,
            a_path_is_one_however_it_is_written,
            histograms_and_grants_are_counted,
            hold_says_why,
            demote_has_cached_locks_given_up,
            demote_of_one_node,
            demote_where_a_demand_came_before,
            bench_measures_a_plain_lock,
        ]
    )
