#!/usr/bin/env python3
# layers.py - tests that the folders of src/ depend on each other in one direction.

"""usage: layers.py SOURCE BUILD [--edges | --circles | --dot]

An edge leads from a folder of src/ to another folder. It is an include of a header of that folder,
or a function or variable of that folder that an object file names. BUILD has to be built, because
the second kind is read from its object files.

tests/layers/allowed lists the edges that are allowed. tests/layers/circles lists the circles of
files inside a folder, each with a reason. The test fails

 1. on an edge that is not allowed, and on an allowed edge that does not exist;
 2. on a circle of folders, among the allowed edges as well;
 3. on a circle of files that is not listed, and on a listed circle that does not exist;
 4. on a folder with more than 20 .c files;
 5. on a folder without a line of its own in docs/architecture.md.

--edges prints the edges as tests/layers/allowed lists them, --circles the circles of files and the
names that tie them, --dot the include graph of the folders for graphviz. TAP.
"""
import collections
import json
import os
import re
import subprocess
import sys

MOST_FILES = 20
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


class Tree:
    """The files of src/ and the edges between them."""

    def __init__(self, source, build):
        self.source, self.build = source, build
        self.files = sorted(
            os.path.relpath(os.path.join(place, name), source)
            for place, _, names in os.walk(os.path.join(source, "src"))
            for name in names if name.endswith((".c", ".h")))
        self.uses = collections.defaultdict(lambda: collections.defaultdict(set))
        self.includes()
        self.objects = self.read_objects()
        self.symbols()

    def includes(self):
        for name in self.files:
            with open(os.path.join(self.source, name), encoding="utf-8") as file:
                text = file.read()
            for header in INCLUDE.findall(text):
                for found in (os.path.join(os.path.dirname(name), header), "src/" + header):
                    found = os.path.normpath(found)
                    if found in self.files:
                        self.uses[name][found].add("#include")
                        break

    def read_objects(self):
        """Returns the object file of each source file, of the first program or library that builds
        it."""
        with open(os.path.join(self.build, "compile_commands.json"), encoding="utf-8") as file:
            commands = json.load(file)
        objects = {}
        for command in commands:
            name = os.path.relpath(os.path.join(command["directory"], command["file"]), self.source)
            path = os.path.join(command["directory"], command["output"])
            if name in self.files and not command["output"].startswith("tests/") and os.path.exists(path):
                objects.setdefault(name, path)
        return objects

    def symbols(self):
        """Resolves symbols. Programs may use one name twice, so a name of the same part of src/
        comes first. A library to be preloaded stands before functions of others, as dlopen(): no file of src/ uses it."""
        defined, wanted = collections.defaultdict(dict), collections.defaultdict(set)
        names = {path: name for name, path in self.objects.items()}
        lines = subprocess.run(["nm", "-A", *names], capture_output=True, text=True, check=True).stdout
        for line in lines.splitlines():
            path, rest = line.split(":", 1)
            name, (kind, symbol) = names[path], rest.split()[-2:]
            if kind == "U":
                wanted[name].add(symbol)
            elif kind in "TDBRVWC" and not name.endswith("/preload.c"):
                defined[symbol][part(name)] = name
        for name, symbols in wanted.items():
            for symbol in symbols & defined.keys():
                where = defined[symbol]
                target = where.get(part(name)) or where[min(where)]
                if target != name:
                    self.uses[name][target].add(symbol)

    def edges(self):
        """Returns the edges from folder to folder, each with a few files and symbols that show it."""
        edges = collections.defaultdict(list)
        for name, targets in self.uses.items():
            for target, symbols in targets.items():
                if os.path.dirname(name) != os.path.dirname(target):
                    edges[folder(name), folder(target)].append((name, target, sorted(symbols)))
        return edges

    def file_circles(self):
        """Returns the circles of .c files of one folder. A header counts as its .c file."""
        graph = collections.defaultdict(set)
        for name, targets in self.uses.items():
            for target, symbols in targets.items():
                if name.endswith(".c") and target.endswith(".c") and folder(name) == folder(target) and \
                        symbols != {"#include"}:
                    graph[name].add(target)
        return [sorted(circle) for circle in circles(graph)]


def part(name):
    return name.split("/")[1]


def folder(name):
    return os.path.dirname(name)[len("src/"):] or "."


