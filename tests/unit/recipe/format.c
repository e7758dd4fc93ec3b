/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields are those of tracefs' format: of a made-up one, and of all that this kernel has, as far as they can be read.
 */
#include "recipe/fields.h"

#include "base/error.h"
#include "base/mem.h"
#include "event/op.h"
#include "recipe/narrow.h"
#include "recipe/tracepoint.h"
#include "test.h"
#include <errno.h>
#include <string.h>

static const char head[] = "name: made\nID: 372\nformat:\n"
			   "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			   "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
static const char tail[] = "\nprint fmt: \"field:int no;\", REC->no\n\tfield:int no;\toffset:8;\tsize:4;\tsigned:1;\n";

static struct sp_fields parsed(const char *lines)
{
	char text[4096];
	struct sp_fields fields;

	snprintf(text, sizeof(text), "%s%s%s", head, lines, tail);
	assert_int_equal(sp_fields_parse(text, &fields), 0);
	assert_int_equal(fields.id, 372);
	return fields;
}

static void kinds(void **state)
{
	struct sp_fields fields = parsed("\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
					 "\tfield:const void * ptr;\toffset:24;\tsize:8;\tsigned:0;\n"
					 "\tfield:long state;\toffset:32;\tsize:8;\tsigned:1;\n"
					 "\tfield:__data_loc char[] name;\toffset:40;\tsize:4;\tsigned:0;\n"
					 "\tfield:__data_loc u8[] bytes;\toffset:44;\tsize:4;\tsigned:0;\n"
					 "\tfield:__u8 saddr[4];\toffset:48;\tsize:4;\tsigned:0;\n"
					 "\tfield:struct pair two;\toffset:56;\tsize:8;\tsigned:0;\n"
					 "\tfield:u128 wide;\toffset:64;\tsize:16;\tsigned:0;\n"
					 "\tfield:unsigned far;\toffset:9000;\tsize:4;\tsigned:0;\n");
	const struct {
		const char *name, *type;
		enum sp_field_from from;
		uint32_t offset, size;
		bool is_signed, is_text;
	} wanted[] = {
	    {"common_type", "unsigned short", SP_FIELD_NOWHERE, 0, 2, false, false},
	    {"common_pid", "int", SP_FIELD_BUILTIN, SP_BUILTIN_TID, 4, true, false},
	    {"comm", "char[16]", SP_FIELD_RECORD, 8, 16, false, true},
	    {"ptr", "const void *", SP_FIELD_RECORD, 24, 8, false, false},
	    {"state", "long", SP_FIELD_RECORD, 32, 8, true, false},
	    {"name", "__data_loc char[]", SP_FIELD_DYNAMIC, 40, 4, false, true},
	    {"bytes", "__data_loc u8[]", SP_FIELD_NOWHERE, 44, 4, false, false},
	    {"saddr", "__u8[4]", SP_FIELD_NOWHERE, 48, 4, false, false},
	    {"two", "struct pair", SP_FIELD_NOWHERE, 56, 8, false, false},
	    {"wide", "u128", SP_FIELD_NOWHERE, 64, 16, false, false},
	    {"far", "unsigned", SP_FIELD_NOWHERE, 9000, 4, false, false},
	};

	assert_int_equal(fields.n, SP_COUNT(wanted));
	for (size_t i = 0; i < fields.n; i++) {
		const struct sp_field *f = &fields.list[i];

		assert_string_equal(f->name, wanted[i].name);
		assert_string_equal(f->type, wanted[i].type);
		assert_int_equal(f->from, wanted[i].from);
		assert_int_equal(f->offset, wanted[i].offset);
		assert_int_equal(f->size, wanted[i].size);
		assert_int_equal(f->is_signed, wanted[i].is_signed);
		assert_int_equal(f->is_text, wanted[i].is_text);
		assert_int_equal(f->why_not != NULL, f->from == SP_FIELD_NOWHERE);
	}
	sp_fields_done(&fields);
	assert_int_equal(sp_fields_parse("name: x\nformat:\n", &fields), -EINVAL);
	assert_int_equal(sp_fields_parse("ID: 3\n\tfield:int x; nonsense\n", &fields), -EINVAL);
}

