/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/agent/agent_options.h"
#include "agent/log.h"
#include "agent/socket/ask.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/text.h"
#include "base/time.h"
#include "http/gate.h"
#include "http/http.h"
#include "recipe/events.h"
#include "recipe/recipe.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MAX_HZ = 10000, MAX_PPM = 1000000, PPM_A_PERCENT = 10000, MAX_ARGS = 1024, DAY_S = 86400 };
enum { ACTION = 1 }; /* options that exclude each other */
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

SP_CHOICE(level_choice, "error", "warning", "notice", "info", "debug")

SP_CHOICE(by_choice, [SP_METRICS_BY_LIBRARY] = "library", [SP_METRICS_BY_PROCESS] = "process",
	  [SP_METRICS_BY_CGROUP] = "cgroup")

static void *at(const struct sp_option *o, void *args)
{
	return (char *)args + o->offset;
}

/* The next part of a list, up to the separator; false at its end. */
static bool next_part(const char **text, char separator, char *ret_part, size_t size)
{
	const char *end;

	if (!*text)
		return false;
	end = strchrnul(*text, separator);
	snprintf(ret_part, size, "%.*s", (int)SP_MIN(end - *text, (ptrdiff_t)size - 1), *text);
	*text = *end ? end + 1 : NULL;
	return true;
}

/* --- what only the agent has --- */
int sp_agent_parse_percent(const struct sp_option *o, const char *shown, const char *value, void *args)
{
	char number[32];
	size_t len = strlen(value);
	uint64_t billionths;
	int r;

	if (len && value[len - 1] == '%')
		len--;
	snprintf(number, sizeof(number), "%.*s", (int)SP_MIN(len, sizeof(number) - 1), value);
	r = len < sizeof(number) && len && strspn(number, "0123456789.") == len ? sp_parse_duration(number, &billionths)
										: -EINVAL;
	if (r < 0)
		return sp_fail_said(-EINVAL, "%s: '%s' is not a share of a CPU such as 1%% or 0.5%%", shown, value);
	if (billionths / (SP_NS_PER_S / PPM_A_PERCENT) < o->min || billionths / (SP_NS_PER_S / PPM_A_PERCENT) > o->max)
		return sp_fail_said(-EINVAL, "%s must be %g%% to %g%% of a CPU, not %s", shown,
				    (double)o->min / PPM_A_PERCENT, (double)o->max / PPM_A_PERCENT, value);
	*(uint64_t *)at(o, args) = billionths / (SP_NS_PER_S / PPM_A_PERCENT);
	return 0;
}

int sp_agent_parse_duration(const struct sp_option *o, const char *shown, const char *value, void *args)
{
	uint64_t ns = 0;
	int r = sp_parse_duration(value, &ns);

	if (r == -EINVAL)
		return sp_fail_said(-EINVAL, "%s: '%s' is not a time such as 500ms, 10s or 2m", shown, value);
	if (r < 0 || ns < o->min || ns > o->max)
		return sp_fail_said(-EINVAL, "%s must be %g to %g seconds, not %s", shown, (double)o->min / 1e9,
				    (double)o->max / 1e9, value);
	*(uint64_t *)at(o, args) = ns;
	return 0;
}

/* On the command line a path may begin where we are; a file is read from everywhere. */
static int from_here(const char *shown, const char *value, struct sp_agent_config *c, const char **ret_path)
{
	char *here SP_FREE = getcwd(NULL, 0), *path SP_FREE = NULL;

	if (strncmp(shown, "--", 2) != 0)
		return sp_fail_said(-EINVAL, "%s: '%s' does not begin with a /", shown, value);
	if (!*value)
		return sp_fail_said(-EINVAL, "%s: the value is empty", shown);
	if (!here || asprintf(&path, "%s/%s", here, value) < 0)
		return sp_fail(-errno, "%s: find where we are", shown);
	*ret_path = sp_agent_config_keep(c, path);
	return *ret_path ? 0 : -ENOMEM;
}

/* A path, or none. */
int sp_agent_parse_path(const struct sp_option *o, const char *shown, const char *value, void *args)
{
	if (!strcmp(value, "none") && o->min == 0) {
		*(const char **)at(o, args) = "";
		return 0;
	}
	int r = value[0] == '/' ? 0 : from_here(shown, value, &((struct sp_agent_args *)args)->config, &value);

	if (r < 0)
		return r;
	if (strlen(value) > o->max)
		return sp_fail_said(-EINVAL, "%s: a path of more than %llu bytes", shown, (unsigned long long)o->max);
	*(const char **)at(o, args) = value;
	return 0;
}

