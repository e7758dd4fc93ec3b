/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trampolines given out, and the first call through each of them, or from each site. */
#include "audit/audit.h"

struct sp_record sp_records_object[SP_TRAMPOLINES_OBJECT], sp_records_site[SP_TRAMPOLINES_SITE];
struct sp_site sp_sites[SP_SITES + SP_SITE_PROBES + 1];
uint64_t sp_rseq_offset;

extern const uint8_t sp_trampolines_object[], sp_trampolines_site[];

enum { RECORD_FREE, RECORD_TAKEN, RECORD_READY };
enum { SITE_GONE = 1 }; /* in place of a key */

struct set { /* of trampolines of one kind */
	struct sp_record *records;
	const uint8_t *code;
	uint32_t n;
};
static const struct set by_object = {sp_records_object, sp_trampolines_object, SP_TRAMPOLINES_OBJECT};
static const struct set by_site = {sp_records_site, sp_trampolines_site, SP_TRAMPOLINES_SITE};
static uint32_t n_used_object, n_used_site; /* of the front, ever; when all were, free ones are looked for */
static uint8_t site_pages[SP_SITES / 256];  /* those that have sites */

static struct sp_record *take(const struct set *set, uint32_t *n_used)
{
	static uint32_t hint;
	uint32_t next = sp_load(n_used), start = sp_load(&hint);

	while (next < set->n && !sp_swap(n_used, next, next + 1))
		next = sp_load(n_used);
	if (next < set->n) {
		sp_store(&set->records[next].state, RECORD_TAKEN);
		return &set->records[next];
	}
	for (uint32_t i = 0; i < set->n; i++) {
		uint32_t at = (start + i) % set->n;
		if (sp_swap(&set->records[at].state, RECORD_FREE, RECORD_TAKEN)) {
			sp_store(&hint, at + 1);
			return &set->records[at];
		}
	}
	return NULL;
}

static uint64_t code_of(const struct set *set, const struct sp_record *r)
{
	return (uint64_t)set->code + (uint64_t)(r - set->records) * SP_TRAMPOLINE_BYTES;
}

uint64_t sp_trampoline_new(struct sp_object *owner, struct sp_object *callee, uint64_t target, const char *name,
			   uint32_t flags)
{
	bool with_sites = sp_share.header->depth == SP_CALLS_BY_SITE;
	const struct set *set = with_sites ? &by_site : &by_object;
	struct sp_record *r = take(set, with_sites ? &n_used_site : &n_used_object);

	if (r == NULL) {
		sp_share_note(SP_CALLS_N_NO_ROOM);
		return 0;
	}
	r->function = 0;
	r->flags = flags;
	r->target = target;
	r->base = 0;
	if (with_sites)
		r->tag = (uint64_t)(r - set->records) << 48;
	r->name = name;
	r->owner = owner;
	r->callee = callee;
	sp_store(&r->state, RECORD_READY);
	return code_of(set, r);
}

static struct sp_record *record_of(uint64_t trampoline)
{
	const struct set *set =
	    trampoline - (uint64_t)by_site.code < (uint64_t)by_site.n * SP_TRAMPOLINE_BYTES ? &by_site : &by_object;

	return &set->records[(trampoline - (uint64_t)set->code) / SP_TRAMPOLINE_BYTES];
}

const struct sp_object *sp_trampoline_owner(uint64_t trampoline)
{
	return record_of(trampoline)->owner;
}

void sp_trampoline_free(uint64_t trampoline)
{
	sp_store(&record_of(trampoline)->state, RECORD_FREE);
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
		const struct sp_record *r = &sp_records_site[key >> 48];
		if ((at >= o->whole.low && at < o->whole.high) || r->owner == o || r->callee == o)
			forget_site(&sites[i], SITE_GONE);
	}
}

