/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_perf_record.c: any bytes as a ring buffer of perf_event_open, from any place in it on: what is read stays inside
 * the records, the reading ends, and the model of processes that the records move on keeps its order.
 *
 * The first byte chooses what was asked for, the second where in the ring the records begin; the rest is the ring.
 * Sizes in headers are bent to what is left, because random ones would end the reading at once.
 */
#include "capture/perf/perf_record.h"
#include "capture/perf/perf_ring.h"
#include "capture/perf/perf_space.h"
#include "capture/perf/perf_tasks.h"
#include "require.h"
#include <stdlib.h>
#include <string.h>

enum { RING_BYTES = 1 << 12 };

static uint8_t ring_data[RING_BYTES];

static void bytes_put(const uint8_t *data, size_t size, uint64_t at)
{
	struct perf_event_header h;
	size_t i, next;

	memset(ring_data, 0, sizeof(ring_data));
	for (i = 0, next = 0; i < size; i++)
		ring_data[(at + i) % RING_BYTES] = data[i];
	for (; next + sizeof(h) <= size; next += h.size) {
		memcpy(&h, data + next, sizeof(h));
		h.type %= PERF_RECORD_MAX;
		h.size = (uint16_t)(sizeof(h) + h.size % (size - next - sizeof(h) + 1));
		for (i = 0; i < sizeof(h); i++)
			ring_data[(at + next + i) % RING_BYTES] = ((const uint8_t *)&h)[i];
	}
}

static void space_check(const struct sp_space *s)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		require(s->maps[i].start < s->maps[i].end);
		require(!i || s->maps[i - 1].end <= s->maps[i].start);
		require(sp_space_find(s, s->maps[i].start) == &s->maps[i]);
		require(sp_space_find(s, s->maps[i].end - 1) == &s->maps[i]);
	}
}

static void map_take(struct sp_tasks *t, const struct sp_perf_record *r)
{
	struct sp_task_thread *thread = sp_tasks_add(t, r->pid, r->tid, r->time_ns);

	require(thread && strlen(r->map.path) < RING_BYTES);
	require(sp_space_own(&thread->process->space) == 0);
	require(sp_space_map(thread->process->space, r->map.addr, r->map.addr + r->map.len, 0, 1) == 0);
	space_check(thread->process->space);
}

/* Every byte is looked at. */
static void sample_read(const struct sp_perf_sample *s)
{
	volatile uint8_t last = 0;
	size_t i;

	for (i = 0; i < 8 * s->n_chain; i++)
		last = s->chain[i];
	for (i = 0; i < s->stack_bytes; i++)
		last = s->stack[i];
	(void)last;
}

static void record_take(struct sp_tasks *t, const struct sp_perf_record *r)
{
	switch (r->type) {
	case PERF_RECORD_SAMPLE:
		sample_read(&r->sample);
		break;
	case PERF_RECORD_MMAP2:
		map_take(t, r);
		break;
	case PERF_RECORD_COMM:
		require(sp_tasks_comm(t, r->pid, r->tid, r->comm, r->misc & PERF_RECORD_MISC_COMM_EXEC, r->time_ns) ==
			0);
		break;
	case PERF_RECORD_FORK:
		require(sp_tasks_fork(t, r->pid, r->tid, r->task.ppid, r->task.ptid, r->time_ns) == 0);
		break;
	case PERF_RECORD_EXIT:
		sp_tasks_exit(t, r->pid, r->tid);
		break;
	default:
		break;
	}
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	static struct sp_tasks tasks;
	struct perf_event_mmap_page page = {0};
	struct sp_perf_format format;
	struct sp_perf_ring ring;
	size_t record_bytes, left;
	const void *bytes;

	if (size < 2)
		return 0;
	format = (struct sp_perf_format){.has_user = data[0] & 1, .has_kernel = data[0] & 2};
	size = size - 2 < RING_BYTES ? size - 2 : RING_BYTES;
	bytes_put(data + 2, size, data[1] * 16U);
	require(sp_perf_ring_over(&ring, &page, ring_data, RING_BYTES) == 0);
	ring.tail = data[1] * 16U;
	page.data_head = ring.tail + size;
	sp_perf_ring_look(&ring);
	for (left = size; (bytes = sp_perf_ring_next(&ring, &record_bytes)) != NULL; left -= record_bytes) {
		void *copy = malloc(record_bytes); /* of its exact size: what lies behind it is the sanitizer's */
		struct sp_perf_record r;

		require(copy && record_bytes >= sizeof(struct perf_event_header) && record_bytes <= left);
		memcpy(copy, bytes, record_bytes);
		if (sp_perf_record_parse(copy, record_bytes, &format, &r) == 0)
			record_take(&tasks, &r);
		free(copy);
		sp_perf_ring_skip(&ring, record_bytes);
	}
	require(page.data_tail == page.data_head || size == 0);
	sp_perf_ring_done(&ring);
	sp_tasks_done(&tasks);
	require(tasks.n_threads == 0);
	return 0;
}
