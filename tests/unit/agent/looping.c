/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "looping.h"

/* --- a store in memory --- */
struct noted_all noted;
pid_t burner;

int sp_store_open(const char *place, const struct sp_store_options *o, struct sp_store **ret_store)
{
	*ret_store = (struct sp_store *)&noted;
	return 0;
}

void sp_store_close_by(struct sp_store *s, uint64_t by_ns)
{
	assert_true(s == NULL || by_ns > 0);
	sp_store_close(s);
}

void sp_store_close(struct sp_store *s)
{
}

static bool has_burn(const struct sp_profile *p, const struct sp_row *row)
{
	struct sp_stack stack = sp_profile_stack(p, row->user);

	for (uint32_t i = 0; i < stack.n_frames; i++) {
		const struct sp_func *f = sp_profile_func(p, sp_profile_frame(p, stack.frames[i])->func);

		if (!strcmp(sp_profile_string(p, f->name), "loop_test_burn"))
			return true;
	}
	return false;
}

static void note(struct noted *n, const struct sp_profile *p)
{
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		struct sp_stack stack = sp_profile_stack(p, row->user);
		bool is_named = true;

		for (uint32_t k = 0; k < stack.n_frames; k++)
			is_named &= sp_profile_frame(p, stack.frames[k])->func != 0;
		n->n_samples += row->values[0];
		n->cpu_ns += row->values[1];
		n->n_named += is_named ? row->values[0] : 0;
		if (sp_profile_process(p, sp_profile_key(p, row->key)->process)->pid != (uint32_t)burner)
			continue;
		n->n_of_burner += row->values[0];

		n->n_named_of_burner += is_named ? row->values[0] : 0;
		n->n_burn += has_burn(p, row) ? row->values[0] : 0;
	}
}

int sp_store_add(struct sp_store *s, const struct sp_store_window *w, const struct sp_profile *p)
{
	if (noted.fails)
		return sp_fail(noted.fails, "write a window");
	if (noted.n == MAX_NOTED)
		return 0;
	noted.windows[noted.n].window = *w;
	note(&noted.windows[noted.n++], p);
	return 0;
}

int sp_store_event_add(struct sp_store *s, const struct sp_store_event *e)
{
	if (noted.fails)
		return noted.fails;
	if (noted.n_events < MAX_NOTED)
		snprintf(noted.events[noted.n_events++], sizeof(noted.events[0]), "%s %s", e->kind, e->subject);
	return 0;
}

void sp_store_alive(struct sp_store *s)
{
	noted.n_alive++;
}

int sp_store_stats(struct sp_store *s, struct sp_store_stats *ret_stats)
{
	*ret_stats = noted.stats;
	return 0;
}

bool has_event(const char *words)
{
	for (size_t i = 0; i < noted.n_events; i++)
		if (!strcmp(noted.events[i], words))
			return true;
	return false;
}

/* --- a busy process --- */
static volatile unsigned sink;

__attribute__((noipa)) void loop_test_burn(void);
__attribute__((noipa)) void loop_test_burn(void)
{
	for (unsigned i = 0; i < 100000; i++)
		sink += i;
}

static void burner_start(void)
{
	burner = fork();
	assert_true(burner >= 0);
	if (burner)
		return;
	alarm(60);
	for (unsigned n = 1;; n++) {
		loop_test_burn();
		if (n % 25 == 0) /* some 7 ms: a quarter of a CPU is enough */
			usleep(20000);
	}
}

static void burner_end(void)
{
	kill(burner, SIGKILL);
	waitpid(burner, NULL, 0);
}

/* --- the agent --- */
struct sp_agent_config config;

bool agent_begin(struct sp_agent **ret_agent)
{
	int r;

	memset(&noted, 0, sizeof(noted));
	config = (struct sp_agent_config){.frequency_hz = 199,
					  .sources = {{.recipe = &sp_recipe_cpu}},
					  .n_sources = 1,
					  .store = "/nowhere",
					  .max_memory_bytes = 64 << 20};
	sp_log_open(SP_LOG_DEBUG);
	r = sp_agent_new(&config, ret_agent);
	if (r < 0)
		print_message("skip: %s\n", sp_error_text(r));
	return r >= 0;
}

void stop_now(void *arg)
{
	struct stop *s = arg;

	sp_agent_stop(s->agent);
}

/* In a child, which gives up privileges; the exit code is the number of failed checks. */
void run_for(struct sp_agent *a, struct stop *stop, unsigned ms)
{
	struct itimerspec at = {.it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}};

	stop->agent = a;
	stop->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	assert_int_equal(timerfd_settime(stop->fd, 0, &at, NULL), 0);
	assert_int_equal(sp_agent_watch(a, &(struct sp_agent_watch){.fd = stop->fd, .ready = stop_now, .arg = stop}),
			 0);
	assert_int_equal(sp_agent_start(a), 0);
	sp_agent_run(a);
	assert_int_equal(sp_agent_finish(a), 0);
	close(stop->fd);
}

/* cmocka ends a child by exit(1) only from its own frames, so each test runs whole in a child. */
void in_child(void (*test)(void))
{
	int status;
	pid_t pid;

	if (geteuid()) {
		print_message("skip: not root\n");
		skip();
	}
	burner_start();
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		const struct CMUnitTest one[] = {{.name = "in a child", .test_func = (CMUnitTestFunction)(void *)test}};

		_exit(cmocka_run_group_tests(one, NULL, NULL) ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	burner_end();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}
