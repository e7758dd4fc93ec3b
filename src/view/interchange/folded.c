/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folded.c: one line a stack, `comm;user root;...;leaf;-;kernel root;...;leaf count`, which flamegraph.pl,
 * difffolded.pl and speedscope read.
 *
 * The form is bcc's, with one difference: bcc prints equal lines for two processes of one comm. Here each line is
 * printed once, with the sum: readers add up equal lines anyway, and the text can be compared, sorted and joined. With
 * a second value a line is
 * `STACK BEFORE NOW`, as difffolded.pl writes it and flamegraph.pl reads it, in values as they are (no -n).
 */
#include "base/encode.h"
#include "profile/profile.h"
#include "view/priv.h"

#include <inttypes.h>

struct line {
	const struct sp_profile *p;
	const struct sp_view_options *o;
	FILE *out;
	bool begun;
};

static void separate(struct line *l)
{
	if (l->begun)
		fputc(';', l->out);
	l->begun = true;
}

static void folded_put_word(struct line *l, const char *word)
{
	separate(l);
	fputs(word, l->out);
}

static void put_half(struct line *l, const struct sp_half *half, bool kernel)
{
	if (half->state == SP_HALF_MISSED)
		folded_put_word(l, kernel ? "[Missed Kernel Stack]" : "[Missed User Stack]");
	for (uint32_t i = half->n; i-- > 0;) {
		separate(l);
		sp_shown_rows_put_name(l->p, half->ids[i], SP_ENCODE_FOLDED, l->out);
		if (kernel && l->o->annotate)
			fputs("_[k]", l->out);
	}
}

static void folded_put_row(struct line *l, const struct sp_shown_row *row)
{
	const char *comm = sp_profile_string(l->p, row->comm);

	l->begun = false;
	if (*comm) {
		separate(l);
		sp_encode(l->out, SP_ENCODE_FOLDED, comm);
	}
	put_half(l, &row->user, false);
	if (l->o->delimiter && row->user.state == SP_HALF_FRAMES && row->kernel.state == SP_HALF_FRAMES)
		folded_put_word(l, "-");
	put_half(l, &row->kernel, true);
	if (!l->begun) /* foreign profiles may have neither; readers refuse an empty line */
		folded_put_word(l, "[unknown]");
	if (l->o->has_second)
		fprintf(l->out, " %" PRId64, sp_view_divided(l->o, row->second));
	fprintf(l->out, " %" PRId64 "\n", sp_view_divided(l->o, row->value));
}

static int folded_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct line line = {p, o, out, false};
	struct sp_shown_rows rows = {0};
	int r = sp_shown_rows_merge(p, o, SP_SHOWN_SECOND, &rows);

	if (r < 0)
		return r;
	for (size_t i = 0; i < rows.n; i++)
		folded_put_row(&line, &rows.rows[i]);
	sp_shown_rows_done(&rows);
	return 0;
}

const struct sp_view sp_view_folded = {
    .name = "folded",
    .suffix = ".folded",
    .mime = "text/plain; charset=utf-8",
    .summary = "one line a stack, for flamegraph.pl",
    .write = folded_write,
};
