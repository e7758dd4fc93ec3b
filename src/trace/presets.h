/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * presets.h: what people want to see, by name: `opens`, `biolatency`. A preset stands for what they could type as well:
 * an event or a pair, and what is shown of it.
 *
 * Presets are constant, and by theme in the files presets_*.c; to add one is to add an entry there. A preset works
 * where its events and their fields exist. No state; errors as in spec.h.
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
	const char *event;   /* as in spec.h */
	/* What is shown where the user does not say; at most one of `print` and `by`: */
	const char *print;
	const char *by, *hist, *sum;
	uint64_t min_ns;
};

/* By name or another one's; NULL: none. */
const struct sp_trace_preset *sp_trace_preset_find(const char *name, size_t n);
/* NULL after the last. */
const struct sp_trace_preset *sp_trace_preset_at(size_t i);
/* -EINVAL, with the nearest name. */
int sp_trace_preset_unknown(const char *name);

/* The themes; each ends with an empty preset. */
extern const struct sp_trace_preset sp_trace_presets_process[], sp_trace_presets_file[], sp_trace_presets_block[],
    sp_trace_presets_net[], sp_trace_presets_kernel[];

#endif
