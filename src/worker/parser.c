/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"
#include "base/io.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "symbol/data.h"
#include "symbol/jit_names.h"
#include "symbol/span.h"
#include "unwind/arch.h"
#include "unwind/hotspot_image.h"
#include "unwind/verify.h"
#include "worker/priv.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void close_elf(struct sp_elf **e)
{
	sp_elf_close(*e);
}

static int write_at(int fd, const void *bytes, size_t size, uint64_t begin)
{
	if (begin + size > SP_JOB_MAX_BYTES)
		return sp_fail(-EFBIG, "hand back %llu bytes", (unsigned long long)(begin + size));
	int r = sp_write_at(fd, bytes, size, begin);
	return r < 0 ? sp_fail(r, "hand back %zu bytes", size) : 0;
}

static int write_all(int fd, const void *bytes, size_t size)
{
	return write_at(fd, bytes, size, 0);
}

static int read_all(int fd, void *bytes, size_t size)
{
	int r = sp_read_at(fd, bytes, size, 0);
	return r < 0 ? sp_fail(r, "take %zu bytes", size) : 0;
}

static void image_of(const struct sp_elf *e, struct sp_answer_message *a)
{
	uint64_t end = 0;
	for (size_t i = 0; i < sp_elf_n_segments(e); i++) {
		const struct sp_elf_segment *s = sp_elf_segment(e, i);
		if (!i || s->vaddr - s->offset < a->image_vaddr)
			a->image_vaddr = s->vaddr - s->offset;
		end = SP_MAX(end, s->vaddr + s->mem_size);
	}
	a->image_bytes = end - a->image_vaddr;
}

static int identify(struct sp_elf *e, struct sp_answer_message *a)
{
	int n = sp_elf_build_id(e, a->build_id, sizeof(a->build_id));
	if (n < 0 && n != -ENOENT)
		return n;
	a->build_id_len = n < 0 ? 0 : (uint32_t)n;
	if (!a->build_id_len && sp_elf_sample(e, &a->sample) < 0)
		a->sample = 0; /* less certain, not less known */
	sp_elf_package(e, &a->package);
	image_of(e, a);
	SP_FREE char *soname = NULL;
	if (sp_elf_soname(e, &soname) < 0)
		return 0; /* a name less, not a file less; so with the package */
	a->text_len = (uint32_t)strnlen(soname, SP_JOB_MAX_TEXT);
	memcpy(a->text, soname, a->text_len);
	return 0;
}

static int build(struct sp_elf *e, int memfd, struct sp_answer_message *a)
{
	SP_FREE struct sp_blob *blob = NULL;
	int r = sp_blob_build(e, &blob);
	if (r < 0)
		return r;
	a->bytes = blob->bytes;
	return write_all(memfd, blob, blob->bytes);
}

static uint32_t packed_len(const char *text)
{
	return text ? (uint32_t)strnlen(text, SP_NAME_MAX) : SP_PACKED_NULL;
}

static void pack(FILE *out, const struct sp_name *name)
{
	struct sp_packed_name p = {.start = name->start,
				   .size = name->size,
				   .vaddr = name->vaddr,
				   .name_len = packed_len(name->name),
				   .linkage_len = packed_len(name->linkage_name),
				   .is_gap = name->is_gap};
	fwrite(&p, sizeof(p), 1, out);
	if (name->name)
		fwrite(name->name, p.name_len, 1, out);
	if (name->linkage_name)
		fwrite(name->linkage_name, p.linkage_len, 1, out);
}

static int pack_all(const struct sp_name *names, size_t n, int memfd, struct sp_answer_message *a)
{
	SP_FREE char *bytes = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&bytes, &size);
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		pack(out, &names[i]);
	if (fclose(out) != 0)
		return -ENOMEM;
	a->bytes = size;
	return write_all(memfd, bytes, size);
}

static int describe_debug(struct sp_elf *e, int fd, bool with_crc, struct sp_answer_message *a)
{
	int r = sp_elf_debug_look(e, &a->debug);
	return r < 0 || !with_crc ? r : sp_elf_crc(fd, &a->crc);
}

/* The separate debug file; its sections are what counts, so that one without headers of sections is none. */
static int open_debug(int fd, struct sp_elf **ret_debug)
{
	struct sp_elf_debug d;
	int r = fd < 0 ? 0 : sp_elf_open_fd(fd, ret_debug);
	if (fd >= 0 && r >= 0)
		r = sp_elf_debug_look(*ret_debug, &d);
	if (fd >= 0 && r >= 0 && !d.has_symtab && !d.has_dwarf)
		r = -ENOEXEC;
	return r < 0 && r != -ENOMEM ? sp_fail_said(SP_WORKER_NO_DEBUG, "neither symbols nor DWARF can be read") : r;
}