/* The record has 8 bytes for each argument; what counts is the argument's type. */
static void calls(void **state)
{
	struct sp_fields fields = parsed("\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
					 "\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
					 "\tfield:const char * name;\toffset:24;\tsize:8;\tsigned:0;\n"
					 "\tfield:unsigned int flags;\toffset:32;\tsize:8;\tsigned:0;\n"
					 "\tfield:unsigned long length;\toffset:40;\tsize:8;\tsigned:0;\n"
					 "\tfield:unknown_t what;\toffset:48;\tsize:8;\tsigned:0;\n"
					 "\tfield:__data_loc char[] __name_val;\toffset:56;\tsize:4;\tsigned:0;\n");
	const uint32_t sizes[] = {4, 4, 8, 4, 8, 8, 4};

	sp_fields_of_call(&fields, true);
	for (size_t i = 2; i < fields.n; i++)
		assert_int_equal(fields.list[i].size, sizes[i - 2]);
	for (size_t i = 3; i < 8; i++)
		assert_int_equal(fields.list[i].offset, SP_BUILTIN_CALL_ARGUMENT + i - 3);
	assert_true(fields.list[3].is_signed);
	assert_false(fields.list[5].is_signed);
	assert_int_equal(fields.list[2].offset, SP_BUILTIN_CALL);
	assert_int_equal(fields.list[8].from, SP_FIELD_NOWHERE);
	sp_fields_done(&fields);
	fields = parsed("\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
			"\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n");
	sp_fields_of_call(&fields, false);
	assert_int_equal(fields.list[3].from, SP_FIELD_ARGUMENT);
	assert_int_equal(fields.list[3].offset, 1);
	assert_true(fields.list[3].is_signed && fields.list[3].size == 8);
	sp_fields_done(&fields);
}

static size_t n_read;
static void each(void *arg, const char *name)
{
	struct sp_fields fields;
	int r = sp_fields_read(name, NULL, &fields);

	if (r < 0)
		fail_msg("%s: %s", name, sp_error_text(r));
	for (size_t i = 0; i < fields.n; i++)
		assert_true(*fields.list[i].name && *fields.list[i].type);
	n_read++;
	sp_fields_done(&fields);
}

static void all(void **state)
{
	if (sp_tracepoints_each(each, NULL) < 0) {
		print_message("skip: tracefs cannot be read\n");
		skip();
	}
	assert_in_range(n_read, 100, 100000);
}

static void lists(void **state)
{
	static const struct {
		const char *list;
		size_t length;
	} firsts[] = {{"cpu,offcpu", 3},
		      {"a:b[x in {1, 2}],c", 16},
		      {"a:b{x}[y],c", 9},
		      {"a:b[c == \"],\"],d", 14},
		      {"a:b[c == \"\\\",]\"],d", 16},
		      {"a:b[x, y", 8},
		      {"", 0},
		      {",", 0},
		      {"[", 1}};
	struct sp_narrowing n;

	for (size_t i = 0; i < SP_COUNT(firsts); i++)
		assert_int_equal(sp_narrowing_length(firsts[i].list), firsts[i].length);
	assert_int_equal(sp_narrowing_split("a:b[ x > 1 ]{ y }", &n), 0);
	assert_int_equal(n.n_name, 3);
	assert_int_equal(n.filter, 5);
	assert_int_equal(n.n_filter, 5);
	assert_int_equal(n.value, 14);
	assert_int_equal(n.n_value, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(kinds),
	    cmocka_unit_test(calls),
	    cmocka_unit_test(all),
	    cmocka_unit_test(lists),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
