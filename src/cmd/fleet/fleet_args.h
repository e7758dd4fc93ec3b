/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fleet_args.h: how commands are told of a fleet: an address, a password's file, certificates, which hosts.
 *
 * SP_FLEET_OPTIONS() are the options, for a command whose arguments hold a struct sp_fleet_args. The address is that of
 * fleet/client.h. A password is a file's first line, never a word of the command line. 0 or a negative errno with
 * sp_error_text(). Strings stay the caller's.
 */
#ifndef SP_CMD_FLEET_FLEET_ARGS_H
#define SP_CMD_FLEET_FLEET_ARGS_H

#include "cmd/options.h"
#include "fleet/query.h"

struct sp_fleet_args {
	const char *url, *password_file, *ca_file;
	struct sp_fleet_filter filter;
};

/* clang-format off */
#define SP_FLEET_SERVER_OPTIONS(args, member) \
	{SP_OPT_STRING, 0, "password-file", "FILE", "its first line is the password of the fleet's user", .offset = offsetof(args, member.password_file)}, \
	{SP_OPT_STRING, 0, "ca-file", "FILE", "certificates to trust, in place of the system's", .offset = offsetof(args, member.ca_file)}
/* excludes: the bit of other places to ask */
#define SP_FLEET_OPTIONS(args, member, bit) \
	{SP_OPT_STRING, 0, "fleet", "URL", "ask the fleet there: http[s]://[USER@]HOST[:PORT][/DATABASE]", .offset = offsetof(args, member.url), .excludes = (bit)}, \
	{SP_OPT_STRING, 0, "host", "GLOB", "of a fleet: hosts of such a name", .offset = offsetof(args, member.filter.host)}, \
	SP_FLEET_SERVER_OPTIONS(args, member)
/* clang-format on */

int sp_fleet_args_open(const struct sp_fleet_args *a, struct sp_fleet **ret_fleet);

#endif
