/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_draw.h: bars, lines of the last minute and meters of CPUs, as text for the screen of `soprof top`.
 *
 * In ASCII, or in the block characters of Unicode, by eighths of a cell. Of a meter the part of programs is written by
 * '|' and that of the kernel by ':', in a pair of brackets, so that it says the same without colours. Where CPUs are
 * too many for meters each gets a character of how busy it is, or several share one: then the busiest of them. Pure: no
 * memory, no errors.
 */
#ifndef SP_CMD_TOP_TOP_DRAW_H
#define SP_CMD_TOP_TOP_DRAW_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/top/top_cpus.h"

enum { SP_TOP_BAR = 8, SP_TOP_DRAWN = 4 * 64, SP_TOP_METER_LINES = 2, SP_TOP_METER_LINE = 1024 };

/* A share of the whole in SP_TOP_BAR cells; what is not 0 is seen. */
void sp_top_bar(double share, bool ascii, char ret_text[SP_TOP_DRAWN]);
/* A character for each cell, from 0 to the greatest of them, but at least to `least`; below 0: a space. */
void sp_top_spark(const double *cells, size_t n, double least, bool ascii, char ret_text[SP_TOP_DRAWN]);
/* Lines of at most so many columns (1,000); their number, at most n_lines (SP_TOP_METER_LINES). */
size_t sp_top_meters(const struct sp_top_cpus *cpus, unsigned width, size_t n_lines, bool ascii,
		     char ret_lines[SP_TOP_METER_LINES][SP_TOP_METER_LINE]);

#endif
