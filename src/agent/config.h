/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * config.h: the agent's configuration: from its command line, its configuration file, and defaults.
 *
 * src/cmd/agent has the table of options, from which command line, keys of the file, help and man pages are made, and
 * the parsers that fill this struct. In a complete struct all values are valid: numbers in range, recipes and events
 * exist. sp_agent_config_done() frees strings and lists, which the struct owns. A reload (SIGHUP) makes a new struct;
 * nobody may keep strings of the old one. Where it says "not by reload", a reload keeps the old value and logs that.
 * Constant once made: any thread may read it.
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
	const char *name;      /* the recipe's */
	const char *event;     /* NULL = the recipe's default */
	uint64_t frequency_hz; /* 0 = the agent's */
};

/* What series of libraries are split by, beside the library. */
enum sp_metrics_by { SP_METRICS_BY_LIBRARY, SP_METRICS_BY_PROCESS, SP_METRICS_BY_CGROUP };

struct sp_agent_remote { /* a target of remote write */
	const char *url;
	uint64_t interval_ns;
	const char *authorization_file, *ca_file; /* as in post.h; NULL = none */
	const char *labels;                       /* added to all series, as in exposition.h */
};

/* Who is sent what the store has: a fleet's server (fleet/send.h), and those that take profiles (export/push.h). */
enum sp_receiver { SP_RECEIVER_FLEET, SP_RECEIVER_PYROSCOPE, SP_RECEIVER_OTLP, SP_N_RECEIVERS };
extern const char *const sp_receiver_words[SP_N_RECEIVERS]; /* "fleet", "pyroscope", "otlp" */

enum { SP_AGENT_MAX_LABELS = 32 };
struct sp_agent_receiver {           /* strings NULL: not given */
	const char *url;             /* NULL = none */
	const char *database, *user; /* a fleet's */
	const char *machine;         /* a fleet's host; NULL: it was given a name, and is known by it alone */
	const char *secret_file, *ca_file, *host; /* secret_file: the fleet's password, the others' headers */
	const char *labels[SP_AGENT_MAX_LABELS];  /* "NAME=VALUE" */
	size_t n_labels;
	uint32_t resolution_s;
};

/* Targets of an alert, beside the log. */
enum { SP_ALERT_ARGS = 16, SP_ALERT_MANAGERS = 4, SP_ALERT_LABELS = 16, SP_AGENT_MAX_ALERTS = 64 };
struct sp_alert_targets {
	const char *command[SP_ALERT_ARGS + 1];  /* executed without a shell; [0] NULL = none */
	const char *webhook;                     /* NULL = none */
	const char *managers[SP_ALERT_MANAGERS]; /* Alertmanagers' addresses, without /api/v2/alerts */
	size_t n_managers;
	const char *authorization_file, *ca_file; /* for webhook and managers (post.h) */
};
struct sp_alert_config {
	const char *name, *text; /* the rule's */
	struct sp_alert_rule rule;
	struct {
		const char *name, *value;
	} labels[SP_ALERT_LABELS]; /* added to the alert's own */
	size_t n_labels;
	struct sp_alert_targets to;
	bool has_targets[3]; /* command, webhook, managers: set by the alert itself */
};

struct sp_agent_config {
	/* sampling */
	uint64_t frequency_hz; /* 19 */
	struct sp_agent_source sources[SP_AGENT_MAX_SOURCES];
	size_t n_sources;   /* at least 1 */
	const char *cgroup; /* samples only processes in it; NULL = all */
	/* Globs of processes (profile/filter.h) whose rows are dropped before they are stored. */
	const char *exclude[SP_AGENT_MAX_GLOBS];
	size_t n_exclude;

	/* the store */
	const char *store; /* directory; not by reload */
	uint64_t retain_s[SP_N_RESOLUTIONS];
	uint64_t max_disk_bytes;

	/* limits of the agent with its helpers */
	uint64_t max_cpu_ppm;      /* millionths of one CPU: 10,000 = 1 % */
	uint64_t max_memory_bytes; /* of all processes, BPF maps included */

	/* names */
	const char *debug_dirs; /* separated by colons; NULL = the usual places only */
	bool debuginfod;        /* ask the servers of $DEBUGINFOD_URLS */

	/* the socket */
	const char *socket; /* path; "" = none; not by reload */
	const char *group;  /* its members see all users' rows, as root does; "" = none */
	uint64_t max_clients, max_queries;
	/* HTTP: addresses (http/http.h); not by reload. listen_is_default: an address in use is no error. */
	const char *listen[SP_AGENT_MAX_LISTEN];
	size_t n_listen;
	bool listen_is_default;
	const char *web_config;                /* a file (http/web_config.h); NULL = none */
	const char *hosts[SP_AGENT_MAX_HOSTS]; /* further names of this machine, for Host */
	size_t n_hosts;
	uint64_t query_timeout_ns, query_memory_bytes;

	/* metrics */
	uint64_t metrics_series;       /* limit of lines of libraries and functions; not less by reload */
	enum sp_metrics_by metrics_by; /* not by reload */
	const char *metrics_functions[SP_AGENT_MAX_GLOBS]; /* globs of functions that get series, too */
	size_t n_metrics_functions;

	struct sp_agent_remote remotes[SP_AGENT_MAX_REMOTES];
	size_t n_remotes;
	struct sp_agent_receiver receivers[SP_N_RECEIVERS];

	/* alerts */
	struct sp_alert_config *alerts; /* SP_AGENT_MAX_ALERTS, of which n_alerts are used */
	size_t n_alerts;
	struct sp_alert_targets alert_targets; /* of alerts that set none */

	int log_level; /* enum sp_log_level (agent/log.h): less urgent lines are dropped */

	char **strings; /* all strings above */
	size_t n_strings;
};

void sp_agent_config_done(struct sp_agent_config *c);

#endif
