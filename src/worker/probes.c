/* SPDX-License-Identifier: GPL-2.0-or-later */
/* probes.c: both ends of what a parser is asked about places of probes. What it answers is as foreign as the file. */
#include "base/cursor.h"
#include "base/error.h"
#include "base/io.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "worker/jobs_probes.h"
#include "worker/priv.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The question: these words, the addresses, and the globs, each with its NUL, filled up with zeros. */
enum { WORD_GLOBS, WORD_ADDRESSES, WORD_FLAGS, N_WORDS };
enum { WAIT_MS = 60000 };
enum {
	INNER = 1,
	OR_INNER = 2,
	RETURNS = 4,
	NOP5_IS_FAST = 8,
	RETURN_PROBE = 16,
	NO_THROW = 32,
	ANY_GLOB = 64,
	ENDS = 128,
	ARGUMENTS_AT = 8
};

/* --- asking --- */
static size_t globs_bytes(const struct sp_probe_what *what)
{
	size_t n = 0;
	for (size_t i = 0; i < what->n_globs; i++)
		n += strlen(what->globs[i]) + 1;
	return n;
}

static uint64_t flags_of(const struct sp_probe_what *what)
{
	return (what->inner ? INNER : 0) | (what->or_inner ? OR_INNER : 0) | (what->returns ? RETURNS : 0) |
	       (what->nop5_is_fast ? NOP5_IS_FAST : 0) | (what->return_probe ? RETURN_PROBE : 0) |
	       (what->no_throw ? NO_THROW : 0) | (what->any_glob ? ANY_GLOB : 0) | (what->ends ? ENDS : 0) |
	       (uint64_t)what->arguments << ARGUMENTS_AT;
}

static int ask(struct sp_workers *w, enum sp_job_kind kind, int fd, const struct sp_probe_what *what,
	       union sp_job_done done, void *arg)
{
	size_t n = N_WORDS + what->n_addresses + (globs_bytes(what) + sizeof(uint64_t) - 1) / sizeof(uint64_t);
	SP_FREE uint64_t *words = calloc(n, sizeof(*words));
	if (!words)
		return -ENOMEM;
	words[WORD_GLOBS] = what->n_globs;
	words[WORD_ADDRESSES] = what->n_addresses;
	words[WORD_FLAGS] = flags_of(what);
	if (what->n_addresses)
		memcpy(words + N_WORDS, what->addresses, what->n_addresses * sizeof(*words));
	char *text = (char *)(words + N_WORDS + what->n_addresses);
	for (size_t i = 0; i < what->n_globs; i++) {
		size_t bytes = strlen(what->globs[i]) + 1;
		memcpy(text, what->globs[i], bytes);
		text += bytes;
	}
	return sp_workers_ask(w, kind, (struct sp_question){fd, -1, 0, words, n}, done, arg);
}

int sp_workers_points(struct sp_workers *w, int fd, const struct sp_probe_what *what,
		      void (*done)(void *arg, int r, struct sp_probe_set *set), void *arg)
{
	return ask(w, SP_JOB_POINTS, fd, what, (union sp_job_done){.points = done}, arg);
}

int sp_workers_marks(struct sp_workers *w, int fd, const char *provider, const char *name,
		     void (*done)(void *arg, int r, struct sp_usdts *marks), void *arg)
{
	const char *globs[] = {name, provider};
	const struct sp_probe_what what = {.globs = globs, .n_globs = provider ? 2 : 1};
	return ask(w, SP_JOB_MARKS, fd, &what, (union sp_job_done){.marks = done}, arg);
}

void sp_workers_probes_wait(struct sp_workers *w, const void *args, size_t n, size_t size)
{
	while (sp_workers_outstanding(w) && sp_workers_wait(w, WAIT_MS) < 0) {
		sp_error_clear();
		for (size_t i = 0; i < n; i++)
			sp_workers_cancel(w, (const char *)args + i * size);
	}
}

char *sp_workers_probes_why(int r)
{
	return strdup(r == -ECANCELED ? "not looked at within a minute" : sp_error_text(r));
}

/* --- in the parser --- */
struct asked {
	uint64_t *words;
	const char **globs;
	struct sp_probe_what what;
};

