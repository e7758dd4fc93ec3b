/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf_header.c: the first line of a sample; see perf_line.h. */
#include "read/perf/perf_line.h"

#include "base/mem.h"

#include <string.h>

/* --- words --- */
struct sp_perf_text sp_perf_trim(struct sp_perf_text t)
{
	while (t.n && sp_perf_is_space(t.s[0]))
		t.s++, t.n--;
	while (t.n && sp_perf_is_space(t.s[t.n - 1]))
		t.n--;
	return t;
}

struct sp_perf_text sp_perf_last_word(struct sp_perf_text *t)
{
	size_t end = t->n, start;

	while (end && sp_perf_is_space(t->s[end - 1]))
		end--;
	for (start = end; start && !sp_perf_is_space(t->s[start - 1]);)
		start--;
	t->n = start;
	return (struct sp_perf_text){t->s + start, end - start};
}

static bool perf_header_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The whole text as a decimal number; saturates. */
static bool parse_number(struct sp_perf_text t, uint64_t *ret_number)
{
	uint64_t number = 0;

	for (size_t i = 0; i < t.n; i++) {
		if (!perf_header_is_digit(t.s[i]))
			return false;
		if (__builtin_mul_overflow(number, (uint64_t)10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(t.s[i] - '0'), &number))
			number = UINT64_MAX;
	}
	if (t.n)
		*ret_number = number;
	return t.n > 0;
}

bool sp_perf_begins(struct sp_perf_text t, const char *with)
{
	size_t n = strlen(with);

	return t.n >= n && !memcmp(t.s, with, n);
}

static struct sp_perf_text behind(struct sp_perf_text line, const char *at)
{
	return (struct sp_perf_text){at, (size_t)(line.s + line.n - at)};
}

static struct sp_perf_text before(struct sp_perf_text line, const char *at)
{
	return (struct sp_perf_text){line.s, (size_t)(at - line.s)};
}

/* The next colon before white space or the end: it ends a field, and names seldom contain it. */
static const char *next_colon(struct sp_perf_text line, const char *from)
{
	const char *end = line.s + line.n, *at = from;

	while (at < end && (at = memchr(at, ':', (size_t)(end - at)))) {
		if (at + 1 == end || sp_perf_is_space(at[1]))
			return at;
		at++;
	}
	return NULL;
}

/* --- what stands before the time --- */
/* A process or thread id; perf writes -1 where it knows none. */
static bool parse_id(struct sp_perf_text t, uint32_t *ret_id)
{
	uint64_t number = 0;
	bool is_none = t.n == 2 && sp_perf_begins(t, "-1");

	if (!is_none && (!parse_number(t, &number) || number > UINT32_MAX))
		return false;
	*ret_id = (uint32_t)number;
	return true;
}

static bool parse_ids(struct sp_perf_text word, struct sp_perf_header *h)
{
	const char *slash = word.n ? memchr(word.s, '/', word.n) : NULL;

	if (!slash) {
		h->has_ids = parse_id(word, &h->tid);
		h->pid = h->tid;
	} else {
		h->has_ids = parse_id(before(word, slash), &h->pid) && parse_id(behind(word, slash + 1), &h->tid);
	}
	return h->has_ids;
}

static bool is_cpu(struct sp_perf_text word)
{
	uint64_t cpu;

	return word.n > 2 && word.s[0] == '[' && word.s[word.n - 1] == ']' &&
	       parse_number((struct sp_perf_text){word.s + 1, word.n - 2}, &cpu);
}

/* `-F misc` writes the CPU mode in letters, `-F tod` the time of day, as do other clocks of newer versions. */
static bool is_made_of(struct sp_perf_text word, const char *letters)
{
	for (size_t i = 0; i < word.n; i++)
		if (!strchr(letters, word.s[i]))
			return false;
	return word.n > 0;
}

