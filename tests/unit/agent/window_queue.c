/* SPDX-License-Identifier: GPL-2.0-or-later */
/* window_queue.c: windows and events for a store that fails on command: order, limits, and reports of loss. */
#include "agent/daemon/window_queue.h"
#include "agent/listener.h"
#include "base/error.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S UINT64_C(1000000000)
enum { MAX = 1000, N_STACKS = 5000 };

static struct {
	int fails;        /* all calls */
	uint64_t refuses; /* the window that begins then */
	uint64_t at[MAX]; /* when the stored windows began */
	int64_t sum[MAX]; /* sums of their values */
	size_t n, n_events;
	char event[160];
} store;

int sp_store_add(struct sp_store *s, const struct sp_store_window *w, const struct sp_profile *p)
{
	if (store.fails)
		return sp_fail(store.fails, "write");
	if (w->wall_ns == store.refuses)
		return sp_fail(-EINVAL, "write");
	assert_true(store.n < MAX);
	store.at[store.n] = w->wall_ns / S;
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
		store.sum[store.n] += sp_profile_row(p, i)->values[0];
	store.n++;
	return 0;
}

int sp_store_event_add(struct sp_store *s, const struct sp_store_event *e)
{
	if (store.fails)
		return store.fails;
	store.n_events++;
	snprintf(store.event, sizeof(store.event), "%s %s %lu-%lu %s", e->kind, e->subject,
		 (unsigned long)(e->from_ns / S), (unsigned long)(e->to_ns / S), e->data);
	return 0;
}

struct made {
	struct sp_profile *p;
	struct sp_window_queue k;
	struct sp_event_queue e;
	uint32_t key, stacks[N_STACKS];
};

static struct made *made_new(void)
{
	struct made *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	memset(&store, 0, sizeof(store));
	assert_int_equal(sp_profile_new(&m->p), 0);
	assert_int_equal(sp_profile_add_value_type(m->p, "samples", "count"), 0);
	m->key = (uint32_t)sp_profile_add_key(m->p, &(struct sp_key){.slice = 1});
	for (uint32_t i = 0; i < N_STACKS; i++) {
		uint32_t frame = (uint32_t)sp_profile_add_frame(m->p, &(struct sp_frame){.offset = i + 1});

		m->stacks[i] =
		    (uint32_t)sp_profile_add_stack(m->p, &(struct sp_stack){.n_frames = 1, .frames = &frame});
	}
	return m;
}

static void made_free(struct made *m)
{
	sp_window_queue_done(&m->k);
	sp_event_queue_done(&m->e);
	sp_profile_free(m->p);
	free(m);
	sp_error_clear();
}

/* A window at t: n_rows rows whose sum is t. */
static int window(struct made *m, uint64_t t, uint32_t n_rows)
{
	const struct sp_store_window w = {.wall_ns = t * S, .duration_ns = 10 * S, .source = "cpu"};
	int r;

	for (uint32_t i = 0; i < n_rows; i++) {
		int64_t value = i ? 0 : (int64_t)t;

		assert_int_equal(sp_profile_add(m->p, m->key, m->stacks[i], 0, &value), 0);
	}
	sp_window_queue_push(&m->k, m->p, &w);
	assert_int_equal(sp_profile_n_rows(m->p), 0);
	r = sp_window_queue_flush(&m->k, &m->e, m->p);
	assert_int_equal(sp_profile_n_rows(m->p), 0);
	sp_event_queue_flush(&m->e);
	return r;
}

static void check_in_order(uint64_t first, uint64_t last)
{
	assert_int_equal(store.n, (last - first) / 10 + 1);
	for (size_t i = 0; i < store.n; i++) {
		assert_int_equal(store.at[i], first + 10 * i);
		assert_int_equal(store.sum[i], (int64_t)store.at[i]);
	}
}

static void test_well(void **state)
{
	struct made *m = made_new();

	for (uint64_t t = 10; t <= 500; t += 10)
		assert_int_equal(window(m, t, 3), 0);
	check_in_order(10, 500);
	assert_int_equal(m->k.n_stored, 50);
	made_free(m);
}

static void test_full_for_a_while(void **state)
{
	const int errors[] = {-ENOSPC, -EIO, -EROFS, -EMFILE, -EACCES, -ENOENT, -ENOTEMPTY};
	struct made *m = made_new();
	uint64_t t = 10;

	for (size_t i = 0; i < SP_COUNT(errors); i++) {
		for (store.fails = 0; t % 200; t += 10)
			assert_int_equal(window(m, t, 3), 0);
		for (store.fails = errors[i]; t % 300; t += 10)
			assert_int_equal(window(m, t, 3), errors[i]);
		assert_true(m->k.error[0]);
	}
	store.fails = 0;
	assert_int_equal(window(m, t, 3), 0);
	assert_int_equal(m->k.error[0], 0);
	check_in_order(10, t);
	assert_int_equal(m->k.n_dropped, 0);
	assert_int_equal(store.n_events, 0);
	made_free(m);
}

