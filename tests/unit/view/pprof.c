/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pprof view, read back three times: by a small reader here (rules that readers demand, and a golden file), by
 * protoc with a description of the format (field numbers), and by go tool pprof (totals, stacks, labels, mappings). The
 * last two are skipped where these programs are not installed.
 */
#include "fixture.h"

#include "base/cursor.h"
#include "base/mem.h"
#include "test.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

extern const struct sp_view sp_view_pprof;

/* --- a reader of profile.proto --- */
enum { MAX = 256 };
struct message { /* the numbers of a message's fields, the last of each; strings and messages as cursors */
	uint64_t n[16];
	struct sp_cursor bytes[16];
};
struct read_sample {
	uint64_t locations[64], values[4], keys[8], strings[8], numbers[8];
	unsigned int n_locations, n_values, n_labels;
};
struct read_profile {
	uint8_t *data;
	struct message types[4], mappings[MAX], locations[MAX], functions[MAX], period_type, self;
	struct read_sample samples[MAX];
	char *strings[MAX];
	unsigned int n_types, n_mappings, n_locations, n_functions, n_samples, n_strings;
};

/* One field; false at the end. Only varints and length-delimited fields are allowed, as only they are written. */
static bool next_field(struct sp_cursor *c, uint32_t *field, uint64_t *number, struct sp_cursor *bytes)
{
	uint64_t tag;

	if (!sp_cursor_left(c))
		return false;
	tag = sp_cursor_uleb(c);
	assert_true((tag & 7) == 0 || (tag & 7) == 2);
	assert_in_range(tag >> 3, 1, 15);
	*field = (uint32_t)(tag >> 3);
	*number = sp_cursor_uleb(c);
	if ((tag & 7) == 2)
		*bytes = sp_cursor_sub(c, *number);
	assert_false(c->bad);
	return true;
}

static struct message read_message(struct sp_cursor c)
{
	struct message m = {0};
	struct sp_cursor bytes = {0};
	uint64_t number;
	uint32_t field;

	while (next_field(&c, &field, &number, &bytes)) {
		m.n[field] = number;
		m.bytes[field] = bytes;
	}
	return m;
}

static unsigned int read_packed(struct sp_cursor c, uint64_t *numbers, unsigned int max)
{
	unsigned int n = 0;

	for (; sp_cursor_left(&c) && !c.bad; n++) {
		assert_in_range(n, 0, max - 1);
		numbers[n] = sp_cursor_uleb(&c);
	}
	assert_false(c.bad);
	return n;
}

static void read_sample(struct sp_cursor c, struct read_sample *s)
{
	struct sp_cursor bytes = {0};
	struct message label;
	uint64_t number;
	uint32_t field;

	while (next_field(&c, &field, &number, &bytes)) {
		if (field == 1)
			s->n_locations = read_packed(bytes, s->locations, SP_COUNT(s->locations));
		if (field == 2)
			s->n_values = read_packed(bytes, s->values, SP_COUNT(s->values));
		if (field != 3)
			continue;
		label = read_message(bytes);
		s->keys[s->n_labels] = label.n[1];
		s->numbers[s->n_labels] = label.n[3];
		s->strings[s->n_labels++] = label.n[2];
		assert_in_range(s->n_labels, 1, SP_COUNT(s->keys) - 1);
	}
}

static char *inflated(const char *data, size_t len, size_t *ret_len)
{
	size_t room = 1 << 20;
	char *out = malloc(room);
	z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)len};

	assert_non_null(out);
	z.next_out = (Bytef *)out;
	z.avail_out = (uInt)room;
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	inflateEnd(&z);
	*ret_len = z.total_out;
	return out;
}

static void read_field(struct read_profile *r, uint32_t field, uint64_t number, struct sp_cursor bytes)
{
	unsigned int used[] = {r->n_types, r->n_mappings, r->n_locations, r->n_functions, r->n_samples, r->n_strings};

	for (size_t i = 0; i < SP_COUNT(used); i++)
		assert_in_range(used[i], 0, (i ? MAX : 4) - 1);
	switch (field) {
	case 1:
		r->types[r->n_types++] = read_message(bytes);
		break;
	case 2:
		read_sample(bytes, &r->samples[r->n_samples++]);
		break;
	case 3:
		r->mappings[r->n_mappings++] = read_message(bytes);
		break;
	case 4:
		r->locations[r->n_locations++] = read_message(bytes);
		break;
	case 5:
		r->functions[r->n_functions++] = read_message(bytes);
		break;
	case 6:
		r->strings[r->n_strings++] = strndup((const char *)bytes.data, bytes.size);
		break;
	case 11:
		r->period_type = read_message(bytes);
		break;
	default:
		r->self.n[field] = number;
	}
}

