/* SPDX-License-Identifier: MIT */
/*
 * tui.c - the loop of the terminal view.
 *
 * The loop sleeps until a key, a signal or a frame comes, acts, and draws once for all that came.
 */
#include "tui.h"

#include "tui_impl.h"

#include "o2top/base/ending.h"
#include "o2top/rank/rank.h"

#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the loop ------------------------------------------------------------------------------ */

static void rebuild(struct ui *ui)
{
	size_t inside = 0;

	/* inside an open row, the cursor stays as many lines below the row as before */
	while (ui->following && ui->cursor > inside && ui->cursor - inside < ui->list.n &&
	       !item_is_head(&ui->list.items[ui->cursor - inside]))
		inside++;
	if (list_build(ui, screen_size().columns))
		strcpy(ui->message, "not enough memory for all rows");
	cursor_find(ui);
	if (inside && ui->cursor + inside < ui->list.n)
		ui->cursor += inside;
	ui->dirty = false;
}

static void take_frame(struct ui *ui)
{
	struct snapshot *s;

	engine_status(ui->engine, &ui->status);
	/* a paused screen keeps its frame, and the newest frame waits in the engine */
	if (ui->held && !ui->step && ui->shot)
		return;
	s = engine_take(ui->engine);
	if (!s)
		return;
	ui->step = false;
	snapshot_free(ui->shot);
	ui->shot = s;
	ui->dirty = true;
}

static void take_keys(struct ui *ui)
{
	int key;

	while ((key = getch()) != ERR && !ui->quit) {
		if (key == KEY_MOUSE)
			key_mouse(ui);
		else if (key != KEY_RESIZE)
			key_press(ui, key);
		/* rebuild now, because the next key may act on the changed list */
		if (ui->dirty)
			rebuild(ui);
		engine_status(ui->engine, &ui->status);
	}
}

static int tui_loop(struct ui *ui)
{
	int signal_number = 0;

	while (!ui->quit) {
		struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
				       {.fd = screen_signal_fd(), .events = POLLIN},
				       {.fd = engine_fd(ui->engine), .events = POLLIN}};
		bool resized = false;

		take_frame(ui);
		if (ui->dirty)
			rebuild(ui);
		draw(ui);
		/* a paused screen does not poll the engine, whose descriptor stays readable */
		if (poll(fds, ui->held && !ui->step ? 2 : 3, -1) < 0 && errno != EINTR)
			return -errno;
		if (!screen_signals(&resized, &signal_number))
			break;
		if (resized)
			ui->dirty = true;
		if (fds[0].revents & POLLIN)
			take_keys(ui);
		/* leave if the terminal is gone; its descriptor is readable and at its end */
		if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			break;
	}
	return signal_number;
}

/* ---- beginning and end --------------------------------------------------------------------- */

static void set_columns(struct ui *ui)
{
	const char *names = ui->setup->columns;

	for (size_t i = 0; !names && i < COLUMNS; i++)
		if (columns[i].name)
			ui->columns[ui->n_columns++] = (int)i;
	while (names && *names && ui->n_columns < COLUMNS) {
		size_t len = strcspn(names, " ,\t");
		const struct column *c = len ? column_named(names, len) : NULL;

		if (c)
			ui->columns[ui->n_columns++] = (int)(c - columns);
		names += len;
		names += strspn(names, " ,\t");
	}
}

int tui_run(const struct tui_setup *setup)
{
	struct ui ui = {
	    .setup = setup, .sort = setup->engine.sort, .by_directory = setup->view->by_directory};
	int err;

	ui.all_system = setup->view->all_system;
	ui.hot_only = setup->engine.filter->hot_only;
	set_columns(&ui);
	if (setup->ignored)
		snprintf(ui.message, sizeof(ui.message), "%.1000s is ignored: %s", setup->config,
			 setup->ignored);
	err = engine_start(&ui.engine, &setup->engine);
	if (err)
		return err;
	err = screen_begin(setup->view, setup->mouse);
	if (!err) {
		/* a signal may have come before the screen's handlers were installed */
		err = ending();
		err = err ? err : tui_loop(&ui);
		/* restore the terminal first, because engine_stop() may wait for a sample */
		screen_end();
	}
	engine_stop(ui.engine);
	list_free(&ui.list);
	for (size_t i = 0; i < ui.n_open; i++)
		free(ui.open[i].directory);
	free(ui.open);
	cursor_forget(&ui);
	snapshot_free(ui.shot);
	return err == SIGINT ? 0 : err;
}
