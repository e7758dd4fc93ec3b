/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * config.h: what the agent was told: by its command line, its configuration file, and the defaults.
 *
 * The table of its options, from which the command line, the keys of the file, help and the man pages come, and the
 * parsers stand in src/cmd/agent_options.c, where all options are; here is only what they fill. All values have been
 * checked when a struct sp_agent_config is whole: numbers lie in their ranges, recipes and events exist. Strings and
 * lists belong to the struct: sp_agent_config_done() frees them. A reload (SIGHUP) makes a new struct; whoever takes it
 * must not hold on to strings of the old one. What may not change while the agent runs is said beside it: there a
 * reload keeps the old value and says so. Constant after it was made: any thread may read it.
 */
#ifndef SP_AGENT_CONFIG_H
#define SP_AGENT_CONFIG_H

#include "agent/rules.h"
#include "store/store.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_recipe;

enum { SP_AGENT_MAX_SOURCES = 8, SP_AGENT_MAX_GLOBS = 64, SP_AGENT_MAX_REMOTES = 4 };
enum { SP_AGENT_MAX_LISTEN = 16, SP_AGENT_MAX_HOSTS = 64 };

struct sp_agent_source {
	const struct sp_recipe *recipe;
	const char *event;     /* NULL = the recipe's default */
	uint64_t frequency_hz; /* 0 = the agent's */
};

/* Whose time each series of a library is, beside the library's. */
enum sp_metrics_by { SP_METRICS_BY_LIBRARY, SP_METRICS_BY_PROCESS, SP_METRICS_BY_CGROUP };

struct sp_agent_remote { /* a target of remote write */
	const char *url;
	uint64_t interval_ns;
	const char *authorization_file, *ca_file; /* as post.h has them; NULL = none */
	const char *labels;                       /* of all series, as exposition.h has them */
};

/* Where alerts go, beside the log. */
enum { SP_ALERT_ARGS = 16, SP_ALERT_MANAGERS = 4, SP_ALERT_LABELS = 16, SP_AGENT_MAX_ALERTS = 64 };
struct sp_alert_to {
	const char *command[SP_ALERT_ARGS + 1];  /* executed as it stands; [0] NULL = none */
	const char *webhook;                     /* NULL = none */
	const char *managers[SP_ALERT_MANAGERS]; /* Alertmanagers' addresses, without /api/v2/alerts */
	size_t n_managers;
	const char *authorization_file, *ca_file; /* for both (post.h) */
};
struct sp_alert_config {
	const char *name, *text; /* the rule's */
	struct sp_alert_rule rule;
	struct {
		const char *name, *value;
	} labels[SP_ALERT_LABELS]; /* added to the alert's own */
	size_t n_labels;
	struct sp_alert_to to;
	bool has_to[3]; /* command, webhook, managers: said by the alert itself */
};

struct sp_agent_config {
	/* what is sampled */
	uint64_t frequency_hz; /* 19 */
	struct sp_agent_source sources[SP_AGENT_MAX_SOURCES];
	size_t n_sources;   /* at least 1 */
	const char *cgroup; /* only processes in it; NULL = all */
	/* Globs of processes (profile/filter.h) whose rows are thrown away before anything is kept. */
	const char *exclude[SP_AGENT_MAX_GLOBS];
	size_t n_exclude;

	/* what is kept */
	const char *store; /* directory; not by reload */
	uint64_t retain_s[SP_N_RESOLUTIONS];
	uint64_t max_disk_bytes;

	/* what it may use, with its helpers */
	uint64_t max_cpu_ppm;      /* millionths of one CPU: 10,000 = 1 % */
	uint64_t max_memory_bytes; /* of all its processes, BPF maps included */

	/* names */
	const char *debug_dirs; /* with colons between; NULL = the usual places only */
	bool debuginfod;        /* ask the servers of $DEBUGINFOD_URLS */

	/* who may ask, and how much */
	const char *socket; /* path; "" = none; not by reload */
	const char *group;  /* whose members see all users' rows, as root does; "" = none */
	uint64_t max_clients, max_queries;
	/* HTTP: addresses (http/http.h); not by reload. If nobody said where, a place that is taken is no failure. */
	const char *listen[SP_AGENT_MAX_LISTEN];
	size_t n_listen;
	bool listen_is_default;
	const char *web_config;                /* a file: http/web_config.h; NULL = none */
	const char *hosts[SP_AGENT_MAX_HOSTS]; /* further names of this machine, as clients may say them */
	size_t n_hosts;
	uint64_t query_timeout_ns, query_memory_bytes;

	/* what others count */
	uint64_t metrics_series;       /* at most so many lines of libraries and functions; not less by reload */
	enum sp_metrics_by metrics_by; /* not by reload */
	const char *metrics_functions[SP_AGENT_MAX_GLOBS]; /* globs of functions that are counted, too */
	size_t n_metrics_functions;

	struct sp_agent_remote remotes[SP_AGENT_MAX_REMOTES];
	size_t n_remotes;

	/* what it tells by itself */
	struct sp_alert_config *alerts; /* SP_AGENT_MAX_ALERTS, of n_alerts */
	size_t n_alerts;
	struct sp_alert_to alert_to; /* where an alert does not say */

	int log_level; /* enum sp_log_level (agent/log.h): what is less urgent is not said */

	char **strings; /* all of the above point into these */
	size_t n_strings;
};

void sp_agent_config_done(struct sp_agent_config *c);

#endif