/* Takes CPU and the like and the ids from the end of `head`; what is left is the thread's name. */
static bool take_ids(struct sp_perf_text head, struct sp_perf_header *h)
{
	const struct sp_perf_text all = head;
	struct sp_perf_text word = sp_perf_last_word(&head);

	if (is_made_of(word, "0123456789:.") && memchr(word.s, ':', word.n)) {
		word = sp_perf_last_word(&head);
		if (is_made_of(word, "0123456789-") && word.n == 10)
			word = sp_perf_last_word(&head);
	}
	if (word.n <= 4 && is_made_of(word, "UKHGSMEspu"))
		word = sp_perf_last_word(&head);
	if (is_cpu(word))
		word = sp_perf_last_word(&head);
	if (parse_ids(word, h)) {
		h->who = before(all, word.s + word.n);
		h->comm = sp_perf_trim(head);
	} else {
		h->who = all;
		h->comm = sp_perf_trim(all);
	}
	return h->has_ids;
}

/* --- the time --- */
bool sp_perf_time_parse(struct sp_perf_text word, uint64_t *ret_ns)
{
	const char *dot = word.n ? memchr(word.s, '.', word.n) : NULL;
	struct sp_perf_text decimals = dot ? behind(word, dot + 1) : (struct sp_perf_text){0};
	uint64_t seconds, fraction;

	if (!dot || decimals.n > 9 || !parse_number(before(word, dot), &seconds) || !parse_number(decimals, &fraction))
		return false;
	for (size_t i = decimals.n; i < 9; i++)
		fraction *= 10;
	if (__builtin_mul_overflow(seconds, UINT64_C(1000000000), &seconds) ||
	    __builtin_add_overflow(seconds, fraction, ret_ns))
		return false;
	return true;
}

static bool header_at(struct sp_perf_text line, const char *colon, struct sp_perf_header *ret_header)
{
	struct sp_perf_text head = before(line, colon), word;
	struct sp_perf_header h = {.has_time = true, .rest = behind(line, colon + 1)};

	if (colon == line.s || !perf_header_is_digit(colon[-1]))
		return false;
	word = sp_perf_last_word(&head);
	if (!sp_perf_time_parse(word, &h.time_ns))
		return false;
	take_ids(head, &h);
	*ret_header = h;
	return true;
}

/*
 * A thread's name may contain what looks like a time. The last time with ids before it counts whose COMM is no longer
 * than the kernel allows: with a longer one it is part of a later field. Without ids, the first time counts.
 */
static bool find_time(struct sp_perf_text line, struct sp_perf_header *best)
{
	bool found = false, too_long = false;

	for (const char *at = line.s; !too_long && (at = next_colon(line, at)); at++) {
		struct sp_perf_header h;

		if (!header_at(line, at, &h))
			continue;
		too_long = h.comm.n > SP_PERF_COMM_MAX && found && best->has_ids;
		if (!found || (h.has_ids && (!best->has_ids || !too_long)))
			*best = h;
		found = true;
	}
	return found;
}

/* --- period and event --- */
static bool is_event(struct sp_perf_text name)
{
	size_t hex = 0;

	while (hex < name.n && strchr("0123456789abcdef", name.s[hex]))
		hex++;
	if (!name.n || (hex >= 12 && hex < name.n && sp_perf_is_space(name.s[hex])))
		return false; /* an address: there is no event, and the symbol holds a colon */
	return !memmem(name.s, name.n, " (", 2);
}

static void parse_tail(struct sp_perf_header *h)
{
	struct sp_perf_text tail = sp_perf_trim(h->rest);
	size_t word = 0;
	const char *colon;

	h->is_record = sp_perf_begins(tail, "PERF_RECORD_");
	while (word < tail.n && !sp_perf_is_space(tail.s[word]))
		word++;
	if (h->is_record)
		return;
	h->has_period = parse_number((struct sp_perf_text){tail.s, word}, &h->period);
	if (h->has_period) {
		tail = sp_perf_trim(behind(tail, tail.s + word));
		h->rest = tail;
	}
	colon = next_colon(tail, tail.s);
	if (colon && is_event(before(tail, colon))) {
		h->event = sp_perf_trim(before(tail, colon));
		h->rest = behind(tail, colon + 1);
	}
}

