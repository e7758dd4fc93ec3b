/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_alert_state.c: any bytes as the file in which the agent keeps its alerts over restarts.
 *
 * A damaged file is ignored; of one that is read the alerts that fire, and the notifications that wait, are written
 * again, and that is read and written as the same bytes. What may be kept is bounded.
 */
#include "agent/alert/alerting.c"
#include "agent/log.h"
#include "base/error.h"
#include "directory.h"

#include <string.h>

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

static struct sp_alert_config alert = {.name = "zlib", .text = "library libz.so* share > 5% over 1m"};
static struct sp_agent_config config = {.alerts = &alert, .n_alerts = 1};

static void begin(void)
{
	size_t at = 0;

	require(sp_alert_rule_parse(alert.text, &alert.rule, &at) == 0);
	config.store = fuzz_directory();
	sp_log_open(-1);
}

/* Reads the file, and says what would be written. */
static char *read_and_write(size_t *ret_n)
{
	struct sp_alerting *a = NULL;
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_n);

	require(out && sp_alerting_new(&config, NULL, "http://localhost:9877/", &a) == 0);
	require(write_state(a, out) == 0 && fclose(out) == 0);
	sp_alerting_free(a);
	return text;
}

int fuzz_one(const uint8_t *data, size_t size)
{
	size_t n_once, n_twice;
	char *once, *twice;

	if (!config.store)
		begin();
	fuzz_directory_write("alerts", data, size);
	once = read_and_write(&n_once);
	fuzz_directory_write("alerts", once, n_once);
	twice = read_and_write(&n_twice);
	require(n_once == n_twice && memcmp(once, twice, n_once) == 0);
	free(once);
	free(twice);
	sp_error_clear();
	return 0;
}
