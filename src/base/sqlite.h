/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sqlite.h: SQLite, loaded at run time.
 *
 * It takes a quarter of a MiB in each of soprof's processes, and only those that open a store or rpm's database need
 * it: who opens one loads it, by sp_sqlite_load(), before system calls are filtered that load libraries; it stays
 * loaded. Its functions' names mean what was loaded, with the types of its header; a test that is linked with SQLite
 * defines SP_SQLITE_LINKED. -ELIBACC with dlopen(3)'s message. One thread at a time.
 */
#ifndef SP_BASE_SQLITE_H
#define SP_BASE_SQLITE_H

#include <sqlite3.h>

#define SP_SQLITE_FUNCTIONS(X)                                                                                         \
	X(bind_blob64)                                                                                                 \
	X(bind_int64)                                                                                                  \
	X(bind_text)                                                                                                   \
	X(bind_value)                                                                                                  \
	X(busy_timeout)                                                                                                \
	X(changes)                                                                                                     \
	X(clear_bindings)                                                                                              \
	X(close)                                                                                                       \
	X(close_v2)                                                                                                    \
	X(column_blob)                                                                                                 \
	X(column_bytes)                                                                                                \
	X(column_int)                                                                                                  \
	X(column_int64)                                                                                                \
	X(column_text)                                                                                                 \
	X(column_type)                                                                                                 \
	X(column_value)                                                                                                \
	X(config)                                                                                                      \
	X(db_config)                                                                                                   \
	X(db_release_memory)                                                                                           \
	X(errmsg)                                                                                                      \
	X(errstr)                                                                                                      \
	X(exec)                                                                                                        \
	X(file_control)                                                                                                \
	X(finalize)                                                                                                    \
	X(get_autocommit)                                                                                              \
	X(limit)                                                                                                       \
	X(open_v2)                                                                                                     \
	X(prepare_v2)                                                                                                  \
	X(prepare_v3)                                                                                                  \
	X(progress_handler)                                                                                            \
	X(reset)                                                                                                       \
	X(step)                                                                                                        \
	X(system_errno)                                                                                                \
	X(wal_checkpoint_v2)

struct sp_sqlite {
#define SP_SQLITE_MEMBER(name) __typeof__(sqlite3_##name) *name;
	SP_SQLITE_FUNCTIONS(SP_SQLITE_MEMBER)
};
extern struct sp_sqlite sp_sqlite;

int sp_sqlite_load(void);

#ifndef SP_SQLITE_LINKED
#define sqlite3_bind_blob64 (*sp_sqlite.bind_blob64)
#define sqlite3_bind_int64 (*sp_sqlite.bind_int64)
#define sqlite3_bind_text (*sp_sqlite.bind_text)
#define sqlite3_bind_value (*sp_sqlite.bind_value)
#define sqlite3_busy_timeout (*sp_sqlite.busy_timeout)
#define sqlite3_changes (*sp_sqlite.changes)
#define sqlite3_clear_bindings (*sp_sqlite.clear_bindings)
#define sqlite3_close (*sp_sqlite.close)
#define sqlite3_close_v2 (*sp_sqlite.close_v2)
#define sqlite3_column_blob (*sp_sqlite.column_blob)
#define sqlite3_column_bytes (*sp_sqlite.column_bytes)
#define sqlite3_column_int (*sp_sqlite.column_int)
#define sqlite3_column_int64 (*sp_sqlite.column_int64)
#define sqlite3_column_text (*sp_sqlite.column_text)
#define sqlite3_column_type (*sp_sqlite.column_type)
#define sqlite3_column_value (*sp_sqlite.column_value)
#define sqlite3_config (*sp_sqlite.config)
#define sqlite3_db_config (*sp_sqlite.db_config)
#define sqlite3_db_release_memory (*sp_sqlite.db_release_memory)
#define sqlite3_errmsg (*sp_sqlite.errmsg)
#define sqlite3_errstr (*sp_sqlite.errstr)
#define sqlite3_exec (*sp_sqlite.exec)
#define sqlite3_file_control (*sp_sqlite.file_control)
#define sqlite3_finalize (*sp_sqlite.finalize)
#define sqlite3_get_autocommit (*sp_sqlite.get_autocommit)
#define sqlite3_limit (*sp_sqlite.limit)
#define sqlite3_open_v2 (*sp_sqlite.open_v2)
#define sqlite3_prepare_v2 (*sp_sqlite.prepare_v2)
#define sqlite3_prepare_v3 (*sp_sqlite.prepare_v3)
#define sqlite3_progress_handler (*sp_sqlite.progress_handler)
#define sqlite3_reset (*sp_sqlite.reset)
#define sqlite3_step (*sp_sqlite.step)
#define sqlite3_system_errno (*sp_sqlite.system_errno)
#define sqlite3_wal_checkpoint_v2 (*sp_sqlite.wal_checkpoint_v2)
#endif

#endif
