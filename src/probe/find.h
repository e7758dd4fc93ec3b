/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * find.h: which file a program that is started here would load for a name. Private to src/probe.
 *
 * A library as ld.so finds it: LD_LIBRARY_PATH, ld.so.cache, the usual directories; else a program of PATH. What a
 * program's own RUNPATH adds is not known here. A pure function of the machine's files, which are not opened. The path
 * is the caller's, without symbolic links, as /proc shows it.
 */
#ifndef SP_PROBE_FIND_H
#define SP_PROBE_FIND_H

#include "base/suggest.h"

char *sp_probe_find(const char *name); /* NULL: none, or out of memory */
/* Offers the libraries of ld.so.cache; near->best may lie in *ret_names then, which the caller frees. */
void sp_probe_find_near(struct sp_suggest *near, char **ret_names);

#endif
