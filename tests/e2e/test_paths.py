# SPDX-License-Identifier: MIT
# test_paths.py - tests paths of inodes: asks the agent like a viewer, about files made here.

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time

import tap

O2TOP = os.environ["O2TOP"]
ASKED, LINKS, FULL = 1, 2, 4


class Agent:
    """The agent that runs on a node: its requests and answers."""

    def __init__(self, *options, **environment):
        self.run = subprocess.Popen([O2TOP, *options, "--agent"], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, env={**os.environ, **environment})
        self.text = b""
        self.send("N=abc")
        self.until(b"abc R\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run.stdin.close()
        self.run.wait()

    def send(self, line):
        self.run.stdin.write(line.encode() + b"\n")
        self.run.stdin.flush()

    def until(self, end):
        deadline = time.monotonic() + 60
        while end not in self.text:
            assert select.select([self.run.stdout], [], [], deadline - time.monotonic())[0], self.text
            more = os.read(self.run.stdout.fileno(), 65536)
            assert more, self.text
            self.text += more
        got, self.text = self.text.split(end, 1)
        return got.decode()

    def ask(self, mount, items, space="lab:fs1"):
        """Returns the lines of an answer."""
        self.send(f"P {space} {items} {mount}")
        answer = self.until(b"abc Z ")
        return re.search(r"F paths [^\n]*\n(.*?)\nabc E", answer, re.S).group(1).splitlines()

    def paths(self, mount, items, **more):
        return sorted(line.split(" ", 3)[3] for line in self.ask(mount, items, **more)
                      if line.startswith("lab:fs1 "))

    def found(self, mount, items):
        """Asks until there is a path, because a search ends late on a busy machine. Its find then comes twice."""
        deadline = time.monotonic() + 60
        while not (paths := self.paths(mount, items)):
            assert time.monotonic() < deadline, "no path"
        return sorted(set(paths))

    def walk(self, mount, items, **more):
        """Returns all lines of a full search."""
        lines = self.ask(mount, items, **more)
        deadline = time.monotonic() + 60
        while not any(line.startswith("walked ") for line in lines):
            assert time.monotonic() < deadline, lines
            lines += self.ask(mount, "0", **more)
        return lines


def children(pid):
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                if name.isdigit() and int(f.read().rsplit(")", 1)[1].split()[1]) == pid:
                    found.append(int(name))
        except (OSError, IndexError):
            continue
    return found


def capabilities(pid, which="CapEff"):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return int(re.search(which + r":\s*([0-9a-f]+)", f.read()).group(1), 16)


def make(folder, *names):
    for name in names:
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="utf-8"):
            pass


