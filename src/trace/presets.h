/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * presets.h: what people want to see, by name: `opens`, `biolatency`. A preset stands for what they could type as well:
 * an event, a pair, or several events that are counted, and what is shown of them.
 *
 * Presets are constant, and by theme in the files presets_*.c; to add one is to add an entry there. A preset works
 * where its events and their fields exist; one that needs kprobes may have another of the same name behind it. No
 * state; errors as in spec.h.
 */
#ifndef SP_TRACE_PRESETS_H
#define SP_TRACE_PRESETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_trace_preset {
	const char *name;
	const char *also;    /* the names that bcc's tools have, with spaces between; NULL: none */
	const char *summary; /* in the list, of 44 columns at most */
	const char *event;   /* as in spec.h; several, with ; between, are counted beside each other */
	const char *which;   /* of a pair: those that are wanted, by all fields; NULL: all */
	/* What is shown where the user does not say; at most one of `print` and `by`: */
	const char *print;
	const char *by, *hist, *sum;
	uint64_t min_ns;
	const char *sampled; /* what has its stacks sampled, where that is not its first point */
	bool counts;         /* only counts */
	bool of_machine;     /* its events are nobody's: processes cannot be chosen */
	bool
	    needs_kprobes; /* where the kernel has none, the next preset of the name takes its place, if there is one */
};

/* By name or another one's, the one for this kernel; NULL: none. */
const struct sp_trace_preset *sp_trace_preset_find(const char *name, size_t n);
/* Those for this kernel; NULL after the last. */
const struct sp_trace_preset *sp_trace_preset_at(size_t i);
/* The first event of a preset that has several, or one, and how long it is; *ret_next: where the next begins, or NULL.
 */
size_t sp_trace_preset_event(const char *events, const char **ret_next);
/* The preset's event as `profile -e` has it, for the stacks of those who ask: where it begins. ret_event: the caller's.
 */
int sp_trace_preset_sampled(const struct sp_trace_preset *preset, char **ret_event);
/*
 * A list of expressions in which names of the preset's own columns stand for what they are: "file" for
 * "file=ustr(...)". The caller's; NULL: out of memory.
 */
char *sp_trace_preset_expand(const struct sp_trace_preset *preset, const char *list);
/* -EINVAL, with the nearest name. */
int sp_trace_preset_unknown(const char *name);

/* The themes; each ends with an empty preset. */
extern const struct sp_trace_preset sp_trace_presets_process[], sp_trace_presets_file[], sp_trace_presets_block[],
    sp_trace_presets_net[], sp_trace_presets_kernel[];

#endif
