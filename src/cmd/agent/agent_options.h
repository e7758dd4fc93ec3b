/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent_options.h: the options of `soprof agent`, which are also the keys of its configuration file.
 *
 * One table has for each option its name, range and help. The file is read first; the command line overrides it. A
 * reload makes a new, independent set. -EINVAL with one line in sp_error_text(), for the file with its name, line and
 * column; or an error of reading the file. On failure the caller's struct is cleared.
 */
#ifndef SP_CMD_AGENT_AGENT_OPTIONS_H
#define SP_CMD_AGENT_AGENT_OPTIONS_H

#include "agent/config.h"
#include "cmd/options.h"

struct sp_agent_args {
	struct sp_agent_config config;
	const char *file; /* NULL: none was named, and the usual one is not there */
	bool check_only, status, json;
};

extern const struct sp_option sp_agent_options[];

/* Without a file that is named, SP_AGENT_CONFIG is read if there is one. SP_PARSED, SP_PARSED_HELP or negative. */
int sp_agent_args_parse(int argc, char *const *argv, struct sp_agent_args *ret_args);
void sp_agent_args_done(struct sp_agent_args *a);

/*
 * Parsers of options that `soprof serve` has, too; `args` begins with a struct sp_agent_args. Paths: at most `max`
 * bytes; "none" is one if `min` is 0.
 */
int sp_agent_parse_path(const struct sp_option *o, const char *shown, const char *value, void *args);
int sp_agent_parse_group(const struct sp_option *o, const char *shown, const char *value, void *args);
int sp_agent_parse_listen(const struct sp_option *o, const char *shown, const char *value, void *args);
int sp_agent_parse_hosts(const struct sp_option *o, const char *shown, const char *value, void *args);
int sp_agent_parse_percent(const struct sp_option *o, const char *shown, const char *value, void *args);
int sp_agent_parse_duration(const struct sp_option *o, const char *shown, const char *value, void *args);

/* A copy of the text that lives as long as the configuration, or NULL. */
char *sp_agent_config_keep(struct sp_agent_config *c, const char *text);

/* agent_file.c: reads a configuration file's text (at most SP_AGENT_FILE_MAX bytes) into *args. */
enum { SP_AGENT_FILE_MAX = 1 << 20 };
int sp_agent_file_parse(const char *name, const char *text, size_t len, struct sp_agent_args *args);

/* agent_receivers.c: the files of each that something is sent to (receivers, remote write, alerts); NULL: it has none.
 */
int sp_agent_each_receiver(const struct sp_agent_config *c,
			   int (*take)(void *arg, const char *secret_file, const char *ca_file), void *arg);
/* Whether they can be read. */
int sp_agent_files_check(const struct sp_agent_config *c);

/* Whether the option is of the command line only, and no key of the file. */
bool sp_agent_option_is_action(const struct sp_option *o);

#endif
