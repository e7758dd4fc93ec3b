/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guessed stacks through ../unwind/verify_code.s, which keeps a frame pointer in one function and in another does not:
 * what a real parser says of it makes frames derived and stacks complete, and rows that are equal then are one.
 */
#include "naming/verify.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "naming/naming.h"
#include "own_program.h"
#include "profile/profile.h"
#include "test.h"
#include "worker/worker.h"
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

extern const char verify_first[], verify_frame[], verify_call[], verify_last[], verify_other[];

enum { G = SP_FRAMEF_GUESSED, D = SP_FRAMEF_DERIVED };

/* Leaf first. The frame pointer leads from verify_call and verify_last to their callers, from the others it does not.
 */
struct made_frame {
	const char *at; /* NULL: none */
	uint32_t flags;
	bool is_memory; /* without a file, which nobody can look at any more */
};
static const struct made_stack {
	struct made_frame frames[3];
	enum sp_stack_class stack_class;
	struct made_frame becomes[3];
	enum sp_stack_class class_then;
} made[] = {
    {{{.at = verify_call}, {verify_last, G, false}, {.at = verify_frame}},
     SP_CLASS_GUESSED,
     {{.at = verify_call}, {verify_last, D, false}, {.at = verify_frame}},
     SP_CLASS_COMPLETE},
    {{{.at = verify_call}, {verify_last, D, false}, {.at = verify_frame}}, /* what the first one becomes */
     SP_CLASS_COMPLETE,
     {{.at = verify_call}, {verify_last, D, false}, {.at = verify_frame}},
     SP_CLASS_COMPLETE},
    {{{.at = verify_call}, {verify_other + 4, G, false}, {verify_last, G, false}}, /* one of two guesses */
     SP_CLASS_GUESSED,
     {{.at = verify_call}, {verify_other + 4, D, false}, {verify_last, G, false}},
     SP_CLASS_GUESSED},
    {{{.at = verify_frame}, {verify_call, G, false}, {verify_last, G, false}}, /* the other one; a place met before */
     SP_CLASS_GUESSED,
     {{.at = verify_frame}, {verify_call, G, false}, {verify_last, D, false}},
     SP_CLASS_GUESSED},
    {{{.at = verify_other + 4}, {verify_last, G, false}},
     SP_CLASS_GUESSED,
     {{.at = verify_other + 4}, {verify_last, G, false}},
     SP_CLASS_GUESSED},
    {{{verify_call, 0, true}, {verify_last, G, false}},
     SP_CLASS_GUESSED,
     {{verify_call, 0, true}, {verify_last, G, false}},
     SP_CLASS_GUESSED},
    /* A leaf that could not be read: believed at its function's start, but not behind it. */
    {{{verify_first, G, false}, {verify_last, G, false}},
     SP_CLASS_GUESSED,
     {{.at = verify_first}, {verify_last, D, false}},
     SP_CLASS_COMPLETE},
    {{{verify_call, G, false}, {verify_last, G, false}},
     SP_CLASS_GUESSED,
     {{verify_call, G, false}, {verify_last, G, false}},
     SP_CLASS_GUESSED},
    {{{.at = verify_call}, {verify_last, G, false}}, /* cut, and stays so */
     SP_CLASS_CUT,
     {{.at = verify_call}, {verify_last, G, false}},
     SP_CLASS_CUT},
};

struct fixture {
	struct sp_workers *workers;
	struct sp_profile *profile;
	struct sp_elf *elf;
	int fd; /* elf's */
	uint32_t file, memory, key, kernel;
};

static void begin(struct fixture *x)
{
	struct sp_file memory = {.kind = SP_FILE_ANON, .tag = 2};

	assert_int_equal(sp_profile_new(&x->profile), 0);
	assert_true(sp_profile_add_value_type(x->profile, "samples", "count") >= 0);
	x->file = own_program_add(x->profile, &x->fd, &x->elf);
	x->memory = (uint32_t)sp_profile_add_file(x->profile, &memory);
	x->key = (uint32_t)sp_profile_add_key(x->profile, &(struct sp_key){0});
	assert_int_equal(sp_workers_new(&(struct sp_workers_options){.n_parsers = 1}, &x->workers), 0);
}

static void end(struct fixture *x)
{
	sp_workers_free(x->workers);
	sp_profile_free(x->profile);
	sp_elf_close(x->elf);
	close(x->fd);
}

/* Adds what is not there yet: the same frames are the same stack. */
static uint32_t stack_of(struct fixture *x, const struct made_frame *frames, enum sp_stack_class stack_class)
{
	uint32_t numbers[3];
	struct sp_stack s = {.stack_class = (uint16_t)stack_class, .frames = numbers};

	for (; s.n_frames < 3 && frames[s.n_frames].at; s.n_frames++) {
		const struct made_frame *m = &frames[s.n_frames];
		struct sp_frame frame = {.file = m->is_memory ? x->memory : x->file, .flags = m->flags};
		uint64_t bias = getauxval(AT_ENTRY) - sp_elf_entry(x->elf);

		assert_int_equal(sp_elf_offset_of(x->elf, (uint64_t)(uintptr_t)m->at - bias, &frame.offset), 0);
		numbers[s.n_frames] = (uint32_t)sp_profile_add_frame(x->profile, &frame);
	}
	return (uint32_t)sp_profile_add_stack(x->profile, &s);
}

/* The samples of a stack, over all rows; *ret_n of them. */
static int64_t samples_of(const struct fixture *x, uint32_t user, unsigned *ret_n)
{
	int64_t sum = 0;

	*ret_n = 0;
	for (uint32_t i = 0; i < sp_profile_n_rows(x->profile); i++) {
		const struct sp_row *row = sp_profile_row(x->profile, i);

		if (row->user != user)
			continue;
		assert_int_equal(row->key, x->key);
		assert_int_equal(row->kernel, x->kernel);
		sum += row->values[0];
		++*ret_n;
	}
	return sum;
}

static void guesses_that_code_bears_out(void **state)
{
	struct fixture x = {0};
	struct sp_naming naming;
	unsigned n;

	begin(&x);
	x.kernel = stack_of(&x, made[4].frames, SP_CLASS_COMPLETE);
	for (size_t i = 0; i < SP_COUNT(made); i++)
		assert_int_equal(sp_profile_add(x.profile, x.key, stack_of(&x, made[i].frames, made[i].stack_class),
						x.kernel, &(int64_t){1LL << i}),
				 0);
	naming = (struct sp_naming){
	    .workers = x.workers, .profile = x.profile, .by_path = true, .no_fetch = true, .cache = ""};
	assert_int_equal(sp_verify_stacks(&naming), 0);
	assert_int_equal(samples_of(&x, stack_of(&x, made[0].becomes, made[0].class_then), &n), 1 + 2);
	assert_int_equal(n, 1);
	for (size_t i = 2; i < SP_COUNT(made); i++) {
		assert_int_equal(samples_of(&x, stack_of(&x, made[i].becomes, made[i].class_then), &n), 1 << i);
		assert_int_equal(n, 1);
	}
	assert_int_equal(sp_profile_n_rows(x.profile), SP_COUNT(made) - 1);
	sp_naming_done(&naming);
	end(&x);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(guesses_that_code_bears_out)};

	sp_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
