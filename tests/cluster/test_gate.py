# SPDX-License-Identifier: MIT
# test_gate.py - tests libglock when the cluster is lost: grants in the meantime, reports, returns.

import errno
import time

from clients import SPACE, Client, make_whole, rejoin

LAST = True


def clients(cluster, build, options=""):
    cluster.run(1, "rm -f /run/shared/in.*")  # of programs that ended inside
    them = [Client(cluster, build, n, options=options) for n in cluster.numbers]
    return [client.ready() for client in them]


def end(them):
    for client in them:
        client.close()
    for client in them:
        client.end()


def bring_back(cluster, build):
    """Without fencing, the dlm_controld of a returning machine may remove another machine."""
    rejoin(cluster, build, 3)
    others = make_whole(cluster, build)
    return f"; put out by dlm_controld as node3 came back: {others}" if others else ""


class Storage:
    """Storage that checks tokens: it refuses a lower token than it has seen."""

    def __init__(self):
        self.highest = 0
        self.writes = []

    def write(self, token, who):
        taken = token >= self.highest
        self.highest = max(token, self.highest)
        self.writes.append((who, taken))
        return taken


def test_values_and_tokens(cluster, build):
    """A value goes with the lock. Tokens rise, whichever node dies meanwhile."""
    a, b, c = them = clients(cluster, build)
    try:
        seen = []
        token, died, value = a.nq(1)
        assert (died, value) == (0, "none"), a.text()
        seen.append(token)
        assert a.ask("lvb 1 " + "v" * 25) == "lvb 1 -22", a.text()  # the program has 24 bytes
        assert a.ask("lvb 1 first") == "lvb 1 0", a.text()
        a.ask("dq 1")
        token, died, value = b.nq(1)
        assert (died, value) == (0, "first"), b.text()
        seen.append(token)
        b.ask("lvb 1 second")
        b.ask("dq 1")
        assert c.nq(1, "SH")[2] == "second", c.text()
        c.ask("dq 1")
        token, died, value = a.nq(1)
        seen.append(token)
        assert value == "second", a.text()
        # the holder dies with the lock: the value is lost, and the next holder is told
        a.ask("lvb 1 third")
        cluster.run(1, f"kill -9 {a.pid}")
        token, died, value = b.nq(1)
        assert (died, value) == (1, "none"), b.text()
        seen.append(token)
        b.ask("dq 1")
        token, died, value = c.nq(1)
        assert (died, value) == (0, "none"), c.text()
        seen.append(token)
        assert seen == sorted(set(seen)), seen
    finally:
        end(them)
    # all nodes are gone, and the lockspace with them: the next nodes know nothing of it
    d = Client(cluster, build, 2).ready()
    try:
        assert d.nq(1)[0] > seen[-1], d.text()
    finally:
        d.end()
    return f"{len(seen) + 1} holders in EX, one of them killed, a restart: each token above all before"


def know(them, lock):
    """Takes the lock on each node. The first one is its master. If only the dead node has a lock,
    the DLM forgets it."""
    for client in them:
        assert client.nq(lock, "SH")[1:] == (0, "none"), client.text()
        client.ask(f"dq {lock}")


def test_idle_lock_is_had_by_a_try(cluster, build):
    """TRY gets a lock that another machine only caches. With the DLM no machine can tell that
    it uses a lock, so that the wait ends."""
    them = clients(cluster, build)
    try:
        waits = []
        for turn in range(12):
            owner, asker = them[turn % 3], them[(turn + 1) % 3]
            grant = owner.nq(7)
            assert isinstance(grant, tuple), (turn, grant)
            owner.ask("dq 7")
            assert asker.nq(7, "EX cached") == -errno.EAGAIN
            began = time.monotonic()
            mode = "SH try" if turn % 4 == 3 else "EX try"
            while (grant := asker.nq(7, mode)) == -errno.EAGAIN:  # the host is busy
                assert time.monotonic() < began + 30
            assert isinstance(grant, tuple), (turn, grant)
            waits.append(time.monotonic() - began)
            asker.ask("dq 7")
        a, b = them[:2]
        assert isinstance(a.nq(7), tuple)
        began = time.monotonic()
        assert b.nq(7, "EX try") == -errno.EAGAIN
        refused = time.monotonic() - began
        assert refused > 0.04 and a.ask("valid 7") == "valid 7 1"
        a.ask("dq 7")
    finally:
        end(them)
    return (f"{len(waits)} idle locks, {1000 * sorted(waits)[len(waits) // 2]:.0f} ms each; a lock in use is refused "
            f"after {1000 * refused:.0f} ms")


