/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * salvage.h: recovers the rows of a day file that SQLite refuses, or of which it finds only a part.
 *
 * The file's pages are read without SQLite, by the documented file format. A cell is tried at every byte, so neither
 * the header nor b-trees nor page headers are needed; first at the places that page headers list, because a deleted
 * row may be anywhere else, then everywhere. Records and heads are accepted by their CRC. Rows without one (sources,
 * generations, events) must look as the writer makes them; sources are copied from the day's other files first.
 * Why SQLite's own recovery is not used: Debian's libsqlite3 has none (no sqlite3_recover_init, no sqlite_dbpage, so
 * the shell's .recover fails, too). With one that has it, of 400 files of a small store, damaged at random (bits,
 * zeroed sectors, swapped or overwritten pages, a cut-off end), these rows were read back equal: by SQL as far as
 * SQLite reads 64.9 %, by .recover 71.5 % (77.7 % if one sorts its lost_and_found into tables), by this 91.4 %; nothing
 * at all of 116, 66 and 1 of the files. Rows that had never been there: 498, 449 and 2.
 *
 * Only the file is read, not its journal. Limits: files of 1 GiB; all overflow pages together are followed a few
 * times. 0 or a negative errno; -EBADMSG: nothing was found. No state.
 */
#ifndef SP_STORE_FILES_SALVAGE_H
#define SP_STORE_FILES_SALVAGE_H

#include "store/files/file.h"

/* Recovers an open file into f, a day file that is open for writing. d: for the other files of the day; NULL: none. */
int sp_salvage(const struct sp_directory *d, int fd, struct sp_day_file *f);
/* Recovers a day file into a database in memory. */
int sp_salvage_open(const struct sp_directory *d, const struct sp_day *day, struct sp_day_file *ret_file);

#endif
