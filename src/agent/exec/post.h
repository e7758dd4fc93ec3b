/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * post.h: an HTTP POST, made by a process of its own: this program, executed again, with libcurl.
 *
 * The agent itself has no HTTP client in it: libcurl is opened at run time, in that process, which has nothing of the
 * agent's memory and ends with the answer. Only http and https are spoken, certificates are checked, redirections not
 * followed; $http_proxy, $https_proxy and $no_proxy mean what they mean to curl(1). main() calls sp_post_main() first:
 * where the program was executed for a POST the call does not return. The child is looked after as program.h says; when
 * it has ended sp_post_result() says what came of it, and its text why. 0 or a negative errno with sp_error_text().
 */
#ifndef SP_AGENT_EXEC_POST_H
#define SP_AGENT_EXEC_POST_H

#include "agent/exec/program.h"

#define SP_POST_ARGUMENT "--post"
enum { SP_POST_URL_MAX = 2000, SP_POST_BODY_MAX = 16 << 20 };

/* Strings are NULL where there is nothing to say. */
struct sp_post {
	const char *url;
	const char *type, *encoding;    /* Content-Type, Content-Encoding */
	const char *header;             /* one more, as "NAME: VALUE" */
	const char *authorization_file; /* whose first line is the value of Authorization: "Bearer ..." */
	const char *ca_file;            /* in place of the system's */
	const void *body;
	size_t n_body;
	unsigned timeout_ms; /* of all of it */
};
/* self: what is executed, as opened by sp_post_self(). */
int sp_post_self(void);
int sp_post_start(struct sp_program *c, int self, const struct sp_post *p);

enum sp_post_result { SP_POST_TAKEN, SP_POST_AGAIN, SP_POST_REFUSED }; /* REFUSED: another time will not help */
enum sp_post_result sp_post_result(int status);

/* Whether it is a http or https URL with a host; or why not. */
int sp_post_url_check(const char *url);

void sp_post_main(int argc, char **argv);

#endif
