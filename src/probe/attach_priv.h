/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attach_priv.h: what the two ways of attaching share (attach.c: links; trace_event.c: events of tracefs).
 *
 * Each attaches all places or none, and gives the kernel's own error, negative: -524 (ENOTSUPP) where it takes no
 * breakpoint at one of them. What was made is added to the link, whose maker detaches it. No state but the number of
 * the last event.
 */
#ifndef SP_PROBE_ATTACH_PRIV_H
#define SP_PROBE_ATTACH_PRIV_H

#include "probe/attach.h"

struct sp_probe_want {
	const struct sp_probe_program *program;
	pid_t pid;
	const uint64_t *cookie; /* of an event of tracefs; NULL: it has none */
	char path[32];          /* of the file, as this process sees it */
};

int sp_probe_event_attach(const struct sp_probe_want *w, const struct sp_probe_at *at, struct sp_probe_link *link);
void sp_probe_event_remove(char *event); /* and frees its name */

#endif
