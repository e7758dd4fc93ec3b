/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records made by hand, as the kernel half would send them and as it never would: what is within its bounds becomes the
 * profile, what is not is refused with -EBADMSG, and nothing else happens. No kernel half; root only where a record has
 * to come through a ring buffer.
 */
#include "made.h"

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

static int take_file(struct made *m, uint32_t id, uint32_t dev)
{
	struct sp_message_file r = {.type = SP_MESSAGE_FILE, .id = id, .key = {.dev = dev, .ino = 3, .size = 5}};

	memset(r.name, 'x', sizeof(r.name)); /* no NUL */
	return take(m, &r, sizeof(r));
}

static struct sp_message_stack *stack_new(uint64_t id, uint16_t n, uint16_t stop)
{
	struct sp_message_stack *r = calloc(1, sizeof(*r) + 8UL * n);
	uint64_t *frames = (uint64_t *)(r + 1);

	assert_non_null(r);
	*r = (struct sp_message_stack){.type = SP_MESSAGE_STACK, .n_frames = n, .stop = stop, .id = id};
	for (uint16_t i = 0; i < n; i++)
		frames[i] = word(i % 3, i % 2 ? ANON : UNKNOWN, i);
	return r;
}

static int take_stack(struct made *m, uint64_t id, uint16_t n, uint16_t stop)
{
	struct sp_message_stack *r = stack_new(id, n, stop);
	int result = take(m, r, sizeof(*r) + 8UL * n);

	free(r);
	return result;
}

/* A ring buffer, read into the session; *ret_fd is for the kernel's end. NULL without the privileges. */
static struct ring_buffer *ring_new(struct made *m, int *ret_fd)
{
	*ret_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, NULL, 0, 0, 1 << 16, NULL);
	return *ret_fd < 0 ? NULL : ring_buffer__new(*ret_fd, sp_drain_message, m->c, NULL);
}

/* Only a BPF program can put something into a ring: it copies its argument to its stack, and that to the ring. */
static void ring_put(int ring, void *record, int size)
{
	const struct bpf_insn output[] = {
	    {.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = ring},
	    {0},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10},
	    {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -size},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = size},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 4},
	    {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ringbuf_output},
	    {.code = BPF_JMP | BPF_EXIT}};
	LIBBPF_OPTS(bpf_prog_load_opts, o, .prog_flags = BPF_F_SLEEPABLE);
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = record, .ctx_size_in = (__u32)size);
	struct bpf_insn program[2 * 512 / 8 + SP_COUNT(output)] = {0};
	size_t n = 0;
	int fd;

	for (int i = 0; i < size; i += 8) {
		program[n++] =
		    (struct bpf_insn){.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 2, .src_reg = 1, .off = (__s16)i};
		program[n++] = (struct bpf_insn){
		    .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 10, .src_reg = 2, .off = (__s16)(i - size)};
	}
	memcpy(&program[n], output, sizeof(output));
	fd = bpf_prog_load(BPF_PROG_TYPE_SYSCALL, "put", "GPL", program, n + SP_COUNT(output), &o);
	assert_true(fd >= 0);
	assert_int_equal(bpf_prog_test_run_opts(fd, &run), 0);
	assert_int_equal(run.retval, 0);
	close(fd);
}

/* --- tests --- */
/* A record of every type, cut off at every length. */
static void short_records(void **state)
{
	static const struct {
		uint32_t type;
		size_t size;
	} types[] = {{SP_MESSAGE_FILE, sizeof(struct sp_message_file)},
		     {SP_MESSAGE_PROCESS, sizeof(struct sp_message_process)},
		     {SP_MESSAGE_STACK, sizeof(struct sp_message_stack)},
		     {SP_MESSAGE_STACK_ABOVE, sizeof(struct sp_message_stack_above)},
		     {SP_MESSAGE_PENDING, offsetof(struct sp_message_pending, sent)},
		     {0, 4096},
		     {SP_MESSAGE_STACK_ABOVE + 1, 4096},
		     {UINT32_MAX, 4096}};
	static char record[sizeof(struct sp_message_pending)];
	struct made m = made_new();
	uint32_t n_files = sp_profile_n_files(m.p);

	for (size_t i = 0; i < SP_COUNT(types); i++) {
		memcpy(record, &types[i].type, 4);
		for (size_t size = 1; size < types[i].size; size += size < 256 ? 1 : 511)
			assert_int_equal(take(&m, record, size), -EBADMSG);
	}
	assert_int_equal(sp_profile_n_rows(m.p), 0);
	assert_int_equal(sp_profile_n_files(m.p), n_files);
	assert_null(m.c->waiting);
	made_free(&m);
}

