# SPDX-License-Identifier: MIT
"""switched.py - writes one copy of the sources, in which each mutant is behind a switch.

usage: switched.py FOLDER DEPFILE FILE... -- OUTPUT...

The copy of src/ comes into FOLDER/src. A FILE is a source of it, and its OUTPUT includes the copy of
that FILE. Headers are copied, too. The last OUTPUT is the list of the mutants: mutant.h.

A mutant changes the parts of a line that differ between its old and its new text. So several mutants
of one line stand side by side, if they do not change the same words.
"""
import difflib
import glob
import hashlib
import os
import re
import sys

import mutate

FOLDERS = ('base', 'glock', 'lockman')
TOKEN = re.compile(r'\w+|\s+|"(?:\\.|[^"\\])*"|.', re.S)


def differences(before, after):
    """Yields (begin, end, begin of new, end of new) of each difference. White space does not count."""
    before, after = ([' ' if t.isspace() else t for t in tokens] for tokens in (before, after))
    same = len(os.path.commonprefix([before, after]))
    match = difflib.SequenceMatcher(None, before[same:], after[same:], autojunk=False)
    for tag, *places in match.get_opcodes():
        if tag != 'equal':
            yield [same + place for place in places]


def edits(mutant, text):
    """Yields (begin, end, new text) of each part of the text that the mutant changes."""
    for old, new in mutant.changes:
        words = '\n'.join(old).split()
        found = list(re.finditer(r'\s+'.join(re.escape(w) for w in words), text))
        if len(found) != 1:
            sys.exit('switched: %s: the old text is not once in %s' % (mutant.name, mutant.file))
        before = TOKEN.findall(found[0].group())
        after = TOKEN.findall('\n'.join(new))
        places = [found[0].start()]
        for token in before:
            places.append(places[-1] + len(token))
        for i, k, first, last in differences(before, after):
            yield places[i], places[k], ''.join(after[first:last])


def with_mutants(path, text, numbered):
    """Returns the text of a file with all its mutants."""
    todo = []
    for number, mutant in numbered:
        if mutant.file == path:
            for begin, end, new in edits(mutant, text):
                new = re.sub(r'\bMUTANT\b', 'MUTANT(%d)' % number, new)
                todo.append((begin, end, number, mutant.name, new))
    todo.sort()
    parts, last, before = [], 0, None
    for begin, end, _, name, new in todo:
        if begin < last:
            sys.exit('switched: "%s" and "%s" change the same words of %s' % (before, name, path))
        parts += [text[last:begin], new]
        last, before = end, name
    return ''.join(parts) + text[last:]


def write(path, text):
    """Writes a file, unless it has this text: nothing is compiled again then."""
    if not os.path.exists(path) or mutate.read(path) != text:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)


def list_of(numbered):
    """Returns the list of the mutants in C."""
    lines = ['#include "mutant.h"', '', 'int glock__mutant;', 'const struct mutant mutants[] = {',
             '    {0},']
    for _, mutant in numbered:
        name, _, what = mutant.name.partition(': ')
        lines.append('    {.name = "%s", .what = "%s", .finder = "%s", .from = %d},'
                     % (name, what.replace('"', r'\"'), mutant.finder, mutant.begin))
    return '\n'.join(lines + ['};', 'const int mutants_end = %d;' % (len(numbered) + 1), ''])


def main():
    folder, depfile = sys.argv[1:3]
    files, outputs = ' '.join(sys.argv[3:]).split(' -- ')
    names = [os.path.relpath(os.path.abspath(f), mutate.ROOT) for f in files.split()]
    outputs = outputs.split()
    numbered = list(enumerate((m for m in mutate.read_mutants() if m.finder), 1))
    headers = []
    for part in FOLDERS:
        headers += glob.glob('src/%s/**/*.h' % part, root_dir=mutate.ROOT, recursive=True)
    left_out = [m.name for _, m in numbered if m.file not in names + headers]
    if left_out or len(outputs) != len(names) + 1:
        sys.exit('switched: no FILE of "%s", or too few outputs' % '", "'.join(left_out))
    copied = {n: with_mutants(n, mutate.read(os.path.join(mutate.ROOT, n)), numbered)
              for n in names + headers}
    for name, text in copied.items():
        write(os.path.join(folder, name), text)
    shared = hashlib.sha256(repr(sorted(copied[h] for h in headers)).encode())
    for name, output in zip(names, outputs):
        # The hash makes ninja compile again what the copy changes behind its back.
        own = shared.copy()
        own.update(copied[name].encode())
        write(output, '/* %s */\n#include "%s"\n' % (own.hexdigest(), os.path.join(
            os.path.abspath(folder), name)))
    write(outputs[-1], list_of(numbered))
    read = [os.path.join(mutate.ROOT, n) for n in copied]
    read += glob.glob(os.path.join(mutate.HERE, '*.mutants'))
    with open(depfile, 'w', encoding='utf-8') as file:
        file.write('%s: %s\n' % (' '.join(outputs), ' '.join(p.replace(' ', r'\ ') for p in read)))


if __name__ == '__main__':
    main()
