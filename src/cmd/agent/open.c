/* SPDX-License-Identifier: GPL-2.0-or-later */
/* open.c: `soprof open`: prints the address of the agent's page, with the token. */
#include "agent/socket/ask.h"
#include "agent/web/page.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct open_args {
	const char *socket;
	bool token_only;
};

/* clang-format off */
static const struct sp_option options[] = {
	{SP_OPT_STRING, 0, "socket", "PATH", "of the agent (/run/soprof/agent.sock)", .offset = offsetof(struct open_args, socket)},
	{SP_OPT_FLAG, 0, "token", NULL, "the token alone, for scripts and scrapers", .offset = offsetof(struct open_args, token_only)},
	{0},
};
/* clang-format on */

/* The first place that it is served at. */
static int take(void *arg, const char *name, const char *value)
{
	char **url = arg;

	if (*url || strcmp(name, "url") != 0)
		return 0;
	*url = sp_encoded(SP_ENCODE_TERMINAL, value);
	return *url ? 0 : -ENOMEM;
}

static int ask_url(const char *socket, char **ret_url)
{
	struct sp_ask a = {.socket = socket};
	int r = sp_ask_status(&a, take, ret_url);

	if (r == -ENOENT || r == -ECONNREFUSED) {
		sp_error_clear();
		return sp_fail_said(r, "no agent answers at %s; sudo soprof agent starts one", socket);
	}
	if (r == 0 && !*ret_url)
		return sp_fail_said(-ENOENT, "the agent serves no page (listen: none)");
	return r;
}

static int read_token(const char *socket, char ret_token[SP_TOKEN_TEXT])
{
	char path[256];
	int r;

	sp_token_path(socket, path, sizeof(path));
	r = sp_token_read(path, ret_token);
	if (r != -EACCES)
		return r;
	sp_error_clear();
	return sp_fail_said(r, "the page is for root, and for members of the agent's group, who may read %s", path);
}

/* Behind the #, which browsers do not send to anybody. */
static int show(const struct open_args *a)
{
	const char *socket = a->socket ? a->socket : SP_AGENT_SOCKET;
	char token[SP_TOKEN_TEXT], *url SP_FREE = NULL;
	int r = read_token(socket, token);

	if (r == 0 && !a->token_only)
		r = ask_url(socket, &url);
	if (r < 0)
		return r;
	if (a->token_only)
		puts(token);
	else
		printf("%s#token=%s\n", url, token);
	return fflush(stdout) ? -errno : 0;
}

static int run(const struct sp_cmd *cmd, int argc, char **argv)
{
	struct open_args a = {0};
	int code = SP_EXIT_OK, r = sp_options_parse(options, argc, argv, &a);

	if (!sp_cmd_parsed(cmd, r, &code))
		return code;
	r = show(&a);
	return r < 0 ? sp_cmd_error(cmd, r, SP_EXIT_FAILED) : SP_EXIT_OK;
}

static const struct sp_example examples[] = {
    {"xdg-open \"$(soprof open)\"", "the agent's page, in the browser"},
    {"curl -H \"Authorization: Bearer $(soprof open --token)\" 127.0.0.1:9877/api/v1/libraries", "its API"},
    {0},
};

const struct sp_cmd sp_cmd_open = {
    .name = "open",
    .summary = "the address of the agent's page, with the token that lets in",
    .group = SP_CMD_WATCH,
    .needs = "a running agent; root, or to be in the agent's group",
    .synopsis = "[OPTIONS]",
    .options = options,
    .examples = examples,
    .run = run,
};
