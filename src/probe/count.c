/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/count.h"

#include "base/error.h"
#include "base/mem.h"
#include "count.skel.h"
#include "probe/attach.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_AT_ONCE = 1024 };
enum { AT_ROWS, AT_SPARE_ROWS, AT_HOT }; /* struct sp_counted.at; from AT_HOT on by number */

struct sp_counting {
	struct count_bpf *skel;
	struct sp_probed_config config;
	struct ring_buffer *files;
	void (*each_file)(void *arg, const struct sp_probed_file *file);
	void *each_file_arg;
	size_t key_bytes, value_bytes;
	bool times, sessions;
	uint32_t n_cpus;
	uint64_t n_taken, max_rows, crowded_at;
	uint8_t *keys, *values; /* of ROWS_AT_ONCE */
};

/* --- loading --- */
static void config_make(struct sp_counting *c, const struct sp_counting_options *o)
{
	struct sp_probed_config *config = &c->config;
	size_t at = sizeof(struct sp_probed_who);

	*config = (struct sp_probed_config){.addresses = o->no_cookies,
					    .functions = o->functions,
					    .callers = o->callers,
					    .users = o->users,
					    .targets = o->n_pids != 0,
					    .cgroup = o->cgroup,
					    .cgroup_level = o->cgroup_level,
					    .has_comm = o->comm != NULL,
					    .guarded = o->guarded,
					    .samples = o->samples};
	if (o->comm)
		memcpy(config->comm, o->comm, strnlen(o->comm, SP_COMM_LEN - 1));
	if (o->times) {
		config->times_at = (sp_u32)at;
		at += sizeof(struct sp_probed_times);
	}
	if (o->callers || o->no_cookies) {
		config->places_at = (sp_u32)at;
		at += sizeof(struct sp_probed_places);
	}
	c->value_bytes = at;
	c->key_bytes = o->callers     ? sizeof(struct sp_probed_key)
		       : o->functions ? offsetof(struct sp_probed_key, tgid)
				      : offsetof(struct sp_probed_key, caller);
	c->times = o->times;
	c->sessions = o->times && !o->no_cookies && sp_probe_has(SP_PROBE_SESSION);
	c->n_cpus = (uint32_t)SP_MAX(libbpf_num_possible_cpus(), 1);
	config->hot = c->sessions && !config->places_at && !o->samples;
	config->max_functions = o->max_functions;
	config->own_functions = c->sessions ? SP_MIN(o->max_functions, SP_PROBED_N_OWN) : 0;
}

static void programs_choose(struct sp_counting *c)
{
	struct count_bpf *s = c->skel;
	bool ends = c->times && !c->sessions, places = c->config.places_at != 0;

	bpf_program__set_autoload(s->progs.sp_probed_call, !c->times);
	bpf_program__set_autoload(s->progs.sp_probed_session, c->sessions);
	bpf_map__set_autocreate(s->maps.own_stacks, c->sessions);
	bpf_map__set_autocreate(s->maps.starts, ends);
	bpf_map__set_autocreate(s->maps.hot, c->config.hot);
	bpf_map__set_autocreate(s->maps.files, places);
	bpf_map__set_autocreate(s->maps.events, places);
	bpf_program__set_autoload(s->progs.sp_probed_begin, ends);
	bpf_program__set_autoload(s->progs.sp_probed_end, ends);
	bpf_program__set_expected_attach_type(s->progs.sp_probed_call, sp_probe_attach_type(SP_PROBE_ENTRY));
	bpf_program__set_expected_attach_type(s->progs.sp_probed_begin, sp_probe_attach_type(SP_PROBE_ENTRY));
	bpf_program__set_expected_attach_type(s->progs.sp_probed_end, sp_probe_attach_type(SP_PROBE_RETURN));
	bpf_program__set_expected_attach_type(s->progs.sp_probed_session, sp_probe_attach_type(SP_PROBE_SESSION));
}

/* The kernel forgets the oldest early where each CPU's part is small: it keeps up to 128 free for each. */
static uint32_t starts_entries(const struct sp_counting *c)
{
	return SP_MAX(bpf_map__max_entries(c->skel->maps.starts), 256 * c->n_cpus);
}

