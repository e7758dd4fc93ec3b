/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/maps.h"

#include <stdlib.h>
#include <string.h>

enum { PERMISSIONS = 5 }; /* with the following space */

static void maps_unescape(char *path)
{
	char *to = path;

	for (; *path != '\0'; to++) {
		bool newline = strncmp(path, "\\012", 4) == 0;
		*to = newline ? '\n' : *path;
		path += newline ? 4 : 1;
	}
	*to = '\0';
}

/* Takes a number off the text; false: no number, or not followed by `end`. */
static bool take_number(char **at, int base, char end, uint64_t *ret)
{
	char *behind;

	*ret = strtoull(*at, &behind, base);
	if (behind == *at || *behind != end)
		return false;
	*at = behind + 1;
	return true;
}

bool sp_maps_parse(char *text, struct sp_maps_line *ret_line)
{
	struct sp_maps_line l = {0};
	uint64_t major_dev, minor_dev;
	char *at = text;

	if (!take_number(&at, 16, '-', &l.start) || !take_number(&at, 16, ' ', &l.end) || l.end < l.start ||
	    strlen(at) < PERMISSIONS)
		return false;
	l.is_exec = at[2] == 'x';
	at += PERMISSIONS;
	if (!take_number(&at, 16, ' ', &l.offset) || !take_number(&at, 16, ':', &major_dev) ||
	    !take_number(&at, 16, ' ', &minor_dev))
		return false;
	l.dev = (uint32_t)(major_dev << 20 | (minor_dev & 0xfffff));
	l.ino = strtoull(at, &at, 10);
	if (*at != ' ')
		return false;
	l.path = at + strspn(at, " ");
	maps_unescape(l.path);
	*ret_line = l;
	return true;
}
