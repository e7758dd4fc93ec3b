/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf.c: the backend whose samples are taken and unwound by the kernel half. */
#include "base/error.h"
#include "base/mem.h"
#include "capture/backend.h"
#include "capture/guarded.h"
#include "capture/kernel.h"
#include "capture/priv.h"
#include "unwind/hotspots.h"
#include "worker/broker.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

static int array_make(void *broker, uint32_t bytes)
{
	return sp_broker_array(broker, bytes);
}

static int maps_find(struct sp_capture *c)
{
	struct bpf_object *object = c->recipe.object;
	int r;

	c->files_fd = bpf_object__find_map_fd_by_name(object, "files");
	c->new_files_fd = bpf_object__find_map_fd_by_name(object, "new_files");
	c->processes_fd = bpf_object__find_map_fd_by_name(object, "processes");
	c->targets_fd = bpf_object__find_map_fd_by_name(object, "targets");
	c->counters_fd = bpf_object__find_map_fd_by_name(object, "counters");
	c->stacks_fd = bpf_object__find_map_fd_by_name(object, "stacks");
	c->over.fd = c->o.users ? bpf_object__find_map_fd_by_name(object, "over_users") : -1;
	c->free_files_fd = bpf_object__find_map_fd_by_name(object, "free_files");
	c->rule_cache_fd = bpf_object__find_map_fd_by_name(object, "rule_cache");
	c->counts_fd[0] = bpf_object__find_map_fd_by_name(object, "counts_even");
	c->counts_fd[1] = bpf_object__find_map_fd_by_name(object, "counts_odd");
	c->episodes_fd = bpf_object__find_map_fd_by_name(object, "episodes");
	r = sp_tables_new(&c->segments, bpf_object__find_map_fd_by_name(object, "tables"), sp_capture_budget(c),
			  &c->tables);
	if (r >= 0)
		sp_tables_hotspots(c->tables)->map_fd = bpf_object__find_map_fd_by_name(object, "hotspots");
	if (r >= 0 && c->o.broker)
		sp_tables_from(c->tables, array_make, c->o.broker);
	return r;
}

static int rings_new(struct sp_capture *c)
{
	struct bpf_object *object = c->recipe.object;
	int events = bpf_object__find_map_fd_by_name(object, "events");
	int samples = bpf_object__find_map_fd_by_name(object, "samples");

	c->events = ring_buffer__new(events, sp_drain_message, c, NULL);
	if (c->events)
		c->samples = ring_buffer__new(samples, sp_drain_message, c, NULL);
	return c->samples ? 0 : sp_fail(-errno, "map a ring buffer");
}

static int bpf_open(struct sp_capture *c)
{
	int r = sp_kernel_load(c);

	if (!r)
		r = sp_kernel_check(c);
	if (!r)
		r = maps_find(c);
	if (!r)
		r = sp_guarded_open(c);
	return r ? r : rings_new(c);
}

static int bpf_target_add(struct sp_capture *c, uint32_t number, enum sp_target state)
{
	uint32_t value = state;
	int r = sp_pidns_number(c, number, &number);

	if (r < 0)
		return r;
	if (bpf_map_update_elem(c->targets_fd, &number, &value, BPF_ANY))
		return sp_fail(-errno, "add process %u to the filter", number);
	return 0;
}

static int bpf_attach(struct sp_capture *c)
{
	int r = (c->o.kernel || c->o.wakers) && sp_recipes_nest(c->o.recipes) ? sp_machinery_open(c) : 0;

	if (r >= 0 && c->recipe.config->stamps)
		r = sp_memory_reader_begin(&c->reader);
	if (r < 0)
		return r;
	sp_cpus_begin(c);
	return c->o.recipes[0]->ground->attach(&c->recipe, &c->o);
}

/* Of a command that is followed no thread waits before it begins. */
static int bpf_blocked(struct sp_capture *c, uint64_t since_ns, int recipe)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(c->recipe.object, "sp_blocked");

	return bpf_program__fd(program) < 0 || c->o.follow ? 0 : sp_blocked_begin(c, since_ns, recipe);
}