static void files(void **state)
{
	struct made m = made_new();
	const struct sp_file *file;

	assert_int_equal(take_file(&m, 0, SP_DEV_ANON), -EBADMSG);
	assert_int_equal(take_file(&m, SP_MAX_FILES, SP_DEV_ANON), -EBADMSG);
	assert_int_equal(take_file(&m, UINT32_MAX, SP_DEV_ANON), -EBADMSG);
	assert_int_equal(take_process(&m), 0);
	assert_int_equal(take_file(&m, ANON, SP_DEV_ANON), 0);
	assert_int_equal(take_file(&m, SP_MAX_FILES - 1, SP_DEV_ANON), 0); /* the same region again */
	assert_int_equal(take_file(&m, VDSO, SP_DEV_VDSO), 0);
	assert_int_equal(sp_tables_state(m.c->tables, ANON), SP_TABLE_ABSENT); /* until it is known whose code it is */
	assert_int_equal(sp_tables_state(m.c->tables, VDSO), SP_TABLE_LOADED);
	file = sp_profile_file(m.p, sp_files_number(m.c, ANON));
	assert_int_equal(file->kind, SP_FILE_ANON);
	assert_int_equal(file->process, m.c->process[3]);
	assert_int_equal(file->bias, 5ULL << SP_FRAME_ID_SHIFT);
	assert_int_equal(sp_files_number(m.c, SP_MAX_FILES - 1), sp_files_number(m.c, ANON));
	assert_int_equal(sp_profile_file(m.p, sp_files_number(m.c, VDSO))->kind, SP_FILE_VDSO);
	assert_int_equal(sp_files_number(m.c, UNKNOWN), 0);
	assert_int_equal(sp_files_number(m.c, UINT32_MAX), 0);
	sp_files_want(m.c, UNKNOWN);
	sp_files_want(m.c, UINT32_MAX);
	assert_int_equal(sp_capture_file_fd(m.c, UINT32_MAX), -1);
	assert_int_equal(sp_capture_file_fd(m.c, 0), -1);
	made_free(&m);
}

static void stacks(void **state)
{
	struct sp_message_stack *big = stack_new(5, SP_MAX_FRAMES, SP_STOP_COMPLETE);
	struct made m = made_new();
	uint32_t n_stacks;

	assert_int_equal(take_file(&m, ANON, SP_DEV_ANON), 0);
	n_stacks = sp_profile_n_stacks(m.p);
	assert_int_equal(take(&m, big, sizeof(*big) + 8 * SP_MAX_FRAMES - 1), -EBADMSG); /* a byte is missing */
	assert_int_equal(take_stack(&m, 6, SP_MAX_FRAMES + 1, SP_STOP_COMPLETE), -EBADMSG);
	assert_int_equal(take_stack(&m, 6, UINT16_MAX, SP_STOP_COMPLETE), -EBADMSG);
	big->n_left_out = SP_WALK_FRAMES + 1;
	assert_int_equal(take(&m, big, sizeof(*big) + 8 * SP_MAX_FRAMES), -EBADMSG);
	big->n_left_out = big->n_frames = 1; /* of a stack that has room for all */
	assert_int_equal(take(&m, big, sizeof(*big) + 8 * SP_MAX_FRAMES), -EBADMSG);
	assert_int_equal(sp_profile_n_stacks(m.p), n_stacks);
	assert_int_equal(take_stack(&m, 5, SP_MAX_FRAMES, SP_STOP_COMPLETE), 0);
	assert_int_equal(take_stack(&m, 5, 3, SP_STOP_READ), 0); /* known already: as it was sent first */
	assert_int_equal(sp_profile_n_stacks(m.p), n_stacks + 1);
	struct sp_stack s = sp_profile_stack(m.p, n_stacks);
	assert_int_equal(s.n_frames, SP_MAX_FRAMES);
	assert_int_equal(s.stack_class, SP_CLASS_COMPLETE);
	for (uint32_t i = 0; i < s.n_frames; i++) {
		const struct sp_frame *f = sp_profile_frame(m.p, s.frames[i]);
		uint32_t file = i % 3 == SP_FRAME_KERNEL ? m.c->kernel_file : i % 2 ? sp_files_number(m.c, ANON) : 0;

		assert_int_equal(f->file, file);
		if (i % 3 != SP_FRAME_KERNEL)
			assert_int_equal(f->offset, i);
	}
	free(big);
	made_free(&m);
}

