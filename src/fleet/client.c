/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/client.h"
#include "base/error.h"
#include "base/mem.h"
#include "http/curl.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { CONNECT_MS = 10000, DEFAULT_MS = 300000, MAX_ANSWER = 512 << 20, MAX_WORDS = 1000, MAX_NAME = 64 };
enum { MAX_UNREAD = 1 << 20 }; /* bytes that nobody asked for; a server may send without end */
/* A block of ClickHouse's own compression: a checksum, which it is told not to look at, since TCP and TLS have theirs;
 * the method; both lengths, that of what is packed with this head. Larger ones take more memory, and are no smaller.
 */
enum { BLOCK_BYTES = 32 << 10, CHECKSUM_BYTES = 16, BLOCK_HEAD = 9, METHOD_ZSTD = 0x90, LEVEL = 1 };
#define PACKED_PARAMETERS "&decompress=1&http_native_compression_disable_checksumming_on_decompress=1"

struct sp_fleet {
	struct sp_curl l;
	CURL *curl;
	struct sp_curl_wait wait;
	char *name, *database, *user, *password, *ca_file;
	long timeout_ms;
	unsigned limit_s;
	uint64_t n_sent, later_s;
	char error[CURL_ERROR_SIZE];
	struct sp_bytes answer; /* of a failure, or of what has none */
	struct sp_bytes *into;
	size_t n_unread;
	bool is_too_large, is_known, sets_nothing; /* is_known: it has answered; sets_nothing: the user may not */
	ZSTD_CCtx *zstd;                           /* NULL: nothing was inserted yet */
};

/* --- addresses --- */
struct address {
	char *name, *user, *database;
};

static void address_done(struct address *a)
{
	free(a->name);
	free(a->user);
	free(a->database);
}

int sp_fleet_database_check(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	size_t n = strspn(name, letters);

	if (n && n <= MAX_NAME && !name[n] && (*name < '0' || *name > '9'))
		return 0;
	return sp_fail_said(-EINVAL, "'%s' is not a database's name: letters, digits and _", name);
}

static int address_parse(const char *url, struct address *ret_address)
{
	size_t scheme = !strncmp(url, "http://", 7) ? 7 : !strncmp(url, "https://", 8) ? 8 : 0, n;
	const char *host = url + scheme, *at, *path;

	if (!scheme || strlen(url) > SP_FLEET_URL_MAX)
		return sp_fail_said(-EINVAL, "the address does not begin with http:// or https://, or is too long");
	for (const char *c = url; *c; c++)
		if (*c <= ' ' || *c == 0x7f)
			return sp_fail_said(-EINVAL, "the address has a space or a control character in it");
	n = strcspn(host, "/?#");
	at = memrchr(host, '@', n);
	if (at && memchr(host, ':', (size_t)(at - host)))
		return sp_fail_said(-EINVAL, "no password belongs into an address, where others see it: give its file");
	path = host + n;
	if (at)
		ret_address->user = strndup(host, (size_t)(at - host));
	host = at ? at + 1 : host;
	n = (size_t)(path - host);
	if (!n || *host == ':' || strpbrk(path, "?#"))
		return sp_fail_said(-EINVAL, "the address is not http://[USER@]HOST[:PORT][/DATABASE]");
	if (*path && path[1])
		ret_address->database = strndup(path + 1, strcspn(path + 1, "/"));
	if (asprintf(&ret_address->name, "%.*s%.*s", (int)scheme, url, (int)n, host) < 0)
		ret_address->name = NULL;
	return ret_address->name ? 0 : -ENOMEM;
}

int sp_fleet_url_check(const char *url)
{
	struct address a = {0};
	int r = address_parse(url, &a);

	if (r == 0 && a.database)
		r = sp_fleet_database_check(a.database);
	address_done(&a);
	return r;
}

/* --- begin and end --- */
static char *first_of(const char *a, const char *b, const char *c)
{
	return strdup(a ? a : b ? b : c);
}

