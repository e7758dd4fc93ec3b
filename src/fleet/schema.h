/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * schema.h: the tables of a fleet, and what makes them, in the dialect of ClickHouse 18.16 and of today's.
 *
 * A window's rows are in `samples`, and count only if its row in `windows` says so, by its `run`, a number that is
 * drawn for each attempt to send. That row is sent last. So what is half sent counts nothing, and what is sent twice
 * has two runs, of which questions take one. Stacks, frames, files and processes (`who`) are named by a hash of what
 * they are, which is made with the number `seed` of the table `meta`: who does not know it cannot make two with one
 * hash. `libraries` has what each library cost in a window, and counts as `samples` does: a question about a day of
 * many hosts reads no stacks. All tables but `meta` are cut into days, which go when they are old. Over a cluster they
 * are distributed; where its servers are copies of each other they are replicated, too. 0 or a negative errno with
 * sp_error_text(). No state.
 */
#ifndef SP_FLEET_SCHEMA_H
#define SP_FLEET_SCHEMA_H

#include "fleet/client.h"

enum { SP_FLEET_VERSION = 1, SP_FLEET_KEEP_DAYS = 14 };

enum sp_fleet_table {
	SP_FLEET_FILE,
	SP_FLEET_FRAME,
	SP_FLEET_STACK,
	SP_FLEET_WHO,
	SP_FLEET_SAMPLE,
	SP_FLEET_LIBRARY,
	SP_FLEET_WINDOW, /* the last to be sent */
	SP_FLEET_N_TABLES
};
const char *sp_fleet_table_name(enum sp_fleet_table table);

struct sp_fleet_tables {
	unsigned keep_days;
	/*
	 * NULL = none. Else, by the server's own configuration, the servers over which the tables are distributed. Each
	 * has its part in tables `..._local`, and is to be told by itself: a server says nothing of the others' HTTP
	 * ports.
	 */
	const char *cluster;
	/* Found by sp_fleet_server_ask(): */
	unsigned server;    /* its major version; 0 = 18 */
	bool is_replicated; /* the cluster has several servers for the same rows, which ZooKeeper or Keeper has alike */
};
/* -ENOENT: the server knows no such cluster. */
int sp_fleet_server_ask(struct sp_fleet *f, struct sp_fleet_tables *t);
/* The statements, one after the other, each with its ';' and newline. */
void sp_fleet_schema_write(const char *database, const struct sp_fleet_tables *t, struct sp_bytes *sql);
/* What comes after them where others make the tables: of a cluster it can be done when all servers have theirs. */
void sp_fleet_meta_write(const char *database, const struct sp_fleet_tables *t, struct sp_bytes *sql);
/* "INSERT INTO samples (day, ...) FORMAT RowBinary" */
void sp_fleet_insert_write(enum sp_fleet_table table, struct sp_bytes *sql);

/*
 * Makes what is not there, after sp_fleet_server_ask(). Servers before 20 have no age for rows: days older than
 * keep_days are dropped. ret_is_whole: false: not all servers of the cluster have the tables yet. -EEXIST: there are
 * tables of another kind; -EPROTONOSUPPORT: or of another version.
 */
int sp_fleet_init(struct sp_fleet *f, const struct sp_fleet_tables *t, bool *ret_is_whole);
/* What the fleet's tables say of themselves. -ENOENT: there are none; -EPROTONOSUPPORT: they are of another version. */
int sp_fleet_meta(struct sp_fleet *f, uint64_t *ret_seed);

#endif
