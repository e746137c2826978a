# SPDX-License-Identifier: MIT
"""roff.py - writes text as a manual page, with the macros of man(7) and tables of tbl(1)."""

import re

BOLD = re.compile(r"\bglock_\w+(?=\()|\bGLOCK_\w+|(?<![\w-])-E[A-Z0-9]+\b")
TICKS = re.compile(r"`([^`]+)`")


def plain(text):
    """Escapes text for roff. A minus that begins a word is one that a reader may copy."""
    text = text.replace("\\", "\\e")
    text = re.sub(r"(?<![\w\\])-(?=\S)", r"\\-", text)
    return text.replace("~", "\\(ti").replace("^", "\\(ha").replace("`", "\\(ga")


def rich(text):
    """Escapes text, and marks functions, constants and errors bold, words in backticks italic."""
    found = []
    for i, part in enumerate(TICKS.split(text)):
        if i % 2:
            found.append(f"\\fI{plain(part)}\\fR")
            continue
        at = 0
        for match in BOLD.finditer(part):
            found += [plain(part[at:match.start()]), f"\\fB{plain(match[0])}\\fR"]
            at = match.end()
        found.append(plain(part[at:]))
    return "".join(found)


def fold(text):
    """Returns a paragraph as one line, because roff widens the blank behind a sentence that ends a line."""
    return "\\&" + text if text[:1] in (".", "'") else text


def code(lines):
    return [".PP", ".in +4n", ".nf", *("\\&" + plain(line).replace("\t", "    ") if line else "" for line in lines),
            ".fi", ".in"]


def table(rows):
    """Returns a table. The first row is the head. tbl(1) breaks long cells."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    head = " ".join("lb" for _ in widths)
    body = " ".join("l" if width <= 15 else "lx" for width in widths)
    found = [".PP", ".TS", "tab(@);", head, f"{body}."]
    for row in rows:
        cells = [f"T{{\n{fold(rich(cell))}\nT}}" if len(cell) > 15 else rich(cell) for cell in row]
        found.append("@".join(cells))
    return [*found, ".TE"]


def blocks(found, tail=()):
    """Returns lines of roff for the blocks of header.blocks()."""
    lines = []
    for kind, content in found:
        if kind in ("text", "indented"):
            lines += [".PP", fold(rich(content))]
        elif kind == "code":
            lines += code(content)
        elif kind == "list":
            for item in content:
                lines += [".IP \\(bu 3", fold(rich(item))]
        elif kind == "steps":
            for i, item in enumerate(content, 1):
                lines += [f".IP {i}. 3", fold(rich(item))]
        elif kind == "table":
            lines += table(content)
        elif kind == "terms":
            for term, text in content:
                lines += [".TP", rich(term) if "-E" in term else f"\\fB{plain(term)}\\fR", fold(rich(text))]
    return lines + list(tail)


def references(pages):
    return [",\n".join(f".BR {plain(name)} ({section})" for name, section in pages)]


class Page:
    """A page: a title line, sections, and their lines."""

    def __init__(self, name, section, date, version, volume):
        # man-db runs tbl(1) only if the first line asks for tbl
        self.lines = ["'\\\" t", f'.TH {plain(name)} {section} "{date}" "{version}" "{volume}"', ".nh", ".ad l"]

    def section(self, title, lines, macro="SH"):
        lines = list(lines)
        if lines and lines[0] == ".PP":
            lines = lines[1:] # after a heading .PP has no effect
        if lines:
            self.lines += [f".{macro} " + plain(title).replace('"', "\\(dq"), *lines]

    def text(self):
        return "\n".join(self.lines) + "\n"
