/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log.h: lines for a log about what the writer did by itself; they go to note() of struct sp_store_options.
 *
 * Each event is counted in struct sp_store_stats, too. These functions keep no argument, and fail only
 * where they return so. Threads: as
 * in store.h. Limits: a line holds any path.
 */
#ifndef SP_STORE_WRITE_LOG_H
#define SP_STORE_WRITE_LOG_H

#include <stdint.h>

struct sp_day;
struct sp_day_file;
struct sp_store;

void sp_log_moved(struct sp_store *s, const char *what);
void sp_log_replaced(struct sp_store *s, struct sp_day_file *f, const char *name);
void sp_log_outgrown(struct sp_store *s);
/* A day's file was removed, because the disk's limit was reached. Adds an event, too; returns its errors. */
int sp_log_removed(struct sp_store *s, const struct sp_day *day, uint64_t bytes, uint64_t now_ns);

#endif
