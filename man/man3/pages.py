#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pages.py - makes the manual pages of sections 3 and 7 from the comments of a header.

usage: pages.py --list HEADER                          prints the file names of the pages
       pages.py --version V --out DIR HEADER [GLOSSARY]  writes the pages

The header stays the source. Functions that share a comment share a page, and each other name links to it (.so). The
page of section 7 has the comment at the top of the header and an index of the functions. With GLOSSARY it also has the
terms that the comments use.
"""

import argparse
import datetime
import os
import re
import sys

sys.dont_write_bytecode = True
import header  # noqa: E402
import roff  # noqa: E402

# Pages for declarations that no function's declaration names. The other ones find their page by themselves.
HOMES = {"GLOCK_TRY": ("glock_holder_init", "glock_nq"), "glock_type": ("glock_get", "glock_type_options"),
         "GLOCK_HERE": (), "GLOCK_LVB_SIZE": ("glock_lvb_read",)}
OMITTED = "The comments do not repeat two errors. "
TIMES = "Times are nanoseconds" # begins the paragraphs about all functions
INTERNAL = "GLOCK__"
# The comments use these words in their common sense.
INTERNAL_TERMS = {"reader", "slot", "word", "Term"}
TERMS_OF_LOCKMAN = {"bast", "death", "lock manager", "member", "node", "peer", "quorum"}


# References of glock(7) that are no pages.
BESIDE = [".PP", "C++11: the header glock.hpp. Python: \\fBpydoc3 glock\\fR. Examples and the documents of docs/ are in",
          "/usr/share/doc/libglock-dev on Debian, and otherwise in the sources."]


class Manual:
    """All pages of one header."""

    def __init__(self, path, version, glossary=None):
        with open(path, encoding="utf-8") as file:
            self.top, self.chunks = header.read(file.read())
        self.include = os.path.basename(path)
        self.name = self.include.removesuffix(".h")
        self.version, self.glossary = f"{self.name} {version}", glossary
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        when = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc) if epoch else datetime.date.today()
        self.date = f"{when:%Y-%m-%d}"
        self.functions = [c for c in self.chunks if c.of("function", "inline")]
        structs = {s for c in self.functions for d in c.declarations for s in re.findall(r"struct (\w+)", d.code)}
        self.own = [c for c in self.chunks if c not in self.functions and
                    any(d.body and d.name not in structs for d in c.of("struct"))]
        self.pages = {self.title(c): c for c in self.functions + self.own}
        self.guests = {title: [] for title in self.pages}
        # constants follow the structs that name them
        for chunk in sorted(self.chunks, key=lambda c: not c.of("struct", "enum", "typedef")):
            self.place(chunk)

    # ---- which declarations stand on which page ----

    @staticmethod
    def title(chunk):
        named = chunk.of("macro") + chunk.declarations
        return named[0].name

    def place(self, chunk):
        """Adds a chunk without a function to the pages that need it."""
        names = [d.name for d in chunk.declarations if not d.name.startswith(INTERNAL)]
        described = chunk.comment or any(d.body or d.kind == "define" for d in chunk.declarations)
        if chunk in self.functions or chunk in self.own or not names or not described:
            return
        fixed = next((n for n in names if n in HOMES), None)
        for title in HOMES[fixed] if fixed else self.homes(chunk, names):
            self.guests[title].append(chunk)

    def homes(self, chunk, names):
        if chunk.of("struct", "enum", "typedef"):
            pattern = re.compile("|".join(rf"\b{n}\b(?!\()" for n in names))
            for page in self.functions:
                if any(pattern.search(d.code) for d in page.of("function")):
                    return [self.title(page)]
        prefix = os.path.commonprefix(names)
        prefix = prefix[:prefix.rfind("_") + 1]
        word = re.compile(rf"\b{prefix}(?!\w)" if len(names) > 1 else rf"\b{names[0]}\b")
        # a struct on a page belongs to its text
        found = [t for t, page in self.pages.items() if word.search(self.words(page))]
        found += [t for t in self.pages for guest in self.guests[t] if word.search(self.words(guest))]
        later = self.chunks[self.chunks.index(chunk):]
        return found or [self.title(next(c for c in later if c in self.functions))]

    @staticmethod
    def words(chunk):
        inside = [m for d in chunk.of("struct") for m in header.declarations(d.body)]
        return " ".join([*chunk.comment, *(f"{' '.join(m.before)} {m.behind}" for m in inside + chunk.declarations)])

    # ---- names ----

    def names(self, title):
        """Returns the names that lead to the page: functions, macros, structs and enums."""
        found = [title] + [d.name for d in self.pages[title].of("function", "inline", "struct")]
        for guest in self.guests[title]:
            if guest.of("struct", "enum", "typedef") and self.first_home(guest) == title:
                found += [d.name for d in guest.of("struct", "enum", "typedef")]
        return [n for i, n in enumerate(found) if n not in found[:i] and (n == title or n not in self.pages)]

    def first_home(self, chunk):
        return next(t for t in self.pages if chunk in self.guests[t])

    def files(self):
        return [f"{name}.3" for title in self.pages for name in self.names(title)] + [f"{self.name}.7"]

    # ---- a page ----

    def elsewhere(self, lines):
        """Replaces references to other parts of the header."""
        text = "\n".join(lines)
        text = re.sub(r'("[A-Z][^"]*(?:"\w+"[^"]*)?")(?:\s+\*?\s*above)', rf"\1 in {self.name}(7)", text)
        text = text.replace('"Structs with a member size"', f'"Structs with a member size" in {self.name}(7)')
        return text.split("\n")

    def parts(self, chunk):
        """Returns the lines of roff for the description and for the results."""
        description, results = [], []
        for stanza in header.stanzas(self.elsewhere(chunk.comment)):
            found = header.blocks(stanza)
            first = next((i for i, (kind, content) in enumerate(found) if kind == "terms" and
                          any(re.match(r"-E|\d+$", term) for term, _ in content)), len(found))
            # a table of results may have a line of its own before it
            description += roff.blocks(found[:first])
            results += roff.blocks(found[first:])
        return description, results

    @staticmethod
    def summary(chunk):
        text = header.one_line("/*" + "\n".join(chunk.comment) + "*/") if chunk.comment else ""
        text = re.split(r"[.:;](?= |$)", re.sub(r"^glock_\w+\(\) ", "", text))[0]
        return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text

    def compile(self):
        return rf"\fBcc\fR \fIprogram.c\fR \fB$(pkg\-config \-\-cflags \-\-libs {roff.plain(self.name)})\fR"

    def synopsis(self, chunk):
        lines = []
        by_name = {d.name: d for d in chunk.of("function", "inline")}
        for d in chunk.declarations:
            code = re.sub(r"\s+", " ", d.code)
            if d.kind == "macro":
                target = by_name[header.MACRO.match(d.code)[3]]
                code = re.sub(r"\s+", " ", target.code.split("{")[0]).replace("static inline ", "").replace(target.name, d.name, 1)
                lines.insert(0, code.rsplit(",", 1)[0] + ");")
            elif d.kind == "function" and any(m.name == d.name for m in chunk.of("macro")):
                continue
            elif d.kind == "inline":
                lines.append(code.split("{")[0].strip().removeprefix("static inline ") + ";")
            elif d.kind == "function":
                lines.append(code)
            elif d.kind == "define":
                lines.append(code)
        return lines

    def declaration(self, code):
        """Returns the lines of a declaration. A long one breaks between arguments, as in C."""
        if len(code) <= 72 or "(" not in code or code.startswith("#"):
            return [code]
        head, arguments = code[:code.index("(") + 1], code[code.index("(") + 1:].split(", ")
        lines, line = [], head
        for i, argument in enumerate(arguments):
            text = argument + (", " if i + 1 < len(arguments) else "")
            if len(line) + len(text.rstrip()) > 72:
                lines.append(line.rstrip())
                line = "        "
            line += text
        return [*lines, line]

    def described(self, d):
        """Returns a declaration's members or, for a define, the define, as terms."""
        lines = []
        inside = header.declarations(d.body) if d.kind == "struct" else [d]
        for m in inside:
            before = [x for s in header.stanzas(self.elsewhere(m.before)) for x in roff.blocks(header.blocks(s))]
            if m.before and m.behind: # such a comment belongs to the declarations that follow, too
                lines += before
                before = []
            code = m.code
            if m.kind == "define":
                code = re.match(r"#define (\S+)", m.code)[1]
            lines += [".TP", "\\fB" + roff.plain(re.sub(r"\s+", " ", code)) + "\\fR"]
            behind = [roff.fold(roff.rich(m.behind))] if m.behind else []
            text = (before[1:] if before and before[0] == ".PP" else before) + behind or ["\\&"]
            # a paragraph inside a term needs .RS
            inner = next((i for i, x in enumerate(text) if x.startswith(".")), len(text))
            lines += text[:inner] + ([".RS", *text[inner:], ".RE"] if text[inner:] else [])
        return lines

    @staticmethod
    def values(enum):
        """Returns the values of an enum: as terms if a value has a comment, else as code."""
        values = re.findall(r"(\w[^,/]*?)\s*,?[ \t]*(/\*.*?\*/)?\s*(?:,|\n|$)", enum.body, re.S)
        if not any(comment for _, comment in values):
            return roff.code([f"enum {enum.name} {{", *(f"\t{value}," for value, _ in values), "};"])
        return [line for value, comment in values for line in
                (".TP", f"\\fB{roff.plain(value)}\\fR", roff.fold(roff.rich(header.one_line(comment))) or "\\&")]

    def guest(self, page, chunk):
        comment = self.parts(chunk)
        for i, d in enumerate(chunk.of("struct", "enum", "typedef")):
            lines = comment[0] + comment[1] if i == 0 else []
            if d.kind == "enum":
                lines = [*lines, *self.values(d)]
            elif d.kind == "typedef":
                lines = [*lines, *roff.code(self.declaration(re.sub(r"\s+", " ", d.code)))]
            elif d.body:
                lines = [*lines, *self.described(d)]
            page.section(f"{d.kind} {d.name}" if d.kind != "typedef" else d.name, lines, "SS")
        defines = [d for d in chunk.of("define") if not d.name.startswith(INTERNAL)]
        if defines:
            prefix = os.path.commonprefix([d.name for d in defines])
            title = defines[0].name if len(defines) == 1 else prefix[:prefix.rfind("_") + 1] + "..."
            lines = comment[0] if not chunk.of("struct") else []
            if len(defines) == 1:
                code = re.sub(r"\s*\\?\n\s*", " ", defines[0].code)
                lines = [*lines, roff.fold(roff.rich(defines[0].behind)), *roff.code([code])]
            else:
                lines = [*lines, *(x for d in defines for x in self.described(d))]
            page.section(title, [line for line in lines if line], "SS")

    def page(self, title):
        chunk = self.pages[title]
        page = roff.Page(title, 3, self.date, self.version, "Library Functions Manual")
        functions = [d.name for d in chunk.declarations if d.kind not in ("macro", "define")]
        names = ", ".join(roff.plain(n) for n in self.names(title) if n == title or n in functions)
        page.section("NAME", [f"{names} \\- {roff.plain(self.summary(chunk))}"])
        lines = [".nf", f"\\fB#include <{self.include}>\\fR", ""]
        for code in self.synopsis(chunk):
            lines += [f"\\fB{roff.plain(line)}\\fR" for line in self.declaration(code)]
        for d in chunk.of("struct"):
            lines += [f"\\fBstruct {d.name}\\fR"]
        page.section("SYNOPSIS", [*lines, ".fi", ".PP", self.compile()])
        description, results = self.parts(chunk)
        for d in chunk.of("struct"):
            description += self.described(d)
        for d in chunk.of("macro"):
            description += [".PP", f"\\fB{d.name}\\fR() is a macro. It calls \\fB{header.MACRO.match(d.code)[3]}\\fR() "
                            "with the call site, \\fBGLOCK_HERE\\fR: the file and the line."]
        page.section("DESCRIPTION", description)
        if results:
            page.section("RETURN VALUE", [*results, *self.general()])
        if self.guests[title]:
            page.lines.append(".SH TYPES AND CONSTANTS")
            for guest in self.guests[title]:
                self.guest(page, guest)
        page.section("SEE ALSO", roff.references(self.see_also(title)))
        return page.text()

    def general(self):
        """Returns the errors that belong to all functions, if the header has such a sentence."""
        found = [s for s in header.stanzas(self.top) if OMITTED in " ".join(s)]
        if not found:
            return []
        text = " ".join(line.strip() for line in found[-1]).split(OMITTED)[1]
        return [".PP", roff.fold(roff.rich("These errors belong to all functions. " + text))]

    def see_also(self, title):
        text = " ".join(self.words(c) for c in [self.pages[title], *self.guests[title]])
        code = " ".join(d.code for c in [self.pages[title], *self.guests[title]] for d in c.declarations)
        owner = {n: t for t in self.pages for n in self.names(t)}
        used = re.findall(r"\b(glock_\w+)\(", text) + re.findall(r"(?:struct|enum) (\w+)", code)
        found = {owner[n] for n in used if n in owner} - {title}
        at = self.functions.index(self.pages[title]) if self.pages[title] in self.functions else None
        if at is not None: # the functions before and after belong to the same subject
            near = self.functions[max(at - 1, 0):at + 2]
            found |= {self.title(c) for c in near if c.section == self.pages[title].section} - {title}
        place = {t: self.chunks.index(c) for t, c in self.pages.items()}
        return [(n, 3) for n in sorted(found, key=place.get)] + [(self.name, 7)]

    # ---- the page of section 7 ----

    def overview(self):
        page = roff.Page(self.name, 7, self.date, self.version, "Miscellaneous Information Manual")
        first = " ".join(header.stanzas(self.top)[0])
        page.section("NAME", [f"{roff.plain(self.name)} \\- {roff.plain(first.split(' - ')[1].rstrip('.'))}"])
        page.section("SYNOPSIS", [f"\\fB#include <{self.include}>\\fR", ".PP", self.compile()])
        titles, title = {}, "DESCRIPTION"
        for stanza in header.stanzas(self.top)[1:]:
            if len(stanza) == 1 and re.fullmatch(r"[A-Z0-9 ]+", stanza[0]):
                title = stanza[0]
                continue
            if stanza[0].startswith(TIMES):
                title = "TIMES AND ERRORS"
            titles.setdefault(title, []).append(stanza)
        concepts = titles.pop("WHAT A GLOCK IS", [])
        page.section("DESCRIPTION", self.prose(concepts + titles.pop("DESCRIPTION", [])))
        for chunk in self.chunks:
            if any(d.name == "glock_mode" for d in chunk.of("enum")):
                page.section("MODES", self.parts(chunk)[0])
        for title, found in titles.items():
            page.section(title, self.prose(found))
        for chunk in self.chunks:
            if not chunk.declarations: # a rule for several functions, whose first sentence is its title
                title, text = " ".join(chunk.comment).split(". ", 1)
                page.section(title.upper(), roff.blocks([("text", text)]))
        page.section("FUNCTIONS", self.index())
        if self.glossary:
            page.section("GLOSSARY", self.words_of_glossary())
        others = [("glock", 1), ("o2top", 1), ("glock-sim", 7)] if self.name == "glock" else [("glock", 7)]
        page.section("SEE ALSO", roff.references(others) + (BESIDE if self.name == "glock" else []))
        return page.text()

    @staticmethod
    def prose(found):
        """Returns paragraphs. A short first sentence of an indented one is a heading: "Threads. Any ..."."""
        lines = []
        for stanza in found:
            parts = header.blocks(stanza)
            heading = re.match(r"((?:\S+ ){0,3}\S+)\. (?=[A-Z])", parts[0][1]) if parts[0][0] == "indented" else None
            if heading:
                parts[0] = ("text", parts[0][1][heading.end():])
                lines += [".SS " + roff.plain(heading[1]).replace('"', "\\(dq"), *roff.blocks(parts)[1:]]
                continue
            lines += roff.blocks(parts)
        text = "\n".join(lines).replace("The comment of each function says", "The page of each function says")
        text = text.replace("what its comment names", "what its page names")
        return text.replace(OMITTED.strip(), "The pages do not repeat two errors.").split("\n")

    def index(self):
        lines, section = [], None
        for title, chunk in sorted(self.pages.items(), key=lambda item: self.chunks.index(item[1])):
            if chunk.section != section:
                section = chunk.section or "a simulation"
                lines += [f".SS {section[:1].upper()}{section[1:]}"]
            declared = [d.name for d in chunk.declarations]
            names = [f"\\fB{roff.plain(n)}\\fR(3)" for n in self.names(title) if chunk in self.own or n in declared]
            lines += [".TP", ", ".join(names), roff.fold(roff.rich(self.summary(chunk)))]
        return lines

    def words_of_glossary(self):
        """Returns the terms that the comments use. Most terms of the lock managers are internal."""
        with open(self.glossary, encoding="utf-8") as file:
            parts = dict(re.findall(r"\n## ([^\n]*)\n(.*?)(?=\n## |\Z)", file.read(), re.S))
        used = " ".join([*self.top, *map(self.words, self.chunks)])
        lines = []
        for part in ("The library", "The lock managers"):
            for line in parts[part].split("\n"):
                cells = [c.strip() for c in line.strip("|").split("|")]
                term = cells[0].split(" (")[0]
                if part == "The library":
                    wanted = term not in INTERNAL_TERMS and re.search(rf"\b{re.escape(term)}s?\b", used, re.I)
                else:
                    wanted = term in TERMS_OF_LOCKMAN
                if line.startswith("| ") and wanted:
                    lines.append((term, [".TP", f"\\fB{roff.plain(term)}\\fR", roff.fold(roff.rich(cells[1]))]))
        return [x for _, term in sorted(lines) for x in term]

    def write(self, folder):
        for title in self.pages:
            for name in self.names(title):
                text = self.page(title) if name == title else f".so man3/{title}.3\n"
                with open(f"{folder}/{name}.3", "w", encoding="utf-8") as file:
                    file.write(text)
        with open(f"{folder}/{self.name}.7", "w", encoding="utf-8") as file:
            file.write(self.overview())


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--version", default="")
    parser.add_argument("--out")
    parser.add_argument("header")
    parser.add_argument("glossary", nargs="?")
    chosen = parser.parse_args()
    manual = Manual(chosen.header, chosen.version, chosen.glossary)
    if chosen.list:
        print("\n".join(manual.files()))
    else:
        manual.write(chosen.out)


if __name__ == "__main__":
    main()
