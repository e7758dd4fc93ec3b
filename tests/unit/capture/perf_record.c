/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of perf_event_open, made by hand from linux/perf_event.h: each kind is taken apart, those that are cut short
 * or lie about their sizes are refused, and a ring gives them whole, also across its end. Records of a real event are
 * compared with what this process did.
 */
#include "capture/perf/perf_record.h"
#include "base/mem.h"
#include "capture/perf/perf_ring.h"
#include "test.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const struct sp_perf_format plain = {0}, user = {.has_user = true},
				   both = {.has_user = true, .has_kernel = true};

struct made {
	uint8_t bytes[4096];
	size_t size;
};

static void put(struct made *m, const void *bytes, size_t size)
{
	assert_true(m->size + size <= sizeof(m->bytes));
	memcpy(m->bytes + m->size, bytes, size);
	m->size += size;
}

static void put32(struct made *m, uint32_t v)
{
	put(m, &v, sizeof(v));
}

static void put64(struct made *m, uint64_t v)
{
	put(m, &v, sizeof(v));
}

static void begin(struct made *m, uint32_t type, uint16_t misc)
{
	struct perf_event_header h = {.type = type, .misc = misc};

	m->size = 0;
	put(m, &h, sizeof(h));
}

static void end(struct made *m)
{
	((struct perf_event_header *)(void *)m->bytes)->size = (uint16_t)m->size;
}

/* What all records but samples end with. */
static void put_tail(struct made *m, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	put32(m, pid);
	put32(m, tid);
	put64(m, time_ns);
	end(m);
}

static void put_text(struct made *m, const char *text)
{
	char room[64] = "";

	memcpy(room, text, strlen(text));
	put(m, room, (strlen(text) / 8 + 1) * 8);
}

/* From memory of exactly the record's size, so that a read beyond it is the sanitizer's to find. */
static int parse(const struct made *m, size_t size, const struct sp_perf_format *f, struct sp_perf_record *r)
{
	void *copy = malloc(size + !size);
	int result;

	assert_non_null(copy);
	memcpy(copy, m->bytes, size);
	if (size >= sizeof(struct perf_event_header))
		((struct perf_event_header *)copy)->size = (uint16_t)size;
	result = sp_perf_record_parse(copy, size, f, r);
	free(copy);
	return result;
}

/* Cut anywhere it is refused, or is a shorter record of its kind; never more than its bytes are read. */
static void cut_everywhere(const struct made *m, const struct sp_perf_format *f)
{
	struct sp_perf_record r;
	size_t size;

	for (size = 0; size < m->size; size++)
		(void)parse(m, size, f, &r);
}

