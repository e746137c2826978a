# SPDX-License-Identifier: MIT
# test_scan.py - tests the banner about a process that asks once for each of many files.

import json
import os
import re
import subprocess

import tap

O2TOP = os.environ["O2TOP"]
FILES = 140


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def sample(folder, t, files, srttb_ms, requests=1, writer="node2"):
    """node1 has asked for `files` files, from inode 0x1000 on. The writer has the first one in EX."""
    for node in ("node1", "node2"):
        at = f"{folder}/t{t}/{node}"
        put(f"{at}/realtime", f"{1795154800 + 10 * t}.0\n")
        put(f"{at}/uptime", f"{1000 + 10 * t}.00 5.00\n")
        glocks, stats = ["G:  s:SH n:2/200 f:Iqob t:SH d:EX/0 a:0 v:0 r:3 m:50 p:1"], ["G: n:2/200"]
        for i in range(files if node == "node1" else 1 if node == writer else 0):
            state = "SH" if node == "node1" else "EX"
            glocks.append(f"G:  s:{state} n:2/{0x1000 + i:x} f:Iqob t:{state} d:EX/0 a:0 v:0 r:3 m:50 p:1")
            stats.append(f"G: n:2/{0x1000 + i:x}")
        if node == "node1" and files:
            glocks += [f"G:  s:UN n:2/{0x1000 + files:x} f:lIqobn t:SH d:EX/0 a:0 v:0 r:4 m:50 p:0",
                       " H: s:SH f:AW e:0 p:490 [du] vfs_statx+0xc2/0x180"]
            stats.append(f"G: n:2/{0x1000 + files:x}")
        put(f"{at}/gfs2/lab:fs1/glocks", "\n".join(glocks) + "\n")
        put(f"{at}/gfs2/lab:fs1/glstats", "".join(
            f"{s} rtt:1000/500 rttb:{srttb_ms * 1000000}/500 irt:1000/500 dcnt: {requests} qcnt: 4\n" for s in stats))


def scans(folder, *arguments):
    run = subprocess.run([O2TOP, "--no-config", "--json", *arguments, folder], capture_output=True, text=True, check=True,
                         env=dict(os.environ, LC_ALL="C.UTF-8"))
    return [b for line in run.stdout.splitlines() for b in json.loads(line)["banners"] if "asked once" in b]


def test_many_files_make_a_banner(folder):
    sample(folder, 0, 0, 1)
    sample(folder, 1, FILES, 50)
    found = scans(folder)
    assert len(found) == 1, found
    # the file for which the process still waits is one, too
    assert f"lab:fs1: node1 asked once for each of {FILES} files" in found[0] or \
        f"lab:fs1: node1 asked once for each of {FILES + 1} files" in found[0], found
    # 50 ms for each; a process that waits for a file while a sample is taken adds some
    took = float(re.search(r"took ~([0-9.]+) s in sum", found[0])[1])
    assert 7 <= took < 7.5, found
    assert "because node2 had files there in EX" in found[0], found


def test_the_banner_names_the_directory(folder):
    sample(f"{folder}/rec", 0, 0, 1)
    sample(f"{folder}/rec", 1, FILES, 50)
    put(f"{folder}/names", "".join(f"{0x1000 + i} /mnt/g/media/t{i}.jpg\n" for i in range(FILES)))
    found = scans(f"{folder}/rec", "--names", f"lab:fs1={folder}/names")
    assert found and found[0].startswith("/mnt/g/media: node1 asked once"), found


def test_other_loads_make_none(folder):
    for name, files, srttb, requests in (("few", 10, 900, 1), ("fast", FILES, 1, 1), ("often", FILES, 50, 9)):
        sample(f"{folder}/{name}", 0, 0, 1)
        sample(f"{folder}/{name}", 1, files, srttb, requests)
        assert scans(f"{folder}/{name}") == [], name


tap.run(globals())