/* A question and its answer, which take turns in the memfd. */
struct asked {
	uint64_t *offsets;
	struct sp_name *names;
	size_t n;
	bool shortens_names;
};

static void asked_done(struct asked *q)
{
	free(q->offsets);
	free(q->names);
}

static int asked_read(struct asked *q, int memfd, size_t n)
{
	q->n = n;
	q->offsets = calloc(n + 1, sizeof(*q->offsets));
	q->names = calloc(n + 1, sizeof(*q->names));
	return !q->offsets || !q->names ? -ENOMEM : read_all(memfd, q->offsets, n * sizeof(*q->offsets));
}

/* Here, so that they are never in the asking process's memory. */
static void shorten(struct sp_name *name)
{
	if (name->name)
		sp_name_shorten(name->name, SP_NAME_SHORT);
	if (name->linkage_name)
		sp_name_shorten(name->linkage_name, SP_NAME_SHORT);
}

static int asked_answer(struct asked *q, int memfd, const char *warning, struct sp_answer_message *a)
{
	a->text_len = (uint32_t)SP_MIN(strlen(warning), (size_t)SP_JOB_MAX_TEXT);
	memcpy(a->text, warning, a->text_len);
	for (size_t i = 0; q->shortens_names && i < q->n; i++)
		shorten(&q->names[i]);
	int r = pack_all(q->names, q->n, memfd, a);
	sp_names_done(q->names, q->n);
	return r;
}

static bool has_gap(const struct asked *q)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->names[i].is_gap || !q->names[i].size)
			return true;
	return false;
}

static int find_names(struct sp_elf *e, const struct sp_job_message *m, int memfd, int debug_fd,
		      struct sp_answer_message *a)
{
	__attribute__((cleanup(close_elf))) struct sp_elf *debug = NULL;
	__attribute__((cleanup(asked_done))) struct asked q = {.shortens_names = m->shortens_names};
	int r = asked_read(&q, memfd, m->n_offsets);
	r = r < 0 ? r : open_debug(debug_fd, &debug);
	if (r < 0)
		return r;
	struct sp_names_more more = {.debug = debug};
	r = sp_names_find_with(e, &more, sp_fde_walk, q.offsets, q.n, q.names);
	/* Where FDEs say nothing the code itself may; most of what is asked need not pay for that. */
	if (r >= 0 && has_gap(&q)) {
		sp_names_done(q.names, q.n);
		r = sp_names_find_with(e, &more, sp_function_walk, q.offsets, q.n, q.names);
	}
	return r < 0 ? r : asked_answer(&q, memfd, more.warning, a);
}

static int find_data_names(struct sp_elf *e, int memfd, int debug_fd, size_t n, struct sp_answer_message *a)
{
	__attribute__((cleanup(close_elf))) struct sp_elf *debug = NULL;
	__attribute__((cleanup(asked_done))) struct asked q = {0};
	int r = asked_read(&q, memfd, n);
	r = r < 0 ? r : open_debug(debug_fd, &debug);
	r = r < 0 ? r : sp_data_names_find(e, debug, q.offsets, n, q.names);
	return r < 0 ? r : asked_answer(&q, memfd, "", a);
}

static const struct jit_source {
	sp_jit_find *find;
	const char *what, *limit, *parts;
} jit_sources[] = {
    [SP_JOB_MAP] = {sp_perf_map_find, "perf map", "256 MiB", "lines"},
    [SP_JOB_JIT_DUMP] = {sp_jit_dump_find, "jit dump", "4 GiB, or what takes too long", "records"},
    [SP_JOB_JIT_OBJECTS] = {sp_jit_objects_find, "GDB's list of JIT code",
			    "65536 objects or 256 MiB, or what takes too long", "objects"},
};
_Static_assert(SP_JIT_OBJECTS_MAX == 65536, "which is said above");

static int find_in_jit(const struct sp_job_message *m, const int *fds, struct sp_answer_message *a)
{
	__attribute__((cleanup(asked_done))) struct asked q = {.shortens_names = m->shortens_names};
	const struct jit_source *s = &jit_sources[m->kind];
	struct sp_jit_counts c;
	char warning[128] = "";
	int r = asked_read(&q, fds[1], m->n_offsets);
	r = r < 0 ? r : s->find(fds[0], m->number_asked, q.offsets, q.n, q.names, &c);
	if (r < 0)
		return r;
	if (c.is_cut)
		snprintf(warning, sizeof(warning), "%s: longer than %s", s->what, s->limit);
	else if (c.n_bad)
		snprintf(warning, sizeof(warning), "%s: %llu of %llu %s make no sense", s->what,
			 (unsigned long long)c.n_bad, (unsigned long long)c.n, s->parts);
	return asked_answer(&q, fds[1], warning, a);
}

