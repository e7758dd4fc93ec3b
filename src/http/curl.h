/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * curl.h: libcurl, loaded at run time, since only what sends needs it.
 *
 * The functions have the names of curl_easy_*(3) and curl_slist_*(3), without these words. Whoever calls them includes
 * <curl/curl.h>. sp_curl_load() is -ELIBACC where it is not installed. A request's options that all of ours have are
 * set by sp_curl_begin(): http and https only, no signals, who we are, where the reason of a failure goes
 * (CURL_ERROR_SIZE bytes). -ENOSYS: libcurl is too old. sp_curl_wait() has it told when an answer takes long, while it
 * is waited for. No other state; not thread-safe.
 */
#ifndef SP_HTTP_CURL_H
#define SP_HTTP_CURL_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

struct sp_curl {
	CURL *(*init)(void);
	CURLcode (*setopt)(CURL *curl, CURLoption option, ...);
	CURLcode (*perform)(CURL *curl);
	CURLcode (*getinfo)(CURL *curl, CURLINFO info, ...);
	void (*cleanup)(CURL *curl);
	const char *(*strerror)(CURLcode code);
	struct curl_slist *(*append)(struct curl_slist *list, const char *text);
	void (*free_list)(struct curl_slist *list);
};
int sp_curl_load(struct sp_curl *ret_curl);

/* ca_file: in place of the system's; NULL = the system's. */
int sp_curl_begin(const struct sp_curl *l, CURL *curl, const char *ca_file, char *error);

/* Of the next request: what has a connection, and no end after SP_CURL_SLOW_S, is told, once for all requests with the
 * same struct. tell and server are the caller's to set; l must outlive the request.
 */
enum { SP_CURL_SLOW_S = 10 };
struct sp_curl_wait {
	void (*tell)(const char *server, unsigned seconds); /* NULL = nobody wants to know */
	const char *server;
	const struct sp_curl *l;
	CURL *curl;
	uint64_t began_ns;
	bool is_told;
};
int sp_curl_wait(const struct sp_curl *l, CURL *curl, struct sp_curl_wait *w);
/* After how many seconds the server wants to be asked again (Retry-After); 0: it has not said. */
uint64_t sp_curl_later_s(const struct sp_curl *l, CURL *curl);

#endif
