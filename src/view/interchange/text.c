/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.c: the multi-line layout of bcc's profile, so that scripts need only another command name.
 *
 * A block for each process, comm and stack: the kernel's frames leaf first, the user's frames leaf first, who it was,
 * and the count. Without -v nothing is printed that bcc would not print; -v adds each frame's place and source line,
 * which frames are guessed or inlined, and why a stack was cut. Blocks that look the same are one block: bcc, which
 * tells stacks apart by their addresses, would print one for each address in a function. Profiles of other programs do
 * not say where functions begin: there the offset is that in the library.
 */
#include "base/encode.h"
#include "profile/profile.h"
#include "view/priv.h"
#include "view/stop.h"

#include <inttypes.h>

/* Frames are told apart by their offset in the library if their function's start is not known. */
static uint64_t library_offset(const struct sp_profile *p, uint32_t frame)
{
	const struct sp_frame *f = sp_profile_frame(p, frame);
	uint8_t kind = sp_profile_file(p, f->file)->kind;
	bool is_named = f->func && !sp_profile_func(p, f->func)->is_range;

	return is_named && (kind == SP_FILE_ELF || kind == SP_FILE_OTHER) ? f->offset : 0;
}

static void put_source(const struct sp_profile *p, uint32_t frame, FILE *out)
{
	const struct sp_frame *f = sp_profile_frame(p, frame);
	const struct sp_func *func = sp_profile_func(p, f->func);

	if (!func->source)
		return;
	fputs(" at ", out);
	sp_encode(out, SP_ENCODE_TERMINAL, sp_profile_string(p, func->source));
	if (f->line)
		fprintf(out, ":%" PRIu32, f->line);
}

static void put_place(const struct sp_profile *p, uint32_t frame, FILE *out)
{
	uint64_t distance, offset = 0;

	if (sp_view_distance(p, frame, &distance))
		fprintf(out, "+0x%" PRIx64, distance);
	else
		offset = library_offset(p, frame);
	sp_view_put_in_library(p, sp_view_library(p, frame), offset, out);
	put_source(p, frame, out);
	if (sp_profile_frame(p, frame)->flags & SP_FRAMEF_INLINED)
		fputs(" (inlined)", out);
	if (sp_profile_frame(p, frame)->flags & SP_FRAMEF_GUESSED)
		fputs(" (guessed)", out);
	if (sp_profile_frame(p, frame)->flags & SP_FRAMEF_DERIVED)
		fputs(" (derived)", out);
	if (sp_profile_frame(p, frame)->flags & SP_FRAMEF_RUNTIME)
		fputs(" (runtime)", out);
}

static void text_put_frame(const struct sp_profile *p, const struct sp_view_options *o, uint32_t id, bool kernel,
			   FILE *out)
{
	uint32_t frame = 0, name;
	bool exact = sp_shown_rows_frame(id, &frame, &name);

	fputs("    ", out);
	if (o->addresses && exact)
		fprintf(out, "0x%016" PRIx64 " ", sp_view_address(p, frame));
	sp_shown_rows_put_name(p, id, SP_ENCODE_TERMINAL, out);
	if (o->annotate && kernel)
		fputs("_[k]", out);
	if (o->verbose && exact)
		put_place(p, frame, out);
	fputc('\n', out);
}

static void put_half(const struct sp_profile *p, const struct sp_view_options *o, const struct sp_half *half,
		     bool kernel, FILE *out)
{
	if (half->state == SP_HALF_MISSED)
		fprintf(out, "    [Missed %s Stack]\n", kernel ? "Kernel" : "User");
	for (uint32_t i = 0; i < half->n; i++)
		text_put_frame(p, o, half->ids[i], kernel, out);
	if (half->cut && o->verbose && !kernel) /* reasons belong to user stacks */
		fprintf(out, "    [cut: %s]\n", sp_stop_words(half->reason));
}

static void text_put_row(const struct sp_profile *p, const struct sp_view_options *o, const struct sp_shown_row *row,
			 FILE *out)
{
	put_half(p, o, &row->kernel, true, out);
	if (o->delimiter && row->kernel.state == SP_HALF_FRAMES && row->user.state == SP_HALF_FRAMES)
		fputs("    --\n", out);
	put_half(p, o, &row->user, false, out);
	fprintf(out, "    %-16s ", "-");
	sp_encode(out, SP_ENCODE_TERMINAL, sp_profile_string(p, row->comm));
	fprintf(out, " (%" PRIu32 ")\n        %" PRId64 "\n\n", row->pid, sp_view_divided(o, row->value));
}

static int text_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	unsigned int flags = SP_SHOWN_BY_PID | (o->verbose || o->addresses ? SP_SHOWN_EXACT : 0);
	struct sp_shown_rows rows = {0};
	int r = sp_shown_rows_merge(p, o, flags, &rows);

	if (r < 0)
		return r;
	if (o->header)
		fprintf(out, "%s\n", o->header);
	for (size_t i = 0; i < rows.n; i++)
		text_put_row(p, o, &rows.rows[i], out);
	sp_shown_rows_done(&rows);
	return 0;
}

const struct sp_view sp_view_text = {
    .name = "text",
    .suffix = ".txt",
    .mime = "text/plain; charset=utf-8",
    .summary = "one block a stack, as bcc's profile prints it",
    .write = text_write,
};
