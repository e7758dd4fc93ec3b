/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile_turns.c: what there is so far, shown again and again while it is sampled; and what goes above it. */
#include "base/mem.h"
#include "capture/blocks.h"
#include "cmd/profile/profile_parts.h"
#include "profile/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* As bcc's tools begin what they print. */
static void time_print(void)
{
	time_t now = time(NULL);
	char text[16] = "";
	struct tm local;

	if (localtime_r(&now, &local))
		strftime(text, sizeof(text), "%H:%M:%S", &local);
	printf("[%s]\n", text);
}

/* As bcc's memleak has them; of a command, which may start others, with the process. */
static int blocks_print(const struct sp_profile_session *s)
{
	SP_FREE struct sp_capture_block *blocks = NULL;
	size_t n = 0;
	int r = sp_capture_blocks(s->sampling.capture, &blocks, &n);

	for (size_t i = 0; i < n && r >= 0; i++) {
		printf("\taddr = %" PRIx64 " size = %" PRIu64, blocks[i].address, blocks[i].bytes);
		if (s->args->command)
			printf(" process %" PRIu32, blocks[i].process);
		putchar('\n');
	}
	return r;
}

int sp_profile_above_print(const struct sp_profile_session *s)
{
	if (s->args->every_s)
		time_print();
	return s->args->show_blocks ? blocks_print(s) : 0;
}

/* The profile that is shown is the session's for as long as that takes. */
static int turn_show(struct sp_profile_session *s)
{
	struct sp_profile *running = s->sampling.profile, *shown;
	int r = sp_profile_session_so_far(s, &shown);

	if (r < 0)
		return r;
	s->sampling.profile = shown;
	if (s->args->top)
		r = sp_profile_top(s);
	if (r >= 0)
		r = sp_profile_above_print(s);
	if (r >= 0)
		r = sp_profile_print(s);
	fflush(stdout);
	sp_profile_free(s->sampling.profile);
	s->sampling.profile = running;
	return r;
}

int sp_profile_turns(struct sp_profile_session *s)
{
	const struct sp_profile_args *a = s->args;
	int r = 0;

	for (uint64_t n = 1; !r; n++) {
		r = sp_sampling_run(&s->sampling, a->every_s, s->child.pid_fd);
		if (!r && a->n_times && n == a->n_times)
			return 0;
		if (!r)
			r = turn_show(s);
	}
	return r;
}