def test_death_of_the_first_holder(cluster, build):
    """No node had the lock in EX before. So the kernel marks no value block, and libglock has to do
    it."""
    a, b, c = them = clients(cluster, build)
    them += [Client(cluster, build, n, name=f"first{n}") for n in (1, 2)]
    try:
        for lock, victim, others in ((8, them[3].ready(), [a, b]), (9, them[4].ready(), [c, a])):
            know(others + [victim] * (lock - 8), lock)  # a new lock, or a conversion
            token, died, value = victim.nq(lock)
            assert (died, value) == (0, "none"), victim.text()
            cluster.run(victim.n, f"kill -9 {victim.pid}")
            following, died, value = others[1].nq(lock)
            assert (died, value) == (1, "none") and following > token, others[1].text()
            others[1].ask(f"dq {lock}")
            assert others[0].nq(lock)[1] == 0, others[0].text()
    finally:
        end(them)
    return "told, with the lock's master here and elsewhere"


def test_newcomer_gets_its_turn(cluster, build):
    """Two nodes convert all the time. A third node, new to the lock, does not wait for ever."""
    a, b, c = them = clients(cluster, build)
    try:
        for client in (a, b):
            client.send("loop 2 EX 0")
            client.expect("op 2", 60)
        since = c.send("nq 2 EX")
        c.expect("nq 2 0", 60, since)
        granted = c.find("nq 2 0")[0]
        for client in (a, b):
            client.send("stop")
        c.ask("dq 2")
        turns = turns_between([a, b], since, granted)
        assert turns <= 12, turns
        for client in (a, b):
            assert not client.met(), client.text()
    finally:
        end(them)
    return f"granted after {granted - since:.1f} s and {turns} turns of the two others"


def turns_between(them, since, until):
    """Counts how often the lock went from one node to another."""
    all_ops = sorted((when, c.name) for c in them for when in c.ops(since, until))
    return sum(x[1] != y[1] for x, y in zip(all_ops, all_ops[1:]))


def left_behind(client, when):
    """Tells whether the client lost its locks, knows this, and has not entered since."""
    losses = [t for t, line in client.said if t < when and "all locks are lost" in line]
    return losses and not client.ops(losses[-1], when)


def none_overlap_but(them, victims, until=float("inf")):
    """Two nodes met inside only if one of them is the victim, which the others do not count."""
    named, out = {client.name: client for client in them}, {victim.name for victim in victims}
    for client in them:
        wrong = [(when, who) for when, who in client.met()
                 if (len(out & {client.name, who}) != 1 or when >= until)
                 and not (who in named and left_behind(named[who], when))]
        assert not wrong, (wrong, *(c.text() for c in them))


def when_back(victim, since):
    victim.expect("again 3", 240, since)
    return victim.find("again 3", since)[0]


def hold_dirty(them, victim, lock):
    """Takes a lock with dirty data. The others know it, too, else the DLM forgets it with its
    owner."""
    for client in [c for c in them if c is not victim] + [victim]:
        assert isinstance(client.nq(lock), tuple), client.text()
        if client is not victim:
            client.ask(f"dq {lock}")
    victim.ask(f"dirty {lock}")


def wait_converting(cluster, holder, victim, lock):
    """The holder has the lock in EX. The victim waits in the kernel's queue of conversions."""
    assert isinstance(victim.nq(lock, "SH"), tuple), victim.text()
    victim.ask(f"dq {lock}")
    assert isinstance(holder.nq(lock), tuple), holder.text()
    victim.send(f"nq {lock} EX")
    # status 3: it converts; then the modes granted and wanted
    cluster.run(victim.n, "i=0; until awk '$8 == 3 && $10 == 5 && $NF ~ /%x\"$/' "
                f"/sys/kernel/debug/dlm/{SPACE}_locks | grep -q .; do i=$((i + 1)); "
                "[ $i -lt 300 ] || { cat /sys/kernel/debug/dlm/*_locks; exit 1; }; sleep 0.2; done" % lock)


