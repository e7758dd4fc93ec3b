/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ELF package note: what is read of good ones, and that nothing is read of others. */
#include "elf/package.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "elf/priv.h"
#include "test.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define X16 "xxxxxxxxxxxxxxxx"
#define X127 X16 X16 X16 X16 X16 X16 X16 "xxxxxxxxxxxxxxx"

static int scan(const char *text, size_t len, struct sp_elf_package *p)
{
	/* of exactly this size, so that a sanitizer sees what goes beyond */
	SP_FREE char *copy = malloc(len ? len : 1);
	memcpy(copy, text, len);
	memset(p, 0xee, sizeof(*p));
	return sp_elf_package_scan(copy, len, p);
}

static void good(void **state)
{
	static const struct {
		const char *json;
		struct sp_elf_package p;
	} goods[] = {
	    {"{\"type\":\"rpm\",\"name\":\"coreutils\",\"version\":\"4711.0815.fc13\",\"architecture\":\"arm32\","
	     "\"osCpe\":\"cpe:/o:fedoraproject:fedora:33\",\"debugInfoUrl\":\"https://debuginfod.fedoraproject.org/\"}",
	     {"coreutils", "4711.0815.fc13", "arm32", "rpm"}},
	    {"{\"type\":\"deb\",\"os\":\"debian\",\"name\":\"libc6\",\"version\":\"1:2.36-9+deb12u7~bpo\","
	     "\"architecture\":\"amd64\"}",
	     {"libc6", "1:2.36-9+deb12u7~bpo", "amd64", "deb"}},
	    {" {\r\n\t\"name\" : \"a\" , \"n\" : -0.5e+10 ,\"t\":true,\"f\":false, \"z\" :null\n} ", {"a", "", "", ""}},
	    {"{\"x\":\"\\\"name\\\":\\u00e9\\\\\",\"name\":\"b\",\"\":\"\"}", {"b", "", "", ""}},
	    {"{\"x\":\"\xff\xc3\xa9\x7f\",\"name\":\"b\",\"version\":\"\"}", {"b", "", "", ""}},
	    {"{\"name\":\"" X127 "\"}", {X127, "", "", ""}},
	    {"{\"nam\\u0065\":\"not\",\"name\":\"is\"}", {"is", "", "", ""}},
	};
	struct sp_elf_package p;
	for (size_t i = 0; i < SP_COUNT(goods); i++) {
		size_t len = strlen(goods[i].json);
		assert_int_equal(scan(goods[i].json, len, &p), 0);
		assert_memory_equal(&p, &goods[i].p, sizeof(p));
		assert_true(sp_elf_package_valid(&p));
		for (size_t cut = 0; cut < len; cut++) /* the last one may end in space */
			if (goods[i].json[cut] != ' ' || cut < len - 1)
				assert_true(scan(goods[i].json, cut, &p) == -EBADMSG);
	}
}

static const char *const bads[] = {
    "",
    " ",
    "{}",
    "null",
    "[]",
    "\"name\"",
    "{\"version\":\"1\"}",
    "{\"name\":\"\"}",
    "{\"name\":1}",
    "{\"name\":null}",
    "{\"name\":[\"a\"]}",
    "{\"name\":{\"a\":1}}",
    "{\"name\":\"a\",}",
    "{,\"name\":\"a\"}",
    "{\"name\":\"a\"}}",
    "{\"name\":\"a\"} x",
    "{\"name\":\"a\" \"version\":\"1\"}",
    "{\"name\" \"a\"}",
    "{name:\"a\"}",
    "{'name':'a'}",
    "{\"name\":\"a\",\"name\":\"b\"}",
    "{\"name\":\"a\",\"version\":\"1\",\"version\":\"1\"}",
    "{\"name\":\"a b\"}",
    "{\"name\":\"a\\nb\"}",
    "{\"name\":\"\\u0061\"}",
    "{\"name\":\"a\nb\"}",
    "{\"name\":\"\xc3\xa9\"}",
    "{\"name\":\"a\x7f\"}",
    "{\"name\":\"a\\\"b\"}",
    "{\"name\":\"a\",\"version\":\"\x1b[31m\"}",
    "{\"name\":\"a\",\"x\":\"\\q\"}",
    "{\"name\":\"a\",\"x\":\"\\u12g4\"}",
    "{\"name\":\"a\",\"x\":01}",
    "{\"name\":\"a\",\"x\":.5}",
    "{\"name\":\"a\",\"x\":5.}",
    "{\"name\":\"a\",\"x\":5e}",
    "{\"name\":\"a\",\"x\":-}",
    "{\"name\":\"a\",\"x\":+1}",
    "{\"name\":\"a\",\"x\":nul}",
    "{\"name\":\"a\",\"x\":True}",
    "{\"name\":\"a\",\"x\":[]}",
    "{\"name\":\"a\",\"x\":{}}",
    "{\"name\":\"a\",\"x\":}",
    "{\"name\":\"a\"",
    "{\"name\":\"a",
    "{\"name\":\"a\",\"x\":\"\\",
    "{\"name\":\"a\",\"x\":\"\\u",
    "\xef\xbb\xbf{\"name\":\"a\"}",
};

