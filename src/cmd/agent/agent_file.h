/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent_file.h: reads the configuration file's keys whose values are more than a word or a list of words.
 *
 * It works on libyaml's events. A function that reads a value starts with f->event at the value's first event, and
 * returns with it at the last. The two functions here read mappings and lists, and refuse unknown keys, keys given
 * twice, aliases and too many items. -EINVAL with the file's name, line and column in sp_error_text(), or -ENOMEM.
 * Text to be kept is copied with sp_agent_config_keep(). Private to the configuration's parsers in src/cmd. One
 * thread.
 */
#ifndef SP_CMD_AGENT_AGENT_FILE_H
#define SP_CMD_AGENT_AGENT_FILE_H

#include "base/error.h"
#include "cmd/agent/agent_options.h"
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <yaml.h>

struct sp_agent_file {
	const char *name;
	yaml_parser_t yaml;
	yaml_event_t event; /* the last that came */
	bool has_event;
	struct sp_agent_args *args;
	uint64_t given, given_values; /* a bit for each option; for each key of sp_agent_file_values */
};

/* Where and what; then what is in the chain already. */
#define SP_AGENT_FILE_SAY(f, mark, format, ...)                                                                        \
	sp_fail_said(-EINVAL, "%s:%zu:%zu: " format, (f)->name, (mark).line + 1, (mark).column + 1, ##__VA_ARGS__)

int sp_agent_file_next(struct sp_agent_file *f);
/* The event's text, once sp_agent_file_check_scalar() found it to be some; wanted: "a name", for the message. */
const char *sp_agent_file_scalar(const struct sp_agent_file *f);
int sp_agent_file_check_scalar(struct sp_agent_file *f, const char *wanted);
/* Checks it, and keeps a copy as long as the configuration. Not empty, at most max bytes. */
int sp_agent_file_keep(struct sp_agent_file *f, const char *wanted, size_t max, const char **ret_text);

struct sp_agent_file_key {
	const char *name;
	int (*take)(struct sp_agent_file *f, void *arg);
};
/* keys end with a name that is NULL; at most 64. */
int sp_agent_file_mapping(struct sp_agent_file *f, const char *wanted, const struct sp_agent_file_key *keys, void *arg);
int sp_agent_file_list(struct sp_agent_file *f, const char *wanted, size_t max,
		       int (*take)(struct sp_agent_file *f, void *arg), void *arg);

/* Keys of the file that are no options of the command line. arg is the struct sp_agent_config. */
extern const struct sp_agent_file_key sp_agent_file_values[];
int sp_agent_file_remotes(struct sp_agent_file *f, void *config);

#endif
