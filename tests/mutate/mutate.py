# SPDX-License-Identifier: MIT
"""mutate.py - breaks one line for each rule and each promise, and sees the named test fail.

usage: mutate.py check                     each mutant fits, each row has a mutant or a reason (TAP)
       mutate.py run [OPTION...] [NAME...] runs mutants: all, or those whose name or row has NAME
       mutate.py rows [TEXT]               rows without a mutant
       mutate.py rules                     a table of all rules: text, where it is built, test, source

       --some N:HASH   N rows, chosen by the text HASH (a commit)
       --work FOLDER   where copies are built: build-mutate
       --jobs N        copies that work at the same time: the number of processors, at most 4

A mutant is a paragraph of a file tests/mutate/*.mutants, for example:

    SH is no mode.
    file src/glock/base/mode.c.
    - old text, once in that file.
    + new text.
    rule L: A rule of the library, in this project's words.
    by tests/glock/test_mode.c:mode_cache_rules
    in Glock internal locking rules, cache table
    rule A part of a rule that another mutant names whole.
    promise Place: words of one promise of glock.h.
    also tests/x/test_y.c:test_z

A rule comes from a document: rules.mutants says which letter stands for which one. `by` names the test of the rule, and
`in` the place in the document. The tests of a promise have its mark: see tests/promises/promises.py.

A change of white space does not matter. Lines - and the lines + behind them make one change, and a
mutant may have several. The test of a row is the one that the row names. It must fail with the
mutant in place. `also` names a test of no row.

A mutant with `found FINDER` is behind a switch: its new text has the word MUTANT, which is true if
the mutant is chosen. switched.py writes all of these into one copy of the sources. FINDER is the
program that looks for it, and `found FINDER from N` tells it where to begin.

`run` first sees that the tests pass without a mutant. A test that never passes finds nothing.

The file `without` has the rows that no mutant can break, with a reason each.
"""
import argparse
import collections
import concurrent.futures
import glob
import hashlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, 'tests', 'mutate')
# A copy of the tree has no build-tools. Without an etcd its tests are skipped, and find nothing.
os.environ.setdefault('ETCD', os.path.join(ROOT, 'build-tools', 'usr', 'bin', 'etcd'))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'promises'))
import promises  # noqa: E402

# A test hangs because of the mutant if it takes so much longer than without.
SECONDS, TIMES = 25, 4


class Row:
    """A rule, a promise, or a test of neither: its key and its tests."""

    def __init__(self, kind, key, tests, source=''):
        self.kind, self.key, self.tests, self.source = kind, key, tests, source
        self.mutants, self.reason = [], None

    def name(self):
        return '%s %s' % (self.kind, self.key)


class Mutant:
    """Changes of one file, and the rows that they break."""

    def __init__(self, name):
        self.name, self.file = name, None
        self.changes = []  # (old lines, new lines)
        self.keys, self.rows = [], []
        self.rules = []  # those that this paragraph names whole
        self.finder, self.begin = None, 0  # of a mutant behind a switch

    def add(self, word, text):
        """Adds a line of old or new text. Old text behind new text begins another change."""
        if word == '-' and (not self.changes or self.changes[-1][1]):
            self.changes.append(([], []))
        self.changes[-1][word == '+'].append(text)

    def apply(self, text):
        """Returns the changed text, or None unless each old text is there once."""
        before = text
        for old, new in self.changes:
            words = '\n'.join(old).split()
            pattern = re.compile(r'\s+'.join(re.escape(w) for w in words))
            if not words or len(pattern.findall(text)) != 1:
                return None
            text = pattern.sub(lambda _, new=new: '\n'.join(new), text)
        text = re.sub(r'\bMUTANT\b', '1', text)
        return text if text.split() != before.split() else None


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def function_around(text, change):
    """Returns the name of the function, table or macro in which the change begins."""
    begin = re.search(r'\s+'.join(re.escape(w) for w in '\n'.join(change[0]).split()), text)
    names = re.findall(r'^(?:#define |[A-Za-z].*?[ *])(\w+)(?:\(|\[.*=|\s*=|$)', text[:begin.end()], re.M)
    return names[-1] if names else '?'


