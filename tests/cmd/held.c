/* SPDX-License-Identifier: GPL-2.0-or-later */
/* held.c: a library with locks of its own (holder.c): one in its data, one behind much memory that is 0 at first. */
#include <pthread.h>

pthread_mutex_t *held_in_data(void);
pthread_mutex_t *held_in_bss(void);

static pthread_mutex_t in_data = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct {
	char much[3000000];
	pthread_mutex_t lock;
} in_bss;

pthread_mutex_t *held_in_data(void)
{
	return &in_data;
}

pthread_mutex_t *held_in_bss(void)
{
	return &in_bss.lock;
}
