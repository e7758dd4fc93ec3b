/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/watch.h"
#include "base/error.h"
#include "base/mem.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rings of the size that perf has, too: new mappings wait there while the reader attaches probes, for seconds at times.
 */
enum { PAGE = 4096, RING_BYTES = 128 * PAGE, MAX_RECORD = 8192 };

struct ring {
	int fd;
	struct perf_event_mmap_page *head; /* NULL: not mapped */
};
struct sp_probe_watch {
	int epoll;
	struct ring *rings;
	size_t n;
	uint64_t n_lost;
};
struct record { /* as the kernel writes it, without sample_id */
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char path[];
};

static int ring_open(struct sp_probe_watch *w, struct ring *ring, unsigned cpu)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_DUMMY,
				       .mmap = 1,
				       .mmap2 = 1,
				       .watermark = 1,
				       .wakeup_watermark = 1};
	struct epoll_event e = {.events = EPOLLIN};
	void *at;

	ring->fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0 && errno == ENODEV)
		return 0; /* the CPU has gone */
	if (ring->fd < 0)
		return sp_fail(-errno, "watch what is mapped on CPU %u", cpu);
	at = mmap(NULL, PAGE + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (at == MAP_FAILED)
		return sp_fail(-errno, "map the records of CPU %u", cpu);
	ring->head = at;
	return epoll_ctl(w->epoll, EPOLL_CTL_ADD, ring->fd, &e) ? sp_fail(-errno, "epoll_ctl") : 0;
}

int sp_probe_watch_new(const unsigned *cpus, size_t n_cpus, struct sp_probe_watch **ret_watch)
{
	struct sp_probe_watch *w = calloc(1, sizeof(*w));
	int r = 0;

	if (!w)
		return -ENOMEM;
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	w->rings = calloc(n_cpus, sizeof(*w->rings));
	if (w->epoll < 0 || !w->rings)
		r = -ENOMEM;
	for (size_t i = 0; i < n_cpus && r >= 0; i++) {
		r = ring_open(w, &w->rings[i], cpus[i]);
		w->n++;
	}
	if (r < 0)
		sp_probe_watch_free(w);
	else
		*ret_watch = w;
	return r;
}

void sp_probe_watch_free(struct sp_probe_watch *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n; i++) {
		if (w->rings[i].head)
			munmap(w->rings[i].head, PAGE + RING_BYTES);
		if (w->rings[i].fd >= 0)
			close(w->rings[i].fd);
	}
	if (w->epoll >= 0)
		close(w->epoll);
	free(w->rings);
	free(w);
}

int sp_probe_watch_fd(const struct sp_probe_watch *w)
{
	return w->epoll;
}

uint64_t sp_probe_watch_n_lost(const struct sp_probe_watch *w)
{
	return w->n_lost;
}

/* Copies bytes of the ring, which may go around its end. */
static void copy(const struct ring *ring, uint64_t at, void *to, size_t n)
{
	const char *data = (const char *)ring->head + PAGE;
	size_t from = at % RING_BYTES, first = SP_MIN(n, RING_BYTES - from);

	memcpy(to, data + from, first);
	memcpy((char *)to + first, data, n - first);
}

static int record_take(struct sp_probe_watch *w, const struct record *r,
		       int (*each)(void *arg, const struct sp_probe_mapping *m), void *arg)
{
	uint64_t lost[2];

	if (r->header.type == PERF_RECORD_LOST && r->header.size >= sizeof(r->header) + sizeof(lost)) {
		memcpy(lost, &r->pid, sizeof(lost)); /* id, how many */
		w->n_lost += lost[1];
	}
	if (r->header.type != PERF_RECORD_MMAP2 || r->header.size <= sizeof(*r))
		return 0;
	return each(arg, &(struct sp_probe_mapping){.pid = r->pid,
						    .start = r->addr,
						    .end = r->addr + r->len,
						    .dev = r->maj << 20 | r->min,
						    .ino = r->ino,
						    .generation = r->ino_generation,
						    .path = r->path});
}

static int ring_read(struct sp_probe_watch *w, const struct ring *ring,
		     int (*each)(void *arg, const struct sp_probe_mapping *m), void *arg)
{
	static _Alignas(8) char bytes[MAX_RECORD + 1];
	uint64_t head = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE), tail = ring->head->data_tail;
	struct perf_event_header h;
	int r = 0;

	while (tail < head && r >= 0) {
		copy(ring, tail, &h, sizeof(h));
		if (h.size < sizeof(h) || h.size > MAX_RECORD || h.size > head - tail)
			return sp_fail_said(-EPROTO, "a record of what is mapped makes no sense");
		copy(ring, tail, bytes, h.size);
		bytes[h.size] = '\0';
		tail += h.size;
		r = record_take(w, (const struct record *)bytes, each, arg);
	}
	__atomic_store_n(&ring->head->data_tail, tail, __ATOMIC_RELEASE);
	return r;
}

int sp_probe_watch_read(struct sp_probe_watch *w, int (*each)(void *arg, const struct sp_probe_mapping *m), void *arg)
{
	int r = 0;

	for (size_t i = 0; i < w->n && r >= 0; i++)
		if (w->rings[i].head)
			r = ring_read(w, &w->rings[i], each, arg);
	return r;
}
