# SPDX-License-Identifier: MIT
"""header.py - reads a C header of this project: chunks of comment and code, and the layout of a comment.

A chunk is a comment with the declarations that follow without a blank line. A comment has paragraphs, lists, lists of
terms, tables and code. The layout alone tells them apart: see blocks().
"""

import re

SECTION = re.compile(r"/\* ---- (.*) ---- \*/$")
FUNCTION = re.compile(r"\b(glock_\w+)\(")
MACRO = re.compile(r"#define (\w+)\(([^)]*)\) (\w+)\(")
ITEM = re.compile(r" *(?:-|[1-9]\.) (?=\S)")
CELL = re.compile(r"\S+(?: \S+)*")


class Declaration:
    """A declaration: kind (function, macro, inline, struct, enum, typedef, define), name, code, and its comments."""

    def __init__(self, code, before, behind):
        self.code, self.before, self.behind = code, before, behind
        self.kind, self.name = self.classify()

    def classify(self):
        if self.code.startswith("#define"):
            macro = MACRO.match(self.code)
            if macro and macro[3].startswith(macro[1]):
                return "macro", macro[1]
            return "define", re.match(r"#define (\w+)", self.code)[1]
        for kind, pattern in (("typedef", r"typedef .*?\b(\w+)\("), ("inline", r"static inline .*?\b(\w+)\("),
                              ("struct", r"struct (\w+)\s*[{;]"), ("enum", r"enum (\w+)\s*{")):
            found = re.match(pattern, self.code, re.S)
            if found:
                return kind, found[1]
        function = FUNCTION.search(self.code)
        return ("function", function[1]) if function else ("member", "")

    @property
    def body(self):
        found = re.search(r"\{\n?(.*)\}", self.code, re.S)
        return found[1] if found else ""


class Chunk:
    """A comment and its declarations, in a section of the header."""

    def __init__(self, section, comment):
        self.section, self.comment, self.declarations = section, comment, []

    def of(self, *kinds):
        return [d for d in self.declarations if d.kind in kinds]


def comment_lines(comment):
    """Returns the lines of a comment without its decoration. The indentation stays."""
    lines = comment.strip()[2:-2].split("\n")
    lines = [re.sub(r"^\s*\*(?: |(?=\t)|$)", "", line).rstrip() if i else line.strip() for i, line in enumerate(lines)]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def one_line(comment):
    return " ".join(line.strip() for line in comment_lines(comment)) if comment else ""


def read(text):
    """Returns the lines of the comment at the top, and the chunks."""
    top = comment_lines(re.search(r"/\*\n.*?\*/", text, re.S)[0])
    text = text.split("#pragma GCC visibility push(default)\n")[1].split("#pragma GCC visibility pop")[0]
    text = text.replace(" GLOCK__NO_PLT", "") # how a call looks is not for the manual
    chunks, section = [], ""
    for part in split_chunks(text):
        title = SECTION.match(part)
        if title:
            section = title[1]
            continue
        comment, code = re.match(r"(/\*.*?\*/)?(.*)", part, re.S).groups()
        chunk = Chunk(section, comment_lines(comment) if comment else [])
        chunk.declarations = declarations(code)
        chunks.append(chunk)
    return top, chunks


def split_chunks(text):
    """Returns the parts of the text that blank lines separate, outside of comments and braces."""
    parts, lines, open_comment, depth = [], [], False, 0
    for line in text.split("\n"):
        if not line.strip() and not open_comment and not depth:
            if lines:
                parts.append("\n".join(lines))
            lines = []
            continue
        lines.append(line)
        open_comment = line.rfind("/*") > line.rfind("*/") or (open_comment and "*/" not in line)
        code = re.sub(r"/\*.*?\*/", "", line)
        if not open_comment and not code.lstrip().startswith("*"):
            depth += code.count("{") - code.count("}")
    return parts + (["\n".join(lines)] if lines else [])


