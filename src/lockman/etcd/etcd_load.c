/* SPDX-License-Identifier: MIT */
/* etcd_load.c - loads the plug-in of lock manager etcd, when a program first needs it. */
#include "etcd.h"

#include "base/version.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

static void load_say(const struct glock__etcd_options *o, const char *what, const char *why)
{
	char text[512];

	if (!o->log)
		return;
	snprintf(text, sizeof(text), "lock manager etcd: %s: %s", what, why);
	o->log(o->log_arg, text);
}

/* The folder of the environment is for builds that are not installed. */
static void *load_plugin(void)
{
	const char *dir = secure_getenv("GLOCK_PLUGINS");
	char path[2048]; /* a longer one is cut off, and not found */
	void *plugin;

	snprintf(path, sizeof(path), "%s/" GLOCK__ETCD_PLUGIN,
		 dir && *dir ? dir : GLOCK_PLUGIN_DIR);
	plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!plugin && !(dir && *dir)) /* the tree was moved: where the loader looks */
		plugin = dlopen(GLOCK__ETCD_PLUGIN, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	return plugin;
}

/* Stores the function of the plug-in. */
static int load_function(const struct glock__etcd_options *o, const char *name, void *fn)
{
	void *plugin = load_plugin(), *at;
	const char *version;

	if (!plugin) {
		load_say(o, "the plug-in is missing; install the package libglock-etcd", dlerror());
		return -ENOPKG;
	}
	version = dlsym(plugin, GLOCK__ETCD_VERSION);
	if (!version || strcmp(version, GLOCK__VERSION_TEXT) != 0) {
		load_say(o, "the plug-in is of another version than libglock; install both anew",
			 version ? version : "unknown");
		return -ENOPKG;
	}
	at = dlsym(plugin, name);
	memcpy(fn, &at, sizeof(at));
	return at ? 0 : -ENOPKG;
}

int glock__etcd_new(const struct glock__etcd_options *o, struct glock__lockman **lm)
{
	int (*open)(const struct glock__etcd_options *, struct glock__lockman **);
	int err = load_function(o, GLOCK__ETCD_OPEN, &open);

	return err ? err : open(o, lm);
}

int glock__etcd_look(const struct glock__etcd_options *o,
		     void (*tell)(void *arg, const struct glock__etcd_part *part), void *arg)
{
	int (*look)(const struct glock__etcd_options *,
		    void (*)(void *, const struct glock__etcd_part *), void *);
	int err = load_function(o, GLOCK__ETCD_LOOK_FN, &look);

	return err ? err : look(o, tell, arg);
}

int glock__etcd_remove(const struct glock__etcd_options *o)
{
	int (*remove)(const struct glock__etcd_options *);
	int err = load_function(o, GLOCK__ETCD_REMOVE, &remove);

	return err ? err : remove(o);
}
