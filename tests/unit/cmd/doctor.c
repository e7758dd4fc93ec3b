/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of doctor that ask nobody: how checks are shown, and what is made of the kernel's texts. */
#include "cmd/doctor/doctor.h"
#include "base/mem.h"
#include "test.h"

#include <limits.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void fill(struct sp_doctor *d)
{
	*d = (struct sp_doctor){.group = "One"};
	sp_doctor_add(d, "good", "all right", SP_DOCTOR_YES, "it was %s", "tried");
	sp_doctor_add(d, "bad", "not right", SP_DOCTOR_NO,
		      "ends\nhere with aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/bbbbbb");
	sp_doctor_cure(d, "sit down");
	sp_doctor_value(d, -3);
	sp_doctor_add(d, "worse", "half", SP_DOCTOR_PARTLY, "so");
	sp_doctor_cure(d, "sit %s", "down");
	d->group = "Two";
	sp_doctor_add(d, "fact", "a fact", SP_DOCTOR_NO, "\"quoted\"")->is_fact = true;
	sp_doctor_cure(d, "sit down");
}

static char *printed(unsigned width, bool colour, bool json)
{
	struct sp_doctor d;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fill(&d);
	assert_int_equal(json ? sp_doctor_print_json(&d, false, out) : sp_doctor_print(&d, width, colour, out), 0);
	fclose(out);
	sp_doctor_done(&d);
	return text;
}

static void lines_as_long_as_they_are(void **state)
{
	SP_FREE char *text = printed(0, false, false);

	assert_string_equal(text, "One\n"
				  "  all right                 yes    it was tried\n"
				  "  not right                 no     ends\\x0ahere with "
				  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/bbbbbb\n"
				  "  half                      partly so\n"
				  "                                   cure: sit down\n"
				  "\n"
				  "Two\n"
				  "  a fact                    no     \"quoted\"\n"
				  "                                   cure: sit down\n");
}

static void wrapped_where_the_terminal_ends(void **state)
{
	SP_FREE char *text = printed(80, true, false);

	assert_string_equal(text, "\033[1mOne\033[0m\n"
				  "  all right                 \033[32myes\033[0m    it was tried\n"
				  "  not right                 \033[31mno\033[0m     ends\\x0ahere with\n"
				  "                                   aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/bbb\n"
				  "                                   bbb\n"
				  "  half                      \033[33mpartly\033[0m so\n"
				  "                                   cure: sit down\n"
				  "\n"
				  "\033[1mTwo\033[0m\n"
				  "  a fact                    no     \"quoted\"\n"
				  "                                   cure: sit down\n");
}

/* However narrow, it comes to an end, and no word is lost. */
static void narrow_terminals(void **state)
{
	for (unsigned width = 1; width < 100; width++) {
		SP_FREE char *text = printed(width, false, false);
		assert_non_null(strstr(text, "\"quoted\""));
		for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
			assert_true(strcspn(line, "\n") <= SP_MAX(width, 59U));
	}
}

static void json_with_each_key(void **state)
{
	SP_FREE char *text = printed(0, false, true);

	assert_non_null(strstr(text, "{\"soprof\":\"" SP_VERSION "\",\"essential\":false,\"checks\":{\n"));
	assert_non_null(
	    strstr(text, "\n\"good\":{\"state\":\"yes\",\"what\":\"all right\",\"why\":\"it was tried\"},\n"));
	assert_non_null(
	    strstr(text, "\n\"bad\":{\"state\":\"no\",\"value\":-3,\"what\":\"not right\",\"why\":\"ends\\nhere"));
	assert_non_null(strstr(text, "\"why\":\"\\\"quoted\\\"\",\"cure\":\"sit down\"}\n}}\n"));
}