def start_loops(them, lock):
    for client in them:
        client.send(f"loop {lock} EX 5")
    for client in them:
        client.expect(f"op {lock}", 60)


def watch_loss(them, victim, when, lock, seconds=180):
    """Waits until the victim's gate is closed and the others go on: (seconds of overlap, text)."""
    others = [c for c in them if c is not victim]
    victim.expect("log lockspace", seconds, when)
    closed = victim.find("log lockspace", when)[0]
    victim.expect(f"error {lock} -5", 60, when)
    for client in others:
        client.expect(f"op {lock}", seconds, max(closed, when + 1))
    last = victim.ops(when, closed + 1)
    first = min(client.ops(last[-1] if last else when)[0] for client in others)
    # from the victim's last operation to the first one of others after their wait
    before = [t for c in others for t in c.ops(when)]
    gap = max(((y - x, y) for x, y in zip([when] + sorted(before), sorted(before))), default=(0, 0))
    overlap = (last[-1] if last else when) - gap[1]
    return overlap, (f"the gate closed after {closed - when:.1f} s; others went on after "
                     f"{gap[1] - when:.1f} s; overlap {overlap:+.2f} s"), first


def lose_and_return(cluster, build, command):
    """Holders are told, nothing is written, survivors go on, and the node returns without a reboot."""
    them = clients(cluster, build)
    victim = them[2]
    try:
        hold_dirty(them, victim, 4)
        start_loops(them, 3)
        when = time.monotonic()
        cluster.run(3, command)
        _, said, _ = watch_loss(them, victim, when, 3)
        victim.expect("lost 4", 60, when)
        assert victim.ask("valid 4") == "valid 4 0"
        since = victim.send("dq 4")
        victim.expect("inval 4", 60, since)
        token, died, _ = them[0].nq(4)
        assert died == 1, them[0].text()
        them[0].ask("dq 4")
        assert not victim.find("sync"), victim.text()
        rejoin(cluster, build, 3)
        back = when_back(victim, when)
        assert victim.nq(4)[0] > token, victim.text()
        none_overlap_but(them, [victim], back)
    finally:
        end(them)
    return said


def test_dlm_controld_killed(cluster, build):
    return lose_and_return(cluster, build, "pkill -9 -x dlm_controld")


def test_corosync_restarted(cluster, build):
    """corosync restarts as with systemctl: it leaves with a message, and dlm_controld ends without
    it."""
    return lose_and_return(cluster, build, "pkill -x corosync; while pgrep -x corosync >/dev/null; do sleep 0.1; done")


def test_two_programs_of_a_node_lose_it_and_return(cluster, build):
    """Two programs return in any order. Neither takes the other for a user of the lost lockspace."""
    them = clients(cluster, build)
    them.append(Client(cluster, build, 3, name="node3b").ready())
    both = them[2:]
    try:
        start_loops(them, 3)
        when = time.monotonic()
        cluster.run(3, "pkill -x corosync; while pgrep -x corosync >/dev/null; do sleep 0.1; done")
        for victim in both:
            victim.expect("log lockspace", 180, when)
            victim.expect("error 3 -5", 60, when)
        rejoin(cluster, build, 3)
        back = [when_back(victim, when) for victim in both]
        for client in them:
            client.expect("op 3", 60, max(back))
        none_overlap_but(them, both, min(back))
    finally:
        end(them)
    return f"back {back[0] - when:.1f} s and {back[1] - when:.1f} s after"


def test_paused_node_is_refused_by_storage(cluster, build):
    """A node stops for longer than corosync's patience and goes on. Its late write has an old
    token."""
    them = clients(cluster, build)
    victim, storage = them[2], Storage()
    try:
        hold_dirty(them, victim, 4)
        token = int(victim.ask("token 4").split()[2])
        assert storage.write(token, "node3")
        start_loops(them, 3)
        cluster.pause(3)
        paused = time.monotonic()
        new, died, _ = them[0].nq(4, seconds=180)
        taken = time.monotonic()
        assert died == 1, them[0].text()
        assert storage.write(new, "node1")
        cluster.resume(3)
        when = time.monotonic()
        # the victim does not know of its loss yet, so its write comes too late
        late = int(victim.ask("token 4").split()[2])
        assert late == token and not storage.write(late, "node3"), storage.writes
        victim.expect("log lockspace", 180, when)
        closed = victim.find("log lockspace", when)[0]
        victim.expect("lost 4", 60, when)
        ops = victim.ops(when, closed + 1)
        assert not victim.find("sync", when), victim.text()
        them[0].ask("dq 4")
        others = bring_back(cluster, build)
        none_overlap_but(them, [victim], when_back(victim, when))
    finally:
        end(them)
    return (f"taken over {taken - paused:.1f} s after it stopped; late write refused; overlap: it went on for "
            f"{(ops[-1] - when) if ops else 0:.2f} s and {len(ops)} operations until its gate was "
            f"closed ({closed - when:.1f} s): {victim.find('log lockspace', when)[1].split(': ', 1)[1]}"
            + others)


