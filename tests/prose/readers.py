# SPDX-License-Identifier: MIT
"""readers.py - turns a file into blocks: paragraphs, table cells, headings and lines of code that people read.

read(path, text) returns the blocks of a file. kind_of(path) names the reader, or None for a file that has no prose.
A block never mixes two paragraphs, so the sentences of a block belong together.
"""

import ast
import io
import re
import tokenize
import xml.parsers.expat

SUFFIXES = {
    ".md": "markdown", ".scd": "scdoc", ".svg": "svg", ".py": "python",
    ".c": "c", ".h": "c", ".cc": "c", ".map": "c",
    ".sh": "hash", ".bash": "hash", ".awk": "hash", ".sed": "hash", ".supp": "hash",
}
NAMES = {"run": "hash", "meson.build": "hash", "o2toprc": "hash"}

PROSE = "prose"         # all rules
CELL = "cell"           # all rules but the median
HEADING = "heading"     # persons only
CODE = "code"           # persons only

# A code span is one word: its spaces become this character.
JOINT = "\N{OPEN BOX}"

ITEM = re.compile(r"(?:[-*+•]|\d+[.)]|\([a-z0-9]\))\s+(?=\S)")
CODE_END = re.compile(r"[;{}\\]$|^#(?:include|define|if|endif)\b|^\$ |^\*/$")
RULER = re.compile(r"^[-=#*]{3,}|[-=#*]{3,}$")
GAP = re.compile(r"(?<=[^\s.!?]) {2,}(?=\S)|(?<=[.!?]) {3,}(?=\S)")


def kind_of(path):
    name = path.rsplit("/", 1)[-1]
    if name in NAMES:
        return NAMES[name]
    dot = name.rfind(".")
    return SUFFIXES.get(name[dot:]) if dot > 0 else None


class Block:
    """A paragraph: its kind and its lines, each with its number."""

    def __init__(self, kind, number, text, trails=False):
        self.kind = kind
        self.trails = trails    # it stands behind code, on the line of the code
        self.lines = [(number, text)]

    def text(self):
        return " ".join(text for _, text in self.lines)

    def line_at(self, offset):
        """Returns the number of the line that holds the character at that offset of text()."""
        for number, text in self.lines:
            if offset <= len(text):
                return number
            offset -= len(text) + 1
        return self.lines[-1][0]


# ---- text with a layout: comments, docstrings, help texts ----

class Layout:
    """Collects the blocks of lines whose indentation and columns have a meaning."""

    def __init__(self):
        self.blocks = []
        self.close()

    def close(self):
        self.block = None

    def open(self, kind, number, text, indent, body):
        self.block = Block(kind, number, text)
        self.blocks.append(self.block)
        self.indent = indent
        self.body = body        # the column of the lines that continue the block; None: not known yet

    def continues(self, indent, text):
        if self.block is None or self.block.kind in (CODE, HEADING):
            return False
        if self.body is None:
            # a short line above indented text is a title
            title = indent > self.indent and text[0].isupper() and len(self.block.lines[0][1]) < 40
            return not title and self.indent <= indent <= self.indent + 12
        return abs(indent - self.body) <= 1

    def add(self, number, line):
        line = line.expandtabs(8).rstrip()
        text = line.lstrip()
        indent = len(line) - len(text)
        if not re.search(r"[^\W\d_]{2}", text) or re.match(r"SPDX-License-Identifier", text):
            self.close()
        elif RULER.search(text):
            self.open(HEADING, number, RULER.sub("", text).strip(), indent, indent)
        elif CODE_END.search(text) and (self.block is None or indent >= self.indent + 4):
            self.open(CODE, number, text, indent, indent)
        elif self.is_item(text, indent):
            mark = ITEM.match(text).end()
            self.open(PROSE, number, text[mark:], indent, indent + mark)
        elif GAP.search(text):
            self.cells(number, text, indent)
        elif self.continues(indent, text):
            self.body = indent
            self.block.lines.append((number, text))
        else:
            self.open(HEADING if not re.search(r"[a-z]", text) else PROSE, number, text, indent, None)

    def is_item(self, text, indent):
        """Tells an item of a list from a line of a paragraph that begins with a dash or a number."""
        if not ITEM.match(text):
            return False
        return self.block is None or indent != self.body or text[0] not in "-*+" or \
            self.block.lines[-1][1][-1:] in ".:;"

    def cells(self, number, text, indent):
        start = 0
        for gap in GAP.finditer(text):
            self.open(CELL, number, text[start:gap.start()], indent, indent)
            start = gap.end()
        self.open(CELL, number, text[start:], indent, indent + start)


def layout(lines, trails=False):
    page = Layout()
    for number, line in lines:
        page.add(number, line)
    for block in page.blocks:
        block.trails = trails
    return page.blocks


# ---- C ----

TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
MARK = re.compile(r"/\*[\s*]*Promises:")  # words of sentences of a header, which is read
HELP = re.compile(r"\.(?:help|what)\s*=\s*$|help\w*\[\]\s*=\s*$")


def comment_lines(number, comment):
    """Returns the lines of a block comment without its decoration."""
    lines = comment[2:-2].split("\n")
    result = [(number, lines[0][1:] if lines[0].startswith(" ") else lines[0].lstrip("*"))]
    for offset, line in enumerate(lines[1:], 1):
        stripped = line.lstrip()
        starred = re.match(r"\*(?: |(?=\t)|$)", stripped)
        result.append((number + offset, stripped[starred.end():] if starred else stripped))
    return result


class CReader:
    """Collects the comments and the help texts of a C file."""

    def __init__(self, text):
        self.text = text
        self.blocks = []
        self.run, self.run_column, self.run_trails = [], 0, False      # // comments below each other
        self.help, self.in_help, self.string_end = [], False, 0

    def flush(self):
        self.blocks.extend(layout(self.run, self.run_trails))
        self.blocks.extend(layout(list(enumerate_text(self.help))))
        self.run, self.help = [], []

    def string(self, number, start, end):
        adjacent = not self.text[self.string_end:start].strip()
        if HELP.search(self.text[max(0, start - 80):start]):
            self.flush()
            self.in_help = True
        elif not adjacent:
            self.in_help = False
        if self.in_help:
            self.help.append((number, self.text[start + 1:end - 1]))
        self.string_end = end

    def line_comment(self, number, column, behind_code, comment):
        if behind_code or not self.run or self.run[-1][0] != number - 1 or column != self.run_column:
            self.flush()
            self.run_column, self.run_trails = column, behind_code
        self.run.append((number, re.sub(r"^///? ?", "", comment)))

    def read(self):
        number, at = 1, 0
        for token in TOKEN.finditer(self.text):
            number += self.text.count("\n", at, token.start())
            at = token.start()
            line_start = self.text.rfind("\n", 0, at) + 1
            behind_code = bool(self.text[line_start:at].strip())
            word = token.group()
            if word[0] == '"':
                self.string(number, at, token.end())
            elif word.startswith("//"):
                self.line_comment(number, at - line_start, behind_code, word)
            elif word.startswith("/*"):
                self.flush()
                if not MARK.match(word):
                    self.blocks.extend(layout(comment_lines(number, word), behind_code))
        self.flush()
        return self.blocks


ESCAPES = {"n": "\n", "t": "\t"}


def enumerate_text(literals):
    """Returns the lines of the text that string literals make together, each with the number where it begins."""
    line, start = "", None
    for number, literal in literals:
        text = re.sub(r"\\(.)", lambda m: ESCAPES.get(m.group(1), m.group(1)), literal)
        for part in re.split(r"(\n)", text):
            if part and start is None:
                start = number
            if part == "\n":
                yield start, line
                line, start = "", None
            else:
                line += part
    if line:
        yield start, line


def read_c(text):
    return CReader(text).read()


# ---- Python ----

def read_python(text):
    blocks = []
    comments = []       # (row, column, text, behind code)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                comments.append((*token.start, token.string, bool(token.line[:token.start[1]].strip())))
        tree = ast.parse(text)
    except (SyntaxError, tokenize.TokenError, IndentationError):
        return read_hash(text)
    blocks.extend(hash_blocks(comments))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and \
                ast.get_docstring(node, clean=False) is not None:
            string = node.body[0].value
            lines = string.value.expandtabs(8).split("\n")
            margin = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
            blocks.extend(layout([(string.lineno, lines[0])] +
                                 [(string.lineno + i, line[margin:]) for i, line in enumerate(lines[1:], 1)]))
    return blocks


# ---- comments that begin with "#" ----

HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")


def hash_blocks(comments):
    """Returns the blocks of comments (row, column, text, behind code). Comments below each other are one text."""
    blocks, run, trails, last = [], [], False, None
    for row, column, comment, behind_code in comments:
        body = re.sub(r"^#+ ?", "", comment)
        if comment.startswith("#!") or re.match(r"shellcheck |noqa|pylint|type:", body):
            continue
        if behind_code or last != (row - 1, column):
            blocks.extend(layout(run, trails))
            run, trails = [], behind_code
        run.append((row, body))
        last = (row, column)
    return blocks + layout(run, trails)


def read_hash(text):
    comments, blocks, lines = [], [], text.split("\n")
    for row, line in enumerate(lines, 1):
        whole = re.match(r"\s*(#(?: .*|!.*|))$", line)
        if whole:
            comments.append((row, whole.start(1), whole.group(1), False))
            continue
        for hash_ in re.finditer(r"(?<=\s)# (?=\S)", line):
            before = line[:hash_.start()]
            if before.count("'") % 2 == 0 and before.count('"') % 2 == 0:
                comments.append((row, hash_.start(), line[hash_.start():], True))
                break
        here = HEREDOC.search(line)
        if here and row < len(lines) and lines[row].startswith("usage:"):
            end = next((i for i in range(row, len(lines)) if lines[i].strip() == here.group(1)), len(lines))
            blocks.extend(layout(list(enumerate(lines[row:end], row + 1))))
    return blocks + hash_blocks(comments)


