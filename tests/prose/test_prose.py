#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_prose.py - tests of the lint: which sentences it reads, which it counts, and that a bad one fails. TAP."""

import contextlib
import io
import os
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]
import commits  # noqa: E402
import prose  # noqa: E402
import readers  # noqa: E402
import rules  # noqa: E402
import sentences  # noqa: E402
import tap  # noqa: E402

LONG = "The lock manager tells the first waiter of each queue that the holder of this lock has gone away "


def check(got, expected):
    assert got == expected, f"got {got!r}, expected {expected!r}"


def read(path, text):
    """Returns (line, kind, sentence) of all sentences."""
    return [(block.line_at(offset), block.kind, sentence.replace(readers.JOINT, " "))
            for block in readers.read(path, text) for offset, sentence in sentences.split(block.text())]


def said(path, text):
    return [sentence for _, _, sentence in read(path, text)]


def found(path, text):
    """Returns the rules that the text breaks, sorted."""
    return sorted(offence.rule for offence in rules.find(path, text).offences)


# ---- sentences ----

def test_sentences_end(_):
    for text, expected in (
            ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
            ("A lock, e.g. an inode's, i.e. this one. It waits.", ["A lock, e.g. an inode's, i.e. this one.", "It waits."]),
            ("Nodes, locks etc. are shown. Files etc. They are hot.",
             ["Nodes, locks etc. are shown.", "Files etc.", "They are hot."]),
            ("See glock(1). It calls x.c and 1.5 s pass. glock_dq() returns.",
             ["See glock(1).", "It calls x.c and 1.5 s pass.", "glock_dq() returns."]),
            ("nq ... dq, and nq... dq", ["nq ... dq, and nq... dq"]),
            ("x [A...] [B...] - a test. It runs.", ["x [A...] [B...] - a test.", "It runs."]),
            ("~ is estimated, ? was seen, ! not.", ["~ is estimated, ? was seen, ! not."]),
            ("(It waits.) The thread goes.", ["(It waits.)", "The thread goes."]),
            ("**A node.** `bad` is a test.", ["**A node.**", "`bad` is a test."]),
            ("It says \"who?\" and goes.", ["It says \"who?\" and goes."])):
        check([sentence for _, sentence in sentences.split(text)], expected)


def test_words(_):
    check(len(sentences.words("A -> B - 1.5 s (x.c), `a/b` | ?")), 6)


# ---- readers ----

def test_c_comments(_):
    text = '''/* SPDX-License-Identifier: MIT */
/*
 * x.c - the queue. It has
 * two lines.
 *
 *   Threads. A holder has one.
 *
 *	call(me);
 */
int a; /* first one */
int b; /* second one
	* goes on */
// one line
// and its end
char *s = "/* no comment */"; char c = '"'; // last one
'''
    check(read("x.c", text), [
        (3, "prose", "x.c - the queue."), (3, "prose", "It has two lines."),
        (6, "prose", "Threads."), (6, "prose", "A holder has one."),
        (8, "code", "call(me);"),
        (10, "prose", "first one"), (11, "prose", "second one goes on"),
        (13, "prose", "one line and its end"), (15, "prose", "last one")])


def test_tables_and_lists(_):
    text = '''/*
 * Modes are these:
 *
 *   UN  unlocked   anything goes
 *   EX  exclusive  only one
 *                  may write
 *
 * - first item
 *   and its end
 * - second item
 *
 * +-----+
 * 1. step one
 * 2. step two
 */
'''
    check(said("x.h", text), ["Modes are these:", "UN", "unlocked", "anything goes", "EX", "exclusive",
                              "only one may write", "first item and its end", "second item", "step one", "step two"])


def test_rulers_are_headings(_):
    check(read("x.c", "/* ---- who waits ---- */"), [(1, "heading", "who waits")])
    check(read("x.sh", "# ---- who waits ------\n"), [(1, "heading", "who waits")])


def test_help_texts_of_c(_):
    text = '''const char x_help[] =
    "usage: x [FILE]\\n"
    "  -a       all that is "
    "there\\n"
    "Somebody waits.\\n";
const char other[] = "Somebody waits.";
static struct command c = {.help = "Nobody waits.\\n", .usage = "Nobody"};
'''
    check(read("x.c", text), [(2, "prose", "usage: x [FILE]"), (3, "cell", "-a"), (3, "cell", "all that is there"),
                              (5, "prose", "Somebody waits."), (7, "prose", "Nobody waits.")])


def test_python(_):
    text = '''#!/usr/bin/env python3
"""A module. It
has a docstring."""
# a comment
# of two lines
x = "# no comment"  # a short one
y = 1               # one more
z = 2               # and its neighbour
                    # with a second line
def f():
    """A function."""
    return """no docstring. Somebody."""
'''
    check(sorted(read("x.py", text)), [
        (2, "prose", "A module."), (2, "prose", "It has a docstring."), (4, "prose", "a comment of two lines"),
        (6, "prose", "a short one"), (7, "prose", "one more"), (8, "prose", "and its neighbour with a second line"),
        (11, "prose", "A function.")])


