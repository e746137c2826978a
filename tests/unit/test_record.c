/* SPDX-License-Identifier: MIT */
/*
 * test_record.c - tests recordings in one file: exact to the byte; damage is named.
 */
#include "o2top/base/own_file.h"
#include "o2top/collect/recording/delta.h"
#include "o2top/collect/recording/frames.h"
#include "o2top/collect/recording/paths_kept.h"
#include "o2top/collect/recording/record.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

/* ---- deltas -------------------------------------------------------------------------------- */

static struct unpack column(const struct pack *p)
{
	return (struct unpack){p->data, p->data ? p->data + p->n : NULL, false};
}

static void free_delta(struct delta *d)
{
	pack_free(&d->runs);
	pack_free(&d->gaps);
	pack_free(&d->numbers);
	pack_free(&d->text);
}

/* Writes a text and reads it on the other side. Returns the number of bytes between the sides. */
static size_t across(struct known *from, struct known *to, const char *text, size_t len)
{
	struct delta d = {0};
	struct undelta u;
	char *copy = exact(text, len), *got;
	size_t n, bytes;

	assert_int_equal(delta_write(from, copy, len, &d), 0);
	free(copy);
	u = (struct undelta){column(&d.runs), column(&d.gaps), column(&d.numbers), column(&d.text)};
	assert_int_equal(delta_read(to, &u, &got, &n), 0);
	assert_int_equal(n, len);
	assert_memory_equal(got, text, len);
	assert_true(u.runs.at == u.runs.end && u.gaps.at == u.gaps.end &&
		    u.numbers.at == u.numbers.end && u.text.at == u.text.end);
	assert_int_equal(from->absent, to->absent);
	bytes = d.runs.n + d.gaps.n + d.numbers.n + d.text.n;
	free(got);
	free_delta(&d);
	return bytes;
}

static void delta_of_texts(void **state)
{
	static const char *const texts[] = {
	    "",
	    "one line\n",
	    "one line\nno newline",
	    "G:  s:EX n:2/805f f:Iqob t:EX d:EX/0 a:0 v:0 r:3 m:50\n H: s:EX f:H e:0 p:1770 [cp]\n",
	    "G:  s:SH n:2/805f f:Iqob t:SH d:EX/0 a:0 v:0 r:3 m:50\nG:  s:UN n:5/1\n",
	    "0x4\tM01\t3\t0x41\t18446744073709551615\t007\t-1\t\n0x4\tM02\t5\t0x41\t1\t7\t0\t\n",
	    "0x4\tM02\t5\t0x43\t1000000000000000000\t8\t1\t\n0x4\tM01\t3\t0x41\t0\t7\t-1\t\n",
	    "0x4\tF01\t1\n0x4\tF01\t2\n0x4\tF01\t3\n",
	    "0x4\tF01\t1\n0x4\tF01\t3\n",
	    " begins with a blank\n and goes on\nend",
	    "\n\n\n",
	    "",
	    "a\nb\nc\nd\n",
	    "d\nc\nb\na\n",
	    "word 1:2/3,4\n",
	    "word 1:2/3,5\n",
	    "word 1:2 3,5\n",
	};
	struct known from = {0}, to = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		across(&from, &to, texts[i], strlen(texts[i]));
	across(&from, &to, "nul\0inside\n", 11);
	known_free(&from);
	known_free(&to);
}

/* An equal text costs almost nothing. A line that returns costs only its change. */
static void delta_is_small(void **state)
{
	struct known from = {0}, to = {0};
	char text[256 * 64], *p;
	size_t bytes;

	(void)state;
	for (int round = 0; round < 3; round++) {
		p = text;
		for (int i = 0; i < 256; i++)
			/* round 1 omits each eighth line */
			if (round != 1 || i % 8)
				p += sprintf(p, "0x4\tM%05d\t3\t0x41\tsome text\t%d\n", i,
					     i == 8 ? 1000 + round : 5);
		bytes = across(&from, &to, text, (size_t)(p - text));
		if (round == 1) {
			assert_in_range(bytes, 32, 140);
			assert_int_equal(from.absent, 32);
		} else if (round == 2) {
			assert_in_range(bytes, 1, 16);
		}
	}
	known_free(&from);
	known_free(&to);
}

