/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.c: the text of `perf script` (perf 4.x to 6.x), with whatever fields `-F` chose.
 *
 * A profile's values must be declared before its first row, but the events are known only at the end. So samples are
 * first summed by (thread, event, stack).
 * If the text has one id only (perf's default), it is the thread's, and is used for the process, too.
 * perf's clock counts from boot, so only durations are kept, and the start if the text ties it to the wall clock.
 */
#include "read/perf/perf_line.h"

#include "base/mem.h"
#include "profile/profile.h"
#include "read/input.h"
#include "read/perf/perf_stack.h"
#include "read/perf/perf_sum.h"
#include "read/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FRAMES = 1 << 16 }; /* frames of one sample: far more than the kernel records */

enum state {
	BETWEEN, /* behind an empty line: a header follows, or with `-F ip` a frame */
	IN_SAMPLE,
	IN_COMMENT, /* a command's arguments may contain newlines */
	IN_RECORD,  /* a record that is no sample, possibly of several lines */
	LOST,       /* the rest of a sample with a bad line */
};

struct reader {
	struct sp_input *in;
	const struct sp_read_options *o;
	struct sp_read_result *result;
	struct sp_profile *p;
	struct sp_perf_stacks *stacks;
	struct sp_perf_sum *sum;
	unsigned int columns; /* of samples without a frame (sp_perf_columns_parse()), if the text has no others */
	enum state state;
	/* The sample that is being read. */
	struct sp_perf_who who;
	bool is_sure;        /* counts as a sample even without frames */
	bool is_on_one_line; /* its frame is in the header's line */
	uint32_t *lines;     /* of its frames */
	size_t n_lines, line_capacity;
};

static int bad(struct reader *r, const char *what)
{
	r->state = LOST;
	r->n_lines = 0;
	return sp_input_bad(r->in, r->o, r->result, "%s", what);
}

/* --- samples --- */
static int end_sample(struct reader *r)
{
	int64_t stack;

	if (r->state != IN_SAMPLE)
		return 0;
	r->state = BETWEEN;
	if (!r->n_lines && !r->is_sure)
		return bad(r, "the line before is no sample: expected COMM PID/TID [CPU] TIME: PERIOD EVENT:, or "
			      "frames below it (the field ip of perf script -F)");
	stack = sp_perf_stacks_add(r->stacks, r->lines, r->n_lines);
	if (stack < 0)
		return (int)stack;
	r->result->n_samples++;
	return sp_perf_sum_add(r->sum, &r->who, (uint32_t)stack);
}

static int perf_add_frame(struct reader *r, struct sp_perf_text text)
{
	int64_t line = sp_perf_stacks_line(r->stacks, text, r->who.pid);
	int grown;

	if (line < 0)
		return (int)line;
	if (r->is_on_one_line) /* -F addr: the address in the header's line was not the frame's */
		r->n_lines = 0;
	r->is_on_one_line = false;
	if (r->n_lines >= MAX_FRAMES)
		return bad(r, "a sample of more than 65536 frames");
	grown = sp_grow(&r->lines, &r->line_capacity, r->n_lines + 1, sizeof(*r->lines));
	if (grown < 0)
		return grown;
	r->lines[r->n_lines++] = (uint32_t)line;
	return 0;
}

static int too_many_events(struct reader *r)
{
	char what[128];

	snprintf(what, sizeof(what),
		 "one event more than %d, the most of one profile: expected the samples of fewer events",
		 SP_PERF_MAX_EVENTS);
	return bad(r, what);
}

static int begin_sample(struct reader *r, const struct sp_perf_header *h)
{
	struct sp_perf_text frame = h->rest.n ? sp_perf_frame_find(h->rest) : h->rest;
	int found;

	if (h->is_record) {
		r->state = IN_RECORD;
		return 0;
	}
	r->state = IN_SAMPLE;
	r->is_sure = h->is_sure;
	r->is_on_one_line = false;
	r->n_lines = 0;
	found = sp_perf_sum_who(r->sum, h, &r->who);
	if (found == -E2BIG)
		return too_many_events(r);
	if (found < 0 || !frame.n)
		return found;
	found = perf_add_frame(r, frame);
	r->is_on_one_line = found >= 0;
	return found == -EBADMSG ? 0 : found;
}

/* --- lines --- */
/* Lines of other fields below a sample (`-F uregs,iregs,brstack,insn,srccode`), and perf's own remarks. */
static bool is_passed_over(struct sp_perf_text line)
{
	static const char *const begins[] = {"ABI:", "0x", "insn:", "BPF ", "|", "instruction trace error"};

	line = sp_perf_trim(line);
	for (size_t i = 0; i < SP_COUNT(begins); i++)
		if (sp_perf_begins(line, begins[i]))
			return true;
	return false;
}

/*
 * `# reference time: DATE = 1595593214.412 (TOD) = 14229.367 (monotonic)` ties perf's clock to the wall clock. In text
 * of our own view (view/perf.c) a comment says that its times are made up.
 */
static void read_comment(struct reader *r, struct sp_perf_text line)
{
	const char *at = memmem(line.s, line.n, "reference time:", 15);
	struct sp_perf_text rest = at ? (struct sp_perf_text){at, (size_t)(line.s + line.n - at)} : line;
	struct sp_perf_text before, behind;
	uint64_t wall_ns, clock_ns;

	if (sp_perf_begins(line, "# soprof: times are made up"))
		sp_perf_sum_ignore_times(r->sum);
	at = at ? memmem(rest.s, rest.n, " (TOD) = ", 9) : NULL;
	if (!at)
		return;
	before = (struct sp_perf_text){rest.s, (size_t)(at - rest.s)};
	behind = (struct sp_perf_text){at + 9, (size_t)(rest.s + rest.n - at) - 9};
	sp_perf_last_word(&behind); /* (monotonic) */
	if (sp_perf_time_parse(sp_perf_last_word(&before), &wall_ns) &&
	    sp_perf_time_parse(sp_perf_last_word(&behind), &clock_ns))
		sp_perf_sum_set_clock(r->sum, wall_ns - clock_ns);
}

static int read_header(struct reader *r, struct sp_perf_text line, const struct sp_perf_header *h)
{
	int ended = end_sample(r);

	if (ended < 0)
		return ended;
	if (*line.s == '#' && !h->is_sure) {
		r->state = sp_perf_begins(line, "# cmdline : ") ? IN_COMMENT : BETWEEN;
		read_comment(r, line);
		return 0;
	}
	return begin_sample(r, h);
}

/* A line that begins with white space: a frame, a source line below one, or the header of a sample on one line. */
static int read_indented(struct reader *r, struct sp_perf_text line)
{
	const struct sp_perf_header none = {0};
	struct sp_perf_header h = {0};
	bool in_stack = r->state == IN_SAMPLE && r->n_lines && !r->is_on_one_line;
	bool is_frame, is_header;
	int added;

	if (*line.s == '\t' && (r->state == LOST || r->state == IN_RECORD || r->state == IN_COMMENT))
		return 0;
	is_frame = *line.s == '\t' || (r->state == IN_SAMPLE && !r->is_on_one_line);
	is_header = *line.s != '\t' && sp_perf_header_parse(line, &h) && h.is_sure &&
		    ((h.has_time && h.has_ids) || !in_stack) && !(h.is_column && is_frame);
	if (is_header)
		return read_header(r, line, &h);
	if (!is_frame && r->state == IN_SAMPLE)
		return 0; /* -F srcline, below the header that holds the frame */
	if (r->state == LOST || r->state == IN_COMMENT)
		return 0;
	if (r->state != IN_SAMPLE) { /* -F ip: no header at all */
		struct sp_perf_frame f;

		if (!sp_perf_frame_parse(line, &f))
			return bad(r, "expected a sample, COMM PID/TID [CPU] TIME: PERIOD EVENT:, or a frame, "
				      "ADDRESS SYMBOL (LIBRARY)");
		added = begin_sample(r, &none);
		if (added < 0)
			return added;
	}
	added = perf_add_frame(r, line);
	if (added != -EBADMSG)
		return added;
	if (is_passed_over(line) || (*line.s == ' ' && r->n_lines)) /* the latter: -F srcline */
		return 0;
	return bad(r, "expected a frame: ADDRESS SYMBOL (LIBRARY)");
}

static int read_line(struct reader *r, struct sp_perf_text line)
{
	struct sp_perf_header h;

	if (line.n && line.s[line.n - 1] == '\r')
		line.n--;
	if (!sp_perf_trim(line).n) {
		int ended = end_sample(r);

		if (r->state != IN_COMMENT)
			r->state = BETWEEN;
		return ended;
	}
	if (r->columns && sp_perf_columns_parse(line, &h) == r->columns)
		return read_header(r, line, &h);
	if (sp_perf_is_space(*line.s))
		return read_indented(r, line);
	sp_perf_header_parse(line, &h);
	if (!h.is_sure && (r->state == LOST || (r->state == IN_SAMPLE && is_passed_over(line)) ||
			   (r->state == IN_COMMENT && *line.s != '#')))
		return 0;
	return read_header(r, line, &h);
}

static int perf_read_lines(struct reader *r)
{
	for (;;) {
		struct sp_perf_text line;
		char *text;
		int got = sp_input_line(r->in, &text, &line.n);

		line.s = text;
		if (got == -E2BIG)
			got = bad(r, "a line of more than 1 MiB: expected a sample or a frame");
		else if (got > 0)
			got = read_line(r, line);
		else
			return got < 0 ? got : end_sample(r);
		if (got < 0)
			return got;
	}
}

/* --- is it one? --- */
enum { LINES_LOOKED_AT = 256 };

struct evidence {
	bool after_sure; /* the line before was certainly a header */
	int sure;
	bool has_lines;       /* but comments */
	unsigned int columns; /* of samples without a frame, if all lines are such, and have the same */
};

static bool is_one(unsigned int columns)
{
	return !(columns & (columns - 1));
}

/* A frame behind a tab, with a right-justified address: no other program writes that. */
static bool in_column(struct sp_perf_text line)
{
	return line.n > 16 && (line.n == 17 || line.s[17] == ' ') && line.s[16] != ' ';
}

/* A word alone is only taken for a column if perf's space is behind it. */
static void weigh_columns(struct evidence *e, struct sp_perf_text line)
{
	struct sp_perf_header h;
	unsigned int columns = sp_perf_columns_parse(line, &h);

	if (is_one(columns) && line.s[line.n - 1] != ' ')
		columns = 0;
	if (!e->has_lines || e->columns != columns)
		e->columns = e->has_lines ? 0 : columns;
	e->has_lines = true;
}

static void weigh(struct evidence *e, struct sp_perf_text line)
{
	struct sp_perf_header h = {0};
	struct sp_perf_frame f;
	int sure = 0;

	if (*line.s == '\t' && sp_perf_frame_parse(line, &f))
		sure = e->after_sure ? 95 : in_column(line) || f.has_library ? 60 : 0;
	else if (sp_perf_begins(line, "# captured on ") || sp_perf_begins(line, "# perf version :"))
		sure = 90;
	else if (*line.s != '#' && *line.s != '\t' && sp_perf_header_parse(line, &h) && h.is_sure && h.has_ids)
		sure = !h.has_time || !(h.event.n || h.is_record) ? 40 : 93;
	else if (*line.s != '#' && *line.s != '\t' && h.is_column)
		sure = 30;
	e->sure = SP_MAX(e->sure, sure);
	e->after_sure = h.is_sure;
	if (*line.s != '#')
		weigh_columns(e, line);
}

static struct evidence look_at(const uint8_t *head, size_t n)
{
	struct sp_perf_text rest = {(const char *)head, n};
	struct evidence e = {0};

	for (int i = 0; i < LINES_LOOKED_AT && rest.n && e.sure < 95; i++) {
		const char *newline = memchr(rest.s, '\n', rest.n);
		struct sp_perf_text line = {rest.s, newline ? (size_t)(newline - rest.s) : rest.n};

		if (!newline && n >= SP_INPUT_HEAD)
			break; /* cut off */
		rest.s += line.n + (newline != NULL);
		rest.n -= line.n + (newline != NULL);
		if (line.n && line.s[line.n - 1] == '\r')
			line.n--;
		if (sp_perf_trim(line).n)
			weigh(&e, line);
	}
	return e;
}

/* Folded text has no such columns: its lines begin with a name. */
static int perf_recognise(const uint8_t *head, size_t n)
{
	struct evidence e = look_at(head, n);

	return !e.columns ? e.sure : SP_MAX(e.sure, is_one(e.columns) ? 45 : 70);
}

static int perf_read(struct sp_input *in, const struct sp_read_options *o, struct sp_profile *into,
		     struct sp_read_result *result)
{
	struct reader r = {.in = in, .o = o, .result = result, .p = into};
	const uint8_t *head;
	size_t n;
	int got = sp_input_head(in, &head, &n);

	if (got >= 0) {
		r.columns = look_at(head, n).columns;
		got = sp_perf_stacks_new(into, &r.stacks);
	}
	if (got >= 0)
		got = sp_perf_sum_new(into, &r.sum);
	if (got >= 0)
		got = perf_read_lines(&r);
	if (got >= 0)
		got = sp_perf_sum_finish(r.sum, r.stacks);
	sp_perf_sum_free(r.sum);
	sp_perf_stacks_free(r.stacks);
	free(r.lines);
	return got;
}

const struct sp_reader sp_reader_perf = {
    .name = "perf",
    .summary = "text of perf script",
    .recognise = perf_recognise,
    .read = perf_read,
};
