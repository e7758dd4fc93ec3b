/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/write/log.h"

#include "store/priv.h"

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
