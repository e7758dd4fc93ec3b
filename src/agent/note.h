/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * note.h: what is said of an alert: that it fires, or that it is over; and the forms in which it is said.
 *
 * A note owns its text, so that it can wait for its delivery, and be written to a file, while rules change and the
 * agent is started anew. Labels: alertname, instance (this machine's name), what the alert is about, and those of the
 * rule; each value at most SP_NOTE_VALUE bytes, cut between characters. Names of libraries and processes are anybody's:
 * each form encodes them. soprof-alerts(5) has the forms. 0 or a negative errno; -EBADMSG for lines that are no note.
 * One thread.
 */
#ifndef SP_AGENT_NOTE_H
#define SP_AGENT_NOTE_H

#include "agent/config.h"
#include "agent/request.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { SP_NOTE_LABELS = SP_ALERT_LABELS + 8, SP_NOTE_VALUE = 250, SP_NOTE_SUMMARY = 512 };

struct sp_note {
	bool is_over;
	char *name, *rule;
	char *label_names[SP_NOTE_LABELS], *label_values[SP_NOTE_LABELS];
	size_t n_labels;
	double value, threshold;
	uint64_t starts_ns, ends_ns; /* wall clock; ends_ns 0 = not yet */
	char *summary;
};

size_t sp_note_cut(const char *text, size_t len); /* how much of it a label's value may have */
int sp_note_init(struct sp_note *n, const struct sp_alert_config *c);
int sp_note_label(struct sp_note *n, const char *name, const char *value); /* "" is no label; what is there stays */
int sp_note_summary(struct sp_note *n, const char *format, ...) __attribute__((format(printf, 2, 3)));
int sp_note_copy(const struct sp_note *from, struct sp_note *ret_note);
void sp_note_done(struct sp_note *n);
bool sp_note_is_of_same(const struct sp_note *a, const struct sp_note *b); /* alert: all labels are equal */

/* One JSON object for a webhook, and for the standard input of a command. */
void sp_note_json(const struct sp_note *n, FILE *out);
/* One object of Alertmanager's /api/v2/alerts; until_ns: when it forgets an alert that nobody repeats. */
void sp_note_alertmanager(const struct sp_note *n, uint64_t until_ns, FILE *out);
/* SOPROF_ALERT_* after some of our own; a list that ends with NULL, to be freed by sp_note_environment_free(). */
char **sp_note_environment(const struct sp_note *n);
void sp_note_environment_free(char **environment);

/* Lines of words (request.h), and back: sp_note_take() is given each line until it says that it is none of a note. */
void sp_note_write(const struct sp_note *n, FILE *out);
int sp_note_take(struct sp_note *n, const struct sp_line *l);

#endif
