/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assigns trampolines, and handles the first call through each of them, or from each call site. */
#include "audit/process.h"
#include "audit/time.h"

struct sp_counted_ref sp_counted_refs[SP_TRAMPOLINES];
static struct sp_counted_ref_info references[SP_TRAMPOLINES];
_Static_assert(SP_OBJECTS <= UINT16_MAX && sizeof(struct sp_counted_ref_info) == 24, "small: address space is short");
struct sp_site sp_sites[SP_SITES + SP_SITE_TRIES + 1];

extern const uint8_t sp_trampolines_object[], sp_trampolines_site[];

enum { REFERENCE_FREE, REFERENCE_TAKEN, REFERENCE_READY };
enum { SITE_GONE = 1 }; /* in place of a key */

static uint32_t n_used;                    /* of the front, ever; when all were, free ones are looked for */
static uint8_t site_pages[SP_SITES / 256]; /* those that have sites */

static bool with_sites(void)
{
	return sp_shared.depth == SP_CALLS_BY_SITE;
}

static uint64_t code(void)
{
	return (uint64_t)(with_sites() ? sp_trampolines_site : sp_trampolines_object);
}

static uint32_t count_new_trampoline(void)
{
	static uint32_t hint;
	uint32_t next = sp_load(&n_used), start = sp_load(&hint);

	while (next < SP_TRAMPOLINES && !sp_swap(&n_used, next, next + 1))
		next = sp_load(&n_used);
	if (next < SP_TRAMPOLINES) {
		sp_store(&references[next].state, REFERENCE_TAKEN);
		return next;
	}
	for (uint32_t i = 0; i < SP_TRAMPOLINES; i++) {
		uint32_t at = (start + i) % SP_TRAMPOLINES;
		if (sp_swap(&references[at].state, REFERENCE_FREE, REFERENCE_TAKEN)) {
			sp_store(&hint, at + 1);
			return at;
		}
	}
	return SP_TRAMPOLINES;
}

static struct sp_object *owner_of(const struct sp_counted_ref_info *f)
{
	return &sp_objects[f->owner];
}

static struct sp_object *callee_of(const struct sp_counted_ref_info *f)
{
	return &sp_objects[f->callee];
}

uint64_t sp_trampoline_new(struct sp_object *owner, struct sp_object *callee, uint64_t target, const char *name,
			   uint32_t flags)
{
	uint32_t number = count_new_trampoline();

	if (number == SP_TRAMPOLINES) {
		sp_shared_note(SP_CALLS_N_NO_ROOM);
		return 0;
	}
	struct sp_counted_ref *r = &sp_counted_refs[number];
	struct sp_counted_ref_info *f = &references[number];
	f->owner = (uint16_t)(owner - sp_objects);
	f->callee = (uint16_t)(callee - sp_objects);
	r->target = sp_time_lead(number, target, name, &flags);
	if (with_sites())
		r->tag = (uint64_t)number << 48;
	else
		r->base = 0;
	f->function = 0;
	f->flags = (uint16_t)flags;
	f->name = name;
	sp_store(&f->state, REFERENCE_READY);
	return code() + (uint64_t)number * SP_TRAMPOLINE_BYTES;
}

static struct sp_counted_ref_info *reference_of(uint64_t trampoline)
{
	return &references[(trampoline - code()) / SP_TRAMPOLINE_BYTES];
}

const struct sp_object *sp_trampoline_owner(uint64_t trampoline)
{
	return owner_of(reference_of(trampoline));
}

void sp_trampoline_free(uint64_t trampoline)
{
	sp_store(&reference_of(trampoline)->state, REFERENCE_FREE);
}

uint32_t sp_trampolines_used(void)
{
	return sp_load(&n_used);
}

static void forget_site(struct sp_site *s, uint64_t key)
{
	sp_store(&s->key, key);
	sp_store(&s->base, 0);
}

static void forget_sites(struct sp_site *sites, uint32_t n, const struct sp_object *o)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t key = sites[i].key, at = key & ((1ULL << 48) - 1);
		if (key <= SITE_GONE)
			continue;
		const struct sp_counted_ref_info *f = &references[key >> 48];
		if ((at >= o->whole.low && at < o->whole.high) || owner_of(f) == o || callee_of(f) == o)
			forget_site(&sites[i], SITE_GONE);
	}
}

static void free_record(uint32_t number, const struct sp_object *o)
{
	struct sp_counted_ref_info *f = &references[number];
	struct sp_site *sites = sp_counted_refs[number].sites;
	bool all = owner_of(f) == o || callee_of(f) == o;

	for (uint32_t i = 0; i < SP_REF_N_SITES; i++)
		if (all || (sites[i].key >= o->whole.low && sites[i].key < o->whole.high))
			forget_site(&sites[i], 0);
	if (all)
		sp_store(&f->state, REFERENCE_FREE);
}

void sp_trampolines_close(const struct sp_object *o)
{
	uint32_t n = sp_load(&n_used);

	for (uint32_t page = 0; page < SP_SITES / 256; page++)
		if (sp_load(&site_pages[page]) != 0)
			forget_sites(&sp_sites[page * 256], 256 + SP_SITE_TRIES, o);
	for (uint32_t i = 0; i < n; i++)
		if (sp_load(&references[i].state) == REFERENCE_READY)
			free_record(i, o);
}

