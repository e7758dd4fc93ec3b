/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/segments.h"
#include "base/error.h"
#include "base/mem.h"
#include "bpf/wire.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int sp_segment_make(uint32_t bytes)
{
	union bpf_attr a = {.map_type = BPF_MAP_TYPE_ARRAY,
			    .key_size = 4,
			    .value_size = bytes,
			    .max_entries = 1,
			    .map_flags = BPF_F_MMAPABLE,
			    .map_name = "sp_segment"};
	/* not by libbpf, which first loads programs to find out what the kernel can do: the broker may not */
	int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof(a));

	return fd < 0 ? -errno : fd;
}

static void *segments_place(void *arg)
{
	struct sp_segments *s = arg;
	uint32_t zero = 0;

	s->failure = bpf_map_update_elem(s->maps_fd, &zero, &s->first_fd, BPF_ANY) ? -errno : 0;
	return NULL;
}

uint32_t sp_segments_most(uint64_t budget_bytes)
{
	return (uint32_t)SP_MIN(SP_MAX(budget_bytes / SP_SEG_BYTES, 1), SP_MAX_SEGS);
}

int sp_segments_begin(struct sp_segments *s, uint64_t budget_bytes)
{
	LIBBPF_OPTS(bpf_map_create_opts, o);

	*s = (struct sp_segments){.maps_fd = -1, .first_fd = sp_segment_make(SP_SEG_BYTES)};
	if (s->first_fd < 0)
		return sp_fail(s->first_fd, "make a segment of unwind tables");
	o.inner_map_fd = (uint32_t)s->first_fd;
	s->maps_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "segments", 4, 4, sp_segments_most(budget_bytes), &o);
	if (s->maps_fd < 0)
		return sp_fail(-errno, "make the array of the segments of unwind tables");
	sp_aside_begin(&s->placing, segments_place, s);
	return 0;
}

int sp_segments_first(struct sp_segments *s, int *ret_fd)
{
	sp_aside_wait(&s->placing);
	if (s->failure < 0)
		return sp_fail(s->failure, "put a segment of unwind tables in place");
	*ret_fd = sp_take_fd(&s->first_fd);
	return 0;
}

void sp_segments_done(struct sp_segments *s)
{
	sp_aside_wait(&s->placing);
	sp_cleanup_close(&s->first_fd);
	sp_cleanup_close(&s->maps_fd);
}