static struct read_profile *read_profile(const struct sp_profile *p)
{
	struct sp_view_options o = {0};
	size_t len;
	char *file SP_FREE = fixture_render(&sp_view_pprof, p, &o, &len);
	struct read_profile *r = calloc(1, sizeof(*r));
	struct sp_cursor c, bytes = {0};
	uint64_t number;
	uint32_t field;

	assert_non_null(r);
	r->data = (uint8_t *)inflated(file, len, &len);
	c = sp_cursor_on(r->data, len);
	while (next_field(&c, &field, &number, &bytes))
		read_field(r, field, number, bytes);
	return r;
}

static void free_read(struct read_profile *r)
{
	for (unsigned int i = 0; i < r->n_strings; i++)
		free(r->strings[i]);
	free(r->data);
	free(r);
}

static const char *string(const struct read_profile *r, uint64_t number)
{
	assert_in_range(number, 0, r->n_strings - 1);
	return r->strings[number];
}

/* --- what readers demand --- */
static void ids_count_from_one(const struct message *table, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(table[i].n[1], i + 1);
}

static void mappings_do_not_overlap(const struct read_profile *r)
{
	uint64_t end = 0;

	for (unsigned int i = 0; i < r->n_mappings; i++) {
		const struct message *m = &r->mappings[i];

		assert_true(m->n[2] <= m->n[3]);
		if (!m->n[2])
			continue;
		assert_true(m->n[2] > end);
		assert_int_equal(m->n[2] % 4096, 0);
		end = m->n[3];
	}
}

static void locations_lie_in_their_mappings(const struct read_profile *r)
{
	for (unsigned int i = 0; i < r->n_locations; i++) {
		const struct message *l = &r->locations[i];

		assert_in_range(l->n[2], 0, r->n_mappings);
		if (!l->n[2] || !l->n[3])
			continue;
		assert_true(l->n[3] >= r->mappings[l->n[2] - 1].n[2]);
		assert_true(l->n[3] < r->mappings[l->n[2] - 1].n[3]);
	}
}

static void rules_of_readers(void **state)
{
	struct sp_profile *p = fixture_profile();
	struct read_profile *r = read_profile(p);
	uint64_t sum[2] = {0};

	assert_string_equal(r->strings[0], "");
	for (unsigned int i = 1; i < r->n_strings; i++)
		assert_true(*r->strings[i]);
	ids_count_from_one(r->mappings, r->n_mappings);
	ids_count_from_one(r->locations, r->n_locations);
	ids_count_from_one(r->functions, r->n_functions);
	mappings_do_not_overlap(r);
	locations_lie_in_their_mappings(r);
	for (unsigned int i = 0; i < r->n_samples; i++) {
		assert_int_equal(r->samples[i].n_values, r->n_types);
		assert_true(r->samples[i].n_locations > 0);
		for (unsigned int v = 0; v < 2; v++)
			sum[v] += r->samples[i].values[v];
		for (unsigned int l = 0; l < r->samples[i].n_locations; l++)
			assert_in_range(r->samples[i].locations[l], 1, r->n_locations);
	}
	assert_int_equal(sum[0], FIXTURE_SAMPLES);
	assert_int_equal(sum[1], FIXTURE_SAMPLES * (uint64_t)FIXTURE_PERIOD_NS);
	free_read(r);
	sp_profile_free(p);
}

/* --- the golden file --- */
static void print_head(const struct read_profile *r, FILE *out)
{
	for (unsigned int i = 0; i < r->n_types; i++)
		fprintf(out, "type %s/%s\n", string(r, r->types[i].n[1]), string(r, r->types[i].n[2]));
	fprintf(out, "time %" PRIu64 " duration %" PRIu64 " period %" PRIu64 " %s/%s\n", r->self.n[9], r->self.n[10],
		r->self.n[12], string(r, r->period_type.n[1]), string(r, r->period_type.n[2]));
	for (unsigned int i = 0; i < r->n_mappings; i++) {
		const struct message *m = &r->mappings[i];

		fprintf(out, "mapping %#" PRIx64 "-%#" PRIx64 " %s %s%s\n", m->n[2], m->n[3], string(r, m->n[5]),
			string(r, m->n[6]), m->n[7] ? " has_functions" : "");
	}
}

static void print_location(const struct read_profile *r, uint64_t id, FILE *out)
{
	const struct message *l = &r->locations[id - 1], *f;

	fprintf(out, "    %" PRIu64 " %#" PRIx64, l->n[2], l->n[3]);
	if (l->bytes[4].size) {
		f = &r->functions[read_message(l->bytes[4]).n[1] - 1];
		fprintf(out, " %s", string(r, f->n[2]));
		if (f->n[3] != f->n[2])
			fprintf(out, " = %s", string(r, f->n[3]));
		if (f->n[4])
			fprintf(out, " in %s", string(r, f->n[4]));
	}
	fputc('\n', out);
}

