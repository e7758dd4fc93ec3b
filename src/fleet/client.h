/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * client.h: talks to a ClickHouse server over HTTP, with libcurl.
 *
 * An address is http://[USER@]HOST[:PORT][/DATABASE], or https; the user goes into a header, as the password does,
 * which may not stand in an address, since these are seen by others. Rows are sent as zstd. Certificates are verified,
 * redirections not followed. Statements are written by soprof alone; what is foreign in them is a number, or is quoted
 * by sp_fleet_quote(). Questions are answered whole, or not at all.
 * Negative errno with sp_error_text(), which has the server's own words: -EACCES: wrong user or password, or a user
 * whose answers the server cuts; -ENOENT: no tables; -E2BIG: the server, or this side's limit, refuses so large a
 * question; -ENOSPC; -EROFS: the user may only read; -EINVAL: a wrong address; -EIO: all else. A descriptor's
 * connection is kept between requests. Not thread-safe.
 */
#ifndef SP_FLEET_CLIENT_H
#define SP_FLEET_CLIENT_H

#include "fleet/bytes.h"

struct sp_fleet_server {
	const char *url;
	const char *user, *database;    /* NULL = as the address says; else "default" and "soprof" */
	const char *password, *ca_file; /* NULL = none */
	unsigned timeout_ms;            /* of one request; 0 = five minutes */
	unsigned limit_s;               /* the server gives a question up then; 0 = as it is set up */
	void (*slow)(const char *name,
		     unsigned seconds); /* called once, in the midst of a request that takes long; NULL = not */
};
enum { SP_FLEET_URL_MAX = 2000 };
/* Whether an address, and a database's name, is of the form above; else -EINVAL. */
int sp_fleet_url_check(const char *url);
int sp_fleet_database_check(const char *name);

struct sp_fleet;
int sp_fleet_open(const struct sp_fleet_server *s, struct sp_fleet **ret_fleet);
void sp_fleet_close(struct sp_fleet *f);
/* For people: the address without the user. */
const char *sp_fleet_name(const struct sp_fleet *f);
const char *sp_fleet_database(const struct sp_fleet *f);
/* Bytes sent, compressed, since it was opened. */
uint64_t sp_fleet_sent_bytes(const struct sp_fleet *f);

/* Of the last answer: after how many seconds to ask again (Retry-After); 0: it does not say. */
uint64_t sp_fleet_later_s(const struct sp_fleet *f);

/* A statement without an answer. Tables are those of the database; if `outside`, which may not be there yet, of none.
 */
int sp_fleet_do(struct sp_fleet *f, const char *sql, bool outside);
/* A question; its answer, which is added to `into`. */
int sp_fleet_ask(struct sp_fleet *f, const char *sql, bool outside, struct sp_bytes *into);
/* Rows for "INSERT INTO ... FORMAT ...". */
int sp_fleet_insert(struct sp_fleet *f, const char *sql, const struct sp_bytes *rows);

/* Adds the text between quotes, with what ends them escaped: all foreign text in statements comes by this. */
void sp_fleet_quote(struct sp_bytes *sql, const char *text);
void sp_fleet_print(struct sp_bytes *sql, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
