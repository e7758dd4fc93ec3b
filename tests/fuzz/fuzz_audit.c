/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_audit.c: the audit library as the writer of a file of calls, and others that write to it meanwhile: each 8 bytes
 * are a step, of the library (a library, function, process or row that is new or known, counts, room) or of somebody
 * who turns a word of the header, the directory or the records. Every eighth file is new; the others are as one that a
 * program has made room in.
 *
 * What nobody turned is read by the user half as it was counted, without a loss; of what was turned nothing harms the
 * writer, and the user half reads it, or says that it is damaged.
 */
#include "audit/audit.h"
#include "base/error.h"
#include "base/mem.h"
#include "directory.h"
#include "link/file.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A step of 8 bytes may make a row with its blocks. The pages of the file itself are no heap. */
const struct fuzz_cost fuzz_cost = {4 << 20, 4000, 100000, 100000};

enum { STEP = 8, MAX_STEPS = 512, KEPT = 16, NEW_EVERY = 8 };

static char path[96];
static uint8_t *pristine, *prepared; /* header and directory of a new file, and of one in which room was made */
static uint64_t size_bytes, used_bytes, n_counted;
static uint32_t objects[KEPT], functions[KEPT], processes[KEPT], rows[KEPT];
static bool turned, short_of_room;

static void begin(void)
{
	const struct sp_calls_what what = {.libraries = (const char *const[]){"libmade.so"},
					   .n_libraries = 1,
					   .depth = SP_CALLS_BY_SITE,
					   .apart = SP_CALLS_BY_PROCESS};
	struct sp_calls_header h;
	bool is_new;

	snprintf(path, sizeof(path), "%s/calls.profile", fuzz_directory());
	require(sp_calls_prepare(path, &what, &is_new) == 0);
	pristine = malloc(SP_CALLS_LEAST); /* kept to the end */
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	require(pristine && fd >= 0 && read(fd, pristine, SP_CALLS_LEAST) == SP_CALLS_LEAST);
	close(fd);
	memcpy(&h, pristine, sizeof(h));
	size_bytes = h.size_bytes;
	used_bytes = h.used_bytes;
}

/* The file has this header and directory, and a hole behind it. */
static void renew(const uint8_t *as)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	require(fd >= 0 && pwrite(fd, as, SP_CALLS_LEAST, 0) == SP_CALLS_LEAST);
	require(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, SP_CALLS_LEAST,
			  (off_t)(size_bytes - SP_CALLS_LEAST)) == 0);
	close(fd);
	memset(objects, 0, sizeof(objects));
	memset(functions, 0, sizeof(functions));
	memset(processes, 0, sizeof(processes));
	memset(rows, 0, sizeof(rows));
	n_counted = 0;
	turned = short_of_room = false;
}

/* --- steps of the library --- */
static void keep(uint32_t *kept, uint8_t place, uint32_t id)
{
	short_of_room = short_of_room || id == 0;
	kept[place % KEPT] = id;
}

static void add_object(uint8_t a, uint32_t c)
{
	struct sp_calls_object wanted = {
	    .flags = SP_CALLS_OBJECT_TARGET, .build_id_len = c % 2 == 0 ? 20 : 0, .size_bytes = c % 2};

	wanted.build_id[0] = (uint8_t)(c >> 8);
	snprintf(wanted.path, sizeof(wanted.path), "/lib/lib%u.so", (c >> 8) % 64);
	keep(objects, a, sp_shared_object(&wanted));
}

static void add_function(uint8_t a, uint8_t b, uint32_t c)
{
	char name[SP_CALLS_MAX_NAME + 3];
	size_t len = c % 64 == 0 ? sizeof(name) - 1 : 1 + c % 61;

	if (objects[b % KEPT] == 0)
		return;
	memset(name, 'a' + (int)(c >> 8) % 26, len);
	name[len] = '\0';
	keep(functions, a, sp_shared_function(objects[b % KEPT], c >> 8 & 0xff0, name, 0));
}

static void add_process(uint8_t a, uint8_t b, uint32_t c)
{
	if (objects[b % KEPT] != 0)
		keep(processes, a,
		     sp_shared_process(
			 &(struct sp_calls_process){.pid = c, .program = objects[b % KEPT], .name = "made"}));
}

static void add_row(uint8_t a, uint8_t b, uint32_t c)
{
	struct sp_calls_row wanted = {.function = functions[b % KEPT]};

	if (c % 4 != 0)
		wanted.caller = wanted.site_object = objects[c / 4 % KEPT];
	if (wanted.site_object != 0)
		wanted.site_offset = c >> 8;
	if (c % 8 > 4)
		wanted.process = processes[c / 64 % KEPT];
	if (wanted.function != 0)
		keep(rows, a, sp_shared_row(&wanted));
}

