/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * moved.h: detects that the directory or a day file was removed, renamed or replaced while the store is open for
 * writing.
 *
 * Every writing function calls sp_writer_check_place() first. 0: directory and files are where their names lead to,
 * reopened if necessary (reported by the store's note()). An error: nothing may be written; the next call tries again.
 * Threads and ownership: as in store.h.
 */
#ifndef SP_STORE_FILES_MOVED_H
#define SP_STORE_FILES_MOVED_H

#include <stdbool.h>

struct sp_store;

int sp_writer_check_place(struct sp_store *s);
bool sp_writer_is_in_place(struct sp_store *s);
/* Closes the open files. Checkpoints them, but does nothing by their names. */
void sp_writer_abandon_files(struct sp_store *s);

#endif
