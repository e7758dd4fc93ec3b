/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cursor.h"
#include "base/error.h"
#include "base/io.h"
#include "base/mem.h"
#include "worker/priv.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

void sp_job_push(struct sp_job_list *list, struct sp_job *j)
{
	j->next = NULL;
	if (list->last)
		list->last->next = j;
	else
		list->first = j;
	list->last = j;
	list->n++;
}

struct sp_job *sp_job_pop(struct sp_job_list *list)
{
	struct sp_job *j = list->first;
	if (!j)
		return NULL;
	list->first = j->next;
	if (!list->first)
		list->last = NULL;
	list->n--;
	j->next = NULL;
	return j;
}

void sp_job_prepend(struct sp_job_list *list, struct sp_job_list *head)
{
	if (!head->first)
		return;
	head->last->next = list->first;
	list->first = head->first;
	if (!list->last)
		list->last = head->last;
	list->n += head->n;
	*head = (struct sp_job_list){0};
}

void sp_job_insert(struct sp_job_list *list, struct sp_job *j)
{
	struct sp_job **at = &list->first;
	if (!j->urgency) {
		sp_job_push(list, j);
		return;
	}
	while (*at && (*at)->urgency >= j->urgency)
		at = &(*at)->next;
	j->next = *at;
	*at = j;
	if (!j->next)
		list->last = j;
	list->n++;
}

static struct sp_job *take_out_after(struct sp_job_list *list, struct sp_job *before)
{
	struct sp_job **at = before ? &before->next : &list->first, *j = *at;
	*at = j->next;
	if (list->last == j)
		list->last = before;
	list->n--;
	j->next = NULL;
	return j;
}

/* The job before the first one with this arg; false: there is none. */
static bool find_job(const struct sp_job_list *list, const void *arg, struct sp_job **ret_before)
{
	*ret_before = NULL;
	for (struct sp_job *j = list->first; j; j = j->next) {
		if (j->arg == arg)
			return true;
		*ret_before = j;
	}
	return false;
}

struct sp_job *sp_job_take_out(struct sp_job_list *list, const void *arg)
{
	struct sp_job *before;
	return find_job(list, arg, &before) ? take_out_after(list, before) : NULL;
}

void sp_job_hurry(struct sp_job_list *list, const void *arg, uint32_t urgency)
{
	struct sp_job *before, *j;
	if (!find_job(list, arg, &before) || (before ? before->next : list->first)->urgency >= urgency)
		return;
	j = take_out_after(list, before);
	j->urgency = urgency;
	sp_job_insert(list, j);
}

bool sp_job_is_grave(const struct sp_job *j)
{
	return j->kind == SP_JOB_POINTS || j->kind == SP_JOB_MARKS;
}

static bool has_memfd(const struct sp_job *j)
{
	return j->kind == SP_JOB_BUILD || j->kind == SP_JOB_NAMES || j->kind == SP_JOB_MAP ||
	       j->kind == SP_JOB_JIT_DUMP || j->kind == SP_JOB_JIT_OBJECTS || j->kind == SP_JOB_JIT_FRAME ||
	       j->kind == SP_JOB_JIT_IMAGE || j->kind == SP_JOB_SOURCES || j->kind == SP_JOB_SPANS ||
	       j->kind == SP_JOB_KERNEL || j->kind == SP_JOB_VERIFY || j->kind == SP_JOB_DATA_NAMES ||
	       sp_job_is_grave(j);
}

unsigned sp_job_weight(const struct sp_job *j)
{
	return has_memfd(j) && j->urgency < SP_URGENT ? SP_POOL_CAPACITY : 1;
}

