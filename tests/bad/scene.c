/* SPDX-License-Identifier: MIT */
/*
 * scene.c - writes a made-up recording into its own folder, runs o2top on it, reads the output.
 */
#include "scene.h"

#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int scene_setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	if (!s)
		return -1;
	strcpy(s->root, "/tmp/o2top-bad-XXXXXX");
	if (!mkdtemp(s->root))
		return -1;
	*state = s;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void forget(struct scene *s)
{
	for (size_t i = 0; i < s->n_frames; i++)
		json_decref(s->frames[i]);
	s->n_frames = 0;
	free(s->out);
	free(s->err);
	s->out = s->err = NULL;
}

int scene_teardown(void **state)
{
	struct scene *s = *state;

	nftw(s->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	forget(s);
	free(s);
	return 0;
}

/* ---- making files -------------------------------------------------------------------------- */

static FILE *open_below(const struct scene *s, const char *path)
{
	char full[1024];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", s->root, path);
	for (char *p = full + strlen(s->root) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		mkdir(full, 0777);
	}
	f = fopen(full, "a");
	assert_non_null(f);
	return f;
}

void scene_file(struct scene *s, const char *path, const char *format, ...)
{
	FILE *f = open_below(s, path);
	va_list args;

	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	fclose(f);
}

void scene_clocks(struct scene *s, int t, const char *node, double realtime, double uptime)
{
	char path[256];

	if (realtime >= 0) {
		snprintf(path, sizeof(path), "t%d/%s/realtime", t, node);
		scene_file(s, path, "%.9f\n", realtime);
	}
	if (uptime >= 0) {
		snprintf(path, sizeof(path), "t%d/%s/uptime", t, node);
		scene_file(s, path, "%.2f 1.00\n", uptime);
	}
}

void scene_clock(struct scene *s, int t, const char *node)
{
	scene_clocks(s, t, node, REAL0 + t * STEP, UP0 + t * STEP);
}

void scene_line(struct scene *s, int t, const char *node, struct state_line l)
{
	int version = l.version ? l.version : 4;
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "t%d/%s/ocfs2/" UUID "/locking_state", t, node);
	f = open_below(s, path);
	fprintf(f, "0x%x\t%c000000%016llx%08x\t%d\t0x%x\t0x%x\t0x0\t%u\t%u\t%d\t%d\t", version,
		l.type ? l.type : 'M', l.ino, l.generation, l.level, l.flags ? l.flags : 0x41,
		l.action, l.holders[0], l.holders[1], l.requested, l.blocking ? l.blocking : -1);
	for (int i = 0; i < 64; i++)
		fputs("0x0\t", f);
	if (version >= 2)
		fprintf(f, "%u\t%u\t%u\t%u\t%llu\t%llu\t%u\t%u\t0\t", l.gets[0], l.gets[1],
			l.fails[0], l.fails[1], l.total_ns[0], l.total_ns[1], l.max[0], l.max[1]);
	if (version >= 4)
		fprintf(f, "%llu\t%llu\t%llu\t", l.last_us[0], l.last_us[1], l.wait_us);
	fputs("\n", f);
	fclose(f);
}

void scene_stats(struct scene *s, int t, const char *node, int type, unsigned long long ino,
		 long long srttb_ns, unsigned long long dcnt, unsigned long long qcnt)
{
	char path[256];

	snprintf(path, sizeof(path), "t%d/%s/gfs2/" TABLE "/glstats", t, node);
	scene_file(s, path,
		   "G: n:%d/%llx rtt:1000/500 rttb:%llu/500 irt:1000/500 dcnt: %llu qcnt: %llu\n",
		   type, ino, (unsigned long long)srttb_ns, dcnt, qcnt);
}

void scene_glock(struct scene *s, int t, const char *node, int type, unsigned long long ino,
		 const char *state, const char *flags, const char *mode, int pid, const char *comm)
{
	char path[256];

	snprintf(path, sizeof(path), "t%d/%s/gfs2/" TABLE "/glocks", t, node);
	scene_file(s, path, "G:  s:%s n:%d/%llx f:Iqob t:%s d:EX/0 a:0 v:0 r:3 m:50 p:1\n", state,
		   type, ino, state);
	if (flags)
		scene_file(s, path, " H: s:%s f:%s e:0 p:%d [%s] gfs2_open+0x1c/0x40 [gfs2]\n",
			   mode, flags, pid, comm);
}

/* ---- running ------------------------------------------------------------------------------- */

