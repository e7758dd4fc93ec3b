/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"
#include "cmd/stat/stat_use.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From where a resource is called busy, and from where what waits for it is called saturation: per cent, unless said.
 */
enum {
	CPU_BUSY = 80,
	CPU_STALL = 25,
	ONE_CPU = 95,
	STEAL = 10,
	MEMORY_BUSY = 90,
	MEMORY_STALL = 5,
	DISK_BUSY = 80,
	LINK_BUSY = 70,
	RETRANSMITS_PER_MILLE = 10,
};

const char *sp_use_state_name(enum sp_use_state state)
{
	static const char *const names[] = {"fine", "busy", "saturated", "errors"};

	return names[state];
}

/* --- numbers --- */
static double seconds(const struct sp_use *before, const struct sp_use *now)
{
	return (double)(now->time_ns - before->time_ns) / 1e9;
}

/* What a counter has grown by; < 0: unknown. One that was set back counts from 0. */
static double grown(uint64_t before, uint64_t now)
{
	if (before == SP_USE_UNKNOWN || now == SP_USE_UNKNOWN)
		return -1;
	return (double)(now >= before ? now - before : now);
}

static double percent(double part, double whole)
{
	return part < 0 || whole <= 0 ? -1 : 100 * part / whole;
}

/* Of the time, by a counter of microseconds. */
static double stalled_percent(uint64_t before, uint64_t now, double s)
{
	return percent(grown(before, now), s * 1e6);
}

static void text_add(char text[SP_USE_TEXT], const char *format, ...) __attribute__((format(printf, 2, 3)));
static void text_add(char text[SP_USE_TEXT], const char *format, ...)
{
	size_t n = strlen(text);
	va_list args;

	if (n && n + 2 < SP_USE_TEXT) {
		memcpy(text + n, ", ", 3);
		n += 2;
	}
	va_start(args, format);
	vsnprintf(text + n, SP_USE_TEXT - n, format, args);
	va_end(args);
}

