/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/beside.h"
#include "base/aside.h"
#include "base/error.h"
#include "base/mem.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sp_beside {
	struct bpf_program *program;
	struct sp_aside aside;
	struct bpf_insn *insns; /* NULL: libbpf has not come to it */
	size_t n_insns;
	struct bpf_prog_load_opts *opts; /* as long as this libbpf's */
	int fd;                          /* a negative errno if it was refused */
};

/* Those of the session that this thread loads: libbpf's callback gets nothing that belongs to an object. */
static _Thread_local struct sp_besides *loading;

static struct sp_beside *beside_of(const struct bpf_program *program)
{
	for (size_t i = 0; loading && i < loading->n; i++)
		if (loading->each[i]->program == program)
			return loading->each[i];
	return NULL;
}

static void *beside_load(void *arg)
{
	struct sp_beside *b = arg;

	b->fd = bpf_prog_load(bpf_program__type(b->program), bpf_program__name(b->program), "GPL", b->insns, b->n_insns,
			      b->opts);
	return NULL;
}

static void *memory_copy(const void *bytes, size_t n)
{
	void *copy = malloc(n);

	return copy ? memcpy(copy, bytes, n) : NULL;
}

/* libbpf is about to load the program, which has its final instructions now. */
static int on_load(struct bpf_program *program, struct bpf_prog_load_opts *opts, long cookie)
{
	static const struct bpf_insn nothing[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
	struct sp_beside *b = beside_of(program);

	(void)cookie;
	if (!b || opts->fd_array) /* that is freed when libbpf is done: another load needs no thread */
		return 0;
	b->n_insns = bpf_program__insn_cnt(program);
	b->opts = memory_copy(opts, opts->sz);
	b->insns = b->opts ? memory_copy(bpf_program__insns(program), b->n_insns * sizeof(*b->insns)) : NULL;
	if (!b->insns)
		return -ENOMEM;
	opts->func_info_cnt = opts->line_info_cnt = 0;
	sp_aside_begin(&b->aside, beside_load, b);
	return bpf_program__set_insns(program, (struct bpf_insn *)nothing, SP_COUNT(nothing));
}

void sp_beside_prepare(void)
{
	static bool is_prepared;
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = on_load);

	if (!is_prepared) {
		libbpf_register_prog_handler("raw_tp", BPF_PROG_TYPE_RAW_TRACEPOINT, 0, &opts);
		libbpf_register_prog_handler("perf_event", BPF_PROG_TYPE_PERF_EVENT, 0, &opts);
	}
	is_prepared = true;
}

int sp_beside_choose(struct sp_besides *b, struct bpf_program *program)
{
	struct sp_beside *one = b->n < SP_MAX_BESIDE ? calloc(1, sizeof(*one)) : NULL;

	if (!one)
		return -ENOMEM;
	one->program = program;
	b->each[b->n++] = one;
	loading = b;
	return 0;
}

static int beside_finish(struct sp_beside *b, int loaded)
{
	sp_aside_wait(&b->aside);
	if (!b->insns)
		return loaded;
	if (b->fd < 0)
		return loaded < 0 ? loaded : sp_fail(b->fd, "load the program %s", bpf_program__name(b->program));
	if (loaded >= 0 && dup3(b->fd, bpf_program__fd(b->program), O_CLOEXEC) < 0)
		loaded = sp_fail(-errno, "take over the program %s", bpf_program__name(b->program));
	close(b->fd);
	return loaded;
}

int sp_beside_finish(struct sp_besides *b, int loaded)
{
	loading = NULL;
	for (size_t i = 0; i < b->n; i++) {
		loaded = beside_finish(b->each[i], loaded);
		free(b->each[i]->insns);
		free(b->each[i]->opts);
		free(b->each[i]);
	}
	b->n = 0;
	return loaded;
}