def test_link_cut_and_mended(cluster, build):
    them = clients(cluster, build)
    victim = them[2]
    try:
        start_loops(them, 3)
        when = time.monotonic()
        cluster.link(3, False)
        _, said, _ = watch_loss(them, victim, when, 3)
        cluster.link(3, True)
        # the parts see each other again; but one machine may be removed immediately, and the others
        # do not accept it as it is
        cluster.run(1, "i=0; until corosync-quorumtool -s | grep -q '^Total votes: *3$'; do "
                       "i=$((i + 1)); [ $i -lt 100 ] || break; sleep 0.2; done")
        others = bring_back(cluster, build)
        none_overlap_but(them, [victim], when_back(victim, when))
    finally:
        cluster.link(3, True)
        end(them)
    return said + others


def when_quiet(them, seconds=5):
    """Waits until no client has done anything for that long."""
    began = time.monotonic()
    while time.monotonic() - max((client.ops() or [0])[-1] for client in them) < seconds:
        assert time.monotonic() - began < 60, them[0].text()
        time.sleep(0.1)
    return time.monotonic()


def test_lockspace_stopped_and_started(cluster, build):
    """No request is granted meanwhile, and nothing is lost.

    The lockspace stops on all nodes before it starts on one, as dlm_controld does it. If one node
    stopped alone, its directory would begin anew. Then two nodes may be masters of one lock, and
    both grant it."""
    them = clients(cluster, build)
    control = "/sys/kernel/dlm/glockgate/control"
    try:
        for client in them:
            client.send(f"loop {client.n + 4} EX 5")
        for client in them:
            client.expect("op", 60)
        assert them[2].nq(4)[1] == 0
        for client in them:
            cluster.run(client.n, f"echo 0 >{control}")
        quiet = when_quiet(them)
        for client in them:
            cluster.run(client.n, f"echo 1 >{control}")
        for client in them:
            client.expect("op", 60, quiet)
            assert not client.find("lost") and not client.find("error"), client.text()
        assert them[2].ask("valid 4") == "valid 4 1"
    finally:
        end(them)


def test_node_killed(cluster, build):
    """A node dies while it holds EX over dirty data and converts. Recovering programs recover
    before their grant."""
    them = clients(cluster, build, "recover")
    victim, others = them[2], them[:2]
    try:
        hold_dirty(them, victim, 4)
        for lock, first in ((6, others[0]), (7, victim)):
            know([first, others[0]], lock)
            assert victim.nq(lock)[1] == 0, victim.text()  # no holder had EX before
        start_loops(them, 3)
        wait_converting(cluster, others[1], victim, 5)
        when = time.monotonic()
        cluster.kill(3)
        _, died, value = others[0].nq(4, seconds=180)
        taken = others[0].find("nq 4 0", when)[0]
        assert died == 1 and value == "none", others[0].text()
        for client in others:
            client.expect("recover node3", 60, when)
            client.expect("op 3", 60, taken)
        assert others[0].find("recover", when)[0] < taken, others[0].text()
        for lock in (6, 7):
            assert others[0].nq(lock)[1] == 1, others[0].text()
        # the lock that the dead node waited for goes to the next request
        others[1].ask("dq 5")
        assert others[0].nq(5)[1] == 0, others[0].text()
        none_overlap_but(others, [victim])
        cluster.reboot(3)
        back = Client(cluster, build, 3, name="node3").ready()
        them.append(back)
        others[0].ask("dq 4")
        assert back.nq(4)[1] == 0, back.text()
    finally:
        end(them)
    return f"its locks went to others {taken - when:.1f} s after its power was cut"