def read_rows(mutants):
    rows = [rule for mutant in mutants for rule in mutant.rules]
    tree = promises.Tree(ROOT)
    for sentence in tree.sentences:
        tests = sorted({row.test for row in tree.rows_of(sentence)})
        if tests:
            rows.append(Row('promise', '%s: %s' % (sentence.place, sentence.text), tests))
    return rows


def read_mutants():
    mutants = []
    for path in sorted(glob.glob(os.path.join(HERE, '*.mutants'))):
        for paragraph in re.split(r'\n\s*\n', read(path)):
            lines = [l for l in paragraph.splitlines() if l and not l.startswith('#')]
            if not lines:
                continue
            mutant = Mutant(lines[0])
            for line in lines[1:]:
                word, _, rest = line.partition(' ')
                if word == 'file':
                    mutant.file = rest
                elif word in '-+':
                    mutant.add(word, rest)
                elif word in ('rule', 'promise', 'also'):
                    mutant.keys.append((word, rest))
                elif word == 'by':  # the rule before it stands here whole
                    source, _, key = mutant.keys[-1][1].partition(': ')
                    mutant.keys[-1] = ('rule', key)
                    mutant.rules.append(Row('rule', key, [rest], source))
                elif word == 'in':
                    mutant.rules[-1].source += ': ' + rest
                elif word == 'found':
                    mutant.finder, _, begin = rest.partition(' from ')
                    mutant.begin = int(begin or 0)
                else:
                    sys.exit('%s: "%s" of "%s"' % (path, line, mutant.name))
            mutants.append(mutant)
    return mutants


def find_row(rows, kind, key):
    """Returns the one row that has the key, or a message."""
    place, _, words = key.partition(': ') if kind == 'promise' else ('', '', key)
    found = [r for r in rows if r.kind == kind and r.key.startswith(place) and words in r.key[len(place):]]
    exact = [r for r in found if r.key == key]
    if len(exact) == 1:
        return exact[0], None
    if len(found) == 1:
        return found[0], None
    return None, '%d rows have "%s %s"' % (len(found), kind, key)


def load():
    """Returns rows, mutants, and messages about what does not fit."""
    mutants, wrong, names = read_mutants(), [], set()
    rows = read_rows(mutants)
    for row in rows:
        for why in filter(None, (promises.trouble_with(ROOT, test) for test in row.tests)):
            wrong.append('%s: %s %s' % (row.name(), ', '.join(row.tests), why))
    for mutant in mutants:
        if mutant.name in names:
            wrong.append('two mutants are named "%s"' % mutant.name)
        names.add(mutant.name)
        path = os.path.join(ROOT, mutant.file or '?')
        if not os.path.exists(path):
            wrong.append('%s: no file %s' % (mutant.name, mutant.file))
        elif mutant.apply(read(path)) is None:
            wrong.append('%s: the old text is not once in %s, or nothing changes: write it anew'
                         % (mutant.name, mutant.file))
        text = '\n'.join(line for _, new in mutant.changes for line in new)
        if bool(mutant.finder) != bool(re.search(r'\bMUTANT\b', text)):
            wrong.append('%s: MUTANT and `found` belong together' % mutant.name)
        for kind, key in mutant.keys:
            if kind == 'also':
                mutant.rows.append(Row('also', key, [key]))
                continue
            row, message = find_row(rows, kind, key)
            if row:
                row.mutants.append(mutant)
                mutant.rows.append(row)
            else:
                wrong.append('%s: %s' % (mutant.name, message))
    for line in read(os.path.join(HERE, 'without')).splitlines():
        if not line or line.startswith('#'):
            continue
        entry, _, reason = line.rpartition(' | ')
        kind, _, key = entry.partition(' ')
        row, message = find_row(rows, kind, key)
        if not row:
            wrong.append('without: ' + message)
        elif not reason or row.mutants:
            wrong.append('without: "%s" has a mutant, or no reason' % entry)
        else:
            row.reason = reason
    return rows, mutants, wrong


# ---- check ----

