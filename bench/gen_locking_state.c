/* SPDX-License-Identifier: MIT */
/*
 * gen_locking_state.c - makes a recording of a large cluster that exists only as numbers.
 *
 * The recording is SAMPLE/NODE/{realtime,uptime,...} with any number of locks. Equal options give
 * equal bytes.
 *
 * The lines are modelled on those of real clusters. An inode's N, W, O and M locks follow each
 * other, the newest inode first. Three quarters of the M locks carry an LVB. About 38 of its bytes
 * are not zero and 22 are printed sign-extended. Most locks were taken once or never. A few have
 * waited for millions of microseconds. All facts of a lock follow from the seed, its inode, its
 * node and the sample. So the program stores no state.
 */
#include "text.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <sys/stat.h>

#define UUID "2AAE8B67B17D4F169DF133216A14ED3D"
#define TABLE "lab:bench"

/* Inodes below FIRST_INODE are the file system's own, the root directory among them. */
enum {
	INTERVAL_S = 5,
	LVB = 64,
	FS_GENERATION = 0x1385027f,
	ROOT = 5,
	SYSTEM_END = 29,
	FIRST_INODE = 64
};

struct options {
	const char *folder;
	uint64_t locks, seed;
	unsigned nodes, samples;
	double active; /* share of the locks that change between two samples */
	/* share of the inodes that are new in a sample, and share of those that left it */
	double churn;
	double filled; /* share of the M locks that have an LVB */
	bool gfs2, loses;
	bool inodes; /* GFS2: no iopen glocks, so that a lock is a row */
	bool moves;  /* ... and o2top's way of reading: another line is lost each time */
};

/* The place in the recording that the program writes. */
struct place {
	const struct options *o;
	unsigned node, sample;
	uint64_t now_us; /* this node's wall clock */
	struct text text;
	uint64_t lines;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15u) + 0x632be59bd9b4e019u;

	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
	h = (h ^ h >> 27) * 0x94d049bb133111ebu;
	return h ^ h >> 31;
}

static bool chance(uint64_t h, double share)
{
	return (double)(h >> 11) < share * 0x1p53;
}

/* Returns a number from 0 to most, small ones far more often than large ones. */
static uint64_t skewed(uint64_t h, uint64_t most)
{
	return h % (most + 1) >> (h >> 40) % 16;
}

/*
 * Tells whether a file is busy at `sample`. Three of four busy files are busy in every sample. The
 * fourth is another file each time. An inode has about `lines_each` lines, `lines_active` of them
 * change.
 */
static bool busy_inode(const struct options *o, uint64_t inode, unsigned sample, double lines_each,
		       double lines_active)
{
	double share = o->active * lines_each / lines_active;

	return sample && (chance(mix(o->seed ^ 1, inode), 0.75 * share) ||
			  chance(mix(o->seed + 2 + sample, inode), 0.25 * share));
}

/* ---- OCFS2 --------------------------------------------------------------------------------- */

/* Per inode N, W, O, M, and F of every thirtieth. */
#define OCFS2_LINES (4 + 1.0 / 30)

static uint64_t block_of(uint64_t inode)
{
	if (inode < FIRST_INODE)
		return inode;
	return 0x7e00 + inode + inode / 1008 * 1040; /* inodes lie together in groups */
}

/*
 * Returns the generation in the lock's name. M and O have none, apart from M of the file system's
 * own.
 */
static uint64_t generation_of(char type, uint64_t inode)
{
	if (inode < FIRST_INODE)
		return type == 'O' ? 0 : FS_GENERATION;
	return type == 'W' || type == 'F' ? 0xa4f86b00u + (uint32_t)inode : 0;
}

struct lockres {
	char type;
	uint64_t inode, h;
	int level, requested, blocking;
	unsigned flags, action;
	unsigned holders[2];
	uint64_t gets[2], total_ns[2], max_us[2], last_us[2], refreshes, wait_us;
};