static void asked_done(struct asked *q)
{
	free(q->words);
	free(q->globs);
}

static int asked_take(struct asked *q, size_t n)
{
	size_t n_globs = q->words[WORD_GLOBS], n_addresses = q->words[WORD_ADDRESSES];
	uint64_t flags = q->words[WORD_FLAGS];
	if (n_addresses > n - N_WORDS || n_globs > (n - N_WORDS - n_addresses) * sizeof(uint64_t))
		return -EINVAL;
	q->globs = calloc(n_globs + 1, sizeof(*q->globs));
	if (!q->globs)
		return -ENOMEM;
	const char *text = (const char *)(q->words + N_WORDS + n_addresses), *end = (const char *)(q->words + n);
	for (size_t i = 0; i < n_globs && text < end; i++, text += strlen(text) + 1)
		q->globs[i] = text;
	q->what = (struct sp_probe_what){.globs = q->globs,
					 .n_globs = n_globs,
					 .addresses = q->words + N_WORDS,
					 .n_addresses = n_addresses,
					 .inner = flags & INNER,
					 .or_inner = flags & OR_INNER,
					 .returns = flags & RETURNS,
					 .return_probe = flags & RETURN_PROBE,
					 .no_throw = flags & NO_THROW,
					 .any_glob = flags & ANY_GLOB,
					 .ends = flags & ENDS,
					 .nop5_is_fast = flags & NOP5_IS_FAST,
					 .arguments = (uint8_t)(flags >> ARGUMENTS_AT)};
	return n_globs && !q->globs[n_globs - 1] ? -EINVAL : 0;
}

static int asked_read(struct asked *q, int memfd, size_t n)
{
	if (n < N_WORDS)
		return -EINVAL;
	q->words = calloc(n + 1, sizeof(*q->words)); /* one more, which ends the last glob */
	int r = q->words ? sp_read_at(memfd, q->words, n * sizeof(*q->words), 0) : -ENOMEM;
	return r < 0 ? r : asked_take(q, n);
}

static void text_put(FILE *out, const char *text)
{
	fwrite(text, strlen(text) + 1, 1, out);
}

static void points_put(FILE *out, const struct sp_probe_set *s)
{
	struct sp_packed_points head = {.n = s->n,
					.n_functions = s->n_functions,
					.n_ifuncs = s->n_ifuncs,
					.n_ifuncs_unsure = s->n_ifuncs_unsure,
					.is_go = s->is_go};
	for (size_t i = 0; i < SP_PROBE_N_REFUSALS; i++)
		head.refused[i] = s->refused[i];
	for (size_t i = 0; i < s->n; i++)
		head.n_names += s->points[i].n_names;
	fwrite(&head, sizeof(head), 1, out);
	for (size_t i = 0; i < s->n; i++) {
		const struct sp_probe_point *p = &s->points[i];
		struct sp_packed_point point = {.offset = p->offset,
						.function = p->function,
						.address = p->address,
						.n_names = p->n_names,
						.cost = p->cost,
						.pushed = p->pushed,
						.loops = p->loops,
						.length = p->length,
						.jump = p->jump};
		fwrite(&point, sizeof(point), 1, out);
		for (size_t k = 0; k < p->n_names; k++)
			text_put(out, p->names[k]);
	}
}

static void marks_put(FILE *out, const struct sp_usdts *u)
{
	uint64_t head[] = {u->n, u->n_bad};
	fwrite(head, sizeof(head), 1, out);
	for (size_t i = 0; i < u->n; i++) {
		uint64_t places[] = {u->at[i].offset, u->at[i].semaphore};
		fwrite(places, sizeof(places), 1, out);
		text_put(out, u->at[i].provider);
		text_put(out, u->at[i].name);
		text_put(out, u->at[i].arguments);
	}
}

static int put_all(const struct sp_probe_set *s, const struct sp_usdts *u, int memfd, uint64_t *ret_bytes)
{
	SP_FREE char *bytes = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&bytes, &size);
	if (!out)
		return -ENOMEM;
	if (s)
		points_put(out, s);
	else
		marks_put(out, u);
	if (fclose(out) != 0)
		return -ENOMEM;
	*ret_bytes = size;
	if (size > SP_PROBES_MAX_BYTES)
		return sp_fail(-EFBIG, "tell of %zu bytes of places", size);
	return sp_write_at(memfd, bytes, size, 0);
}

