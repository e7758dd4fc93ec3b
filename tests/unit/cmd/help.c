/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/help.h"
#include "cmd/profile/profile_args.h"
#include "test.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct sp_cmd profile = {
    .name = "profile",
    .summary = "stacks",
    .group = SP_CMD_SAMPLE,
    .needs = "root",
    .synopsis = "[OPTIONS] [SECONDS] [-- COMMAND...]",
    .options = sp_profile_options,
    .examples = sp_profile_examples,
};
static const struct sp_cmd doctor = {
    .name = "doctor",
    .summary = "what works",
    .group = SP_CMD_CHECK,
    .synopsis = "",
    .options = (const struct sp_option[]){{0}},
    .examples = (const struct sp_example[]){{0}},
};
static const struct sp_cmd *const cmds[] = {&doctor, &profile, NULL};

static char *cmd_text(void (*write)(const struct sp_cmd *, FILE *), const struct sp_cmd *cmd)
{
	static char *text;
	static size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	write(cmd, f);
	assert_int_equal(fclose(f), 0);
	return text;
}

static char *list_text(void (*write)(const struct sp_cmd *const *, FILE *))
{
	static char *text;
	static size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	write(cmds, f);
	assert_int_equal(fclose(f), 0);
	return text;
}

/* 80 columns, 50 lines, three examples at the end; every option is there. */
static void test_help_fits_a_screen(void **state)
{
	char *text = cmd_text(sp_help_cmd, &profile), *at, *line, *rest = text, *examples;
	int n_lines = 0;

	for (const struct sp_option *o = sp_profile_options; o->type != SP_OPT_END; o++)
		assert_non_null(strstr(text, o->name ? o->name : o->arg));
	examples = strstr(text, "\nexamples:\n  ");
	assert_non_null(examples);
	at = examples + strlen("\nexamples:\n");
	for (int i = 0; i < 3; i++) {
		assert_non_null(at = strchr(at, '\n'));
		at++;
	}
	assert_string_equal(at, "");
	while ((line = strsep(&rest, "\n"))) {
		if (strlen(line) > 80)
			fail_msg("over 80 columns: %s", line);
		n_lines++;
	}
	assert_true(n_lines <= 50);
	free(text);
}

static void test_list_is_by_purpose(void **state)
{
	char *text = list_text(sp_help_all), *sample, *check;

	sample = strstr(text, "Sample what runs:\n  profile     stacks\n");
	check = strstr(text, "Check this machine:\n  doctor      what works\n");
	assert_true(sample && check && sample < check);
	assert_null(strstr(text, "Count calls"));
	free(text);
}

static void test_man_source_is_escaped(void **state)
{
	char *text = cmd_text(sp_help_options, &profile);

	assert_non_null(strstr(text, "*-p*, *--pid* _PID\\[,PID\\]_\n\tthese processes only\n"));
	assert_non_null(strstr(text, "\n\t\\_\\[k\\] behind kernel frames\n"));
	assert_non_null(strstr(text, "*--unwind* _HOW_\n\tunwind by: auto, dwarf, fp\n"));
	assert_non_null(strstr(text, "\n_SECONDS_\n"));
	free(text);
}

/* bash itself says what the script completes. */
static void bash_completes(const char *words, const char *want)
{
	char path[] = "/tmp/soprof-completion.XXXXXX", script[512], got[4096];
	int pipes[2], fd = mkstemp(path), status;
	FILE *f = fdopen(fd, "w");
	size_t n = 0;
	ssize_t r;
	pid_t pid;

	assert_non_null(f);
	assert_int_equal(sp_help_completion(cmds, "bash", f), 0);
	assert_int_equal(fclose(f), 0);
	snprintf(script, sizeof(script),
		 ". %s; COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _soprof; echo \"${COMPREPLY[*]}\"",
		 path, words);
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		dup2(pipes[1], 1);
		dup2(pipes[1], 2);
		execlp("bash", "bash", "-c", script, (char *)NULL);
		_exit(127);
	}
	close(pipes[1]);
	while (n < sizeof(got) - 1 && (r = read(pipes[0], got + n, sizeof(got) - 1 - n)) > 0)
		n += (size_t)r;
	got[n] = '\0';
	close(pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	unlink(path);
	assert_int_equal(status, 0);
	assert_string_equal(got, want);
}

static void test_completion(void **state)
{
	bash_completes("soprof pro", "profile\n");
	bash_completes("soprof profile --unw", "--unwind\n");
	bash_completes("soprof profile --unwind d", "dwarf\n");
	bash_completes("soprof profile -e pa", "page-faults\n");
	bash_completes("soprof profile -p ''", "\n");
	bash_completes("soprof doctor --", "--help\n");
}

/* What the shells make of it is looked at where they are: tests/full/completion.sh. */
static void test_other_shells(void **state)
{
	static const char *const parts[][2] = {
	    {"zsh", "'(-p --pid)'{-p,--pid}'[these processes only]:PID[,PID]:'"},
	    {"zsh", "'--unwind[unwind by]:HOW:(auto dwarf fp)'"},
	    {"zsh", "'profile:"},
	    {"fish", "-l pid -s p -x -d 'these processes only'"},
	    {"fish", "-l unwind -x -a 'auto dwarf fp' -d 'unwind by'"},
	    {"fish", "complete -c soprof -n __fish_use_subcommand -a profile -d '"},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		char *text = NULL;
		size_t size;
		FILE *f = open_memstream(&text, &size);

		assert_int_equal(sp_help_completion(cmds, parts[i][0], f), 0);
		assert_int_equal(fclose(f), 0);
		assert_non_null(strstr(text, parts[i][1]));
		free(text);
	}
	assert_int_equal(sp_help_completion(cmds, "csh", stderr), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_help_fits_a_screen),    cmocka_unit_test(test_list_is_by_purpose),
	    cmocka_unit_test(test_man_source_is_escaped), cmocka_unit_test(test_completion),
	    cmocka_unit_test(test_other_shells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