/* The question, where it is long, and later the answer. */
static int make_memfd(struct sp_job *j)
{
	if (!has_memfd(j))
		return 0;
	SP_CLOSE int fd = memfd_create("soprof-worker", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	size_t size = j->n_offsets * sizeof(*j->offsets);
	int r = sp_write_at(fd, j->offsets, size, 0);
	if (r < 0)
		return r;
	j->memfd = sp_take_fd(&fd);
	return 0;
}

static int send_message(const struct sp_job *j, int socket)
{
	static struct sp_job_message m;
	size_t head = offsetof(struct sp_job_message, path);
	memset(&m, 0, head);
	m.number = j->number;
	m.kind = j->kind;
	m.n_offsets = (uint32_t)j->n_offsets;
	m.open = j->open;
	m.in_root = j->in_root;
	m.shortens_names = j->shortens_names;
	m.number_asked = j->number_asked;
	m.deadline_ms = j->deadline_ms;
	m.build_id_len = j->build_id_len;
	memcpy(m.build_id, j->build_id, sizeof(m.build_id));
	m.path_len = j->path ? (uint32_t)strnlen(j->path, SP_JOB_MAX_PATH) : 0;
	if (m.path_len)
		memcpy(m.path, j->path, m.path_len);
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(SP_JOB_MAX_FDS * sizeof(int))];
	} control = {0};
	int fds[SP_JOB_MAX_FDS] = {j->fd, j->memfd, j->debug_fd};
	unsigned n_fds = j->fd < 0 ? 0 : j->memfd < 0 ? 1 : j->debug_fd < 0 ? 2 : 3;
	struct iovec iov = {.iov_base = &m, .iov_len = head + m.path_len};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};
	if (n_fds) {
		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	return sendmsg(socket, &h, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int sp_job_send(struct sp_job *j, int socket)
{
	int r = j->memfd < 0 ? make_memfd(j) : 0;
	return r < 0 ? r : send_message(j, socket);
}

/* 1 = an answer, 0 = the other side has closed. Only an opener and a fetcher may hand over a descriptor. */
int sp_job_receive(int socket, enum sp_role role, struct sp_answer_message *ret_answer, int *ret_fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = ret_answer, .iov_len = sizeof(*ret_answer)};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};
	bool hands_over = role == SP_ROLE_OPENER || role == SP_ROLE_FETCHER;
	if (hands_over) {
		h.msg_control = &control;
		h.msg_controllen = sizeof(control);
	}
	ssize_t n;
	/* ECONNRESET, said once, means that it went with jobs unread; what it answered before is still to be had. */
	while ((n = recvmsg(socket, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC)) < 0 &&
	       (errno == ECONNRESET || errno == EINTR))
		;
	if (n <= 0)
		return n < 0 ? -errno : 0;
	*ret_fd = -1;
	struct cmsghdr *c = hands_over ? CMSG_FIRSTHDR(&h) : NULL;
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	size_t head = offsetof(struct sp_answer_message, text);
	if ((size_t)n >= head && ret_answer->text_len == (size_t)n - head && ret_answer->r <= 0 &&
	    ret_answer->r >= -4095)
		return 1;
	sp_cleanup_close(ret_fd);
	return -EBADMSG;
}

