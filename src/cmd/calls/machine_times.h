/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine_times.h: times of calls that are counted in all processes, by samples taken meanwhile.
 *
 * The samples are those of a session of `soprof profile`. 0 or a negative errno with sp_error_text(). One thread.
 */
#ifndef SP_CMD_CALLS_MACHINE_TIMES_H
#define SP_CMD_CALLS_MACHINE_TIMES_H

#include "cmd/calls/machine_rows.h"

struct sp_capture_stats;
struct sp_profile;
struct sp_profile_args;
struct sp_profile_session;

/* Of the session that samples what is counted; call sp_profile_args_done() in any case. */
int sp_machine_times_args(const struct sp_machine_args *a, struct sp_profile_args *ret_args);
/* The session's profile, which has names, gets the rows, whose callers have theirs; samples of probes leave it. */
int sp_machine_times_join(struct sp_profile_session *s, const struct sp_machine_rows *rows, uint64_t *ret_n_left_out);
/* machine_disturbed.c: *profile is replaced by one without samples that there would not be without the probes. */
int sp_machine_disturbed_leave_out(struct sp_profile **profile, const struct sp_machine_targets *t,
				   uint64_t *ret_n_left_out);
/* On stderr: which builds were counted, and what was left out. */
void sp_machine_times_tell(const struct sp_machine_rows *rows, const struct sp_capture_stats *samples,
			   uint64_t n_left_out);

#endif