static void bad(void **state)
{
	struct sp_elf_package p;
	for (size_t i = 0; i < SP_COUNT(bads); i++)
		if (scan(bads[i], strlen(bads[i]), &p) != -EBADMSG)
			fail_msg("taken: %s", bads[i]);
	assert_int_equal(scan("{\"name\":\"a\0\"}", 13, &p), -EBADMSG);
	assert_int_equal(scan("{\"name\":\"a\"}\0x", 14, &p), -EBADMSG);
	assert_int_equal(scan("{\"name\":\"x" X127 "\"}", 138, &p), -EFBIG);
	assert_int_equal(scan("{\"type\":\"" X16 "\",\"name\":\"a\"}", 39, &p), -EFBIG);
}

static void at_most_4096_bytes(void **state)
{
	char text[SP_PACKAGE_NOTE_BYTES + 1];
	struct sp_elf_package p;
	memset(text, ' ', sizeof(text));
	memcpy(text, "{\"name\":\"a\"}", 12);
	assert_int_equal(scan(text, SP_PACKAGE_NOTE_BYTES, &p), 0);
	assert_int_equal(scan(text, SP_PACKAGE_NOTE_BYTES + 1, &p), -EFBIG);
}

static void valid_is_what_was_scanned(void **state)
{
	struct sp_elf_package p = {.name = "a"}, q;
	assert_true(sp_elf_package_valid(&p));
	char *const fields[] = {q.name, q.version, q.arch, q.type};
	const size_t sizes[] = {sizeof(q.name), sizeof(q.version), sizeof(q.arch), sizeof(q.type)};
	for (size_t i = 0; i < SP_COUNT(fields); i++) {
		q = p;
		memset(fields[i], 'x', sizes[i]); /* no end */
		assert_false(sp_elf_package_valid(&q));
		fields[i][sizes[i] - 1] = '\0';
		assert_true(sp_elf_package_valid(&q));
		fields[i][1] = '\n';
		assert_false(sp_elf_package_valid(&q));
	}
}

/* --- notes in a small ELF file: a header, one PT_NOTE, and in it a note of another owner before the package's --- */
struct noted {
	Elf64_Ehdr header;
	Elf64_Phdr note;
	struct {
		Elf64_Nhdr head;
		char owner[8], data[4];
	} other;
	struct {
		Elf64_Nhdr head;
		char owner[4], data[8192];
	} package;
};

static size_t noted_make(struct noted *n, const char *owner, uint32_t type, const char *json, size_t len)
{
	size_t padded = (len + 8) & ~(size_t)7;

	*n = (struct noted){.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
				       .e_type = ET_DYN,
				       .e_machine = EM_X86_64,
				       .e_version = EV_CURRENT,
				       .e_phoff = sizeof(Elf64_Ehdr),
				       .e_ehsize = sizeof(Elf64_Ehdr),
				       .e_phentsize = sizeof(Elf64_Phdr),
				       .e_phnum = 1},
			    .other = {{5, 4, 0xcafe1a7e}, "Other", "{}"},
			    .package = {{4, (Elf64_Word)padded, type}, "", ""}};
	memcpy(n->package.owner, owner, 4);
	memcpy(n->package.data, json, len);
	size_t size = sizeof(n->other) + sizeof(n->package) - sizeof(n->package.data) + padded;
	n->note = (Elf64_Phdr){
	    .p_type = PT_NOTE, .p_offset = sizeof(n->header) + sizeof(n->note), .p_filesz = size, .p_align = 4};
	return sizeof(n->header) + sizeof(n->note) + size;
}

static int of_bytes(const struct noted *n, size_t size, struct sp_elf_package *p)
{
	struct sp_elf *e;
	SP_FREE void *copy = malloc(size);
	memcpy(copy, n, size);
	int r = sp_elf_open_bytes(copy, size, &e);
	if (r < 0)
		return r;
	r = sp_elf_package(e, p);
	sp_elf_close(e);
	return r;
}