static int fleet_fill(struct sp_fleet *f, const struct sp_fleet_server *s)
{
	struct address a = {0};
	int r = address_parse(s->url, &a);

	if (r == 0) {
		f->name = sp_take_ptr(a.name);
		f->user = first_of(s->user, a.user, "default");
		f->database = first_of(s->database, a.database, "soprof");
		f->password = strdup(s->password ? s->password : "");
		f->ca_file = s->ca_file ? strdup(s->ca_file) : NULL;
		f->timeout_ms = s->timeout_ms ? (long)s->timeout_ms : DEFAULT_MS;
		f->limit_s = s->limit_s;
		f->wait = (struct sp_curl_wait){.tell = s->slow, .server = f->name};
		r = f->user && f->database && f->password && (f->ca_file || !s->ca_file) ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = sp_fleet_database_check(f->database);
	if (r == 0 && (strpbrk(f->user, "\r\n") || strpbrk(f->password, "\r\n")))
		r = sp_fail_said(-EINVAL, "the user or the password has a line break in it");
	address_done(&a);
	return r;
}

int sp_fleet_open(const struct sp_fleet_server *s, struct sp_fleet **ret_fleet)
{
	struct sp_fleet *f = calloc(1, sizeof(*f));
	int r = f ? fleet_fill(f, s) : -ENOMEM;

	if (r == 0)
		r = sp_curl_load(&f->l);
	if (r == 0) {
		f->curl = f->l.init();
		r = f->curl ? 0 : -ENOMEM;
	}
	if (r < 0)
		sp_fleet_close(f);
	else
		*ret_fleet = f;
	return r;
}

void sp_fleet_close(struct sp_fleet *f)
{
	if (!f)
		return;
	if (f->curl)
		f->l.cleanup(f->curl);
	if (f->password)
		explicit_bzero(f->password, strlen(f->password));
	free(f->name);
	free(f->user);
	free(f->database);
	free(f->password);
	free(f->ca_file);
	sp_bytes_done(&f->answer);
	ZSTD_freeCCtx(f->zstd);
	free(f);
}

const char *sp_fleet_name(const struct sp_fleet *f)
{
	return f->name;
}

const char *sp_fleet_database(const struct sp_fleet *f)
{
	return f->database;
}

uint64_t sp_fleet_sent_bytes(const struct sp_fleet *f)
{
	return f->n_sent;
}

uint64_t sp_fleet_later_s(const struct sp_fleet *f)
{
	return f->later_s;
}

/* --- requests --- */
static size_t answer_save(char *bytes, size_t size, size_t n, void *fleet)
{
	struct sp_fleet *f = fleet;
	long status = 0;
	struct sp_bytes *to;

	f->l.getinfo(f->curl, CURLINFO_RESPONSE_CODE, &status);
	to = f->into && status == 200 ? f->into : &f->answer;
	if (to == &f->answer && to->n > MAX_WORDS) { /* the beginning says what is wrong */
		f->n_unread += size * n;
		return f->n_unread > MAX_UNREAD ? 0 : size * n;
	}
	f->is_too_large = to->n + size * n > MAX_ANSWER;
	if (f->is_too_large)
		return 0;
	sp_bytes_put(to, bytes, size * n);
	return to->failed ? 0 : size * n;
}

/* A header of its own for each, since libcurl would show a user's in no other way. */
static int header_add(struct sp_fleet *f, struct curl_slist **headers, const char *name, const char *value)
{
	SP_FREE char *text = NULL;
	struct curl_slist *list;

	if (asprintf(&text, "%s: %s", name, value) < 0)
		return -ENOMEM;
	list = f->l.append(*headers, text);
	explicit_bzero(text, strlen(text));
	*headers = list ? list : *headers;
	return list ? 0 : -ENOMEM;
}

static int headers_make(struct sp_fleet *f, struct curl_slist **headers)
{
	int r = header_add(f, headers, "X-ClickHouse-User", f->user);

	if (r == 0 && *f->password)
		r = header_add(f, headers, "X-ClickHouse-Key", f->password);
	if (r == 0)
		r = header_add(f, headers, "Expect", ""); /* saves a round trip before the body */
	return r;
}

/* The exceptions of ClickHouse that mean something to us; all else is -EIO. */
static int errno_of(long code, long status)
{
	static const struct {
		int code, r;
	} known[] = {
	    {192, -EACCES}, {193, -EACCES}, {194, -EACCES}, {195, -EACCES}, {497, -EACCES}, {516, -EACCES},
	    {60, -ENOENT},  {81, -ENOENT},  {158, -E2BIG},  {159, -E2BIG},  {160, -E2BIG},  {191, -E2BIG},
	    {241, -E2BIG},  {307, -E2BIG},  {396, -E2BIG},  {243, -ENOSPC}, {164, -EROFS},  {452, -EROFS},
	};

	for (size_t i = 0; i < SP_COUNT(known); i++)
		if (known[i].code == code)
			return known[i].r;
	return status == 401 || status == 403 ? -EACCES : -EIO;
}

#define MORE "..." /* than is shown */
enum { NO_TABLE = 60, NO_CONNECTION = 279 };
/* Of NO_CONNECTION: what another server of the cluster has said is behind it; one that lacks the tables cannot be used.
 */
#define TRIES "Log: \n\n"
#define NO_TABLE_THERE "There is no table "
#define NO_SPACE "errno: 28,"
#define FAILED "Code: "

/* "Code: 60, e.displayText() = DB::Exception: Table soprof.meta doesn't exist., e.what() = DB::Exception" */
static int answer_failed(struct sp_fleet *f, long status)
{
	char *words = f->answer.bytes ? f->answer.bytes : (char[]){""}, *cut;
	long code = 0;
	int r;

	if (f->answer.bytes) {
		f->answer.bytes[SP_MIN(f->answer.n, (size_t)MAX_WORDS)] = '\0';
		if (f->answer.n > MAX_WORDS)
			memcpy(f->answer.bytes + MAX_WORDS - strlen(MORE), MORE, strlen(MORE));
	}
	if (!strncmp(words, FAILED, strlen(FAILED)))
		code = strtol(words + strlen(FAILED), NULL, 10);
	cut = code == NO_CONNECTION ? strstr(words, TRIES) : NULL;
	words = cut ? cut + strlen(TRIES) : words;
	code = strncmp(words, NO_TABLE_THERE, strlen(NO_TABLE_THERE)) ? code : NO_TABLE;
	words[strcspn(words, "\r\n")] = '\0';
	cut = strstr(words, "Exception: "); /* DB::Exception, DB::NetException, DB::ErrnoException */
	words = cut ? cut + strlen("Exception: ") : words;
	cut = strstr(words, ", e.what()");
	if (cut)
		*cut = '\0';
	if (strstr(words, NO_SPACE)) /* behind a path that may be long */
		return sp_fail_said(-ENOSPC, "%s says: HTTP %ld: no space is left on its disk: %s", f->name, status,
				    words);
	r = errno_of(code, status);
	return sp_fail_said(r, "%s says: HTTP %ld%s%s", f->name, status,
			    r == -EROFS ? ": the user may only read: "
			    : *words    ? ": "
					: "",
			    words);
}

/* A server that speaks http may wait for the rest of what it takes for a line. libcurl 7.88 tells it by its words only.
 */
static bool is_silent_to_tls(const struct sp_fleet *f, CURLcode code)
{
	return code == CURLE_OPERATION_TIMEDOUT && strstr(f->error, "SSL");
}

/* What may be meant where libcurl's words say little. */
static const char *hint_of(const struct sp_fleet *f, CURLcode code)
{
	bool is_tls = !strncmp(f->name, "https", 5);

	if (is_tls && !f->is_known && (code == CURLE_SSL_CONNECT_ERROR || is_silent_to_tls(f, code)))
		return " (is it http:// there?)";
	if (!is_tls && !f->is_known && (code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR))
		return " (is it https:// there?)";
	if (code == CURLE_PEER_FAILED_VERIFICATION)
		return f->ca_file ? " (out of date, for another name, or of none in ca-file)"
				  : " (out of date, for another name, or of none that this system trusts: see ca-file)";
	return "";
}

static int result_of(struct sp_fleet *f, CURLcode code)
{
	long status = 0;

	if (f->is_too_large)
		return sp_fail_said(-E2BIG, "the answer is larger than %d MiB", MAX_ANSWER >> 20);
	if (code != CURLE_OK && f->n_unread <= MAX_UNREAD)
		return sp_fail_said(code == CURLE_OPERATION_TIMEDOUT ? -ETIMEDOUT : -EIO, "%s: %s%s", f->name,
				    *f->error ? f->error : f->l.strerror(code), hint_of(f, code));
	f->is_known = true;
	f->later_s = sp_curl_later_s(&f->l, f->curl);
	f->l.getinfo(f->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status == 200 && f->n_unread > MAX_UNREAD)
		return sp_fail_said(-EIO, "%s does not answer as ClickHouse does", f->name);
	if (status == 200 && !f->into && f->answer.n >= strlen(FAILED) &&
	    !memcmp(f->answer.bytes, FAILED, strlen(FAILED)))
		return answer_failed(f, status);
	return status == 200 ? 0 : answer_failed(f, status);
}

static int post(struct sp_fleet *f, const char *url, const void *body, size_t n)
{
	struct curl_slist *headers = NULL;
	int r = headers_make(f, &headers), bad = 0;

	f->answer.n = f->n_unread = 0;
	f->is_too_large = false;
	*f->error = '\0';
	if (r == 0)
		r = sp_curl_begin(&f->l, f->curl, f->ca_file, f->error);
	if (r == 0)
		r = sp_curl_wait(&f->l, f->curl, &f->wait);
	bad |= f->l.setopt(f->curl, CURLOPT_URL, url);
	bad |= f->l.setopt(f->curl, CURLOPT_POST, 1L);
	bad |= f->l.setopt(f->curl, CURLOPT_POSTFIELDS, body);
	bad |= f->l.setopt(f->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)n);
	bad |= f->l.setopt(f->curl, CURLOPT_HTTPHEADER, headers);
	bad |= f->l.setopt(f->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	bad |= f->l.setopt(f->curl, CURLOPT_TIMEOUT_MS, f->timeout_ms);
	bad |= f->l.setopt(f->curl, CURLOPT_WRITEFUNCTION, answer_save);
	bad |= f->l.setopt(f->curl, CURLOPT_WRITEDATA, f);
	if (r == 0)
		r = bad ? -ENOMEM : result_of(f, f->l.perform(f->curl));
	f->l.setopt(f->curl, CURLOPT_HTTPHEADER, NULL);
	f->l.free_list(headers);
	if (r == 0)
		f->n_sent += n;
	return r;
}

int sp_fleet_do(struct sp_fleet *f, const char *sql, bool outside)
{
	SP_FREE char *url = NULL;

	if (asprintf(&url, "%s/%s%s", f->name, outside ? "" : "?database=", outside ? "" : f->database) < 0)
		return -ENOMEM;
	f->into = NULL;
	return post(f, url, sql, strlen(sql));
}

/* Where a limit ends a question it fails: a profile of the user's may ask for an answer in part, which says nothing of
 * it.
 */
#define MODES(X) X(read) X(group_by) X(sort) X(result) X(timeout) X(set) X(join) X(transfer) X(distinct)
#define THROWS(of) "&" #of "_overflow_mode=throw"
#define WHOLE MODES(THROWS)
#define QUOTED(of) "'" #of "_overflow_mode', "
#define MODE_NAMES MODES(QUOTED) "''"

/* The server keeps the answer until it is whole, so that a failure has its own status. */
static int ask_once(struct sp_fleet *f, const char *sql, bool outside, struct sp_bytes *into)
{
	SP_FREE char *url = NULL;
	char limit[40] = "";
	int r;

	if (f->limit_s && !f->sets_nothing)
		snprintf(limit, sizeof(limit), "&max_execution_time=%u", f->limit_s);
	if (asprintf(&url, "%s/?wait_end_of_query=1%s%s%s%s", f->name,
		     outside ? "" : "&database=", outside ? "" : f->database, limit, f->sets_nothing ? "" : WHOLE) < 0)
		return -ENOMEM;
	f->into = into;
	r = post(f, url, sql, strlen(sql));
	f->into = NULL;
	return r == 0 && into->failed ? -ENOMEM : r;
}

/* Who may set nothing, and has a profile that cuts answers, would take a part for all. */
static int modes_check(struct sp_fleet *f)
{
	static const char sql[] = "SELECT concat(name, ' = ', value) FROM system.settings WHERE name IN (" MODE_NAMES
				  ") AND value != 'throw' ORDER BY name LIMIT 1 FORMAT TabSeparated";
	struct sp_bytes mode = {0};
	int r = ask_once(f, sql, true, &mode);

	if (r == 0 && mode.n)
		r = sp_fail_said(-EACCES,
				 "%s may answer in part, since the profile of the user %s has %.*s, which this user "
				 "may not set: it has to be 'throw' there",
				 f->name, f->user, (int)SP_MIN(mode.n - 1, (size_t)MAX_WORDS), mode.bytes);
	sp_bytes_done(&mode);
	return r;
}

/* There are users who may only read, and set nothing. */
int sp_fleet_ask(struct sp_fleet *f, const char *sql, bool outside, struct sp_bytes *into)
{
	int r = ask_once(f, sql, outside, into);

	if (r != -EROFS || f->sets_nothing)
		return r;
	sp_error_clear();
	f->sets_nothing = true;
	r = modes_check(f);
	if (r < 0)
		f->sets_nothing = false; /* the next question is refused as well */
	return r < 0 ? r : ask_once(f, sql, outside, into);
}

static int block_put(struct sp_fleet *f, const char *bytes, size_t n, void *room, size_t n_room, struct sp_bytes *to)
{
	static const char no_checksum[CHECKSUM_BYTES];
	size_t n_packed = ZSTD_compressCCtx(f->zstd, room, n_room, bytes, n, LEVEL);

	if (ZSTD_isError(n_packed))
		return -ENOMEM;
	sp_bytes_put(to, no_checksum, sizeof(no_checksum));
	sp_bytes_put_u8(to, METHOD_ZSTD);
	sp_bytes_put_u32(to, (uint32_t)n_packed + BLOCK_HEAD);
	sp_bytes_put_u32(to, (uint32_t)n);
	sp_bytes_put(to, room, n_packed);
	return to->failed ? -ENOMEM : 0;
}

/* A quarter of gzip's time, in which ClickHouse 18.16 takes no zstd: but it does in blocks of its own. */
static int rows_pack(struct sp_fleet *f, const struct sp_bytes *rows, struct sp_bytes *to)
{
	size_t n_room = ZSTD_compressBound(BLOCK_BYTES);
	SP_FREE char *room = malloc(n_room);
	int r = 0;

	if (!f->zstd)
		f->zstd = ZSTD_createCCtx();
	if (!room || !f->zstd)
		return -ENOMEM;
	for (size_t at = 0, n; r == 0 && at < rows->n; at += n) {
		n = SP_MIN(rows->n - at, (size_t)BLOCK_BYTES);
		r = block_put(f, rows->bytes + at, n, room, n_room, to);
	}
	return r;
}

/* Acknowledged when all shards have it. */
int sp_fleet_insert(struct sp_fleet *f, const char *sql, const struct sp_bytes *rows)
{
	struct sp_bytes url = {0}, packed = {0};
	int r = rows_pack(f, rows, &packed);

	sp_fleet_print(&url, "%s/?database=%s&insert_distributed_sync=1" PACKED_PARAMETERS "&query=", f->name,
		       f->database);
	for (const char *c = sql; *c; c++) /* ours alone: letters, digits, and these marks */
		sp_fleet_print(&url, strchr(" ,()", *c) ? "%%%02X" : "%c", *c);
	sp_bytes_put_u8(&url, '\0');
	f->into = NULL;
	if (r == 0)
		r = url.failed ? -ENOMEM : post(f, url.bytes, packed.bytes, packed.n);
	sp_bytes_done(&url);
	sp_bytes_done(&packed);
	return r;
}