static void print_sample(const struct read_profile *r, const struct read_sample *s, FILE *out)
{
	fputs("sample", out);
	for (unsigned int i = 0; i < s->n_values; i++)
		fprintf(out, " %" PRIu64, s->values[i]);
	for (unsigned int i = 0; i < s->n_labels; i++) {
		fprintf(out, " %s=%s", string(r, s->keys[i]), string(r, s->strings[i]));
		if (s->numbers[i])
			fprintf(out, "#%" PRIu64, s->numbers[i]);
	}
	fputc('\n', out);
	for (unsigned int i = 0; i < s->n_locations; i++)
		print_location(r, s->locations[i], out);
}

static void equal_to_the_golden_file(void **state)
{
	struct sp_profile *p = fixture_profile();
	struct read_profile *r = read_profile(p);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	print_head(r, out);
	for (unsigned int i = 0; i < r->n_samples; i++)
		print_sample(r, &r->samples[i], out);
	fclose(out);
	fixture_harmless(text);
	fixture_compare("pprof.txt", text);
	free(text);
	free_read(r);
	sp_profile_free(p);
}

/* With one process, its executable is the first mapping, though nothing of it was sampled or others weigh more. */
static void main_binary_first(void **state)
{
	struct sp_profile *p;
	struct read_profile *r;
	int64_t one[] = {1};
	uint32_t frames[1], stack;

	assert_int_equal(sp_profile_new(&p), 0);
	sp_profile_add_value_type(p, "samples", "count");
	uint32_t name = (uint32_t)sp_profile_add_string(p, "x");
	uint32_t lib = (uint32_t)sp_profile_add_file(p, &(struct sp_file){.kind = SP_FILE_ELF, .tag = 1, .name = name});
	name = (uint32_t)sp_profile_add_string(p, "main");
	uint32_t exe = (uint32_t)sp_profile_add_file(p, &(struct sp_file){.kind = SP_FILE_ELF, .tag = 2, .name = name});
	uint32_t process = (uint32_t)sp_profile_add_process(p, &(struct sp_process){.pid = 5, .exe = exe});
	frames[0] = (uint32_t)sp_profile_add_frame(p, &(struct sp_frame){.file = lib, .offset = 77});
	stack = (uint32_t)sp_profile_add_stack(p, &(struct sp_stack){.n_frames = 1, .frames = frames});
	uint32_t key = (uint32_t)sp_profile_add_key(p, &(struct sp_key){.process = process});
	assert_int_equal(sp_profile_add(p, key, stack, 0, one), 0);
	r = read_profile(p);
	assert_int_equal(r->n_mappings, 2);
	assert_string_equal(string(r, r->mappings[0].n[5]), "main");
	assert_int_equal(r->mappings[0].n[7], 0);
	assert_string_equal(string(r, r->mappings[1].n[5]), "x");
	free_read(r);
	sp_profile_free(p);
}

/* Each slice is a sample of its own, with its number in a label; 0 is none. */
static void slices_are_labels(void **state)
{
	int64_t one[] = {1};
	struct read_profile *r;
	struct sp_profile *p;

	assert_int_equal(sp_profile_new(&p), 0);
	sp_profile_add_value_type(p, "samples", "count");
	for (uint32_t slice = 0; slice < 3; slice++) {
		int64_t key = sp_profile_add_key(p, &(struct sp_key){.slice = slice * 7});
		assert_int_equal(sp_profile_add(p, (uint32_t)key, 0, 0, one), 0);
	}
	r = read_profile(p);
	assert_int_equal(r->n_samples, 3);
	for (uint32_t slice = 0; slice < 3; slice++) {
		const struct read_sample *s = &r->samples[slice];
		uint64_t got = 0;
		for (unsigned int i = 0; i < s->n_labels; i++)
			if (strcmp(string(r, s->keys[i]), "slice") == 0)
				got = s->numbers[i];
		assert_int_equal(got, slice * 7);
	}
	free_read(r);
	sp_profile_free(p);
}

/* A full disk is an error, not a short file. */
static void full_disk(void **state)
{
	struct sp_profile *p = fixture_profile();
	struct sp_view_options o = {0};
	FILE *out = fopen("/dev/full", "we");

	assert_non_null(out);
	setvbuf(out, NULL, _IONBF, 0);
	assert_int_equal(sp_view_pprof.write(p, &o, out), -ENOSPC);
	fclose(out);
	sp_profile_free(p);
}

/* --- readers that we did not write --- */
struct files {
	char gz[32], raw[32];
};

static void put_file(char *path, const char *data, size_t len)
{
	int fd SP_CLOSE = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
}