DECLARATION = re.compile(r"""\s*(?:
    (?P<comment>/\*.*?\*/)
    |(?P<code>\#define(?:\\\n|[^\n/])*
        |(?:struct|enum)\ \w+\s*\{.*?\}[^;]*;
        |static\ inline.*?\n\}
        |[^;{}\#]*?;)
    (?P<behind>[ \t]*/\*.*?\*/)?)""", re.S | re.X)


def declarations(code):
    """Returns the declarations of a chunk, or the members of a struct's body."""
    found, before, at = [], [], 0
    while code[at:].strip():
        match = DECLARATION.match(code, at)
        if not match:
            raise ValueError(f"cannot read: {code[at:at + 80]!r}")
        at = match.end()
        if match["comment"]:
            before = comment_lines(match["comment"])
            continue
        found.append(Declaration(match["code"].strip(), before, one_line(match["behind"] or "")))
        before = []
    return found


# ---- the layout of a comment ----

def indent(line):
    return len(line) - len(line.lstrip(" "))


def stanzas(lines):
    """Returns the parts of a comment that blank lines separate. Code with blank lines inside is one part."""
    parts = [[]]
    for i, line in enumerate(lines):
        following = next((x for x in lines[i:] if x), "")
        if line or (parts[-1] and parts[-1][-1].startswith("\t") and following.startswith("\t")):
            parts[-1].append(line)
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if part]


def blocks(lines):
    """Returns the blocks of one stanza: (kind, content).

    code: lines that begin with a tab. list: lines that begin with "- ". steps: lines that begin with "1. " and so on. An
    indented line with two cells begins terms; with more cells, a table. Two blanks separate cells. Any other line belongs
    to a paragraph.
    """
    found, i = [], 0
    while i < len(lines):
        j = i + 1
        if lines[i].startswith("\t"):
            while j < len(lines) and (not lines[j] or lines[j].startswith("\t")):
                j += 1
            found.append(("code", [line.removeprefix("\t") for line in lines[i:j]]))
        elif ITEM.match(lines[i]):
            while j < len(lines) and not lines[j].startswith("\t") and (
                    ITEM.match(lines[j]) or indent(lines[j]) > indent(lines[i])):
                j += 1
            found.append(items(lines[i:j]))
        else:
            deep = indent(lines[i]) >= 2
            while j < len(lines) and not lines[j].startswith("\t") and not ITEM.match(lines[j]) and (
                    indent(lines[j]) >= 2) == deep:
                j += 1
            found.append(indented(lines[i:j]) if deep else ("text", " ".join(lines[i:j])))
        i = j
    return found


def items(lines):
    found = []
    for line in lines:
        if ITEM.match(line):
            found.append(ITEM.sub("", line))
        else:
            found[-1] += " " + line.strip()
    return "list" if lines[0].lstrip().startswith("- ") else "steps", found


def indented(lines):
    cells = [CELL.findall(line) for line in lines]
    if max(map(len, cells)) > 2:
        return "table", table(lines)
    if len(cells[0]) == 2:
        terms, column = [], lines[0].index(cells[0][1], indent(lines[0]) + len(cells[0][0]))
        for line in lines:
            if indent(line) >= column:
                terms[-1][1] += " " + line.strip()
            else:
                terms.append([line[:column].strip(), line[column:].strip()])
        return "terms", terms
    return "indented", " ".join(line.strip() for line in lines)


def table(lines):
    """Returns rows of cells. A line whose first cell is empty goes on with the row before, but for the head."""
    width = max(map(len, lines))
    blank = [all(len(line) <= x or line[x] == " " for line in lines) for x in range(width)]
    starts = [x for x in range(width) if not blank[x] and (x == 0 or blank[x - 1]) and (x < 2 or blank[x - 2])]
    rows = []
    for line in lines:
        cells = [line[a:b].strip() for a, b in zip(starts, starts[1:] + [None])]
        if rows and not cells[0]:
            rows[-1] = [f"{old} {new}".strip() for old, new in zip(rows[-1], cells)]
        else:
            rows.append(cells)
    return rows
