/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/daemon/sampler.h"
#include "agent/log.h"
#include "base/mem.h"
#include "capture/lasting.h"
#include "capture/recipe_ops.h"
#include "profile/window.h"

struct sp_capture_stats sp_sampler_measure(struct sp_sampler *s)
{
	struct sp_capture_stats stats;

	sp_capture_look(s->capture, true);
	sp_capture_stats(s->capture, &stats);
	return stats;
}

const struct sp_agent_source_status *sp_sampler_status(struct sp_sampler *s)
{
	struct sp_agent_source_status *t = &s->status;
	struct sp_capture_size size;
	struct sp_capture_stats stats;

	sp_capture_size(s->capture, &size);
	sp_capture_stats(s->capture, &stats);
	t->name = s->recipe->name;
	t->rate_millihertz = s->rate_millihertz;
	t->wanted_millihertz = s->wanted_millihertz;
	t->n_windows = s->queue.n_stored;
	t->n_waiting = s->queue.n;
	t->n_dropped = s->queue.n_dropped;
	t->n_renewals = size.n_renewals;
	t->n_files = size.n_files;
	t->n_forgotten = size.n_forgotten;
	t->paused_ns = size.paused_ns;
	/* the kernel, whose table failed, is told of by itself */
	t->n_unnamed_files = s->naming.namer.n_later_files;
	t->n_unnamed_files -= SP_MIN(t->n_unnamed_files, (uint64_t)(s->naming.kernel_failure[0] != 0));
	t->n_unnamed_frames = s->naming.namer.n_later;
	t->n_unfetched = s->naming.stats.n_unfetched;
	t->n_lost_stacks = stats.counter[SP_N_LOST_STACKS];
	t->n_folded = stats.n_folded;
	t->folded_uid = stats.folded_uid;
	t->n_folded_users = stats.n_folded_users;
	t->n_cut_names = s->naming.share.n_cut;
	t->cut_names_uid = s->naming.share.last_uid;
	t->deleted_bytes = stats.deleted_bytes;
	t->n_let_go = stats.n_let_go;
	t->let_go_uid = stats.let_go_uid;
	t->n_tables_later = stats.n_later;
	t->n_tables_put_off = stats.n_put_off;
	t->profile_bytes = sp_profile_memory_bytes(s->profile) + size.memory_bytes;
	return t;
}

/* --- told in the log --- */
/* Once for each user. */
static void log_folded(struct sp_sampler *s, const struct sp_capture_stats *stats)
{
	if (stats->n_folded_users > s->n_folded_logged)
		sp_log(SP_LOG_WARNING,
		       "%s: programs of user %u have more new stacks than a user's share of memory and of the store: "
		       "those above it are stored by library, without functions (%u users so far)",
		       s->recipe->name, (unsigned)stats->folded_uid, (unsigned)stats->n_folded_users);
	s->n_folded_logged = stats->n_folded_users;
}

/* Once for each user. */
static void log_cut_names(struct sp_sampler *s)
{
	const struct sp_name_share *share = &s->naming.share;

	if (share->n_cut_users > s->n_cut_users_logged)
		sp_log(SP_LOG_WARNING,
		       "%s: functions of user %u have longer names than a user's share of memory: those above it are "
		       "cut to %u bytes (%u users so far)",
		       s->recipe->name, (unsigned)share->last_uid, SP_NAME_CUT, share->n_cut_users);
	s->n_cut_users_logged = share->n_cut_users;
}

/* Once, and for another user again. */
static void log_let_go(struct sp_sampler *s, const struct sp_capture_stats *stats)
{
	if (stats->n_let_go && (!s->n_let_go_logged || stats->let_go_uid != s->let_go_uid_logged))
		sp_log(SP_LOG_NOTICE,
		       "%s: deleted programs and libraries of user %u take more memory than is kept for names: those "
		       "above it are let go, and their functions may lack names",
		       s->recipe->name, (unsigned)stats->let_go_uid);
	s->n_let_go_logged = stats->n_let_go;
	s->let_go_uid_logged = stats->let_go_uid;
}

static void log_kernel(struct sp_sampler *s)
{
	bool is_unnamed = s->naming.kernel_failure[0] != 0;

	if (is_unnamed && !s->is_kernel_unnamed) {
		s->env->n_errors++;
		sp_log(SP_LOG_WARNING, "%s: the kernel's functions have no names: %s", s->recipe->name,
		       s->naming.kernel_failure);
	} else if (!is_unnamed && s->is_kernel_unnamed) {
		sp_log(SP_LOG_NOTICE, "%s: the kernel's functions have names now", s->recipe->name);
	}
	s->is_kernel_unnamed = is_unnamed;
}

void sp_sampler_log_lacks(struct sp_sampler *s, const struct sp_capture_stats *stats)
{
	log_folded(s, stats);
	log_cut_names(s);
	log_let_go(s, stats);
	log_kernel(s);
}
