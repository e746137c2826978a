/* SPDX-License-Identifier: MIT */
/*
 * print_lines.c - prints the lines that o2top reads, as the kernel prints them.
 */
#include "print_lines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct print {
	char *buf;
	size_t at, size; /* size 0 once a text did not fit */
};

__attribute__((format(printf, 2, 3))) static void put(struct print *o, const char *format, ...)
{
	va_list args;
	int n;

	if (!o->size)
		return;
	va_start(args, format);
	n = vsnprintf(o->buf + o->at, o->size - o->at, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= o->size - o->at)
		o->size = 0;
	else
		o->at += (size_t)n;
}

static size_t printed(const struct print *o)
{
	return o->size ? o->at : 0;
}

size_t gfs2_glock_print(const struct gfs2_glock_line *l, char *buf, size_t size)
{
	struct print p = {buf, 0, size};

	put(&p, "G:  s:%s n:%u/%" PRIx64 " f:%s t:%s d:%s/%" PRIu64 "%s a:%" PRId64, l->states[0],
	    l->type, l->number, l->flags, l->states[1], l->states[2], l->demote_us,
	    l->from_queue ? "?" : "", l->ail);
	if (l->has_revokes)
		put(&p, " v:%" PRId64, l->revokes);
	put(&p, " r:%" PRId64, l->refs);
	if (l->has_hold)
		put(&p, " m:%" PRId64, l->hold_jiffies);
	if (l->has_pages)
		put(&p, " p:%" PRIu64, l->pages);
	put(&p, "\n");
	return printed(&p);
}

size_t gfs2_holder_print(const struct gfs2_holder_line *l, char *buf, size_t size)
{
	struct print p = {buf, 0, size};

	put(&p, " H: s:%s f:%s e:%d p:%" PRId64 " [%s] %s\n", l->state_text, l->flags, l->error,
	    l->pid, l->comm, l->symbol);
	return printed(&p);
}

size_t gfs2_inode_print(const struct gfs2_inode_line *l, char *buf, size_t size)
{
	struct print p = {buf, 0, size};

	put(&p, " I: n:%" PRIu64 "/%" PRIu64 " t:%u f:0x%02" PRIx64, l->formal, l->number, l->dtype,
	    l->flags);
	if (l->has_size)
		put(&p, " d:0x%08" PRIx64 " s:%" PRIu64, l->disk_flags, l->size);
	if (l->has_pages)
		put(&p, " p:%" PRIu64, l->pages);
	put(&p, "\n");
	return printed(&p);
}

size_t gfs2_stats_print(const struct gfs2_stats_line *l, char *buf, size_t size)
{
	struct print p = {buf, 0, size};

	put(&p,
	    "G: n:%u/%" PRIx64 " rtt:%" PRIu64 "/%" PRIu64 " rttb:%" PRIu64 "/%" PRIu64
	    " irt:%" PRIu64 "/%" PRIu64 " dcnt: %" PRIu64 " qcnt: %" PRIu64 "\n",
	    l->type, l->number, (uint64_t)l->srtt, (uint64_t)l->srttvar, (uint64_t)l->srttb,
	    (uint64_t)l->srttvarb, (uint64_t)l->sirt, (uint64_t)l->sirtvar, l->dcount, l->qcount);
	return printed(&p);
}

size_t gfs2_sbstats_print(const struct gfs2_sbstats_line *l, char *buf, size_t size)
{
	struct print p = {buf, 0, size};
	bool header = l->type == GFS2_TYPE_MAX;

	put(&p, "%-10s %8s:", header ? "type" : gfs2_type_names[l->type],
	    header ? "cpu" : gfs2_stat_names[l->stat]);
	for (uint32_t i = 0; i < l->n_cpus; i++)
		put(&p, " %15" PRIu64, l->value[i]);
	put(&p, "\n");
	return printed(&p);
}

size_t gfs2_lock_time_print(const struct gfs2_lock_time *l, char *buf, size_t size)
{
	struct print p = {buf, 0, size};

	put(&p,
	    "gfs2_glock_lock_time: %u,%u glock %u:%" PRIu64 " status:%d flags:%02x tdiff:%" PRId64,
	    l->major, l->minor, l->type, l->number, l->status, l->lksb_flags, l->tdiff);
	put(&p,
	    " srtt:%" PRId64 "/%" PRId64 " srttb:%" PRId64 "/%" PRId64 " sirt:%" PRId64 "/%" PRId64
	    " dcnt:%" PRIu64 " qcnt:%" PRIu64 "\n",
	    l->srtt, l->srttvar, l->srttb, l->srttvarb, l->sirt, l->sirtvar, l->dcount, l->qcount);
	return printed(&p);
}

size_t dlm_rsb_print(const struct dlm_rsb_line *l, char *buf, size_t size)
{
	struct print p = {buf, 0, size};

	put(&p, "rsb %s %d %" PRIx64 " %" PRIx64 " %d %d %u %u %s", l->pointer, l->nodeid,
	    l->first_lkid, l->flags, l->root, l->recover, l->recover_count, l->len,
	    l->hex ? "hex" : "str");
	if (!l->hex)
		put(&p, " ");
	for (uint32_t i = 0; i < l->len; i++)
		if (l->hex)
			put(&p, " %02x", (unsigned char)l->name[i]);
		else
			put(&p, "%c", l->name[i]);
	put(&p, "\n");
	return printed(&p);
}

size_t dlm_lkb_print(const struct dlm_lkb_line *l, char *buf, size_t size)
{
	struct print p = {buf, 0, size};

	put(&p,
	    "lkb %" PRIx64 " %d %" PRIx64 " %u %" PRIu64 " %" PRIx64 " %" PRIx64
	    " %d %d %d %d %d %d %u %" PRIu64 " %" PRIu64 "\n",
	    l->id, l->nodeid, l->remid, l->pid, l->xid, l->exflags, l->flags, l->status, l->granted,
	    l->requested, l->bast_mode, l->rsb_lookup, l->wait_type, l->lvb_seq, l->since_ns,
	    l->bast_ns);
	return printed(&p);
}

size_t ocfs2_line_print(const struct ocfs2_line *o, char *buf, size_t size)
{
	struct print p = {buf, 0, size};

	put(&p, "0x%x\t%s\t%d\t0x%" PRIx64 "\t0x%" PRIx64 "\t0x%" PRIx64 "\t%u\t%u\t%d\t%d\t",
	    o->version, o->name, o->level, o->flags, o->action, o->unlock_action, o->holders[0],
	    o->holders[1], o->requested, o->blocking);
	for (int i = 0; i < OCFS2_LVB_LEN; i++) {
		uint32_t b = o->lvb[i];

		put(&p, "0x%x\t", b >= 0x80 && !o->lvb_unsigned ? b | 0xffffff00u : b);
	}
	if (o->version >= 2)
		put(&p, "%u\t%u\t%u\t%u\t%" PRIu64 "\t%" PRIu64 "\t%u\t%u\t%u\t", o->gets[0],
		    o->gets[1], o->fails[0], o->fails[1], o->total_ns[0], o->total_ns[1], o->max[0],
		    o->max[1], o->refreshes);
	if (o->version >= 4)
		put(&p, "%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t", o->last_us[0], o->last_us[1],
		    o->wait_us);
	put(&p, "%.*s\n", (int)o->tail_len, o->tail_len ? o->tail : "");
	return printed(&p);
}
