#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""names.py - checks that each thing that a document or a comment names is in the tree. TAP.

usage: names.py BUILD_DIR    the tests are those that this build has
       --tree DIR            another tree than the one of this file

Documents are the Markdown and manual pages, the part "Unreleased" of CHANGELOG.md, and the comments of include/ and
src/. These kinds of names are checked:

path      a word with a slash that begins with a folder of the tree, or that ends like a source: state/queue.c. The end
          of a path is enough. NAME, THING, RULE and N stand for any word
place     `NAME, PATH`, `NAME (PATH)` and `NAME in PATH`: the file has the name
link      the file of a link of Markdown, and the heading of its anchor
function  name(), and any word with an underscore: the code of the tree has the word. A word without () may leave out a
          prefix or a number at its end
struct    the word behind struct, enum or union
option    --option of o2top, of a subcommand of glock, of ./run or of a script; an option alone is one of any of these
command   the word behind `glock` or `./run`
test      the words in backticks behind test or suite, and the arguments of `./run test` and `meson test`

tests/names/exempt lists names of other trees, and names of the past: PATTERN of documents | PATTERN of names | REASON.
"""

import argparse
import fnmatch
import json
import os
import re
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "prose"))
import tree  # noqa: E402

EXEMPT = "tests/names/exempt"
# Texts that prove nothing: prose, outputs, and the tests of texts, which name made-up things.
NO_CODE = re.compile(r"(?:docs|tests/(?:data|golden|names|prose|promises|provenance))/|.*(?:\.(?:md|scd|svg)|/exempt)$")
METRICS = "src/o2top/views/openmetrics.c"
SOURCE = r"\.(?:c|h|cc|hpp|py|sh|md|scd|awk|mutants|svg|map)\b"
ANY = re.compile(r"(?<![a-zA-Z])(?:NAME|THING|RULE|N)(?![a-zA-Z])")

C_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
# A docstring, any other long string, and comments.
HASH_TOKEN = re.compile(r'^[ \t]*""".*?"""|(""".*?""")|^[ \t]*#[^\n]*|  # [^\n]*', re.S | re.M)

PATH = re.compile(rf"(?<![\w/.<~$}}-])((?:[\w.*+-]+/)+[\w.*\\+-]*|(?!_)[\w*-]+{SOURCE})(?![\w/])")
PLACE = re.compile(rf"(?<![\w-])(\w+)(?:\[\]|\(\))?`?(?:, | \(| in )`?((?:[\w.-]+/)*[\w-]+{SOURCE})")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
WORD = re.compile(r"(?<![\w$/.=-])(\w+(?=\(\))|[a-zA-Z]\w*_\w*(?![\w*{<-]|[./:=]\w))")
STRUCT = re.compile(r"\b(?:struct|enum|union) ([a-z]\w+)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
PROGRAM = re.compile(r"(?<![\w./-])(?:(o2top|\./run)|glock(?: ([a-z]+))?|\S*?([\w-]+\.(?:py|sh)))(?= |$)")
COMMAND = re.compile(r"(?:^|[|;&(])\s*(?:[#$] |sudo |\w+=\S* )*"
                     r"(?:glock ([a-z]+)|\./run (?!test\b)([a-z][a-z0-9-]*)(?: ([a-z][a-z0-9-]*))?)(?![\w-])")
TESTS = re.compile(r"(?:\./run test|meson test) ([^`\n#&|;]*)")
TICKED = re.compile(r"\b(?:[Tt]est|[Ss]uite)s? ((?:(?:, | and |,? or )?`[\w-]+`)+)")


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def split_c(text):
    """Returns the code and the comments of a C source, each with blanks in place of the other."""
    code, comments, at = [], [], 0
    for m in C_TOKEN.finditer(text):
        is_comment = m.group()[:2] in ("/*", "//")
        code += [text[at:m.start()], blank(m.group()) if is_comment else m.group()]
        comments += [blank(text[at:m.start()]), m.group() if is_comment else blank(m.group())]
        at = m.end()
    return "".join(code) + text[at:], "".join(comments)


def anchors(text):
    """Returns the anchors of a page of Markdown, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