static size_t change_text(char *text, size_t len, size_t room, uint64_t *seed)
{
	static const char bytes[] = "0123456789 \t\n:/,abcxG-";
	unsigned n = (unsigned)(random_u64(seed) % 8);

	while (n--) {
		size_t at = len ? random_u64(seed) % len : 0, size = random_u64(seed) % 12;

		switch (random_u64(seed) % 4) {
		case 0:
			if (len)
				text[at] = bytes[random_u64(seed) % (sizeof(bytes) - 1)];
			break;
		case 1:
			size = size < len - at ? size : len - at;
			memmove(text + at, text + at + size, len - at - size);
			len -= size;
			break;
		case 2:
			if (len + size > room)
				break;
			memmove(text + at + size, text + at, len - at);
			for (size_t i = 0; i < size; i++)
				text[at + i] = bytes[random_u64(seed) % (sizeof(bytes) - 1)];
			len += size;
			break;
		default: /* lines change places */
			if (len > 40 && at > 20 && at < len - 20)
				for (size_t i = 0; i < 20; i++) {
					char c = text[at + i - 20];

					text[at + i - 20] = text[at + i];
					text[at + i] = c;
				}
		}
	}
	return len;
}

static void delta_at_random(void **state)
{
	uint64_t seed = 42;

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct known from = {0}, to = {0};
		char text[4096];
		size_t len = 0;

		for (int j = 0; j < 20; j++) {
			len = change_text(text, len, sizeof(text), &seed);
			across(&from, &to, text, len);
		}
		known_free(&from);
		known_free(&to);
	}
}

/* Whatever the columns contain, the reader ends, and wrong numbers do not mislead it. */
static void delta_of_garbage(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct known k = {0}, from = {0};
		unsigned char bytes[4][16];
		struct undelta u;
		struct unpack *columns[] = {&u.runs, &u.gaps, &u.numbers, &u.text};
		char *text = NULL;
		size_t len;
		int err;

		across(&from, &k, "a 1 2\nb 3 4\nc 5\n", 16);
		for (int c = 0; c < 4; c++) {
			size_t n = random_u64(&seed) % sizeof(bytes[c]);

			for (size_t j = 0; j < n; j++)
				bytes[c][j] = (unsigned char)(random_u64(&seed) % 16);
			*columns[c] = (struct unpack){bytes[c], bytes[c] + n, false};
		}
		err = delta_read(&k, &u, &text, &len);
		assert_true(err == 0 || err == -EBADMSG);
		assert_true(err == 0 || k.n == 0);
		free(text);
		known_free(&k);
		known_free(&from);
	}
}

/* ---- recordings ---------------------------------------------------------------------------- */

static const char *const captures[] = {"ocfs2-hot", "ocfs2-hang", "gfs2-hot", "gfs2-hang"};
enum { CAPTURES = 4, SAMPLES_MOST = 8 };

static char *folder_of(const char *capture)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", getenv("O2TOP_CAPTURES"), capture) > 0);
	return path;
}