/* What a session has no use for is as small as may be. */
static int maps_size(struct sp_counting *c, const struct sp_counting_options *o)
{
	struct count_bpf *s = c->skel;
	uint32_t rows = o->functions ? SP_MIN(o->max_rows, o->max_functions) : o->max_rows;
	const struct {
		struct bpf_map *map;
		uint32_t entries;
	} sizes[] = {
	    {s->maps.targets, SP_MAX((uint32_t)o->n_pids, 1)},
	    {s->maps.rows, rows},
	    {s->maps.spare_rows, SP_MIN(rows, bpf_map__max_entries(s->maps.spare_rows))},
	    {s->maps.entered, o->times ? o->max_functions + c->n_cpus * c->config.own_functions : 1},
	    {s->maps.hot, c->n_cpus * SP_PROBED_N_HOT},
	    {s->maps.starts, starts_entries(c)},
	    {s->maps.files, o->callers ? bpf_map__max_entries(s->maps.files) : 1},
	    {s->maps.events, o->callers ? bpf_map__max_entries(s->maps.events) : 4096},
	};
	int r = 0;

	c->max_rows = rows;
	c->crowded_at = o->functions ? UINT64_MAX : SP_MAX(rows / 2, 1);
	for (size_t i = 0; i < SP_COUNT(sizes) && !r; i++)
		r = bpf_map__set_max_entries(sizes[i].map, sizes[i].entries);
	return r;
}

static int rows_size(struct sp_counting *c)
{
	struct bpf_map *maps[] = {c->skel->maps.rows, c->skel->maps.spare_rows};
	int r = 0;

	for (size_t i = 0; i < SP_COUNT(maps) && !r; i++) {
		r = bpf_map__set_key_size(maps[i], (uint32_t)c->key_bytes);
		if (!r)
			r = bpf_map__set_value_size(maps[i], (uint32_t)c->value_bytes);
	}
	return r;
}

static int targets_put(struct sp_counting *c, const struct sp_counting_options *o)
{
	int fd = bpf_map__fd(c->skel->maps.targets);

	for (size_t i = 0; i < o->n_pids; i++)
		if (bpf_map_update_elem(fd, &o->pids[i], &(uint32_t){SP_TARGET_WANTED}, BPF_ANY))
			return sp_fail(-errno, "choose process %u", o->pids[i]);
	return 0;
}

static int file_met(void *arg, void *data, size_t size)
{
	struct sp_counting *c = arg;

	if (size >= sizeof(struct sp_probed_file) && c->each_file)
		c->each_file(c->each_file_arg, data);
	return 0;
}

static int buffers_make(struct sp_counting *c)
{
	c->keys = malloc(ROWS_AT_ONCE * c->key_bytes);
	c->values = malloc(ROWS_AT_ONCE * c->value_bytes);
	if (!c->keys || !c->values)
		return -ENOMEM;
	if (!c->config.callers)
		return 0;
	c->files = ring_buffer__new(bpf_map__fd(c->skel->maps.events), file_met, c, NULL);
	return c->files ? 0 : sp_fail(-errno, "map the ring buffer of files");
}

static int counting_load(struct sp_counting *c, const struct sp_counting_options *o)
{
	int r;

	config_make(c, o);
	libbpf_set_print(NULL); /* of subprograms it says that they have no lines of the source, which are left out */
	c->skel = count_bpf__open();
	if (!c->skel)
		return sp_fail(-errno, "open the BPF object that counts");
	memcpy((void *)&c->skel->rodata->sp_probed, &c->config, sizeof(c->config));
	programs_choose(c);
	r = maps_size(c, o);
	if (!r)
		r = rows_size(c);
	bpf_map__set_autocreate(c->skel->maps.sampled, o->samples);
	if (!r && o->samples)
		r = bpf_map__reuse_fd(c->skel->maps.sampled, o->sampled_fd);
	if (!r)
		r = count_bpf__load(c->skel);
	if (r)
		return sp_fail(r, "load the BPF programs that count");
	r = targets_put(c, o);
	return r < 0 ? r : buffers_make(c);
}

