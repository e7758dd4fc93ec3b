/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metrics_own.c: metrics of the agent itself: samples, windows, use, store and limits. */
#include "agent/export/metrics.h"
#include "agent/socket/server.h"
#include "agent/web/page.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "store/store.h"
#include <stdlib.h>

#define STORE_INTERVAL_NS (60 * SP_NS_PER_S)

struct family {
	enum sp_expo_type type;
	const char *name, *unit, *help;
	size_t offset; /* in the struct of the source or the agent */
	bool is_ns;
	uint64_t per; /* the value is in units of 1/per; 0 = 1 */
};

/* clang-format off */
#define IN(member) offsetof(struct sp_agent_source_status, member)
static const struct family source_families[] = {
	{SP_EXPO_COUNTER, "soprof_expected_ticks", NULL, "Ticks of all CPUs by the clock.", IN(n_expected), .per = 0},
	{SP_EXPO_COUNTER, "soprof_taken_ticks", NULL, "Ticks that came, idle ones included.", IN(n_taken), .per = 0},
	{SP_EXPO_COUNTER, "soprof_stored_windows", NULL, "Windows of ten seconds that are in the store.", IN(n_windows), .per = 0},
	{SP_EXPO_COUNTER, "soprof_dropped_windows", NULL, "Windows that the store never took.", IN(n_dropped), .per = 0},
	{SP_EXPO_COUNTER, "soprof_folded_stacks", NULL, "Stacks kept as libraries only, above a user's share of new ones.", IN(n_folded), .per = 0},
	{SP_EXPO_COUNTER, "soprof_cut_names", NULL, "Names of functions that are cut, above a user's share of bytes.", IN(n_cut_names), .per = 0},
	{SP_EXPO_GAUGE, "soprof_deleted_file_bytes", "bytes", "Memory of deleted files that is held for their names.", IN(deleted_bytes), .per = 0},
	{SP_EXPO_COUNTER, "soprof_let_go_deleted_files", NULL, "Deleted files that are not held for their names, as that would take too much memory.", IN(n_let_go), .per = 0},
	{SP_EXPO_GAUGE, "soprof_waiting_windows", NULL, "Windows that wait for names or for the store.", IN(n_waiting), .per = 0},
	{SP_EXPO_GAUGE, "soprof_sampling_rate_hertz", "hertz", "Samples a second and CPU.", IN(rate_millihertz), .per = 1000},
	{SP_EXPO_GAUGE, "soprof_sampling_wanted_rate_hertz", "hertz", "Samples a second and CPU, as configured.", IN(wanted_millihertz), .per = 1000},
	{SP_EXPO_GAUGE, "soprof_known_files", NULL, "Programs and libraries that have an unwind table.", IN(n_files), .per = 0},
	{SP_EXPO_COUNTER, "soprof_unfetched_debug_files", NULL, "Debug files that debuginfod failed to give, or was not asked for since.", IN(n_unfetched), .per = 0},
};
#undef IN
#define IN(member) offsetof(struct sp_agent_status, member)
static const struct family agent_families[] = {
	{SP_EXPO_GAUGE, "soprof_start_time_seconds", "seconds", "When the agent was started.", IN(started_wall_ns), .is_ns = true},
	{SP_EXPO_GAUGE, "soprof_agent_memory_bytes", "bytes", "Memory of all its processes and BPF maps.", IN(memory_bytes), .per = 0},
	{SP_EXPO_COUNTER, "soprof_gaps", NULL, "Times that were not sampled.", IN(n_gaps), .per = 0},
	{SP_EXPO_COUNTER, "soprof_gap_seconds", "seconds", "Time that was not sampled.", IN(gap_ns), .is_ns = true},
	{SP_EXPO_COUNTER, "soprof_refused_files", NULL, "New files that were not looked at, since their user's share of CPU time was used up.", IN(n_refused_files), .per = 0},
	{SP_EXPO_COUNTER, "soprof_errors", NULL, "Failures of sampling, names and labels; all are logged.", IN(n_errors), .per = 0},
};
#undef IN
/* clang-format on */

static uint64_t get_value(const struct family *f, const void *of)
{
	return *(const uint64_t *)(const void *)((const char *)of + f->offset);
}

static void put_sources(struct sp_expo *x, const struct sp_agent_status *s)
{
	struct sp_labels l;

	for (size_t i = 0; i < SP_COUNT(source_families); i++) {
		const struct family *f = &source_families[i];

		sp_expo_family(x, f->type, f->name, f->unit, f->help);
		for (size_t k = 0; k < s->n_sources; k++) {
			const char *labels = sp_labels_of(x, &l, "source", s->sources[k].name, NULL, NULL);
			uint64_t value = get_value(f, &s->sources[k]);

			if (f->per) /* thousandths of a hertz */
				sp_expo_seconds(x, labels, value * (SP_NS_PER_S / f->per));
			else
				sp_expo_number(x, labels, value);
		}
	}
}

static void put_lost(struct sp_expo *x, const struct sp_agent_status *s)
{
	struct sp_labels l;

	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_lost_samples", NULL,
		       "Samples that were taken and are in no window.");
	for (size_t i = 0; i < s->n_sources; i++) {
		const struct sp_agent_source_status *t = &s->sources[i];

		sp_expo_number(x, sp_labels_of(x, &l, "reason", "table full", "source", t->name), t->n_lost_full);
		sp_expo_number(x, sp_labels_of(x, &l, "reason", "nested", "source", t->name), t->n_lost_nested);
	}
}

static void put_gauge(struct sp_expo *x, const char *name, const char *unit, const char *help, uint64_t value)
{
	sp_expo_family(x, SP_EXPO_GAUGE, name, unit, help);
	sp_expo_number(x, "", value);
}

