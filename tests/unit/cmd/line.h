/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * line.h: a command line as one string, which is easier to read in a test than its words.
 */
#ifndef TESTS_UNIT_CMD_LINE_H
#define TESTS_UNIT_CMD_LINE_H

#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 65536, LINE_WORDS = 1024 };

/* Adds the words of the line to argv, which has argc of them already, and returns how many there are. They are valid
 * until the next call. */
static inline int line_split(const char *line, int argc, char **argv)
{
	static char copy[LINE_BYTES];
	char *at = copy, *word;

	snprintf(copy, sizeof(copy), "%s", line);
	while ((word = strsep(&at, " "))) {
		if (*word && argc < LINE_WORDS - 1)
			argv[argc++] = word;
	}
	argv[argc] = NULL;
	return argc;
}

#endif