int sp_counting_new(const struct sp_counting_options *o, struct sp_counting **ret_counting)
{
	struct sp_counting *c = calloc(1, sizeof(*c));
	int r = c ? counting_load(c, o) : -ENOMEM;

	if (r < 0)
		sp_counting_free(c);
	else
		*ret_counting = c;
	return r;
}

void sp_counting_free(struct sp_counting *c)
{
	if (!c)
		return;
	ring_buffer__free(c->files);
	count_bpf__destroy(c->skel);
	free(c->keys);
	free(c->values);
	free(c);
}

size_t sp_counting_programs(const struct sp_counting *c, struct sp_probe_program ret_programs[2])
{
	const struct count_bpf *s = c->skel;

	if (!c->times || c->sessions) {
		*ret_programs = c->times ? (struct sp_probe_program){.fd = bpf_program__fd(s->progs.sp_probed_session),
								     .kind = SP_PROBE_SESSION}
					 : (struct sp_probe_program){.fd = bpf_program__fd(s->progs.sp_probed_call),
								     .kind = SP_PROBE_ENTRY};
		return 1;
	}
	ret_programs[0] =
	    (struct sp_probe_program){.fd = bpf_program__fd(s->progs.sp_probed_end), .kind = SP_PROBE_RETURN};
	ret_programs[1] =
	    (struct sp_probe_program){.fd = bpf_program__fd(s->progs.sp_probed_begin), .kind = SP_PROBE_ENTRY};
	return 2;
}

/* --- reading --- */
static void row_take(const struct sp_counting *c, const uint8_t *key, const uint8_t *value, uint32_t at,
		     struct sp_counted *ret_row)
{
	memset(ret_row, 0, sizeof(*ret_row));
	ret_row->at = at;
	memcpy(&ret_row->key, key, c->key_bytes);
	memcpy(&ret_row->who, value, sizeof(ret_row->who));
	if (c->config.times_at) {
		memcpy(&ret_row->times, value + c->config.times_at, sizeof(ret_row->times));
		for (size_t i = 0; i < SP_PROBED_BUCKETS; i++)
			ret_row->who.n_calls += ret_row->times.n[i];
	}
	if (c->config.places_at)
		memcpy(&ret_row->places, value + c->config.places_at, sizeof(ret_row->places));
}

static const struct bpf_map *table(const struct sp_counting *c, uint32_t at)
{
	return at == AT_ROWS ? c->skel->maps.rows : c->skel->maps.spare_rows;
}

static int table_read(struct sp_counting *c, uint32_t which, int (*each)(void *arg, const struct sp_counted *row),
		      void *arg)
{
	int fd = bpf_map__fd(table(c, which));
	uint32_t n = ROWS_AT_ONCE, at = 0;
	struct sp_counted row;
	int e = 0, r = 0;
	void *from = NULL;

	while (!e && r >= 0) {
		n = ROWS_AT_ONCE;
		e = bpf_map_lookup_batch(fd, from, &at, c->keys, c->values, &n, NULL) ? errno : 0;
		if (e && e != ENOENT)
			return sp_fail(-e, "read the table of calls");
		from = &at;
		for (uint32_t i = 0; i < n && r >= 0; i++) {
			row_take(c, c->keys + i * c->key_bytes, c->values + i * c->value_bytes, which, &row);
			r = each(arg, &row);
		}
	}
	return r;
}

static bool hot_look(const struct sp_counting *c, uint32_t place, struct sp_probed_hot *ret_hot,
		     struct sp_counted *ret_row)
{
	if (bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.hot), &place, ret_hot) || ret_hot->state != SP_PROBED_HELD)
		return false;
	row_take(c, (const uint8_t *)&ret_hot->key, (const uint8_t *)&ret_hot->who, AT_HOT + place, ret_row);
	return true;
}

static int hot_read(struct sp_counting *c, int (*each)(void *arg, const struct sp_counted *row), void *arg)
{
	uint32_t n = c->config.hot ? c->n_cpus * SP_PROBED_N_HOT : 0;
	struct sp_probed_hot hot;
	struct sp_counted row;
	int r = 0;

	for (uint32_t i = 0; i < n && r >= 0; i++)
		if (hot_look(c, i, &hot, &row))
			r = each(arg, &row);
	return r;
}