int sp_parser_points(struct sp_elf *e, int memfd, size_t n, struct sp_answer_message *a)
{
	__attribute__((cleanup(asked_done))) struct asked q = {0};
	struct sp_probe_set s = {0};
	int r = asked_read(&q, memfd, n);
	r = r < 0 ? r : sp_probe_points(e, &q.what, &s);
	if (r >= 0 && s.n > SP_JOB_MAX_OFFSETS)
		r = sp_fail_said(-E2BIG, "more than %d functions can be probed", SP_JOB_MAX_OFFSETS);
	r = r < 0 ? r : put_all(&s, NULL, memfd, &a->bytes);
	sp_probe_set_done(&s);
	return r;
}

int sp_parser_marks(struct sp_elf *e, int memfd, size_t n, struct sp_answer_message *a)
{
	__attribute__((cleanup(asked_done))) struct asked q = {0};
	struct sp_usdts u = {0};
	int r = asked_read(&q, memfd, n);
	r = r < 0 || q.what.n_globs ? r : -EINVAL;
	r = r < 0 ? r : sp_usdt_choose(e, q.what.n_globs > 1 ? q.globs[1] : NULL, q.globs[0], &u);
	r = r < 0 ? r : put_all(NULL, &u, memfd, &a->bytes);
	sp_usdts_done(&u);
	return r;
}

/* --- its answer --- */
static const char *text_take(struct sp_cursor *c, struct sp_arena *arena)
{
	const char *text = sp_cursor_str(c);
	size_t n = strlen(text) + 1;
	char *copy = c->bad ? NULL : sp_arena_take(arena, n);
	return copy ? memcpy(copy, text, n) : NULL;
}

struct names { /* of the set's, those that are not taken yet */
	const char **at, **end;
};

static int names_take(struct sp_cursor *c, struct sp_probe_set *s, struct sp_probe_point *p, struct names *left)
{
	if (p->n_names > (size_t)(left->end - left->at))
		return -EBADMSG;
	p->names = left->at;
	for (size_t i = 0; i < p->n_names; i++, left->at++) {
		*left->at = text_take(c, &s->strings);
		if (!*left->at)
			return c->bad ? -EBADMSG : -ENOMEM;
		if (!**left->at)
			return -EBADMSG;
	}
	p->name = p->n_names ? p->names[0] : NULL;
	s->n_aliases += p->n_names ? p->n_names - 1 : 0;
	return 0;
}

/* A place beyond the file, or far from its function, would be another file's or function's. */
static bool is_point(const struct sp_probe_point *p, const struct sp_probe_point *last, const struct sp_job *j)
{
	if (last && (p->offset <= last->offset || p->function <= last->function))
		return false;
	return p->offset < j->file_bytes && p->length && p->length <= SP_POINT_MAX_LENGTH && p->function <= p->offset &&
	       p->offset - p->function < SP_POINT_REACH && p->cost < SP_PROBE_N_COSTS &&
	       !(p->pushed && j->offsets[WORD_FLAGS] & RETURNS);
}

static int point_take(struct sp_cursor *c, const struct sp_job *j, struct sp_probe_set *s, struct names *left)
{
	struct sp_probe_point *p = &s->points[s->n];
	p->offset = sp_cursor_u64(c);
	p->function = sp_cursor_u64(c);
	p->address = sp_cursor_u64(c);
	p->n_names = sp_cursor_u32(c);
	p->jump = (int32_t)sp_cursor_u32(c);
	p->cost = sp_cursor_u8(c);
	p->pushed = sp_cursor_u8(c);
	uint8_t loops = sp_cursor_u8(c);
	p->length = sp_cursor_u8(c);
	uint32_t zero = sp_cursor_u32(c);
	p->loops = loops;
	if (c->bad || loops > 1 || zero || !is_point(p, s->n ? p - 1 : NULL, j))
		return -EBADMSG;
	s->n_cost[p->cost]++;
	s->n_moved += p->offset > p->function;
	s->n_loops += p->loops;
	s->n++;
	return names_take(c, s, p, left);
}