class Tree:
    def __init__(self, root, tests):
        self.root, self.tests, self.texts = root, tests, {}
        self.paths = list(tree.paths(root))
        ends = set()
        for path in self.paths:
            parts = path.split("/")
            for last in range(1, len(parts) + 1):
                ends.update("/".join(parts[first:last]) for first in range(last))
        self.ends, self.tops = ends, {path.split("/")[0] for path in self.paths if "/" in path}
        self.words, self.documents = set(tests), {}
        for path in self.paths:
            self.read(path)
        self.words.update(os.path.basename(path).split(".")[0] for path in self.paths)
        self.parts = {word[i + 1:] for word in self.words for i, c in enumerate(word) if c == "_"}
        self.parts |= {word.rstrip("0123456789") for word in self.words}
        self.options = {"o2top": self.options_of("src/o2top/options/options_table.c"), "./run": self.options_in("run")}
        self.commands = set(re.findall(r"&cmd_(\w+)", self.texts.get("src/cli/main.c", "")))
        for name in self.commands:
            self.options["glock " + name] = self.options_of(f"src/cli/{name}.c") | {"--help", "--version"}
        self.options["glock top"] = self.options["o2top"]
        self.options |= {name: self.options_in(name) for name in map(os.path.basename, self.paths)
                         if name.endswith((".py", ".sh"))}
        self.all_options = set().union(*self.options.values())
        run = self.texts.get("run", "")
        self.run_commands = set(re.findall(r"[a-z-]+", " ".join(re.findall(r"^([a-z |-]+)\)$", run, re.M))))
        self.run_words = set(re.findall(r" = ([a-z][a-z0-9-]*)", run))

    def read(self, path):
        try:
            with open(os.path.join(self.root, path), encoding="utf-8") as file:
                text = file.read()
        except UnicodeDecodeError:
            return
        code = text
        if re.search(r"\.(?:c|h|cc|hpp)$", path):
            code, comments = split_c(text)
            if path.startswith(("src/", "include/")):
                self.documents[path] = comments
        elif path.endswith(".scd"):
            plain = re.sub(r"\\(.)", r"\1", text.replace("*", "`"))
            self.documents[path] = re.sub(r"(?<!\w)_(?=\w)|(?<=\w)_(?!\w)", " ", plain)
        elif path == "CHANGELOG.md":
            new = re.search(r"^## Unreleased.*?(?=^## )", text, re.S | re.M)
            self.documents[path] = blank(text[:new.start()]) + new.group() if new else ""
        elif path.endswith(".md"):
            self.documents[path] = text
        else:
            code = HASH_TOKEN.sub(lambda m: m.group(1) or "", text)
        self.texts[path] = code
        if not NO_CODE.match(path):
            self.words.update(re.findall(r"\w+", code))

    def options_of(self, path):
        """Returns the options of a source: those that its text has, and the tables in headers of its folder."""
        text = self.texts.get(path, "")
        headers = [self.texts.get(os.path.join(os.path.dirname(path), name), "")
                   for name in re.findall(r'^#include "(\w+\.h)"', text, re.M)]
        return {"--" + name for name in re.findall(r'\{"([a-z0-9-]+)", ', "".join([text, *headers]))} | set(OPTION.findall(text))

    def options_in(self, name):
        """Returns the options in the text of the scripts of this name."""
        return {option for path in self.paths if os.path.basename(path) == name
                for option in OPTION.findall(self.texts.get(path, ""))}

    def has_path(self, name):
        if "*" in name:
            return bool(fnmatch.filter(self.ends, name))
        return name in self.ends or name + ".c" in self.ends    # a program

    def has_word(self, name):
        if name in self.words or name in self.parts:
            return True
        if name.startswith("o2top_") and f'"{name.removeprefix("o2top_")}"' in self.texts.get(METRICS, ""):
            return True
        return name.endswith("_") and any(word.startswith(name) for word in self.words)


# ---- kinds: each yields the place in the text, and the name that is missing ----

def find_paths(t, path, text):
    for m in PATH.finditer(text):
        name = re.sub(r"^(?:\.\./)+", "", ANY.sub("*", m.group(1).replace("\\", ""))).rstrip("./")
        if name.split("/")[0] in t.tops or re.search(SOURCE + "$", name):
            if not t.has_path(name):
                yield m.start(), name


def find_places(t, path, text):
    for m in PLACE.finditer(text):
        word, name = m.groups()
        files = [p for p in t.paths if p == name or p.endswith("/" + name)]
        if "_" in word and not ANY.search(word) and files and not any(re.search(rf"\b{word}\b", t.texts.get(p, "")) for p in files):
            yield m.start(), f"{word} in {name}"