int sp_agent_parse_group(const struct sp_option *o, const char *shown, const char *value, void *args)
{
	if (!*value)
		return sp_fail_said(-EINVAL, "%s: the value is empty; say none for no group", shown);
	*(const char **)at(o, args) = strcmp(value, "none") ? value : "";
	return 0;
}

static int retain_one(const struct sp_option *o, const char *shown, const char *part, uint64_t *retain_s)
{
	static const char *const names[SP_N_RESOLUTIONS] = {"10s", "1m", "1h"};
	const char *colon = strchr(part, ':');
	uint64_t ns = 0;

	for (size_t i = 0; colon && i < SP_N_RESOLUTIONS; i++) {
		if (strncmp(part, names[i], (size_t)(colon - part)) != 0 || names[i][colon - part])
			continue;
		if (sp_parse_duration(colon + 1, &ns) < 0 || ns / SP_NS_PER_S < o->min || ns / SP_NS_PER_S > o->max)
			return sp_fail_said(-EINVAL, "%s: '%s' in '%s' is not a time of 1h to %llud", shown, colon + 1,
					    part, (unsigned long long)o->max / DAY_S);
		retain_s[i] = ns / SP_NS_PER_S;
		return 0;
	}
	return sp_fail_said(-EINVAL, "%s: '%s' does not begin with 10s:, 1m: or 1h:", shown, part);
}

static int parse_retain(const struct sp_option *o, const char *shown, const char *value, void *args)
{
	uint64_t *retain_s = at(o, args);
	char part[64];
	int r = 0;

	while (r == 0 && next_part(&value, o->separator, part, sizeof(part)))
		r = retain_one(o, shown, part, retain_s);
	return r;
}

static int parse_globs(const struct sp_option *o, const char *shown, const char *value, struct sp_agent_config *c,
		       const char **globs, size_t *ret_n)
{
	char part[256];

	*ret_n = 0;
	while (next_part(&value, o->separator, part, sizeof(part))) {
		char *kept;
		if (!part[0] || strlen(part) + 1 == sizeof(part))
			return sp_fail_said(-EINVAL, "%s: a name is %s", shown, part[0] ? "too long" : "empty");
		if (*ret_n == SP_AGENT_MAX_GLOBS)
			return sp_fail_said(-EINVAL, "%s: more than %d names", shown, SP_AGENT_MAX_GLOBS);
		kept = sp_agent_config_keep(c, part);
		if (!kept)
			return sp_fail(-ENOMEM, "%s", shown);
		globs[(*ret_n)++] = kept;
	}
	return 0;
}

static int parse_excludes(const struct sp_option *o, const char *shown, const char *value, void *args)
{
	struct sp_agent_config *c = &((struct sp_agent_args *)args)->config;

	return parse_globs(o, shown, value, c, c->exclude, &c->n_exclude);
}

static int parse_functions(const struct sp_option *o, const char *shown, const char *value, void *args)
{
	struct sp_agent_config *c = &((struct sp_agent_args *)args)->config;

	return parse_globs(o, shown, value, c, c->metrics_functions, &c->n_metrics_functions);
}

/* Each part of a list is kept, and looked at by `check`. */
struct kept_list {
	const char **parts;
	size_t *n, max;
	int (*check)(const char *part);
};

static int keep_parts(const struct sp_option *o, const char *shown, const char *value, struct sp_agent_config *c,
		      const struct kept_list *l)
{
	char part[256];

	*l->n = 0;
	while (next_part(&value, o->separator, part, sizeof(part))) {
		if (*l->n == l->max)
			return sp_fail_said(-EINVAL, "%s: more than %zu", shown, l->max);
		if (strlen(part) + 1 == sizeof(part))
			return sp_fail_said(-EINVAL, "%s: a part of %zu bytes or more", shown, strlen(part));
		if (l->check(part) < 0)
			return sp_fail(-EINVAL, "%s", shown);
		l->parts[*l->n] = sp_agent_config_keep(c, part);
		if (!l->parts[(*l->n)++])
			return sp_fail(-ENOMEM, "%s", shown);
	}
	return 0;
}

