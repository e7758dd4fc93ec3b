/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * post.h: an HTTP POST by a process of its own: this program, executed again (self.h), with libcurl.
 *
 * Only that process loads libcurl; it has nothing of the agent's memory, and ends with the answer. http and https only;
 * certificates are verified, redirections are not followed; $http_proxy, $https_proxy and $no_proxy are used as by
 * curl(1). main() calls sp_post_main() first, which does not return if the program was executed for a POST. The child
 * is a struct sp_program; when it has ended, sp_post_result() has the result, and its text the reason. 0 or a negative
 * errno with sp_error_text().
 */
#ifndef SP_AGENT_EXEC_POST_H
#define SP_AGENT_EXEC_POST_H

#include "agent/exec/program.h"

#define SP_POST_ARGUMENT "--post"
enum { SP_POST_URL_MAX = 2000, SP_POST_BODY_MAX = 16 << 20 };

/* Strings may be NULL. */
struct sp_post {
	const char *url;
	const char *type, *encoding;    /* Content-Type, Content-Encoding */
	const char *header;             /* one more, "NAME: VALUE" */
	const char *authorization_file; /* its first line is the value of Authorization: "Bearer ..." */
	const char *ca_file;            /* instead of the system's */
	const void *body;
	size_t n_body;
	unsigned timeout_ms; /* of the whole exchange */
};
/* self: sp_self_open()'s. */
int sp_post_start(struct sp_program *c, int self, const struct sp_post *p);

enum sp_post_result { SP_POST_TAKEN, SP_POST_AGAIN, SP_POST_REFUSED }; /* REFUSED: trying again does not help */
enum sp_post_result sp_post_result(int status);

/* Whether it is an http or https URL with a host; else -EINVAL with what is wrong. */
int sp_post_url_check(const char *url);

void sp_post_main(int argc, char **argv);

#endif
