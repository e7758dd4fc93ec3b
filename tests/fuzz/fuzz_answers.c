/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_answers.c: any bytes as what a worker that was taken over answers: a message through its socket, and a memfd.
 *
 * The first bytes say what was asked, and how many offsets; then come the message's first bytes, with a text, or if
 * the second byte says so only a good head, and what the memfd has. What is taken says of each offset what contains
 * it, has texts that end, numbers that were asked for, and tables that are valid; places of probes lie in the file, in
 * order; source lines become a profile (`--inline`) with the same sums and no stack that is shorter.
 */
#include "base/error.h"
#include "base/mem.h"
#include "elf/debug.h"
#include "profile/profile.h"
#include "require.h"
#include "symbol/name_table.h"
#include "symbol/names.h"
#include "symbol/source_lines.h"
#include "unwind/build.h"
#include "unwind/hotspot_image.h"
#include "worker/message.h"
#include "worker/priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

enum { MAX_OFFSETS = 16, GOOD_HEAD = 1, WITH_TEXT = 2, FILE_BYTES = 0x2000 };

static uint64_t offset_of(size_t i)
{
	return 0x1000 + 16 * i;
}

static void check_text(const char *text)
{
	require(!text || strlen(text) <= SP_NAME_MAX);
}

static void take_names(void *arg, int r, struct sp_name *names, size_t n, const char *warning)
{
	(void)arg;
	require(r == 0 || !warning);
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct sp_name *name = &names[i];
		require(name->size ? offset_of(i) >= name->start && offset_of(i) - name->start < name->size
				   : name->start == offset_of(i) && !name->name);
		require(name->name || !name->linkage_name);
		check_text(name->name);
		check_text(name->linkage_name);
	}
	if (names)
		sp_names_done(names, n);
	free(names);
}

/* --- source lines, and --inline --- */
struct resolving {
	struct sp_source_lines *sources;
	size_t n;
};

static int resolve(void *arg, uint32_t file, const uint64_t *offsets, size_t n, struct sp_source_lines *sources)
{
	struct resolving *r = arg;

	(void)file;
	require(n == r->n);
	for (size_t i = 0; i < n; i++) {
		require(offsets[i] == offset_of(i));
		sources[i] = r->sources[i];
		r->sources[i] = (struct sp_source_lines){0};
	}
	return 0;
}

/* Two stacks, of all frames and of one. */
static struct sp_profile *profile_of(size_t n)
{
	struct sp_profile *p = NULL;
	uint32_t frames[MAX_OFFSETS];
	struct sp_file file = {.kind = SP_FILE_ELF};

	require(sp_profile_new(&p) == 0 && sp_profile_add_value_type(p, "samples", "count") == 0);
	file.name = file.tag = (uint32_t)sp_profile_add_string(p, "liba.so");
	uint32_t f = (uint32_t)sp_profile_add_file(p, &file);
	struct sp_func func = {
	    .name = (uint32_t)sp_profile_add_string(p, "whole"), .file = f, .start = 0x1000, .size = 4096};
	uint32_t whole = (uint32_t)sp_profile_add_func(p, &func);
	for (size_t i = 0; i < n; i++) {
		frames[i] = (uint32_t)sp_profile_add_frame(p, &(struct sp_frame){.file = f, .offset = offset_of(i)});
		sp_profile_frame(p, frames[i])->func = whole;
	}
	for (uint32_t k = 1; k <= 2; k++) {
		struct sp_stack stack = {.n_frames = k == 1 ? (uint32_t)n : 1, .frames = frames};
		int64_t value = k, number = sp_profile_add_stack(p, &stack);
		require(number > 0 && sp_profile_add(p, 0, (uint32_t)number, 0, &value) == 0);
	}
	return p;
}

static void inline_all(struct sp_source_lines *sources, size_t n)
{
	struct resolving resolving = {sources, n};
	const struct sp_source_resolver resolver = {&resolving, resolve};
	struct sp_profile *p = profile_of(n), *q = NULL;
	int64_t sum = 0;

	require(sp_symbol_inline(p, &resolver, &q) == 0);
	for (uint32_t i = 0; i < sp_profile_n_rows(q); i++) {
		struct sp_stack stack = sp_profile_stack(q, sp_profile_row(q, i)->user);
		int64_t value = sp_profile_row(q, i)->values[0];
		require(stack.n_frames >= (value == 2 ? 1 : n) && stack.n_frames <= n * SP_SOURCE_LINES_MAX);
		sum += value;
	}
	require(sum == 3);
	sp_profile_free(q);
	sp_profile_free(p);
}

