/* SPDX-License-Identifier: MIT */
/*
 * tui_screen.c - the terminal's state: set up, restored, and restored after a crash.
 *
 * The terminal belongs to other programs before and after. The means to restore it, escape
 * sequences and settings, are made ready before the terminal is changed. A signal handler can then
 * restore the terminal with write(2) and tcsetattr(3) alone after a crash.
 *
 * Signals that ask for something (end, stop, continue, another size) are bytes in a pipe. The loop
 * acts on them. Ncurses' own handlers do more than a handler may.
 */
#include "tui_impl.h"

#include "o2top/base/units.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static const int asking[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
static const int crashing[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};

enum { N_ASKING = sizeof(asking) / sizeof(asking[0]) };
enum { N_CRASHING = sizeof(crashing) / sizeof(crashing[0]) };

static struct {
	bool begun, mouse;
	volatile sig_atomic_t on; /* o2top has the terminal now */
	int pipe[2];
	struct sigaction old_asking[N_ASKING], old_crashing[N_CRASHING];
	struct termios before;
	bool has_before;
	char right[256]; /* escape sequences that restore the terminal */
	size_t right_len;
	attr_t attrs[ROLES];
	SCREEN *screen;
} screen;

/* ---- signals ------------------------------------------------------------------------------- */

static void on_asking(int number)
{
	unsigned char byte = (unsigned char)number;
	int saved = errno;

	/* a full pipe drops this signal, because the loop has enough signals to act on */
	if (write(screen.pipe[1], &byte, 1) < 0)
		errno = saved;
	errno = saved;
}

static void on_crash(int number)
{
	if (screen.on) {
		screen.on = 0;
		if (write(STDOUT_FILENO, screen.right, screen.right_len) < 0)
			screen.right_len = 0;
		if (screen.has_before)
			tcsetattr(STDIN_FILENO, TCSADRAIN, &screen.before);
	}
	/* the earlier handler does the rest: the default ends the process, a sanitizer reports */
	for (size_t i = 0; i < N_CRASHING; i++)
		if (crashing[i] == number)
			sigaction(number, &screen.old_crashing[i], NULL);
	raise(number);
}

static void screen_keep(const char *capability, const char *otherwise)
{
	const char *text = tigetstr(capability);
	size_t len;

	if (!text || text == (const char *)-1)
		text = otherwise;
	len = strlen(text);
	if (screen.right_len + len > sizeof(screen.right))
		return;
	memcpy(screen.right + screen.right_len, text, len);
	screen.right_len += len;
}

static void prepare_right(void)
{
	static const char mouse_off[] = "\033[?1000l\033[?1002l\033[?1006l";

	screen.right_len = 0;
	screen_keep("sgr0", "");
	if (screen.mouse) {
		memcpy(screen.right + screen.right_len, mouse_off, sizeof(mouse_off) - 1);
		screen.right_len += sizeof(mouse_off) - 1;
	}
	screen_keep("cnorm", "");
	screen_keep("rmkx", "");
	screen_keep("rmcup", "\n");
}

static void catch_signals(void)
{
	struct sigaction act = {.sa_handler = on_asking, .sa_flags = SA_RESTART};

	sigfillset(&act.sa_mask);
	for (size_t i = 0; i < N_ASKING; i++) {
		sigaction(asking[i], &act, &screen.old_asking[i]);
		/* ignore a signal that nohup(1) or a shell without job control ignores */
		if (screen.old_asking[i].sa_handler == SIG_IGN && asking[i] != SIGWINCH)
			sigaction(asking[i], &screen.old_asking[i], NULL);
	}
	act.sa_handler = on_crash;
	act.sa_flags = SA_ONSTACK | SA_NODEFER;
	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < N_CRASHING; i++)
		sigaction(crashing[i], &act, &screen.old_crashing[i]);
}

static void release_signals(void)
{
	for (size_t i = 0; i < N_ASKING; i++)
		sigaction(asking[i], &screen.old_asking[i], NULL);
	for (size_t i = 0; i < N_CRASHING; i++)
		sigaction(crashing[i], &screen.old_crashing[i], NULL);
}

/* Gives handlers a stack of their own, because a stack that overflowed cannot run a handler. */
static void other_stack(void)
{
	static char memory[64 * 1024];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)}, old;

	if (sigaltstack(NULL, &old) == 0 && (old.ss_flags & SS_DISABLE))
		sigaltstack(&stack, NULL);
}

/* ---- beginning and end --------------------------------------------------------------------- */