/* A file is announced, and a stack goes through it, after `events` was read and before `samples` is. */
static void stack_overtakes_file(void **state)
{
	struct sp_message_file file = {.type = SP_MESSAGE_FILE, .id = ANON, .key = {.dev = SP_DEV_ANON, .size = 5}};
	struct sp_message_stack *stack = stack_new(5, 2, SP_STOP_COMPLETE);
	struct made m = made_new();
	int events, samples;

	m.c->events = ring_new(&m, &events);
	m.c->samples = ring_new(&m, &samples);
	if (!m.c->samples) {
		print_message("skip: ring buffers need privileges\n");
		free(stack);
		made_free(&m);
		skip();
	}
	((uint64_t *)(stack + 1))[0] = word(SP_FRAME_ANON, ANON, 16);
	((uint64_t *)(stack + 1))[1] = word(SP_FRAME_FILE, UNKNOWN, 16); /* never announced */
	assert_int_equal(sp_drain_ring(m.c->events), 0);
	ring_put(events, &file, sizeof(file));
	ring_put(samples, stack, sizeof(*stack) + 16);
	assert_int_equal(sp_drain_ring(m.c->samples), 0);
	assert_int_equal(m.c->failure, 0);
	assert_int_equal(sp_profile_n_stacks(m.p), 2);
	struct sp_stack s = sp_profile_stack(m.p, 1);
	assert_int_equal(s.n_frames, 2);
	assert_int_equal(sp_profile_file(m.p, sp_profile_frame(m.p, s.frames[0])->file)->kind, SP_FILE_ANON);
	assert_int_equal(sp_profile_frame(m.p, s.frames[1])->file, 0);
	close(events);
	close(samples);
	free(stack);
	made_free(&m);
}

/* Every stop, known or not, has its class. */
static void stops(void **state)
{
	static const struct {
		uint16_t stop;
		int class;
	} all[] = {{SP_STOP_COMPLETE, SP_CLASS_COMPLETE},
		   {SP_STOP_THREAD, SP_CLASS_COMPLETE},
		   {SP_STOP_FIBER | SP_STACK_HAS_GUESS, SP_CLASS_GUESSED},
		   {SP_STOP_COMPLETE | SP_STACK_HAS_GUESS, SP_CLASS_GUESSED},
		   {SP_STOP_NONE, SP_CLASS_ABSENT},
		   {SP_STOP_GONE, SP_CLASS_ABSENT},
		   {SP_STOP_READ, SP_CLASS_CUT},
		   {SP_STOP_CFA | SP_STACK_HAS_GUESS, SP_CLASS_CUT},
		   {SP_STOP_PENDING, SP_CLASS_CUT},
		   {SP_N_STOPS, SP_CLASS_CUT},
		   {0xff, SP_CLASS_CUT}};
	struct made m = made_new();

	for (size_t i = 0; i < SP_COUNT(all); i++) {
		sp_u64 frame = word(SP_FRAME_FILE, UNKNOWN, i);
		int64_t stack = sp_drain_stack(m.c, &(struct sp_walked){.words = &frame, .n = 1, .stop = all[i].stop});

		assert_true(stack > 0);
		assert_int_equal(sp_profile_stack(m.p, (uint32_t)stack).stack_class, all[i].class);
	}
	made_free(&m);
}

