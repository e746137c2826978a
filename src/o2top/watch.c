/* SPDX-License-Identifier: MIT */
#include "watch.h"

#include "conditions.h"
#include "waits.h"

int watch_sample(struct watch *w, const struct sample *sample)
{
	int err = model_sample(w->model, w->collector, sample);

	w->sample = *sample;
	if (err)
		return err;
	conditions_read(w->model, w->collector, sample);
	err = waits_read(w->model, w->collector, sample);
	if (!err && !w->no_paths)
		paths_take(&w->paths, w->names, w->model, w->collector, sample);
	return err;
}

void watch_ranked(struct watch *w, const struct group *g)
{
	if (!w->no_paths)
		paths_ask(&w->paths, w->model, g, w->collector, &w->sample,
			  w->rows ? w->rows : 100);
}

void watch_free(struct watch *w)
{
	paths_free(w->paths);
	w->paths = NULL;
}
