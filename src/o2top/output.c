/* SPDX-License-Identifier: MIT */
/*
 * output.c - writes each frame to standard output, to the log and to the file for monitoring.
 */
#include "output.h"

#include "o2top/base/ending.h"
#include "o2top/base/own_file.h"
#include "o2top/base/problems.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int output_begin(struct output *out, const struct options *o)
{
	int fd, err = 0;

	*out = (struct output){.o = o, .check = CHECK_NONE};
	if (!o->log)
		return 0;
	/* A frame names paths and processes, as a recording does, so only this user may read it. */
	fd = own_open_path(o->log, 0600);
	if (fd < 0)
		err = fd;
	else if (!(out->log = fdopen(fd, "a")))
		err = -errno;
	if (!err)
		return 0;
	if (fd >= 0)
		close(fd);
	complain("%s: %s", o->log, own_why(err));
	return err;
}

void output_end(struct output *out)
{
	if (out->log)
		fclose(out->log);
	out->log = NULL;
	summary_free(&out->summary);
	counters_free(&out->counters);
}

/*
 * Returns whether there is anything that --check is to judge, and complains if not. A lock that is
 * idle is there.
 */
static bool has_checked(const struct options *o, const struct model *m)
{
	const char *fs = check_unknown_fs(&o->limits, m);

	if (fs && !o->filter.fs && !o->roots.mount_point) {
		complain("a limit names %s, which is no lock space here", fs);
		return false;
	}
	if (filter_finds(&o->filter, m))
		return true;
	if (o->filter.has_inode)
		complain("no node has a lock of inode %llu in memory%s%s",
			 (unsigned long long)o->filter.inode, o->filter.type ? " of type " : "",
			 o->filter.type ? o->filter.type : "");
	else if (o->filter.type)
		complain("no node has a lock of type %s in memory", o->filter.type);
	else
		complain("no node has a lock space%s%s", o->filter.fs ? " that --fs chooses: " : "",
			 o->filter.fs ? o->filter.fs : "");
	return false;
}

static int to_stdout(struct output *out, const struct frame *frame)
{
	const struct options *o = out->o;
	struct view_options view = o->view;

	if (o->json || o->csv || o->check)
		/* standard error shows problems to a user who pipes the lines into a program */
		for (size_t i = 0; i < frame->problems->kept; i++)
			complain("%s", frame->problems->text[i]);
	if (o->json)
		return view_json(stdout, frame, &view);
	if (o->collect)
		return 0;
	if (o->check) {
		/* without anything to judge the status is unknown; main prints that */
		if (!model_heard(frame->model) || !has_checked(o, frame->model))
			return 0;
		out->check = view_check(stdout, frame, &o->limits, &o->filter);
		return out->check == CHECK_NONE ? -EIO : 0;
	}
	if (o->csv) {
		view.head = out->frames == 0;
		return view_csv(stdout, frame, &view);
	}
	return o->textfile && !o->batch ? 0 : view_batch(stdout, frame, &view);
}

/* Adds a frame to the summary. A frame of one sample counts only if there is no other frame. */
static int to_summary(struct output *out, const struct frame *frame)
{
	for (size_t i = 0; i < frame->problems->kept; i++)
		complain("%s", frame->problems->text[i]);
	out->frames++;
	return summary_add(&out->summary, frame);
}

int output_summary(struct output *out, const struct model *m, const struct names *names,
		   const char *title)
{
	const struct options *o = out->o;
	int err;

	summary_finish(&out->summary, m, names, o->sort);
	err = summary_write(stdout, &out->summary,
			    o->json  ? SUMMARY_JSON
			    : o->csv ? SUMMARY_CSV
				     : SUMMARY_TEXT,
			    m, title, &o->view);
	if (err && !ending_pipe_broken())
		complain("standard output: %s", strerror(-err));
	out->failed |= err != 0;
	return err;
}

int output_frame(struct output *out, const struct frame *frame)
{
	const struct options *o = out->o;
	int err;

	if (o->summary)
		return to_summary(out, frame);
	err = to_stdout(out, frame);
	out->frames++;
	if (err) {
		/* after an interrupt or a broken pipe the user knows the reason */
		if (!ending() && !ending_pipe_broken())
			complain("standard output: %s", strerror(-err));
		out->failed = true;
	}
	if (!err && out->log) {
		struct view_options plain = o->view;

		plain.color = false;
		plain.columns = 0;
		err = view_batch(out->log, frame, &plain);
		if (err) {
			complain("%s: %s", o->log, strerror(-err));
			out->failed = true;
		}
	}
	if (!err && o->textfile) {
		int failed = counters_add(&out->counters, frame);

		failed =
		    failed ? failed : view_textfile(o->textfile, frame, &out->counters, &o->view);
		if (failed)
			complain("%s: %s", o->textfile, own_why(failed));
		/* A full disk may have room later, so only the last attempt counts. */
		out->stale = failed;
	}
	if (!err && !out->stale && !frame->problems->count)
		complain_forget();
	return err;
}
