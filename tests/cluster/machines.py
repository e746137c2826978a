# SPDX-License-Identifier: MIT
# machines.py - a cluster of emulated machines: real kernels, corosync, DLM, OCFS2, GFS2.
#
# Each machine boots a stock kernel of Debian under QEMU's software emulation, without KVM. Its root is
# this machine's own, read-only over 9p with a writable layer of memory above it. So every program
# of this machine can run there. The machines share two raw disks. They share an Ethernet of
# multicast datagrams on loopback, on which all are equal. A stopped machine stops no other
# machine's packets.
#
# Everything is in one folder, which goes when the cluster goes. The caller installs the packages.

import bisect
import concurrent.futures
import filecmp
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

MODULES = """virtio_pci virtio_blk virtio_net 9p 9pnet_virtio overlay configfs dlm gfs2 ocfs2
    ocfs2_stack_o2cb ocfs2_stack_user ocfs2_dlm ocfs2_nodemanager ocfs2_dlmfs loop""".split()

# The machine's first process mounts the root and goes there.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
while read -r module; do insmod /modules/$module; done </modules/list 2>/dev/null
p9='-t 9p -o trans=virtio,version=9p2000.L,msize=262144'
mount $p9,ro,cache=loose host /low || exec sh
mount -t tmpfs none /high
mkdir /high/upper /high/work
mount -t overlay -o lowerdir=/low,upperdir=/high/upper,workdir=/high/work none /root
mount -t debugfs none /sys/kernel/debug
mount -t configfs none /sys/kernel/config
for dir in proc sys dev; do mount --move /$dir /root/$dir; done
for dir in run tmp var root mnt; do mount -t tmpfs none /root/$dir; done
mkdir /root/run/shared
mount $p9,cache=none shared /root/run/shared
exec switch_root /root /bin/sh /run/shared/machine.sh
"""

# This script runs next. It ends with the machine.
MACHINE = """
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
n=$(sed 's/.*machine=//; s/ .*//' /proc/cmdline)
hostname node$n
echo node$n >/etc/hostname
mkdir -p /var/tmp /var/run
chmod 1777 /tmp /var/tmp
mkdir -p /dev/pts /dev/shm /run/lock /run/sshd /var/lib/corosync /var/lib/dlm /var/log \
    /mnt/ocfs2 /mnt/gfs2 /etc/corosync /etc/dlm /etc/ocfs2 /root/.ssh
mount -t devpts none /dev/pts
mount -t tmpfs none /dev/shm
ln -sfn . /dev/misc # without udev: libdlm looks for /dev/misc/dlm_NAME
ln -sfn /proc/self/fd /dev/fd
s=/run/shared
cp $s/hosts /etc/hosts
cp $s/corosync.conf /etc/corosync/
cp $s/dlm.conf /etc/dlm/
cp $s/cluster.conf /etc/ocfs2/
cp $s/key.pub /root/.ssh/authorized_keys
cp $s/hostkey /run/hostkey
chmod 600 /run/hostkey /root/.ssh/authorized_keys
chmod 700 /root /root/.ssh
ip link set lo up
ip addr add 10.91.0.$n/24 dev eth0
ip link set eth0 up
ip addr add 10.0.2.15/24 dev eth1
ip link set eth1 up
/usr/sbin/sshd -h /run/hostkey -o StrictModes=no -o UsePAM=no -o PidFile=none \
    -o PermitRootLogin=yes -o MaxSessions=64 -o MaxStartups=64