/* Sets the history of a lock before the recording begins. */
static void begin_life(struct lockres *l, const struct place *p)
{
	uint64_t h = mix(l->h, 11),
		 start_us = p->now_us - (uint64_t)p->sample * INTERVAL_S * 1000000;
	bool used = l->type == 'N' || (l->type == 'M' && h % 16) || (l->type == 'O' && h % 2) ||
		    (l->type == 'W' && h % 8 == 0);
	int mode = l->type == 'W' || (l->type == 'M' && h >> 8 & 1);

	l->level = l->requested = l->blocking = -1;
	l->flags = 0x40;
	if (!used)
		return;
	l->level = l->requested = mode ? 5 : 3;
	l->flags = 0x41;
	l->gets[mode] = l->type == 'N' || l->type == 'O' ? 1 : 1 + skewed(mix(h, 1), 40000);
	l->max_us[mode] = 900 + mix(h, 2) % 6000;
	l->total_ns[mode] = l->max_us[mode] * 1000 + mix(h, 2) % 1000 + (l->gets[mode] - 1) * 260;
	l->last_us[mode] = start_us - 1 - mix(h, 3) % 3000000000u;
	if (l->type == 'M' && mode) { /* a written file was read before */
		l->gets[0] = 3 * l->gets[1];
		l->total_ns[0] = l->gets[0] * 230;
		l->max_us[0] = 12 + mix(h, 4) % 600;
		l->last_us[0] = l->last_us[1] - 2;
	}
}

/* Adds the changes of a busy file's M or W lock in one interval. */
static void live(struct lockres *l, const struct place *p, unsigned sample)
{
	uint64_t h = mix(l->h, 100 + sample), gets = 1 + skewed(h, 400);
	uint64_t longest = 40 + skewed(mix(h, 5), 200000), at_us;
	int mode = l->type == 'W' || h >> 60 < 6;

	at_us = p->now_us - (uint64_t)(p->sample - sample) * INTERVAL_S * 1000000;
	l->gets[mode] += gets;
	l->total_ns[mode] += longest * 1000 + gets * 300;
	if (longest > l->max_us[mode])
		l->max_us[mode] = longest;
	l->last_us[mode] = at_us - 1 - mix(h, 6) % 200000;
	l->level = l->requested = mode ? 5 : 3;
	l->flags = 0x41;
	l->blocking = 0;
	l->wait_us = 0;
	l->action = 0;
	if (h % 32 == 0) { /* a process waits at this moment */
		l->level = 0;
		l->flags = 0x443;
		l->action = 2;
		l->wait_us = at_us - mix(h, 7) % 150000;
	} else if (h % 8 == 1) {
		l->holders[mode] = 1;
	}
}

/* Fills in a struct ocfs2_meta_lvb of a file in use. */
static void fill_lvb(uint8_t lvb[LVB], uint64_t inode, uint64_t h)
{
	static const uint8_t times[8] = {0x1a, 0xbf, 0xf8};
	uint64_t size = skewed(mix(h, 20), (uint64_t)1 << 32);

	memset(lvb, 0, LVB);
	lvb[0] = 5;
	lvb[3] = h & 1;
	for (int i = 0; i < 4; i++)
		lvb[4 + i] = (uint8_t)((size + 4095) / 4096 >> (24 - 8 * i)); /* clusters */
	for (int t = 0; t < 3; t++)
		for (int i = 0; i < 8; i++)
			lvb[16 + 8 * t + i] = i < 3 ? times[i]
						    : (uint8_t)(mix(h, 21 + (unsigned)t) >> 8 * i |
								(i == 3 ? 0x80 : 0));
	for (int i = 0; i < 8; i++)
		lvb[40 + i] = (uint8_t)(size >> (56 - 8 * i));
	lvb[48] = inode % 64 ? 0x81 : 0x41;
	lvb[49] = inode % 64 ? 0xa4 : 0xed;
	lvb[51] = 1;
	for (int i = 0; i < 4; i++)
		lvb[56 + i] = (uint8_t)((0xa4f86b00u + (uint32_t)inode) >> (24 - 8 * i));
}

static void put_lvb(struct text *t, const struct options *o, const struct lockres *l)
{
	uint8_t lvb[LVB] = {0};

	if (l->type == 'M' && chance(mix(l->h, 30), o->filled))
		fill_lvb(lvb, l->inode, mix(o->seed, l->inode));
	for (int i = 0; i < LVB; i++) {
		put(t, lvb[i] >= 0x80 ? "0xffffff" : "0x");
		put_hex(t, lvb[i], 1);
		put(t, "\t");
	}
}

static void put_name(struct text *t, const struct lockres *l)
{
	char type[2] = {l->type};

	put(t, type);
	if (l->type == 'N') {
		put_hex(t, l->inode % 64 ? block_of(l->inode / 64 * 64) : ROOT, 16);
		put_hex(t, block_of(l->inode) & UINT32_MAX, 8);
		return;
	}
	put(t, "000000");
	put_hex(t, block_of(l->inode), 16);
	put_hex(t, generation_of(l->type, l->inode), 8);
}