static void counts(void **state)
{
	struct sp_count_key key = {.process = process_key, .kernel_stack = 77, .comm = "thread"};
	struct sp_count value = {.n = 3, .weight = 30};
	struct made m = made_new();

	assert_int_equal(sp_drain_add(m.c, &key, &value, 0), 0); /* neither process nor stack was ever sent */
	assert_int_equal(m.c->stats.n_lost_frames, 3);
	assert_int_equal(sp_profile_n_rows(m.p), 1);
	assert_int_equal(sp_profile_key(m.p, sp_profile_row(m.p, 0)->key)->process, 0);
	assert_int_equal(take_process(&m), 0);
	assert_int_equal(take_stack(&m, 77, 2, SP_STOP_COMPLETE), 0);
	assert_int_equal(sp_drain_add(m.c, &key, &value, 0), 0);
	assert_int_equal(sp_drain_add(m.c, &key, &value, 0), 0);
	assert_int_equal(m.c->stats.n_lost_frames, 3);
	assert_int_equal(sp_profile_n_rows(m.p), 2);
	const struct sp_row *row = sp_profile_row(m.p, 1);
	assert_true(row->kernel != 0);
	assert_int_equal(row->values[0], 6);
	assert_int_equal(row->values[1], 60);
	assert_int_equal(sp_profile_process(m.p, sp_profile_key(m.p, row->key)->process)->pid, 42);
	made_free(&m);
}

static void pending_bounds(void **state)
{
	struct made m = made_new();

	for (int i = 0; i < 6; i++) {
		struct sp_message_pending *r = pending_new();

		*(i % 3 == 0   ? &r->n_maps
		  : i % 3 == 1 ? &r->n_frames
			       : &r->stack_bytes) = i > 2        ? UINT32_MAX
						    : i % 3 == 0 ? SP_PENDING_MAPS + 1
						    : i % 3 == 1 ? SP_NEAR_FRAMES + 1
								 : SP_PENDING_STACK + 1;
		assert_int_equal(take(&m, r, sizeof(*r)), -EBADMSG);
		free(r);
	}
	struct sp_message_pending *r = pending_new();
	size_t whole = offsetof(struct sp_message_pending, sent) + sp_pending_stack_at(r) + r->stack_bytes;

	assert_int_equal(take(&m, r, whole - 1), -EBADMSG); /* a byte of its stack is missing */
	assert_int_equal(sp_pending_try(m.c, true), 0);
	assert_int_equal(sp_profile_n_rows(m.p), 0);
	assert_int_equal(take(&m, r, whole), 0);
	assert_non_null(m.c->waiting);
	free(r);
	made_free(&m);
}

/* Memory of no runtime needs no table: it is finished by frame pointers; a caller's 0 is the outermost one. */
static void pending_finished(void **state)
{
	struct sp_message_pending *r = pending_new();
	struct made m = made_new();

	r->how = SP_HOW_EXACT;
	assert_int_equal(take_process(&m), 0);
	assert_int_equal(take_file(&m, ANON, SP_DEV_ANON), 0);
	sp_tables_set_code(m.c->tables, ANON, SP_TABLE_FP); /* nobody can look at its code */
	assert_int_equal(take(&m, r, sizeof(*r)), 0);
	assert_int_equal(sp_pending_try(m.c, false), 0);
	assert_null(m.c->waiting);
	assert_int_equal(m.c->waiting_bytes, 0);
	assert_int_equal(m.c->stats.n_finished, 1);
	assert_int_equal(sp_profile_n_rows(m.p), 1);
	struct sp_stack s = sp_profile_stack(m.p, sp_profile_row(m.p, 0)->user);
	assert_int_equal(s.stack_class, SP_CLASS_GUESSED);
	assert_int_equal(s.n_frames, 1);
	assert_int_equal(sp_profile_row(m.p, 0)->values[0], 2);
	free(r);
	made_free(&m);
}

/* A row that names a ticket still waiting is counted when that is finished, as what the row says. */
static void pending_counted(void **state)
{
	struct sp_count_key key = {.process = process_key, .user_stack = 99, .comm = "later"};
	struct sp_message_pending *r = pending_new();
	struct made m = made_new();

	r->how = SP_HOW_EXACT;
	r->key.user_stack = 99;
	r->value = (struct sp_count){0};
	assert_int_equal(take_process(&m), 0);
	assert_int_equal(take_file(&m, ANON, SP_DEV_ANON), 0);
	sp_tables_set_code(m.c->tables, ANON, SP_TABLE_FP);
	assert_int_equal(take(&m, r, sizeof(*r)), 0);
	assert_false(sp_pending_count(m.c, &(struct sp_count_key){.user_stack = 98}, &(struct sp_count){1, 1}));
	assert_true(sp_pending_count(m.c, &key, &(struct sp_count){.n = 1, .weight = 7}));
	assert_true(sp_pending_count(m.c, &key, &(struct sp_count){.n = 0, .weight = 5}));
	assert_int_equal(sp_pending_try(m.c, false), 0);
	assert_int_equal(sp_profile_n_rows(m.p), 1);
	const struct sp_row *row = sp_profile_row(m.p, 0);
	assert_int_equal(row->values[0], 1);
	assert_int_equal(row->values[1], 12);
	assert_string_equal(sp_profile_string(m.p, sp_profile_key(m.p, row->key)->comm), "later");
	free(r);
	made_free(&m);
}

