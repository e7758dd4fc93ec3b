/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * changes.h: differences between two profiles (profile/diff.h) as a table, CSV or JSON.
 *
 * First the upgraded libraries, then a row for each library, function or stack: old and new value, the difference
 * with its 95 % interval, and whether it is within noise. Not in the list of views in view.h, because they need more
 * than one profile. Numbers are shares in percent, or values if the diff is absolute. profiles: the old and new one
 * of the diff. 0 or a negative errno; the caller checks the stream's error flag. Names are encoded. Reentrant.
 */
#ifndef SP_VIEW_TABLES_CHANGES_H
#define SP_VIEW_TABLES_CHANGES_H

#include "profile/diff.h"
#include <stdio.h>

struct sp_changes_options {
	enum sp_diff_by by;
	const char *names[2];    /* of old and new */
	const char *value;       /* name of the value compared: "samples" */
	uint64_t duration_ns[2]; /* 0 = not known */
	uint32_t limit;          /* rows shown, 0 = all; a line counts the others */
	bool noise;              /* table: rows within noise, too */
	bool colour;             /* table: escape sequences for a terminal */
	unsigned width;          /* table: columns of the terminal, to which names are cut; 0 = none */
};

int sp_changes_put_table(const struct sp_diff *d, const struct sp_profile *const profiles[2],
			 const struct sp_changes_options *o, FILE *out);
int sp_changes_put_csv(const struct sp_diff *d, const struct sp_profile *const profiles[2],
		       const struct sp_changes_options *o, FILE *out);
int sp_changes_put_json(const struct sp_diff *d, const struct sp_profile *const profiles[2],
			const struct sp_changes_options *o, FILE *out);

#endif