static char *slurp(FILE *f)
{
	size_t room = 0;
	char *text = NULL;

	rewind(f);
	if (getdelim(&text, &room, '\0', f) < 0 && text)
		*text = '\0';
	if (!text)
		text = strdup("");
	fclose(f);
	return text;
}

static void run_program(struct scene *s, char **argv)
{
	FILE *out = tmpfile(), *err = tmpfile();
	const char *program = getenv("O2TOP");
	int status;
	pid_t pid;

	forget(s);
	assert_non_null(program);
	argv[0] = (char *)program;
	pid = fork();
	if (pid == 0) {
		dup2(fileno(out), 1);
		dup2(fileno(err), 2);
		execv(program, argv);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	s->out = slurp(out);
	s->err = slurp(err);
	if (!WIFEXITED(status) || strstr(s->err, "Sanitizer") || strstr(s->err, "runtime error"))
		fail_msg("o2top: status %x: %.2000s", (unsigned)status, s->err);
	s->status = WEXITSTATUS(status);
}

void scene_run(struct scene *s, ...)
{
	char *argv[32] = {NULL}, *arg;
	va_list args;
	size_t n = 1;

	va_start(args, s);
	while ((arg = va_arg(args, char *)) && n < 31)
		argv[n++] = strcmp(arg, "@") == 0 ? s->root : arg;
	va_end(args);
	run_program(s, argv);
}

static void read_frames(struct scene *s)
{
	json_error_t error;
	char *line, *rest = s->out;

	while ((line = strsep(&rest, "\n")) && s->n_frames < 16) {
		if (!*line)
			continue;
		s->frames[s->n_frames] = json_loads(line, 0, &error);
		if (!s->frames[s->n_frames])
			fail_msg("line %zu of the output is no JSON: %s", s->n_frames + 1,
				 error.text);
		s->n_frames++;
	}
}

void scene_json(struct scene *s)
{
	scene_run(s, "--json", "@", NULL);
	read_frames(s);
}

void scene_json_replayed(struct scene *s)
{
	char file[80];

	snprintf(file, sizeof(file), "%s.o2r", s->root);
	scene_run(s, "--json", "--record", file, "@", NULL);
	scene_run(s, "--json", "--replay", file, NULL);
	remove(file);
	read_frames(s);
}

/* ---- reading ------------------------------------------------------------------------------- */

json_t *frame(const struct scene *s, size_t n)
{
	if (n >= s->n_frames)
		fail_msg("there is no frame %zu; status %d: %s", n, s->status, s->err);
	return s->frames[n];
}

static json_t *find(json_t *list, const char *key, const char *text, unsigned long long ino)
{
	json_t *o, *v;
	size_t i;

	json_array_foreach(list, i, o)
	{
		v = json_object_get(o, key);
		if (text ? json_is_string(v) && !strcmp(json_string_value(v), text)
			 : json_is_integer(v) && (unsigned long long)json_integer_value(v) == ino)
			return o;
	}
	return NULL;
}

json_t *row_of(json_t *frame, unsigned long long ino)
{
	return find(json_object_get(frame, "rows"), "ino", NULL, ino);
}

json_t *row_of_kind(json_t *frame, const char *kind)
{
	return find(json_object_get(frame, "rows"), "kind", kind, 0);
}

json_t *node_in(json_t *o, const char *node)
{
	return find(json_object_get(o, "nodes"), "name", node, 0);
}

double number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_number(v))
		fail_msg("%s is no number", key);
	return json_number_value(v);
}

const char *word(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_string(v))
		fail_msg("%s is no string", key);
	return json_string_value(v);
}

bool is_null(const json_t *o, const char *key)
{
	return json_is_null(json_object_get(o, key));
}

bool has_banner(const json_t *f, const char *text)
{
	json_t *b;
	size_t i;

	json_array_foreach(json_object_get(f, "banners"), i, b)
	{
		if (strstr(json_string_value(b), text))
			return true;
	}
	return false;
}

double waited(const struct scene *s, size_t n, unsigned long long ino)
{
	json_t *row = row_of(frame(s, n), ino);

	return row ? number(row, "wait_s") : 0;
}

double rate(const struct scene *s, size_t n, unsigned long long ino)
{
	json_t *row = row_of(frame(s, n), ino);

	return row ? number(row, "wait_s_per_s") : 0;
}

bool says(json_t *frame, const char *text)
{
	json_t *v;
	size_t i;

	json_array_foreach(json_object_get(frame, "problems"), i,
			   v) if (strstr(json_string_value(v), text)) return true;
	return false;
}
