/* SPDX-License-Identifier: MIT */
/*
 * etcd_text.h - texts for etcd's JSON gateway: JSON that is sent, fields that come back.
 *
 * The gateway writes bytes in base64, numbers of 64 bits as strings, and leaves out what is zero.
 */
#ifndef GLOCK__ETCD_TEXT_H
#define GLOCK__ETCD_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text that grows. Without memory it has `failed`, and the rest is left out. */
struct glock__text {
	char *s;
	size_t n, room;
	bool failed;
};

void glock__text_add(struct glock__text *t, const char *s, size_t n);
__attribute__((format(printf, 2, 3))) void glock__text_printf(struct glock__text *t,
							      const char *fmt, ...);
/* "NAME":"the bytes in base64" */
void glock__text_bytes(struct glock__text *t, const char *name, const void *bytes, size_t n);
void glock__text_free(struct glock__text *t);

/* Returns the number of that field, 0 without it. Numbers come as strings or as numbers. */
int64_t glock__json_number(const json_t *object, const char *name);
/* Returns the bytes of that field, to be freed by the caller. NULL: no memory, or no base64. */
unsigned char *glock__json_bytes(const json_t *object, const char *name, size_t *n);

#endif