static void notes(void **state)
{
	static const char json[] = "{\"type\":\"rpm\",\"name\":\"zlib\",\"version\":\"1\"}";
	static struct noted n;
	struct sp_elf_package p = {0};
	size_t size = noted_make(&n, "FDO", 0xcafe1a7e, json, strlen(json));
	assert_int_equal(of_bytes(&n, size, &p), 0);
	assert_string_equal(p.name, "zlib");
	for (size_t cut = 0; cut < size; cut++) /* a file that ends too early has no such note */
		assert_true(of_bytes(&n, cut, &p) < 0);
	size = noted_make(&n, "FDO", 0xcafe1a7f, json, strlen(json));
	assert_int_equal(of_bytes(&n, size, &p), -ENOENT);
	size = noted_make(&n, "GNU", 0xcafe1a7e, json, strlen(json));
	assert_int_equal(of_bytes(&n, size, &p), -ENOENT);
	size = noted_make(&n, "FDO", 0xcafe1a7e, "{\"name\":7}", 10);
	assert_int_equal(of_bytes(&n, size, &p), -ENOENT);
	size = noted_make(&n, "FDO", 0xcafe1a7e, json, strlen(json));
	n.package.head.n_descsz = 0xfffffff0;
	assert_int_equal(of_bytes(&n, size, &p), -ENOENT);
}

/* A thousand headers over the same MiB of small notes: no more of them are looked at than one header could name. */
static int count_note(void *arg, const struct sp_elf_note *note)
{
	++*(size_t *)arg;
	return 0;
}

static void same_notes_often(void **state)
{
	enum { HEADERS = 1000, BYTES = 1 << 20, NOTE = sizeof(Elf64_Nhdr) + 4 };
	static struct {
		Elf64_Ehdr header;
		Elf64_Phdr headers[HEADERS];
		uint32_t words[BYTES / 4];
	} file;
	struct noted n;
	struct sp_elf *e;
	size_t n_notes = 0;

	noted_make(&n, "GNU", 1, "", 0);
	file.header = n.header;
	file.header.e_phnum = HEADERS;
	for (size_t i = 0; i < HEADERS; i++)
		file.headers[i] = (Elf64_Phdr){.p_type = PT_NOTE,
					       .p_offset = offsetof(typeof(file), words),
					       .p_filesz = BYTES - BYTES % NOTE,
					       .p_align = 4};
	for (size_t i = 0; i + NOTE / 4 <= BYTES / 4; i += NOTE / 4)
		file.words[i + 1] = 4; /* of data, without an owner */
	assert_int_equal(sp_elf_open_bytes(&file, sizeof(file), &e), 0);
	assert_int_equal(sp_elf_walk_notes(e, ".note", count_note, &n_notes), 0);
	assert_int_equal(n_notes, BYTES / NOTE);
	sp_elf_close(e);
}

/* --- what Debian's linker writes --- */
static int run(char *const *argv)
{
	extern char **environ;
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status = -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) == 0)
		waitpid(pid, &status, 0);
	posix_spawn_file_actions_destroy(&actions);
	return status;
}

static void check_file(const char *path, bool stripped)
{
	struct sp_elf_package p;
	struct sp_elf *e;
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	assert_true(stripped || sp_elf_n_sections(e) > 4);
	assert_int_equal(sp_elf_package(e, &p), 0);
	assert_string_equal(p.name, "demo");
	assert_string_equal(p.version, "2:1.0-1.fc40");
	assert_string_equal(p.arch, "x86_64");
	assert_string_equal(p.type, "rpm");
	sp_elf_close(e);
}

static void as_the_linker_writes(void **state)
{
	char path[] = "/tmp/soprof-note-XXXXXX";
	char note[] = "--package-metadata={\"type\":\"rpm\",\"name\":\"demo\",\"version\":\"2:1.0-1.fc40\","
		      "\"architecture\":\"x86_64\"}";
	char *link[] = {"gcc", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-Xlinker", note, "-o", path, NULL};
	char *strip[] = {"strip", "--strip-all", path, NULL};
	SP_CLOSE int fd = mkstemp(path);
	assert_true(fd >= 0);
	if (run(link) != 0) {
		unlink(path);
		print_message("the linker knows no --package-metadata\n");
		skip();
	}
	check_file(path, false);
	assert_int_equal(run(strip), 0);
	check_file(path, true);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(good),
	    cmocka_unit_test(bad),
	    cmocka_unit_test(at_most_4096_bytes),
	    cmocka_unit_test(valid_is_what_was_scanned),
	    cmocka_unit_test(notes),
	    cmocka_unit_test(same_notes_often),
	    cmocka_unit_test(as_the_linker_writes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
