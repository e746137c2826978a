/* SPDX-License-Identifier: MIT */
/*
 * log.c - keeps the messages of the library for Space.messages() and for exceptions.
 *
 * The library may log under an internal lock. Therefore this file takes no GIL.
 */
#include "pyglock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 64 }; /* kept; then the oldest one goes */

struct py_log {
	pthread_mutex_t mutex;
	char *text[MESSAGES];
	unsigned int begin, count;
};

struct py_log *py_log_new(void)
{
	struct py_log *log = calloc(1, sizeof(*log));

	if (log)
		pthread_mutex_init(&log->mutex, NULL);
	return log;
}

void py_log_free(struct py_log *log)
{
	if (!log)
		return;
	for (unsigned int i = 0; i < log->count; i++)
		free(log->text[(log->begin + i) % MESSAGES]);
	pthread_mutex_destroy(&log->mutex);
	free(log);
}

void py_log_add(void *arg, const char *message)
{
	struct py_log *log = arg;
	char *copy = strdup(message);

	if (!copy)
		return;
	pthread_mutex_lock(&log->mutex);
	if (log->count == MESSAGES) {
		free(log->text[log->begin]);
		log->begin = (log->begin + 1) % MESSAGES;
		log->count--;
	}
	log->text[(log->begin + log->count++) % MESSAGES] = copy;
	pthread_mutex_unlock(&log->mutex);
}

/* Takes the oldest message, or NULL. The caller frees it. */
static char *take_one(struct py_log *log)
{
	char *text = NULL;

	pthread_mutex_lock(&log->mutex);
	if (log->count) {
		text = log->text[log->begin];
		log->begin = (log->begin + 1) % MESSAGES;
		log->count--;
	}
	pthread_mutex_unlock(&log->mutex);
	return text;
}

PyObject *py_log_take(struct py_log *log)
{
	PyObject *list = PyList_New(0), *one;
	char *text;
	int err = 0;

	while (list && !err && (text = take_one(log))) {
		one = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
		free(text);
		err = !one || PyList_Append(list, one);
		Py_XDECREF(one);
	}
	if (err)
		Py_CLEAR(list);
	return list;
}

void py_log_last(struct py_log *log, char *text, size_t size)
{
	text[0] = '\0';
	pthread_mutex_lock(&log->mutex);
	if (log->count)
		snprintf(text, size, "%s", log->text[(log->begin + log->count - 1) % MESSAGES]);
	pthread_mutex_unlock(&log->mutex);
}
