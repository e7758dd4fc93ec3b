/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/aside.h"

void sp_aside_begin(struct sp_aside *a, void *(*work)(void *arg), void *arg)
{
	a->is_begun = !pthread_create(&a->thread, NULL, work, arg);
	if (!a->is_begun)
		work(arg);
}

void sp_aside_wait(struct sp_aside *a)
{
	if (a->is_begun)
		pthread_join(a->thread, NULL);
	a->is_begun = false;
}