/* A worse state replaces the verdict; one as bad adds to it. */
static void judge(struct sp_use_row *row, enum sp_use_state state, const char *next, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void judge(struct sp_use_row *row, enum sp_use_state state, const char *next, const char *format, ...)
{
	char words[SP_USE_TEXT];
	va_list args;

	if (state < row->state)
		return;
	if (state > row->state) {
		row->verdict[0] = 0;
		row->next = NULL;
	}
	row->state = state;
	row->next = row->next ? row->next : next;
	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	text_add(row->verdict, "%s", words);
}

static void row_count(char text[SP_USE_TEXT], double n, const char *what)
{
	if (n >= 0)
		text_add(text, "%.0f %s", n, what);
}

static int row_add(struct sp_use_rows *rows, const struct sp_use_row *row)
{
	return SP_APPEND(rows->rows, rows->n, rows->capacity, *row);
}

/* --- CPUs --- */
static double cpu_percent(const struct sp_use_cpu *before, const struct sp_use_cpu *now, bool steal)
{
	return percent(steal ? grown(before->steal, now->steal) : grown(before->busy, now->busy),
		       grown(before->total, now->total));
}

static double busiest_cpu(const struct sp_use *before, const struct sp_use *now)
{
	double most = -1;

	for (size_t i = 1; i < now->n_cpus && i < before->n_cpus; i++)
		most = SP_MAX(most, cpu_percent(&before->cpus[i], &now->cpus[i], false));
	return most;
}

static int cpus_judge(const struct sp_use *before, const struct sp_use *now, struct sp_use_rows *rows)
{
	double s = seconds(before, now), stall = stalled_percent(before->cpu_stall_us, now->cpu_stall_us, s);
	double steal = cpu_percent(&before->cpus[0], &now->cpus[0], true), one = busiest_cpu(before, now);
	double throttles = grown(before->throttles, now->throttles);
	struct sp_use_row row = {.used_percent = cpu_percent(&before->cpus[0], &now->cpus[0], false)};
	size_t n = now->n_cpus ? now->n_cpus - 1 : 0;

	snprintf(row.resource, sizeof(row.resource), "CPUs (%zu)", n);
	if (stall >= 0)
		text_add(row.saturation, "%.0f %% of time waited", stall);
	if (now->n_running != SP_USE_UNKNOWN)
		text_add(row.saturation, "%llu runnable", (unsigned long long)now->n_running);
	row_count(row.errors, throttles, "throttled");
	if (row.used_percent >= CPU_BUSY)
		judge(&row, SP_USE_BUSY, "sudo soprof profile 10", "%.0f %% used", row.used_percent);
	else if (one >= ONE_CPU && n > 1)
		judge(&row, SP_USE_BUSY, "sudo soprof profile --by process 10", "one CPU is full");
	if (stall >= CPU_STALL || (stall < 0 && row.used_percent >= CPU_BUSY && now->n_running > 2 * n))
		judge(&row, SP_USE_SATURATED, "sudo soprof profile 10", "more runs than there are CPUs");
	if (steal >= STEAL)
		judge(&row, SP_USE_SATURATED, "sudo soprof top", "the hypervisor took %.0f %%", steal);
	if (throttles > 0)
		judge(&row, SP_USE_FAULTY, "sudo soprof top", "too hot: slowed down %.0f times", throttles);
	return row_add(rows, &row);
}

/* --- memory --- */
static int memory_judge(const struct sp_use *before, const struct sp_use *now, struct sp_use_rows *rows)
{
	double s = seconds(before, now), stall = stalled_percent(before->memory_stall_us, now->memory_stall_us, s);
	double swapped = grown(before->swapped_pages, now->swapped_pages);
	double reclaims = grown(before->direct_reclaims, now->direct_reclaims);
	double kills = grown(before->oom_kills, now->oom_kills);
	double errors = grown(before->memory_errors, now->memory_errors);
	struct sp_use_row row = {.resource = "memory", .used_percent = -1};

	if (now->memory_bytes != SP_USE_UNKNOWN && now->available_bytes != SP_USE_UNKNOWN)
		row.used_percent =
		    percent((double)(now->memory_bytes - now->available_bytes), (double)now->memory_bytes);
	if (stall >= 0)
		text_add(row.saturation, "%.0f %% of time waited", stall);
	if (swapped >= 0)
		text_add(row.saturation, "%.0f pages/s swapped", swapped / s);
	row_count(row.errors, kills, "killed");
	row_count(row.errors, errors, "bad");
	if (row.used_percent >= MEMORY_BUSY)
		judge(&row, SP_USE_BUSY, "sudo soprof profile -e faults 10", "%.0f %% used", row.used_percent);
	if (stall >= MEMORY_STALL || swapped > 0)
		judge(&row, SP_USE_SATURATED, "sudo soprof profile -e faults 10", "too little: %s",
		      swapped > 0 ? "it swaps" : "threads wait for it");
	else if (reclaims > 0)
		judge(&row, SP_USE_SATURATED, "sudo soprof profile -e faults 10",
		      "too little: threads free it themselves");
	if (kills > 0)
		judge(&row, SP_USE_FAULTY, "dmesg", "processes were killed");
	if (errors > 0)
		judge(&row, SP_USE_FAULTY, "dmesg", "it is defective");
	return row_add(rows, &row);
}

/* --- disks --- */
static int disk_judge(const struct sp_use_disk *before, const struct sp_use_disk *now, double s, double stall,
		      struct sp_use_rows *rows)
{
	double ios = grown(before->ios, now->ios), errors = grown(before->errors, now->errors);
	double queue = grown(before->queue_ms, now->queue_ms) / 1000 / s;
	struct sp_use_row row = {.used_percent = percent(grown(before->busy_ms, now->busy_ms), s * 1000)};

	row.used_percent = SP_MIN(row.used_percent, 100.0);
	snprintf(row.resource, sizeof(row.resource), "%s", now->name);
	text_add(row.saturation, "queue %.1f", queue);
	if (ios > 0)
		text_add(row.saturation, "%.1f ms a request", grown(before->io_ms, now->io_ms) / ios);
	row_count(row.errors, errors, "errors");
	if (row.used_percent >= DISK_BUSY)
		judge(&row, SP_USE_BUSY, "sudo soprof profile -e offcpu 10", "busy %.0f %% of the time",
		      row.used_percent);
	if (row.used_percent >= DISK_BUSY && queue > 1)
		judge(&row, SP_USE_SATURATED, "sudo soprof profile -e offcpu 10", "requests wait for each other");
	if (stall >= CPU_STALL && queue > 0.5)
		judge(&row, SP_USE_SATURATED, "sudo soprof profile -e offcpu 10",
		      "threads wait for I/O %.0f %% of the time", stall);
	if (errors > 0)
		judge(&row, SP_USE_FAULTY, "dmesg", "requests have failed");
	return row_add(rows, &row);
}

static int disks_judge(const struct sp_use *before, const struct sp_use *now, struct sp_use_rows *rows)
{
	double s = seconds(before, now), stall = stalled_percent(before->io_stall_us, now->io_stall_us, s);
	int r = 0;

	for (size_t i = 0; r >= 0 && i < now->n_disks; i++)
		for (size_t k = 0; r >= 0 && k < before->n_disks; k++)
			if (!strcmp(now->disks[i].name, before->disks[k].name))
				r = disk_judge(&before->disks[k], &now->disks[i], s, stall, rows);
	return r;
}

/* --- network --- */
static int link_judge(const struct sp_use_link *before, const struct sp_use_link *now, double s,
		      struct sp_use_rows *rows)
{
	double in = grown(before->bytes_in, now->bytes_in) * 8 / 1e6 / s,
	       out = grown(before->bytes_out, now->bytes_out) * 8 / 1e6 / s;
	double drops = grown(before->drops, now->drops), errors = grown(before->errors, now->errors);
	struct sp_use_row row = {.used_percent = -1};

	if (now->mbit_s != SP_USE_UNKNOWN)
		row.used_percent = percent(SP_MAX(in, out), (double)now->mbit_s);
	snprintf(row.resource, sizeof(row.resource), "%s", now->name);
	text_add(row.saturation, "%.1f/%.1f Mbit/s in/out", in, out);
	text_add(row.saturation, "%.0f dropped", drops);
	text_add(row.errors, "%.0f errors", errors);
	if (row.used_percent >= LINK_BUSY)
		judge(&row, SP_USE_BUSY, "sudo soprof profile 10", "%.0f %% of its speed", row.used_percent);
	if (drops > 0)
		judge(&row, SP_USE_SATURATED, "ip -s link", "packets were dropped");
	if (errors > 0)
		judge(&row, SP_USE_FAULTY, "ip -s link", "packets were damaged");
	return row_add(rows, &row);
}

/* Those that were never used say nothing. */
static int links_judge(const struct sp_use *before, const struct sp_use *now, struct sp_use_rows *rows)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < now->n_links; i++)
		for (size_t k = 0; r >= 0 && k < before->n_links; k++)
			if (!strcmp(now->links[i].name, before->links[k].name) &&
			    now->links[i].bytes_in + now->links[i].bytes_out > 0)
				r = link_judge(&before->links[k], &now->links[i], seconds(before, now), rows);
	return r;
}

