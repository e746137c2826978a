# SPDX-License-Identifier: MIT
"""sentences.py - splits the text of a block into sentences, and a sentence into words."""

import re

# An abbreviation that never ends a sentence, and one that ends a sentence only before a capital letter.
NEVER = {"e.g.", "i.e.", "vs.", "cf.", "approx.", "resp.", "incl.", "fig.", "sec."}
SELDOM = {"etc.", "max.", "min.", "no.", "al."}

END = re.compile(r"""[.!?]+(?P<close>[)\]"'”’*_`]*)(?=\s|$)""")


def ends_here(text, mark):
    """Tells whether the mark (a match of END) ends a sentence of the text."""
    token = text[text.rfind(" ", 0, mark.start()) + 1:mark.end()].lstrip("([\"'*_`")
    if not re.search(r"\w", token):
        return False
    rest = text[mark.end():].lstrip()
    if not rest:
        return True
    low = rest.lstrip("([\"'*_`")[:1].islower()
    word = token.rstrip(")]\"'*_`").lower()
    if word in NEVER or word in SELDOM and low:
        return False
    if mark.group().startswith("..") and "]" in mark.group("close"):
        return False
    # "...", "!", "?" and a closing bracket before a small letter belong to the inside of a sentence
    if low and (mark.group()[0] in "!?" or mark.group().startswith("..") or ")" in mark.group("close")):
        return False
    return True


def split(text):
    """Returns the sentences of a text, each with its offset."""
    result, start = [], 0
    for mark in END.finditer(text):
        if ends_here(text, mark):
            result.append((start, text[start:mark.end()]))
            start = mark.end()
    result.append((start, text[start:]))
    stripped = ((offset + len(s) - len(s.lstrip()), s.strip()) for offset, s in result)
    return [(offset, s) for offset, s in stripped if s]


def words(sentence):
    """Returns the words: what stands between blanks and has a letter or a digit."""
    return [w for w in sentence.split() if re.search(r"[^\W_]", w)]
