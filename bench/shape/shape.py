#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shape.py - prints the size and the shape of the sources.

usage: shape.py [--sums] [BUILD [SOURCE]]

Prints the lines of code of each folder of src/, the files and headers, and the functions of glock.h.
With BUILD, a build folder of gcc, it also prints how many files are compiled, and how often a source
of src/ is. Then come the circles of files of one folder, with the names that tie them. Object files that are not built are
left out, so build o2top, glock and the libraries first. SOURCE is another tree than the one of this
file. --sums prints no lines of single folders.

cloc counts the lines of code, if it is installed. Otherwise lines with more than a comment count.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def sources(root):
    """Returns the files of C below src/, as paths from the root."""
    return sorted(os.path.relpath(os.path.join(place, name), root)
                  for place, _, names in os.walk(os.path.join(root, "src"))
                  for name in names if name.endswith((".c", ".h")))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def without_comments(text):
    parts = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
    return parts.sub(lambda m: m[0] if m[0][0] == '"' else "\n" * m[0].count("\n"), text)


def lines_of_code(root, files):
    """Returns {file: lines of code}."""
    if shutil.which("cloc"):
        done = subprocess.run(["cloc", "--by-file", "--json", "--quiet", "--list-file=-"], cwd=root, text=True,
                              input="\n".join(files), capture_output=True, check=True)
        found = {os.path.normpath(name): one["code"] for name, one in json.loads(done.stdout).items()
                 if isinstance(one, dict) and "blank" in one and name != "SUM"}
        return {name: found.get(name, 0) for name in files}
    return {name: sum(1 for line in without_comments(read(os.path.join(root, name))).split("\n") if line.strip())
            for name in files}


def folders(root, files, short):
    lines = lines_of_code(root, files)
    by_folder = collections.Counter()
    for name, count in lines.items():
        by_folder[os.path.dirname(name)] += count
    for folder in sorted(by_folder) if not short else ():
        print(f"{by_folder[folder]:8}  {folder}")
    headers = [name for name in files if name.endswith(".h")]
    small = sum(1 for name in headers if read(os.path.join(root, name)).count("\n") <= 30)
    print(f"{sum(lines.values()):8}  lines of code in src/")
    print(f"{len(files):8}  files of C in src/")
    print(f"{len(headers):8}  headers in src/, {small} of them with at most 30 lines")


def public_functions(root):
    text = without_comments(read(os.path.join(root, "include", "glock.h")))
    names = set(re.findall(r"^(?!#)[\w \t*]*?\b(glock_[a-z0-9_]+)\(", text, re.M))
    exported = set(re.findall(r"\b(glock_\w+);", read(os.path.join(root, "src/glock/libglock.map"))))
    print(f"{len(names):8}  functions in glock.h, {len(exported)} of them exported")


def compiles(root, build):
    commands = json.loads(read(os.path.join(build, "compile_commands.json")))
    often = collections.Counter(
        os.path.relpath(os.path.join(c["directory"], c["file"]), root) for c in commands)
    print(f"{len(commands):8}  compiles of the build")
    for folder in ("src/glock/", "src/lockman/table/"):
        most = max((n for name, n in often.items() if name.startswith(folder)), default=0)
        print(f"{most:8}  times at most a source of {folder} is compiled")


def circles(root, build):
    sys.path.insert(0, os.path.join(ROOT, "tests", "layers"))
    import layers  # pylint: disable=import-outside-toplevel
    tree = layers.Tree(root, build)
    found = tree.file_circles()
    print(f"{len(found):8}  circles of files of one folder, with {sum(map(len, found))} files")
    for circle in found:
        print(f"          {layers.folder(circle[0])}: {' '.join(os.path.basename(n) for n in circle)}")
        for name in circle:
            for target, symbols in sorted(tree.uses[name].items()):
                if target in circle:
                    print(f"            {os.path.basename(name)} uses {os.path.basename(target)}: "
                          f"{' '.join(sorted(symbols - {'#include'}))}")


def main():
    short = "--sums" in sys.argv
    arguments = [word for word in sys.argv[1:] if word != "--sums"]
    root = os.path.abspath(arguments[1]) if len(arguments) > 1 else ROOT
    if len(arguments) > 2 or "--help" in sys.argv:
        sys.exit("usage: " + __doc__.split("usage: ")[1].split("\n\n")[0])
    files = sources(root)
    folders(root, files, short)
    public_functions(root)
    if arguments:
        build = os.path.abspath(arguments[0])
        compiles(root, build)
        circles(root, build)


if __name__ == "__main__":
    main()