static void put_signed(struct text *t, int v)
{
	if (v < 0)
		put(t, "-");
	put_u(t, (uint64_t)(v < 0 ? -v : v));
}

static void put_lockres(struct place *p, const struct lockres *l)
{
	struct text *t = &p->text;
	const uint64_t numbers[12] = {l->gets[0],
				      l->gets[1],
				      0,
				      0,
				      l->total_ns[0],
				      l->total_ns[1],
				      l->max_us[0],
				      l->max_us[1],
				      l->refreshes,
				      l->last_us[0],
				      l->last_us[1],
				      l->wait_us};

	put(t, "0x4\t");
	put_name(t, l);
	put(t, "\t");
	put_signed(t, l->level);
	put(t, "\t0x");
	put_hex(t, l->flags, 1);
	put(t, "\t0x");
	put_hex(t, l->action, 1);
	put(t, "\t0x0\t");
	for (int m = 0; m < 2; m++) {
		put_u(t, l->holders[m]);
		put(t, "\t");
	}
	put_signed(t, l->requested);
	put(t, "\t");
	put_signed(t, l->blocking);
	put(t, "\t");
	put_lvb(t, p->o, l);
	for (int i = 0; i < 12; i++) {
		put_u(t, numbers[i]);
		put(t, "\t");
	}
	put_end(t);
}

/* Writes the lines of an inode, as many as fit before line `end`. */
static void put_inode(struct place *p, uint64_t inode, uint64_t end)
{
	const struct options *o = p->o;
	const char *types = inode < FIRST_INODE            ? "WOM"
			    : mix(o->seed ^ 3, inode) % 30 ? "NWOM"
							   : "FNWOM";

	for (; *types && p->lines < end; types++) {
		struct lockres l = {.type = *types, .inode = inode};

		l.h = mix(mix(o->seed, p->node), inode << 8 | (uint8_t)*types);
		if (l.type == 'F')
			l = (struct lockres){.type = 'F',
					     .inode = inode,
					     .level = -1,
					     .requested = -1,
					     .blocking = -1,
					     .flags = 0x240};
		else
			begin_life(&l, p);
		for (unsigned s = 1; s <= p->sample && (l.type == 'M' || l.type == 'W'); s++)
			if (busy_inode(o, inode, s, OCFS2_LINES, 2))
				live(&l, p, s);
		put_lockres(p, &l);
		p->lines++;
	}
}

static uint64_t inodes_of(const struct options *o, double lines_each)
{
	return (uint64_t)((double)o->locks / lines_each) + 64;
}

static bool write_ocfs2(struct place *p, const char *folder)
{
	const struct options *o = p->o;
	uint64_t n = inodes_of(o, OCFS2_LINES),
		 inode = n + (uint64_t)((double)n * o->churn) * p->sample + FIRST_INODE;
	uint64_t system = o->locks < 200 ? 0 : 3 * (SYSTEM_END - ROOT);
	char path[4096];

	snprintf(path, sizeof(path), "%s/fs_state", folder);
	if (!text_open(&p->text, path, false))
		return false;
	put(&p->text, "    Device => Id: 254,16  Uuid: " UUID "  Gen: 0x1385027F  Label: bench");
	put_end(&p->text);
	put(&p->text, "    Volume => State: 2  Flags: 0x0");
	put_end(&p->text);
	if (!text_close(&p->text))
		return false;
	snprintf(path, sizeof(path), "%s/locking_state", folder);
	if (!text_open(&p->text, path, o->loses))
		return false;
	if (o->moves)
		p->text.room -= p->sample % 8 * 512;
	while (p->lines < o->locks - system)
		put_inode(p, --inode, o->locks - system);
	for (inode = SYSTEM_END; inode > ROOT;)
		put_inode(p, --inode, o->locks);
	return text_close(&p->text);
}

/* ---- GFS2 ---------------------------------------------------------------------------------- */

/* An inode's glock, and an iopen glock for every second inode, unless the option omits them. */
static double gfs2_lines(const struct options *o)
{
	return o->inodes ? 1 : 1.5;
}

/* The kernel walks a hash table, so neighbours in the list are not related. */
static uint64_t gfs2_number(uint64_t inode)
{
	return 0x2442 + inode * 0x9e3779b1u % 0x3fffffff;
}

