/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made.h: a session without a kernel half, and records made by hand that are put into it.
 *
 * made_new() gives a session and its profile, made_free() frees both. take() hands a record over as a ring would, from
 * memory of exactly its size. Errors fail the test. Not thread-safe.
 */
#ifndef TESTS_CAPTURE_MADE_H
#define TESTS_CAPTURE_MADE_H

#include "base/error.h"
#include "base/mem.h"
#include "capture/pending.h"
#include "capture/perf/perf_space.h"
#include "capture/priv.h"
#include "profile/profile.h"
#include "recipe/recipe.h"
#include "test.h"
#include "worker/worker.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANON = 7, VDSO = 9, UNKNOWN = 1000, NOBODY = 65534 };

struct made { /* a session without a kernel half */
	struct sp_capture *c;
	struct sp_profile *p;
};

static const struct sp_process_key process_key = {.start_ns = 123, .tgid = 42, .exec_id = 1};

static volatile sp_u32 window;

static inline struct made made_new(void)
{
	struct made m = {.c = calloc(1, sizeof(*m.c))};

	assert_non_null(m.c);
	assert_int_equal(sp_profile_new(&m.p), 0);
	m.c->profile = m.p;
	m.c->o = (struct sp_capture_options){.recipes = {&sp_recipe_cpu}, .user = true};
	m.c->value_of[0][1] = 1;
	m.c->stats_fd = m.c->episodes_fd = -1;
	assert_int_equal(sp_workers_new(&(struct sp_workers_options){0}, &m.c->workers), 0);
	m.c->shared.drain = &window;
	assert_int_equal(sp_numbers_init(&m.c->file_keys), 0);
	assert_int_equal(sp_numbers_init(&m.c->process_keys), 0);
	assert_int_equal(sp_numbers_init(&m.c->words), 0);
	assert_int_equal(sp_numbers_init(&m.c->stacks), 0);
	assert_int_equal(sp_tables_new(NULL, -1, 1 << 20, &m.c->tables), 0);
	assert_true(sp_profile_add_value_type(m.p, "samples", "count") >= 0);
	assert_true(sp_profile_add_value_type(m.p, "cpu", "nanoseconds") >= 0);
	m.c->kernel_file = (uint32_t)sp_profile_add_file(m.p, &(struct sp_file){.kind = SP_FILE_KERNEL});
	return m;
}

static inline void made_free(struct made *m)
{
	sp_workers_free(m->c->workers);
	ring_buffer__free(m->c->events); /* a backend's to free; here there is none */
	ring_buffer__free(m->c->samples);
	sp_capture_free(m->c);
	sp_profile_free(m->p);
	sp_error_clear();
}

/* Hands a record over from memory of exactly its size; what became of it. */
static inline int take(struct made *m, const void *record, size_t size)
{
	void *copy = malloc(size);
	int r;

	assert_non_null(copy);
	memcpy(copy, record, size);
	assert_int_equal(sp_drain_message(m->c, copy, size), 0); /* it never stops the reading of the ring */
	free(copy);
	r = m->c->failure;
	m->c->failure = 0;
	return r;
}

static inline int take_process(struct made *m)
{
	struct sp_message_process r = {
	    .type = SP_MESSAGE_PROCESS, .id = 3, .key = process_key, .ns_tgid = 1, .uid = 1000};

	memset(r.comm, 'c', sizeof(r.comm));
	return take(m, &r, sizeof(r));
}

static inline uint64_t word(uint64_t kind, uint64_t id, uint64_t offset)
{
	return kind << SP_FRAME_KIND_SHIFT | id << SP_FRAME_ID_SHIFT | offset;
}

static inline struct sp_map *maps_of(struct sp_message_pending *r)
{
	return (void *)&r->sent[sp_pending_maps_at(r)];
}

static inline struct sp_message_pending *pending_new(void)
{
	struct sp_message_pending *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->type = SP_MESSAGE_PENDING;
	r->key.process = process_key;
	r->value = (struct sp_count){.n = 2, .weight = 20};
	r->how = SP_HOW_EXACT | SP_HOW_FIRST | SP_HOW_REGS;
	r->regs = (struct sp_regs){.ip = 0x10010, .sp = 0x7f0000000000};
	r->stack_at = r->regs.sp;
	r->stack_bytes = 64;
	r->n_maps = 1;
	*maps_of(r) = (struct sp_map){.start = 0x10000, .end = 0x20000, .word = word(SP_FRAME_ANON, ANON, 0)};
	return r;
}

#endif
