/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof.h: the view pprof for who sends it at once: packed by a level of gzip, SP_GZIP_FAST or SP_GZIP_USUAL (pbuf.h).
 *
 * The level makes a third of the CPU time that a profile takes, and a sixth of its bytes. As a view it is packed
 * usually. 0 or a negative errno, as views have it. No state; reentrant.
 */
#ifndef SP_VIEW_INTERCHANGE_PPROF_H
#define SP_VIEW_INTERCHANGE_PPROF_H

#include <stdio.h>

struct sp_profile;
struct sp_view_options;

int sp_pprof_write(const struct sp_profile *p, const struct sp_view_options *o, int level, FILE *out);

#endif