def circles(graph):
    """Returns the strongly connected components of two nodes or more (Tarjan)."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            circle = []
            while True:
                circle.append(stack.pop())
                if circle[-1] == node:
                    break
            if len(circle) > 1:
                found.append(circle)

    sys.setrecursionlimit(10000)
    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def read_list(path):
    """Returns the lines of a list, without comments: "what: words". A line that begins with a space
    goes on."""
    entries = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.split("#")[0].rstrip()
            if not line:
                continue
            if line[0].isspace() and entries:
                entries[-1] += " " + line.strip()
            else:
                entries.append(line)
    return [tuple(field.strip() for field in entry.split(":", 2)) for entry in entries]


def check_edges(tree, allowed):
    found, wrong = tree.edges(), []
    for (one, other), uses in sorted(found.items()):
        if other not in allowed.get(one, ()):
            wrong.append(f"{one} may not use {other}:")
            wrong += [f"    {name} uses {target}: {' '.join(symbols[:4])}" for name, target, symbols in uses[:5]]
    for one, others in sorted(allowed.items()):
        for other in others:
            if (one, other) not in found:
                wrong.append(f"{one} does not use {other}, though that is allowed: take it off the list")
    return wrong


def check_circles(graph, what):
    return [f"circle of {what}: {' '.join(sorted(circle))}" for circle in circles(graph)]


def check_files(tree, listed):
    found, wrong = tree.file_circles(), []
    known = {tuple(sorted(f"src/{where}/{name}" for name in names.split())): reason
             for where, names, reason in listed}
    for circle in found:
        if tuple(circle) not in known:
            wrong.append(f"circle of files, not listed: {' '.join(circle)}")
    for circle, reason in known.items():
        if list(circle) not in found:
            wrong.append(f"listed, but no circle: {' '.join(circle)}")
        if len(reason.split()) < 5:
            wrong.append(f"no reason: {' '.join(circle)}")
    return wrong


def check_sizes(tree):
    count = collections.Counter(folder(name) for name in tree.files if name.endswith(".c"))
    return [f"src/{where} has {n} .c files: split it" for where, n in sorted(count.items()) if n > MOST_FILES]


def check_document(tree):
    with open(os.path.join(tree.source, "docs/architecture.md"), encoding="utf-8") as file:
        text = file.read()
    folders = sorted({folder(name) for name in tree.files})
    return [f"docs/architecture.md has no line on src/{where}/" for where in folders
            if not re.search(rf"^\W*src/{re.escape(where)}/\W", text, re.M)]


def check_objects(tree):
    missing = [name for name in tree.files if name.endswith(".c") and name not in tree.objects]
    return [f"no object file of {name}: build first" for name in missing]


def main():
    source, build = sys.argv[1:3]
    tree = Tree(os.path.abspath(source), os.path.abspath(build))
    if "--edges" in sys.argv:
        for one in sorted({one for one, _ in tree.edges()}):
            print(f"{one}: {' '.join(sorted(other for a, other in tree.edges() if a == one))}")
        return 0
    if "--circles" in sys.argv:
        for circle in tree.file_circles():
            print(f"{folder(circle[0])}: {' '.join(os.path.basename(name) for name in circle)}:")
            for name in circle:
                for target, symbols in sorted(tree.uses[name].items()):
                    if target in circle:
                        print(f"  # {os.path.basename(name)} uses {os.path.basename(target)}: "
                              f"{' '.join(sorted(symbols - {'#include'}))}")
        return 0
    if "--dot" in sys.argv:
        print("digraph rooms {")
        for one, other in sorted(tree.edges()):
            print(f'  "{one}" -> "{other}";')
        print("}")
        return 0
    here = os.path.dirname(os.path.abspath(__file__))
    allowed = {one: others.split() for one, others in read_list(os.path.join(here, "allowed"))}
    graph = collections.defaultdict(set)
    for one, other in tree.edges():
        graph[one].add(other)
    checks = (
        ("each source file was built", check_objects(tree)),
        ("folders use only the folders that tests/layers/allowed names", check_edges(tree, allowed)),
        ("folders have no circle", check_circles(graph, "folders") + check_circles(allowed, "allowed folders")),
        ("circles of files are listed with a reason", check_files(
            tree, read_list(os.path.join(here, "circles")))),
        (f"a folder has at most {MOST_FILES} .c files", check_sizes(tree)),
        ("docs/architecture.md has a line on each folder", check_document(tree)),
    )
    for n, (what, wrong) in enumerate(checks, 1):
        for line in wrong:
            print(f"# {line}")
        print(f"{'not ok' if wrong else 'ok'} {n} - {what}")
    print(f"1..{len(checks)}")
    return any(wrong for _, wrong in checks)


if __name__ == "__main__":
    sys.exit(main())
