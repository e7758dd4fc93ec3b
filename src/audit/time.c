/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times calls: what returns.S leaves to C, and which functions and programs are not timed.
 *
 * The program's unwinders must get from a stub to its caller. libgcc's asks ld.so with _dl_find_object(), which knows
 * all namespaces (glibc 2.35 has it; so has any glibc that loads us, for __rseq_offset). Others use
 * dl_iterate_phdr(3), which does not report ours: a program that may have such an unwinder is counted but not timed.
 * So is a program that forbids itself the time-stamp counter (prctl(2)), as far as we can see.
 */
#include "audit/time.h"

#include "link/buckets.h"

#include <sys/mman.h>

enum { TABLES = 2048, RETURN_GONE = 1, N_WATCHED = 2, MAX_TAILS = 7 };
struct flight {
	uint64_t check, start, timing, unused;
};
_Static_assert(sizeof(struct flight) == SP_FLIGHT_BYTES && offsetof(struct flight, timing) == SP_FLIGHT_TIMING,
	       "as returns.S");
_Static_assert(offsetof(struct sp_calls_header, counters[SP_CALLS_N_UNTIMED]) == SP_HEADER_UNTIMED, "as returns.S");
_Static_assert(offsetof(struct sp_shared, header) == 0, "as returns.S");
struct memory {
	struct sp_timing timings[SP_TRAMPOLINES];
	struct flight flights[1 << SP_FLIGHT_BITS];
	uint64_t buckets[TABLES][SP_CALLS_BUCKETS];
};

#pragma GCC visibility push(hidden)
struct sp_timing *sp_timings;
struct flight *sp_flights;
uint32_t sp_timing_off = 1; /* for now, or for good */
uint64_t sp_return_to[SP_RETURNS];
uint64_t sp_watched[N_WATCHED]; /* prctl, syscall: what they are */
extern const uint8_t sp_returns[], sp_timed[], sp_watch_prctl[], sp_watch_syscall[];
bool sp_time_first(struct sp_timing *t, uint64_t *slot);
void sp_time_last(uint64_t stack, uint64_t number, uint64_t now);
#pragma GCC visibility pop

static struct memory *memory;
static bool ended; /* never again */
static uint32_t n_tables;
static uint8_t return_pages[SP_RETURNS / 256 + 1]; /* those that have some */

void sp_time_open(void)
{
	int64_t at;

	if (sp_shared.header->is_timed == 0)
		return;
	at = sp_sys(SYS_mmap, 0, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    (uint64_t)-1, 0);
	if (at < 0 && at > -4096) {
		sp_shared_note(SP_CALLS_N_UNTIMED);
		return;
	}
	memory = (struct memory *)at;
	sp_flights = memory->flights;
	sp_timings = memory->timings;
}

static void end(void)
{
	if (!ended && sp_timings)
		sp_shared_note(SP_CALLS_N_UNTIMED);
	ended = true;
	sp_store(&sp_timing_off, 1);
}

/* --- which programs --- */
static bool time_is_word(const char *name, const char *word)
{
	return sp_equal(name, word, sp_len(word) + 1);
}

static bool begins(const char *name, const char *word)
{
	return sp_equal(name, word, sp_len(word));
}

struct unwinding {
	bool lists, asks; /* what is mapped, by itself; libgcc, or ld.so */
};

static void time_check_reloc(const struct sp_object *o, const Elf64_Rela *r, uint32_t n, struct unwinding *u)
{
	for (uint32_t i = 0; i < n; i++) {
		const Elf64_Sym *symbol = &o->symbols[ELF64_R_SYM(r[i].r_info)];
		const char *name = o->strings + symbol->st_name;
		if (symbol->st_shndx != SHN_UNDEF)
			continue;
		u->lists = u->lists || time_is_word(name, "dl_iterate_phdr");
		u->asks = u->asks || begins(name, "_Unwind_") || time_is_word(name, "_dl_find_object");
	}
}

static bool may_unwind_alone(const struct sp_object *o)
{
	struct unwinding u = {false, false};

	if (!o->symbols || !o->strings)
		return false;
	time_check_reloc(o, o->relocations, o->n_relocations, &u);
	if (o->slots)
		time_check_reloc(o, o->slots, o->n_slots, &u);
	return u.lists && !u.asks;
}

void sp_time_look(const struct sp_object *o)
{
	if (sp_timings && !ended && may_unwind_alone(o))
		end();
}