static void take_sources(void *arg, int r, struct sp_source_lines *sources, size_t n)
{
	(void)arg;
	for (size_t i = 0; i < n && r == 0; i++) {
		require(sources[i].n <= SP_SOURCE_LINES_MAX);
		for (size_t k = 0; k < sources[i].n; k++) {
			check_text(sources[i].frames[k].name);
			check_text(sources[i].frames[k].source);
		}
	}
	if (r == 0 && n > 1)
		inline_all(sources, n);
	if (sources)
		sp_source_lines_done(sources, n);
	free(sources);
}

/* --- the others --- */
static void take_identity(void *arg, struct sp_identify_result *id)
{
	(void)arg;
	if (id->r == 0)
		require(id->build_id_len <= sizeof(id->build_id) &&
			(!id->package.name[0] || sp_elf_package_valid(&id->package)));
	free(id->soname);
}

static void take_blob(void *arg, int r, struct sp_blob *blob)
{
	(void)arg;
	require((r == 0) == (blob != NULL));
	free(blob);
}

static void take_debug(void *arg, int r, const struct sp_elf_debug *debug, uint32_t crc)
{
	(void)arg;
	(void)crc;
	require(r < 0 || (debug->build_id_len <= sizeof(debug->build_id) && strlen(debug->link) < sizeof(debug->link)));
}

static void take_verified(void *arg, int r, const uint64_t *places, size_t n)
{
	(void)arg;
	for (size_t i = 0; i < n && r == 0; i++)
		require(places[i] % 16 == 0 && (i == 0 || places[i] > places[i - 1]));
}

static void take_opened(void *arg, struct sp_open_result *result)
{
	(void)arg;
	require(!result->path || strlen(result->path) <= SP_JOB_MAX_TEXT);
	sp_cleanup_close(&result->fd);
	free(result->path);
}

/* --- spans, of which the session makes a table of names by itself --- */
static int table_fd = -1;

static void take_spans(void *arg, int r, const struct sp_name_table_head *head)
{
	uint64_t offsets[MAX_OFFSETS];
	struct sp_name names[MAX_OFFSETS];

	require((r == 0) == (head != NULL));
	if (r == 0) {
		const struct sp_name_table t = {.fd = table_fd,
						.n_blocks = head->n_blocks,
						.index_at = head->index_at,
						.index_hash = head->index_hash};
		for (size_t i = 0; i < MAX_OFFSETS; i++)
			offsets[i] = offset_of(i);
		require(memchr(head->warning, '\0', sizeof(head->warning)));
		require(sp_name_table_find(&t, offsets, MAX_OFFSETS, names) == 0);
		for (size_t i = 0; i < MAX_OFFSETS; i++) {
			require(!names[i].size ||
				(offsets[i] >= names[i].start && offsets[i] - names[i].start < names[i].size));
			check_text(names[i].name);
		}
		sp_names_done(names, MAX_OFFSETS);
	}
	sp_cleanup_close(&table_fd);
	(void)arg;
}

/* --- places of probes, where a breakpoint may do harm --- */
static void take_points(void *arg, int r, struct sp_probe_set *set)
{
	size_t n_names = 0, n = 0;

	(void)arg;
	require((r == 0) == (set != NULL));
	for (size_t i = 0; r == 0 && i < set->n; i++) {
		const struct sp_probe_point *p = &set->points[i];
		require(p->offset < FILE_BYTES && p->function <= p->offset && p->offset - p->function < SP_POINT_REACH);
		require(p->cost < SP_PROBE_N_COSTS && p->name == (p->n_names ? p->names[0] : NULL));
		require(i == 0 || p->offset > p[-1].offset);
		for (size_t k = 0; k < p->n_names; k++)
			require(*p->names[k] != '\0');
		n_names += p->n_names > 0 ? p->n_names - 1 : 0;
	}
	for (size_t i = 0; r == 0 && i < SP_PROBE_N_REFUSALS; i++)
		n += set->refused[i];
	require(r < 0 || (set->n > 0 && set->n + n == set->n_functions && n_names == set->n_aliases));
}

static void take_marks(void *arg, int r, struct sp_usdts *marks)
{
	(void)arg;
	require((r == 0) == (marks != NULL));
	for (size_t i = 0; r == 0 && i < marks->n; i++)
		require(marks->at[i].offset < FILE_BYTES && marks->at[i].semaphore < FILE_BYTES &&
			*marks->at[i].provider && *marks->at[i].name &&
			strlen(marks->at[i].arguments) < SP_JOB_MAX_BYTES);
}