/* --- headers without a time --- */
static bool find_record(struct sp_perf_text line)
{
	const char *at = line.n ? memmem(line.s, line.n, "PERF_RECORD_", 12) : NULL;
	struct sp_perf_text head = at ? before(line, at) : (struct sp_perf_text){0}, word;
	struct sp_perf_header ids = {0};

	if (!at || at == line.s)
		return at;
	word = sp_perf_last_word(&head);
	return sp_perf_is_space(at[-1]) && (is_cpu(word) || parse_ids(word, &ids));
}

/* `COMM TID PERIOD EVENT:`; of two numbers the second is the period, a single one is the thread. */
static bool find_event(struct sp_perf_text line, struct sp_perf_header *h)
{
	const char *colon = next_colon(line, line.s);
	struct sp_perf_text head, shorter, word;

	if (!colon)
		return false;
	head = before(line, colon);
	h->event = sp_perf_last_word(&head);
	if (!h->event.n || h->event.s + h->event.n != colon)
		return false;
	h->rest = behind(line, colon + 1);
	shorter = head;
	word = sp_perf_last_word(&shorter);
	h->has_period = parse_number(word, &h->period) && take_ids(shorter, h);
	if (!h->has_period)
		take_ids(head, h);
	return true;
}

/* `COMM TID ADDRESS SYMBOL` or less, without call chains: only the column shows where the frame begins. */
static bool find_column(struct sp_perf_text line, struct sp_perf_header *h)
{
	struct sp_perf_text frame = sp_perf_frame_column(line), head = before(line, frame.s);

	if (*line.s == '\t')
		return false;
	take_ids(head, h);
	h->rest = (struct sp_perf_text){head.s + head.n, line.n - head.n};
	return frame.n > 0;
}

/* `PID/TID PERIOD`, or, further in, `TID PERIOD`, and nothing else: without a slash or the room it may be anything. */
static bool find_period(struct sp_perf_text line, struct sp_perf_header *ret_header)
{
	struct sp_perf_text head = sp_perf_trim(line), word = sp_perf_last_word(&head);
	struct sp_perf_header h = {0};

	h.has_period = parse_number(word, &h.period) && take_ids(head, &h);
	if (!h.has_period || (!memchr(h.who.s, '/', h.who.n) && (*line.s != ' ' || h.comm.n)))
		return false;
	*ret_header = h;
	return true;
}

bool sp_perf_header_parse(struct sp_perf_text line, struct sp_perf_header *ret_header)
{
	struct sp_perf_header h = {0};
	bool has_time = find_time(line, &h);

	/* a time behind a long text without ids is more likely a tracepoint's argument */
	if (has_time && !h.has_ids && h.comm.n > SP_PERF_COMM_MAX) {
		struct sp_perf_header without = {0};

		if (find_event(line, &without) && without.has_ids) {
			h = without;
			has_time = false;
		}
	}
	if (has_time) {
		parse_tail(&h);
	} else {
		h.is_record = find_record(line);
		if (!h.event.n && !find_event(line, &h)) {
			h.event = (struct sp_perf_text){0};
			if (!h.is_record && !find_period(line, &h))
				h.is_column = find_column(line, &h);
		}
	}
	h.is_sure =
	    (h.has_time && (h.has_ids || h.event.n)) || (h.has_ids && (h.event.n || h.has_period)) || h.is_record;
	if (!h.is_sure && h.rest.n && !h.is_column)
		h.is_column = sp_perf_frame_column(h.rest).n;
	h.is_sure |= h.is_column;
	*ret_header = h;
	return sp_perf_trim(line).n > 0;
}

/* --- samples without a frame --- */
/* As tools/perf/builtin-script.c pads its columns; ids are wider since Linux 5.13. */
enum { COMM_WIDTH = 16, ID_WIDTH = 7, OLD_ID_WIDTH = 5, PERIOD_WIDTH = 10 };

/* The next word, with the spaces before it. */
static struct sp_perf_text next_column(struct sp_perf_text rest)
{
	size_t n = 0;

	while (n < rest.n && rest.s[n] == ' ')
		n++;
	while (n < rest.n && rest.s[n] != ' ')
		n++;
	return (struct sp_perf_text){rest.s, n};
}

/* Right-justified in so many bytes, or too long for them. */
static bool fills(struct sp_perf_text column, size_t width)
{
	return column.n == width || (column.n > width && *column.s != ' ');
}

