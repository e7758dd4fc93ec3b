/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_frames.c: frames of JIT code whose frame pointer leads nowhere (unwind/x86_64/jit.h).
 *
 * A parser reads the code around the frame from its process (sp_memory_want); the sample waits for the answer, as
 * others do for a table. Answers are kept for a moment only, by place and return address: loops are sampled at the same
 * places again and again, but code may be made anew. Memory that may not be read, or in which hardly any frame is
 * found, is not asked about any more, and the kernel half then sends none of its samples.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/priv.h"
#include "profile/profile.h"
#include "unwind/arch.h"
#include "unwind/finish.h"
#include "worker/jobs_names.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { N_KEPT = 4096, KEPT_MS = 2000, MAX_ASKED = 64, MANY_FAILED = 500 };

enum state { FREE, ASKED, FOUND, NOT_FOUND };

struct sp_jit_kept {
	uint64_t ip, ra, birth, until_ns;
	struct sp_jit_frame frame; /* cfa 0: step by the frame pointer */
	uint32_t id;
	uint8_t state; /* enum state */
};

struct made_job {
	struct sp_capture *c;
	uint32_t id;
	uint64_t birth;
	struct sp_jit_kept *kept; /* where the answer is put */
	uint64_t ip, fp_ra;
	uint64_t words[SP_JIT_WORDS];
	size_t n_words;
};

static bool is_late(const struct made_job *job)
{
	return job->c->is_over || job->c->seen[job->id].birth != job->birth;
}

static void give_up(struct sp_capture *c, uint32_t id)
{
	sp_tables_set_code(c->tables, id, SP_TABLE_FP);
	c->n_table_changes++;
}

static struct made_job *job_new(struct sp_capture *c, uint32_t id)
{
	struct made_job *job = calloc(1, sizeof(*job));

	if (job)
		*job = (struct made_job){.c = c, .id = id, .birth = c->seen[id].birth};
	return job;
}

static void answered(void *arg, int r, uint64_t value)
{
	struct made_job *job = arg;
	struct sp_jit_kept *kept = job->kept;
	struct sp_capture *c = job->c;
	struct sp_jit_frame frame = {.cfa = (int32_t)value, .fp = (int32_t)(value >> 32)};
	size_t at = frame.cfa ? (size_t)frame.cfa / 8 - 1 : 0;
	bool good = r >= 0 && frame.cfa >= 0 && frame.cfa % 8 == 0 && at < job->n_words;

	c->n_jit_asked--;
	sp_error_clear();
	if (!is_late(job)) {
		struct sp_known_file *k = sp_known_of(c, job->id);

		sp_files_have_read(c, job->id, sp_workers_called_ns(c->workers));
		c->n_table_changes++;
		k->n_made += good;
		k->n_not_made += !good;
		if (k->n_not_made > MANY_FAILED && k->n_not_made > 9 * k->n_made)
			give_up(c, job->id);
		if (kept->state == ASKED && kept->ip == job->ip && kept->birth == job->birth) {
			kept->state = good ? FOUND : NOT_FOUND;
			kept->frame = frame;
			kept->ra = frame.cfa ? job->words[at] : job->fp_ra;
			kept->until_ns = sp_time_ns(CLOCK_MONOTONIC) + KEPT_MS * 1000000ULL;
		}
	}
	free(job);
}

static int ask(struct sp_capture *c, struct sp_jit_kept *kept, const struct sp_jit_at *at)
{
	struct made_job *job = job_new(c, at->id);
	uint64_t question[3 + SP_JIT_WORDS] = {at->regs->ip, at->regs->sp, at->fp_ra};
	size_t n = SP_MIN(at->n_words, (size_t)SP_JIT_WORDS);

	if (!job)
		return 0;
	memcpy(question + 3, at->words, n * sizeof(*question));
	memcpy(job->words, at->words, n * sizeof(*question));
	job->n_words = n;
	job->kept = kept;
	job->ip = at->regs->ip;
	job->fp_ra = at->fp_ra;
	*kept = (struct sp_jit_kept){.ip = job->ip, .id = at->id, .birth = job->birth, .state = ASKED};
	if (sp_workers_jit_frame(c->workers, sp_known_of(c, at->id)->memory_fd, question, 3 + n, answered, job) < 0) {
		sp_error_clear();
		kept->state = FREE;
		free(job);
		return 0;
	}
	c->n_jit_asked++;
	return -EAGAIN;
}

static struct sp_jit_kept *kept_at(struct sp_capture *c, const struct sp_jit_at *at)
{
	uint64_t hash = (at->regs->ip ^ (uint64_t)at->id << 40) * 0x9e3779b97f4a7c15ULL;

	if (!c->jit)
		c->jit = calloc(N_KEPT, sizeof(*c->jit));
	return c->jit ? &c->jit[hash >> 32 & (N_KEPT - 1)] : NULL;
}

/* Whether the answer holds for this stack, too: the return address is the same. */
static bool fits(const struct sp_jit_kept *kept, const struct sp_jit_at *at)
{
	size_t word = kept->frame.cfa ? (size_t)kept->frame.cfa / 8 - 1 : 0;

	if (kept->state == NOT_FOUND)
		return true;
	return kept->frame.cfa ? word < at->n_words && at->words[word] == kept->ra : at->fp_ra == kept->ra;
}

static struct sp_rule rule_of(const struct sp_jit_frame *f)
{
	return (struct sp_rule){.cfa = SP_CFA_REG,
				.reg = 7, /* the stack pointer */
				.off = f->cfa,
				.fp = f->fp == SP_JIT_FP_SAME ? SP_FP_SAME
				      : f->fp >= 0            ? SP_FP_SP
							      : SP_FP_LOST,
				.fp_off = (sp_s16)f->fp,
				.ra = SP_RA_CFA | SP_RULE_DERIVED,
				.ra_off = -8};
}

static bool may_read(struct sp_capture *c, uint32_t id)
{
	if (sp_files_may_read(c, id))
		return true;
	sp_files_put_off_code(c, id);
	return false;
}

int sp_jit_frame_ask(void *capture, const struct sp_jit_at *at, struct sp_rule *ret_rule)
{
	struct sp_capture *c = capture;
	struct sp_jit_kept *kept;
	int memory;

	if (at->id >= c->n_seen || c->seen[at->id].key.dev != SP_DEV_ANON || c->is_over ||
	    sp_tables_state(c->tables, at->id) != SP_TABLE_JIT)
		return 0;
	if (!sp_known_of(c, at->id)->memory_fd && !may_read(c, at->id))
		return 0;
	memory = sp_memory_want(c, at->id);
	if (memory == -EAGAIN)
		return -EAGAIN;
	if (memory < 0) {
		give_up(c, at->id);
		return 0;
	}
	kept = kept_at(c, at);
	if (!kept)
		return 0;
	if (kept->id == at->id && kept->ip == at->regs->ip && kept->birth == c->seen[at->id].birth) {
		if (kept->state == ASKED)
			return -EAGAIN;
		if (kept->state != FREE && fits(kept, at) && sp_time_ns(CLOCK_MONOTONIC) < kept->until_ns) {
			*ret_rule = rule_of(&kept->frame);
			return kept->state == NOT_FOUND ? SP_JIT_NONE : kept->frame.cfa ? SP_JIT_RULE : SP_JIT_BY_FP;
		}
	} else if (kept->state == ASKED) {
		return -EAGAIN; /* the entry is reserved for the answer about another frame */
	}
	if (c->n_jit_asked >= MAX_ASKED)
		return -EAGAIN;
	return may_read(c, at->id) ? ask(c, kept, at) : 0;
}
