/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reading.h"
#include "base/error.h"
#include "base/mem.h"
#include "test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

int reading_file(const void *bytes, size_t n)
{
	int fd = memfd_create("soprof-test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	for (size_t at = 0; at < n;) {
		ssize_t some = write(fd, (const char *)bytes + at, n - at);

		assert_true(some > 0);
		at += (size_t)some;
	}
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

int reading_bytes(const void *bytes, size_t n, const struct sp_read_options *o, struct sp_profile **ret_profile,
		  struct sp_read_result *ret_result)
{
	int fd SP_CLOSE = reading_file(bytes, n);

	return sp_read_fd(fd, "in", o, ret_profile, ret_result);
}

struct sp_profile *reading_text(const char *text)
{
	struct sp_read_options o = {0};
	struct sp_read_result result;
	struct sp_profile *p = NULL;
	int r = reading_bytes(text, strlen(text), &o, &p, &result);

	if (r < 0)
		fail_msg("%s", sp_error_text(r));
	assert_int_equal(result.n_lost, 0);
	return p;
}

const char *reading_words(int r)
{
	return sp_error_text(r);
}

char *reading_view(const struct sp_profile *p, const char *view, const struct sp_view_options *o, size_t *ret_len)
{
	const struct sp_view *v = sp_view_by_name(view);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(v);
	assert_non_null(out);
	assert_int_equal(v->write(p, o, out), 0);
	assert_int_equal(fclose(out), 0);
	if (ret_len)
		*ret_len = len;
	return text;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char *reading_sorted(const char *text)
{
	char *copy SP_FREE = strdup(text), *save = NULL, *sorted = NULL;
	char **lines SP_FREE = calloc(strlen(text) + 1, sizeof(*lines));
	size_t n = 0, len;
	FILE *out = open_memstream(&sorted, &len);

	assert_true(copy && lines && out);
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		lines[n++] = line;
	qsort(lines, n, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s\n", lines[i]);
	assert_int_equal(fclose(out), 0);
	return sorted;
}

uint8_t *reading_data(const char *name, size_t *ret_n)
{
	char path[4096];
	FILE *in SP_FCLOSE = NULL;
	uint8_t *bytes = calloc(1, 1 << 20);

	assert_non_null(bytes);
	snprintf(path, sizeof(path), SP_TEST_DATA "/%s", name);
	in = fopen(path, "re");
	if (!in)
		fail_msg("cannot open %s", path);
	*ret_n = fread(bytes, 1, (1 << 20) - 1, in);
	assert_int_not_equal(*ret_n, 0);
	return bytes;
}

uint8_t *reading_gzip(const void *bytes, size_t n, size_t *ret_n)
{
	z_stream z = {0};
	size_t room = n + n / 1000 + 1024;
	uint8_t *out = malloc(room);

	assert_non_null(out);
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (uint8_t *)(uintptr_t)bytes;
	z.avail_in = (unsigned int)n;
	z.next_out = out;
	z.avail_out = (unsigned int)room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	*ret_n = z.total_out;
	deflateEnd(&z);
	return out;
}

/* --- protocol buffers --- */
void pb_varint(struct pb *b, uint64_t value)
{
	assert_true(b->n + 10 < sizeof(b->data));
	for (; value >= 0x80; value >>= 7)
		b->data[b->n++] = (uint8_t)(value | 0x80);
	b->data[b->n++] = (uint8_t)value;
}

void pb_number(struct pb *b, uint32_t field, uint64_t value)
{
	pb_varint(b, field << 3);
	pb_varint(b, value);
}

void pb_bytes(struct pb *b, uint32_t field, const void *bytes, size_t n)
{
	pb_varint(b, field << 3 | 2);
	pb_varint(b, n);
	assert_true(b->n + n <= sizeof(b->data));
	if (n)
		memcpy(b->data + b->n, bytes, n);
	b->n += n;
}

void pb_message(struct pb *b, uint32_t field, size_t n, const uint64_t *numbers)
{
	static struct pb inside;

	inside.n = 0;
	for (size_t i = 0; i < n; i++)
		if (numbers[i])
			pb_number(&inside, (uint32_t)i + 1, numbers[i]);
	pb_bytes(b, field, inside.data, inside.n);
}

void pb_string(struct pb *b, const char *text)
{
	pb_bytes(b, 6, text, strlen(text));
}
