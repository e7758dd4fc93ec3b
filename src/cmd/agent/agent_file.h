/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent_file.h: the keys of the agent's configuration file whose values are more than a word or a list of words.
 *
 * Each is taken by a function as base/yaml.h has them. Text to be kept is copied with sp_agent_file_keep() and belongs
 * to the configuration. -EINVAL with the file's name, line and column in sp_error_text(), or -ENOMEM. Private to the
 * configuration's parsers in src/cmd. One thread.
 */
#ifndef SP_CMD_AGENT_AGENT_FILE_H
#define SP_CMD_AGENT_AGENT_FILE_H

#include "base/yaml.h"
#include "cmd/agent/agent_options.h"

/* The text of the event, as long as the configuration. Not empty, at most max bytes; wanted: for the message. */
int sp_agent_file_keep(struct sp_yaml *y, struct sp_agent_config *c, const char *wanted, size_t max,
		       const char **ret_text);

/* The same of a path, which has to begin with a /; what: the key. */
int sp_agent_file_keep_path(struct sp_yaml *y, struct sp_agent_config *c, const char *what, const char **ret_path);
/* As Prometheus has names of labels. */
bool sp_agent_file_is_label(const char *name);

/* Keys of the file that are no options of the command line. arg is the struct sp_agent_config. */
extern const struct sp_yaml_key sp_agent_file_values[];
int sp_agent_file_remotes(struct sp_yaml *y, void *config);
int sp_agent_file_fleet(struct sp_yaml *y, void *config);
int sp_agent_file_pyroscope(struct sp_yaml *y, void *config);
int sp_agent_file_otlp(struct sp_yaml *y, void *config);

#endif