void sp_time_begin(void)
{
	if (sp_timings && !ended)
		sp_store(&sp_timing_off, 0);
}

/* --- which functions --- */
/*
 * Those that ask to where they return, return twice or on another stack, or unwind. None would be harmed but the first,
 * yet what is measured would have no meaning.
 */
static bool is_timed(const char *name)
{
	static const char words[] = "dlopen,dlmopen,dlsym,dlvsym,dlinfo,dl_iterate_phdr,mcount,_mcount,__fentry__,"
				    "__tls_get_addr,setjmp,_setjmp,__sigsetjmp,sigsetjmp,longjmp,_longjmp,siglongjmp,"
				    "__longjmp_chk,fork,_Fork,__fork,vfork,__vfork,forkpty,daemon,clone,__clone,"
				    "getcontext,setcontext,makecontext,swapcontext,exit,_exit,_Exit,quick_exit,abort,"
				    "pthread_exit,thrd_exit,backtrace,__backtrace,__cxa_throw,__cxa_rethrow,"
				    "__libc_start_main";
	static const char *const beginnings[] = {"_Unwind_", "_dl_", "__libc_dl", "_U", "unw_"};

	for (unsigned i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (begins(name, beginnings[i]))
			return false;
	return !sp_list_has(words, name);
}

static unsigned watched(const char *name)
{
	return time_is_word(name, "prctl") ? 0 : time_is_word(name, "syscall") ? 1 : N_WATCHED;
}

bool sp_time_watches(const char *name)
{
	return sp_timings && !ended && watched(name) < N_WATCHED;
}

bool sp_time_watches_in(const struct sp_object *o)
{
	return sp_timings && !ended && sp_object_defines(o, "prctl");
}

/* Of several C libraries in one process it is the first's. */
uint64_t sp_time_watch(uint64_t target, const char *name, bool by_call)
{
	unsigned which = sp_time_watches(name) ? watched(name) : N_WATCHED;

	if (which == N_WATCHED)
		return target;
	if (by_call && (sp_swap(&sp_watched[which], 0, target) || sp_load(&sp_watched[which]) == target))
		return (uint64_t)(which == 0 ? sp_watch_prctl : sp_watch_syscall);
	end();
	return target;
}

uint64_t sp_time_lead(uint32_t number, uint64_t target, const char *name, uint32_t *flags)
{
	struct sp_timing *t = &sp_timings[number];
	uint64_t to = sp_time_watch(target, name, true);

	if (!sp_timings)
		return target;
	t->target = target;
	t->ticks = 0;
	for (unsigned i = 0; t->buckets && i < SP_CALLS_BUCKETS; i++)
		t->buckets[i] = 0;
	if (to == target && is_timed(name))
		return (uint64_t)sp_timed;
	*flags |= SP_CALLS_FUNCTION_UNTIMED;
	return to;
}

uint64_t sp_time_target(uint32_t number)
{
	return sp_timings ? sp_timings[number].target : sp_counted_refs[number].target;
}

/* --- flights --- */
/* level: 0 for the call that returns to the stub, more for those that it has ended in, one by the other. */
static uint64_t time_key_of(uint64_t stack, uint64_t number, uint64_t level)
{
	return (stack | level) ^ number << 48;
}

static bool is_flight(const struct flight *f, uint64_t key)
{
	return (sp_load(&f->start) ^ sp_load(&f->timing) ^ sp_load(&f->check)) == key;
}

/* The one of the key, in one of its two places; or the place for it, as returns.S would take it. */
static struct flight *flight_of(uint64_t key)
{
	uint64_t place = key * SP_FLIGHT_MULTIPLIER >> (64 - SP_FLIGHT_BITS);
	struct flight *first = &sp_flights[place], *second = &sp_flights[place ^ 1];

	return is_flight(first, key) ? first : is_flight(second, key) || sp_load(&first->check) != 0 ? second : first;
}

/* 0: it is not there; else its timing, with 1 if it has ended in another. */
static uint64_t flight_timing(uint64_t key, uint64_t *ret_start)
{
	const struct flight *f = flight_of(key);
	uint64_t start = sp_load(&f->start), timing = sp_load(&f->timing);

	*ret_start = start;
	return (sp_load(&f->check) ^ start ^ timing) == key ? timing : 0;
}

static void flight_put(uint64_t key, uint64_t timing, uint64_t start)
{
	struct flight *f = flight_of(key);

	sp_store(&f->timing, timing);
	sp_store(&f->start, start);
	sp_store(&f->check, key ^ timing ^ start);
}

/* A function that is called at the end of one that is timed returns to where that does, at the same time. */
static void time_tail(const struct sp_timing *t, uint64_t stack, uint64_t number)
{
	for (uint64_t level = 0; level < MAX_TAILS; level++) {
		uint64_t start, key = time_key_of(stack, number, level), timing = flight_timing(key, &start);
		if (timing == 0)
			return;
		if ((timing & 1) != 0)
			continue;
		flight_put(time_key_of(stack, number, level + 1), (uint64_t)t, sp_tsc());
		flight_put(key, timing | 1, start);
		return;
	}
}

/* --- returns --- */
static bool return_add(uint64_t address)
{
	uint32_t piece = (uint32_t)(address >> SP_SITE_CODE_BITS),
		 page = piece * SP_SITE_MULTIPLIER >> (32 - SP_RETURN_PAGE_BITS),
		 place = page * 256 + (uint32_t)(address & SP_SITE_CODE_MASK) / 4;

	for (uint32_t i = place; i <= place + SP_RETURN_TRIES; i++) {
		uint64_t old = sp_load(&sp_return_to[i]);
		if (old == address)
			return true;
		sp_store(&return_pages[i / 256], 1);
		if (old <= RETURN_GONE && sp_swap(&sp_return_to[i], old, address))
			return true;
	}
	return false;
}

/* Whether there is a stub now for where the call returns to. */
bool sp_time_first(struct sp_timing *t, uint64_t *slot)
{
	uint64_t at = *slot - (uint64_t)sp_returns;

	if (at >= (uint64_t)SP_RETURNS * SP_RETURN_BYTES)
		return return_add(*slot);
	time_tail(t, (uint64_t)(slot + 1), at / SP_RETURN_BYTES);
	return false;
}

void sp_time_close(const struct sp_object *o)
{
	for (uint32_t i = 0; i < SP_RETURNS; i++) {
		if (i % 256 == 0 && sp_load(&return_pages[i / 256]) == 0) {
			i += 255;
			continue;
		}
		if (sp_return_to[i] >= o->whole.low && sp_return_to[i] < o->whole.high)
			sp_store(&sp_return_to[i], RETURN_GONE);
	}
}

static uint64_t *table_of(struct sp_timing *t)
{
	uint64_t *have = sp_load(&t->buckets);
	uint32_t n;

	if (have || sp_load(&n_tables) >= TABLES)
		return have;
	n = sp_add(&n_tables, 1);
	if (n < TABLES)
		sp_swap(&t->buckets, NULL, memory->buckets[n]);
	return sp_load(&t->buckets);
}

/* Locked: in slot 0. */
static void add(uint64_t base, uint64_t n)
{
	if (base != 0)
		sp_add((uint64_t *)(base - SP_CALLS_PAGE), n);
}

static void time_end_call(struct sp_timing *t, uint64_t ticks)
{
	uint32_t number = (uint32_t)(t - sp_timings), bucket = sp_calls_bucket(ticks);
	uint64_t *table = table_of(t), base;

	if (!table)
		return;
	if (sp_load(&table[bucket]) == 0)
		sp_store(&table[bucket], sp_part_counters(number, SP_CALLS_PART_BUCKET + bucket));
	if (sp_load(&t->ticks) == 0)
		sp_store(&t->ticks, sp_part_counters(number, SP_CALLS_PART_TICKS));
	base = sp_load(&table[bucket]);
	if (base == 0 || sp_load(&t->ticks) == 0)
		return;
	add(base, 1);
	add(sp_load(&t->ticks), ticks);
}

/* What the stub could not do alone. A time-stamp counter that went back tells nothing. */
void sp_time_last(uint64_t stack, uint64_t number, uint64_t end_ticks)
{
	uint64_t timing = 1, start;

	for (uint64_t level = 0; level <= MAX_TAILS && (timing & 1) != 0; level++) {
		uint64_t key = time_key_of(stack, number, level);
		timing = flight_timing(key, &start);
		if (timing != 0)
			sp_store(&flight_of(key)->check, 0);
		if (timing != 0 && end_ticks >= start)
			time_end_call((struct sp_timing *)(timing & ~1ULL), end_ticks - start);
	}
}