def find_links(t, path, text):
    for m in LINK.finditer(text) if path.endswith(".md") else ():
        name, anchor = m.groups()
        at = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if at not in t.ends or anchor and anchor not in anchors(t.texts.get(at, "")):
            yield m.start(), m.group()[1:]


def find_words(t, path, text):
    for m in WORD.finditer(text):
        name = m.group(1)
        exact = text[m.end():m.end() + 2] == "()"
        if not ANY.search(name) and name not in t.words and (exact or not t.has_word(name)):
            yield m.start(), name


def find_structs(t, path, text):
    for m in STRUCT.finditer(text):
        if m.group(1) not in t.words:
            yield m.start(), m.group(1)


def spans(path, text):
    """Yields place and text of each command: a span in backticks or in bold, or a line of code of Markdown."""
    for m in re.finditer(r"`([^`\n]+)`", text):
        yield m.start(1), m.group(1)
    fenced = False
    for m in re.finditer(r"^.*$", text, re.M) if path.endswith(".md") else ():
        fenced ^= m.group().startswith("```")
        if fenced or m.group().startswith("    ") and "`" not in m.group():
            yield m.start(), m.group()


def find_options(t, path, text):
    own = t.options["o2top"] if path == "man/o2top.1.scd" else t.all_options
    for at, span in spans(path, text):
        for m in OPTION.finditer(span):
            before = span[:m.start()].split(" -- ")[-1]
            programs = list(PROGRAM.finditer(re.split(r"[|;&]", before)[-1]))
            known = own
            if programs:
                program, command, script = programs[-1].groups()
                known = t.options.get(script or program or f"glock {command}", t.all_options)
            elif before.strip():
                continue    # a command of another program
            if m.group() not in known and m.group() != "--help":
                yield at + m.start(), span.strip()


def find_commands(t, path, text):
    for at, span in spans(path, text):
        for m in COMMAND.finditer(span):
            glock, run, more = m.groups()
            wrong = glock and glock not in t.commands or run and run not in t.run_commands
            if wrong or more and run in ("bench", "soak") and more not in t.run_words:
                yield at + m.start(), m.group()


def find_tests(t, path, text):
    for m in TICKED.finditer(text):
        for name in re.findall(r"[\w-]+", m.group(1)):
            if name not in ("and", "or") and name not in t.tests:
                yield m.start(), name
    for at, span in spans(path, text):
        for m in TESTS.finditer(span):
            words = re.sub(r"-C \S+|--[\w-]+(?:=\S*)?", "", m.group(1)).split()
            for name in words:
                if re.fullmatch(r"[a-z][\w-]*", name) and not any(test.startswith(name) for test in t.tests):
                    yield at + m.start(), m.group()


KINDS = {"path": find_paths, "place": find_places, "link": find_links, "function": find_words, "struct": find_structs,
         "option": find_options, "command": find_commands, "test": find_tests}


def tests_of(build):
    """Returns the names of the tests and suites of a build."""
    with open(os.path.join(build, "meson-info", "intro-tests.json"), encoding="utf-8") as file:
        tests = json.load(file)
    return {test["name"] for test in tests} | {s.split(":")[-1] for test in tests for s in test["suite"]}


def check(root, tests):
    t = Tree(root, tests)
    try:
        with open(os.path.join(root, EXEMPT), encoding="utf-8") as file:
            exempt = tree.Exemptions(file.read(), EXEMPT)
    except FileNotFoundError:
        exempt = tree.Exemptions("", EXEMPT)
    failed, total = False, 0
    for number, (kind, find) in enumerate(KINDS.items(), 1):
        missing = [f"{path}:{text.count(chr(10), 0, at) + 1}: {name}" for path, text in t.documents.items()
                   for at, name in find(t, path, text)
                   if not exempt.matches(path, lambda words, name=name: fnmatch.fnmatch(name, words))]
        for line in missing:
            print(f"# {line}")
        failed |= bool(missing)
        print(f"{'not ok' if missing else 'ok'} {number} - each {kind} that a text names exists")
    unused = exempt.unused()
    print("".join(f"# {line}\n" for line in unused), end="")
    print(f"{'not ok' if unused else 'ok'} {len(KINDS) + 1} - each exemption is needed\n1..{len(KINDS) + 1}")
    return int(failed or bool(unused))


def main(arguments=None):
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("build")
    parser.add_argument("--tree", default=os.path.join(HERE, "..", ".."))
    chosen = parser.parse_args(arguments)
    return check(os.path.realpath(chosen.tree), tests_of(chosen.build))


if __name__ == "__main__":
    sys.exit(main())
