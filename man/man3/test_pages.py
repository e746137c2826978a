#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_pages.py - tests the manual pages of the library. TAP.

usage: test_pages.py SOURCE FOLDER [MANDOC]

Each exported function has a page with its declaration and with each error of its comment in the header. Each constant
and struct stands on a page. The test reads the header by itself, with simpler rules than pages.py. A reference to a
page of the project names the section of the page. With mandoc the test also asks for warnings.
"""

import os
import re
import subprocess
import sys

ENOUGH = 58


def comment_and_code(text, function):
    """Returns the comment before a function, and the function's declaration."""
    found = re.search(rf"^[a-z][\w *]*\b{function}\([^;{{]*\)", text, re.M)
    if not found:
        return "", ""
    before = text[:found.start()]
    comment = before[before.rindex("/*"):before.rindex("*/")]
    return comment, re.sub(r"\s+", " ", found[0]).strip().removeprefix("static inline ")


class Page:
    """A page as a reader sees it, in one line. Other names of a page lead to it."""

    def __init__(self, folder, name):
        self.errors = []
        path = os.path.join(folder, name + ".3")
        if not os.path.exists(path):
            self.text, self.errors = "", [f"{name} has no page"]
            return
        with open(path, encoding="utf-8") as file:
            text = file.read()
        link = re.match(r"\.so (man3/\S+)\n$", text)
        if link:
            with open(os.path.join(folder, "..", link[1]), encoding="utf-8") as file:
                text = file.read()
        text = re.sub(r"\\f.|\\&|^\.\S+ ?", "", text, flags=re.M).replace("\\-", "-")
        self.text = re.sub(r"\s+", " ", text)

    def needs(self, what):
        if what not in self.text:
            self.errors.append(f"the page lacks: {what}")


def everything(folder):
    """Returns the words of all pages of section 3."""
    text = ""
    for name in os.listdir(folder):
        if name.endswith(".3"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text += re.sub(r"\\f.", " ", file.read())
    return set(re.findall(r"\w+", text))


def wrong_references(source, folder):
    """Returns references to pages of the project with a section in which the page is not, such as o2top(8)."""
    sections = {}
    for name in [name.removesuffix(".scd") for name in os.listdir(f"{source}/man")] + os.listdir(folder):
        if re.search(r"\.[1-9]$", name):
            sections.setdefault(name[:-2], set()).add(name[-1])
    paths = [f"{folder}/{name}" for name in os.listdir(folder) if re.search(r"\.[37]$", name)] + [f"{source}/README.md"]
    for place, end in (("man", ".scd"), ("docs", ".md"), ("contrib/systemd", ".service.in"), ("include", ".h")):
        paths += [f"{source}/{place}/{name}" for name in os.listdir(f"{source}/{place}") if name.endswith(end)]
    errors = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"\\f.|[*\\]", "", file.read())
        errors += [f"{os.path.relpath(path, source)}: {name}({section})"
                   for name, section in re.findall(r"([\w-]+) ?\(([1-9])\)", text)
                   if section not in sections.get(name, section)]
    return errors


def check(number, name, errors):
    print("".join(f"# {error}\n" for error in errors), end="")
    print(f"{'not ok' if errors else 'ok'} {number} - {name}")
    return bool(errors)


def main():
    source, folder = sys.argv[1:3]
    failed = number = 0
    words = everything(folder)
    with open(f"{source}/src/glock/libglock.map", encoding="utf-8") as file:
        exported = re.findall(r"^\s+(glock_\w+);", file.read(), re.M)
    for header in ("glock", "glock-sim"):
        with open(f"{source}/include/{header}.h", encoding="utf-8") as file:
            text = file.read()
        functions = re.findall(r"^(?:#define |[a-z][\w *]*\b)(glock_\w+)\(", text, re.M)
        for function in sorted(set(functions + (exported if header == "glock" else []))):
            page = Page(folder, function)
            comment, code = comment_and_code(text, function)
            if not code: # a macro: its page shows it as a function without the call site
                code = comment_and_code(text, function + "_at")[1].rsplit(",", 1)[0].replace("_at(", "(") + ")"
                comment = comment_and_code(text, function + "_at")[0]
            page.needs(code)
            for error in set(re.findall(r"-E[A-Z]\w+", comment)):
                page.needs(error)
            number += 1
            failed += check(number, f"{function}(3)", page.errors)
        constants = re.findall(r"^#define (GLOCK_(?!_|H$|SIM_H$)\w+)", text, re.M)
        for values in re.findall(r"^enum \w+ \{(.*?)\}", text, re.M | re.S):
            constants += re.findall(r"\bGLOCK_\w+", re.sub(r"/\*.*?\*/", "", values, flags=re.S))
        lacking = [c for c in constants + re.findall(r"^struct (\w+) \{", text, re.M) if c not in words]
        number += 1
        failed += check(number, f"each constant and struct of {header}.h has a page", lacking)
    number += 1
    failed += check(number, "there are functions", [] if number > ENOUGH else [f"only {number}"])
    number += 1
    failed += check(number, "references name the section of the page", wrong_references(source, folder))
    number += 1
    if len(sys.argv) > 3:
        pages = sorted(f"{folder}/{name}" for name in os.listdir(folder) if re.search(r"\.[37]$", name))
        # a link would be read as the page that it leads to
        pages = [page for page in pages if not open(page, encoding="utf-8").read().startswith(".so ")]
        lint = subprocess.run([sys.argv[3], "-T", "lint", "-W", "warning", *pages], capture_output=True, text=True,
                              check=False)
        errors = (lint.stdout + lint.stderr).splitlines()
        failed += check(number, f"mandoc has no warning about {len(pages)} pages", errors)
    else:
        print(f"ok {number} - mandoc # SKIP needs program mandoc")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