static char *temporary(void)
{
	char *path;
	int fd;

	assert_true(asprintf(&path, "%s/test-record-XXXXXX",
			     getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp") > 0);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	return path;
}

/* Returns all that a collector gives of a sample, as one text. */
static char *all_of(struct collector *c, const struct sample *sample)
{
	struct pack p = {0};
	char buf[4096], *text;

	for (size_t i = 0; i < sample->n_nodes; i++) {
		const struct node_sample *n = &sample->nodes[i];

		if (!n->present)
			continue;
		snprintf(buf, sizeof(buf), "node %s %d %lld %lld\n", n->name, n->has_clock,
			 (long long)n->real_us, (long long)n->mono_us);
		pack_bytes(&p, buf, strlen(buf));
		for (size_t j = 0; j < n->n_spaces; j++)
			for (int kind = 0; kind < FILE_KINDS; kind++) {
				struct input in;
				ssize_t got;

				snprintf(buf, sizeof(buf), "file %s %d\n", n->spaces[j].name, kind);
				if (c->ops->open(c, n, &n->spaces[j], (enum file_kind)kind, &in))
					continue;
				pack_bytes(&p, buf, strlen(buf));
				while ((got = in.read(&in, buf, sizeof(buf))) > 0)
					pack_bytes(&p, buf, (size_t)got);
				assert_int_equal(got, 0);
				in.close(&in);
			}
	}
	pack_bytes(&p, "", 1);
	assert_false(p.failed);
	text = exact((const char *)p.data, p.n);
	pack_free(&p);
	return text;
}

/* Records a capture into `path`. Stores the text of each sample. */
static size_t record(const char *capture, const char *path, char *texts[SAMPLES_MOST])
{
	char *folder = folder_of(capture);
	struct problems problems = {0};
	struct banners banners = {0};
	struct collector *c, *recorder;
	struct sample sample;
	size_t n = 0;

	assert_int_equal(collect_recording(&c, &folder, 1, NULL, 0, false, &problems), 0);
	assert_int_equal(
	    collect_recorder(&recorder, c, &(struct record_options){.path = path}, &problems), 0);
	while (recorder->ops->next(recorder, &sample, &problems) == 1) {
		assert_true(n < SAMPLES_MOST);
		texts[n++] = all_of(recorder, &sample);
		assert_int_equal(recorder_sampled(recorder, &problems, &banners), 0);
	}
	assert_int_equal(problems.count, 0);
	recorder->ops->close(recorder);
	free(folder);
	return n;
}

/* Makes a recording of two captures, one after the other, as two runs of o2top do. */
static size_t record_two(const char *path, char *texts[2 * SAMPLES_MOST])
{
	size_t n;

	unlink(path);
	n = record("ocfs2-hot", path, texts);
	return n + record("gfs2-hang", path, texts + n);
}

static void free_texts(char **texts, size_t n)
{
	while (n)
		free(texts[--n]);
}

static void recorded_is_read(void **state)
{
	(void)state;
	for (int i = 0; i < CAPTURES; i++) {
		char *texts[SAMPLES_MOST], *path = temporary();
		struct problems problems = {0};
		struct collector *c;
		struct sample sample;
		uint64_t seed = 3;
		size_t n;

		unlink(path);
		n = record(captures[i], path, texts);
		assert_true(is_recording(path));
		assert_int_equal(collect_replay(&c, path, NULL, 0, &problems), 0);
		assert_int_equal(c->replay->count(c), n);
		for (size_t j = 0; j < n; j++) {
			char *text;

			assert_int_equal(c->ops->next(c, &sample, &problems), 1);
			text = all_of(c, &sample);
			assert_string_equal(text, texts[j]);
			free(text);
		}
		assert_int_equal(c->ops->next(c, &sample, &problems), 0);
		/* in any order */
		for (size_t j = 0; j < 50; j++) {
			size_t at = random_u64(&seed) % n;
			char *text;

			c->replay->seek(c, at);
			assert_int_equal(c->ops->next(c, &sample, &problems), 1);
			text = all_of(c, &sample);
			assert_string_equal(text, texts[at]);
			free(text);
		}
		assert_int_equal(problems.count, 0);
		c->ops->close(c);
		free_texts(texts, n);
		unlink(path);
		free(path);
	}
}

/*
 * Counts the unchanged samples: those from the first on, and all. A message must name each of the
 * others.
 */
static size_t whole_samples(const char *path, char *const *texts, size_t n, size_t *in_all,
			    struct problems *problems)
{
	struct collector *c;
	struct sample sample;
	size_t first = 0;
	bool so_far = true;

	*in_all = 0;
	if (collect_replay(&c, path, NULL, 0, problems))
		return 0;
	while (c->ops->next(c, &sample, problems) == 1) {
		char *text = all_of(c, &sample);
		bool same = false;

		for (size_t i = 0; i < n && !same; i++)
			same = strcmp(text, texts[i]) == 0;
		*in_all += same;
		so_far &= same;
		first += so_far;
		/* a changed sample is missing; it is never another text */
		if (!same)
			for (size_t i = 0; i < sample.n_nodes; i++)
				assert_false(sample.nodes[i].present);
		free(text);
	}
	c->ops->close(c);
	return first;
}

static char *contents(const char *path, size_t *len)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	char *bytes;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	*len = (size_t)st.st_size;
	bytes = malloc(*len + 1);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, *len), *len);
	close(fd);
	return bytes;
}

