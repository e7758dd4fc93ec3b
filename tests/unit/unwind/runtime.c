/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtime.c: which files are runtimes that make code, and where HotSpot's tell of their fields: of libraries that the
 * compiler made of hotspot_made.c, of the libjvm.so that are here, and of what is none. The dynamic linker says where
 * the tables are: it fills in their pointers.
 */
#include "unwind/runtime.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "test.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MADE SP_BUILD_ROOT "/tests/unit/unwind/hotspot-"

struct field { /* an entry of gHotSpotVMStructs, as debuggers read it */
	const char *class, *field, *type;
	int32_t is_static;
	uint64_t offset;
	void *address;
};
struct type {
	const char *name, *super;
	int32_t is_oop, is_integer, is_unsigned;
	uint64_t size;
};

static struct sp_runtime runtime_of(const char *path)
{
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct sp_runtime t = {.kind = 77};
	struct sp_elf *e = NULL;

	assert_true(fd >= 0);
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	assert_int_equal(sp_runtime_find(e, &t), 0);
	sp_elf_close(e);
	return t;
}

static const struct field *field_of(void *library, const char *class, const char *name)
{
	struct field *const *at = dlsym(library, "gHotSpotVMStructs");

	assert_non_null(at);
	for (const struct field *f = *at; f->class; f++)
		if (!strcmp(f->class, class) && !strcmp(f->field, name))
			return f;
	return NULL;
}

static uint64_t block_of(void *library)
{
	struct type *const *at = dlsym(library, "gHotSpotVMTypes");

	assert_non_null(at);
	for (const struct type *t = *at; t->name; t++)
		if (!strcmp(t->name, "HeapBlock"))
			return (uint64_t)(uintptr_t)&t->size;
	return 0;
}

/* Every place that was found in the file is where the table of the loaded library is. */
static void compare(const char *path)
{
	static const struct {
		int what;
		const char *class, *field;
	} plain[] = {
	    {SP_HOTSPOT_DATA, "GrowableArray<int>", "_data"},
	    {SP_HOTSPOT_MEMORY, "CodeHeap", "_memory"},
	    {SP_HOTSPOT_SEGMAP, "CodeHeap", "_segmap"},
	    {SP_HOTSPOT_LOG2, "CodeHeap", "_log2_segment_size"},
	    {SP_HOTSPOT_LOW, "VirtualSpace", "_low"},
	    {SP_HOTSPOT_HIGH, "VirtualSpace", "_high_boundary"},
	    {SP_HOTSPOT_STUBS, "StubQueue", "_stub_buffer"},
	    {SP_HOTSPOT_STUBS_SIZE, "StubQueue", "_buffer_limit"},
	    {SP_HOTSPOT_COMPLETE, "CodeBlob", "_frame_complete_offset"},
	    {SP_HOTSPOT_FRAME, "CodeBlob", "_frame_size"},
	    {SP_HOTSPOT_SIZE, "CodeBlob", "_size"},
	};
	struct sp_runtime t = runtime_of(path);
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map = NULL;
	const struct field *f;

	assert_int_equal(t.kind, SP_RUNTIME_HOTSPOT);
	assert_non_null(library);
	assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
	for (size_t i = 0; i < SP_COUNT(plain); i++) {
		f = field_of(library, plain[i].class, plain[i].field);
		assert_non_null(f);
		assert_int_equal(t.at[plain[i].what] + map->l_addr, (uint64_t)(uintptr_t)&f->offset);
	}
	f = field_of(library, "GrowableArrayBase", "_len");
	f = f ? f : field_of(library, "GenericGrowableArray", "_len");
	assert_int_equal(t.at[SP_HOTSPOT_LEN] + map->l_addr, (uint64_t)(uintptr_t)&f->offset);
	f = field_of(library, "CodeCache", "_heaps");
	assert_int_equal(t.at[SP_HOTSPOT_HEAPS] + map->l_addr, (uint64_t)(uintptr_t)f->address);
	f = field_of(library, "AbstractInterpreter", "_code");
	assert_int_equal(t.at[SP_HOTSPOT_INTERPRETER] + map->l_addr, (uint64_t)(uintptr_t)f->address);
	f = field_of(library, "CodeBlob", "_code_begin");
	assert_int_equal(!f, !!(t.flags & SP_HOTSPOT_CODE_OFFSET));
	f = f ? f : field_of(library, "CodeBlob", "_code_offset");
	assert_int_equal(t.at[SP_HOTSPOT_CODE] + map->l_addr, (uint64_t)(uintptr_t)&f->offset);
	f = field_of(library, "CodeBlob", "_frame_complete_offset");
	assert_int_equal(!strcmp(f->type, "int"), !(t.flags & SP_HOTSPOT_SHORT_COMPLETE));
	assert_int_equal(t.at[SP_HOTSPOT_BLOCK] + map->l_addr, block_of(library));
}

static void made_libraries(void **state)
{
	compare(MADE "11.so");
	compare(MADE "17.so");
	compare(MADE "25.so");
}

/* In a process of its own: its constructors are a JVM's. */
static void installed_libraries(void **state)
{
	glob_t found;
	int status;

	if (glob("/usr/lib/jvm/*/lib/server/libjvm.so", 0, NULL, &found)) {
		print_message("skip: there is no libjvm.so\n");
		return;
	}
	for (size_t i = 0; i < found.gl_pathc; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			compare(found.gl_pathv[i]);
			_exit(0);
		}
		assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		print_message("%s\n", found.gl_pathv[i]);
	}
	globfree(&found);
}

/* A field that is missing: then nothing is known, and nothing is told by halves. */
static void not_whole(void **state)
{
	struct sp_runtime t = runtime_of(MADE "8.so"), none = {.kind = SP_RUNTIME_NONE};
	assert_memory_equal(&t, &none, sizeof(t));
}

static void other_files(void **state)
{
	assert_int_equal(runtime_of("/proc/self/exe").kind, SP_RUNTIME_NONE);
	assert_int_equal(runtime_of("/lib/x86_64-linux-gnu/libc.so.6").kind, SP_RUNTIME_NONE);
	if (access("/usr/bin/node", R_OK) == 0)
		assert_int_not_equal(runtime_of("/usr/bin/node").kind, SP_RUNTIME_HOTSPOT);
}

/* Damage anywhere in what is read makes it none, or leaves it as it is; never a place outside of the file's addresses.
 */
static void damaged(void **state)
{
	SP_CLOSE int fd = open(MADE "17.so", O_RDONLY | O_CLOEXEC);
	unsigned seed = 1;
	off_t size = lseek(fd, 0, SEEK_END);
	SP_FREE uint8_t *bytes = malloc((size_t)size);

	assert_true(bytes && pread(fd, bytes, (size_t)size, 0) == size);
	for (int i = 0; i < 2000; i++) {
		size_t at = (size_t)rand_r(&seed) % (size_t)size;
		uint8_t old = bytes[at];
		struct sp_runtime t;
		struct sp_elf *e = NULL;

		bytes[at] = (uint8_t)rand_r(&seed);
		if (sp_elf_open_bytes(bytes, (size_t)size, &e) == 0) {
			assert_int_equal(sp_runtime_find(e, &t), 0);
			assert_true(t.kind < SP_N_RUNTIMES);
			sp_elf_close(e);
		}
		bytes[at] = old;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(made_libraries), cmocka_unit_test(installed_libraries),
	    cmocka_unit_test(not_whole),      cmocka_unit_test(other_files),
	    cmocka_unit_test(damaged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