static size_t read_process(void *arg, uint64_t at, void *bytes, size_t n)
{
	ssize_t got = pread(*(const int *)arg, bytes, n, (off_t)at);
	return got < 0 ? 0 : (size_t)got;
}

static int find_frame(const struct sp_job_message *m, const int *fds, struct sp_answer_message *a)
{
	uint64_t q[3 + SP_JIT_WORDS];
	int memory = fds[0];
	struct sp_jit_memory reader = {.read = read_process, .arg = &memory};
	struct sp_jit_frame f = {.fp = SP_JIT_FP_SAME};
	if (m->n_offsets < 3 || m->n_offsets > SP_COUNT(q))
		return -EINVAL;
	int r = read_all(fds[1], q, m->n_offsets * sizeof(*q));
	r = r < 0 ? r : sp_jit_frame_find(&reader, q[0], q[1], q + 3, m->n_offsets - 3, &f);
	if (r == -ENOENT && sp_jit_is_return(&reader, q[2]))
		r = 0;
	a->bytes = (uint64_t)(uint32_t)f.fp << 32 | (uint32_t)f.cfa;
	return r;
}

static int make_image(const struct sp_job_message *m, const int *fds, struct sp_answer_message *a)
{
	enum { HEAD = sizeof(struct sp_hotspot) / sizeof(uint64_t) };
	size_t n = m->n_offsets;
	SP_FREE uint64_t *q = calloc(n + 1, sizeof(*q));
	int memory = fds[0];
	struct sp_jit_memory reader = {.read = read_process, .arg = &memory};
	struct sp_hotspot h;
	struct sp_image image = {0};
	int r = !q ? -ENOMEM : n < HEAD ? -EINVAL : read_all(fds[1], q, n * sizeof(*q));
	if (r < 0)
		return r;
	memcpy(&h, q, sizeof(h));
	r = sp_hotspot_image(&reader, &h, q + HEAD, n - HEAD, m->number_asked, &image);
	a->bytes = image.n * sizeof(*image.lines);
	r = r < 0 ? r : write_all(fds[1], image.lines, a->bytes);
	free(image.lines);
	return r;
}

struct spans_out { /* to the memfd, by whole buffers */
	int memfd;
	struct sp_span_state state;
	size_t n;
	uint64_t n_written;
	uint8_t bytes[64 << 10];
};

static int spans_flush(struct spans_out *o)
{
	int r = write_at(o->memfd, o->bytes, o->n, o->n_written);
	o->n_written += o->n;
	o->n = 0;
	return r;
}

static int span_out(void *arg, const struct sp_span *span)
{
	struct spans_out *o = arg;
	int r = o->n + SP_SPAN_MAX_BYTES > sizeof(o->bytes) ? spans_flush(o) : 0;
	if (r == 0)
		o->n += sp_span_put(&o->state, span, o->bytes + o->n);
	return r;
}

static int find_spans(struct sp_elf *e, int memfd, int debug_fd, struct sp_answer_message *a)
{
	__attribute__((cleanup(close_elf))) struct sp_elf *debug = NULL;
	SP_FREE struct spans_out *o = calloc(1, sizeof(*o));
	int r = o ? sp_elf_debug_look(e, &a->debug) : -ENOMEM;
	r = r < 0 ? r : open_debug(debug_fd, &debug);
	if (r < 0)
		return r;
	struct sp_names_more more = {.debug = debug};
	o->memfd = memfd;
	r = sp_spans_walk(e, &more, sp_function_walk, span_out, o);
	r = r < 0 ? r : spans_flush(o);
	if (r < 0)
		return r;
	a->bytes = o->n_written;
	a->text_len = (uint32_t)strlen(more.warning);
	memcpy(a->text, more.warning, a->text_len);
	return 0;
}

static int find_kernel(int fd, int memfd, struct sp_answer_message *a)
{
	SP_FREE struct spans_out *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->memfd = memfd;
	int r = sp_kallsyms_walk(fd, span_out, o);
	r = r < 0 ? r : spans_flush(o);
	a->bytes = o->n_written;
	return r;
}

static void pack_source(FILE *out, const struct sp_source_frame *s)
{
	struct sp_packed_source p = {.line = s->line,
				     .begin_line = s->begin_line,
				     .name_len = packed_len(s->name),
				     .source_len = packed_len(s->source)};
	fwrite(&p, sizeof(p), 1, out);
	if (s->name)
		fwrite(s->name, p.name_len, 1, out);
	if (s->source)
		fwrite(s->source, p.source_len, 1, out);
}