/* Text of an untrusted process; it may be printed. */
static char *words_of(const struct sp_answer_message *a)
{
	char *words = strndup(a->text, a->text_len);
	for (char *c = words; c && *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return words;
}

static int take_opened(struct sp_job *j, const struct sp_answer_message *a, int fd)
{
	if ((fd < 0) != (a->is_withheld != 0))
		return -EBADMSG;
	j->r = fd < 0 ? -ENOEXEC : 0;
	j->error = fd < 0 ? strdup("not an ELF file") : NULL;
	j->opened.path = strndup(a->text, a->text_len);
	if (!j->opened.path)
		return -ENOMEM;
	j->opened.fd = fd;
	j->opened.deleted = a->deleted != 0;
	j->opened.uid = a->uid;
	j->opened.mode = a->mode;
	j->opened.state = (struct sp_file_state){
	    .dev = a->dev, .ino = a->ino, .mtime_ns = a->mtime_ns, .ctime_ns = a->ctime_ns, .opened_ns = a->opened_ns};
	j->opened.size = a->size;
	j->opened.nlink = a->nlink;
	j->opened.is_ours = a->is_ours != 0;
	return 0;
}

static int take_identity(struct sp_job *j, const struct sp_answer_message *a)
{
	if (a->build_id_len > sizeof(a->build_id) || !sp_elf_package_valid(&a->package))
		return -EBADMSG;
	j->identity.package = a->package;
	j->identity.sample = a->sample;
	j->identity.image_vaddr = a->image_vaddr;
	j->identity.image_bytes = a->image_bytes;
	j->identity.build_id_len = a->build_id_len;
	memcpy(j->identity.build_id, a->build_id, a->build_id_len);
	if (!a->text_len)
		return 0;
	j->identity.soname = strndup(a->text, a->text_len);
	return j->identity.soname ? 0 : -ENOMEM;
}

static int take_debug(struct sp_job *j, const struct sp_answer_message *a)
{
	const struct sp_elf_debug *d = &a->debug;
	if (d->build_id_len > sizeof(d->build_id) || strnlen(d->link, sizeof(d->link)) == sizeof(d->link) ||
	    (*d->link && !sp_debuglink_is_name(d->link)))
		return -EBADMSG;
	j->debug = *d;
	j->crc = a->crc;
	return 0;
}

int sp_job_read(int memfd, uint64_t size, void **ret_bytes)
{
	struct stat st;
	if (fstat(memfd, &st) < 0 || size > SP_JOB_MAX_BYTES || size > (uint64_t)st.st_size)
		return -EBADMSG;
	SP_FREE char *bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	int r = sp_read_at(memfd, bytes, size, 0);
	if (r < 0)
		return r == -ENODATA ? -EBADMSG : r;
	bytes[size] = 0; /* a text at the end is a string */
	*ret_bytes = sp_take_ptr(bytes);
	return 0;
}

static int take_blob(struct sp_job *j, const struct sp_answer_message *a)
{
	SP_FREE void *bytes = NULL;
	int r = sp_job_read(j->memfd, a->bytes, &bytes);
	if (r < 0)
		return r;
	r = sp_blob_validate(bytes, a->bytes);
	if (r < 0)
		return r;
	j->blob = sp_take_ptr(bytes);
	return 0;
}

static int take_image(struct sp_job *j, const struct sp_answer_message *a)
{
	SP_FREE void *bytes = NULL;
	int r = sp_job_read(j->memfd, a->bytes, &bytes);
	r = r < 0 ? r : sp_image_from(bytes, a->bytes, &j->image);
	if (r >= 0)
		bytes = NULL;
	return r;
}

static int unpack_text(struct sp_cursor *c, uint32_t len, char **ret_text)
{
	if (len == SP_PACKED_NULL)
		return 0;
	if (len > SP_NAME_MAX)
		return -EBADMSG;
	const char *text = (const char *)c->data + c->at;
	sp_cursor_skip(c, len);
	if (c->bad || memchr(text, 0, len))
		return -EBADMSG;
	*ret_text = strndup(text, len);
	return *ret_text ? 0 : -ENOMEM;
}

/* A range without its offset, or a gap with a name, would be wrong. */
static bool is_true(const struct sp_packed_name *p, uint64_t offset)
{
	bool named = p->name_len != SP_PACKED_NULL || p->linkage_len != SP_PACKED_NULL;
	if (p->zero || p->is_gap > 1 || (named && (p->is_gap || p->name_len == SP_PACKED_NULL)))
		return false;
	if (!p->size)
		return p->start == offset && !named && !p->is_gap;
	return offset >= p->start && offset - p->start < p->size && p->size - 1 <= UINT64_MAX - p->start;
}

static int unpack_name(struct sp_cursor *c, uint64_t offset, struct sp_name *name)
{
	struct sp_packed_name p;
	p.start = sp_cursor_u64(c);
	p.size = sp_cursor_u64(c);
	p.vaddr = sp_cursor_u64(c);
	p.name_len = sp_cursor_u32(c);
	p.linkage_len = sp_cursor_u32(c);
	p.is_gap = sp_cursor_u32(c);
	p.zero = sp_cursor_u32(c);
	if (c->bad || !is_true(&p, offset))
		return -EBADMSG;
	*name = (struct sp_name){.start = p.start, .size = p.size, .vaddr = p.vaddr, .is_gap = p.is_gap};
	int r = unpack_text(c, p.name_len, &name->name);
	return r < 0 ? r : unpack_text(c, p.linkage_len, &name->linkage_name);
}

static int take_names(struct sp_job *j, const struct sp_answer_message *a)
{
	SP_FREE void *bytes = NULL;
	int r = sp_job_read(j->memfd, a->bytes, &bytes);
	if (r < 0)
		return r;
	j->names = calloc(j->n_offsets + 1, sizeof(*j->names));
	if (!j->names)
		return -ENOMEM;
	struct sp_cursor c = sp_cursor_on(bytes, a->bytes);
	for (size_t i = 0; i < j->n_offsets && r == 0; i++)
		r = unpack_name(&c, j->offsets[i], &j->names[i]);
	if (a->text_len)
		j->error = words_of(a);
	return r < 0 ? r : sp_cursor_left(&c) == 0 ? 0 : -EBADMSG;
}

static int unpack_source(struct sp_cursor *c, struct sp_source_frame *s)
{
	s->line = sp_cursor_u32(c);
	s->begin_line = sp_cursor_u32(c);
	uint32_t name_len = sp_cursor_u32(c), source_len = sp_cursor_u32(c);
	int r = c->bad ? -EBADMSG : unpack_text(c, name_len, &s->name);
	return r < 0 ? r : unpack_text(c, source_len, &s->source);
}

static int unpack_sources(struct sp_cursor *c, struct sp_source_lines *s)
{
	uint32_t n = sp_cursor_u32(c);
	if (c->bad || n > SP_SOURCE_LINES_MAX)
		return -EBADMSG;
	s->frames = calloc(n + 1, sizeof(*s->frames));
	if (!s->frames)
		return -ENOMEM;
	int r = 0;
	for (s->n = 0; s->n < n && r == 0; s->n++)
		r = unpack_source(c, &s->frames[s->n]);
	return r;
}

static int take_sources(struct sp_job *j, const struct sp_answer_message *a)
{
	SP_FREE void *bytes = NULL;
	int r = sp_job_read(j->memfd, a->bytes, &bytes);
	if (r < 0)
		return r;
	j->sources = calloc(j->n_offsets + 1, sizeof(*j->sources));
	if (!j->sources)
		return -ENOMEM;
	struct sp_cursor c = sp_cursor_on(bytes, a->bytes);
	for (size_t i = 0; i < j->n_offsets && r == 0; i++)
		r = unpack_sources(&c, &j->sources[i]);
	return r < 0 ? r : sp_cursor_left(&c) == 0 ? 0 : -EBADMSG;
}

/* The spans are checked where they are written down. */
static int take_spans(struct sp_job *j, const struct sp_answer_message *a)
{
	struct stat st;
	if (fstat(j->memfd, &st) < 0 || a->bytes > SP_JOB_MAX_BYTES || a->bytes > (uint64_t)st.st_size)
		return -EBADMSG;
	int r = take_debug(j, a);
	if (r < 0)
		return r;
	j->head->own = j->debug;
	memset(j->head->warning, 0, sizeof(j->head->warning));
	SP_FREE char *words = words_of(a);
	if (!words)
		return -ENOMEM;
	snprintf(j->head->warning, sizeof(j->head->warning), "%s", words);
	return sp_name_table_write(j->memfd, a->bytes, j->table_fd, j->head);
}

/* Some of what was asked, in its order. */
static int take_verified(struct sp_job *j, const struct sp_answer_message *a)
{
	SP_FREE void *bytes = NULL;
	int r = a->bytes % sizeof(uint64_t) ? -EBADMSG : sp_job_read(j->memfd, a->bytes, &bytes);
	const uint64_t *places = bytes;
	size_t n = 0, n_places = a->bytes / sizeof(*places);
	if (r < 0)
		return r;
	for (size_t i = 0; i < j->n_offsets && n < n_places; i++)
		if (j->offsets[i] == places[n])
			j->offsets[n++] = j->offsets[i];
	j->n_offsets = n;
	return n == n_places ? 0 : -EBADMSG;
}

int sp_job_take(struct sp_job *j, const struct sp_answer_message *a, int fd)
{
	j->r = a->r;
	if (a->r < 0) {
		sp_cleanup_close(&fd);
		j->error = words_of(a);
		j->opened.state.ctime_ns = a->ctime_ns;
		return 0;
	}
	switch (j->kind) {
	case SP_JOB_OPEN:
	case SP_JOB_OPEN_PATH:
	case SP_JOB_FETCH:
		return take_opened(j, a, fd);
	case SP_JOB_SOURCES:
		return take_sources(j, a);
	case SP_JOB_SPANS:
	case SP_JOB_KERNEL:
		return take_spans(j, a);
	case SP_JOB_DEBUG:
		return take_debug(j, a);
	case SP_JOB_COUNT:
		j->counts = a->counts;
		return 0;
	case SP_JOB_IDENTIFY:
		return take_identity(j, a);
	case SP_JOB_BUILD:
		return take_blob(j, a);
	case SP_JOB_JIT_IMAGE:
		return take_image(j, a);
	case SP_JOB_VERIFY:
		return take_verified(j, a);
	case SP_JOB_POINTS:
	case SP_JOB_MARKS:
		return sp_job_take_probes(j, a);
	case SP_JOB_NAMES:
	case SP_JOB_DATA_NAMES:
	case SP_JOB_MAP:
	case SP_JOB_JIT_DUMP:
	case SP_JOB_JIT_OBJECTS:
		return take_names(j, a);
	case SP_JOB_JIT_DESCRIPTOR:
	case SP_JOB_JIT_FRAME:
		j->distance = a->bytes;
		return 0;
	}
	return -EINVAL;
}

static void forget_results(struct sp_job *j)
{
	sp_cleanup_close(&j->opened.fd);
	free(j->opened.path);
	j->opened = (struct sp_open_result){.fd = -1};
	free(j->identity.soname);
	j->identity = (struct sp_identify_result){0};
	free(sp_take_ptr(j->blob));
	free(sp_take_ptr(j->image.lines));
	if (j->names)
		sp_names_done(j->names, j->n_offsets);
	free(sp_take_ptr(j->names));
	if (j->sources)
		sp_source_lines_done(j->sources, j->n_offsets);
	free(sp_take_ptr(j->sources));
	sp_probe_set_done(&j->points);
	sp_usdts_done(&j->marks);
}

void sp_job_fail(struct sp_job *j, int r, const char *error)
{
	forget_results(j);
	j->r = r;
	free(j->error);
	j->error = error ? strdup(error) : NULL;
}

static void call_back(struct sp_job *j)
{
	switch (j->kind) {
	case SP_JOB_COUNT:
		j->done.count(j->arg, j->r, j->r < 0 ? NULL : &j->counts);
		break;
	case SP_JOB_SOURCES:
		j->done.sources(j->arg, j->r, j->sources, j->sources ? j->n_offsets : 0);
		break;
	case SP_JOB_SPANS:
	case SP_JOB_KERNEL:
		j->done.spans(j->arg, j->r, j->r < 0 ? NULL : j->head);
		break;
	case SP_JOB_DEBUG:
		j->done.debug(j->arg, j->r, &j->debug, j->crc);
		break;
	case SP_JOB_OPEN:
	case SP_JOB_OPEN_PATH:
	case SP_JOB_FETCH:
		j->opened.r = j->r;
		j->done.open(j->arg, &j->opened);
		break;
	case SP_JOB_IDENTIFY:
		j->identity.r = j->r;
		j->done.identify(j->arg, &j->identity);
		break;
	case SP_JOB_BUILD:
		j->done.build(j->arg, j->r, j->blob);
		break;
	case SP_JOB_JIT_IMAGE:
		j->done.image(j->arg, j->r, j->r < 0 ? NULL : &j->image);
		break;
	case SP_JOB_POINTS:
		j->done.points(j->arg, j->r, j->r < 0 ? NULL : &j->points);
		break;
	case SP_JOB_MARKS:
		j->done.marks(j->arg, j->r, j->r < 0 ? NULL : &j->marks);
		break;
	case SP_JOB_VERIFY:
		j->done.verify(j->arg, j->r, j->offsets, j->n_offsets);
		break;
	case SP_JOB_JIT_DESCRIPTOR:
	case SP_JOB_JIT_FRAME:
		j->done.descriptor(j->arg, j->r, j->distance);
		break;
	case SP_JOB_NAMES:
	case SP_JOB_DATA_NAMES:
	case SP_JOB_MAP:
	case SP_JOB_JIT_DUMP:
	case SP_JOB_JIT_OBJECTS:
		j->done.names(j->arg, j->r, j->names, j->names ? j->n_offsets : 0, j->r < 0 ? NULL : j->error);
		break;
	}
}

void sp_job_call(struct sp_job *j)
{
	sp_cleanup_close(&j->fd);
	sp_cleanup_close(&j->debug_fd);
	sp_cleanup_close(&j->memfd);
	sp_cleanup_close(&j->table_fd);
	sp_error_clear();
	if (j->error && j->r < 0)
		sp_fail_said(j->r, "%s", j->error);
	call_back(j);
	sp_probe_set_done(&j->points);
	sp_usdts_done(&j->marks);
	free(j->error);
	free(j->head);
	free(j->offsets);
	free(j->path);
	free(j);
}
