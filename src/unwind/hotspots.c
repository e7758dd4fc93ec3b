/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/hotspots.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

struct sp_hotspot_of {
	struct sp_hotspot_of *next;
	sp_u32 file;
	struct sp_hotspot hotspot;
};

int sp_hotspots_put(struct sp_hotspots *l, sp_u32 file, const struct sp_hotspot *h)
{
	struct sp_hotspot_of *of = calloc(1, sizeof(*of));

	if (!of)
		return -ENOMEM;
	if (l->map_fd >= 0 && bpf_map_update_elem(l->map_fd, &file, h, BPF_ANY)) {
		free(of);
		return -ENOSPC;
	}
	*of = (struct sp_hotspot_of){.next = l->first, .file = file, .hotspot = *h};
	l->first = of;
	return 0;
}

struct sp_hotspot *sp_hotspots_find(const struct sp_hotspots *l, sp_u32 file)
{
	struct sp_hotspot_of *of = l->first;

	while (of && of->file != file)
		of = of->next;
	return of ? &of->hotspot : NULL;
}

void sp_hotspots_forget(struct sp_hotspots *l, sp_u32 file)
{
	struct sp_hotspot_of **at = &l->first, *gone;

	while (*at && (*at)->file != file)
		at = &(*at)->next;
	gone = *at;
	if (!gone)
		return;
	*at = gone->next;
	free(gone);
	if (l->map_fd >= 0)
		bpf_map_delete_elem(l->map_fd, &file);
}

void sp_hotspots_done(struct sp_hotspots *l)
{
	while (l->first)
		sp_hotspots_forget(l, l->first->file);
}
