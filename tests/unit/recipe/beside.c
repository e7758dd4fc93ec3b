/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that are loaded beside others, as the kernel knows them afterwards. Needs root. */
#include "base/error.h"
#include "capture/capture.h"
#include "recipe/recipe.h"
#include "test.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static const char *const large[] = {"sp_sink_raw", "sp_cpu", "sp_blocked"};
static struct sp_capture_options options;

/* Of a session with these recipes; false: not allowed here. */
static bool ground_open(const char *first, const char *second, struct sp_recipe_object *ret_object)
{
	options = (struct sp_capture_options){.recipes = {sp_recipe_find(first), sp_recipe_find(second)},
					      .user = true,
					      .kernel = true,
					      .frequency_hz = 49};
	if (geteuid()) {
		print_message("skip: needs root\n");
		return false;
	}
	assert_int_equal(sp_ground.open(&options, ret_object), 0);
	return true;
}

/* How long the kernel's program of this name is; -1: it is not loaded. */
static int64_t length_of(const struct sp_recipe_object *object, const char *name)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(object->object, name);
	struct bpf_prog_info info = {0};
	__u32 size = sizeof(info);

	if (bpf_program__fd(program) < 0)
		return -1;
	assert_int_equal(bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size), 0);
	assert_string_equal(info.name, name);
	assert_int_equal(info.type, bpf_program__type(program));
	return info.xlated_prog_len;
}

static void loaded(const char *first, const char *second, unsigned n_large)
{
	struct sp_recipe_object object;
	struct sp_recipe_shared shared;
	int64_t length;
	unsigned n = 0;

	if (!ground_open(first, second, &object))
		skip();
	assert_int_equal(sp_ground.load(&object, &options, &shared), 0);
	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++) {
		length = length_of(&object, large[i]);
		n += length >= 0;
		assert_true(length < 0 || length > 8000);
	}
	assert_int_equal(n, n_large);
	sp_ground.destroy(&object);
}

static void all_of_them(void **state)
{
	loaded("cpu", "offcpu", 3);
	loaded("cpu", "faults", 1);
	loaded("offcpu", "locks", 2);
}

/* The kernel refuses one that is loaded beside the others: a map that only that one has is not there. */
static void refused(void **state)
{
	struct sp_recipe_object object;
	struct sp_recipe_shared shared;
	int r;

	if (!ground_open("cpu", "offcpu", &object))
		skip();
	bpf_program__set_autoload(bpf_object__find_program_by_name(object.object, "sp_blocked"), false);
	bpf_map__set_autocreate(bpf_object__find_map_by_name(object.object, "episodes"), false);
	r = sp_ground.load(&object, &options, &shared);
	assert_true(r < 0);
	assert_non_null(strstr(sp_error_text(r), large[0]));
	sp_error_clear();
	sp_ground.destroy(&object);
	loaded("cpu", "offcpu", 3); /* what comes after it is loaded */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_of_them),
	    cmocka_unit_test(refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
