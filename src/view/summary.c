/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary.c: see summary.h. */
#include "view/summary.h"

#include "base/mem.h"
#include "bpf/wire.h"
#include "profile/profile.h"
#include "view/para.h"
#include "view/stop.h"
#include "view/tables/table.h"
#include "view/units.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { LABEL_COLUMNS = 12, MAX_NAMED = 5, MAX_REASONS = 64, N_CLASSES = SP_CLASS_ABSENT + 1 };

/* Samples by the class of their user stacks. */
struct classes {
	int64_t all;
	int64_t n[N_CLASSES];
	int64_t reasons[N_CLASSES][MAX_REASONS];
	int64_t derived;   /* whole, thanks to rows derived from instructions */
	int64_t runtime;   /* whole, thanks to what runtimes tell about the code that they make */
	int64_t shortened; /* whole, but stored without their middle */
};

/* The marks of a whole stack's frames. */
static uint32_t marks_of(const struct sp_profile *p, const struct sp_stack *s)
{
	uint32_t marks = 0;

	for (uint32_t i = 0; i < s->n_frames && s->stack_class == SP_CLASS_COMPLETE; i++)
		marks |= sp_profile_frame(p, s->frames[i])->flags;
	return marks;
}

static void count_classes(const struct sp_profile *p, uint32_t value, struct classes *c)
{
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		struct sp_stack s = {.stack_class = SP_CLASS_ABSENT, .reason = SP_STOP_NONE};

		if (row->user)
			s = sp_profile_stack(p, row->user);
		c->all += row->values[value];
		if (s.stack_class >= N_CLASSES)
			continue;
		c->n[s.stack_class] += row->values[value];
		uint32_t marks = marks_of(p, &s);
		c->derived += marks & SP_FRAMEF_DERIVED ? row->values[value] : 0;
		c->runtime += marks & SP_FRAMEF_RUNTIME ? row->values[value] : 0;
		c->shortened += marks & SP_FRAMEF_SHORTENED ? row->values[value] : 0;
		c->reasons[s.stack_class][SP_MIN(s.reason, MAX_REASONS - 1)] += row->values[value];
	}
}

static void say_reasons(const int64_t *reasons, FILE *words)
{
	const char *gap = ":";

	for (unsigned int i = 0; i < MAX_REASONS; i++) {
		if (!reasons[i])
			continue;
		fprintf(words, "%s %s %" PRId64, gap, sp_stop_words(i), reasons[i]);
		gap = ",";
	}
}

/* The roots of whole stacks, except the program's start. */
static void say_begins(const int64_t *reasons, FILE *words)
{
	const char *gap = "; of the complete,";

	for (unsigned int i = SP_STOP_THREAD; i <= SP_STOP_FIBER; i++) {
		if (!reasons[i])
			continue;
		fprintf(words, "%s %" PRId64 " begin with a %s", gap, reasons[i], sp_stop_words(i));
		gap = ",";
	}
}

/* Shares are of the samples with a user stack: those without one are no failure of the unwinder. */
static void say_stacks(const struct classes *c, FILE *words)
{
	const int64_t *n = c->n;
	int64_t user = n[SP_CLASS_COMPLETE] + n[SP_CLASS_CUT] + n[SP_CLASS_GUESSED];

	fprintf(words, "complete %" PRId64 " (%.2f %%), guessed %" PRId64 " (%.2f %%), cut %" PRId64 " (%.2f %%",
		n[SP_CLASS_COMPLETE], sp_percent(n[SP_CLASS_COMPLETE], user), n[SP_CLASS_GUESSED],
		sp_percent(n[SP_CLASS_GUESSED], user), n[SP_CLASS_CUT], sp_percent(n[SP_CLASS_CUT], user));
	say_reasons(c->reasons[SP_CLASS_CUT], words);
	fprintf(words, "); without a user stack %" PRId64, n[SP_CLASS_ABSENT]);
	say_reasons(c->reasons[SP_CLASS_ABSENT], words);
	say_begins(c->reasons[SP_CLASS_COMPLETE], words);
	if (c->derived)
		fprintf(words, "; of the complete, %" PRId64 " (%.2f %%) by rows derived from code", c->derived,
			sp_percent(c->derived, user));
	if (c->runtime)
		fprintf(words, "; of the complete, %" PRId64 " (%.2f %%) by the frames of a runtime", c->runtime,
			sp_percent(c->runtime, user));
	if (c->shortened)
		fprintf(words, "; of the complete, %" PRId64 " (%.2f %%) too deep to be kept: without their middle",
			c->shortened, sp_percent(c->shortened, user));
}

