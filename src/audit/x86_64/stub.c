/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stubs of .plt.got: `jmp *WORD(%rip)`, which linkers make where an object calls a function and takes its address, too.
 * WORD is the address that all others see, and stays. The stub's displacement is led to a word of ours instead, which
 * no other code knows. That is writing to code: only where none of it can be running yet, in a private copy of its
 * page, which is never writable and executable at once; and only where the kernel has let us do the same to a page of
 * our own, so that none of the program's can stay without its right to be executed.
 */
#include "audit/audit.h"

#include <sys/mman.h>

enum { PAGE = 4096, NEAR_PAGES = 64, NEAR_WORDS = PAGE / 8, REACH = 0x7fff0000, STEPS = 18 };

static uint64_t own_words[NEAR_WORDS];
static uint64_t *near[NEAR_PAGES] = {own_words}; /* words; one that is 0 is free */
static uint32_t n_near = 1;

extern uint8_t sp_trial_page[]; /* code that nobody runs */

static bool has_endbr64(const uint8_t *at)
{
	return at[0] == 0xf3 && at[1] == 0x0f && at[2] == 0x1e && at[3] == 0xfa;
}

bool sp_stub_is(const uint8_t *jump)
{
	uint64_t at = (uint64_t)jump;

	if (jump[0] != 0xff || jump[1] != 0x25)
		return false;
	if (at % 8 == 0)
		return jump[6] == 0x66 && jump[7] == 0x90;
	if (at % 16 == 4)
		return has_endbr64(jump - 4);
	return at % 16 == 5 && jump[-1] == 0xf2 && has_endbr64(jump - 5);
}

/* --- words that stubs can reach --- */
static bool is_in_reach(uint64_t from, const uint64_t *words)
{
	uint64_t at = (uint64_t)words;

	return (at > from ? at - from : from - at) < REACH;
}

static uint64_t *map_at(uint64_t at, uint64_t flags)
{
	int64_t r =
	    sp_sys(SYS_mmap, at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, UINT64_MAX, 0);

	if (r < 0 && r > -PAGE)
		return NULL;
	if (flags == 0 || (uint64_t)r == at)
		return (uint64_t *)r;
	sp_sys(SYS_munmap, (uint64_t)r, PAGE, 0, 0, 0, 0); /* an old kernel, for which the address is a wish */
	return NULL;
}

/* Anywhere, which is near to libraries; or below the object: above a program the heap grows. */
static uint64_t *map_near(const struct sp_object *o, uint64_t stub)
{
	uint64_t *words = o->is_program ? NULL : map_at(0, 0), low = o->whole.low & ~(uint64_t)(PAGE - 1);

	if (words && is_in_reach(stub, words))
		return words;
	if (words)
		sp_sys(SYS_munmap, (uint64_t)words, PAGE, 0, 0, 0, 0);
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t below = (uint64_t)PAGE << i;
		words = low > below ? map_at(low - below, MAP_FIXED_NOREPLACE) : NULL;
		if (words && is_in_reach(stub, words))
			return words;
	}
	return NULL;
}

static uint64_t *stub_take_word(const struct sp_object *o, uint64_t stub)
{
	for (uint32_t i = 0; i < n_near; i++)
		for (uint32_t k = 0; k < NEAR_WORDS && is_in_reach(stub, near[i]); k++)
			if (near[i][k] == 0)
				return &near[i][k];
	uint64_t *words = n_near < NEAR_PAGES ? map_near(o, stub) : NULL;
	if (words)
		near[n_near++] = words;
	return words;
}

void sp_stubs_close(const struct sp_object *o)
{
	for (uint32_t i = 0; i < n_near; i++)
		for (uint32_t k = 0; k < NEAR_WORDS; k++)
			if (near[i][k] != 0 && sp_trampoline_owner(near[i][k]) == o)
				near[i][k] = 0;
}

/* --- writing to code --- */
static bool protect(uint64_t page, uint64_t rights)
{
	return sp_sys(SYS_mprotect, page, PAGE, rights, 0, 0, 0) == 0;
}

static bool may_write_code(void)
{
	static uint8_t answer; /* 1: no, 2: yes */
	uint64_t page = (uint64_t)sp_trial_page;

	if (answer == 0) {
		answer = 1;
		if (protect(page, PROT_READ | PROT_WRITE)) {
			*(volatile uint8_t *)page = 0xcc;
			answer += protect(page, PROT_READ | PROT_EXEC);
		}
	}
	return answer == 2;
}

/* The stub of the word: the one after the last that was found, as a rule. */
static uint8_t *stub_find_word(struct sp_stubs *s, uint64_t word)
{
	uint64_t n = (s->range.high - s->range.low) / 4;

	for (uint64_t i = 0, at = s->next; i < n; i++, at += 4) {
		if (at < s->range.low || at >= s->range.high)
			at = s->range.low;
		const uint8_t *jump = (const uint8_t *)at;
		for (unsigned bnd = 0; bnd < 2; bnd++, jump++)
			if (sp_stub_is(jump) &&
			    (uint64_t)jump + 6 + (uint64_t)(int64_t) * (const int32_t *)(jump + 2) == word) {
				s->next = at + 4;
				return (uint8_t *)jump;
			}
	}
	return NULL;
}

bool sp_stub_lead(struct sp_object *o, struct sp_stubs *s, uint64_t word, uint64_t trampoline)
{
	uint8_t *jump = may_write_code() ? stub_find_word(s, word) : NULL;
	uint64_t *own = jump ? stub_take_word(o, (uint64_t)jump) : NULL, page = (uint64_t)jump & ~(uint64_t)(PAGE - 1);

	if (!own)
		return false;
	if (s->open_page != page) {
		sp_stubs_done(s);
		if (!protect(page, PROT_READ | PROT_WRITE))
			return false;
		s->open_page = page;
	}
	*own = trampoline;
	*(int32_t *)(jump + 2) = (int32_t)((uint64_t)own - ((uint64_t)jump + 6));
	return true;
}

void sp_stubs_done(struct sp_stubs *s)
{
	if (s->open_page != 0)
		protect(s->open_page, PROT_READ | PROT_EXEC);
	s->open_page = 0;
}