def check():
    rows, mutants, wrong = load()
    bare = [r.name() for r in rows if not r.mutants and not r.reason]
    for number, (what, messages) in enumerate(
            (('each mutant fits the tree, and each rule has a test', wrong),
             ('each row has a mutant, or a reason why it has none', bare)), 1):
        for message in messages:
            print('# ' + message)
        print('%s %d - %s' % ('not ok' if messages else 'ok', number, what))
    with_mutant = sum(1 for r in rows if r.mutants)
    print('# %d mutants break %d of %d rows; %d rows have a reason' %
          (len(mutants), with_mutant, len(rows), sum(1 for r in rows if r.reason)))
    print('1..2')
    return 1 if wrong or bare else 0


# ---- a copy of the tree, built ----

def end_session(session):
    """Ends all processes of a test. Some have process groups of their own."""
    for stat in glob.glob('/proc/[0-9]*/stat'):
        try:
            fields = read(stat).rpartition(')')[2].split()
            if int(fields[3]) == session:
                os.kill(int(stat.split('/')[2]), signal.SIGKILL)
        except (OSError, IndexError):
            pass  # it has ended meanwhile


class Copy:
    """A copy of the tree in which one mutant at a time is built and tested."""

    def __init__(self, folder):
        self.folder = folder
        self.shm = os.path.join('/dev/shm', 'glock-mutate-%d' % os.getpid(),
                                os.path.basename(folder))
        self.hung = []  # functions that the time limit ended
        self.source = os.path.join(folder, 'src')
        self.build = os.path.join(folder, 'build')
        self.tests = {}

    def run(self, *command, **options):
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              encoding='utf-8', errors='replace', check=False, **options)

    def must(self, *command, **options):
        done = self.run(*command, **options)
        if done.returncode:
            sys.exit('mutate: %s fails:\n%s' % (' '.join(command), done.stdout[-4000:]))
        return done.stdout

    def make(self):
        """Copies the files of the commit and of the work on it."""
        listed = self.must('git', 'ls-files', '-co', '--exclude-standard', cwd=ROOT)
        wanted = set(n for n in listed.splitlines() if os.path.isfile(os.path.join(ROOT, n)))
        for name in wanted:
            self.take(name)
        for folder, _, names in os.walk(self.source):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, self.source) not in wanted:
                    os.remove(path)
        if not os.path.exists(os.path.join(self.build, 'build.ninja')):
            self.must('meson', 'setup', self.build, self.source, '-Dbuildtype=debug')
        self.must('ninja', '-C', self.build, 'build.ninja')

    def take(self, name):
        """Copies a file if its content differs, so that ninja builds no more than needed."""
        here, there = os.path.join(ROOT, name), os.path.join(self.source, name)
        with open(here, 'rb') as file:
            content = file.read()
        if os.path.exists(there):
            with open(there, 'rb') as file:
                if file.read() == content:
                    return
        os.makedirs(os.path.dirname(there), exist_ok=True)
        with open(there, 'wb') as file:
            file.write(content)
        shutil.copymode(here, there)

    def look(self):
        """Finds the program, or the command, of each test file."""
        targets = json.loads(self.must('meson', 'introspect', '--targets', self.build))
        tests = json.loads(self.must('meson', 'introspect', '--tests', self.build))
        programs = {}
        self.files = {t['id']: t['filename'] for t in targets}
        for target in targets:
            for part in target.get('target_sources', []):
                for source in part.get('sources', []):
                    name = os.path.relpath(source, self.source)
                    if target['type'] == 'executable':
                        programs.setdefault(name, set()).add(target['filename'][0])
        for test in tests:
            for argument in test['cmd']:
                path = self.path(argument)
                names = [n for n, files in programs.items() if path in files]
                if path.startswith(self.source + '/'):
                    names.append(os.path.relpath(path, self.source))
                for name in names:
                    self.tests.setdefault(name, []).append(test)

    def path(self, argument):
        """Returns the absolute path of an argument of a test."""
        return os.path.normpath(os.path.join(self.build, str(argument)))

    def targets(self, tests):
        """Returns what ninja has to build for these tests."""
        found = {'tests/mutate/only.so'}
        for test in tests:
            paths = [self.path(a) for a in test['cmd'] + list(test['env'].values())]
            for target in test['depends']:
                paths += self.files.get(target, [])
            found.update(os.path.relpath(p, self.build) for p in paths
                         if p.startswith(self.build + '/'))
        known = getattr(self, 'known', None)
        if known is None:
            out = self.must('ninja', '-C', self.build, '-t', 'targets', 'all')
            known = self.known = set(l.split(': ')[0] for l in out.splitlines())
        return sorted(t for t in found if t in known)

    def passes(self, test, function, seconds):
        """Runs a test for so long at most, and tells whether the function's test passes."""
        env = dict(os.environ, **test['env'])
        env['LD_PRELOAD'] = os.path.join(self.build, 'tests/mutate/only.so')
        env['GLOCK_ONLY'] = env['ADVERSARY'] = function
        env['GLOCK_DIR'] = env['IN_DIR'] = self.shm  # a test that is killed leaves its directory
        env['ADVERSARY_S'] = '10'  # the test's own limit
        os.makedirs(self.shm, exist_ok=True)
        # A file, because a process that the test left stopped would keep a pipe open.
        with tempfile.TemporaryFile('w+', encoding='utf-8', errors='replace') as output:
            process = subprocess.Popen(test['cmd'], stdout=output, stderr=subprocess.STDOUT,
                                       cwd=test['workdir'] or self.build, env=env,
                                       start_new_session=True)
            try:
                process.wait(timeout=seconds)
                output.seek(0)
                out = output.read()
            except subprocess.TimeoutExpired:
                out = ''
                self.hung.append(function)
            end_session(process.pid)
            process.wait()
        shutil.rmtree(self.shm, ignore_errors=True)
        named = re.findall(r'^(not ok|ok) \d+ -? ?(.*)$', out, re.M)
        lines = [state for state, name in named if re.search(r'\b%s\b' % re.escape(function), name)]
        if lines:
            return 'not ok' not in lines
        # A program with one result of its own, or with other names
        return process.returncode == 0 and not any(s == 'not ok' for s, _ in named)

    def tests_of(self, row):
        """Returns the tests of a row, each with its function."""
        for name in row.tests:
            file, _, function = name.partition(':')
            for test in self.tests.get(file, []):
                yield test, function

    def first_that_passes(self, row, usual):
        """Returns None if a test of the row fails, or else a message.

        usual[TEST, FUNCTION]: the seconds that the test takes without a mutant
        """
        pairs = list(self.tests_of(row))
        if not pairs:
            return 'no program for %s' % ', '.join(row.tests)
        for test, function in pairs:
            if not self.passes(test, function, SECONDS + TIMES * usual[test['name'], function]):
                return None
        return 'the test passes: %s' % ', '.join(row.tests)

    def try_as_it_is(self, row, usual):
        """Returns None if all tests of the row pass without a mutant, or else a message.

        Fills `usual`.
        """
        pairs = list(self.tests_of(row))
        built = self.targets([t for t, _ in pairs])
        self.must('ninja', '-C', self.build, *built)
        for test, function in pairs:
            began = time.time()
            passes = self.passes(test, function, test['timeout'] or 300)
            usual[test['name'], function] = time.time() - began
            if not passes:
                return 'the test fails without a mutant: %s' % function
        return None

    def try_mutant(self, mutant, rows, usual):
        """Returns (row, message) for each row; the message is None if its test fails."""
        path = os.path.join(self.source, mutant.file)
        text = read(path)
        built = self.targets([t for r in rows for t, _ in self.tests_of(r)])
        changed = mutant.apply(text)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(changed)
        try:
            done = self.run('ninja', '-C', self.build, *built)
            if done.returncode:
                tail = [l for l in done.stdout.splitlines() if 'error' in l][:2]
                return [(r, 'does not build: %s' % ' '.join(tail)) for r in rows]
            return [(r, self.first_that_passes(r, usual)) for r in rows]
        finally:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text)