int sp_counting_read(struct sp_counting *c, int (*each)(void *arg, const struct sp_counted *row), void *arg)
{
	int r = table_read(c, AT_ROWS, each, arg);

	if (r >= 0)
		r = hot_read(c, each, arg);
	return r < 0 ? r : table_read(c, AT_SPARE_ROWS, each, arg);
}

static uint64_t rows_now(const struct sp_counting *c)
{
	return sp_counting_lost(c, SP_PROBED_N_MADE) - c->n_taken;
}

bool sp_counting_is_crowded(const struct sp_counting *c)
{
	return rows_now(c) >= c->crowded_at;
}

/* Nobody adds to it any more; its place is the next one's from when it is empty, which takes two steps. */
static int hot_take(struct sp_counting *c, const struct sp_counted *row, struct sp_counted *ret_row)
{
	int fd = bpf_map__fd(c->skel->maps.hot);
	uint32_t place = row->at - AT_HOT;
	struct sp_probed_hot hot;

	if (!hot_look(c, place, &hot, ret_row) || memcmp(&ret_row->key, &row->key, sizeof(row->key)) != 0)
		return -ENOENT;
	hot = (struct sp_probed_hot){.state = SP_PROBED_BUSY};
	if (bpf_map_update_elem(fd, &place, &hot, BPF_ANY))
		return -errno;
	hot.state = SP_PROBED_FREE;
	return bpf_map_update_elem(fd, &place, &hot, BPF_ANY) ? -errno : 0;
}

int sp_counting_take(struct sp_counting *c, const struct sp_counted *row, struct sp_counted *ret_row)
{
	uint8_t value[SP_PROBED_VALUE_MAX];
	int r;

	if (row->at >= AT_HOT)
		return hot_take(c, row, ret_row);
	r = bpf_map_lookup_and_delete_elem(bpf_map__fd(table(c, row->at)), &row->key, value);
	if (r < 0)
		return r;
	c->n_taken += row->at == AT_ROWS;
	row_take(c, (const uint8_t *)&row->key, value, row->at, ret_row);
	return 0;
}

void sp_counting_relieved(struct sp_counting *c)
{
	c->crowded_at = SP_MAX(c->max_rows / 2, rows_now(c) + c->max_rows / 8 + 1);
}

uint64_t sp_counting_entered(const struct sp_counting *c, uint32_t number)
{
	uint32_t own = c->config.own_functions, at = number, n_cpus = number < own ? c->n_cpus : 0;
	int fd = c->times ? bpf_map__fd(c->skel->maps.entered) : -1;
	uint64_t n = 0, sum = 0;

	if (fd < 0 || number >= c->config.max_functions)
		return 0;
	for (uint32_t i = 0; i <= n_cpus; i++) {
		sum += bpf_map_lookup_elem(fd, &at, &n) ? 0 : n;
		at = c->config.max_functions + i * own + number;
	}
	return sum;
}

void sp_counting_hits(const struct sp_counting *c, uint64_t ret_hits[2])
{
	SP_FREE uint64_t *each = calloc(c->n_cpus, sizeof(*each));

	for (uint32_t i = 0; i < 2; i++) {
		ret_hits[i] = 0;
		if (!each || bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.hits), &i, each))
			continue;
		for (uint32_t k = 0; k < c->n_cpus; k++)
			ret_hits[i] += each[k];
	}
}

void sp_counting_close(struct sp_counting *c, bool is_closed)
{
	__atomic_store_n(&c->skel->bss->sp_probed_is_closed, is_closed, __ATOMIC_SEQ_CST);
}

uint64_t sp_counting_lost(const struct sp_counting *c, enum sp_probed_counter i)
{
	return __atomic_load_n(&c->skel->bss->sp_probed_counters[i], __ATOMIC_RELAXED);
}

int sp_counting_fd(const struct sp_counting *c)
{
	return c->files ? ring_buffer__epoll_fd(c->files) : -1;
}

void sp_counting_files(struct sp_counting *c, void (*each)(void *arg, const struct sp_probed_file *file), void *arg)
{
	c->each_file = each;
	c->each_file_arg = arg;
	if (c->files)
		ring_buffer__consume(c->files);
	c->each_file = NULL;
}