static void test_beyond_the_bounds(void **state)
{
	struct made *m = made_new();
	uint64_t t, last = 10 * (SP_QUEUE_WINDOWS + 40);

	store.fails = -ENOSPC;
	for (t = 10; t <= last; t += 10)
		assert_int_equal(window(m, t, 3), -ENOSPC);
	assert_int_equal(m->k.n, SP_QUEUE_WINDOWS);
	assert_int_equal(m->k.n_dropped, 40);
	store.fails = 0;
	assert_int_equal(window(m, t, 3), 0);
	/* one more than fits: 41 are dropped, and reported once */
	check_in_order(420, t);
	assert_int_equal(store.n_events, 1);
	assert_string_equal(store.event, "drop cpu 10-420 windows=41");
	made_free(m);
}

/* Large windows: limited by bytes. */
static void test_bytes(void **state)
{
	struct made *m = made_new();

	store.fails = -EIO;
	for (uint64_t t = 10; t <= 3000; t += 10) {
		window(m, t, N_STACKS);
		assert_true(m->k.bytes <= SP_QUEUE_BYTES);
	}
	assert_true(m->k.n > 5 && m->k.n < 100);
	made_free(m);
}

/* A window that the store always refuses delays the others only for its tries. */
static void test_one_is_refused(void **state)
{
	struct made *m = made_new();

	store.refuses = 50 * S;
	for (uint64_t t = 10; t <= 100; t += 10)
		window(m, t, 3);
	assert_int_equal(store.n, 9);
	assert_int_equal(store.at[4], 60);
	assert_int_equal(store.at[8], 100);
	assert_int_equal(m->k.n_dropped, 1);
	assert_string_equal(store.event, "drop cpu 50-60 windows=1");
	made_free(m);
}

/* Rows of the next window in the profile are left as they are. */
static void test_next_rows_stay(void **state)
{
	struct made *m = made_new();
	const struct sp_store_window w = {.wall_ns = 10 * S, .duration_ns = 10 * S, .source = "cpu"};
	int64_t value = 10;

	assert_int_equal(sp_profile_add(m->p, m->key, m->stacks[0], 0, &value), 0);
	sp_window_queue_push(&m->k, m->p, &w);
	value = 7;
	assert_int_equal(sp_profile_add(m->p, m->key, m->stacks[1], 0, &value), 0);
	assert_int_equal(sp_window_queue_flush(&m->k, &m->e, m->p), 0);
	check_in_order(10, 10);
	assert_int_equal(sp_profile_n_rows(m->p), 1);
	assert_int_equal(sp_profile_row(m->p, 0)->user, m->stacks[1]);
	assert_int_equal(sp_profile_row(m->p, 0)->values[0], 7);
	made_free(m);
}

static void test_events_wait(void **state)
{
	struct made *m = made_new();
	struct sp_store_event e = {.kind = "gap", .subject = "suspended", .text = "words", .data = ""};

	store.fails = -ENOSPC;
	for (unsigned i = 0; i < SP_QUEUE_EVENTS + 10; i++) {
		e.from_ns = e.to_ns = i * S;
		sp_event_queue_add(&m->e, &e);
		sp_event_queue_flush(&m->e);
	}
	assert_int_equal(m->e.n, SP_QUEUE_EVENTS);
	assert_int_equal(m->e.n_dropped, 10);
	store.fails = 0;
	sp_event_queue_flush(&m->e);
	assert_int_equal(store.n_events, SP_QUEUE_EVENTS);
	assert_int_equal(m->e.n, 0);
	assert_string_equal(store.event, "gap suspended 265-265 ");
	made_free(m);
}

/* --- listeners --- */
static struct {
	uint64_t at[MAX];
	size_t n, n_events;
} received;

static void receive_window(void *arg, const struct sp_profile *p, const struct sp_store_window *w)
{
	int64_t sum = 0;

	assert_ptr_equal(arg, &received);
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
		sum += sp_profile_row(p, i)->values[0];
	assert_int_equal(sum, (int64_t)(w->wall_ns / S));
	received.at[received.n++] = w->wall_ns / S;
}

static void receive_event(void *arg, const struct sp_store_event *e)
{
	assert_ptr_equal(arg, &received);
	assert_string_equal(e->kind, "drop");
	received.n_events++;
}

/* Each window once and in time, whether the store takes it at once, later, or never. */
static void test_listeners(void **state)
{
	const struct sp_listeners l = {
	    .all = {{&received, receive_window, NULL}, {&received, NULL, receive_event}, {NULL, NULL, NULL}}, .n = 3};
	struct made *m = made_new();
	size_t i;

	m->k.listeners = m->e.listeners = &l;
	store.refuses = 30 * S;
	for (uint64_t t = 10; t <= 5000; t += 10) {
		store.fails = t >= 200 && t < 4900 ? -ENOSPC : 0;
		window(m, t, 3);
		assert_int_equal(received.n, t / 10);
	}
	for (i = 0; i < received.n; i++)
		assert_int_equal(received.at[i], 10 * (i + 1));
	assert_true(m->k.n_dropped > 100);
	assert_int_equal(received.n_events, 2); /* of the refused window, and of those beyond the limits */
	assert_int_equal(store.n_events, 2);
	made_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_well),
	    cmocka_unit_test(test_full_for_a_while),
	    cmocka_unit_test(test_beyond_the_bounds),
	    cmocka_unit_test(test_bytes),
	    cmocka_unit_test(test_one_is_refused),
	    cmocka_unit_test(test_next_rows_stay),
	    cmocka_unit_test(test_events_wait),
	    cmocka_unit_test(test_listeners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
