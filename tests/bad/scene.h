/* SPDX-License-Identifier: MIT */
/*
 * scene.h - a made-up recording in its own folder, the run of o2top on it, and the output.
 *
 * This code prints lines by the kernel's source, not by o2top's own printers. Sample n of a
 * recording is tN. Unless a test says otherwise, a sample comes 5 s after the one before it, by
 * both clocks.
 */
#ifndef O2TOP_SCENE_H
#define O2TOP_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdbool.h>

#define UUID "2AAE8B67B17D4F169DF133216A14ED3D"
#define TABLE "lab:fs1"

#define REAL0 1000000.0 /* realtime of t0 */
#define UP0 5000.0      /* uptime of t0 */
#define STEP 5.0

struct scene {
	char root[64];
	int status; /* o2top's exit status */
	char *out, *err;
	json_t *frames[16];
	size_t n_frames;
};

/* cmocka's setup and teardown: *state is a struct scene. */
int scene_setup(void **state);
int scene_teardown(void **state);

/* Appends to a file below the recording. Creates its folders as needed. */
__attribute__((format(printf, 3, 4))) void scene_file(struct scene *s, const char *path,
						      const char *format, ...);
/* Writes the clocks of a node in sample t. scene_clock() derives them from t. */
void scene_clocks(struct scene *s, int t, const char *node, double realtime,
		  double uptime); /* negative: none */
void scene_clock(struct scene *s, int t, const char *node);

/* A line of locking_state. A field that is 0 shows the value of an idle lock. */
struct state_line {
	int version; /* 0 is 4 */
	char type;   /* 0 is M */
	unsigned long long ino;
	unsigned generation;
	int level;
	unsigned flags; /* 0 is 0x41 */
	int action, requested;
	unsigned gets[2], fails[2];
	unsigned long long total_ns[2];
	unsigned max[2];
	unsigned long long last_us[2], wait_us;
	unsigned holders[2];
	int blocking; /* the mode that another node asks for; 0 is none */
};
void scene_line(struct scene *s, int t, const char *node, struct state_line l);
#define LINE(t, node, ...) scene_line(s, t, node, (struct state_line){__VA_ARGS__})
/* The members of a lock for which the node waits, in EX. */
#define WAITING .level = 0, .flags = 0x443, .action = 2, .requested = 3

/* Seconds after t0, as a stamp of the wall clock in us. */
#define STAMP(seconds) ((unsigned long long)((REAL0 + (seconds)) * 1e6))

/* A line of glstats. */
void scene_stats(struct scene *s, int t, const char *node, int type, unsigned long long number,
		 long long srttb_ns, unsigned long long dcnt, unsigned long long qcnt);
/* Writes a G: line. If `flags` is not NULL, an H: line of one process follows. */
void scene_glock(struct scene *s, int t, const char *node, int type, unsigned long long number,
		 const char *state, const char *flags, const char *mode, int pid, const char *comm);

/*
 * Runs o2top with these arguments, the last NULL. A lone "@" stands for the recording. Fails the
 * test on a report of a sanitizer.
 */
void scene_run(struct scene *s, ...);
/* The same with --json and the recording. Reads the objects. */
void scene_json(struct scene *s);
/* The same for a recording in one file, made of this recording. */
void scene_json_replayed(struct scene *s);

/* Return parts of the JSON: frame n, and its row of an inode or of a kind; NULL if missing. */
json_t *frame(const struct scene *s, size_t n);
json_t *row_of(json_t *frame, unsigned long long ino);
json_t *row_of_kind(json_t *frame, const char *kind);
json_t *node_in(json_t *frame_or_row, const char *node);
double number(const json_t *o, const char *key); /* fails the test if there is no number */
const char *word(const json_t *o, const char *key);
bool is_null(const json_t *o, const char *key);
/* Tells whether a banner of the frame has that text in it. */
bool has_banner(const json_t *f, const char *text);
/* Returns the seconds waited for an inode in frame n, or 0 without a row. */
double waited(const struct scene *s, size_t n, unsigned long long ino);
/* Returns the seconds waited per second of frame n. */
double rate(const struct scene *s, size_t n, unsigned long long ino);
/* Tells whether a problem of the frame holds this text. */
bool says(json_t *frame, const char *text);

#define assert_near(value, expected, tolerance)                                               \
	do {                                                                                  \
		double near_value = (value), near_expected = (expected);                      \
		if (!(near_value >= near_expected - (tolerance) &&                            \
		      near_value <= near_expected + (tolerance)))                             \
			fail_msg("%s is %g, not %g +- %g", #value, near_value, near_expected, \
				 (double)(tolerance));                                        \
	} while (0)

#endif
