#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# screens.py - makes docs/screen-*.svg from o2top's screen on recordings of real clusters.
#
# Usage: screens.py [CAPTURES]. o2top runs in a real terminal. CAPTURES is a folder that holds the
# recordings. Without it the program unpacks them from tests/data. O2TOP is the program, build/o2top
# if it is not set. The program needs tmux.

import html
import os
import re
import subprocess
import sys
import tempfile
import unicodedata

DOCS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(DOCS, "..", "tests", "tui"))
from terminal import Terminal  # noqa: E402

CELL, LINE, FONT, LEFT, TOP = 7.83, 18.0, 13, 16, 46
COLOURS = ["#484f58", "#ff7b72", "#3fb950", "#e3b341", "#58a6ff", "#bc8cff", "#39c5cf", "#f0f6fc"]
BACKS = ["#0d1117", "#b62324", "#2ea043", "#9e6a03", "#1f6feb", "#8957e5", "#1b7c83", "#b1bac4"]
TEXT, PAPER = "#c9d1d9", "#0d1117"


class Style:
    def __init__(self):
        self.reset()

    def reset(self):
        self.front = self.back = None
        self.bold = self.dim = self.reverse = False

    def take(self, codes):
        for code in [int(c or 0) for c in codes.split(";")]:
            if code == 0:
                self.reset()
            elif code == 1:
                self.bold = True
            elif code == 2:
                self.dim = True
            elif code == 7:
                self.reverse = True
            elif 30 <= code <= 37:
                self.front = code - 30
            elif code == 39:
                self.front = None
            elif 40 <= code <= 47:
                self.back = code - 40
            elif code == 49:
                self.back = None

    def colours(self):
        front = TEXT if self.front is None else COLOURS[self.front]
        back = None if self.back is None else BACKS[self.back]
        if self.back is not None and self.front == 0:
            front = "#010409"
        if self.dim:
            front = "#8b949e"
        if self.reverse:
            front, back = back or PAPER, front
        return front, back, self.bold


def cells(line):
    """Returns (character, columns, style) for each cell of a line."""
    style = Style()
    for m in re.finditer(r"\x1b\[([0-9;]*)m|(.)", line):
        if m[2] is None:
            style.take(m[1])
        else:
            yield m[2], 2 if unicodedata.east_asian_width(m[2]) in "WF" else 1, style.colours()


def svg(screen, columns, title):
    lines = screen.rstrip("\n").split("\n")
    width, height = columns * CELL + 2 * LEFT, TOP + len(lines) * LINE + 12
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
           f'height="{height:.0f}" role="img" aria-label="{html.escape(title)}">',
           "<!-- made by docs/screens.py -->",
           f'<rect x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="9" fill="{PAPER}" stroke="#30363d"/>',
           '<circle cx="20" cy="18" r="5.5" fill="#484f58"/><circle cx="39" cy="18" r="5.5" fill="#484f58"/>'
           '<circle cx="58" cy="18" r="5.5" fill="#484f58"/>',
           f'<text x="{width / 2:.0f}" y="22" text-anchor="middle" font-family="ui-sans-serif, sans-serif" font-size="13" '
           f'fill="#8b949e">{html.escape(title)}</text>',
           f'<g font-family="ui-monospace, \'DejaVu Sans Mono\', Menlo, Consolas, monospace" font-size="{FONT}" '
           'xml:space="preserve">']
    for row, line in enumerate(lines):
        y, x, runs = TOP + row * LINE, 0, []
        for char, wide, style in cells(line):
            # blanks end a run, so that columns stay columns with any font
            if runs and runs[-1][3] == style and not (char == " " and runs[-1][2].endswith(" ")) and \
                    not 0x2580 <= ord(char) <= 0x259F:
                runs[-1][2] += char
                runs[-1][1] += wide
            else:
                runs.append([x, wide, char, style])
            x += wide
        for at, columns_of, text, (front, back, bold) in runs:
            left = LEFT + at * CELL
            if back:
                out.append(f'<rect x="{left:.2f}" y="{y:.2f}" width="{columns_of * CELL + 0.4:.2f}" height="{LINE}" fill="{back}"/>')
            if 0x2581 <= ord(text[0]) <= 0x2588 and len(text) == 1:
                tall = (ord(text) - 0x2580) * 14 / 8
                out.append(f'<rect x="{left:.2f}" y="{y + 16 - tall:.2f}" width="{CELL - 0.8:.2f}" height="{tall:.2f}" fill="{front}"/>')
            elif text.strip():
                weight = ' font-weight="700"' if bold else ""
                out.append(f'<text x="{left:.2f}" y="{y + 13.5:.2f}" fill="{front}"{weight} '
                           f'textLength="{columns_of * CELL:.2f}">{html.escape(text)}</text>')
    return "\n".join(out) + "\n</g>\n</svg>\n"


def shoot(captures, name, recording, keys, waits, columns, rows):
    program = os.path.abspath(os.environ.get("O2TOP", os.path.join(DOCS, "..", "build", "o2top")))
    names = os.path.abspath(os.path.join(DOCS, "..", "tests", "data", f"{recording}.names"))
    t = Terminal(columns=columns, rows=rows)
    try:
        t.run("cd", captures)
        t.run("clear")
        t.run(program, "--speed", "0", "--names", names, recording)
        t.wait("Help", "2/")
        for key in keys:
            t.key(key)
        t.wait(*waits)
        t.settled()
        path = os.path.join(DOCS, f"screen-{name}.svg")
        with open(path, "w", encoding="utf-8") as f:
            f.write(svg(t.coloured(), columns, f"o2top {recording}"))
        print(path)
    finally:
        t.close()


def main():
    with tempfile.TemporaryDirectory() as tmp:
        captures = sys.argv[1] if len(sys.argv) > 1 else tmp
        if captures == tmp:
            for name in ("ocfs2-hot", "ocfs2-hang", "gfs2-hang"):
                subprocess.run(["tar", "-xJf", os.path.join(DOCS, "..", "tests", "data", f"{name}.tar.xz"), "-C", tmp], check=True)
        shoot(captures, "hot", "ocfs2-hot", [".", ".", ".", "Enter"], ["5/5", "META"], 118, 30)
        shoot(captures, "hang", "ocfs2-hang", [], ["2/3"], 100, 20)
        shoot(captures, "processes", "gfs2-hang", ["Enter"], ["INODE"], 118, 30)


main()
