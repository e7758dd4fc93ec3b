/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_salvage.c: any bytes as a damaged day file.
 *
 * Up to 8 KiB, since each byte is tried as the start of a cell, at three page sizes: the seeds are cells of a small day
 * file, each in a page of 512 bytes behind a header that says so, and the overflow pages that they need. What is taken
 * from them makes a file that SQLite finds sound, in which every record is what its CRC says.
 */
#include "base/error.h"
#include "file.h"
#include "require.h"
#include "store/files/salvage.h"
#include "store/priv.h"
#include <string.h>

enum { MAX_BYTES = 8192 };

static void check_chunks(struct sp_day_file *f)
{
	SP_STATEMENT *s = NULL;

	require(sp_file_prepare(f, "SELECT id, record FROM chunk", &s) == 0);
	while (sqlite3_step(s) == SQLITE_ROW)
		require(sp_record_is_valid(SP_RECORD_CHUNK, (uint64_t[]){(uint64_t)sqlite3_column_int64(s, 0), 0},
					   sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1)));
}

static const char empty[] = "BEGIN; DELETE FROM chunk; DELETE FROM window; DELETE FROM totals; DELETE FROM tree;"
			    "DELETE FROM chart; DELETE FROM day_tree; DELETE FROM day; DELETE FROM source;"
			    "DELETE FROM generation; DELETE FROM event; COMMIT";

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	static struct sp_day_file days[SP_N_RESOLUTIONS]; /* making them is most of what a small input would take */
	int resolution = size > 0 ? data[0] % SP_N_RESOLUTIONS : 0;
	struct sp_day day = sp_day_of(UINT64_C(1763722800000000000), resolution);
	struct sp_day_file *f = &days[resolution];

	if (size > MAX_BYTES)
		return 0;
	int fd = fuzz_file(data, size);
	require(f->db || sp_file_open_memory(&day, f) == 0);
	int before = sqlite3_total_changes(f->db);
	(void)sp_salvage(NULL, fd, f);
	if (sqlite3_total_changes(f->db) != before) {
		require(sp_file_is_intact(f));
		check_chunks(f);
		require(sp_file_exec(f, empty) == 0);
	}
	sp_error_clear();
	return 0;
}
