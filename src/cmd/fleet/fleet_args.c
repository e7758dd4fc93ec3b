/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/fleet/fleet_args.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PASSWORD = 4096 };

/* Of one who waits at a terminal, or reads a log of it. */
static void slow_tell(const char *name, unsigned seconds)
{
	fprintf(stderr, "soprof: %s: no answer for %u s; waiting for it, up to 5 min\n", name, seconds);
}

int sp_fleet_args_open(const struct sp_fleet_args *a, struct sp_fleet **ret_fleet)
{
	SP_FREE char *password = NULL;
	struct sp_fleet_server s = {.url = a->url, .ca_file = a->ca_file, .slow = slow_tell};
	int r = a->password_file ? sp_text_read(a->password_file, MAX_PASSWORD, &password, NULL) : 0;

	if (r < 0)
		return r;
	if (password)
		password[strcspn(password, "\r\n")] = '\0';
	s.password = password;
	r = sp_fleet_open(&s, ret_fleet);
	if (password)
		explicit_bzero(password, strlen(password));
	return r;
}
