/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What events were about: by which names, when it is told, and what is not. */
#include "capture/objects.h"
#include "made.h"

#define HEAP_AT 0x5500001000ULL
static const struct sp_file_key file_key = {.ino = 11, .size = 4096, .dev = 22};

static const struct sp_recipe memory = {.name = "faults", .about = SP_ABOUT_MEMORY};
static const struct sp_recipe lock = {.name = "locks", .about = SP_ABOUT_LOCK};

static struct made objects_new(const struct sp_recipe *recipe)
{
	struct made m = made_new();

	m.c->o.recipes[0] = recipe;
	m.c->o.objects = true;
	assert_int_equal(sp_objects_open(m.c), 0);
	assert_int_equal(take_process(&m), 0);
	return m;
}

static int take_object(struct made *m, uint64_t id, uint32_t kind, uint64_t at, const char *name)
{
	struct sp_message_object r = {.type = SP_MESSAGE_OBJECT, .kind = kind, .id = id, .at = at, .key = file_key};

	snprintf(r.name, sizeof(r.name), "%s", name);
	return take(m, &r, sizeof(r));
}

static void keep(struct made *m, uint64_t object)
{
	struct sp_count_key key = {.process = process_key, .object = object};

	assert_int_equal(sp_objects_keep(m->c, &key, &(struct sp_count){.n = 1, .weight = 10}), 0);
}

/* The text of a row's label; "" if it has none of that name. */
static const char *label(const struct made *m, uint32_t row, const char *name)
{
	size_t n;
	const struct sp_key *key = sp_profile_key(m->p, sp_profile_row(m->p, row)->key);
	const struct sp_label *labels = sp_profile_labels(m->p, key->labels, &n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(sp_profile_string(m->p, labels[i].name), name))
			return sp_profile_string(m->p, labels[i].word);
	return "";
}

static uint64_t kind(uint64_t k)
{
	return k << SP_OBJECT_KIND_SHIFT;
}

