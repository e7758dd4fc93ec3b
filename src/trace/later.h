/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * later.h: files that appear while functions of a session's specs are traced: they are probed from soon after their
 * first mapping on (recipe/probe_watch.h).
 *
 * It is made before the specs, and watches from before the first look for a function's files on
 * (sp_trace_asked.later), so that none is missed which is mapped in between; of what appears before the probes are
 * attached some is attached twice, which is once. Specs and workers are the caller's and outlive it; workers answer, or
 * say that they are cancelled, before it is freed. 0 or a negative errno with sp_error_text(). NULL is nothing, and
 * watches nothing. One thread.
 */
#ifndef SP_TRACE_LATER_H
#define SP_TRACE_LATER_H

#include "trace/spec.h"

struct sp_broker;
struct sp_recipe_probe;
struct sp_trace_later;
struct sp_workers;

enum { SP_TRACE_PROBES = SP_TRACE_POINTS * (SP_TRACE_FIRSTS + 2) };
/* The probes of the specs; how many there are. */
size_t sp_trace_probes(const struct sp_trace_spec *specs, size_t n_specs,
		       struct sp_recipe_probe *ret_probes[SP_TRACE_PROBES]);

int sp_trace_later_new(struct sp_trace_later **ret_later);
/* From here on no mapping is missed. Again: nothing. */
int sp_trace_later_begin(struct sp_trace_later *l);
/* What it is for, once the functions' files have been looked for, and before they are attached. */
int sp_trace_later_add(struct sp_trace_later *l, const struct sp_trace_spec *specs, size_t n_specs);
/* Who attaches from now on. */
void sp_trace_later_broker(struct sp_trace_later *l, struct sp_broker *broker);
/*
 * The descriptor to wait for, readable when something was mapped; -1: it was looked at a moment ago, and there is no
 * need to before *ret_again_ns (CLOCK_MONOTONIC), else UINT64_MAX.
 */
int sp_trace_later_fd(const struct sp_trace_later *l, uint64_t *ret_again_ns);
/* Takes in what was mapped. is_due: the descriptor was readable. */
int sp_trace_later_turn(struct sp_trace_later *l, bool is_due, struct sp_workers *workers);
void sp_trace_later_free(struct sp_trace_later *l);

#endif