int sp_agent_parse_listen(const struct sp_option *o, const char *shown, const char *value, void *args)
{
	struct sp_agent_config *c = &((struct sp_agent_args *)args)->config;
	struct kept_list l = {c->listen, &c->n_listen, SP_AGENT_MAX_LISTEN, sp_http_address_check};

	c->listen_is_default = false;
	c->n_listen = 0;
	return strcmp(value, "none") ? keep_parts(o, shown, value, c, &l) : 0;
}

static int host_check(const char *part)
{
	char name[SP_HTTP_NAME_MAX];

	if (sp_http_host_name(part, name) && !strcasecmp(part, name))
		return 0;
	return sp_fail_said(-EINVAL, "'%s' is not a host's name; it has no port", part);
}

int sp_agent_parse_hosts(const struct sp_option *o, const char *shown, const char *value, void *args)
{
	struct sp_agent_config *c = &((struct sp_agent_args *)args)->config;
	struct kept_list l = {c->hosts, &c->n_hosts, SP_AGENT_MAX_HOSTS, host_check};

	return keep_parts(o, shown, value, c, &l);
}

/* One OPTION=VALUE of a source. */
static int source_option(const char *shown, const char *word, struct sp_agent_config *c, struct sp_agent_source *s)
{
	const char *value = strchr(word, '=');

	if (value && !strncmp(word, "event=", 6)) {
		if (sp_recipe_event_check(value + 1) < 0)
			return sp_fail(-EINVAL, "%s", shown);
		s->event = sp_agent_config_keep(c, value + 1);
		return s->event ? 0 : sp_fail(-ENOMEM, "%s", shown);
	}
	if (value && !strncmp(word, "frequency=", 10)) {
		if (sp_parse_number(value + 1, 1, MAX_HZ, &s->frequency_hz) < 0)
			return sp_fail_said(-EINVAL, "%s: frequency must be 1 to %d, not %s", shown, MAX_HZ, value + 1);
		return 0;
	}
	return sp_fail_said(-EINVAL, "%s: '%s' is no option of a source; there are event=EVENT, frequency=HZ", shown,
			    word);
}

static int source_one(const char *shown, const char *part, struct sp_agent_config *c)
{
	struct sp_agent_source source = {0};
	char word[256];
	int r = 0;

	next_part(&part, ':', word, sizeof(word));
	source.recipe = sp_recipe_find(word);
	if (!source.recipe)
		return sp_fail_said(-EINVAL, "%s: there is no recipe '%s'; there is cpu", shown, word);
	if (!sp_recipe_has_rate(source.recipe))
		return sp_fail_said(
		    -EINVAL, "%s: the agent does not take %s, of which every event counts; it takes cpu", shown, word);
	for (size_t i = 0; i < c->n_sources; i++)
		if (c->sources[i].recipe == source.recipe)
			return sp_fail_said(-EINVAL, "%s: %s is there twice", shown, word);
	if (c->n_sources == SP_AGENT_MAX_SOURCES)
		return sp_fail_said(-EINVAL, "%s: more than %d", shown, SP_AGENT_MAX_SOURCES);
	while (r == 0 && next_part(&part, ':', word, sizeof(word)))
		r = source_option(shown, word, c, &source);
	source.name = source.recipe->name;
	if (r == 0)
		c->sources[c->n_sources++] = source;
	return r;
}

static int parse_sources(const struct sp_option *o, const char *shown, const char *value, void *args)
{
	struct sp_agent_config *c = &((struct sp_agent_args *)args)->config;
	char part[256];
	int r = 0;

	c->n_sources = 0;
	while (r == 0 && next_part(&value, o->separator, part, sizeof(part)))
		r = source_one(shown, part, c);
	return r;
}