static void say_samples(const struct sp_summary *s, int64_t held, uint64_t duration_ns, FILE *words)
{
	const char *gap = ":";
	char duration[32];

	sp_unit_write("nanoseconds", duration_ns, duration, sizeof(duration));
	fprintf(words, "%" PRIu64 " in %s", s->n_samples ? s->n_samples : (uint64_t)held, duration);
	if (s->n_samples && s->n_samples != (uint64_t)held)
		fprintf(words, ", of which %" PRId64 " are shown", held);
	fputs("; lost", words);
	for (size_t i = 0; i < s->n_lost; i++) {
		if (!s->lost[i].n)
			continue;
		fprintf(words, "%s %s %" PRIu64, gap, s->lost[i].what, s->lost[i].n);
		gap = ",";
	}
	if (*gap == ':')
		fputs(" 0", words);
}

/* The number of files with a note, and the names of the first few. */
static void say_notes(const struct sp_profile *p, FILE *words)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < sp_profile_n_files(p); i++) {
		const struct sp_file *f = sp_profile_file(p, i);

		if (!f->note || ++n > MAX_NAMED)
			continue;
		fprintf(words, "%s%s (%s)", n > 1 ? ", " : "", sp_profile_string(p, f->name),
			sp_profile_string(p, f->note));
	}
	if (n > MAX_NAMED)
		fprintf(words, ", and %" PRIu32 " more files", n - MAX_NAMED);
}

static bool has_notes(const struct sp_profile *p)
{
	for (uint32_t i = 1; i < sp_profile_n_files(p); i++)
		if (sp_profile_file(p, i)->note)
			return true;
	return false;
}

static void say_unexpressed(const struct sp_summary *s, FILE *words)
{
	uint64_t rows = 0, files = 0;

	for (size_t i = 0; i < s->n_unexpressed; i++) {
		rows += s->unexpressed[i].n;
		files += s->unexpressed[i].n != 0;
	}
	fprintf(words, "%" PRIu64 " of %" PRIu64 " file%s could not be expressed", rows, files, files == 1 ? "" : "s");
	for (size_t i = 0, n = 0; i < s->n_unexpressed && n < MAX_NAMED; i++)
		if (s->unexpressed[i].n)
			fprintf(words, "%s %s %" PRIu64, n++ ? "," : ":", s->unexpressed[i].what, s->unexpressed[i].n);
	if (files > MAX_NAMED)
		fprintf(words, ", and %" PRIu64 " more", files - MAX_NAMED);
}

static bool has_unexpressed(const struct sp_summary *s)
{
	for (size_t i = 0; i < s->n_unexpressed; i++)
		if (s->unexpressed[i].n)
			return true;
	return false;
}

static void say_tables(const struct sp_summary *s, FILE *words)
{
	fprintf(words, "%" PRIu64 " loaded, %" PRIu64 " evicted: not all fit in the memory allowed (--max-memory)",
		s->n_tables, s->n_evicted);
}

static void say_own_use_without_bpf(const struct sp_summary *s, uint64_t duration_ns, FILE *words)
{
	char user[32], kernel[32], memory[32], rings[32];

	sp_unit_write("nanoseconds", s->user_ns, user, sizeof(user));
	sp_unit_write("nanoseconds", s->system_ns, kernel, sizeof(kernel));
	sp_unit_write("bytes", s->memory_bytes, memory, sizeof(memory));
	sp_unit_write("bytes", s->ring_bytes, rings, sizeof(rings));
	fprintf(words, "%s user + %s system", user, kernel);
	if (duration_ns)
		fprintf(words, " = %.2f %% of a CPU",
			sp_percent((int64_t)(s->user_ns + s->system_ns), (int64_t)duration_ns));
	fprintf(words, " (without the kernel's copying of stacks); memory %s, of which ring buffers %s", memory, rings);
}

