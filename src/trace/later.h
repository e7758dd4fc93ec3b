/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * later.h: files that appear while functions of a session's specs are traced: they are probed from soon after their
 * first mapping on (recipe/probe_watch.h).
 *
 * It is made before the probes are attached: a file that appears meanwhile is attached twice, which is once. Specs and
 * workers are the caller's and outlive it; workers answer, or say that they are cancelled, before it is freed. 0 or a
 * negative errno with sp_error_text(). One thread.
 */
#ifndef SP_TRACE_LATER_H
#define SP_TRACE_LATER_H

#include "trace/spec.h"

struct sp_broker;
struct sp_recipe_probe;
struct sp_trace_later;
struct sp_workers;

/* Each probe of the specs. Stops at what it returns, if that is negative. */
int sp_trace_each_probe(const struct sp_trace_spec *specs, size_t n_specs,
			int (*each)(void *arg, struct sp_recipe_probe *probe), void *arg);
bool sp_trace_has_probes(const struct sp_trace_spec *specs, size_t n_specs);

/* *ret_later: NULL: no function or mark is traced, so it watches nothing, which the rest takes. */
int sp_trace_later_new(const struct sp_trace_spec *specs, size_t n_specs, struct sp_trace_later **ret_later);
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