def test_shell(_):
    text = '''#!/bin/sh
# a comment
# of two lines
# shellcheck disable=SC2086
echo "$# # no comment" ${x#y} # a short one
cat <<'TEXT'
usage: x      what it does
Somebody waits.
TEXT
cat <<'TEXT'
Somebody waits.
TEXT
'''
    check(sorted(read("run", text)), [
        (2, "prose", "a comment of two lines"), (5, "prose", "a short one"),
        (7, "cell", "usage: x"), (7, "cell", "what it does"), (8, "prose", "Somebody waits.")])


def test_markdown(_):
    text = '''# What is where

A paragraph with `code of many words` and a [link](to/a/file.md). It
ends.

    indented = code

```
fenced
```

| What | Why |
|---|---|
| a cell. Two | `x` |

- an item
  goes on
- **Bold.** And `a
  span`

  its second paragraph
<!-- Somebody. -->
'''
    check(read("x.md", text), [
        (1, "heading", "What is where"),
        (3, "prose", "A paragraph with `code of many words` and a link."), (3, "prose", "It ends."),
        (6, "code", "indented = code"), (9, "code", "fenced"),
        (12, "cell", "What"), (12, "cell", "Why"), (14, "cell", "a cell."), (14, "cell", "Two"), (14, "cell", "`x`"),
        (16, "prose", "an item goes on"), (18, "prose", "**Bold.**"), (18, "prose", "And `a span`"),
        (21, "prose", "its second paragraph")])
    check(rules.find("x.md", LONG + "`" + "word " * 30 + "`.").counts(), {})


def test_manual_pages(_):
    text = '''x(1) "x"

# SYNOPSIS

*x* [who]

# DESCRIPTION

A paragraph
of two lines.++
A new line.

*-a*, *--all*
	All of them.

|[ *Column*
:[ Unit
|  LOST
:  seconds
   waited
```
nobody here
```
'''
    check(read("x.scd", text), [
        (3, "heading", "SYNOPSIS"), (7, "heading", "DESCRIPTION"),
        (9, "prose", "A paragraph of two lines."), (11, "prose", "A new line."),
        (13, "prose", "*-a*, *--all*"), (14, "prose", "All of them."),
        (16, "cell", "*Column*"), (17, "cell", "Unit"), (18, "cell", "LOST"), (19, "cell", "seconds waited"),
        (22, "code", "nobody here")])


def test_drawings(_):
    text = '''<svg xmlns="http://www.w3.org/2000/svg">
<title>The parts</title>
<style>.nobody { fill: red }</style>
<text class="nobody">a <tspan>thread</tspan></text>
</svg>'''
    check(read("x.svg", text), [(2, "cell", "The parts"), (4, "cell", "a thread")])


def test_other_files_are_not_read(_):
    for path in ("a.txt", "b.xz", "LICENSE", ".gitignore", "counts"):
        check(readers.kind_of(path), None)


# ---- rules ----

def test_headless_subjects(_):
    for text in ("/* Who waits is first. */", "/* It goes. Whoever comes stays. */", "/* What was held is lost. */",
                 "/* Whom it asks is told. */", "/* Whose lock it is stands there. */", "/* who waits is first */",
                 "/* what is lost stays lost */", "int a; /* who has it */", "/* (What is held is lost.) */"):
        check([rule for rule in found("x.c", text) if rule == "headless"], ["headless"])


def test_no_headless_subjects(_):
    for text in ("/* Who waits? */", "/* What to do */", "/* A node that waits knows what it wants. */",
                 "int a; /* what it holds */", "/* who() is a function. */", "/* what.c is a file. */",
                 "/* ---- who waits ---- */", "/* \"Who waits\" is a bad sentence. */", "/* Whether it waits. */",
                 "/* The whole is whatever. */"):
        check(found("x.c", text), [])
    for text in ("## What it shows\n", "| What | Who waits |\n", "    What a line of code\n"):
        check(found("x.md", text), [])


def test_indefinite_persons(_):
    check(found("x.md", "Somebody asks nobody, anybody or everybody."), ["persons"] * 4)
    check(found("x.md", "It is someone's, whomever it knows, whosoever."), ["persons"] * 3)
    check(found("x.md", "## Nobody\n\n```\nnobody here\n```\n"), ["persons"] * 2)
    check(found("x.md", "Some bodies, no body, whose, and the file nobody_here."), [])


