/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_list.h: `soprof profile --list`: the events that -e takes, and what becomes of each here.
 *
 * A line for each recipe, perf event and kind of tracepoint: what it counts, in which unit, what one costs, and whether
 * it works for who asks: recipes are loaded and attached for a moment, perf events are opened. Reasons stand below the
 * table, each once. A glob chooses lines by name, and tracepoints one by one. Main thread only.
 */
#ifndef SP_CMD_PROFILE_PROFILE_LIST_H
#define SP_CMD_PROFILE_PROFILE_LIST_H

#include <stdbool.h>

/* glob "": all but single tracepoints. with_fields: those of each tracepoint, too. Prints, and returns the exit code: 2
 * if nothing matches. */
int sp_profile_list(const char *glob, bool with_fields);

#endif
