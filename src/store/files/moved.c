/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * moved.c: an open file that was moved would swallow all later windows. So it is checkpointed, wherever it is now, and
 * closed, without using its name, which may be another file's. Then the directory is opened, or made, as for a new
 * store.
 */
#include "store/files/moved.h"

#include "base/error.h"
#include "base/mem.h"
#include "store/priv.h"
#include "store/write/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The first open file that is not where it was; NULL: none. */
static const struct sp_day_file *find_moved_file(struct sp_store *s)
{
	struct sp_writer *const both[] = {s->writer, s->closing};

	for (size_t i = 0; i < SP_COUNT(both); i++)
		for (int k = 0; both[i] && k < SP_N_RESOLUTIONS; k++)
			if (both[i]->files[k].db && sp_file_has_moved(&both[i]->files[k]))
				return &both[i]->files[k];
	return NULL;
}

bool sp_writer_is_in_place(struct sp_store *s)
{
	return sp_directory_is_in_place(&s->directory, &s->writer->lock) && !find_moved_file(s);
}

static void close_moved_day(struct sp_writer *w)
{
	for (int i = 0; i < SP_N_RESOLUTIONS; i++)
		if (w->files[i].db)
			(void)sp_file_checkpoint(&w->files[i]);
	sp_error_clear();
	sp_writer_close_files(w);
}

/* SQLite does not remove the journal of a file that has moved. */
void sp_writer_abandon_files(struct sp_store *s)
{
	if (s->closing)
		close_moved_day(s->closing);
	free(s->closing);
	s->closing = NULL;
	close_moved_day(s->writer);
}

/* Unlocks before locking: a process must not hold two locks of a store. */
static int reopen_directory(struct sp_store *s)
{
	struct sp_directory d;
	int r = sp_directory_open(s->directory.path, true, false, &d);

	if (r < 0)
		return r;
	sp_directory_unlock(&s->writer->lock);
	r = sp_directory_lock(&d, &s->writer->lock);
	if (r < 0) {
		sp_directory_close(&d);
		return r;
	}
	sp_directory_close(&s->directory);
	s->directory = d;
	return 0;
}

int sp_writer_check_place(struct sp_store *s)
{
	bool same = sp_directory_is_in_place(&s->directory, &s->writer->lock);
	const struct sp_day_file *moved = same ? find_moved_file(s) : NULL;
	char name[SP_DAY_NAME_MAX];

	if (same && !moved)
		return 0;
	(void)snprintf(name, sizeof(name), "%s", moved ? moved->day.name : "");
	sp_writer_abandon_files(s);
	int r = same ? 0 : reopen_directory(s);
	if (r < 0)
		return sp_fail(r, "%s was removed or replaced", s->directory.path);
	sp_log_moved(s, same ? name : s->directory.path);
	r = sp_writer_catch_up_days(s);
	if (r < 0)
		sp_writer_close_files(s->writer);
	if (r == -EPROTONOSUPPORT)
		return r;
	sp_error_clear(); /* other errors will be reported by the write */
	return 0;
}