/* --- the table --- */
/* clang-format off */
#define AT(member) .offset = offsetof(struct sp_agent_args, config.member)
#define OTHER(with) .parse = (with)
const struct sp_option sp_agent_options[] = {
	{SP_OPT_STRING, 'c', "config", "FILE", "read options from FILE (/etc/soprof/agent.yaml, if it is there)", .offset = offsetof(struct sp_agent_args, file)},
	{SP_OPT_FLAG, 0, "check-config", NULL, "check the options and the file, start nothing", .offset = offsetof(struct sp_agent_args, check_only), .excludes = ACTION},
	{SP_OPT_FLAG, 0, "status", NULL, "ask the running agent how it is, start nothing", .offset = offsetof(struct sp_agent_args, status), .excludes = ACTION},
	{SP_OPT_FLAG, 0, "json", NULL, "with --status: as JSON", .offset = offsetof(struct sp_agent_args, json)},
	{SP_OPT_NUMBER, 'F', "frequency", "HZ", "samples a second on each CPU (19)", AT(frequency_hz), .min = 1, .max = MAX_HZ},
	{SP_OPT_OTHER, 0, "source", "RECIPE[,RECIPE]", "what is sampled (cpu); with options: cpu:event=cycles", .offset = 0, .separator = ',', OTHER(parse_sources)},
	{SP_OPT_STRING, 0, "cgroup", "PATH", "this cgroup only, and those in it", AT(cgroup)},
	{SP_OPT_OTHER, 0, "exclude", "GLOB[,GLOB]", "keep nothing of processes of such a name", .offset = 0, .separator = ',', OTHER(parse_excludes)},
	{SP_OPT_OTHER, 0, "store", "DIR", "keep history there (/var/lib/soprof)", AT(store), .min = 1, .max = 3000, OTHER(sp_agent_parse_path)},
	{SP_OPT_OTHER, 0, "retain", "LIST", "how long, by resolution (10s:2d,1m:14d,1h:400d)", AT(retain_s), .min = 3600, .max = UINT64_C(36500) * DAY_S, .separator = ',', OTHER(parse_retain)},
	{SP_OPT_BYTES, 0, "max-disk", "SIZE", "of the store; the finest windows go first (2G)", AT(max_disk_bytes), .min = 16 * MIB, .max = 1024 * GIB},
	{SP_OPT_OTHER, 0, "max-cpu", "PERCENT", "of one CPU; if sampling takes more, the rate is halved (1%)", AT(max_cpu_ppm), .min = PPM_A_PERCENT / 100, .max = MAX_PPM, OTHER(sp_agent_parse_percent)},
	{SP_OPT_BYTES, 0, "max-memory", "SIZE", "of all its processes and BPF maps (5M a CPU, from 60M to 320M)", AT(max_memory_bytes), .min = 32 * MIB, .max = 64 * GIB},
	{SP_OPT_STRING, 0, "debug-dir", "DIR[:DIR]", "debug files are here too", AT(debug_dirs), .separator = ':'},
	{SP_OPT_FLAG, 0, "debuginfod", NULL, "ask debuginfod's servers for debug files", AT(debuginfod)},
	{SP_OPT_OTHER, 0, "socket", "PATH", "answer there (/run/soprof/agent.sock); none: nowhere", AT(socket), .max = 107, OTHER(sp_agent_parse_path)},
	{SP_OPT_OTHER, 0, "group", "NAME", "its members may see all users' processes (soprof), or none", AT(group), OTHER(sp_agent_parse_group)},
	{SP_OPT_OTHER, 0, "listen", "ADDRESS[,ADDRESS]", "serve HTTP there (127.0.0.1:9877), or none", .offset = 0, .separator = ',', OTHER(sp_agent_parse_listen)},
	{SP_OPT_OTHER, 0, "web-config", "FILE", "TLS and users, as exporters of Prometheus have them", AT(web_config), .min = 1, .max = 3000, OTHER(sp_agent_parse_path)},
	{SP_OPT_OTHER, 0, "hosts", "NAME[,NAME]", "further names by which clients may call this machine", .offset = 0, .separator = ',', OTHER(sp_agent_parse_hosts)},
	{SP_OPT_NUMBER, 0, "max-clients", "N", "connected at once (64)", AT(max_clients), .min = 4, .max = 1024},
	{SP_OPT_NUMBER, 0, "max-queries", "N", "answered at once (2)", AT(max_queries), .min = 1, .max = 64},
	{SP_OPT_OTHER, 0, "query-timeout", "TIME", "for one answer (30s)", AT(query_timeout_ns), .min = SP_NS_PER_S / 10, .max = 600 * SP_NS_PER_S, OTHER(sp_agent_parse_duration)},
	{SP_OPT_BYTES, 0, "query-memory", "SIZE", "for one answer (512M)", AT(query_memory_bytes), .min = 64 * MIB, .max = 64 * GIB},
	{SP_OPT_NUMBER, 0, "metrics-series", "N", "at most so many of libraries and functions (2000)", AT(metrics_series), .min = 100, .max = 1000000},
	{SP_OPT_CHOICE, 0, "metrics-by", "WHAT", "of libraries by process or cgroup, too (library)", AT(metrics_by), .choice = by_choice},
	{SP_OPT_OTHER, 0, "metrics-functions", "GLOB[,GLOB]", "series of functions of such names", .offset = 0, .separator = ',', OTHER(parse_functions)},
	{SP_OPT_CHOICE, 0, "log-level", "LEVEL", "how much is said (info)", AT(log_level), .choice = level_choice},
	{0},
};
/* clang-format on */