static void cures_of_perf(void **state)
{
	struct sp_doctor d = {.paranoid = 3};

	assert_string_equal(sp_doctor_perf_cure(&d, SP_DOCTOR_PERF_OWN_USER), "sysctl kernel.perf_event_paranoid=2");
	assert_non_null(strstr(sp_doctor_perf_cure(&d, SP_DOCTOR_PERF_ALL), "run as root"));
	d.capabilities = 1ULL << CAP_PERFMON; /* Debian's kernels do not take it at 3 */
	assert_non_null(strstr(sp_doctor_perf_cure(&d, SP_DOCTOR_PERF_ALL), "perf_event_paranoid=2"));
	d.capabilities = 1ULL << CAP_SYS_ADMIN;
	assert_non_null(strstr(sp_doctor_perf_cure(&d, SP_DOCTOR_PERF_ALL), "seccomp"));
	d.in_namespace = true;
	assert_non_null(strstr(sp_doctor_perf_cure(&d, SP_DOCTOR_PERF_ALL), "user namespace"));
	d = (struct sp_doctor){.paranoid = 2};
	assert_non_null(strstr(sp_doctor_perf_cure(&d, SP_DOCTOR_PERF_OWN), "perf_event_paranoid=1"));
}

static void levels_of_lockdown(void **state)
{
	char level[8];

	assert_true(sp_doctor_lockdown("[none] integrity confidentiality\n", level, sizeof(level)));
	assert_string_equal(level, "none");
	assert_true(sp_doctor_lockdown("none integrity [confidentiality]\n", level, sizeof(level)));
	assert_string_equal(level, "confide"); /* cut at its room */
	assert_false(sp_doctor_lockdown("none integrity\n", level, sizeof(level)));
	assert_false(sp_doctor_lockdown("none [integ", level, sizeof(level)));
	assert_false(sp_doctor_lockdown("", level, sizeof(level)));
}

static void versions_of_kernels(void **state)
{
	unsigned major, minor;

	assert_true(sp_doctor_version("6.1.0-38-amd64", &major, &minor));
	assert_int_equal(major, 6);
	assert_int_equal(minor, 1);
	assert_true(sp_doctor_version("10.12-rc1", &major, &minor));
	assert_int_equal(minor, 12);
	assert_false(sp_doctor_version("six", &major, &minor));
	assert_false(sp_doctor_version("", &major, &minor));
}

static void check_mounts(const char *text, const char *hidepid, bool v1, bool v2)
{
	char told[32];
	bool has_v1, has_v2;

	sp_doctor_mounts(text, told, &has_v1, &has_v2);
	assert_string_equal(told, hidepid);
	assert_int_equal(has_v1, v1);
	assert_int_equal(has_v2, v2);
}

static void kinds_of_mounts(void **state)
{
	check_mounts("", "", false, false);
	check_mounts("22 28 0:21 / /proc rw,nosuid shared:14 - proc proc rw,gid=4,hidepid=invisible,subset=pid\n"
		     "30 25 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
		     "invisible", false, true);
	check_mounts("22 28 0:21 / /proc rw - proc proc rw\n"
		     "31 25 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
		     "40 25 0:28 / /mnt/hidepid=9 rw - tmpfs cgroup2 rw\n",
		     "", true, false);
	/* another /proc below a root says nothing; of two at /proc the last one is seen */
	check_mounts("22 28 0:21 / /srv/proc rw - proc proc rw,hidepid=2\n", "", false, false);
	check_mounts("22 28 0:21 / /proc rw - proc proc rw,hidepid=2\n23 28 0:29 / /proc rw - proc proc rw\n", "",
		     false, false);
	check_mounts("broken\n - \n1 2 3 - proc\n22 28 0:21 / /proc", "", false, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_as_long_as_they_are),
	    cmocka_unit_test(wrapped_where_the_terminal_ends),
	    cmocka_unit_test(narrow_terminals),
	    cmocka_unit_test(json_with_each_key),
	    cmocka_unit_test(cures_of_perf),
	    cmocka_unit_test(levels_of_lockdown),
	    cmocka_unit_test(versions_of_kernels),
	    cmocka_unit_test(kinds_of_mounts),
	};

	return cmocka_run_group_tests_name("cmd-doctor", tests, NULL, NULL);
}
