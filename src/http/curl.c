/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/curl.h"
#include "base/error.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/time.h"
#include <errno.h>

/* Debian has it with three TLS libraries; any will do. */
int sp_curl_load(struct sp_curl *ret_curl)
{
	static const char *const sonames[] = {"libcurl-gnutls.so.4", "libcurl.so.4", "libcurl-nss.so.4", NULL};
	static const struct sp_library_function functions[] = {
	    {"curl_easy_init", offsetof(struct sp_curl, init)},
	    {"curl_easy_setopt", offsetof(struct sp_curl, setopt)},
	    {"curl_easy_perform", offsetof(struct sp_curl, perform)},
	    {"curl_easy_getinfo", offsetof(struct sp_curl, getinfo)},
	    {"curl_easy_cleanup", offsetof(struct sp_curl, cleanup)},
	    {"curl_easy_strerror", offsetof(struct sp_curl, strerror)},
	    {"curl_slist_append", offsetof(struct sp_curl, append)},
	    {"curl_slist_free_all", offsetof(struct sp_curl, free_list)},
	};

	return sp_library_load("this", "libcurl (Debian: libcurl3-gnutls)", sonames, functions, SP_COUNT(functions),
			       ret_curl);
}

int sp_curl_begin(const struct sp_curl *l, CURL *curl, const char *ca_file, char *error)
{
	int bad = 0;

	bad |= l->setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	bad |= l->setopt(curl, CURLOPT_USERAGENT, "soprof/" SP_VERSION);
	bad |= l->setopt(curl, CURLOPT_NOSIGNAL, 1L);
	bad |= l->setopt(curl, CURLOPT_ERRORBUFFER, error);
	if (ca_file)
		bad |= l->setopt(curl, CURLOPT_CAINFO, ca_file);
	return bad ? sp_fail_said(-ENOSYS, "libcurl is too old, or does not speak https") : 0;
}

/* Called about once a second, whatever happens. To connect has a limit of its own. */
static int wait_look(void *wait, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct sp_curl_wait *w = wait;
	curl_off_t connected_us = 0;

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	if (w->is_told || sp_time_ns(CLOCK_MONOTONIC) - w->began_ns < SP_CURL_SLOW_S * SP_NS_PER_S)
		return 0;
	if (w->l->getinfo(w->curl, CURLINFO_PRETRANSFER_TIME_T, &connected_us) != CURLE_OK || connected_us == 0)
		return 0;
	w->is_told = true;
	w->tell(w->server, SP_CURL_SLOW_S);
	return 0;
}

int sp_curl_wait(const struct sp_curl *l, CURL *curl, struct sp_curl_wait *w)
{
	int bad = 0;

	if (!w->tell)
		return 0;
	w->began_ns = sp_time_ns(CLOCK_MONOTONIC);
	w->l = l;
	w->curl = curl;
	bad |= l->setopt(curl, CURLOPT_NOPROGRESS, 0L);
	bad |= l->setopt(curl, CURLOPT_XFERINFOFUNCTION, wait_look);
	bad |= l->setopt(curl, CURLOPT_XFERINFODATA, w);
	return bad ? sp_fail_said(-ENOSYS, "libcurl is too old") : 0;
}

uint64_t sp_curl_later_s(const struct sp_curl *l, CURL *curl)
{
	curl_off_t s = 0;

	return l->getinfo(curl, CURLINFO_RETRY_AFTER, &s) == CURLE_OK && s > 0 ? (uint64_t)s : 0;
}