static void make_colours(bool wanted)
{
	/* start_color() sets COLORS, so COLORS is read afterwards */
	bool colours = wanted && has_colors() && start_color() == OK && COLORS >= 8;
	short pair = 1;

	if (colours)
		use_default_colors();
	for (int i = 0; i < ROLES; i++) {
		const struct colour *c = colour_of((enum role)i, colours);

		screen.attrs[i] = A_NORMAL;
		if (c->bold)
			screen.attrs[i] |= A_BOLD;
		if (c->faint)
			screen.attrs[i] |= A_DIM;
		if (c->reverse)
			screen.attrs[i] |= A_REVERSE;
		if (c->underline)
			screen.attrs[i] |= A_UNDERLINE;
		if (colours && (c->front >= 0 || c->back >= 0)) {
			init_pair(pair, c->front, c->back);
			screen.attrs[i] |= (attr_t)COLOR_PAIR(pair);
			pair++;
		}
	}
}

static void set_modes(void)
{
	cbreak();
	noecho();
	nonl();
	intrflush(stdscr, FALSE);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	meta(stdscr, TRUE);
	curs_set(0);
	if (screen.mouse) {
		mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
		mouseinterval(0);
	}
}

int screen_begin(const struct view_options *view, bool mouse)
{
	if (pipe2(screen.pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	screen.has_before = tcgetattr(STDIN_FILENO, &screen.before) == 0;
	screen.mouse = mouse;
	/* an escape byte is the Escape key if no byte follows within this time, in ms */
	setenv("ESCDELAY", "25", 0);
	screen.screen = newterm(NULL, stdout, stdin);
	if (!screen.screen) {
		close(screen.pipe[0]);
		close(screen.pipe[1]);
		return -ENOTTY;
	}
	screen.on = 1;
	screen.begun = true;
	prepare_right();
	other_stack();
	catch_signals();
	set_modes();
	make_colours(view->color);
	return 0;
}

void screen_end(void)
{
	if (!screen.begun)
		return;
	screen.begun = false;
	if (screen.mouse)
		mousemask(0, NULL);
	endwin();
	screen.on = 0;
	release_signals();
	delscreen(screen.screen);
	close(screen.pipe[0]);
	close(screen.pipe[1]);
}

/* Gives the terminal back, stops, and takes the terminal again when the process continues. */
void screen_suspend(void)
{
	if (screen.mouse)
		mousemask(0, NULL);
	endwin();
	screen.on = 0;
	fflush(stdout);
	raise(SIGSTOP);
	screen.on = 1;
	set_modes();
	clearok(stdscr, TRUE);
	refresh();
}

int screen_signal_fd(void)
{
	return screen.pipe[0];
}

bool screen_signals(bool *resized, int *signal_number)
{
	unsigned char bytes[64];
	bool stop = false;
	ssize_t n = read(screen.pipe[0], bytes, sizeof(bytes));

	for (ssize_t i = 0; i < n; i++)
		switch (bytes[i]) {
		case SIGTSTP:
			stop = true;
			break;
		case SIGCONT:
			/* another program may have changed the terminal in the meantime */
			if (!stop) {
				reset_prog_mode();
				set_modes();
				clearok(stdscr, TRUE);
			}
			/* fall through */
		case SIGWINCH:
			*resized = true;
			break;
		default:
			*signal_number = bytes[i];
			return false;
		}
	if (stop) {
		screen_suspend();
		*resized = true;
	}
	if (*resized) {
		struct winsize ws;

		if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_row && ws.ws_col)
			resizeterm(ws.ws_row, ws.ws_col);
	}
	return true;
}

/* ---- writing ------------------------------------------------------------------------------- */

struct tui_size screen_size(void)
{
	struct tui_size size;

	getmaxyx(stdscr, size.rows, size.columns);
	return size;
}

int screen_put(int y, int x, int end, enum role role, const char *text)
{
	mbstate_t state = {0};

	if (x >= end)
		return x;
	attrset(screen.attrs[role]);
	move(y, x);
	while (*text) {
		wchar_t wide;
		int width;
		size_t n = unit_char(text, &state, &wide, &width);

		/* an uncleaned text ends before the first character that must not be shown */
		if (width < 0 || x + width > end)
			break;
		/* a character without a width belongs to the character before */
		addnwstr(&wide, 1);
		x += width;
		text += n;
	}
	attrset(A_NORMAL);
	return x;
}

int screen_format(int y, int x, int end, enum role role, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return screen_put(y, x, end, role, text);
}

void screen_send(const char *sequence)
{
	size_t n = strlen(sequence);

	/* curses has written its last frame by now, so the sequence stands between two frames */
	while (n > 0) {
		ssize_t sent = write(STDOUT_FILENO, sequence, n);

		if (sent < 0 && errno != EINTR)
			return;
		sequence += sent < 0 ? 0 : sent;
		n -= sent < 0 ? 0 : (size_t)sent;
	}
}

void screen_fill(int y, int x, int end, enum role role)
{
	attrset(screen.attrs[role]);
	for (move(y, x); x < end; x++)
		addch(' ');
	attrset(A_NORMAL);
}
