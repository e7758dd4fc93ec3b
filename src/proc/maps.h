/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maps.h: a line of /proc/PID/maps, taken apart: START-END PERMISSIONS OFFSET MAJOR:MINOR INODE PATH
 * (proc_pid_maps(5)).
 *
 * The kernel writes a newline in a path as \012, and nothing else in another way. The path points into the text that
 * was given, which is changed. No state; thread-safe.
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

/* One line without its newline. False: it is none. */
bool sp_maps_parse(char *text, struct sp_maps_line *ret_line);

#endif
