/* SPDX-License-Identifier: GPL-2.0-or-later */
#define SP_SQLITE_LINKED /* here the names are those of its header */
#include "base/sqlite.h"

#include "base/library.h"
#include "base/mem.h"

#include <stdbool.h>

struct sp_sqlite sp_sqlite;

static const struct sp_library_function functions[] = {
#define NAME(name) {"sqlite3_" #name, offsetof(struct sp_sqlite, name)},
    SP_SQLITE_FUNCTIONS(NAME)};

int sp_sqlite_load(void)
{
	static const char *const sonames[] = {"libsqlite3.so.0", NULL};

	bool is_new = !sp_sqlite.open_v2;
	int r = sp_library_load("a store", "libsqlite3-0", sonames, functions, SP_COUNT(functions), &sp_sqlite);

	if (r == 0 && is_new) /* its books of memory, which nobody reads, take a lock for each allocation */
		(void)sp_sqlite.config(SQLITE_CONFIG_MEMSTATUS, 0);
	return r;
}