# ---- Markdown ----

def plain(text):
    """Returns a line of Markdown as its reader sees it. A code span is one word."""
    text = re.sub(r"``?([^`]*)``?", lambda m: "`" + m.group(1).replace(" ", JOINT) + "`", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return text


def read_markdown(text):
    text = re.sub(r"<!--.*?-->", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    blocks, block, fenced, in_list, blank = [], None, False, False, True
    for number, line in enumerate(text.split("\n"), 1):
        body = line.strip()
        if body.startswith("```"):
            fenced, block = not fenced, None
        elif fenced or (line.startswith("    ") and blank and block is None and not in_list and body):
            blocks.append(Block(CODE, number, body))
            blank = not fenced
            continue
        elif not body:
            block = None
        elif body.startswith("#"):
            blocks.append(Block(HEADING, number, plain(body.lstrip("# "))))
            block, in_list = None, False
        elif body.startswith("|"):
            if not re.fullmatch(r"[|:\- ]+", body):
                cells = re.split(r"(?<!\\)\|", plain(body.strip("|")))
                blocks.extend(Block(CELL, number, cell.strip()) for cell in cells if cell.strip())
            block = None
        elif ITEM.match(body):
            block = Block(PROSE, number, plain(body[ITEM.match(body).end():]))
            blocks.append(block)
            in_list = True
        else:
            body = plain(re.sub(r"^> ?", "", body))
            if block is None:
                in_list = in_list and line[0] in " \t"
                block = Block(PROSE, number, body)
                blocks.append(block)
            else:
                block.lines.append((number, body))
        blank = not body
    return join_spans(blocks)


def join_spans(blocks):
    """Makes one word of each code span that goes on in the next line."""
    for block in blocks:
        if block.kind in (CODE, HEADING):
            continue
        is_open = False
        for i, (number, text) in enumerate(block.lines):
            parts = text.split("`")
            for j, part in enumerate(parts):
                if (j % 2 == 1) != is_open:
                    parts[j] = part.replace(" ", JOINT)
            block.lines[i] = (number, "`".join(parts))
            is_open = (len(parts) % 2 == 0) != is_open
    return blocks


# ---- scdoc ----

def read_scdoc(text):
    blocks, block, literal, section, indent = [], None, False, "", 0
    for number, line in enumerate(text.split("\n"), 1):
        body = line.strip()
        tabs = len(line) - len(line.lstrip("\t"))
        if body.startswith("```"):
            literal, block = not literal, None
        elif literal:
            blocks.append(Block(CODE, number, body))
        elif not body or body.startswith(";"):
            block = None
        elif body.startswith("#"):
            section, block = body.lstrip("# "), None
            blocks.append(Block(HEADING, number, section))
        elif number == 1 or section == "SYNOPSIS":
            block = None
        elif re.match(r"[|:\[\]]", body):
            cell = re.sub(r"^[|:\[\]]+[<>-]?\s*", "", body)
            block = Block(CELL, number, cell)
            blocks.append(block)
            indent = -1         # the lines of a cell are indented with spaces
        elif re.match(r"(?:-|\.|\d+\.) ", body):
            block = Block(PROSE, number, body.split(" ", 1)[1])
            blocks.append(block)
            indent = tabs
        elif block and (tabs == indent or indent == -1 and line[0] == " "):
            block.lines.append((number, body))
        else:
            block = Block(PROSE, number, body)
            blocks.append(block)
            indent = tabs
        if block and body.endswith("++"):
            block.lines[-1] = (number, body[:-2])
            block = None
    return [b for b in blocks if b.text().strip()]


# ---- SVG ----

def read_svg(text):
    blocks, depth, words, start = [], 0, [], 0
    parser = xml.parsers.expat.ParserCreate()

    def begin(name, _):
        nonlocal depth, words, start
        if depth or name in ("text", "title", "desc"):
            if not depth:
                words, start = [], parser.CurrentLineNumber
            depth += 1

    def end(name):
        nonlocal depth
        if depth:
            words.append(" ")
            depth -= 1
            if not depth and "".join(words).strip():
                blocks.append(Block(PROSE if name == "desc" else CELL, start, " ".join("".join(words).split())))

    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = lambda data: words.append(data)
    parser.Parse(text, True)
    return blocks


READERS = {"c": read_c, "python": read_python, "hash": read_hash, "markdown": read_markdown,
           "scdoc": read_scdoc, "svg": read_svg}


def read(path, text):
    return READERS[kind_of(path)](text)