static void set_contents(const char *path, const char *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

/*
 * The recording is cut off at any byte. Only the sample with the cut is lost, and the recording can
 * be continued.
 */
static void cut_off(void **state)
{
	char *texts[3 * SAMPLES_MOST], *path = temporary(), *bytes;
	struct problems problems = {0};
	size_t n = record_two(path, texts), len, before = 0, all;
	struct frames f;

	(void)state;
	bytes = contents(path, &len);
	assert_int_equal(frames_open(&f, path, &problems), 0);
	assert_int_equal(f.n, n);
	for (size_t i = 0; i < n; i++) {
		size_t head = (size_t)f.list[i].offset - 24, end = head + 24 + f.list[i].length;
		const size_t cuts[] = {head, head + 1, head + 23, head + 24, end - 1};

		for (size_t j = 0; j < sizeof(cuts) / sizeof(cuts[0]); j++) {
			size_t n_more;

			set_contents(path, bytes, cuts[j]);
			assert_int_equal(whole_samples(path, texts, n, &all, &problems), i);
			assert_int_equal(all, i);
			assert_int_equal(problems.count, cuts[j] != head);
			problems_clear(&problems);
			n_more = record("ocfs2-hang", path, texts + n);
			assert_int_equal(whole_samples(path, texts, n + n_more, &all, &problems),
					 i + n_more);
			assert_int_equal(problems.count, 0);
			free_texts(texts + n, n_more);
		}
		assert_true(i >= before);
		before = i;
	}
	/* less than a head */
	set_contents(path, bytes, 10);
	assert_int_equal(whole_samples(path, texts, n, &all, &problems), 0);
	assert_true(problems.count > 0);
	problems_clear(&problems);
	frames_close(&f);
	free(bytes);
	free_texts(texts, n);
	unlink(path);
	free(path);
}

/*
 * The recording is damaged at any byte. The samples before it stay, and so do those after a new
 * key.
 */
static void damaged(void **state)
{
	char *texts[2 * SAMPLES_MOST], *path = temporary(), *bytes;
	size_t n = record_two(path, texts), len, all;
	struct problems problems = {0};
	uint64_t seed = 11;
	struct frames f;

	(void)state;
	bytes = contents(path, &len);
	assert_int_equal(frames_open(&f, path, &problems), 0);
	for (int i = 0; i < 400; i++) {
		size_t at = 24 + random_u64(&seed) % (len - 24), hit = 0, size = 1;
		char *copy = exact(bytes, len);

		if (i % 4 == 3)
			size = random_u64(&seed) % 5000;
		for (size_t j = at; j < at + size && j < len; j++)
			copy[j] = (char)~copy[j];
		set_contents(path, copy, len);
		free(copy);
		while (hit < n && f.list[hit].offset + f.list[hit].length <= at)
			hit++;
		assert_int_equal(whole_samples(path, texts, n, &all, &problems), hit);
		assert_true(problems.count > 0);
		/* the second run begins with a key */
		if (hit < 5 && at + size < f.list[5].offset - 24)
			assert_int_equal(all, hit + n - 5);
		problems_clear(&problems);
	}
	frames_close(&f);
	free(bytes);
	free_texts(texts, n);
	unlink(path);
	free(path);
}

/* New answers about an inode replace the old ones. Words about a search are no answers. */
static void paths_are_kept(void **state)
{
	static const char first[] = "c:a 7 1 /m/x\nc:a 7 1 /m/link\nc:a 8 1 /m/y\nwalk c:a 3 1\n";
	static const char second[] = "c:a 7 1 /m/moved\nc:b 8 1 /n/y\nc:a 9 1 /cut";
	struct paths_kept k = {0};
	const struct buffer *all;

	(void)state;
	assert_null(paths_kept_add(&k, "node1", "", 0));
	all = paths_kept_add(&k, "node1", first, sizeof(first) - 1);
	assert_non_null(all);
	assert_int_equal(all->len, sizeof(first) - sizeof("walk c:a 3 1\n"));
	assert_memory_equal(all->data, first, all->len);
	all = paths_kept_add(&k, "node1", second, sizeof(second) - 1);
	assert_int_equal(all->len, strlen("c:a 8 1 /m/y\nc:a 7 1 /m/moved\nc:b 8 1 /n/y\n"));
	assert_memory_equal(all->data, "c:a 8 1 /m/y\nc:a 7 1 /m/moved\nc:b 8 1 /n/y\n", all->len);
	assert_null(paths_kept_add(&k, "node2", "", 0));
	paths_kept_free(&k);
}

/* Writes a recording of one frame whose packed payload is given. */
static void forge(const char *path, const void *packed, size_t n)
{
	unsigned char head[48] = "o2top recording\n";
	uint32_t hash = 2166136261u, words[3] = {1, (uint32_t)n, 0};
	int fd;

	head[16] = FRAMES_FORMAT;
	memcpy(head + 24, "o2tF", 4);
	memcpy(head + 28, words, sizeof(words));
	for (int i = 0; i < 24; i++)
		hash = (hash ^ head[24 + i]) * 16777619u;
	memcpy(head + 36, &hash, 4);
	set_contents(path, (const char *)head, sizeof(head));
	fd = open(path, O_WRONLY | O_APPEND);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, packed, n), n);
	close(fd);
}

/* Returns what reading the only frame of a file gives, with the size of its payload. */
static int read_only_frame(const char *path, size_t *size)
{
	struct problems problems = {0};
	unsigned char *payload;
	struct frames f;
	int err;

	assert_int_equal(frames_open(&f, path, &problems), 0);
	assert_int_equal(f.n, 1);
	err = frames_read(&f, 0, &payload, size);
	free(payload);
	frames_close(&f);
	problems_clear(&problems);
	return err;
}