echo machine is up >/dev/ttyS0
while :; do sleep 1000; done
"""

# If a machine was away and the others learn this only now, they remove it once more. So it tries
# again.
JOIN = """
start() { # not twice at a time: each dlm_controld begins by clearing what the last one configured
    pgrep -x $1 >/dev/null && return
    setsid "$@" >>/run/$1.log 2>&1 </dev/null &
    sleep 1
}
await() { # COMMAND: until both run and it is so
    i=0
    until eval "$1" 2>/dev/null; do
        start corosync -f
        [ "$2" = corosync ] || start dlm_controld -D
        i=$((i + 1)); [ $i -lt 100 ] || { cat /run/$2.log; exit 1; }; sleep 0.3
    done
}
await "corosync-quorumtool -s | grep -q '^Quorate: *Yes'" corosync
await "dlm_tool status | grep -q '^cluster'" dlm_controld
"""


# OCFS2 counts a node as dead after (THRESHOLD - 1) * 2 seconds without a write to the disk: 30 s.
# OCFS2's own threshold is 31. A test that cuts the power waits for this time. In another test a
# machine stands still for 16 s and must not count as dead.
O2CB_DEAD_THRESHOLD = 16


class Trouble(Exception):
    """A failure of the cluster. The text tells it."""


def _sh(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise Trouble(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def _free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Cluster:
    def __init__(self, machines=3, token=10.0, memory=600, cache=None, suite=""):
        """token: seconds until corosync gives up a silent machine. cache: a folder that keeps the
        kernel from one cluster to the next. suite: the suite of Debian whose kernel boots; "": this
        machine's."""
        self.numbers = range(1, machines + 1)
        self.token = token
        self.memory = memory
        self.dir = tempfile.mkdtemp(prefix="glock-cluster.")
        self.suite = suite
        self.cache = cache or os.path.join(os.path.expanduser("~/.cache/glock-cluster"), suite)
        self.qemu = {}
        self.ports = {}
        self.connections = {}
        self.mounting = None
        self.used = 0
        self.background = concurrent.futures.ThreadPoolExecutor()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.down()

    # ---- before booting

    def _path(self, *names):
        return os.path.join(self.dir, *names)

    def _write(self, name, text, mode=0o644):
        with open(self._path(name), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self._path(name), mode)

    def _apt(self):
        """Returns apt's options, for the lists of the suite alone, from the mirror of this machine."""
        options = ["APT::Sandbox::User=root"]
        if not self.suite:
            return [f"-o{option}" for option in options]
        indexes = _sh(["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages"])
        folder = os.path.join(self.cache, "apt")
        os.makedirs(os.path.join(folder, "lists/partial"), exist_ok=True)
        os.makedirs(os.path.join(folder, "archives/partial"), exist_ok=True)
        with open(os.path.join(folder, "sources"), "w", encoding="utf-8") as f:
            f.write("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
                    f"{indexes.splitlines()[0]} {self.suite} main\n")
        options += [f"Dir::Etc::sourcelist={folder}/sources", "Dir::Etc::sourceparts=/dev/null",
                    f"Dir::State::Lists={folder}/lists", f"Dir::Cache={folder}"]
        apt = [f"-o{option}" for option in options]
        _sh(["apt-get", *apt, "update"])
        return apt

    def fetch_kernel(self):
        """Unpacks the newest kernel of the suite. Returns the folder of its modules."""
        found = glob.glob(os.path.join(self.cache, "lib/modules/*"))
        if not found:
            os.makedirs(self.cache, exist_ok=True)
            apt = self._apt()

            def depends_on(package, pattern):
                """Newer kernels come in several packages."""
                shown = _sh(["apt-cache", *apt, "show", "--no-all-versions", package])
                return re.findall(pattern, re.search(r"^Depends: (.*)", shown, re.M).group(1))

            image = depends_on("linux-image-amd64", r"linux-image-\d[^ ,]*")[0]
            with tempfile.TemporaryDirectory() as fetched:
                for package in [image, *depends_on(image, r"linux-(?:binary|modules)-[^ ,]*")]:
                    _sh(["apt-get", *apt, "download", package], cwd=fetched)
                for package in glob.glob(os.path.join(fetched, "*.deb")):
                    _sh(["dpkg", "-x", package, self.cache])
            if not os.path.isdir(os.path.join(self.cache, "lib")):
                os.symlink("usr/lib", os.path.join(self.cache, "lib"))
            found = glob.glob(os.path.join(self.cache, "lib/modules/*"))
            _sh(["depmod", "-b", self.cache, os.path.basename(found[0])])
        return found[0]

    def _initrd(self):
        modules = self.fetch_kernel()
        version = os.path.basename(modules)
        root = self._path("initrd")
        for name in "bin proc sys dev low high root modules".split():
            os.makedirs(os.path.join(root, name))
        shutil.copy("/bin/busybox", os.path.join(root, "bin"))
        order = []
        for module in MODULES:
            # Linux 7.2 has virtio_pci built in, and Debian's package no list of such modules
            shown = subprocess.run(["modprobe", "-d", self.cache, "-S", version, "--show-depends", module],
                                   capture_output=True, text=True, check=False).stdout
            for line in shown.splitlines():
                kind, path = line.split()[:2]
                if kind == "insmod" and path not in order:
                    order.append(path)
        with open(os.path.join(root, "modules/list"), "w", encoding="utf-8") as f:
            for path in order:
                copy = shutil.copy(path, os.path.join(root, "modules"))
                if copy.endswith(".xz"):
                    _sh(["xz", "-d", copy])
                f.write(os.path.basename(copy).removesuffix(".xz") + "\n")
        with open(os.path.join(root, "init"), "w", encoding="utf-8") as f:
            f.write(INIT)
        os.chmod(os.path.join(root, "init"), 0o755)
        _sh(f"cd {root} && find . | cpio -o -H newc --quiet | gzip -1 >{self._path('initrd.gz')}",
            shell=True)
        kernels = os.path.join(self.cache, "boot/vmlinuz-" + version), os.path.join(modules, "vmlinuz")
        return next(path for path in kernels if os.path.exists(path))

    def _configuration(self):
        def each(text):
            return "".join(text.replace("%", str(n)) for n in self.numbers)

        os.makedirs(self._path("shared"))
        self._write("shared/hosts", "127.0.0.1 localhost\n" + each("10.91.0.% node%\n"))
        self._write("shared/corosync.conf",
                    "totem {\n version: 2\n cluster_name: glock\n transport: udpu\n"
                    " crypto_cipher: none\n crypto_hash: none\n"
                    f" token: {int(self.token * 1000)}\n}}\nnodelist {{\n" +
                    each(" node {\n  ring0_addr: 10.91.0.%\n  name: node%\n  nodeid: %\n }\n") +
                    "}\nquorum {\n provider: corosync_votequorum\n"
                    f" expected_votes: {len(self.numbers)}\n}}\n"
                    "logging {\n to_syslog: no\n to_stderr: yes\n}\n")
        self._write("shared/dlm.conf", "enable_fencing=0\nenable_startup_fencing=0\nprotocol=tcp\n")
        self._write("shared/cluster.conf",
                    "cluster:\n\theartbeat_mode = local\n"
                    f"\tnode_count = {len(self.numbers)}\n\tname = glock\n" +
                    each("\nnode:\n\tnumber = %\n\tcluster = glock\n\tip_port = 7777\n"
                         "\tip_address = 10.91.0.%\n\tname = node%\n"))
        self._write("shared/machine.sh", MACHINE)
        for key in ("key", "shared/hostkey"):
            _sh(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self._path(key)])
        shutil.copy(self._path("key.pub"), self._path("shared"))
        self.ports = {n: _free_port() for n in self.numbers}
        self._write("ssh_config", "".join(
            f"Host node{n}\n  HostName 127.0.0.1\n  Port {port}\n"
            for n, port in self.ports.items()) +
            f"Host node*\n  User root\n  IdentityFile {self._path('key')}\n"
            "  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n"
            "  ConnectTimeout 20\n")

    # ---- machines

    def _boot(self, n, kernel):
        shared = self._path("shared")
        command = [
            "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "1",
            "-m", str(self.memory), "-nodefaults", "-no-reboot", "-display", "none",
            "-kernel", kernel, "-initrd", self._path("initrd.gz"), "-append",
            "console=ttyS0 quiet loglevel=3 mitigations=off random.trust_cpu=on panic=1 nokaslr "
            # a machine that is kept from its processor must not take the slow clock instead
            "tsc=reliable "
            f"machine={n}",
            "-serial", f"file:{self._path(f'console{n}')}",
            "-qmp", f"unix:{self._path(f'qmp{n}')},server=on,wait=off",
            "-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
            "-device", "virtio-9p-pci,fsdev=root,mount_tag=host",
            "-fsdev", f"local,id=shared,path={shared},security_model=none",
            "-device", "virtio-9p-pci,fsdev=shared,mount_tag=shared",
            "-netdev", f"socket,id=ring,mcast=230.91.0.1:{self.ring},localaddr=127.0.0.1",
            "-device", f"virtio-net-pci,netdev=ring,mac=52:54:00:91:00:0{n},addr=10",
            "-netdev", f"user,id=ssh,restrict=on,hostfwd=tcp:127.0.0.1:{self.ports[n]}-10.0.2.15:22",
            "-device", f"virtio-net-pci,netdev=ssh,mac=52:54:00:91:01:0{n},addr=11"]
        for i, disk in enumerate(("gfs2", "ocfs2")):
            command += [
                "-drive", f"file={self._path(disk)},if=none,id={disk},format=raw,"
                "file.locking=off,cache=unsafe",
                "-device", f"virtio-blk-pci,drive={disk},share-rw=on,addr={5 + i}"]
        with open(self._path(f"qemu{n}"), "w", encoding="utf-8") as log:
            self.qemu[n] = subprocess.Popen(command, stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, start_new_session=True)

    def _await(self, n, seconds=240):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not self.runs(n):
                raise Trouble(f"node{n}: QEMU ended: " + open(self._path(f"qemu{n}")).read())
            try:
                if "machine is up" in open(self._path(f"console{n}"), errors="replace").read():
                    self._connect(n)
                    return
            except FileNotFoundError:
                pass
            time.sleep(0.3)
        raise Trouble(f"node{n} did not boot: " + open(self._path(f"console{n}")).read()[-2000:])

    def _connect(self, n):
        """Opens the connection of all commands, because an emulated machine takes over a second to
        make one."""
        if n in self.connections:
            self._disconnect(n)
        self.connections[n] = subprocess.Popen([*self.ssh(n), "-M", "-N"], stdin=subprocess.DEVNULL,
                                               stderr=subprocess.DEVNULL, start_new_session=True)

    def _disconnect(self, n):
        self.connections[n].terminate()
        try:
            self.connections[n].wait(10)
        except subprocess.TimeoutExpired:
            self.connections[n].kill()
            self.connections[n].wait()

    def up(self, file_systems=True):
        """Boots all machines, joins them to the cluster, and begins to mount an OCFS2 and a GFS2.
        await_file_systems() waits for the mounts."""
        self._configuration()
        self.kernel = self._initrd()
        self.ring = _free_port(socket.SOCK_DGRAM)
        self._disks(file_systems)
        for n in self.numbers:
            self._boot(n, self.kernel)
        for n in self.numbers:
            self._await(n)
        self.all(JOIN)
        if file_systems:
            self.mounting = self.background.submit(self._file_systems)

    def await_file_systems(self):
        """Returns when all machines have mounted the file systems. Other tests may run before."""
        if self.mounting:
            self.mounting.result()

    def _disks(self, file_systems):
        """Makes the disks on this machine, where it takes no time."""
        for disk in ("gfs2", "ocfs2"):
            with open(self._path(disk), "wb") as f:
                f.truncate(1 << 30)
        if file_systems:
            journals = str(len(self.numbers) + 1)
            _sh(["mkfs.gfs2", "-q", "-O", "-p", "lock_dlm", "-t", "glock:fs1", "-j", journals, "-J", "8",
                 self._path("gfs2")])
            _sh(["mkfs.ocfs2", "-q", "-b", "4K", "-C", "4K", "-N", journals, "-J", "size=8M", "-L", "o2",
                 "--cluster-stack=o2cb", "--cluster-name=glock", "-F", self._path("ocfs2")], input="y\n" * 9)

    def _file_systems(self):
        self.all("o2cb register-cluster glock && "
                 f"echo {O2CB_DEAD_THRESHOLD} >/sys/kernel/config/cluster/glock/heartbeat/dead_threshold")

        def mount(fs, disk):
            # one after the other, because their recovery of journals wants it so
            for n in self.numbers:
                self.run(n, f"mount -t {fs} -o noatime /dev/{disk} /mnt/{fs}")

        for mounted in [self.background.submit(mount, "gfs2", "vda"), self.background.submit(mount, "ocfs2", "vdb")]:
            mounted.result()

    def reboot(self, n):
        """Boots a killed machine again and joins it."""
        open(self._path(f"console{n}"), "w").close()
        self._boot(n, self.kernel)
        self._await(n)
        self.join(n)

    def join(self, n):
        """Starts corosync and dlm_controld there."""
        self.run(n, JOIN)

    def runs(self, n):
        return self.qemu[n].poll() is None

    def processor_time(self):
        """Returns the processor time of all machines, in seconds, without power or with."""
        return self.used + sum(map(self._processor_time, filter(self.runs, self.qemu)))

    def _processor_time(self, n):
        with open(f"/proc/{self.qemu[n].pid}/stat", encoding="ascii") as f:
            ticks = map(int, f.read().rsplit(")", 1)[1].split()[11:13])
        return sum(ticks) / os.sysconf("SC_CLK_TCK")

    def kill(self, n):
        """Cuts the machine's power."""
        self.used += self._processor_time(n) if self.runs(n) else 0
        self.qemu[n].kill()
        self.qemu[n].wait()

    def pause(self, n):
        self.qemu[n].send_signal(signal.SIGSTOP)

    def resume(self, n):
        self.qemu[n].send_signal(signal.SIGCONT)

    def qmp(self, n, command, **arguments):
        """Sends a command to the emulator of a machine. Returns its answer."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(20)
            s.connect(self._path(f"qmp{n}"))
            f = s.makefile("rw")
            f.readline()
            for line in ({"execute": "qmp_capabilities"},
                         {"execute": command, "arguments": arguments}):
                f.write(json.dumps(line) + "\n")
                f.flush()
                answer = json.loads(f.readline())
                while "event" in answer:
                    answer = json.loads(f.readline())
                if "error" in answer:
                    raise Trouble(f"node{n}: {answer}")
        return answer["return"]

    def state_of(self, n):
        """Tells in words what a silent machine does, as its emulator sees it."""
        if not self.runs(n):
            return f"QEMU ended with {self.qemu[n].returncode}"
        with open(self._path(f"console{n}"), errors="replace") as f:
            told = [f.read()[-2000:].strip()]
        try:
            told.append(f"the emulator says {self.qmp(n, 'query-status')}")
            places = []
            for _ in range(5):
                registers = self.qmp(n, "human-monitor-command", **{"command-line": "info registers"})
                places.append((int(re.search(r"RIP=([0-9a-f]+)", registers).group(1), 16), "HLT=1" in registers))
                time.sleep(0.2)
            symbols = self._symbols(n)
            told += [f"at {place:x}{symbols(place)}{', halted' if halted else ''}" for place, halted in places]
        except (OSError, ValueError, Trouble) as trouble:
            told.append(f"the emulator does not answer: {trouble}")
        return "\n".join(told)

    def _symbols(self, n):
        """Returns the addresses of the kernel's symbols, read on another machine. Without KASLR
        they are equal on all machines."""
        for other in self.numbers:
            try:
                lines = self.run(other, "cat /proc/kallsyms", timeout=60).splitlines() if other != n else []
            except Trouble:
                continue
            if lines:
                known = sorted((int(at, 16), " " + name) for at, _, name, *_ in map(str.split, lines))
                return lambda place: known[bisect.bisect(known, (place + 1,)) - 1][1]
        return lambda place: ""

    def link(self, n, up):
        """Pulls or plugs the machine's cable to the others. ssh uses another way."""
        self.qmp(n, "set_link", name="ring", up=up)

    def slow_disk(self, n, fs, kilobytes):
        """Limits a machine's writes to and reads from a disk to that many KiB a second; 0 is no
        limit."""
        self.qmp(n, "block_set_io_throttle", device=fs, bps=1024 * kilobytes, bps_rd=0, bps_wr=0,
                 iops=0, iops_rd=0, iops_wr=0)

    def down(self):
        for n in self.connections:
            self._disconnect(n)
        for qemu in self.qemu.values():
            if qemu.poll() is None:
                qemu.kill()
                qemu.wait()
        # whatever was going on there fails now
        self.background.shutdown(cancel_futures=True)
        shutil.rmtree(self.dir, ignore_errors=True)

    # ---- files and commands

    def share(self, path):
        """Copies a program or file of this machine to a place that all machines see. Returns its
        path there."""
        there = self._path("shared", os.path.basename(path))
        if not os.path.exists(there) or not filecmp.cmp(path, there):
            # os.rename replaces the file, because a program may still run the old one
            os.rename(self.copy(path), there)
        return "/run/shared/" + os.path.basename(path)

    def copy(self, path):
        """Copies it under a name of its own, to be moved. Returns its path here."""
        return shutil.copy2(path, self._path("shared", os.path.basename(path) + ".new"))

    def ssh(self, n):
        """Returns the words of a command that runs the next words on that machine."""
        return ["ssh", "-F", self._path("ssh_config"), "-S", self._path(f"ssh{n}"), f"node{n}"]

    def start(self, n, command, **options):
        return subprocess.Popen([*self.ssh(n), command], text=True, **options)

    def run(self, n, command, timeout=300, check=True):
        """Returns the command's output. Raises Trouble if the command fails, unless check is False."""
        try:
            done = subprocess.run([*self.ssh(n), command], capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            raise Trouble(f"node{n}: no end after {timeout} s: {command}") from None
        if check and done.returncode:
            raise Trouble(f"node{n}: {command}: {done.stdout}{done.stderr}")
        return done.stdout

    def all(self, command, timeout=300):
        """Runs the command on all machines at the same time. Returns {number: output}."""
        started = {n: self.start(n, command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT) for n in self.numbers}
        output = {}
        for n, process in started.items():
            try:
                output[n] = process.communicate(timeout=timeout)[0]
            except subprocess.TimeoutExpired:
                process.kill()
                raise Trouble(f"node{n}: no end after {timeout} s: {command}") from None
            if process.returncode:
                raise Trouble(f"node{n}: {command}: {output[n]}")
        return output
