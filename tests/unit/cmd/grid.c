/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of cells: what is as wide as it must be, and never wider than the terminal while it can be helped. */
#include "cmd/grid.h"
#include "test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct sp_grid_column columns[] = {
    {.title = "n", .right = true},         {.title = "empty"},
    {.title = "name", .min = 6},           {.title = "note", .drop = 1},
    {.title = "who", .min = 4, .max = 12},
};

static char *printed(unsigned width, bool colour)
{
	struct sp_grid *g = sp_grid_new(columns, 5);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	sp_grid_put(g, SP_GRID_RED, "%d", 7);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", "");
	sp_grid_put(g, SP_GRID_PLAIN, "%s", "libääääää.so");
	sp_grid_put(g, SP_GRID_PLAIN, "%s", "noted");
	sp_grid_put(g, SP_GRID_PLAIN, "%s", "a");
	sp_grid_put(g, SP_GRID_PLAIN, "%d", 1234);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", "");
	sp_grid_put(g, SP_GRID_PLAIN, "%s", "x\033[2J\n");
	sp_grid_put(g, SP_GRID_PLAIN, "%s", "");
	sp_grid_put(g, SP_GRID_PLAIN, "%s", "bash 10, python3 4");
	assert_int_equal(sp_grid_print(g, width, colour, "", out), 0);
	fclose(out);
	sp_grid_free(g);
	return text;
}

static void check(unsigned width, bool colour, const char *expected)
{
	char *text = printed(width, colour);

	assert_string_equal(text, expected);
	free(text);
}

static void as_wide_as_its_cells(void **state)
{
	check(0, false,
	      "   n  name          note   who\n"
	      "   7  libääääää.so  noted  a\n"
	      "1234  x\\x1b[2J\\x0a         bash 10, py…\n");
}

static void as_narrow_as_the_terminal(void **state)
{
	check(33, false,
	      "   n  name       note   who\n"
	      "   7  libäääää…  noted  a\n"
	      "1234  x\\x1b[2J…         bash 10,…\n");
}

static void columns_go_where_shrinking_is_not_enough(void **state)
{
	check(20, false,
	      "   n  name    who\n"
	      "   7  libää…  a\n"
	      "1234  x\\x1b…  bash …\n");
	check(3, false,
	      "   n  name    who\n"
	      "   7  libää…  a\n"
	      "1234  x\\x1b…  bas…\n");
}

static void colours_do_not_count(void **state)
{
	check(0, true,
	      "   \033[1mn\033[0m  \033[1mname\033[0m          \033[1mnote\033[0m   \033[1mwho\033[0m\n"
	      "   \033[31m7\033[0m  libääääää.so  noted  a\n"
	      "1234  x\\x1b[2J\\x0a         bash 10, py…\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(as_wide_as_its_cells),
	    cmocka_unit_test(as_narrow_as_the_terminal),
	    cmocka_unit_test(columns_go_where_shrinking_is_not_enough),
	    cmocka_unit_test(colours_do_not_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
