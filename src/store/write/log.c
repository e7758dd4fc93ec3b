/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/write/log.h"

#include "base/time.h"
#include "store/priv.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

void sp_log_replaced(struct sp_store *s, struct sp_day_file *f, const char *name)
{
	SP_STATEMENT *q = NULL;
	char text[256];
	int64_t n = 0;

	if (!s->options.note)
		return;
	if (f->db && sp_file_prepare(f, "SELECT count(*) FROM window", &q) == 0 && sqlite3_step(q) == SQLITE_ROW)
		n = sqlite3_column_int64(q, 0);
	(void)snprintf(text, sizeof(text),
		       "%s is damaged: %lld windows of it are salvaged, and it is kept as %s.damaged", name,
		       (long long)n, name);
	s->options.note(s->options.note_arg, text);
}

void sp_log_moved(struct sp_store *s, const char *what)
{
	char text[PATH_MAX + 128];

	s->n_moved++;
	if (!s->options.note)
		return;
	(void)snprintf(text, sizeof(text),
		       "%s was removed, renamed or replaced while it was written to: what is kept from now on is in a "
		       "new one, or in what is there",
		       what);
	s->options.note(s->options.note_arg, text);
}

/* At most one line a day. */
void sp_log_outgrown(struct sp_store *s)
{
	char text[256];

	s->n_outgrown++;
	if (!s->options.note || s->outgrown_day_s == s->writer->day_s)
		return;
	s->outgrown_day_s = s->writer->day_s;
	(void)snprintf(text, sizeof(text),
		       "stacks are so various that the %.1f MiB for their dictionary are used up: another one begins; "
		       "with more memory the store would be smaller, and take less time",
		       (double)s->options.max_memory_bytes / (1 << 20));
	s->options.note(s->options.note_arg, text);
}

/* At most one line an hour. */
static void note_removed(struct sp_store *s, const char *text, uint64_t now_ns)
{
	uint64_t hour = now_ns / SP_NS_PER_S / 3600;
	char line[320];

	if (!s->options.note || s->removed_hour == hour) {
		s->n_untold++;
		return;
	}
	(void)snprintf(line, sizeof(line), "%s (%" PRIu64 " more since the last such line)", text, s->n_untold);
	s->options.note(s->options.note_arg, line);
	s->removed_hour = hour;
	s->n_untold = 0;
}

int sp_log_removed(struct sp_store *s, const struct sp_day *day, uint64_t bytes, uint64_t now_ns)
{
	char text[256], data[64];
	struct sp_store_event event = {
	    .from_ns = now_ns, .to_ns = now_ns, .kind = "removed", .subject = day->name, .text = text, .data = data};

	(void)snprintf(
	    text, sizeof(text),
	    "%s, %.1f MiB, was removed: the store reached its limit of %.1f MiB, and this resolution had more "
	    "than its share",
	    day->name, (double)bytes / (1 << 20), (double)s->options.max_disk_bytes / (1 << 20));
	(void)snprintf(data, sizeof(data), "bytes=%" PRIu64, bytes);
	s->removed[day->resolution].n_files++;
	s->removed[day->resolution].bytes += bytes;
	note_removed(s, text, now_ns);
	return sp_store_event_add(s, &event);
}