static void put_sample(struct made *m, const struct sp_perf_format *f, uint64_t cs, uint64_t used)
{
	uint64_t i;

	begin(m, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put64(m, 0x401000);
	put32(m, 10);
	put32(m, 11);
	put64(m, 123456789);
	put64(m, 10000000);
	if (f->has_kernel) {
		put64(m, 3);
		put64(m, PERF_CONTEXT_KERNEL);
		put64(m, 0xffffffff81000000);
		put64(m, 0xffffffff81000010);
	}
	if (f->has_user) {
		put64(m, PERF_SAMPLE_REGS_ABI_64);
		for (i = 0; i < 20; i++)
			put64(m, i == 10 ? cs : 100 + i);
		put64(m, 64);
		for (i = 0; i < 8; i++)
			put64(m, 0x5000 + i);
		put64(m, used);
	}
	end(m);
}

static void samples(void **state)
{
	/* AX BX CX DX SI DI BP SP IP FLAGS CS SS R8 ... in the order of DWARF */
	static const uint64_t dwarf[16] = {100, 103, 102, 101, 104, 105, 106, 107,
					   112, 113, 114, 115, 116, 117, 118, 119};
	struct sp_perf_record r;
	struct made m;

	put_sample(&m, &both, 0x33, 48);
	assert_int_equal(sp_perf_record_parse(m.bytes, m.size, &both, &r), 0);
	assert_int_equal(r.pid, 10);
	assert_int_equal(r.tid, 11);
	assert_int_equal(r.time_ns, 123456789);
	assert_int_equal(r.sample.ip, 0x401000);
	assert_int_equal(r.sample.period, 10000000);
	assert_int_equal(r.sample.n_chain, 3);
	assert_true(r.sample.has_regs && !r.sample.is_32_bit && !r.sample.in_kernel);
	assert_int_equal(r.sample.regs.ip, 108);
	assert_int_equal(r.sample.regs.sp, 107);
	assert_int_equal(r.sample.regs.fp, 106);
	assert_memory_equal(r.sample.regs.r, dwarf, sizeof(dwarf));
	assert_int_equal(r.sample.stack_bytes, 48);
	assert_int_equal(*(const uint64_t *)(const void *)r.sample.stack, 0x5000);
	cut_everywhere(&m, &both);
	put_sample(&m, &user, 0x23, 64);
	assert_int_equal(sp_perf_record_parse(m.bytes, m.size, &user, &r), 0);
	assert_true(r.sample.is_32_bit);
	put_sample(&m, &plain, 0, 0);
	assert_int_equal(sp_perf_record_parse(m.bytes, m.size, &plain, &r), 0);
	assert_false(r.sample.has_regs);
	cut_everywhere(&m, &user);
}

/* A kernel thread has no registers; a stack of no bytes has no size behind it. */
static void samples_without(void **state)
{
	struct sp_perf_record r;
	struct made m;

	put_sample(&m, &plain, 0, 0);
	put64(&m, PERF_SAMPLE_REGS_ABI_NONE);
	put64(&m, 0);
	end(&m);
	assert_int_equal(sp_perf_record_parse(m.bytes, m.size, &user, &r), 0);
	assert_false(r.sample.has_regs);
	assert_int_equal(r.sample.stack_bytes, 0);
}

static void samples_that_lie(void **state)
{
	struct sp_perf_record r;
	struct made m;

	put_sample(&m, &user, 0x33, 65); /* more copied than there was room for */
	assert_int_equal(sp_perf_record_parse(m.bytes, m.size, &user, &r), -EBADMSG);
	put_sample(&m, &plain, 0, 0);
	put64(&m, UINT64_MAX / 8 + 2); /* so many addresses that their bytes wrap around */
	end(&m);
	assert_int_equal(sp_perf_record_parse(m.bytes, m.size, &both, &r), -EBADMSG);
	put_sample(&m, &plain, 0, 0);
	put64(&m, PERF_SAMPLE_REGS_ABI_NONE);
	put64(&m, UINT64_MAX - 7);
	put64(&m, 0);
	end(&m);
	assert_int_equal(sp_perf_record_parse(m.bytes, m.size, &user, &r), -EBADMSG);
	put_sample(&m, &plain, 0, 0);
	assert_int_equal(sp_perf_record_parse(m.bytes, m.size - 8, &plain, &r), -EBADMSG); /* its own size is another */
}

static void put_map(struct made *m, const char *path, uint32_t protection)
{
	begin(m, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	put32(m, 20);
	put32(m, 21);
	put64(m, 0x7f0000001000);
	put64(m, 0x3000);
	put64(m, 0x2000);
	put32(m, 8);
	put32(m, 1);
	put64(m, 4711);
	put64(m, 99);
	put32(m, protection);
	put32(m, 2);
	put_text(m, path);
	put_tail(m, 20, 21, 5);
}

static void maps(void **state)
{
	struct sp_perf_record r;
	struct made m;

	put_map(&m, "/usr/lib/libc.so.6", PROT_READ | PROT_EXEC);
	assert_int_equal(sp_perf_record_parse(m.bytes, m.size, &user, &r), 0);
	assert_int_equal(r.map.addr, 0x7f0000001000);
	assert_int_equal(r.map.len, 0x3000);
	assert_int_equal(r.map.pgoff, 0x2000);
	assert_int_equal(r.map.dev, 8 << 20 | 1);
	assert_int_equal(r.map.ino, 4711);
	assert_int_equal(r.map.generation, 99);
	assert_true(r.map.is_exec);
	assert_string_equal(r.map.path, "/usr/lib/libc.so.6");
	assert_int_equal(r.time_ns, 5);
	cut_everywhere(&m, &user);
	put_map(&m, "", PROT_READ);
	assert_int_equal(sp_perf_record_parse(m.bytes, m.size, &user, &r), 0);
	assert_false(r.map.is_exec);
	m.size -= 8 + 16; /* the path: no NUL but in what is behind it */
	put_tail(&m, 20, 21, 5);
	assert_int_equal(sp_perf_record_parse(m.bytes, m.size, &user, &r), -EBADMSG);
}

static void maps_over_the_top(void **state)
{
	struct sp_perf_record r;
	struct made m;
	uint64_t high = UINT64_MAX - 0xfff;

	put_map(&m, "x", PROT_EXEC);
	memcpy(m.bytes + 16, &high, 8);
	assert_int_equal(sp_perf_record_parse(m.bytes, m.size, &user, &r), -EBADMSG);
}

static void tasks(void **state)
{
	struct sp_perf_record r;
	struct made m;

	begin(&m, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	put32(&m, 30);
	put32(&m, 31);
	put_text(&m, "a name that is longer than sixteen");
	put_tail(&m, 30, 31, 6);
	assert_int_equal(sp_perf_record_parse(m.bytes, m.size, &user, &r), 0);
	assert_string_equal(r.comm, "a name that is ");
	assert_int_equal(r.misc & PERF_RECORD_MISC_COMM_EXEC, PERF_RECORD_MISC_COMM_EXEC);
	cut_everywhere(&m, &user);
	begin(&m, PERF_RECORD_FORK, 0);
	put32(&m, 41);
	put32(&m, 40);
	put32(&m, 43);
	put32(&m, 42);
	put64(&m, 7);
	put_tail(&m, 40, 42, 7);
	assert_int_equal(sp_perf_record_parse(m.bytes, m.size, &user, &r), 0);
	assert_int_equal(r.pid, 41);
	assert_int_equal(r.task.ppid, 40);
	assert_int_equal(r.tid, 43);
	assert_int_equal(r.task.ptid, 42);
	cut_everywhere(&m, &user);
	begin(&m, PERF_RECORD_LOST, 0);
	put64(&m, 1);
	put64(&m, 1234);
	put_tail(&m, 0, 0, 8);
	assert_int_equal(sp_perf_record_parse(m.bytes, m.size, &user, &r), 0);
	assert_int_equal(r.n_lost, 1234);
	cut_everywhere(&m, &user);
}

/* --- the ring --- */
enum { RING_BYTES = 4096 };

static struct perf_event_mmap_page page;
static uint8_t ring_data[RING_BYTES];

static void write_at(uint64_t at, const void *bytes, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		ring_data[(at + i) % RING_BYTES] = ((const uint8_t *)bytes)[i];
}

/* Records of many sizes, so that they fall across the end in every way, headers too. */
static void ring_wraps(void **state)
{
	struct sp_perf_ring ring;
	uint64_t head = 0;
	size_t size, n;

	page = (struct perf_event_mmap_page){0};
	assert_int_equal(sp_perf_ring_over(&ring, &page, ring_data, RING_BYTES), 0);
	for (n = 0; n < 5000; n++) {
		struct made m;
		size_t i, bytes = 8 + n * 8 % 1000;
		const uint8_t *got;

		begin(&m, 77, (uint16_t)n);
		for (i = 8; i < bytes; i++)
			m.bytes[m.size++] = (uint8_t)(n + i);
		end(&m);
		write_at(head, m.bytes, m.size);
		head += m.size;
		assert_null(sp_perf_ring_next(&ring, &size)); /* not looked yet */
		page.data_head = head;
		sp_perf_ring_look(&ring);
		got = sp_perf_ring_next(&ring, &size);
		assert_non_null(got);
		assert_int_equal(size, m.size);
		assert_memory_equal(got, m.bytes, m.size);
		sp_perf_ring_skip(&ring, size);
		assert_int_equal(page.data_tail, head);
	}
	assert_int_equal(ring.n_bad, 0);
	sp_perf_ring_done(&ring);
}

static void ring_of_nonsense(void **state)
{
	static const struct perf_event_header bad[] = {{.size = 0}, {.size = 7}, {.size = 65535}, {.size = 4104}};
	struct sp_perf_ring ring;
	size_t i, size;

	for (i = 0; i < SP_COUNT(bad); i++) {
		page = (struct perf_event_mmap_page){.data_head = 64};
		write_at(0, &bad[i], sizeof(bad[i]));
		assert_int_equal(sp_perf_ring_over(&ring, &page, ring_data, RING_BYTES), 0);
		sp_perf_ring_look(&ring);
		assert_null(sp_perf_ring_next(&ring, &size));
		assert_int_equal(ring.n_bad, 1);
		assert_int_equal(page.data_tail, 64); /* given up: the kernel may go on */
		page.data_head = 64 + RING_BYTES + 8; /* more than there is room for */
		sp_perf_ring_look(&ring);
		assert_null(sp_perf_ring_next(&ring, &size));
		assert_int_equal(ring.n_bad, 2);
		sp_perf_ring_done(&ring);
	}
}

/* --- a real event: the kernel's records are as we think --- */
static int real_event(void)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = 1000000,
				       .sample_type =
					   SP_PERF_SAMPLE_TYPE | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
				       .sample_regs_user = SP_PERF_REGS,
				       .sample_stack_user = 4096,
				       .exclude_kernel = 1,
				       .mmap = 1,
				       .mmap2 = 1,
				       .sample_id_all = 1,
				       .use_clockid = 1,
				       .clockid = CLOCK_MONOTONIC};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void check_sample(const struct sp_perf_record *r, const void *here)
{
	uint64_t sp = r->sample.regs.sp, word;

	assert_int_equal(r->pid, getpid());
	assert_int_equal(r->sample.period, 1000000);
	assert_true(r->sample.has_regs && !r->sample.is_32_bit);
	assert_int_equal(r->sample.regs.ip, r->sample.ip);
	assert_int_equal(r->sample.regs.r[7], sp);
	/* The frame of the test is above the sampled one: what we read there now was in the copy. */
	if ((uint64_t)here > sp && (uint64_t)here - sp + 8 <= r->sample.stack_bytes) {
		memcpy(&word, r->sample.stack + ((uint64_t)here - sp), 8);
		assert_int_equal(word, *(const uint64_t *)here);
	}
}

static void real_records(void **state)
{
	volatile uint64_t mark = 0x1122334455667788;
	uint64_t begin_ns = now_ns();
	size_t size, n_samples = 0, n_maps = 0;
	struct sp_perf_record r;
	struct sp_perf_ring ring;
	const void *bytes;
	void *mapped;
	int fd = real_event();

	if (fd < 0)
		skip();
	assert_int_equal(sp_perf_ring_map(&ring, fd, 1 << 18), 0);
	mapped = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(mapped != MAP_FAILED);
	do
		sp_perf_ring_look(&ring);
	while (ring.head < 20000 && now_ns() - begin_ns < 20000000000ULL);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while ((bytes = sp_perf_ring_next(&ring, &size)) != NULL) {
		assert_int_equal(sp_perf_record_parse(bytes, size, &user, &r), 0);
		assert_true(r.time_ns >= begin_ns && r.time_ns <= now_ns());
		if (r.type == PERF_RECORD_SAMPLE) {
			check_sample(&r, (const void *)&mark);
			n_samples++;
		} else if (r.type == PERF_RECORD_MMAP2 && r.map.addr == (uint64_t)mapped) {
			assert_int_equal(r.map.len, 8192);
			assert_true(r.map.is_exec && !r.map.ino && !r.map.dev);
			n_maps++;
		}
		sp_perf_ring_skip(&ring, size);
	}
	assert_true(n_samples >= 3);
	assert_int_equal(n_maps, 1);
	munmap(mapped, 8192);
	sp_perf_ring_done(&ring);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest all[] = {
	    cmocka_unit_test(samples),    cmocka_unit_test(samples_without),   cmocka_unit_test(samples_that_lie),
	    cmocka_unit_test(maps),       cmocka_unit_test(maps_over_the_top), cmocka_unit_test(tasks),
	    cmocka_unit_test(ring_wraps), cmocka_unit_test(ring_of_nonsense),  cmocka_unit_test(real_records),
	};

	return cmocka_run_group_tests(all, NULL, NULL);
}
