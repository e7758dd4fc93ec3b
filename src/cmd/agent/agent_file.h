/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent_file.h: the configuration file's reader, for keys whose values are more than a word or a list of words.
 *
 * libyaml's events are taken as they come. A function that takes a value is called with the value's first event at
 * hand (f->event), and returns with its last one at hand. Mappings and lists are taken apart by the two functions here,
 * which refuse what no value may have: unknown keys, keys that are there twice, aliases, too many items. Errors are
 * -EINVAL with the file's name, line and column in sp_error_text(), or -ENOMEM. Text that is to stay is copied by
 * sp_agent_config_keep(). Private to the configuration's parsers in src/cmd. No state but the struct's; one thread.
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
