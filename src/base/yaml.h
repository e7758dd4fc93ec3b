/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * yaml.h: reads a configuration file of YAML by tables of keys.
 *
 * libyaml's events are handled as they come: nothing is built in memory, and every message has a line and a column. A
 * function that takes a value begins with y->event at the value's first event, and returns with it at the last.
 * Refused are keys that nobody knows or that are there twice, too long lists, NUL bytes, anchors and aliases, and a
 * second document. An empty file or mapping is none without keys.
 * -EINVAL with `FILE:LINE:COLUMN: what` in sp_error_text(), or -ENOMEM. A struct sp_yaml is valid during
 * sp_yaml_read(), as is the text of an event until the next one. No other state; reentrant.
 */
#ifndef SP_BASE_YAML_H
#define SP_BASE_YAML_H

#include "base/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

struct sp_yaml {
	const char *name; /* of the file */
	yaml_parser_t parser;
	yaml_event_t event; /* the last that came */
	bool has_event;
	yaml_mark_t key_at; /* where the key of the value that is being taken stands */
};

/* Where and what; then what is in the chain already. */
#define SP_YAML_FAIL(y, mark, format, ...)                                                                             \
	sp_fail_said(-EINVAL, "%s:%zu:%zu: " format, (y)->name, (mark).line + 1, (mark).column + 1, ##__VA_ARGS__)

typedef int sp_yaml_take(struct sp_yaml *y, void *arg);
struct sp_yaml_key { /* tables end with a name that is NULL */
	const char *name;
	sp_yaml_take *take;
};

/* The whole of a file's text: `take` gets its one value; it is not called if there is none. */
int sp_yaml_read(const char *name, const char *text, size_t len, sp_yaml_take *take, void *arg);

/* The event's text, once sp_yaml_check_text() found it to be some; wanted: "a name", for the message. */
const char *sp_yaml_text(const struct sp_yaml *y);
int sp_yaml_check_text(struct sp_yaml *y, const char *wanted);
/* No value, or the word null. */
bool sp_yaml_is_null(const struct sp_yaml *y);
/* The number of the event's text among words, which end with NULL; wanted: the words, for the message. */
int sp_yaml_choice(struct sp_yaml *y, const char *const *words, const char *wanted, int *ret_number);

/* Lines of NAME: VALUE, of any names, or of those of a table; what: of what they are, for messages. */
int sp_yaml_pairs(struct sp_yaml *y, const char *what, int (*take)(struct sp_yaml *y, const char *key, void *arg),
		  void *arg);
int sp_yaml_keys(struct sp_yaml *y, const char *what, const struct sp_yaml_key *keys, void *arg);
/* A list of at most max items. */
int sp_yaml_items(struct sp_yaml *y, const char *what, size_t max, sp_yaml_take *take, void *arg);

#endif