/* Counts that do not add up would be told to the user. */
static int head_take(struct sp_cursor *c, struct sp_probe_set *s, size_t *ret_n, size_t *ret_names)
{
	struct sp_packed_points head;
	size_t n_refused = 0;
	const uint8_t *bytes = c->data;
	sp_cursor_skip(c, sizeof(head));
	if (c->bad)
		return -EBADMSG;
	memcpy(&head, bytes, sizeof(head));
	for (size_t i = 0; i < SP_PROBE_N_REFUSALS; i++) {
		s->refused[i] = head.refused[i];
		if (head.refused[i] > SP_PROBES_MAX_FUNCTIONS)
			return -EBADMSG;
		n_refused += head.refused[i];
	}
	s->n_functions = head.n_functions;
	s->n_ifuncs = head.n_ifuncs;
	s->n_ifuncs_unsure = head.n_ifuncs_unsure;
	s->is_go = head.is_go;
	*ret_n = head.n;
	*ret_names = head.n_names;
	return head.n && head.n <= sp_cursor_left(c) / sizeof(struct sp_packed_point) &&
		       head.n_names <= sp_cursor_left(c) / 2 && head.n + n_refused == head.n_functions &&
		       head.n_ifuncs <= SP_PROBES_MAX_FUNCTIONS && head.n_ifuncs_unsure <= head.n_ifuncs &&
		       head.is_go <= 1
		   ? 0
		   : -EBADMSG;
}

static int points_take(struct sp_cursor *c, struct sp_job *j)
{
	struct sp_probe_set *s = &j->points;
	size_t n, n_names;
	int r = head_take(c, s, &n, &n_names);
	if (r < 0)
		return r;
	s->points = calloc(n, sizeof(*s->points));
	s->names = calloc(n_names + 1, sizeof(*s->names));
	if (!s->points || !s->names)
		return -ENOMEM;
	struct names left = {s->names, s->names + n_names};
	while (s->n < n && r == 0)
		r = point_take(c, j, s, &left);
	return r < 0 ? r : left.at != left.end || sp_cursor_left(c) ? -EBADMSG : 0;
}

static int mark_take(struct sp_cursor *c, const struct sp_job *j, struct sp_usdts *u)
{
	struct sp_usdt *x = &u->at[u->n];
	x->offset = sp_cursor_u64(c);
	x->semaphore = sp_cursor_u64(c);
	x->provider = text_take(c, &u->strings);
	x->name = text_take(c, &u->strings);
	x->arguments = text_take(c, &u->strings);
	if (c->bad || x->offset >= j->file_bytes || x->semaphore >= j->file_bytes)
		return -EBADMSG;
	if (!x->provider || !x->name || !x->arguments)
		return -ENOMEM;
	u->n++;
	return *x->provider && *x->name ? 0 : -EBADMSG;
}

static int marks_take(struct sp_cursor *c, struct sp_job *j)
{
	struct sp_usdts *u = &j->marks;
	size_t n = sp_cursor_u64(c);
	int r = 0;
	u->n_bad = sp_cursor_u64(c);
	if (c->bad || !n || n > sp_cursor_left(c) / (2 * sizeof(uint64_t)) || u->n_bad > SP_PROBES_MAX_FUNCTIONS)
		return -EBADMSG;
	u->at = calloc(n, sizeof(*u->at));
	u->capacity = n;
	r = u->at ? 0 : -ENOMEM;
	while (u->n < n && r == 0)
		r = mark_take(c, j, u);
	return r < 0 ? r : sp_cursor_left(c) ? -EBADMSG : 0;
}

int sp_job_take_probes(struct sp_job *j, const struct sp_answer_message *a)
{
	SP_FREE void *bytes = NULL;
	int r = a->bytes > SP_PROBES_MAX_BYTES || j->n_offsets < N_WORDS ? -EBADMSG
									 : sp_job_read(j->memfd, a->bytes, &bytes);
	if (r < 0)
		return r;
	struct sp_cursor c = sp_cursor_on(bytes, a->bytes);
	return j->kind == SP_JOB_POINTS ? points_take(&c, j) : marks_take(&c, j);
}