/* Rows come at the end, equal ones as one; by then a library has the name that it gives itself. */
static void memory_has_names(void **state)
{
	static const char *const names[] = {"[heap]",    "[stack]",   "lib.so.1 data", "lib.so.1",
					    "file code", "[unknown]", "[unmapped]"};
	struct made m = objects_new(&memory);
	struct sp_file file = {.kind = SP_FILE_ELF};
	uint32_t number;

	file.name = (uint32_t)sp_profile_add_string(m.p, "lib.so.1.2");
	number = (uint32_t)sp_profile_add_file(m.p, &file);
	assert_int_equal(take_object(&m, 0x101, SP_OBJECT_DATA, 0, "lib.so.1.2"), 0);
	assert_int_equal(take_object(&m, 0x201, SP_OBJECT_FILE, 0, "lib.so.1.2"), 0);
	keep(&m, kind(SP_OBJECT_HEAP));
	keep(&m, kind(SP_OBJECT_STACK) | SP_OBJECT_MAJOR);
	keep(&m, 0x101);
	keep(&m, 0x201 | SP_OBJECT_MAJOR);
	keep(&m, 0x101);
	assert_int_equal(sp_profile_n_rows(m.p), 0);
	assert_int_equal(sp_numbers_set(&m.c->file_keys, &file_key, sizeof(file_key), number), 0);
	sp_profile_file(m.p, number)->name = (uint32_t)sp_profile_add_string(m.p, "lib.so.1");
	assert_int_equal(sp_objects_finish(m.c), 0);
	assert_int_equal(sp_profile_n_rows(m.p), 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_string_equal(label(&m, i, "memory"), names[i]);
		assert_string_equal(label(&m, i, "fault"), i % 2 ? "major" : "minor");
		assert_int_equal(sp_profile_row(m.p, i)->values[0], i == 2 ? 2 : 1);
		assert_int_equal(sp_profile_row(m.p, i)->values[1], i == 2 ? 20 : 10);
	}
	assert_int_equal(sp_objects_finish(m.c), 0); /* once */
	assert_int_equal(sp_profile_row(m.p, 2)->values[0], 2);
	made_free(&m);
	m = objects_new(&memory); /* a file that has no other name than its mapping's; what was never told */
	assert_int_equal(take_object(&m, 0x301, SP_OBJECT_CODE, 0, "file"), 0);
	keep(&m, 0x301);
	keep(&m, 0x401);
	keep(&m, kind(SP_OBJECT_NONE) | SP_OBJECT_MAJOR);
	assert_int_equal(sp_objects_finish(m.c), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_string_equal(label(&m, i, "memory"), names[4 + i]);
	made_free(&m);
}

/* A library's lock by its symbol table's address; one in memory by process and address. */
static void locks_have_names(void **state)
{
	struct made m = objects_new(&lock);

	assert_int_equal(take_object(&m, 0x101, SP_OBJECT_DATA, 0x4060, "lib.so"), 0);
	assert_int_equal(take_object(&m, 0x201, SP_OBJECT_HEAP, HEAP_AT, ""), 0);
	keep(&m, 0x101);
	keep(&m, 0x201);
	assert_int_equal(sp_objects_finish(m.c), 0);
	assert_string_equal(label(&m, 0, "lock"), "lib.so+0x4060");
	assert_string_equal(label(&m, 1, "lock"), "[heap:42]+0x5500001000");
	assert_string_equal(label(&m, 1, "fault"), "");
	made_free(&m);
}

static int take_unread(struct made *m, uint64_t id, uint32_t kind, uint64_t at, uint64_t image)
{
	struct sp_message_object r = {
	    .type = SP_MESSAGE_OBJECT, .kind = kind, .id = id, .at = at, .image = image, .key = file_key};

	snprintf(r.name, sizeof(r.name), "program");
	return take(m, &r, sizeof(r));
}

/* Where the kernel half could not read an image's headers, the file's own say what is in it. */
static void images_have_bounds(void **state)
{
	static const char *const names[] = {"program+0x404060", "program+0x40fff0", "[anon:42]+0x410000"};
	struct made m = objects_new(&lock);
	struct sp_known_file known[8] = {0};
	struct sp_file file = {.kind = SP_FILE_ELF};
	uint32_t number;
	size_t n;

	file.name = (uint32_t)sp_profile_add_string(m.p, "program");
	number = (uint32_t)sp_profile_add_file(m.p, &file);
	assert_in_range(number, 1, SP_COUNT(known) - 1);
	known[number] = (struct sp_known_file){.image_vaddr = 0x400000, .image_bytes = 0x10000};
	assert_int_equal(sp_numbers_set(&m.c->file_keys, &file_key, sizeof(file_key), number), 0);
	m.c->known = known;
	m.c->n_known = SP_COUNT(known);
	assert_int_equal(take_unread(&m, 0x101, SP_OBJECT_DATA, 0x404060, 0x400000), 0);
	assert_int_equal(take_unread(&m, 0x201, SP_OBJECT_ANON, 0x40fff0, 0x400000), 0);
	assert_int_equal(take_unread(&m, 0x301, SP_OBJECT_ANON, 0x410000, 0x400000), 0);
	assert_int_equal(take_unread(&m, 0x401, SP_OBJECT_DATA, 0x7f0000004060, 0x7f0000000000), 0);
	for (uint64_t id = 0x101; id <= 0x401; id += 0x100)
		keep(&m, id);
	assert_int_equal(sp_objects_finish(m.c), 0);
	for (uint32_t i = 0; i < SP_COUNT(names); i++)
		assert_string_equal(label(&m, i, "lock"), names[i]);
	assert_int_equal(sp_profile_row(m.p, 0)->values[0], 2); /* one lock, of whichever process */
	assert_int_equal(sp_capture_lock_places(m.c, &n)[0].at, 0x404060);
	assert_int_equal(n, 3);
	m.c->known = NULL;
	m.c->n_known = 0;
	made_free(&m);
	m = objects_new(&lock); /* a file that nobody has looked into */
	assert_int_equal(take_unread(&m, 0x101, SP_OBJECT_DATA, 0x404060, 0x400000), 0);
	assert_int_equal(take_unread(&m, 0x201, SP_OBJECT_ANON, 0x404060, 0x400000), 0);
	keep(&m, 0x101);
	keep(&m, 0x201);
	assert_int_equal(sp_objects_finish(m.c), 0);
	assert_string_equal(label(&m, 0, "lock"), "program+0x4060");
	assert_string_equal(label(&m, 1, "lock"), "[anon:42]+0x404060");
	made_free(&m);
}

static void messages_have_bounds(void **state)
{
	struct made m = objects_new(&lock);
	struct sp_message_object r = {.type = SP_MESSAGE_OBJECT};

	assert_int_equal(take_object(&m, 1, SP_N_OBJECT_KINDS, 0, "x"), -EBADMSG);
	assert_int_equal(take(&m, &r, sizeof(r) - 1), -EBADMSG);
	keep(&m, kind(SP_N_OBJECT_KINDS)); /* of no kind that there is */
	assert_int_equal(sp_objects_finish(m.c), 0);
	assert_string_equal(label(&m, 0, "lock"), "[unknown]");
	made_free(&m);
	m = made_new(); /* a session that did not ask */
	assert_int_equal(take_object(&m, 1, SP_OBJECT_HEAP, 0, "x"), -EBADMSG);
	made_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(memory_has_names),
	    cmocka_unit_test(locks_have_names),
	    cmocka_unit_test(images_have_bounds),
	    cmocka_unit_test(messages_have_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
