/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_source.h: where `soprof top` gets its samples: from a sampling session of its own, or from the running agent.
 *
 * `take` returns 1 and a new profile, with names, of the last seconds, which the caller owns; or 0 while names are
 * searched: call it again after the next `step`. Call `step` when a descriptor of the source is readable, and at
 * next_ns. 0 or a negative errno with sp_error_text(); a failed take may be repeated. Main thread only.
 */
#ifndef SP_CMD_TOP_TOP_SOURCE_H
#define SP_CMD_TOP_TOP_SOURCE_H

#include "cmd/top/top_show.h"

struct sp_profile;

struct sp_recipe_set;

struct sp_top_wants {
	uint64_t span_ns, frequency_hz;
	const struct sp_recipe_set *recipes; /* of own sampling: one recipe */
	unsigned max_overhead_percent;       /* as struct sp_capture_options has it */
	bool is_screen;                      /* nothing may be printed beside it */
	const char *socket;                  /* the agent's; NULL = the usual one */
};

enum { SP_TOP_MAX_FDS = 5 };

struct sp_top_source {
	size_t (*fds)(void *source, int ret_fds[SP_TOP_MAX_FDS]);
	uint64_t (*next_ns)(void *source); /* CLOCK_MONOTONIC */
	int (*step)(void *source);
	int (*take)(void *source, struct sp_profile **ret_profile, struct sp_top_info *ret_info);
	void (*close)(void *source);
	void *source;
};

/* Samples from now on; privileges are dropped. On a failure nothing is left. */
int sp_top_own_open(const struct sp_top_wants *w, struct sp_top_source *ret_source);
/* -ENOENT, -ECONNREFUSED: no agent answers. */
int sp_top_agent_open(const struct sp_top_wants *w, struct sp_top_source *ret_source);

#endif
