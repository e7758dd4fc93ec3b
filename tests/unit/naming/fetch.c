/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When debuginfod's servers are asked: of a server that takes connections and never answers. */
#include "base/error.h"
#include "base/time.h"
#include "naming/priv.h"
#include "profile/profile.h"
#include "test.h"
#include "worker/worker.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct fixture {
	struct sp_profile *profile;
	struct sp_workers *workers;
	struct sp_naming naming;
	uint32_t file;
};

static unsigned n_begun;

static void count_begun(const char *library)
{
	n_begun += library != NULL;
}

/* The port of a new socket that listens; the queue of connections takes them. */
static int listen_somewhere(char *ret_url, size_t size)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0 && !bind(fd, (void *)&a, sizeof(a)) && !listen(fd, 64));
	assert_int_equal(getsockname(fd, (void *)&a, &len), 0);
	snprintf(ret_url, size, "http://127.0.0.1:%d/", ntohs(a.sin_port));
	return fd;
}

static int fetch(struct sp_naming *n, int r)
{
	n->work->search.own.build_id_len = 20;
	memset(n->work->search.own.build_id, 0x5a, 20);
	return sp_debug_file_fetch(n);
}

/* Asks for a debug file, which there is none of. Whether a server was asked. */
static bool is_asked(struct sp_naming *n, uint32_t file)
{
	n_begun = 0;
	assert_int_equal(sp_naming_begin(n, &(struct sp_name_question){.file = file}, fetch), 0);
	sp_naming_wait(n);
	assert_true(sp_naming_end(n) < 0);
	sp_error_clear();
	return n_begun > 0;
}

static void begin(struct fixture *x)
{
	setenv("no_proxy", "127.0.0.1", 1);
	assert_int_equal(sp_profile_new(&x->profile), 0);
	x->file = (uint32_t)sp_profile_add_file(x->profile, &(struct sp_file){.kind = SP_FILE_ELF, .tag = 1});
	assert_int_equal(sp_workers_new(&(struct sp_workers_options){.n_parsers = 1}, &x->workers), 0);
	x->naming =
	    (struct sp_naming){.workers = x->workers, .profile = x->profile, .cache = "", .fetching = count_begun};
}

static void end(struct fixture *x)
{
	sp_naming_done(&x->naming);
	sp_workers_free(x->workers);
	sp_profile_free(x->profile);
}

/* Without a library for it the first answer is another failure, and the pause the same. */
static void a_server_that_hangs_is_asked_again_later(void **state)
{
	struct fixture x;
	char url[64];
	int fd = listen_somewhere(url, sizeof(url));

	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_MAXTIME", "1", 1);
	begin(&x);
	sp_naming_start(&x.naming);
	assert_true(is_asked(&x.naming, x.file));
	assert_non_null(x.naming.fetch_failure);
	assert_false(is_asked(&x.naming, x.file));
	sp_naming_start(&x.naming);
	assert_false(is_asked(&x.naming, x.file)); /* nor in the next run */
	assert_int_equal(x.naming.stats.n_unfetched, 3);
	x.naming.fetch_again_ns = sp_time_ns(CLOCK_BOOTTIME); /* the pause is over */
	sp_naming_start(&x.naming);
	assert_true(is_asked(&x.naming, x.file));
	assert_false(is_asked(&x.naming, x.file));
	sp_naming_fetch_reset(&x.naming);
	assert_null(x.naming.fetch_failure);
	assert_true(is_asked(&x.naming, x.file));
	assert_int_equal(x.naming.stats.n_unfetched, 6);
	end(&x);
	close(fd);
}

/* $DEBUGINFOD_MAXTIME is of one run: what earlier ones took is theirs. */
static void time_is_of_one_run(void **state)
{
	struct fixture x;
	char url[64];
	int fd = listen_somewhere(url, sizeof(url));

	close(fd); /* nobody listens: it fails at once */
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_MAXTIME", "60", 1);
	begin(&x);
	sp_naming_start(&x.naming);
	assert_true(is_asked(&x.naming, x.file));
	x.naming.fetch_ns = 3600 * SP_NS_PER_S;
	x.naming.fetch_again_ns = 0; /* without a library for it */
	sp_naming_start(&x.naming);
	assert_true(is_asked(&x.naming, x.file));
	x.naming.fetch_ns = 3600 * SP_NS_PER_S;
	assert_false(is_asked(&x.naming, x.file));
	end(&x);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_server_that_hangs_is_asked_again_later),
	    cmocka_unit_test(time_is_of_one_run),
	};

	sp_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