struct glock {
	unsigned type;
	uint64_t inode, h;
	int64_t srttb, srttvarb, srtt, sirt;
	uint64_t dcount, qcount;
};

static struct glock glock_of(const struct place *p, uint64_t inode, unsigned type)
{
	const struct options *o = p->o;
	struct glock g = {
	    .type = type, .inode = inode, .h = mix(mix(o->seed, p->node), inode << 8 | type)};

	g.srttb = 400000 + (int64_t)(mix(g.h, 1) % 15000000);
	g.srttvarb = g.srttb + g.srttb / 2;
	g.srtt = 9000 + (int64_t)(mix(g.h, 2) % 70000);
	g.sirt = 100 + (int64_t)(mix(g.h, 3) % 82000000);
	g.dcount = 1 + skewed(mix(g.h, 4), 3000);
	g.qcount = g.dcount + skewed(mix(g.h, 5), 90000);
	for (unsigned s = 1; s <= p->sample && type == 2; s++) {
		uint64_t h = mix(g.h, 100 + s);

		if (!busy_inode(o, inode, s, gfs2_lines(o), 1))
			continue;
		g.dcount += 1 + h % 20;
		g.qcount += 2 + h % 400;
		g.srttb += ((int64_t)(h >> 8 & 0xffffff) - g.srttb) / 4;
		g.srttvarb = g.srttb + g.srttb / 3;
	}
	return g;
}

static void put_glock(struct place *p, const struct glock *g)
{
	struct text *t = &p->text;
	bool ex = g->type == 2 && mix(g->h, 6) & 1;

	put(t, ex ? "G:  s:EX n:" : "G:  s:SH n:");
	put_u(t, g->type);
	put(t, "/");
	put_hex(t, gfs2_number(g->inode), 1);
	put(t, g->type == 2 ? ex ? " f:ILb t:EX d:EX/0 a:0 v:0 r:2 m:50 p:0"
				 : " f:ILob t:SH d:EX/0 a:0 v:0 r:3 m:50 p:1"
			    : " f:Iqob t:SH d:EX/0 a:0 v:0 r:3 m:50 p:0");
	put_end(t);
	if (g->type == 5) {
		put(t, " H: s:SH f:EH e:0 p:0 [(none)] gfs2_dir_search+0xbf/0xf0 [gfs2]");
		put_end(t);
	} else if (mix(g->h, 7) % 4 == 0) {
		put(t, " I: n:");
		put_u(t, g->inode);
		put(t, "/");
		put_u(t, gfs2_number(g->inode));
		put(t,
		    g->inode % 64 ? " t:8 f:0x00 d:0x00000000 s:" : " t:4 f:0x00 d:0x00000001 s:");
		put_u(t, g->inode % 64 ? skewed(mix(g->h, 8), 1 << 30) : 3864);
		put(t, " p:1");
		put_end(t);
	}
}

static void put_stats(struct place *p, const struct glock *g)
{
	struct text *t = &p->text;
	const struct {
		const char *before;
		int64_t value;
	} rows[] = {{" rtt:", g->srtt},
		    {"/", g->srtt / 2},
		    {" rttb:", g->srttb},
		    {"/", g->srttvarb},
		    {" irt:", g->sirt},
		    {"/", g->sirt / 2},
		    {" dcnt: ", (int64_t)g->dcount},
		    {" qcnt: ", (int64_t)g->qcount}};

	put(t, "G: n:");
	put_u(t, g->type);
	put(t, "/");
	put_hex(t, gfs2_number(g->inode), 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put(t, rows[i].before);
		put_u(t, (uint64_t)rows[i].value);
	}
	put_end(t);
}

static bool write_glocks(struct place *p, const char *path,
			 void (*each)(struct place *p, const struct glock *g))
{
	const struct options *o = p->o;
	uint64_t n = inodes_of(o, gfs2_lines(o)),
		 inode = n + (uint64_t)((double)n * o->churn) * p->sample + FIRST_INODE;

	if (!text_open(&p->text, path, false))
		return false;
	for (p->lines = 0; p->lines < o->locks; inode--) {
		for (unsigned type = 2; type <= 5 && p->lines < o->locks; type += 3) {
			struct glock g = glock_of(p, inode, type);

			if (type == 5 && (inode % 2 || p->o->inodes))
				continue;
			each(p, &g);
			p->lines++;
		}
	}
	return text_close(&p->text);
}