static struct files written_files(void)
{
	struct files f = {"/tmp/soprof-pprof-XXXXXX", "/tmp/soprof-proto-XXXXXX"};
	struct sp_profile *p = fixture_profile();
	struct sp_view_options o = {0};
	size_t len, raw_len;
	char *gz SP_FREE = fixture_render(&sp_view_pprof, p, &o, &len);
	char *raw SP_FREE = inflated(gz, len, &raw_len);

	put_file(f.gz, gz, len);
	put_file(f.raw, raw, raw_len);
	sp_profile_free(p);
	return f;
}

static void remove_files(const struct files *f)
{
	unlink(f->gz);
	unlink(f->raw);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void protoc_reads_every_field(void **state)
{
	char *argv[] = {"protoc", "--decode=Profile", "--proto_path=" SP_TEST_DATA "/view", "profile.proto", NULL};
	struct files f = written_files();
	char *text SP_FREE = NULL;
	int r = fixture_run(argv, f.raw, &text);

	remove_files(&f);
	if (r < 0)
		skip();
	assert_int_equal(r, 0);
	assert_int_equal(count(text, "\nsample {"), 15);
	/* a field that the description does not know is printed by its number: "13: 5" */
	for (const char *line = text; (line = strchr(line, '\n')); line++) {
		const char *word = line + 1 + strspn(line + 1, " ");

		assert_false(*word >= '0' && *word <= '9');
	}
	assert_non_null(strstr(text, "\nperiod: 10101010\n"));
	assert_non_null(strstr(text, "period_type {"));
}

static char *go_pprof(const char *path, const char *option, const char *extra)
{
	char *argv[] = {"go",
			"tool",
			"pprof",
			"-symbolize=none",
			(char *)(uintptr_t)option,
			(char *)(uintptr_t)extra,
			(char *)(uintptr_t)path,
			NULL};
	char *text = NULL;
	int r = fixture_run(argv, NULL, &text);

	if (r < 0) {
		free(text);
		return NULL;
	}
	assert_int_equal(r, 0);
	return text;
}

static void go_reads_the_totals(const char *path)
{
	char *top SP_FREE = go_pprof(path, "-top", "-sample_index=samples");
	char *cpu SP_FREE = go_pprof(path, "-top", "-sample_index=cpu");
	char *shown SP_FREE = go_pprof(path, "-top", "-functions");
	char *files SP_FREE = go_pprof(path, "-files", "-top");

	assert_non_null(strstr(top, "of 163 total"));
	assert_non_null(strstr(top, "libcrypto.so.3+0x29eb40\n"));
	assert_non_null(strstr(top, "        86 52.76%"));
	assert_non_null(strstr(cpu, "of 1.65s total"));
	assert_non_null(strstr(cpu, "Duration: 2s"));
	assert_non_null(strstr(shown, "Type: samples\n"));
	assert_non_null(strstr(shown, "of 163 total"));
	assert_non_null(strstr(files, "/usr/lib/x86_64-linux-gnu/libcrypto.so.3\n"));
}

static void go_reads_the_rest(const char *path)
{
	char *raw SP_FREE = go_pprof(path, "-raw", "-symbolize=none");
	char *tags SP_FREE = go_pprof(path, "-tags", "-sample_index=samples");
	char *only SP_FREE = go_pprof(path, "-top", "-tagfocus=pid=100");
	char *traces SP_FREE = go_pprof(path, "-traces", "-sample_index=samples");

	assert_non_null(strstr(only, "Showing nodes accounting for 76, "));
	assert_non_null(strstr(raw, "Period: 10101010"));
	assert_non_null(strstr(raw, "samples/count[dflt] cpu/nanoseconds"));
	assert_non_null(strstr(raw, "/usr/bin/openssl 11181f262d343b424950575e656c737a81888f96 [FN]"));
	assert_non_null(strstr(raw, "[kernel.kallsyms]  [FN]"));
	assert_non_null(strstr(raw, "[anon:300]"));
	assert_non_null(strstr(raw, "[anon:301]"));
	assert_non_null(strstr(tags, "stack: Total 163"));
	assert_non_null(strstr(tags, "pid: Total 163"));
	assert_non_null(strstr(tags, "comm: Total 163"));
	assert_non_null(strstr(tags, "thread_name: Total 163"));
	assert_non_null(strstr(traces, "copy_to_user\n"));
}

static void go_reads_it_all(void **state)
{
	struct files f = written_files();
	char *text SP_FREE = go_pprof(f.gz, "-proto", "-output=/dev/null");

	if (!text) {
		remove_files(&f);
		skip();
	}
	go_reads_the_totals(f.gz);
	go_reads_the_rest(f.gz);
	remove_files(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rules_of_readers),  cmocka_unit_test(equal_to_the_golden_file),
	    cmocka_unit_test(main_binary_first), cmocka_unit_test(protoc_reads_every_field),
	    cmocka_unit_test(go_reads_it_all),   cmocka_unit_test(full_disk),
	    cmocka_unit_test(slices_are_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