def test_long_sentences(_):
    check(len(LONG.split()), 19)
    check(found("x.md", LONG + "word " * 8 + "now."), [])
    check(found("x.md", LONG + "word " * 9 + "now."), ["long"])
    check(found("x.md", LONG + "now. " + LONG + "then."), [])
    check(found("x.c", "/* " + LONG + "\n * " + LONG + "and here now. */"), ["columns", "long"])


def test_median(_):
    check(rules.find("x.md", "A short sentence. " * 6 + (LONG + "now. ") * 6).counts(), {})
    check(rules.find("x.md", "A short sentence. " * 5 + (LONG + "now. ") * 6).counts(), {"median": 20})
    check(rules.find("x.md", "A short sentence. " * 3 + (LONG + "now. ") * 6).counts(), {})
    check(rules.find("x.md", "## A heading is none\n\n" * 9 + (LONG + "now. ") * 10).counts(), {"median": 20})


def test_columns(_):
    check(found("x.c", "\t" * 12 + "abcd"), [])
    check(found("x.c", "\t" * 12 + "abcde"), ["columns"])
    check(found("x.h", "ä" * 100), [])
    check(found("x.py", "a" * 120), [])


# ---- the program, on a tree of its own ----

class Tree:
    def __init__(self, folder):
        self.folder = folder
        self.write("tests/prose/exempt", "")
        self.write("a.md", "A node waits.\n")

    def write(self, path, text):
        name = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)

    def prose(self, *arguments):
        """Returns the exit status and all output."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            status = prose.main(["--tree", self.folder, *arguments])
        return status, output.getvalue()

    def fails(self, number, *words):
        status, output = self.prose()
        check((status, [line[7] for line in output.split("\n") if line.startswith("not ok")]), (1, [str(number)]))
        for word in words:
            assert word in output, f"{word!r} is not in {output}"


def test_limits(folder):
    tree = Tree(folder)
    check(tree.prose()[0], 0)
    for rule, name, text in ((1, "c.md", "Who waits is first."), (3, "c.md", LONG * 2),
                             (4, "c.md", (LONG + "now. ") * 10), (6, "c.c", "x" * 101),
                             (5, "CONTRIBUTING.md", "A node waits now. A thread waits now.\n\n" * 2)):
        tree.write("c.md", "A node waits.\n")
        tree.write(name, text)
        tree.fails(rule, name)
        tree.write(name, "")
    tree.write("c.md", LONG * 2)
    program = [sys.executable, os.path.join(HERE, "prose.py"), "--tree", folder]
    check(subprocess.run(program, capture_output=True, check=False).returncode, 1)


def test_pairs_stand_side_by_side(_):
    for text, share in (("A node waits now. A thread waits now. " + LONG + "now.", 67),
                        ("A node waits now. " + LONG + "now. A thread waits now.", 0),
                        ("A node waits now.\n\nA thread waits now.", 0),
                        ("A node waits. A node goes on. A thread waits now.", 100)):
        check(rules.find("CONTRIBUTING.md", text).pairs, share)
        check(rules.find("other.md", text).pairs, 0)


def test_persons_of_the_tree(folder):
    tree = Tree(folder)
    tree.write("a.md", "Somebody asks. " * 20)
    check(tree.prose()[0], 0)
    tree.write("b.md", "Somebody asks.")
    tree.fails(2, "21 in all")


def test_exemptions(folder):
    tree = Tree(folder)
    tree.write("b.md", "Who waits is first.\n")
    tree.fails(1)
    tree.write("tests/prose/exempt", "# comment\nb.md | Who waits | an example of what to avoid\n")
    check(tree.prose()[0], 0)
    tree.write("b.md", "A node waits.\n")
    tree.fails(7, "exempt:2")
    tree.write("tests/prose/exempt", "b.md | Who waits\n")
    check(tree.prose()[0], 1)


def test_offences_are_shown(folder):
    tree = Tree(folder)
    tree.write("a.md", "A node waits. Who waits is first. Somebody asks.\n")
    status, output = tree.prose("--show", "a.md")
    check((status, "a.md:1: headless: Who waits is first." in output), (0, True))
    check(tree.prose("--worst", "1"), (0, "a.md headless=1 persons=1\n"))


def test_messages_of_commits(folder):
    def git(*arguments):
        subprocess.run(["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", *arguments], check=True,
                       capture_output=True)

    def commit(*paragraphs):
        git("commit", "-q", "--allow-empty", *(word for text in paragraphs for word in ("-m", text)))
        with contextlib.redirect_stdout(io.StringIO()) as out:
            return commits.main("1", folder), out.getvalue()

    git("init", "-q")
    check(commit("x" * 72, "A reason.")[0], 0)
    for message, why in ((("x" * 73, "A reason."), "has 73 characters"), (("A change.", "A reason."), "full stop"),
                         (("A change",), "no body")):
        status, output = commit(*message)
        check((status, why in output), (1, True))


if __name__ == "__main__":
    tap.run(globals())