static int tcp_judge(const struct sp_use *before, const struct sp_use *now, struct sp_use_rows *rows)
{
	double sent = grown(before->segments_out, now->segments_out),
	       again = grown(before->retransmits, now->retransmits);
	double listen = grown(before->listen_drops, now->listen_drops),
	       backlog = grown(before->backlog_drops, now->backlog_drops);
	struct sp_use_row row = {.resource = "TCP", .used_percent = -1};

	if (sent < 0)
		return 0;
	text_add(row.saturation, "%.0f segments/s", sent / seconds(before, now));
	row_count(row.saturation, listen, "refused");
	row_count(row.saturation, backlog, "dropped");
	row_count(row.errors, again, "sent again");
	if (listen > 0)
		judge(&row, SP_USE_SATURATED, "ss -ltn", "a server does not accept its connections");
	if (backlog > 0)
		judge(&row, SP_USE_SATURATED, "ss -tn", "programs do not read what came");
	if (again > 0 && again * 1000 >= sent * RETRANSMITS_PER_MILLE)
		judge(&row, SP_USE_FAULTY, "ss -ti", "%.1f %% of all segments were lost", percent(again, sent));
	return row_add(rows, &row);
}

/* --- all --- */
int sp_use_judge(const struct sp_use *before, const struct sp_use *now, struct sp_use_rows *ret_rows)
{
	int r = before->n_cpus && now->n_cpus ? cpus_judge(before, now, ret_rows) : 0;

	if (r >= 0)
		r = memory_judge(before, now, ret_rows);
	if (r >= 0)
		r = disks_judge(before, now, ret_rows);
	if (r >= 0)
		r = links_judge(before, now, ret_rows);
	return r < 0 ? r : tcp_judge(before, now, ret_rows);
}

void sp_use_rows_done(struct sp_use_rows *rows)
{
	free(rows->rows);
	*rows = (struct sp_use_rows){0};
}