void sp_counters_forget(void)
{
	uint32_t n = sp_load(&n_used);

	for (uint32_t i = 0; i < n; i++) {
		if (!with_sites() && sp_load(&sp_counted_refs[i].base) != 0)
			sp_store(&sp_counted_refs[i].base, 0);
		for (uint32_t k = 0; k < SP_REF_N_SITES && with_sites(); k++)
			if (sp_counted_refs[i].sites[k].base != 0)
				forget_site(&sp_counted_refs[i].sites[k], 0);
	}
	for (uint32_t page = 0; page < SP_SITES / 256; page++)
		for (uint32_t i = 0; i < 256 + SP_SITE_TRIES && site_pages[page] != 0; i++)
			if (sp_sites[page * 256 + i].base != 0)
				forget_site(&sp_sites[page * 256 + i], 0);
}

/* --- the first call --- */
static uint64_t row_counters(const struct sp_calls_row *row)
{
	uint32_t id = row->function != 0 ? sp_shared_row(row) : 0;

	return id != 0 ? sp_shared_counters(id) : 0;
}

static uint64_t counters_of(uint32_t function, uint32_t process, uint32_t caller, uint32_t site_object,
			    uint64_t site_offset)
{
	return row_counters(&(struct sp_calls_row){.function = function,
						   .caller = caller,
						   .site_object = site_object,
						   .site_offset = site_offset,
						   .process = process});
}

/* The row for calls that get none of their own is made now, while there is room. */
static uint32_t count_function_of(struct sp_counted_ref_info *f)
{
	uint32_t function = sp_load(&f->function), object;

	if (function != 0)
		return function;
	object = sp_object_id(callee_of(f));
	if (object == 0)
		return 0;
	function = sp_shared_function(
	    object, sp_object_offset(callee_of(f), sp_time_target((uint32_t)(f - references))), f->name, f->flags);
	counters_of(function, 0, 0, 0, 0);
	sp_store(&f->function, function);
	return function;
}

uint64_t sp_part_counters(uint32_t number, uint64_t part)
{
	return row_counters(
	    &(struct sp_calls_row){.function = count_function_of(&references[number]), .part = (uint32_t)part});
}

/* The key comes last: a thread that finds it finds the counters, too. */
static bool keep_here(struct sp_site *s, uint64_t key, uint64_t base)
{
	if (sp_load(&s->key) == key)
		return true;
	if (!sp_swap(&s->base, 0, base))
		return false;
	sp_store(&s->key, key);
	return true;
}

/* Kept for the trampoline to find. Where all places are taken the site goes the slow way each time. */
static void keep_site(struct sp_counted_ref *r, uint64_t return_address, uint64_t base)
{
	uint32_t piece = (uint32_t)(return_address >> SP_SITE_CODE_BITS),
		 page = piece * SP_SITE_MULTIPLIER >> (32 - SP_SITE_PAGE_BITS);
	struct sp_site *s = &sp_sites[page * 256 + (return_address & SP_SITE_CODE_MASK) / 4];

	for (unsigned i = 0; i < SP_REF_N_SITES; i++)
		if (keep_here(&r->sites[i], return_address, base))
			return;
	sp_store(&site_pages[page], 1);
	for (unsigned i = 0; i <= SP_SITE_TRIES; i++, s++)
		if (keep_here(s, return_address | r->tag, base))
			return;
}

static uint64_t folded(uint32_t function)
{
	uint64_t base = counters_of(function, sp_process_id(), 0, 0, 0);

	if (base == 0) /* the process has none, and all together do */
		base = counters_of(function, 0, 0, 0, 0);
	if (base != 0)
		sp_shared_note(SP_CALLS_N_FOLDED_SITES);
	return base;
}

static uint64_t site_counters(struct sp_counted_ref_info *f, uint64_t return_address)
{
	struct sp_object *site = sp_object_at(return_address);
	uint32_t owner = sp_object_id(owner_of(f)), site_id = site ? sp_object_id(site) : 0;
	uint32_t function = count_function_of(f);
	uint64_t base = 0;

	if ((site_id != 0 || !site) && owner != 0)
		base = counters_of(function, sp_process_id(), owner, site_id,
				   site_id != 0 ? sp_object_offset(site, return_address) : 0);
	return base != 0 ? base : folded(function);
}

static uint64_t object_counters(struct sp_counted_ref_info *f)
{
	uint32_t owner = sp_object_id(owner_of(f)), function = count_function_of(f);
	uint64_t base = owner != 0 ? counters_of(function, sp_process_id(), owner, 0, 0) : 0;

	return base != 0 ? base : folded(function);
}

/*
 * ld.so calls malloc and the like for itself, by words of its own. In a program at a fixed address that has malloc's
 * address these lead to the program's PLT, and so to us; but it is not the program that calls.
 */
static bool is_of_linker(const struct sp_counted_ref_info *f, uint64_t return_address)
{
	const struct sp_object *site = owner_of(f)->is_program ? sp_object_at(return_address) : NULL;

	return site && site->is_linker && sp_is_call_by_word(return_address);
}

void sp_count_call(struct sp_counted_ref *r, uint64_t return_address)
{
	struct sp_counted_ref_info *f = &references[r - sp_counted_refs];
	bool keeps = sp_process_settle();
	uint32_t process = sp_process_id();

	if (is_of_linker(f, return_address))
		return;
	uint64_t base = with_sites() ? site_counters(f, return_address) : object_counters(f);

	if (base == 0) {
		sp_shared_note(SP_CALLS_N_LOST_CALLS);
		return;
	}
	keeps = keeps && sp_process_id() == process; /* not a child by now, out of a signal handler */
	if (keeps && with_sites())
		keep_site(r, return_address, base);
	else if (keeps)
		sp_store(&r->base, base);
	sp_add((uint64_t *)(base - SP_CALLS_PAGE), 1);
}
