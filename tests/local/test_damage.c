/* SPDX-License-Identifier: MIT */
/*
 * test_damage.c - damages a space's file while no process uses it: bits of its contents change.
 *
 * The next process that opens the file uses it, makes it anew and says why, or refuses. No process
 * is killed by the damage.
 */
#include "actor.h"
#include "inside.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { FLIPS = 400 };

static struct actor a, b;

/* A part of a file's contents, without the holes. */
struct piece {
	off_t at;
	size_t n;
	unsigned char *bytes;
};

static size_t read_pieces(const char *path, struct piece *piece, size_t max)
{
	int fd = open(path, O_RDONLY);
	off_t begin = 0, end;
	size_t n = 0;

	assert_true(fd >= 0);
	while (n < max && (begin = lseek(fd, begin, SEEK_DATA)) >= 0) {
		end = lseek(fd, begin, SEEK_HOLE);
		piece[n] =
		    (struct piece){begin, (size_t)(end - begin), malloc((size_t)(end - begin))};
		assert_int_equal(pread(fd, piece[n].bytes, piece[n].n, begin), piece[n].n);
		begin = end;
		n++;
	}
	close(fd);
	return n;
}

static void write_pieces(const char *path, const struct piece *piece, size_t n)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, FILE_SIZE), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(pwrite(fd, piece[i].bytes, piece[i].n, piece[i].at), piece[i].n);
	close(fd);
}

/*
 * Damages a byte of one of the pieces. Half of the time, a byte that is not 0 gets another bit,
 * because such a byte probably means something. Else any byte gets any value.
 */
static void damage(const struct piece *piece, size_t n, int fd)
{
	const struct piece *p = &piece[(size_t)random() % n];
	size_t where = (size_t)random() % p->n;
	unsigned char byte = (unsigned char)random();

	if (random() % 2) {
		for (size_t i = 0; i < p->n && !p->bytes[where]; i++)
			where = (where + 1) % p->n;
		byte = (unsigned char)(p->bytes[where] ^ 1 << random() % 8);
	}
	assert_int_equal(pwrite(fd, &byte, 1, p->at + (off_t)where), 1);
}

/*
 * Makes a file with locks that are held, converted and waited for. The processes are killed, one of
 * them at work. Returns the number of pieces.
 */
static size_t a_used_space(struct piece *piece, size_t max)
{
	unlink(inside_path("damage"));
	actor_start(&a);
	actor_start(&b);
	assert_int_equal(actor_do(&a, "open damage"), 0);
	assert_int_equal(actor_do(&b, "open damage recover"), 0);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(actor_do(&a, "nq %d %d %s 0", i, i, i % 2 ? "EX" : "SH"), 0);
		assert_int_equal(actor_do(&b, "nq %d %d EX 0x40", i, i), 0);
	}
	actor_send(&a, "many 100000 SH");
	usleep(20000);
	actor_kill(&a);
	actor_kill(&b);
	return read_pieces(inside_path("damage"), piece, max);
}

/* Killed processes leave a sound file. The next process uses the file and logs nothing. */
static void use_undamaged(const struct piece *piece, size_t n)
{
	write_pieces(inside_path("damage"), piece, n);
	actor_start(&a);
	assert_int_equal(actor_do(&a, "open damage"), 0);
	assert_int_equal(actor_do(&a, "log"), 0);
	actor_end(&a);
}

/* Promises: group: "It cannot crash"; glock_space_open: "-EPROTO processes with". */
static void damaged(void **state)
{
	struct piece piece[256];
	size_t n = a_used_space(piece, 256);
	int made_anew = 0, refused = 0;

	(void)state;
	assert_true(n > 1 && n < 256);
	use_undamaged(piece, n);
	for (int i = 0; i < FLIPS; i++) {
		int64_t err;
		int fd;

		write_pieces(inside_path("damage"), piece, n);
		fd = open(inside_path("damage"), O_RDWR);
		for (int k = 1 << i % 6; k; k--)
			damage(piece, n, fd);
		close(fd);
		actor_start(&a);
		err = actor_do(&a, i % 2 ? "open damage" : "open damage recover");
		refused += err != 0;
		assert_true(!err || actor_do(&a, "log"));
		if (!err) {
			made_anew += actor_do(&a, "log") != 0;
			assert_int_equal(actor_do(&a, "nq 0 3 EX 0"), 0);
			assert_int_equal(actor_do(&a, "many 50 EX"), 0);
			assert_int_equal(actor_do(&a, "dq 0"), 0);
			actor_end(&a);
		} else {
			actor_kill(&a);
			unlink(inside_path("damage"));
		}
	}
	printf("# %d damaged files: %d were used as they are, %d made anew, %d refused\n", FLIPS,
	       FLIPS - made_anew - refused, made_anew, refused);
	assert_true(made_anew > 0 && made_anew < FLIPS);
	while (n--)
		free(piece[n].bytes);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(damaged)};

	actor_main(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
