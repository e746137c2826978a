# SPDX-License-Identifier: MIT
"""rules.py - finds the offences of one file against the rules of prose, and counts them.

headless   a sentence that begins with a bare Who, Whoever, Whom, Whose or What and asks nothing
persons    an indefinite person: somebody, nobody, anybody, everybody, someone, anyone, everyone, whoever
long       a sentence of more than 28 words
median     the median of words a sentence, where it is above 17 and the file has ten sentences or more
pairs      the percentage of sentences that stand in pairs of 9 words or fewer, where it is above 12 in a page that people
           read from its top. Of a header, the head alone counts.
columns    a line of C that is wider than 100 columns, with tabs of 8
"""

import re
import statistics

import readers
import sentences

RULES = ("headless", "persons", "long", "median", "pairs", "columns")
SHARES = ("median", "pairs")
ADDITIVE = tuple(rule for rule in RULES if rule not in SHARES)
LONG = 28
MEDIAN, MEDIAN_OF = 17, 10
COLUMNS = 100
SHORT, PAIRS = 9, 12
READ_ALOUD = ("README.md", "include/glock.h", "CONTRIBUTING.md", *(f"docs/{page}.md" for page in ("libglock", "o2top", "sqlite", "testing", "tutorial")))

PERSONS = re.compile(r"\b(?:(?:some|no|any|every)body|(?:some|any|every)one|who(?:m|se)?(?:so)?ever)\b", re.I)
OPENING = r"[\s(*_-]*"
HEADLESS = re.compile(OPENING + r"(?i:who(?:ever|mever|m|se)?|what)\b(?! to\b)(?![-/.'’(_])")
# Words behind a field, such as "what it holds", name the field's content. They are no subject.
PHRASE = re.compile(OPENING + r"what\b")
CELL_PHRASE = re.compile(OPENING + r"(?:wh|(?i:wh\w+)(?:\s+\S+)?$)")


class Offence:
    def __init__(self, rule, line, text):
        self.rule, self.line, self.text = rule, line, text

    def __repr__(self):
        return f"{self.rule} {self.line} {self.text!r}"


class Findings:
    """The findings in one file."""

    def __init__(self):
        self.offences = []
        self.sentences = 0
        self.median = self.pairs = 0

    def counts(self):
        """Returns {rule: count} of the rules with a count. A median or share up to its limit is no count."""
        result = {}
        for rule in ADDITIVE:
            count = sum(1 for offence in self.offences if offence.rule == rule)
            if count:
                result[rule] = count
        if self.sentences >= MEDIAN_OF and self.median > MEDIAN:
            result["median"] = self.median
        if self.pairs > PAIRS:
            result["pairs"] = self.pairs
        return result


def is_headless(block, sentence):
    if not HEADLESS.match(sentence) or re.search(r"\?[\W_]*$", sentence):
        return False
    if block.kind == readers.CELL:
        return not CELL_PHRASE.match(sentence)
    return not (block.trails and PHRASE.match(sentence))


def of_sentence(block, sentence):
    """Returns the rules that a sentence breaks, a rule once for each break."""
    found = ["persons"] * len(PERSONS.findall(sentence))
    if block.kind in (readers.HEADING, readers.CODE):
        return found
    if is_headless(block, sentence):
        found.append("headless")
    if len(sentences.words(sentence)) > LONG:
        found.append("long")
    return found


def wide_lines(text):
    for number, line in enumerate(text.split("\n"), 1):
        if len(line.expandtabs(8)) > COLUMNS:
            yield Offence("columns", number, line.strip())


def find(path, text, is_exempt=lambda path, text: False):
    """Returns the findings of a file. is_exempt(path, sentence) says what is not counted."""
    findings = Findings()
    lengths, paired, aloud = [], [], 0
    head = text.count("\n", 0, text.find("#ifndef")) if path.endswith(".h") else text.count("\n") + 1
    for block in readers.read(path, text):
        before = None  # the sentence before, if it is short
        for offset, sentence in sentences.split(block.text()):
            shown = sentence.replace(readers.JOINT, " ")
            if is_exempt(path, shown):
                continue
            length = len(sentences.words(sentence))
            if block.kind == readers.PROSE and length > 2:
                lengths.append(length)
                aloud += path in READ_ALOUD and block.line_at(offset) <= head
            line = block.line_at(offset)
            if block.kind == readers.PROSE and path in READ_ALOUD and line <= head:
                this = Offence("pairs", line, shown) if length <= SHORT else None
                paired += [o for o in (before, this) if before and this and o not in paired]
                before = this
            findings.offences.extend(Offence(rule, line, shown) for rule in of_sentence(block, sentence))
    if re.search(r"\.(?:c|h|cc)$", path):
        findings.offences.extend(o for o in wide_lines(text) if not is_exempt(path, o.text))
    findings.sentences = len(lengths)
    findings.median = int(statistics.median_low(lengths)) if lengths else 0
    findings.pairs = round(100 * len(paired) / aloud) if aloud else 0
    findings.offences.extend(paired if findings.pairs > PAIRS else [])
    return findings