static void free_record(const struct set *set, struct sp_record *r, const struct sp_object *o)
{
	bool all = r->owner == o || r->callee == o;

	for (uint32_t i = 0; set == &by_site && i < SP_RECORD_N_SITES; i++)
		if (all || (r->sites[i].key >= o->whole.low && r->sites[i].key < o->whole.high))
			forget_site(&r->sites[i], 0);
	if (all)
		sp_store(&r->state, RECORD_FREE);
}

static void free_records(const struct set *set, uint32_t n, const struct sp_object *o)
{
	for (uint32_t i = 0; i < n; i++)
		if (sp_load(&set->records[i].state) == RECORD_READY)
			free_record(set, &set->records[i], o);
}

void sp_trampolines_close(const struct sp_object *o)
{
	for (uint32_t page = 0; page < SP_SITES / 256; page++)
		if (sp_load(&site_pages[page]) != 0)
			forget_sites(&sp_sites[page * 256], 256 + SP_SITE_PROBES, o);
	free_records(&by_object, sp_load(&n_used_object), o);
	free_records(&by_site, sp_load(&n_used_site), o);
}

/* --- the first call --------------------------------------------------------------------------------------------- */
static uint32_t function_of(struct sp_record *r)
{
	uint32_t function = sp_load(&r->function), object;

	if (function != 0)
		return function;
	object = sp_object_id(r->callee);
	if (object == 0)
		return 0;
	function = sp_share_function(object, sp_object_offset(r->callee, r->target), r->name, r->flags);
	sp_store(&r->function, function);
	return function;
}

static uint64_t counters_of(uint32_t function, uint32_t caller, uint32_t site_object, uint64_t site_offset)
{
	const struct sp_calls_row row = {
	    .function = function, .caller = caller, .site_object = site_object, .site_offset = site_offset};
	uint32_t id = function != 0 ? sp_share_row(&row) : 0;

	return id != 0 ? sp_share_counters(id) : 0;
}

/* The key comes last: whoever finds it finds the counters, too. */
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
static void keep_site(struct sp_record *r, uint64_t return_address, uint64_t base)
{
	uint32_t page = (uint32_t)(return_address >> 12) * SP_SITE_MULTIPLIER >> (32 - SP_SITE_PAGE_BITS);
	struct sp_site *s = &sp_sites[page * 256 + (return_address >> 4 & 0xff)];

	for (unsigned i = 0; i < SP_RECORD_N_SITES; i++)
		if (keep_here(&r->sites[i], return_address, base))
			return;
	sp_store(&site_pages[page], 1);
	for (unsigned i = 0; i <= SP_SITE_PROBES; i++, s++)
		if (keep_here(s, return_address | r->tag, base))
			return;
}

static uint64_t site_counters(struct sp_record *r, uint64_t return_address)
{
	struct sp_object *site = sp_object_at(return_address);
	uint32_t owner = sp_object_id(r->owner), site_id = site != NULL ? sp_object_id(site) : 0;
	uint32_t function = function_of(r);
	uint64_t base = 0;

	if ((site_id != 0 || site == NULL) && owner != 0)
		base = counters_of(function, owner, site_id, site_id != 0 ? sp_object_offset(site, return_address) : 0);
	if (base == 0) {
		base = counters_of(function, 0, 0, 0);
		if (base != 0)
			sp_share_note(SP_CALLS_N_FOLDED_SITES);
	}
	return base;
}

void sp_count(struct sp_record *r, uint64_t return_address)
{
	bool by_sites = r >= sp_records_site && r < sp_records_site + SP_TRAMPOLINES_SITE;
	uint64_t base;

	if (by_sites) {
		base = site_counters(r, return_address);
		if (base != 0)
			keep_site(r, return_address, base);
	} else {
		base = counters_of(function_of(r), sp_object_id(r->owner), 0, 0);
		if (base == 0)
			base = counters_of(function_of(r), 0, 0, 0);
		sp_store(&r->base, base);
	}
	if (base != 0)
		sp_add((uint64_t *)(base - SP_CALLS_PAGE), 1);
	else
		sp_share_note(SP_CALLS_N_LOST_CALLS);
}