static bool write_gfs2(struct place *p, const char *folder)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/glstats", folder);
	if (!write_glocks(p, path, put_stats))
		return false;
	snprintf(path, sizeof(path), "%s/glocks", folder);
	return write_glocks(p, path, put_glock);
}

/* ---- the recording ------------------------------------------------------------------------- */

static bool make_folder(char *path, size_t size, const char *under, const char *name)
{
	int n = snprintf(path, size, "%s/%s", under, name);

	return n > 0 && (size_t)n < size && (mkdir(path, 0777) == 0 || errno == EEXIST);
}

static bool write_clock(const char *folder, const char *name, uint64_t us, const char *rest)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	if (!f)
		return false;
	fprintf(f, "%llu.%06llu%s\n", (unsigned long long)us / 1000000,
		(unsigned long long)us % 1000000, rest);
	return fclose(f) == 0;
}

static bool write_node(const struct options *o, unsigned sample, unsigned node)
{
	struct place p = {.o = o, .node = node, .sample = sample};
	char step[16], name[16], at[2048], fs[3072], space[4000];
	uint64_t uptime_us = (uint64_t)86400 * 1000000 + (uint64_t)sample * INTERVAL_S * 1000000;

	p.now_us = 1795154500000000u + (uint64_t)sample * INTERVAL_S * 1000000 + node * 1234;
	snprintf(step, sizeof(step), "t%u", sample);
	snprintf(name, sizeof(name), "node%u", node);
	if (!make_folder(at, sizeof(at), o->folder, step) ||
	    !make_folder(fs, sizeof(fs), at, name) ||
	    !write_clock(fs, "realtime", p.now_us, "000") ||
	    !write_clock(fs, "uptime", uptime_us, " 1.00") ||
	    !make_folder(at, sizeof(at), fs, o->gfs2 ? "gfs2" : "ocfs2") ||
	    !make_folder(space, sizeof(space), at, o->gfs2 ? TABLE : UUID))
		return false;
	return o->gfs2 ? write_gfs2(&p, space) : write_ocfs2(&p, space);
}

static const char usage[] = "usage: gen_locking_state [OPTION]... FOLDER\n"
			    "Makes a recording of a cluster for measuring.\n"
			    "  -l LOCKS     locks of each node (1000000)     -a SHARE  of them "
			    "active in each sample (0.01)\n"
			    "  -n NODES     (1)                              -c SHARE  of the "
			    "inodes new in each sample (0.0005)\n"
			    "  -s SAMPLES   (2)                              -v SHARE  of the M "
			    "locks that have an LVB (0.75)\n"
			    "  -g           GFS2: glocks and glstats         -k        lose lines "
			    "as the kernel does, one in 4 KiB\n"
			    "  -i           of these, those of inodes alone  -K        others "
			    "in each sample\n"
			    "  -S SEED      (1)\n";

static bool parse(struct options *o, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "l:n:s:a:c:v:S:gikK")) != -1) {
		switch (c) {
		case 'l':
			o->locks = strtoull(optarg, NULL, 10);
			break;
		case 'n':
			o->nodes = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 's':
			o->samples = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'a':
			o->active = strtod(optarg, NULL);
			break;
		case 'c':
			o->churn = strtod(optarg, NULL);
			break;
		case 'v':
			o->filled = strtod(optarg, NULL);
			break;
		case 'S':
			o->seed = strtoull(optarg, NULL, 10);
			break;
		case 'i':
			o->inodes = true;
			break;
		case 'g':
			o->gfs2 = true;
			break;
		case 'K':
			o->moves = true;
			/* fall through */
		case 'k':
			o->loses = true;
			break;
		default:
			return false;
		}
	}
	o->folder = argv[optind];
	return o->folder && optind + 1 == argc && o->locks && o->nodes && o->samples;
}

int main(int argc, char **argv)
{
	struct options o = {.locks = 1000000,
			    .seed = 1,
			    .nodes = 1,
			    .samples = 2,
			    .active = 0.01,
			    .churn = 0.0005,
			    .filled = 0.75};

	if (!parse(&o, argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	if (mkdir(o.folder, 0777) && errno != EEXIST) {
		perror(o.folder);
		return 1;
	}
	for (unsigned s = 0; s < o.samples; s++)
		for (unsigned n = 1; n <= o.nodes; n++)
			if (!write_node(&o, s, n)) {
				perror(o.folder);
				return 1;
			}
	return 0;
}
