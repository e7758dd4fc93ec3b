/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exposition.h: writes metrics as Prometheus's text, as OpenMetrics, or as a message of remote write.
 *
 * A caller writes a family's head, then its samples, into one growing buffer. Labels are the text between the braces,
 * `a="x",b="y"`, ordered by name, with values made by sp_label_value(): any bytes in a form that all readers accept, at
 * most SP_LABEL_MAX bytes (longer ones end in a hash). Times are given in ns and written as exact decimal seconds. If
 * memory runs out, `failed` is set, so callers check once at the end. One thread per struct; the owner frees `text`.
 * Sources: prometheus.io/docs/instrumenting/exposition_formats (0.0.4), the OpenMetrics specification 1.0, and
 * prometheus.io/docs/concepts/remote_write_spec (1.0).
 */
#ifndef SP_AGENT_EXPORT_EXPOSITION_H
#define SP_AGENT_EXPORT_EXPOSITION_H

#include "view/interchange/pbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_LABEL_MAX = 400, SP_LABELS_MAX = 4096, SP_LABELS_MAX_N = 16, SP_METRIC_NAME_MAX = 96 };

struct sp_labels {
	char text[SP_LABELS_MAX];
	size_t n;
};
/* Appends; the caller keeps the order of names. -ENOMEM; -E2BIG: too long together. */
int sp_label_add(struct sp_labels *l, const char *name, const char *value);
/* The value as above, not yet escaped: a new string, or NULL. */
char *sp_label_value(const char *value);

enum sp_expo_form { SP_EXPO_TEXT, SP_EXPO_OPENMETRICS, SP_EXPO_REMOTE, SP_EXPO_N_FORMS };
enum sp_expo_type { SP_EXPO_COUNTER, SP_EXPO_GAUGE, SP_EXPO_INFO };

struct sp_expo {
	enum sp_expo_form form;
	char *text;
	size_t n, capacity;
	bool failed;
	size_t n_samples;
	char name[SP_METRIC_NAME_MAX]; /* of the family's samples */
	size_t name_n;
	/* OPENMETRICS: the URL that exemplars link to, before `#to=...`; NULL = "/". */
	const char *page;
	uint64_t link_from_ns, link_to_ns; /* range of `link`, which most exemplars share */
	char link[160];
	size_t link_n;
	/* REMOTE: time of the samples; labels that all get, by name. */
	int64_t at_ms;
	const char *external;
	struct sp_pbuf message, series, part;
};
/* What the series gained in the last window. */
struct sp_exemplar {
	uint64_t from_ns, to_ns; /* wall clock */
	uint64_t value_ns;
};

/*
 * name: without _total and _info. unit: "seconds" or "bytes" if the name ends so; NULL = none. All samples of the
 * family must follow, each set of labels once ("" = none).
 */
void sp_expo_family(struct sp_expo *x, enum sp_expo_type type, const char *name, const char *unit, const char *help);
/* One or two labels, ordered by name; name2 NULL: one. Without memory "", and `failed` is set. */
const char *sp_labels_of(struct sp_expo *x, struct sp_labels *l, const char *name, const char *value, const char *name2,
			 const char *value2);
void sp_expo_number(struct sp_expo *x, const char *labels, uint64_t value);
void sp_expo_seconds(struct sp_expo *x, const char *labels, uint64_t ns);
/* exemplar->value_ns 0: none. */
void sp_expo_seconds_of(struct sp_expo *x, const char *labels, uint64_t ns, const struct sp_exemplar *exemplar);
/* Writes what the form needs at its end. 0 or -ENOMEM. */
int sp_expo_end(struct sp_expo *x);
void sp_expo_done(struct sp_expo *x);

const char *sp_expo_mime(enum sp_expo_form form);
/* The form for this Accept (NULL = not sent): OpenMetrics 1.0 if it is preferred, else text. */
enum sp_expo_form sp_expo_accepted(const char *accept);

#endif
