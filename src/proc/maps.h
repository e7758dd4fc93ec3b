/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maps.h: parses a line of /proc/PID/maps: START-END PERMISSIONS OFFSET MAJOR:MINOR INODE PATH (proc_pid_maps(5)).
 *
 * The kernel escapes only newlines in paths, as \012. The path points into the given text, which is changed. No
 * errors but false; no state; thread-safe.
 */
#ifndef SP_PROC_MAPS_H
#define SP_PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct sp_maps_line {
	uint64_t start, end, offset, ino;
	uint32_t dev; /* as the kernel has it: major << 20 | minor */
	bool is_exec;
	char *path; /* "" = none */
};

/* text: one line without its newline. False: not a line of maps. */
bool sp_maps_parse(char *text, struct sp_maps_line *ret_line);

#endif
