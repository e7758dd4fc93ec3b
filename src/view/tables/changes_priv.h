/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * changes_priv.h: names of rows, shared by the forms of changes.h.
 *
 * A library by its name, a function by its name and its library's, a stack as folded text. Frames named only by their
 * range are one function for each library, "unnamed functions of LIB", because ranges move from build to build.
 * Written in the given encoding (enum sp_encoding); no errors, no state.
 */
#ifndef SP_VIEW_TABLES_CHANGES_PRIV_H
#define SP_VIEW_TABLES_CHANGES_PRIV_H

#include "profile/diff.h"
#include <stdio.h>

void sp_change_put_name(const struct sp_diff *d, enum sp_diff_by by, const struct sp_diff_row *row, int encoding,
			FILE *out);

#endif
