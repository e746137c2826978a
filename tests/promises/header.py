# SPDX-License-Identifier: MIT
"""header.py - the sentences of include/glock.h, each with the declaration that it belongs to.

A sentence is a sentence of a comment, or a row of a table or list in a comment. The place of a
sentence is the name that the code behind the comment declares. That is a function, a member of a
struct, or a constant. A comment behind code belongs to that code. In the comment at the top of the file the place
is the title of the section or paragraph.
"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "prose"))
from sentences import split  # noqa: E402

COMMENT = re.compile(r"/\*.*?\*/", re.S)
ROW = re.compile(r"\S(?: {2,}|\t+)\S")
CELL = re.compile(r"\S(?:.*?\S)?(?=  |$)")
ERROR_ROW = re.compile(r"-E[A-Z]+|\d  ")


class Sentence:
    """A sentence: its place, its text with single blanks, its line, and whether it is a row."""

    def __init__(self, place, text, line, is_row):
        self.place, self.text, self.line, self.is_row = place, text, line, is_row

    @property
    def key(self):
        return self.place, self.text


def comment_lines(comment):
    """Returns the lines of a comment without its decoration. Indentation stays."""
    lines = comment[2:-2].split("\n")
    return [re.sub(r"^\s*\*(?: |(?=\t)|$)", "", line) if i else line.lstrip("*").removeprefix(" ")
            for i, line in enumerate(lines)]


def name_of(code):
    """Returns the name that the code declares, or its first word."""
    code = code.strip()
    for pattern in (r"#define (\w+)", r"\(\*(\w+)\)\(", r"\b(?:struct|enum) (\w+)\s*[{;]", r"\b(glock_\w+)\(",
                    r"typedef .*?\b(\w+)\(", r"(\w+)(?:\[\w+\])?(?:, \w+)*;", r"(\w+)"):
        found = re.search(pattern, code)
        if found:
            return found.group(1)
    return "?"


def name_behind(text, end):
    """Returns the name that the code behind a comment declares. A macro may stand before its function."""
    code = re.sub(COMMENT, "", text[end:])
    code = code.lstrip()
    first = code.split("\n\n")[0]
    function = re.search(r"^(?!#)[^\n(]*?\b(glock_\w+)\(", first, re.M)
    if function and first.startswith("#define " + function.group(1).removesuffix("_at")):
        return function.group(1).removesuffix("_at")
    if function and not first.startswith("#"):
        return function.group(1)
    return name_of(first.split("\n")[0])


class Unit:
    """A paragraph, which has one cell, or a row of a table. A cell goes on below itself in the next lines."""

    def __init__(self, line, is_row):
        self.line, self.is_row, self.cells = line, is_row, []

    @property
    def text(self):
        return " ".join(text for _, text in self.cells)

    def add(self, column, text):
        first = not self.cells
        for part in CELL.finditer(text) if self.is_row else [re.match(".*", text)]:
            at = column + part.start()
            if first:
                self.cells.append([at, part.group()])
            else:
                above = next((cell for cell in reversed(self.cells) if cell[0] <= at), self.cells[0])
                above[1] += " " + part.group()


class Paragraphs:
    """Collects the paragraphs and the rows of a comment."""

    def __init__(self):
        self.units = []
        self.close()

    def close(self):
        self.open, self.indent = None, 0

    def add(self, number, line):
        line = line.expandtabs(8).rstrip()
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if not text:
            self.close()
            return
        item = re.match(r"- +(?=\S)", text)
        is_row = bool(ROW.search(re.sub(r"(?<=[.:;]) {2}", " ", text))) and not item
        goes_on = self.open and (indent > self.indent if self.open.is_row else not is_row and not item)
        if not goes_on or self.open.is_row and is_row and ERROR_ROW.match(text):
            self.open, self.indent = Unit(number, is_row), indent
            self.units.append(self.open)
        self.open.add(indent, text[item.end():] if item else text)


def units_of(comment, number):
    page = Paragraphs()
    for offset, line in enumerate(comment_lines(comment)):
        if line.startswith("\t"):      # code
            page.close()
        else:
            page.add(number + offset, line)
    return page.units


def sentences_of(place, units):
    for unit in units:
        text = " ".join(unit.text.split())
        for _, sentence in split(text):
            yield Sentence(place, sentence, unit.line, unit.is_row)


def head(comment, number):
    """Yields the sentences of the comment at the top of the file, without its program."""
    place, page, pages, in_code, blank = "head", Paragraphs(), [], False, True
    for offset, line in enumerate(comment_lines(comment)):
        blank, was_blank = not line.strip(), blank
        title = re.fullmatch(r"[A-Z][A-Z0-9 ]+", line.strip())
        topic = was_blank and re.match(r"  ((?:[\w\"-]+ ){0,3}[\w\"-]+)\. (?=[A-Z])", line)
        if title:
            place, page = line.strip().capitalize(), Paragraphs()
            pages.append((place, page))
            continue
        if topic:
            page = Paragraphs()
            pages.append((topic.group(1), page))
        elif line.strip() and not line.startswith(" ") and not line.startswith("\t") and pages and \
                pages[-1][0] not in (place,):
            page = Paragraphs()     # back at the margin: the last topic is over
            pages.append((place, page))
        if not pages:
            pages.append((place, page))
        in_code = line.startswith("\t") or in_code and not line.strip()
        if in_code:
            page.close()
        else:
            page.add(number + offset, line)
    for where, collected in pages:
        # a title of one word says nothing
        yield from (s for s in sentences_of(where, collected.units) if s.text != where + "." or " " in where)


def read(text):
    """Returns the sentences of a header."""
    found, first = [], True
    for comment in COMMENT.finditer(text):
        number = text.count("\n", 0, comment.start()) + 1
        before = text[text.rfind("\n", 0, comment.start()) + 1:comment.start()].strip()
        if "SPDX-License-Identifier" in comment.group() or re.search(r"/\* -{3,}", comment.group()):
            continue
        if first:
            found.extend(head(comment.group(), number))
            first = False
            continue
        place = name_of(before) if before else name_behind(text, comment.end())
        found.extend(sentences_of(place, units_of(comment.group(), number)))
    return found
