# SPDX-License-Identifier: MIT
# terminal.py - runs a program in a real terminal (tmux with its own server): keys in, screens out.
#
# Nothing depends on timing. The test waits by looking at the screen, for up to PATIENCE seconds and LOOKS looks. So a
# machine that stands still, or is very busy, takes nothing from the program.

import os
import shlex
import shutil
import subprocess
import tempfile
import time

# The sanitizer's search for leaks traces the program. A program without its privileges does not
# allow that, and then it sometimes never ends. The tests without a screen find leaks of o2top.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
PATIENCE = float(os.environ.get("PATIENCE", "60"))
LOOKS = 500


class Patience:
    """Tells when a test has waited long enough."""

    def __init__(self):
        self.end, self.looks = time.monotonic() + PATIENCE, 0

    def is_over(self):
        self.looks += 1
        return self.looks > LOOKS and time.monotonic() > self.end


class Terminal:
    def __init__(self, columns=80, rows=24, term="tmux-256color", environment=None):
        self.folder = tempfile.mkdtemp(prefix="o2top-tui-")
        self.socket = os.path.join(self.folder, "socket")
        config = os.path.join(self.folder, "config")
        with open(config, "w") as f:
            f.write(f"set -g default-terminal {term}\nset -g status off\nset -g mouse off\nset -sg escape-time 0\n"
                    "set -g remain-on-exit off\nset -g history-limit 200\nset -g set-clipboard on\n")
        env = {"TERM": "xterm", "LC_ALL": "C.UTF-8", "TZ": "UTC", "PS1": "ready> ", "HOME": self.folder,
               "PATH": os.environ["PATH"], "ASAN_OPTIONS": os.environ["ASAN_OPTIONS"]}
        env.update(environment or {})
        self.env = env
        self.old_mouse = not term.startswith("xterm")
        # a shell without job control would not see Ctrl-Z
        self.tmux("-f", config, "new-session", "-d", "-x", str(columns), "-y", str(rows), "sh", "-i")
        self.wait("ready>")

    def tmux(self, *arguments):
        done = subprocess.run(["tmux", "-u", "-S", self.socket, *arguments], env=self.env, capture_output=True,
                              text=True, check=False)
        if done.returncode:
            raise AssertionError(f"tmux {arguments[0]}: {done.stderr.strip()}")
        return done.stdout

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def coloured(self):
        return self.tmux("capture-pane", "-p", "-e")

    def key(self, *keys):
        for key in keys:
            self.tmux("send-keys", key)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def run(self, *command):
        self.type(" ".join(shlex.quote(c) for c in command))
        self.key("Enter")

    def click(self, column, row):
        """Sends a click as terminals report it, in the new way and the old one. Both count from 0."""
        if self.old_mouse:
            for button in " #":
                self.type(f"\x1b[M{button}{chr(33 + column)}{chr(33 + row)}")
            return
        for end in "Mm":
            self.type(f"\x1b[<0;{column + 1};{row + 1}{end}")

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def wait(self, *texts, gone=()):
        """Waits until all texts are on the screen, and none of the forbidden ones."""
        patience = Patience()
        while True:
            screen = self.screen()
            if all(t in screen for t in texts) and not any(t in screen for t in gone):
                return screen
            if patience.is_over():
                raise AssertionError(f"waited for {texts} without {gone}; the screen:\n{screen}")
            time.sleep(0.02)

    def until(self, holds):
        """Tells whether the screen comes to fulfil the condition."""
        patience = Patience()
        while not holds(self.screen()):
            if patience.is_over():
                return False
            time.sleep(0.02)
        return True

    def settled(self):
        """Returns a screen that did not change for a while. Only for a comparison that is repeated."""
        before = None
        while before != (now := self.screen()):
            before = now
            time.sleep(0.3)
        return now

    def pid_of(self, name):
        shell = self.tmux("list-panes", "-F", "#{pane_pid}").strip()
        found = subprocess.run(["ps", "--ppid", shell, "-o", "pid=,comm="], capture_output=True, text=True,
                               check=False).stdout
        for line in found.splitlines():
            pid, comm = line.split(None, 1)
            if comm.strip() == name:
                return int(pid)
        raise AssertionError(f"no {name} runs there: {found}")

    def modes(self):
        """Returns the modes that the terminal was set to."""
        return self.tmux("list-panes", "-F", "alt=#{alternate_on} cursor=#{cursor_flag} mouse=#{mouse_any_flag}"
                         " keypad=#{keypad_cursor_flag}").strip()

    def clipboard(self):
        """Returns the text that a program copied with OSC 52, or None."""
        done = subprocess.run(["tmux", "-u", "-S", self.socket, "show-buffer"], env=self.env, capture_output=True,
                              text=True, check=False)
        return None if done.returncode else done.stdout

    def close(self):
        try:
            self.tmux("kill-server")
        except AssertionError:
            pass
        shutil.rmtree(self.folder, ignore_errors=True)