static void put_agent(struct sp_expo *x, const struct sp_agent_status *s, const struct sp_agent_config *c)
{
	for (size_t i = 0; i < SP_COUNT(agent_families); i++) {
		const struct family *f = &agent_families[i];

		sp_expo_family(x, f->type, f->name, f->unit, f->help);
		if (f->is_ns)
			sp_expo_seconds(x, "", get_value(f, s));
		else
			sp_expo_number(x, "", get_value(f, s));
	}
	put_gauge(x, "soprof_cpus", NULL, "CPUs that are sampled now.", s->n_cpus);
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_agent_cpu_seconds", "seconds", "CPU time that the agent used.");
	sp_expo_seconds(x, "part=\"agent\"", s->own_ns);
	sp_expo_seconds(x, "part=\"bpf\"", s->bpf_ns);
	sp_expo_seconds(x, "part=\"workers\"", s->workers_ns);
	sp_expo_family(x, SP_EXPO_GAUGE, "soprof_agent_cpu_limit_ratio", "ratio",
		       "Of one CPU: where sampling exceeds it the rate is halved.");
	sp_expo_seconds(x, "", c->max_cpu_ppm * 1000);
	put_gauge(x, "soprof_agent_memory_limit_bytes", "bytes", "Above it the agent begins a fresh profile.",
		  c->max_memory_bytes);
}

static void put_removed(struct sp_expo *x, const struct sp_store_removed *removed)
{
	static const char *const labels[SP_N_RESOLUTIONS] = {"resolution=\"10s\"", "resolution=\"1m\"",
							     "resolution=\"1h\""};

	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_store_removed_files", NULL,
		       "Files, each a day, that were removed because the limit was reached.");
	for (int i = 0; i < SP_N_RESOLUTIONS; i++)
		sp_expo_number(x, labels[i], removed[i].n_files);
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_store_removed_bytes", "bytes", "The size of these files.");
	for (int i = 0; i < SP_N_RESOLUTIONS; i++)
		sp_expo_number(x, labels[i], removed[i].bytes);
}

static void put_store(struct sp_expo *x, struct sp_metrics_own *own, const struct sp_agent_status *s)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);

	if ((!own->stats_ns || now - own->stats_ns >= STORE_INTERVAL_NS) &&
	    sp_store_stats(sp_agent_store(own->agent), &own->store) < 0)
		sp_error_clear(); /* the last values remain */
	else if (!own->stats_ns || now - own->stats_ns >= STORE_INTERVAL_NS)
		own->stats_ns = now;
	put_gauge(x, "soprof_store_bytes", "bytes", "The store on disk, journals included; measured once a minute.",
		  own->store.bytes);
	put_gauge(x, "soprof_store_limit_bytes", "bytes", "Above it files of the store are removed.",
		  own->config->max_disk_bytes);
	put_gauge(x, "soprof_store_damaged_files", NULL, "Files that were set aside.", own->store.n_damaged_files);
	put_gauge(x, "soprof_store_damaged_windows", NULL, "Windows that cannot be read.",
		  own->store.n_damaged_windows);
	put_gauge(x, "soprof_store_damaged_chunks", NULL, "Parts of a dictionary that cannot be read.",
		  own->store.n_damaged_chunks);
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_store_outgrown_dictionaries", NULL,
		       "Dictionaries of stacks that had no room any more.");
	sp_expo_number(x, "", own->store.n_outgrown);
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_store_moved", NULL,
		       "Times that the store was removed or replaced while it was written to.");
	sp_expo_number(x, "", own->store.n_moved);
	put_removed(x, own->store.removed);
	put_gauge(x, "soprof_store_failing", NULL, "1: the store takes nothing now.", *s->store_error != 0);
}

static void put_requests(struct sp_expo *x, const struct sp_server *server)
{
	struct sp_server_stats s;

	sp_server_stats(server, &s);
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_questions", NULL,
		       "Requests over the socket, and those of the page.");
	sp_expo_number(x, "result=\"answered\"", s.n_answered);
	sp_expo_number(x, "result=\"failed\"", s.n_failed);
	sp_expo_number(x, "result=\"refused\"", s.n_refused);
}

static void put_http(struct sp_expo *x, const struct sp_page *page)
{
	struct sp_http_stats s;

	sp_page_stats(page, &s);
	put_gauge(x, "soprof_http_connections", NULL, "Connections now.", s.n_connections);
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_http_requests", NULL, "Requests that were allowed.");
	sp_expo_number(x, "", s.n_requests);
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_http_turned_away", NULL,
		       "Requests and connections that were refused or closed.");
	sp_expo_number(x, "reason=\"evicted\"", s.n_evicted);
	sp_expo_number(x, "reason=\"refused\"", s.n_refused);
	sp_expo_number(x, "reason=\"timeout\"", s.n_timed_out);
}

void sp_metrics_own_write(void *arg, struct sp_expo *x)
{
	struct sp_metrics_own *own = arg;
	struct sp_agent_status s;
	struct sp_labels l;

	sp_agent_status_last(own->agent, &s);
	put_sources(x, &s);
	put_lost(x, &s);
	put_agent(x, &s, own->config);
	put_store(x, own, &s);
	if (own->server)
		put_requests(x, own->server);
	if (own->page)
		put_http(x, own->page);
	sp_expo_family(x, SP_EXPO_INFO, "soprof_build", NULL, "The agent's version.");
	sp_expo_number(x, sp_labels_of(x, &l, "version", SP_VERSION, NULL, NULL), 1);
}