/* The head of a payload is not believed: neither its size nor its window nor its end. */
static void forged(void **state)
{
	const size_t half = 10 << 20, whole = 2 * half;
	char *path = temporary(), *plain = calloc(1, whole);
	size_t room = ZSTD_compressBound(whole), n, size;
	char *packed = malloc(room);
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	uint64_t seed = 7;

	(void)state;
	assert_true(plain && packed && zstd);
	/* a kilobyte that claims megabytes */
	n = ZSTD_compress(packed, room, plain, whole, 19);
	assert_true(n < 4096);
	forge(path, packed, n);
	assert_int_equal(read_only_frame(path, &size), -EBADMSG);
	/* as much as a payload may shrink */
	n = ZSTD_compress(packed, room, plain, 60000, 6);
	forge(path, packed, n);
	assert_int_equal(read_only_frame(path, &size), 0);
	assert_int_equal(size, 60000);
	/* the end is missing */
	forge(path, packed, n - 1);
	assert_int_equal(read_only_frame(path, &size), -EBADMSG);
	/* bytes follow the end */
	forge(path, packed, n + 1);
	assert_int_equal(read_only_frame(path, &size), -EBADMSG);
	/* a window of 64 MiB */
	for (size_t i = 0; i < half; i += 8) {
		uint64_t word = random_u64(&seed);

		memcpy(plain + i, &word, 8);
	}
	memcpy(plain + half, plain, half);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, 26);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_contentSizeFlag, 0);
	n = ZSTD_compress2(zstd, packed, room, plain, whole);
	forge(path, packed, n);
	assert_int_equal(read_only_frame(path, &size), -EBADMSG);
	/* and one of 8 MiB */
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, 23);
	n = ZSTD_compress2(zstd, packed, room, plain, whole);
	forge(path, packed, n);
	assert_int_equal(read_only_frame(path, &size), 0);
	assert_int_equal(size, whole);
	ZSTD_freeCCtx(zstd);
	free(packed);
	free(plain);
	unlink(path);
	free(path);
}

static bool says(const struct problems *p, const char *what)
{
	for (size_t i = 0; i < p->kept; i++)
		if (strstr(p->text[i], what))
			return true;
	return false;
}

/* Prepares a file for appending, as a recorder does. Returns 0 or a negative errno. */
static int prepare(const char *path)
{
	int err, fd = own_open_path(path, 0600);
	uint64_t size;

	assert_true(fd >= 0);
	err = frames_prepare(fd, &size);
	close(fd);
	return err;
}

/* From a newer o2top: a message names an unknown format. Parts of unknown kinds are passed over. */
static void newer(void **state)
{
	char *texts[2 * SAMPLES_MOST], *path = temporary(), *bytes;
	struct problems problems = {0};
	struct pack payload = {0};
	size_t n, len, all;
	int fd;

	(void)state;
	unlink(path);
	n = record("ocfs2-hot", path, texts);
	pack_string(&payload, "what comes");
	fd = open(path, O_WRONLY | O_APPEND);
	assert_true(frames_append(fd, (enum frame_kind)99, 0, &payload) > 0);
	close(fd);
	n += record("ocfs2-hang", path, texts + n);
	assert_int_equal(whole_samples(path, texts, n, &all, &problems), n);
	assert_int_equal(all, n);
	assert_true(says(&problems, "this o2top skips 1 parts that it does not know"));
	problems_clear(&problems);

	bytes = contents(path, &len);
	bytes[16] = 9;
	set_contents(path, bytes, len);
	assert_int_equal(whole_samples(path, texts, n, &all, &problems), n);
	assert_true(says(&problems, "the format is 9"));
	problems_clear(&problems);
	/* o2top does not append to it */
	assert_int_equal(prepare(path), -EPROTO);

	set_contents(path, "something else\n that is long enough to be one", 45);
	assert_false(is_recording(path));
	assert_int_equal(prepare(path), -EBADMSG);
	pack_free(&payload);
	free(bytes);
	free_texts(texts, n);
	unlink(path);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(delta_of_texts),   cmocka_unit_test(delta_is_small),
	    cmocka_unit_test(delta_at_random),  cmocka_unit_test(delta_of_garbage),
	    cmocka_unit_test(recorded_is_read), cmocka_unit_test(cut_off),
	    cmocka_unit_test(damaged),          cmocka_unit_test(newer),
	    cmocka_unit_test(forged),           cmocka_unit_test(paths_are_kept),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