# ---- run ----

def choose(rows, mutants, options):
    """Returns the mutants to run, each with the rows to look at."""
    chosen = {m.name: (m, list(m.rows)) for m in mutants}
    if options.some:
        number, _, text = options.some.partition(':')
        order = sorted((r for r in rows if r.mutants),
                       key=lambda r: hashlib.sha256((text + r.name()).encode()).digest())
        few = order[:int(number)]
        chosen = {}
        for row in few:
            mutant = row.mutants[0]
            chosen.setdefault(mutant.name, (mutant, []))[1].append(row)
    if options.names:
        chosen = {n: (m, r) for n, (m, r) in chosen.items()
                  if any(t in n or t in m.file or any(t in row.name() for row in r)
                         for t in options.names)}
    return [c for c in chosen.values() if c[1]]


def prepare(options, jobs):
    first = Copy(os.path.join(options.work, '0'))
    first.make()
    copies = [first]
    for number in range(1, jobs):
        copy = Copy(os.path.join(options.work, str(number)))
        copy.make()
        copies.append(copy)
    for copy in copies:
        copy.look()
    return copies


def run(options):
    rows, mutants, wrong = load()
    if wrong:
        sys.exit('\n'.join(wrong))
    todo = choose(rows, mutants, options)
    began = time.time()
    options.work = os.path.abspath(options.work)
    jobs = min(options.jobs, len(todo)) or 1
    free = queue.Queue()
    for copy in prepare(options, jobs):
        free.put(copy)
    print('# %d mutants for %d rows, %d at a time; ready after %.0f s' %
          (len(todo), sum(len(r) for _, r in todo), jobs, time.time() - began), flush=True)

    def with_copy(work):
        copy = free.get()
        copy.hung = []
        try:
            return work(copy), copy.hung
        finally:
            free.put(copy)

    def as_it_is(row):
        return with_copy(lambda copy: copy.try_as_it_is(row, usual))

    def one(item):
        return item[0], with_copy(lambda copy: copy.try_mutant(*item, usual))

    number = failed = 0
    broken, usual = {}, collections.defaultdict(int)
    by_tests = {', '.join(r.tests): r for _, some in todo for r in some}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for tests, (message, _) in zip(by_tests, pool.map(as_it_is, by_tests.values())):
            broken[tests] = message
        for mutant, (results, hung) in pool.map(one, todo):
            for row, message in results:
                message = broken[', '.join(row.tests)] or message
                number += 1
                failed += message is not None
                print('%sok %d - %s: %s' % ('not ' if message else '', number, mutant.name,
                                            row.name()[:90]), flush=True)
                if message:
                    print('#   ' + message, flush=True)
            for function in hung:
                print('#   the time limit ended %s of "%s"' % (function, mutant.name), flush=True)
    print('# %d of %d rows are held by their tests; %.0f s' %
          (number - failed, number, time.time() - began))
    print('1..%d' % number)
    shutil.rmtree('/dev/shm/glock-mutate-%d' % os.getpid(), ignore_errors=True)
    return 1 if failed or not number else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split('usage: ')[1].split('\n\nA mutant')[0])
    parser.add_argument('what', choices=('check', 'run', 'rows', 'rules'))
    parser.add_argument('names', nargs='*')
    parser.add_argument('--some')
    parser.add_argument('--work', default=os.path.join(ROOT, 'build-mutate'))
    parser.add_argument('--jobs', type=int, default=min(4, os.cpu_count() or 1))
    options = parser.parse_intermixed_args()
    if options.what == 'check':
        return check()
    if options.what == 'run':
        return run(options)
    rows = load()[0]
    if options.what == 'rules':
        print('| Rule | Where | Test | From |\n| --- | --- | --- | --- |')
        for row in rows:
            if row.kind == 'rule':
                where = sorted({'%s:%s' % (m.file, function_around(read(os.path.join(ROOT, m.file)), m.changes[0]))
                                for m in row.mutants})
                print('| %s | %s | %s | %s |' % (row.key, ', '.join(where), row.tests[0], row.source))
        return 0
    for row in rows:
        if not row.mutants and not row.reason and all(n in row.name() for n in options.names):
            print('%s\n    %s' % (row.name(), ', '.join(row.tests)))
    return 0


if __name__ == '__main__':
    sys.exit(main())