/* Cuts a column of n bytes, and the space behind it, off *rest. */
static void pass(struct sp_perf_text *rest, size_t n)
{
	*rest = behind(*rest, rest->s + SP_MIN(n + 1, rest->n));
}

/* `%7d ` or `%7d/%-7d `; an id has 7 digits at most. */
static bool take_id_column(struct sp_perf_text *rest, struct sp_perf_header *h)
{
	struct sp_perf_text column = next_column(*rest), pid = column;
	const char *slash = column.n ? memchr(column.s, '/', column.n) : NULL;
	struct sp_perf_header ids = {0};
	size_t n = column.n, width;

	if (slash)
		pid = before(column, slash);
	width = fills(pid, ID_WIDTH) ? ID_WIDTH : OLD_ID_WIDTH;
	if (!fills(pid, width) || pid.n > ID_WIDTH || !parse_ids(sp_perf_trim(column), &ids))
		return false;
	if (slash) /* the thread's is padded behind it */
		while (n < pid.n + 1 + width && n < rest->n && rest->s[n] == ' ')
			n++;
	h->pid = ids.pid;
	h->tid = ids.tid;
	h->has_ids = true;
	pass(rest, n);
	return true;
}

static bool take_cpu_column(struct sp_perf_text *rest)
{
	struct sp_perf_text column = next_column(*rest);

	if (!is_cpu(column))
		return false;
	pass(rest, column.n);
	return true;
}

static bool take_time_column(struct sp_perf_text *rest, struct sp_perf_header *h)
{
	struct sp_perf_text column = next_column(*rest), word = sp_perf_trim(column);

	if (!word.n || word.s[--word.n] != ':' || !sp_perf_time_parse(word, &h->time_ns))
		return false;
	pass(rest, column.n);
	h->has_time = true;
	return true;
}

static bool take_period_column(struct sp_perf_text *rest, struct sp_perf_header *h)
{
	struct sp_perf_text column = next_column(*rest);

	if (!fills(column, PERIOD_WIDTH) || !parse_number(sp_perf_trim(column), &h->period))
		return false;
	pass(rest, column.n);
	h->has_period = true;
	return true;
}

static bool take_event_column(struct sp_perf_text *rest, struct sp_perf_header *h)
{
	struct sp_perf_text column = next_column(*rest), word = sp_perf_trim(column);

	if (word.n < 2 || word.s[--word.n] != ':')
		return false;
	pass(rest, column.n);
	h->event = word;
	return true;
}

/* The first `comm` bytes are the thread's name. */
static unsigned int columns_behind(struct sp_perf_text line, size_t comm, struct sp_perf_header *ret_header)
{
	struct sp_perf_header h = {.is_sure = true};
	struct sp_perf_text rest = line;
	unsigned int columns = comm ? SP_PERF_COMM : 0;

	h.who = before(line, line.s + comm);
	h.comm = sp_perf_trim(h.who);
	if (comm)
		pass(&rest, comm);
	if (take_id_column(&rest, &h)) {
		columns |= SP_PERF_ID;
		h.who = before(line, rest.s);
	}
	columns |= take_cpu_column(&rest) ? SP_PERF_CPU : 0;
	columns |= take_time_column(&rest, &h) ? SP_PERF_TIME : 0;
	columns |= take_period_column(&rest, &h) ? SP_PERF_PERIOD : 0;
	columns |= take_event_column(&rest, &h) ? SP_PERF_EVENT : 0;
	*ret_header = h;
	return sp_perf_trim(rest).n ? 0 : columns;
}

/* Without a name first: a time may be as wide as one. */
unsigned int sp_perf_columns_parse(struct sp_perf_text line, struct sp_perf_header *ret_header)
{
	unsigned int columns = columns_behind(line, 0, ret_header);
	bool has_comm = line.n >= COMM_WIDTH && *line.s == ' ' && line.s[COMM_WIDTH - 1] != ' ' &&
			(line.n == COMM_WIDTH || line.s[COMM_WIDTH] == ' ');

	return columns || !has_comm ? columns : columns_behind(line, COMM_WIDTH, ret_header);
}