bool sp_agent_option_is_action(const struct sp_option *o)
{
	return o->offset == offsetof(struct sp_agent_args, file) ||
	       o->offset == offsetof(struct sp_agent_args, check_only) ||
	       o->offset == offsetof(struct sp_agent_args, status) || o->offset == offsetof(struct sp_agent_args, json);
}

/* --- the whole --- */
char *sp_agent_config_keep(struct sp_agent_config *c, const char *text)
{
	char **strings = reallocarray(c->strings, c->n_strings + 1, sizeof(*strings));

	if (!strings)
		return NULL;
	c->strings = strings;
	strings[c->n_strings] = strdup(text);
	return strings[c->n_strings] ? strings[c->n_strings++] : NULL;
}

/* Many CPUs give many samples, and those many different stacks, whose dictionary should last for a day. The service's
 * unit has room for the most, and for answers beside. */
static uint64_t default_memory(void)
{
	uint64_t bytes = (uint64_t)SP_MAX(sysconf(_SC_NPROCESSORS_ONLN), 1) * 5 * MIB;

	return SP_MIN(SP_MAX(60 * MIB, bytes), 320 * MIB);
}

static void defaults(struct sp_agent_args *a)
{
	*a = (struct sp_agent_args){.config = {
					.frequency_hz = 19,
					.sources = {{.recipe = &sp_recipe_cpu, .name = "cpu"}},
					.n_sources = 1,
					.store = SP_AGENT_STORE,
					.retain_s = {2 * DAY_S, 14 * DAY_S, 400 * DAY_S},
					.max_disk_bytes = 2 * GIB,
					.max_cpu_ppm = PPM_A_PERCENT,
					.max_memory_bytes = default_memory(),
					.socket = SP_AGENT_SOCKET,
					.group = "soprof",
					.listen = {"127.0.0.1:9877"},
					.n_listen = 1,
					.listen_is_default = true,
					.max_clients = 64,
					.max_queries = 2,
					.query_timeout_ns = 30 * SP_NS_PER_S,
					.query_memory_bytes = 512 * MIB,
					.metrics_series = 2000,
					.log_level = SP_LOG_INFO,
				    }};
}

/* The words are copied: the parser cuts them, and a reload parses them again. */
static int parse_words(int argc, char *const *argv, struct sp_agent_args *a)
{
	char **words SP_FREE = calloc((size_t)argc + 1, sizeof(*words));

	if (argc > MAX_ARGS)
		return sp_fail_said(-EINVAL, "more than %d arguments", MAX_ARGS);
	for (int i = 0; words && i < argc; i++) {
		words[i] = sp_agent_config_keep(&a->config, argv[i]);
		if (!words[i])
			return -ENOMEM;
	}
	return words ? sp_options_parse(sp_agent_options, argc, words, a) : -ENOMEM;
}

static int read_file(struct sp_agent_args *a)
{
	char *text SP_FREE = NULL;
	size_t len = 0;
	int r;

	if (!a->file && access(SP_AGENT_CONFIG, F_OK) != 0)
		return 0;
	if (!a->file)
		a->file = SP_AGENT_CONFIG;
	r = sp_text_read_config(a->file, SP_AGENT_FILE_MAX, &text, &len);
	return r < 0 ? sp_fail(r, "cannot read the configuration") : sp_agent_file_parse(a->file, text, len, a);
}

int sp_agent_args_parse(int argc, char *const *argv, struct sp_agent_args *ret_args)
{
	struct sp_agent_args first, *a = ret_args;
	int r;

	defaults(&first);
	r = parse_words(argc, argv, &first);
	defaults(a);
	if (r == SP_PARSED) {
		a->file = first.file;
		r = read_file(a);
		if (r >= 0)
			r = parse_words(argc, argv, a); /* where a file is named, it is named again: by our own copy */
	}
	if (r == SP_PARSED && a->json && !a->status)
		r = sp_fail_said(-EINVAL, "--json goes with --status only");
	sp_agent_config_done(&first.config);
	if (r != SP_PARSED)
		sp_agent_args_done(a);
	return r;
}

void sp_agent_args_done(struct sp_agent_args *a)
{
	sp_agent_config_done(&a->config);
	a->file = NULL;
}