static void say_own_use(const struct sp_summary *s, uint64_t duration_ns, FILE *words)
{
	uint64_t bpf = s->bpf_time_unknown ? 0 : s->bpf_ns;
	char user[32], kernel[32], run[32], memory[32], maps[32];

	sp_unit_write("nanoseconds", s->user_ns, user, sizeof(user));
	sp_unit_write("nanoseconds", s->system_ns, kernel, sizeof(kernel));
	sp_unit_write("nanoseconds", bpf, run, sizeof(run));
	sp_unit_write("bytes", s->memory_bytes, memory, sizeof(memory));
	sp_unit_write("bytes", s->map_bytes, maps, sizeof(maps));
	fprintf(words, "%s user + %s system", user, kernel);
	if (s->bpf_time_unknown)
		fputs(" (the time of its BPF programs is not known)", words);
	else
		fprintf(words, " + %s BPF", run);
	if (duration_ns)
		fprintf(words, " = %.2f %% of a CPU",
			sp_percent((int64_t)(s->user_ns + s->system_ns + bpf), (int64_t)duration_ns));
	fprintf(words, "; memory %s + BPF maps %s", memory, maps);
}

/* A paragraph for each line. */
static void say_guard(const char *lines, struct sp_para *para)
{
	while (lines && *lines) {
		size_t n = strcspn(lines, "\n");

		fwrite(lines, 1, n, sp_para_begin(para, "guard"));
		sp_para_end(para);
		lines += n + (lines[n] == '\n');
	}
}

static int put_paragraphs(const struct sp_profile *p, const struct sp_summary *s, struct sp_para *para)
{
	uint64_t duration_ns = sp_profile_info((struct sp_profile *)(uintptr_t)p)->duration_ns;
	struct classes classes = {0};

	count_classes(p, s->counted, &classes);
	say_samples(s, classes.all, duration_ns,
		    sp_para_begin(para, s->counted ? sp_profile_string(p, sp_profile_value_type(p, s->counted)->name)
						   : "samples"));
	sp_para_end(para);
	if (!s->kernel_only) {
		say_stacks(&classes, sp_para_begin(para, "stacks"));
		sp_para_end(para);
	}
	say_guard(s->guard, para);
	if (has_notes(p)) {
		say_notes(p, sp_para_begin(para, "no names"));
		sp_para_end(para);
	}
	if (has_unexpressed(s)) {
		say_unexpressed(s, sp_para_begin(para, "unwind rows"));
		sp_para_end(para);
	}
	if (s->n_evicted) {
		say_tables(s, sp_para_begin(para, "tables"));
		sp_para_end(para);
	}
	(s->without_bpf ? say_own_use_without_bpf : say_own_use)(s, duration_ns, sp_para_begin(para, "soprof"));
	sp_para_end(para);
	if (s->next) {
		fputs(s->next, sp_para_begin(para, "next"));
		sp_para_end(para);
	}
	return para->failed ? -ENOMEM : 0;
}

static bool has_any(const struct sp_profile *p, uint32_t value)
{
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
		if (sp_profile_row(p, i)->values[value])
			return true;
	return false;
}

/* What the libraries' shares are of. Of several costs that one may have none: a command that sleeps has no CPU time. */
static uint32_t value_shown(const struct sp_profile *p, const struct sp_summary *s)
{
	uint32_t n = sp_profile_n_value_types(p), value = s->value;

	for (uint32_t i = s->value; value && i < n; i++)
		if (has_any(p, i))
			return i;
	return value;
}

int sp_summary_write(const struct sp_profile *p, const struct sp_summary *s, FILE *out)
{
	struct sp_para para = {
	    .out = out, .width = s->width ? s->width : 80, .indent = LABEL_COLUMNS, .bold_label = s->colour};
	struct sp_view_options o = {.by = SP_TOTAL_BY_LIBRARY,
				    .value = value_shown(p, s),
				    .limit = s->n_libraries ? s->n_libraries : 10,
				    .colour = s->colour};
	int r = s->without_libraries ? 0 : sp_table_put(p, &o, SP_TABLE_SHARES_ONLY, out);

	if (r < 0)
		return r;
	fputc('\n', out);
	return put_paragraphs(p, s, &para);
}