/* As trampolines count, in the first and last of the counters. */
static void count(uint8_t a)
{
	uint64_t base = rows[a % KEPT] != 0 ? sp_shared_counters(rows[a % KEPT]) : 0;

	if (base == 0)
		return;
	*(uint64_t *)(base - SP_CALLS_PAGE) += 1;
	*(uint64_t *)(base + (uint64_t)(sp_shared.n_slots - 2) * SP_CALLS_PAGE) += 2;
	n_counted += 3;
}

static void take_bytes(uint32_t c)
{
	uint8_t *bytes;
	uint64_t len = c % (SP_CALLS_BYTES + 100);

	if (sp_shared_bytes(len, &bytes) != 0)
		memset(bytes, 0, len);
}

static void make_room(uint32_t c)
{
	sp_shared.n_expected = c % 5000;
	sp_shared_prepare();
}

/* --- somebody else's --- */
static void turn(uint8_t a, uint8_t b, uint32_t c)
{
	static const uint64_t pages[] = {0, SP_CALLS_PAGE, SP_CALLS_LEAST, 1 << 20};
	uint64_t at = a % 4 == 0 ? 8 * (b % 64)
		      : a % 4 == 1
			  ? SP_CALLS_PAGE + 8 * (uint64_t)b
			  : SP_CALLS_LEAST + 8 * ((uint64_t)b << 8 | (c & 0xff)) % (used_bytes - SP_CALLS_LEAST);
	uint64_t *word = sp_shared_at(at & ~7ULL, sizeof(*word));

	turned = true;
	if (!word)
		return;
	*word = a & 0x10 ? pages[c % 4] + (c >> 2 << 12) : a & 0x20 ? *word ^ c : a & 0x40 ? (uint64_t)c << 32 | c : c;
}

static void step(const uint8_t *s)
{
	uint32_t c;

	memcpy(&c, s + 4, sizeof(c));
	switch (s[0] % 9) {
	case 0:
		return add_object(s[1], c);
	case 1:
		return add_function(s[1], s[2], c);
	case 2:
		return add_process(s[1], s[2], c);
	case 3:
	case 4:
		return add_row(s[1], s[2], c);
	case 5:
		return count(s[1]);
	case 6:
		return take_bytes(c);
	case 7:
		return make_room(c);
	default:
		return turn(s[1], s[2], c);
	}
}

/* --- what is read of it --- */
static void read_back(void)
{
	struct sp_calls_snapshot s;
	uint64_t sum = 0;
	int r = sp_calls_read(path, &s);

	require(r == 0 || (turned && (r == -EBADMSG || r == -EPROTONOSUPPORT)));
	sp_error_clear();
	if (r < 0)
		return;
	for (size_t i = 0; i < s.n_arcs; i++)
		sum += s.arcs[i].n_calls;
	require(turned || (sum == n_counted && s.n_torn == 0));
	sp_calls_done(&s);
}

static void open_file(void)
{
	require(sp_shared_open(path, (uint32_t)geteuid()));
	sp_shared_prepare();
}

static void close_file(void)
{
	for (uint32_t i = 0; i < sp_shared.n_mappings; i++)
		munmap(sp_shared.mappings[i].at, sp_shared.mappings[i].high - sp_shared.mappings[i].low);
}

/* What a program that starts makes is room, which is empty: blocks in the directory. It is most of what a run takes. */
static void prepare(void)
{
	renew(pristine);
	open_file();
	prepared = malloc(SP_CALLS_LEAST); /* kept to the end */
	require(prepared);
	memcpy(prepared, sp_shared.header, SP_CALLS_LEAST);
	for (uint64_t at = SP_CALLS_LEAST; at < sp_shared.header->used_bytes; at += sizeof(uint64_t)) {
		const uint64_t *word = sp_shared_at(at, sizeof(*word));
		require(word && *word == 0);
	}
	close_file();
}

int fuzz_one(const uint8_t *data, size_t size)
{
	static unsigned n_runs;

	if (!pristine)
		begin();
	if (!prepared)
		prepare();
	renew(n_runs++ % NEW_EVERY == 0 ? pristine : prepared);
	open_file();
	for (size_t i = 0; i < size / STEP && i < MAX_STEPS; i++)
		step(data + i * STEP);
	close_file();
	read_back();
	return 0;
}
