/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * moved.h: what was removed, renamed or replaced while a store is written to.
 *
 * sp_writer_check_place() comes before anything is written, by whoever writes. 0: the directory and its files are where
 * they are looked for, if need be anew (the store's note tells it); or why that cannot be: then nothing may be written,
 * and it is tried again the next time. Threads and ownership: as in store.h.
 */
#ifndef SP_STORE_FILES_MOVED_H
#define SP_STORE_FILES_MOVED_H

#include <stdbool.h>

struct sp_store;

int sp_writer_check_place(struct sp_store *s);
bool sp_writer_is_in_place(struct sp_store *s);
/* Nothing more is written to the files that are open, nor anything done by their names. */
void sp_writer_abandon_files(struct sp_store *s);

#endif