static void take_image(void *arg, int r, struct sp_image *image)
{
	uint8_t bytes[3];

	(void)arg;
	require((r == 0) == (image != NULL));
	for (size_t i = 0; r == 0 && i < image->n; i++)
		require(sp_image_read(image, image->lines[i].at, bytes, sizeof(bytes)) == 0 &&
			memcmp(bytes, image->lines[i].bytes, sizeof(bytes)) == 0);
	if (r == 0)
		free(image->lines);
}

static const struct {
	enum sp_job_kind kind;
	union sp_job_done done;
} asked[] = {
    {SP_JOB_NAMES, {.names = take_names}},          {SP_JOB_SOURCES, {.sources = take_sources}},
    {SP_JOB_IDENTIFY, {.identify = take_identity}}, {SP_JOB_BUILD, {.build = take_blob}},
    {SP_JOB_DEBUG, {.debug = take_debug}},          {SP_JOB_VERIFY, {.verify = take_verified}},
    {SP_JOB_OPEN, {.open = take_opened}},           {SP_JOB_SPANS, {.spans = take_spans}},
    {SP_JOB_JIT_IMAGE, {.image = take_image}},      {SP_JOB_POINTS, {.points = take_points}},
    {SP_JOB_MARKS, {.marks = take_marks}},
};

static struct sp_job *job_of(uint8_t which, uint8_t n)
{
	struct sp_job *j = calloc(1, sizeof(*j));

	require(j);
	j->kind = asked[which % SP_COUNT(asked)].kind;
	j->done = asked[which % SP_COUNT(asked)].done;
	j->fd = j->debug_fd = j->table_fd = j->opened.fd = -1;
	j->memfd = memfd_create("answer", MFD_CLOEXEC);
	j->n_offsets = n % (MAX_OFFSETS + 1);
	j->file_bytes = FILE_BYTES;
	j->offsets = calloc(j->n_offsets + 1, sizeof(*j->offsets));
	require(j->memfd >= 0 && j->offsets);
	for (size_t i = 0; i < j->n_offsets; i++)
		j->offsets[i] = offset_of(i);
	if (j->kind == SP_JOB_SPANS) {
		j->head = calloc(1, sizeof(*j->head));
		j->table_fd = memfd_create("table", MFD_CLOEXEC);
		table_fd = fcntl(j->table_fd, F_DUPFD_CLOEXEC, 0);
		require(j->head && table_fd >= 0);
	}
	return j;
}

/* 1 if what was sent is the message of an answer. */
static int receive(const void *bytes, size_t size, struct sp_answer_message *a, int *fd)
{
	int sockets[2], r;

	require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
	require(send(sockets[0], bytes, size, 0) == (ssize_t)size);
	r = sp_job_receive(sockets[1], SP_ROLE_PARSER, a, fd);
	require(r == 1 || r == -EBADMSG);
	require(r != 1 || a->text_len <= SP_JOB_MAX_TEXT);
	close(sockets[0]);
	close(sockets[1]);
	return r;
}

int fuzz_one(const uint8_t *data, size_t size)
{
	static struct sp_answer_message sent, got;
	const size_t head = offsetof(struct sp_answer_message, text);
	size_t at = 3, n_message = head, n;
	struct sp_job *j;
	int fd = -1, r;

	if (size < 4)
		return 0;
	memset(&sent, 0, sizeof(sent));
	if ((data[1] & GOOD_HEAD) == 0) {
		n = size - at < head ? size - at : head;
		memcpy(&sent, data + at, n);
		at += n;
	}
	if ((data[1] & WITH_TEXT) != 0) {
		n = size - at < data[2] ? size - at : data[2];
		memcpy(sent.text, data + at, n);
		sent.text_len = (uint32_t)n;
		n_message += n;
		at += n;
	}
	j = job_of(data[0], (uint8_t)(data[1] >> 2));
	if ((data[1] & GOOD_HEAD) != 0)
		sent.bytes = size - at;
	require(write(j->memfd, data + at, size - at) == (ssize_t)(size - at));
	r = receive(&sent, n_message, &got, &fd);
	r = r == 1 ? sp_job_take(j, &got, fd) : r;
	if (r < 0)
		sp_job_fail(j, r, NULL);
	sp_job_call(j);
	sp_error_clear();
	return 0;
}
