/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * salvage.h: what can be had of a day file that SQLite refuses, or reads only in part.
 *
 * Its pages are read without SQLite, by the documented format of its files: at every byte a cell is looked for, so that
 * neither the header nor trees nor the heads of pages matter; first where pages say that there is one (what was deleted
 * may still stand elsewhere), then everywhere. Records, and the heads beside them, are taken if their CRC says so. What
 * has none (sources, generations, events) must look as we write it; sources are those of the day's other files first.
 * Only the file itself is read, not its journal. What it costs is bounded: a file of 1 GiB, each page followed a few
 * times. 0 or a negative errno; -EBADMSG: there is nothing. No state.
 */
#ifndef SP_STORE_FILES_SALVAGE_H
#define SP_STORE_FILES_SALVAGE_H

#include "store/files/file.h"

/* Of an open file, into f: a day file that is open for writing. d may be NULL: there are no others. */
int sp_salvage(const struct sp_directory *d, int fd, struct sp_day_file *f);
/* Of a day's file, into memory. */
int sp_salvage_open(const struct sp_directory *d, const struct sp_day *day, struct sp_day_file *ret_file);

#endif