/* A file that was never announced: it waits, and is cut at the end, as a stack whose table did not come. */
static void pending_unknown(void **state)
{
	struct sp_message_pending *r = pending_new();
	struct made m = made_new();
	uint64_t n = 0;

	maps_of(r)->word = word(SP_FRAME_FILE, UNKNOWN, 0);
	r->stack_bytes = 4096;
	while (m.c->stats.n_unfinished == 0 && ++n < 100000)
		assert_int_equal(take(&m, r, sizeof(*r)), 0);
	assert_in_range(n, 2, 99999); /* there is a limit to what waits; beyond it samples are cut at once */
	assert_true(m.c->waiting_bytes <= SP_MAX_WAITING_BYTES);
	assert_int_equal(sp_pending_try(m.c, false), 0);
	assert_non_null(m.c->waiting);
	assert_int_equal(sp_pending_try(m.c, true), 0);
	assert_null(m.c->waiting);
	assert_int_equal(m.c->stats.n_unfinished, n);
	assert_int_equal(sp_profile_n_rows(m.p), 1);
	assert_int_equal(sp_profile_row(m.p, 0)->values[0], 2 * n);
	assert_int_equal(sp_profile_stack(m.p, sp_profile_row(m.p, 0)->user).reason, SP_STOP_TABLE);
	assert_int_equal(take(&m, r, sizeof(*r)), 0); /* freed with the session */
	free(r);
	made_free(&m);
}

/* Samples of one process wait with one list of mappings; those of another, or of later, have their own. */
static void pending_mappings(void **state)
{
	struct sp_message_pending *r = pending_new();
	struct made m = made_new();
	const struct sp_waiting *w[4];

	r->n_frames = 3; /* behind them come the mappings, and behind those the stack */
	r->frames[2] = word(SP_FRAME_ANON, ANON, 0x100);
	*maps_of(r) = (struct sp_map){.start = 0x10000, .end = 0x20000, .word = word(SP_FRAME_FILE, UNKNOWN, 0)};
	memset(maps_of(r) + 1, 0x5a, r->stack_bytes);
	for (int i = 0; i < 4; i++) {
		r->key.process.tgid += i == 2;
		r->n_maps = i == 3 ? SP_PENDING_MAPS : 1;
		r->has_more_maps = i == 3;
		assert_int_equal(take(&m, r, sizeof(*r)), 0);
		w[i] = m.c->waiting;
	}
	assert_ptr_equal(w[0]->space, w[1]->space);
	assert_ptr_not_equal(w[1]->space, w[2]->space);
	assert_ptr_not_equal(w[2]->space, w[3]->space);
	assert_int_equal(w[0]->space->n, 1);
	assert_memory_equal(w[0]->space->maps, maps_of(r), sizeof(struct sp_map));
	assert_memory_equal(w[0]->record->frames, r->frames, 3 * sizeof(r->frames[0]));
	assert_memory_equal(w[0]->stack, maps_of(r) + 1, r->stack_bytes);
	assert_int_equal(w[0]->space->n_left_out, 0);
	assert_int_equal(w[3]->space->n, SP_PENDING_MAPS);
	assert_int_equal(w[3]->space->n_left_out, 1); /* there may have been more */
	assert_true(w[0]->bytes > w[1]->bytes && w[3]->bytes >= SP_PENDING_MAPS * sizeof(struct sp_map));
	assert_int_equal(m.c->waiting_bytes, w[0]->bytes + w[1]->bytes + w[2]->bytes + w[3]->bytes);
	assert_int_equal(sp_pending_try(m.c, true), 0);
	assert_int_equal(m.c->waiting_bytes, 0);
	free(r);
	made_free(&m);
}

