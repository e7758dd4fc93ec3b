/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * changes_priv.h: what the forms of changes.h share: how a row is called.
 *
 * A library by its name, a function by its name and that of its library, a stack folded into one line with the root
 * first. Frames that are named by their range alone are one function for each library, "unnamed functions of LIB", as
 * they move from build to build. Written to the stream in the encoding asked for (enum sp_encoding); no errors, no
 * state.
 */
#ifndef SP_VIEW_TABLES_CHANGES_PRIV_H
#define SP_VIEW_TABLES_CHANGES_PRIV_H

#include "profile/diff.h"
#include <stdio.h>

void sp_change_put_name(const struct sp_diff *d, enum sp_diff_by by, const struct sp_diff_row *row, int encoding,
			FILE *out);

#endif
