/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/mountinfo.h"

#include <stdlib.h>
#include <string.h>

enum { DEV_MINOR_BITS = 20 };

void sp_mountinfo_unescape(char *text)
{
	char *to = text;

	for (; *text != '\0'; to++) {
		bool octal = text[0] == '\\' && strspn(text + 1, "01234567") >= 3;
		*to = octal ? (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0')) : *text;
		text += octal ? 4 : 1;
	}
	*to = '\0';
}

/* Takes a number off the text; false: no number, or not followed by `end`. */
static bool mountinfo_number(char **at, char end, uint64_t *ret)
{
	char *behind;

	*ret = strtoull(*at, &behind, 10);
	if (strchr("0123456789", **at) == NULL || behind == *at || *behind != end)
		return false;
	*at = behind + 1;
	return true;
}

static bool parse_mount(char *at, struct sp_mount_line *m)
{
	uint64_t parent, major_dev, minor_dev;

	if (!mountinfo_number(&at, ' ', &m->id) || !mountinfo_number(&at, ' ', &parent) ||
	    !mountinfo_number(&at, ':', &major_dev) || !mountinfo_number(&at, ' ', &minor_dev))
		return false;
	m->dev = (uint32_t)(major_dev << DEV_MINOR_BITS | minor_dev);
	m->root = strsep(&at, " ");
	m->point = strsep(&at, " ");
	return m->point && at;
}

bool sp_mountinfo_parse(char *text, struct sp_mount_line *ret_line)
{
	struct sp_mount_line m = {0};
	char *file_system = strstr(text, " - ");

	if (!file_system)
		return false;
	*file_system = '\0';
	file_system += strlen(" - ");
	if (!parse_mount(text, &m))
		return false;
	m.type = strsep(&file_system, " \n");
	(void)strsep(&file_system, " \n"); /* the source */
	m.options = strsep(&file_system, "\n");
	sp_mountinfo_unescape(m.point);
	*ret_line = m;
	return true;
}