/* Three frames, of which the third is found through the last page of three; any of the pages may be missing. */
static void pending_holes(void **state)
{
	struct sp_message_pending *r = pending_new();
	const sp_u64 outer[] = {r->stack_at + 0x2100, 0x10020}, last[] = {0, 0x10030};

	r->regs.fp = r->stack_at + 0x100;
	r->stack_bytes = 0x3000;
	memcpy(&r->sent[sp_pending_stack_at(r) + 0x100], outer, sizeof(outer));
	memcpy(&r->sent[sp_pending_stack_at(r) + 0x2100], last, sizeof(last));
	for (unsigned page = 0; page < 3; page++) {
		struct made m = made_new();

		r->holes = 1U << page;
		assert_int_equal(take_process(&m), 0);
		assert_int_equal(take_file(&m, ANON, SP_DEV_ANON), 0);
		sp_tables_set_code(m.c->tables, ANON, SP_TABLE_FP);
		assert_int_equal(take(&m, r, sizeof(*r)), 0);
		assert_int_equal(sp_pending_try(m.c, false), 0);
		struct sp_stack s = sp_profile_stack(m.p, sp_profile_row(m.p, 0)->user);
		assert_int_equal(s.stack_class, page == 1 ? SP_CLASS_GUESSED : SP_CLASS_CUT);
		assert_int_equal(s.n_frames, page == 0 ? 1 : page == 1 ? 3 : 2);
		made_free(&m);
	}
	free(r);
}

/* What waits is tried when it is new, and again when a table has come. */
static void pending_tried(void **state)
{
	struct sp_message_pending *r = pending_new();
	struct made m = made_new();

	maps_of(r)->word = word(SP_FRAME_FILE, VDSO, 0);
	assert_int_equal(take(&m, r, sizeof(*r)), 0);
	assert_int_equal(sp_pending_try(m.c, false), 0);
	assert_int_equal(m.c->waiting->tried, m.c->n_table_changes);
	assert_int_equal(take(&m, r, sizeof(*r)), 0);
	assert_int_not_equal(m.c->waiting->tried, m.c->n_table_changes);
	assert_int_equal(sp_pending_try(m.c, false), 0);
	assert_int_equal(m.c->waiting->tried, m.c->n_table_changes);
	assert_int_equal(m.c->stats.n_finished, 0);
	assert_int_equal(take_file(&m, VDSO, SP_DEV_VDSO), 0);
	assert_int_equal(sp_pending_try(m.c, false), 0);
	assert_null(m.c->waiting);
	assert_int_equal(m.c->stats.n_finished, 2);
	free(r);
	made_free(&m);
}

/* Without privileges a session is refused with words, and leaves nothing behind. Returns the child's exit code. */
static int try_as_nobody(void)
{
	struct sp_capture_options o = {.recipes = {&sp_recipe_cpu}, .user = true, .frequency_hz = 99, .cache = ""};
	struct sp_capture *c = (struct sp_capture *)&o;
	struct sp_profile *p = NULL;
	int r;

	if ((geteuid() == 0 && (setgid(NOBODY) || setuid(NOBODY))) || sp_profile_new(&p))
		return 2;
	r = sp_capture_new(&o, p, NULL, &c);
	if (r != -EPERM && r != -EACCES && r != -EOPNOTSUPP)
		return 3;
	if (c != (struct sp_capture *)&o || !strstr(sp_error_text(r), "BPF"))
		return 4;
	sp_profile_free(p);
	return 0;
}

static void no_privileges(void **state)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(try_as_nobody());
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(short_records),    cmocka_unit_test(files),
	    cmocka_unit_test(stacks),           cmocka_unit_test(stops),
	    cmocka_unit_test(counts),           cmocka_unit_test(pending_bounds),
	    cmocka_unit_test(pending_finished), cmocka_unit_test(pending_counted),
	    cmocka_unit_test(pending_unknown),  cmocka_unit_test(pending_mappings),
	    cmocka_unit_test(pending_tried),    cmocka_unit_test(pending_holes),
	    cmocka_unit_test(no_privileges),    cmocka_unit_test(stack_overtakes_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