static int pack_sources(const struct sp_source_lines *sources, size_t n, int memfd, struct sp_answer_message *a)
{
	SP_FREE char *bytes = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&bytes, &size);
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t n_frames = (uint32_t)sources[i].n;
		fwrite(&n_frames, sizeof(n_frames), 1, out);
		for (size_t k = 0; k < sources[i].n; k++)
			pack_source(out, &sources[i].frames[k]);
	}
	if (fclose(out) != 0)
		return -ENOMEM;
	a->bytes = size;
	return write_all(memfd, bytes, size);
}

static int find_sources(struct sp_elf *e, const int *fds, size_t n, struct sp_answer_message *a)
{
	__attribute__((cleanup(asked_done))) struct asked q = {0};
	SP_FREE struct sp_source_lines *sources = calloc(n + 1, sizeof(*sources));
	int r = sources ? asked_read(&q, fds[1], n) : -ENOMEM;
	r = r < 0 ? r : sp_source_lines_find(fds[2] >= 0 ? fds[2] : fds[0], e, q.offsets, n, sources);
	if (r == -ENOENT && fds[2] >= 0)
		r = sp_source_lines_find(fds[0], e, q.offsets, n, sources);
	r = r < 0 ? r : pack_sources(sources, n, fds[1], a);
	if (sources)
		sp_source_lines_done(sources, n);
	return r;
}

static int verify(struct sp_elf *e, int memfd, size_t n, struct sp_answer_message *a)
{
	SP_FREE uint64_t *places = calloc(n + 1, sizeof(*places));
	size_t n_verified = 0;
	int r = places ? read_all(memfd, places, n * sizeof(*places)) : -ENOMEM;
	r = r < 0 ? r : sp_verify(e, places, n, &n_verified);
	a->bytes = n_verified * sizeof(*places);
	return r < 0 ? r : write_all(memfd, places, a->bytes);
}

static int work(const struct sp_job_message *m, const int *fds, struct sp_answer_message *a)
{
	__attribute__((cleanup(close_elf))) struct sp_elf *e = NULL;
	if (m->kind < SP_COUNT(jit_sources) && jit_sources[m->kind].find)
		return find_in_jit(m, fds, a);
	if (m->kind == SP_JOB_KERNEL)
		return find_kernel(fds[0], fds[1], a);
	if (m->kind == SP_JOB_JIT_FRAME)
		return find_frame(m, fds, a);
	if (m->kind == SP_JOB_JIT_IMAGE)
		return make_image(m, fds, a);
	int r = sp_elf_open_fd(fds[0], &e);
	if (r < 0)
		return r;
	switch ((enum sp_job_kind)m->kind) {
	case SP_JOB_IDENTIFY:
		return identify(e, a);
	case SP_JOB_BUILD:
		return build(e, fds[1], a);
	case SP_JOB_NAMES:
		return find_names(e, m, fds[1], fds[2], a);
	case SP_JOB_DATA_NAMES:
		return find_data_names(e, fds[1], fds[2], m->n_offsets, a);
	case SP_JOB_SPANS:
		return find_spans(e, fds[1], fds[2], a);
	case SP_JOB_SOURCES:
		return find_sources(e, fds, m->n_offsets, a);
	case SP_JOB_DEBUG:
		return describe_debug(e, fds[0], m->number_asked, a);
	case SP_JOB_COUNT:
		return sp_symbols_count(e, sp_function_walk, &a->counts);
	case SP_JOB_VERIFY:
		return verify(e, fds[1], m->n_offsets, a);
	case SP_JOB_POINTS:
		return sp_parser_points(e, fds[1], m->n_offsets, a);
	case SP_JOB_MARKS:
		return sp_parser_marks(e, fds[1], m->n_offsets, a);
	case SP_JOB_JIT_DESCRIPTOR:
		return sp_jit_descriptor_find(e, m->number_asked, &a->bytes);
	case SP_JOB_OPEN:
	case SP_JOB_OPEN_PATH:
	case SP_JOB_MAP:
	case SP_JOB_FETCH:
	case SP_JOB_KERNEL:
	case SP_JOB_JIT_DUMP:
	case SP_JOB_JIT_OBJECTS:
	case SP_JOB_JIT_FRAME:
	case SP_JOB_JIT_IMAGE:
		break;
	}
	return -EINVAL;
}

void sp_parser_work(const struct sp_job_message *m, const int *fds, struct sp_answer_message *a)
{
	a->r = work(m, fds, a);
}