def mount_id(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as info:
            return int(re.search(r"mnt_id:\s*(\d+)", info.read()).group(1))
    finally:
        os.close(fd)


def proc_of(folder, *mounted, fs="gfs2"):
    """Makes a /proc in which this folder is a mounted GFS2, with the processes of this test."""
    os.makedirs(f"{folder}/proc/self", exist_ok=True)
    with open(f"{folder}/proc/self/mountinfo", "w", encoding="utf-8") as f:
        for path in mounted or (folder,):
            f.write(f"{mount_id(path)} 28 254:16 / {path} rw shared:9 - {fs} /dev/vdb rw\n")
    if not os.path.islink(f"{folder}/proc/{os.getpid()}"):
        os.symlink(f"/proc/{os.getpid()}", f"{folder}/proc/{os.getpid()}")
    return f"{folder}/proc"


def test_open_files(folder):
    make(folder, "a log", "gone", "elsewhere/x")
    os.link(f"{folder}/a log", f"{folder}/second\nname")
    proc = proc_of(folder, folder, f"{folder}/elsewhere")
    with open(f"{folder}/a log"), open(f"{folder}/second\nname"), open(f"{folder}/gone") as gone:
        inode, deleted = os.stat(f"{folder}/a log").st_ino, os.fstat(gone.fileno()).st_ino
        os.unlink(f"{folder}/gone")
        with Agent(O2TOP_PROC=proc) as agent:
            assert agent.found(folder, f"{inode}:0:0:{ASKED | LINKS}") == \
                [f"{folder}/a log", f"{folder}/second\\012name"]
        with Agent(O2TOP_PROC=proc) as agent:
            # one name is enough for an inode with one
            assert len(agent.found(folder, f"{inode}:0:0:{ASKED}")) == 1
        # another agent, because a find that is late comes with the next answer
        with Agent(O2TOP_PROC=proc) as agent:
            # not below that mount point; deleted; not asked for
            assert not agent.paths(f"{folder}/elsewhere", f"{inode}:0:0:{ASKED}")
            assert not agent.paths(folder, f"{deleted}:0:0:{ASKED}")
            assert not agent.paths(folder, f"{inode}:0:0:0")


def test_a_search_that_takes_long_keeps_no_other_waiting(folder):
    """Samples go on, the late find comes with a sample, and the next search goes on behind the
    process that takes long. There is no pause: a busy machine would lose its paths in it."""
    make(folder, "slow", "there")
    slow, there = (os.stat(f"{folder}/{name}").st_ino for name in ("slow", "there"))
    for pid, name in ((10, "slow"), (20, "there")):
        os.makedirs(f"{folder}/proc/{pid}/fd")
        os.makedirs(f"{folder}/proc/{pid}/fdinfo")
        os.symlink(f"{folder}/{name}", f"{folder}/proc/{pid}/fd/3")
    os.mkfifo(f"{folder}/proc/10/fdinfo/3")
    proc_of(folder)
    mnt_id = mount_id(folder)
    with open(f"{folder}/proc/20/fdinfo/3", "w", encoding="utf-8") as f:
        f.write(f"pos:\t0\nmnt_id:\t{mnt_id}\nino:\t{there}\n")
    items = f"{slow}:0:0:{ASKED},{there}:0:0:{ASKED}"
    with Agent(O2TOP_PROC=f"{folder}/proc", O2TOP_DEBUGFS=folder) as agent:
        began = time.monotonic()
        assert not agent.paths(folder, items)
        assert time.monotonic() - began < 2.5, "the answer waited for the search"
        # the search is killed; the next one begins behind process 10
        asked = 0
        while not agent.paths(folder, items):
            asked += 1
            assert time.monotonic() - began < 20, "no path after a search was killed"
            time.sleep(0.3)
        assert asked > 0
    with Agent(O2TOP_PROC=f"{folder}/proc", O2TOP_DEBUGFS=folder) as agent:
        assert not agent.paths(folder, items)
        with open(f"{folder}/proc/10/fdinfo/3", "w", encoding="utf-8") as f:
            f.write(f"pos:\t0\nmnt_id:\t{mnt_id}\nino:\t{slow}\n")
        text, began = "", time.monotonic()
        while f"lab:fs1 {slow} 0 {folder}/slow\n" not in text:
            assert time.monotonic() - began < 20, text
            agent.send("S 0 all")
            text = agent.until(b"abc Z ")
            time.sleep(0.1)


def test_daemons_that_hang_hold_nothing_up(folder):
    """The tools run beside the samples. A tool that hangs is killed with all that it started."""
    make(folder, "bin/dlm_tool", "bin/corosync-quorumtool")
    for name, text in (("dlm_tool", "[ $1 = ls ] || echo cluster nodeid 1 quorate 1"),
                       ("corosync-quorumtool", f"[ ! -e {folder}/hang ] || {{ echo $$ >{folder}/pid; sleep 1000; }}")):
        with open(f"{folder}/bin/{name}", "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n{text}\n")
        os.chmod(f"{folder}/bin/{name}", 0o755)

    def until(agent, wanted):
        began = time.monotonic()
        while True:
            asked = time.monotonic()
            agent.send("S 0 deep+ask")
            if wanted in agent.until(b"abc Z "):
                return
            assert time.monotonic() - asked < 1.5, "the sample waited"
            assert time.monotonic() - began < 30, wanted
            time.sleep(0.1)

    path = f"{folder}/bin:{os.environ['PATH']}"
    with Agent(O2TOP_PROC=folder, O2TOP_DEBUGFS=folder, PATH=path) as agent:
        agent.send("S 0 deep")
        assert "daemons" not in agent.until(b"abc Z ")
        until(agent, "= dlm_tool status\ncluster nodeid 1 quorate 1\n")
    make(folder, "hang")
    with Agent(O2TOP_PROC=folder, O2TOP_DEBUGFS=folder, PATH=path) as agent:
        until(agent, "late\n")
        with open(f"{folder}/pid", encoding="utf-8") as f:
            pid = int(f.read())
        deadline = time.monotonic() + 20
        while os.path.exists(f"/proc/{pid}/fd/0"):
            assert time.monotonic() < deadline, "the tool still runs"
            time.sleep(0.05)


def test_a_whole_file_system(folder):
    make(folder, "a/b/c/deep", "other", *(f"many/{i}" for i in range(2500)))
    os.link(f"{folder}/a/b/c/deep", f"{folder}/also")
    os.symlink(folder, f"{folder}/loop")
    inode, other, last = (os.stat(f"{folder}/{name}").st_ino for name in ("also", "other", "many/2499"))
    items = f"{inode}:7:0:{ASKED | LINKS | FULL},{other}:0:0:{ASKED | FULL},{last}:0:0:{ASKED | FULL}"
    proc = proc_of(folder)
    with Agent("--paths=full", O2TOP_PROC=proc) as agent:
        # without a request for a search, the agent does not search
        assert not agent.paths(folder, f"{inode}:0:0:{ASKED}")
        lines = agent.walk(folder, items)
        assert sorted(line for line in lines if line.startswith("lab")) == sorted((
            f"lab:fs1 {inode} 7 {folder}/a/b/c/deep", f"lab:fs1 {inode} 7 {folder}/also",
            f"lab:fs1 {other} 0 {folder}/other", f"lab:fs1 {last} 0 {folder}/many/2499")), lines
        assert lines[-1].split()[3] == "3", lines  # inodes found
        # a search for a missing inode ends, too
        assert agent.walk(folder, f"999999999:0:0:{ASKED | FULL}")[-1].split()[3] == "0"
    # a request alone allows no search
    with Agent(O2TOP_PROC=proc) as agent:
        assert agent.walk(folder, items) == ["walked lab:fs1 0 0"]


def test_only_a_cluster_file_system_is_searched(folder):
    """A user who may start the agent as root learns no name of another directory."""
    make(folder, "mnt/secret", "mnt/sub/secret", "ext4/secret")
    proc = proc_of(folder, f"{folder}/mnt")
    with open(f"{proc}/self/mountinfo", "a", encoding="utf-8") as f:
        f.write(f"{mount_id(folder)} 28 8:1 / / rw shared:9 - ext4 /dev/vda rw\n"
                f"{mount_id(folder)} 28 8:1 / {folder}/ext4 rw shared:9 - ext4 /dev/vda rw\n")
    flags = ASKED | LINKS | FULL
    with Agent("--paths=full", O2TOP_PROC=proc) as agent:
        for mount in ("/", "/root", folder, f"{folder}/ext4", f"{folder}/mnt/sub", f"{folder}/mnt/", f"{folder}/mnt/../ext4"):
            for name in ("mnt/secret", "mnt/sub/secret", "ext4/secret"):
                path = f"{folder}/{name}"
                with open(path, encoding="utf-8"):
                    for space in "lab:fs1", "2AAE8B67B17D4F169DF133216A14ED3D":
                        lines = agent.ask(mount, f"{os.stat(path).st_ino}:0:0:{flags}", space=space)
                        assert not [line for line in lines if "secret" in line], (mount, lines)
        # the file system is GFS2: no request calls it OCFS2
        inode = os.stat(f"{folder}/mnt/secret").st_ino
        with open(f"{folder}/mnt/secret", encoding="utf-8"):
            assert not [line for line in agent.ask(f"{folder}/mnt", f"{inode}:0:0:{flags}", space="2AAE8B67") if "secret" in line]
            assert agent.found(f"{folder}/mnt", f"{inode}:0:0:{ASKED}") == [f"{folder}/mnt/secret"]


@contextlib.contextmanager
def beside_another_mount(folder, *command, stdin=None):
    """A process with another mount at srv, and payroll.db of it as descriptor 3. It runs the command, which prints an
    inode. Gives the process, an agent that sees it, and the inode, or None without mount namespaces."""
    fake = f"{folder}/srv/payroll.db"
    script = f'mount -t tmpfs none {folder}/srv && : >{fake} && exec 3<{fake} && exec "$@"'
    with subprocess.Popen(["unshare", "-m", "sh", "-c", script, "sh", *command], stdin=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as other:
        try:
            inode = other.stdout.readline().strip()
            if not inode:
                yield None
                return
            proc = proc_of(folder, f"{folder}/srv")
            os.symlink(f"/proc/{other.pid}", f"{proc}/{other.pid}")
            with Agent(O2TOP_PROC=proc) as agent:
                yield other, agent, inode
        finally:
            other.kill()


def test_a_path_of_another_mount_is_no_path(folder):
    """A process in a mount namespace of its own has any file at a path of the cluster file system."""
    make(folder, "srv/x")
    fake = f"{folder}/srv/payroll.db"
    with beside_another_mount(folder, "sh", "-c", f"stat -c %i {fake} && exec sleep 1000") as there:
        if not there:
            return "SKIP needs a mount namespace"
        other, agent, inode = there
        assert os.readlink(f"/proc/{other.pid}/fd/3") == fake
        assert not agent.paths(f"{folder}/srv", f"{inode}:0:0:{ASKED}")
    return None


TOGGLE = """import os, sys
print(os.fstat(0).st_ino, flush=True)
while True:
    os.dup2(3, 9)
    os.dup2(0, 9)
"""


def test_a_descriptor_that_changes_is_no_path(folder):
    """A process changes a descriptor between its own file here, and a file of another mount at another path."""
    make(folder, "srv/mine")
    with open(f"{folder}/srv/mine", encoding="utf-8") as mine, \
            beside_another_mount(folder, sys.executable, "-c", TOGGLE, stdin=mine) as there:
        if not there:
            return "SKIP needs a mount namespace"
        _, agent, inode = there
        found = {path for _ in range(500) for path in agent.paths(f"{folder}/srv", f"{inode}:0:0:{ASKED | LINKS}")}
        assert found == {f"{folder}/srv/mine"}, found
    return None


def test_a_helper_ends_with_its_pipe(folder):
    """The helper that is started second keeps no end of the first one's pipe."""
    with Agent(O2TOP_PROC=proc_of(folder)) as agent:
        def pipes(pid):
            return [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")
                    if os.readlink(f"/proc/{pid}/fd/{fd}").startswith("pipe:")]

        agent.paths(folder, f"1:0:0:{ASKED}")
        first, second = (set(pipes(pid)) for pid in children(agent.run.pid))
        assert len(first) == len(second) == 2 and not first & second, (first, second)


DEBUGFS = r"""#!/bin/sh
# debugfs.ocfs2 -R COMMAND DEVICE, as version 1.8.7 answers: if one of the inodes is missing, it
# names none
[ "$1" = -R ] && [ "$3" = /dev/the\ disk ] || exit 1
printf '%s\n' "$2" >>"@/commands"
set -f
for inode in ${2#* }; do
	case $inode in
	'<501>' | '<502>' | '<503>') ;;
	*) echo "locate: The object is not found on the disk" >&2; exit 1 ;;
	esac
done
for inode in ${2#* }; do
	case $inode in
	'<501>') printf '\t501\t/db/one\n\t501\t/other name\n' ;;
	'<502>') printf '\t502\t/db/\n' ;;
	'<503>') printf '\t503\t/not asked for\n' ;;
	esac
done
"""


def test_a_whole_ocfs2_is_asked_for_on_its_disk(folder):
    """The tool of OCFS2 takes no lock. It finds all names of all inodes in one go, and the mount is
    not touched."""
    device = "/dev/the disk"
    make(folder, "proc/self/mountinfo", "bin/debugfs.ocfs2", "mnt/trap")
    with open(f"{folder}/proc/self/mountinfo", "w", encoding="utf-8") as f:
        f.write(f"80 28 254:0 / /elsewhere rw - ocfs2 /dev/another rw\n"
                f"{mount_id(f'{folder}/mnt')} 28 254:16 / {folder}/mnt rw shared:9 - ocfs2 {device.replace(' ', chr(92) + '040')} rw\n")
    with open(f"{folder}/bin/debugfs.ocfs2", "w", encoding="utf-8") as f:
        f.write(DEBUGFS.replace("@", folder))
    os.chmod(f"{folder}/bin/debugfs.ocfs2", 0o755)
    uuid, trap = "2AAE8B67B17D4F169DF133216A14ED3D", os.stat(f"{folder}/mnt/trap").st_ino

    def walk(items):
        with Agent("--paths=full", O2TOP_PROC=f"{folder}/proc", PATH=f"{folder}/bin:{os.environ['PATH']}") as agent:
            return agent.walk(f"{folder}/mnt", items, space=uuid)

    def commands():
        with open(f"{folder}/commands", encoding="utf-8") as f:
            said = f.read().splitlines()
        os.unlink(f"{folder}/commands")
        return said

    flags = ASKED | LINKS | FULL
    lines = walk(f"501:7:0:{flags},502:8:0:{ASKED | FULL}")
    assert sorted(line for line in lines if line.startswith(uuid)) == [
        f"{uuid} 501 7 {folder}/mnt/db/one", f"{uuid} 501 7 {folder}/mnt/other name",
        f"{uuid} 502 8 {folder}/mnt/db"], lines
    assert lines[-1].split()[3] == "2", lines
    assert commands() == ["locate <501> <502>"]
    # a missing inode makes the tool refuse the others: then the agent asks for each alone
    lines = walk(f"501:7:0:{flags},{trap}:1:0:{ASKED | FULL}")
    assert [line for line in lines if line.startswith(uuid)] == [
        f"{uuid} 501 7 {folder}/mnt/db/one", f"{uuid} 501 7 {folder}/mnt/other name"], lines
    assert commands() == [f"locate <501> <{trap}>", "findpath <501>", f"findpath <{trap}>"]
    # without the tool, the agent goes from name to name
    os.unlink(f"{folder}/bin/debugfs.ocfs2")
    with Agent("--paths=full", O2TOP_PROC=f"{folder}/proc", PATH=f"{folder}/bin") as agent:
        lines = agent.walk(f"{folder}/mnt", f"{trap}:1:0:{ASKED | FULL}", space=uuid)
    assert f"{uuid} {trap} 1 {folder}/mnt/trap" in lines, lines


def test_a_search_that_goes_on_ends_with_its_agent(folder):
    for i in range(300):
        os.makedirs(f"{folder}/{i}/x")
    agent = Agent("--paths=full", O2TOP_PROC=proc_of(folder))
    agent.ask(folder, f"999999999:0:0:{ASKED | FULL}")
    family = children(agent.run.pid)
    family += [grandchild for child in family for grandchild in children(child)]
    assert family
    agent.run.send_signal(signal.SIGKILL)
    agent.run.wait()
    deadline = time.monotonic() + 60
    while any(os.path.exists(f"/proc/{pid}") for pid in family):
        assert time.monotonic() < deadline, family
        time.sleep(0.01)


def test_capabilities(_folder):
    """CAP_DAC_READ_SEARCH (2) and CAP_SYS_PTRACE (19) stay with the finders."""
    if os.geteuid() or not capabilities(os.getpid()) & 4:
        return "SKIP needs CAP_DAC_READ_SEARCH"
    helper = capabilities(os.getpid()) & (1 << 2 | 1 << 19)
    with Agent() as agent:
        for which in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            assert capabilities(agent.run.pid, which) == 0, which
        below = children(agent.run.pid)
        deadline = time.monotonic() + 60  # the program drops the other capabilities first
        # one finds paths, the other tasks
        while [capabilities(pid) for pid in below] != [helper, helper]:
            assert time.monotonic() < deadline, below
            time.sleep(0.01)
        if capabilities(os.getpid()) & 1 << 8:  # CAP_SETPCAP
            assert capabilities(agent.run.pid, "CapBnd") == 0
    return None


def test_capabilities_of_the_viewer(folder):
    if os.geteuid() or not capabilities(os.getpid()):
        return "SKIP needs root"
    make(folder, "call")
    with open(f"{folder}/call", "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\ngrep CapEff /proc/self/status >&2\nexec sleep 1000\n")
    os.chmod(f"{folder}/call", 0o755)
    # ssh keeps root's capabilities, and the viewer has none
    with subprocess.Popen([O2TOP, "-b", "-n", "far", "--ssh", f"{folder}/call", "-t", "60"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        deadline = time.monotonic() + 60
        while capabilities(run.pid) or capabilities(run.pid, "CapPrm"):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        while not (started := children(run.pid)):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert capabilities(started[0]) == capabilities(os.getpid())
        run.terminate()
    return None


def test_the_root_directory_is_the_mount(folder):
    """No directory has its name, and GFS2 does not tell which inode is the root."""
    mount = f"{folder}/mnt"
    os.makedirs(mount)
    with Agent(O2TOP_PROC=proc_of(folder, mount)) as agent:
        assert agent.found(mount, f"{os.stat(mount).st_ino}:0:0:{ASKED}") == [mount]


def test_this_machine_alone(folder):
    """Without -n: the same paths of open files and the same names of tasks as for a node."""
    capture = os.path.join(os.environ["O2TOP_CAPTURES"], "ocfs2-hang")
    proc = f"{folder}/proc"
    os.makedirs(f"{proc}/310/task/310/fdinfo")
    os.makedirs(f"{proc}/310/fdinfo")
    os.makedirs(f"{proc}/310/fd")
    os.symlink("/mnt/o2/db/victim.db", f"{proc}/310/fd/3")
    for name, text in (("fdinfo/3", "pos:\t0\nmnt_id:\t90\nino:\t32272\n"),
                       ("task/310/fdinfo/3", "pos:\t0\nino:\t32272\n"),
                       ("task/310/stat", "310 (hot load) D 1 1 1\n"), ("task/310/comm", "hot load\n"),
                       ("task/310/wchan", "__ocfs2_cluster_lock.isra.0"),
                       ("task/310/syscall", "0 0x3 0x0 0x0\n")):
        with open(f"{proc}/310/{name}", "w", encoding="utf-8") as f:
            f.write(text)
    with open(f"{folder}/mountinfo", "w", encoding="utf-8") as f:
        f.write("90 28 254:16 / /mnt/o2 rw,relatime - ocfs2 /dev/vdb rw\n")

    def sample(number):
        os.symlink(f"{capture}/t{number}/node1", f"{folder}/new")
        os.rename(f"{folder}/new", f"{folder}/debug")

    def frames(*more):
        sample(0)
        with subprocess.Popen([O2TOP, "--json", "--local", "--debugfs", f"{folder}/debug", "--mountinfo",
                               f"{folder}/mountinfo", "-t", "0.5", *more], stdout=subprocess.PIPE,
                              text=True, env={**os.environ, "O2TOP_PROC": proc}) as run:
            said = []
            for line in run.stdout:
                sample(min(len(said) + 1, 1))
                said.append(next(r for r in json.loads(line)["rows"] if r["ino"] == 32272))
                if len(said) == 6 or said[-1]["path"] and said[-1]["sentence"]:
                    break
            helpers = len(children(run.pid))
            run.terminate()
        return said[-1], helpers

    def recorded(*more):
        done = subprocess.run([O2TOP, "--json", *more, "--replay", f"{folder}/kept.o2r"], capture_output=True,
                              text=True, check=True, env={**os.environ, "TZ": "UTC"})
        return [next((r["path"] for r in json.loads(line)["rows"] if r["ino"] == 32272), None)
                for line in done.stdout.splitlines()]

    row, helpers = frames("--record", f"{folder}/kept.o2r")
    assert row["path"] == "/mnt/o2/db/victim.db", row
    # A recording keeps the paths, and each key has those that were found before.
    assert recorded()[-1] == "/mnt/o2/db/victim.db", recorded()
    assert recorded("--paths=none")[-1] is None
    row, helpers = frames("--record", f"{folder}/kept.o2r")
    assert recorded()[-1] == "/mnt/o2/db/victim.db", recorded()
    os.unlink(f"{folder}/kept.o2r")

    row, helpers = frames()
    assert row["path"] == "/mnt/o2/db/victim.db", row
    assert "(pid 310 hot load) waits" in row["sentence"], row
    assert helpers == 2, helpers
    for option in ("--touch-nothing", "--paths=none"):
        row, helpers = frames(option)
        assert row["path"] is None and "(pid 310 hot load) waits" in row["sentence"], row
        # no process is left that could touch the file system
        assert helpers == 1, helpers


tap.run(globals())
