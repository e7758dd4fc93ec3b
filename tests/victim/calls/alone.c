/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that lists what is loaded by itself, as one with an unwinder of its own does. */
#include "timed.h"

#include <link.h>

static int look(struct dl_phdr_info *info, size_t size, void *data)
{
	return 0;
}

int main(void)
{
	return dl_iterate_phdr(look, 0) || timed_one(1) != 2;
}
