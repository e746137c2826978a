/* SPDX-License-Identifier: MIT */
/*
 * watch.c - the sequence for one sample: model, conditions, the DLM's dumps, paths.
 */
#include "watch.h"

#include "o2top/advice/advice.h"
#include "o2top/advice/advice_impl.h"
#include "o2top/plocks/plocks_read.h"
#include "o2top/sources/sources.h"

int watch_sample(struct watch *w, const struct sample *sample)
{
	int err = model_sample(w->model, w->collector, sample);

	w->sample = *sample;
	if (err)
		return err;
	conditions_read(w->model, w->collector, sample);
	err = plocks_read(w->model, w->collector, sample);
	if (!err)
		err = waits_read(w->model, w->collector, sample);
	if (!err)
		err = dlm_plocks_read(w->model, w->collector, sample);
	daemons_read(w->model, w->collector, sample);
	if (!err)
		one_cause(w->model);
	if (!err && w->effort != PATHS_NONE)
		paths_take(&w->paths, w->names, w->model, w->collector, sample);
	if (!err)
		scan_banners(w->model, w->names ? *w->names : NULL);
	if (!err)
		unprotected_banners(w->model, w->names ? *w->names : NULL);
	return err;
}

void watch_ranked(struct watch *w, const struct group *g)
{
	if (w->effort != PATHS_NONE)
		paths_ask(&w->paths, w->model, g, w->collector, &w->sample, w->rows ? w->rows : 100,
			  w->effort == PATHS_WHOLE);
}

void watch_free(struct watch *w)
{
	paths_free(w->paths);
	w->paths = NULL;
}
