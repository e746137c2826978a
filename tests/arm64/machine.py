#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# machine.py - runs tests of a cross build on an emulated arm64 machine with Debian's kernel.
#
# Usage: machine.py ROOT BUILD NAME... A NAME is a suite or a test. -NAME leaves a test out.
#
# ROOT is a root of root.sh with the packages of KERNEL below. The machine has it read-only over 9p,
# with a writable layer of memory above it. The source and BUILD have the same paths there as here.
# QEMU's user emulation is no help for these tests. It lets a thread of this machine's kernel run for
# each emulated one. But robust deaths, stops, forks (MADV_WIPEONFORK) and /proc differ there.

import glob
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

MODULES = "virtio_pci virtio_mmio 9p 9pnet_virtio overlay".split()
CPUS = 4
SLOWER = 10  # times the timeout that the test has on this machine

# The machine's first process mounts the root and goes there.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
while read -r module; do insmod /modules/$module; done </modules/list
p9='-t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=loose'
mount $p9,ro root /low || exec sh
mount -t tmpfs none /high
mkdir /high/upper /high/work
mount -t overlay -o lowerdir=/low,upperdir=/high/upper,workdir=/high/work none /root
for dir in proc sys dev; do mount --move /$dir /root/$dir; done
mkdir -p /root/dev/shm /root/dev/pts /root/tmp @SOURCE@ @BUILD@ @RESULTS@
mount -t tmpfs none /root/dev/shm
mount -t devpts none /root/dev/pts
mount -t tmpfs none /root/tmp
mount $p9,ro source @SOURCE@
mkdir -p @BUILD@
mount $p9,ro build @BUILD@
mkdir -p @RESULTS@
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=none results @RESULTS@
echo root:x:0:0:root:/root:/bin/sh >/root/etc/passwd
echo root:x:0: >/root/etc/group
echo nobody:x:65534:65534::/:/bin/sh >>/root/etc/passwd
echo nogroup:x:65534: >>/root/etc/group
exec switch_root /root /bin/sh /results/run-tests
"""


def tests_of(build, suites):
    """Returns the tests with one of these names or in one of these suites."""
    out = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, text=True,
                         check=True).stdout
    return [test for test in json.loads(out)
            if "-" + test["name"] not in suites and
            {test["name"], *(suite.split(":")[-1] for suite in test["suite"])} & set(suites)]


def script_of(tests, build, results):
    """Returns the script that runs the tests. Each writes its output and its status."""
    lines = ["export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8",
             "ip link set lo up", "ln -sf /proc/self/fd /dev/fd"]
    for i, test in enumerate(tests):
        command = " ".join(shlex.quote(word) for word in test["cmd"])
        env = " ".join(f"{name}={shlex.quote(value)}" for name, value in test["env"].items()
                       if name != "PATH")
        lines += [f"cd {shlex.quote(test['workdir'] or build)}",
                  f"env {env} timeout -k 5 {test['timeout'] * SLOWER} {command} "
                  f">{results}/{i}.out 2>&1; echo $? >{results}/{i}.status"]
    return "\n".join(lines + ["sync", "echo o >/proc/sysrq-trigger", "sleep 100", ""])


def make_initrd(root, folder, paths):
    kernel = sorted(glob.glob(os.path.join(root, "boot/vmlinuz-*")))[-1]
    version = os.path.basename(kernel)[len("vmlinuz-"):]
    # modprobe finds modules by a list that depmod makes. The root need not be writable.
    kept = os.path.join(folder, "modules")
    shutil.copytree(os.path.join(root, "lib/modules", version),
                    os.path.join(kept, "lib/modules", version), symlinks=True)
    subprocess.run(["depmod", "-b", kept, version], check=True)
    initrd = os.path.join(folder, "initrd")
    for name in "bin proc sys dev low high root modules".split():
        os.makedirs(os.path.join(initrd, name))
    shutil.copy(os.path.join(root, "bin/busybox"), os.path.join(initrd, "bin"))
    names = []
    for module in MODULES:
        shown = subprocess.run(["modprobe", "-d", kept, "-S", version, "--show-depends", module],
                               capture_output=True, text=True, check=True).stdout
        for line in shown.splitlines():
            kind, path = line.split()[:2]
            if kind == "insmod" and os.path.basename(path) not in names:
                names.append(os.path.basename(path))
                shutil.copy(path, os.path.join(initrd, "modules"))
    init = INIT
    for name, path in paths.items():
        init = init.replace(f"@{name}@", "/root" + path)
    for name, text in {"init": init, "modules/list": "\n".join(names) + "\n"}.items():
        with open(os.path.join(initrd, name), "w", encoding="utf-8") as f:
            f.write(text)
    os.chmod(os.path.join(initrd, "init"), 0o755)
    subprocess.run(f"cd {initrd} && find . | cpio -o -H newc --quiet | gzip -1 >../initrd.gz",
                   shell=True, check=True)
    return kernel, os.path.join(folder, "initrd.gz")


def boot(kernel, initrd, folders, console, seconds):
    """Runs the machine until it switches itself off."""
    command = ["qemu-system-aarch64", "-machine", "virt", "-cpu", "max,pauth-impdef=on",
               "-accel", "tcg,thread=multi", "-smp", str(CPUS), "-m", "3072", "-nodefaults",
               "-no-reboot", "-display", "none", "-kernel", kernel, "-initrd", initrd,
               "-append", "console=ttyAMA0 quiet loglevel=3 mitigations=off panic=1",
               "-serial", f"file:{console}"]
    for name, path in folders.items():
        mode = "" if name == "results" else ",readonly=on"
        command += ["-fsdev", f"local,id={name},path={path},security_model=none,multidevs=remap{mode}",
                    "-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}"]
    return subprocess.run(command, stdin=subprocess.DEVNULL, timeout=seconds, check=False).returncode


def report(tests, results):
    """Prints TAP. Returns the number of failures."""
    failed = 0
    print(f"1..{len(tests)}")
    for i, test in enumerate(tests):
        path = os.path.join(results, str(i))
        status = open(path + ".status").read().strip() if os.path.exists(path + ".status") else "no"
        output = open(path + ".out", errors="replace").read() if os.path.exists(path + ".out") else ""
        good = status == "0" and "\nnot ok" not in "\n" + output
        failed += not good
        cases = sum(line.startswith("ok ") for line in output.splitlines())
        print(f"{'ok' if good else 'not ok'} {i + 1} - {test['name']}: {cases} cases")
        if not good:
            print(f"# status {status}")
            lines = [line for line in output.splitlines() if not line.startswith("ok ")]
            print("".join(f"# {line}\n" for line in lines[-30:]), end="")
    return failed


def main():
    root, build, *suites = sys.argv[1:]
    root, build = os.path.abspath(root), os.path.abspath(build)
    source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    tests = tests_of(build, suites)
    with tempfile.TemporaryDirectory(prefix="glock-arm64.") as folder:
        results = os.path.join(folder, "results")
        os.makedirs(results)
        paths = {"SOURCE": source, "BUILD": build, "RESULTS": "/results"}
        kernel, initrd = make_initrd(root, folder, paths)
        script = script_of(tests, build, "/results")
        # the script is in the folder of the results, because the root may be read-only
        with open(os.path.join(results, "run-tests"), "w", encoding="utf-8") as f:
            f.write(script)
        console = os.path.join(folder, "console")
        begun = time.monotonic()
        limit = 600 + sum(test["timeout"] * SLOWER for test in tests)
        boot(kernel, initrd, {"root": root, "source": source, "build": build, "results": results},
             console, limit)
        failed = report(tests, results)
        if failed:
            print("".join(f"# {line}\n" for line in open(console, errors="replace").read()
                          .splitlines()[-20:]), end="")
        print(f"# {len(tests)} tests on an emulated arm64 machine, "
              f"{time.monotonic() - begun:.0f} s with the boot")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