static int bpf_stamped(struct sp_capture *c, int recipe)
{
	int r = 0;

	for (unsigned i = 0; c->o.recipes[i] && r >= 0; i++) {
		if (!c->o.recipes[i]->min_ns || (recipe >= 0 && recipe != (int)i))
			continue;
		r = c->o.recipes[i]->ground->stamps_end(&c->recipe, i);
		if (r > 0)
			r = sp_blocked_end(c, i);
	}
	return r;
}

static void bpf_detach(struct sp_capture *c)
{
	sp_cpus_done(c);
	c->o.recipes[0]->ground->detach(&c->recipe);
}

static int bpf_read(struct sp_capture *c)
{
	int r = sp_drain_ring(c->events);

	if (r >= 0)
		r = sp_drain_ring(c->samples);
	return r < 0 || !c->attached ? r : c->o.recipes[0]->ground->watch(&c->recipe, c->workers);
}

/* Once a session has ended the user half counts what is still open (sp_drain_episodes). */
static int bpf_flush(struct sp_capture *c)
{
	return c->attached || c->o.older_ns ? c->o.recipes[0]->ground->flush(&c->recipe) : 0;
}

static int bpf_swap_counts(struct sp_capture *c, unsigned odd)
{
	int r = sp_drain_counts(c, odd);

	sp_cpus_update(c);
	return r < 0 ? r : sp_drain_processes(c);
}

static int bpf_poll_fd(const struct sp_capture *c, unsigned i)
{
	return i == SP_POLL_WATCH ? c->o.recipes[0]->ground->watch_fd(&c->recipe)
				  : ring_buffer__epoll_fd(i ? c->samples : c->events);
}

static void bpf_forget(struct sp_capture *c, uint32_t file_id)
{
	bpf_map_delete_elem(c->files_fd, &c->seen[file_id].key);
}

/* The kernel half does not send paths; the link in /proc/PID/map_files has the path. */
static const char *bpf_path(const struct sp_capture *c, uint32_t file_id)
{
	(void)c;
	(void)file_id;
	return NULL;
}

static void bpf_stats(struct sp_capture *c, bool with_memory)
{
	if (with_memory)
		sp_kernel_stats(c);
	else
		sp_kernel_counters(c);
	sp_guarded_stats(c);
}

static int bpf_rate(struct sp_capture *c, uint64_t rate_millihertz)
{
	return c->o.recipes[0]->ground->rate(&c->recipe, &c->o, rate_millihertz);
}

static int bpf_pause(struct sp_capture *c, bool is_paused)
{
	return c->o.recipes[0]->ground->pause(&c->recipe, is_paused);
}

static int bpf_send_again(struct sp_capture *c)
{
	int r = sp_drain_forget(c->processes_fd, sizeof(struct sp_process_key), sizeof(sp_u64));

	if (r >= 0)
		r = sp_drain_forget(c->stacks_fd, sizeof(sp_u64), sizeof(sp_u32));
	if (r >= 0)
		r = sp_drain_give_up(c);
	if (r < 0)
		return sp_fail(r, "empty the tables of what was sent");
	*c->shared.last_process = 0;
	c->n_announced = 0;
	return 0;
}

static void bpf_done(struct sp_capture *c)
{
	sp_guarded_done(c);
	sp_memory_reader_end(&c->reader);
	ring_buffer__free(c->events);
	ring_buffer__free(c->samples);
	if (c->recipe.object)
		c->o.recipes[0]->ground->destroy(&c->recipe);
	sp_segments_done(&c->segments);
	sp_cpus_done(c); /* of a session that was not attached */
	if (c->stats_fd >= 0)
		close(c->stats_fd);
}

const struct sp_backend sp_backend_bpf = {
    .open = bpf_open,
    .target_add = bpf_target_add,
    .attach = bpf_attach,
    .detach = bpf_detach,
    .blocked = bpf_blocked,
    .stamped = bpf_stamped,
    .seek = sp_kernel_seek,
    .read = bpf_read,
    .flush = bpf_flush,
    .swap_counts = bpf_swap_counts,
    .poll_fd = bpf_poll_fd,
    .forget = bpf_forget,
    .path = bpf_path,
    .stats = bpf_stats,
    .rate = bpf_rate,
    .pause = bpf_pause,
    .send_again = bpf_send_again,
    .done = bpf_done,
};
