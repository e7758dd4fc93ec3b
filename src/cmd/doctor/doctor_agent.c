/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor_agent.c: checks whether `soprof agent` can run here, whether one runs, and where its history is. */
#include "agent/socket/ask.h"
#include "base/error.h"
#include "base/parse.h"
#include "cmd/doctor/doctor.h"
#include "view/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct agent_words {
	char *pid, *store;
	uint64_t stored_bytes;
};

static int doctor_agent_take(void *arg, const char *name, const char *value)
{
	struct agent_words *t = arg;

	if (!strcmp(name, "pid") && !t->pid && !(t->pid = strdup(value)))
		return -ENOMEM;
	if (!strcmp(name, "store") && !t->store && !(t->store = strdup(value)))
		return -ENOMEM;
	if (!strcmp(name, "stored_bytes") && sp_parse_number(value, 0, UINT64_MAX, &t->stored_bytes) < 0)
		t->stored_bytes = 0;
	return 0;
}

/* The agent goes by BPF alone. */
static void could_run(struct sp_doctor *d)
{
	static const char key[] = "agent", what[] = "could run";

	if (d->can_sample && d->can_unwind && d->can_open)
		sp_doctor_add(d, key, what, SP_DOCTOR_YES, "what it needs for sampling was tried above");
	else if (d->can_sample)
		sp_doctor_add(d, key, what, SP_DOCTOR_PARTLY, "it samples, but its stacks are not whole, or nameless");
	else
		sp_doctor_add(d, key, what, SP_DOCTOR_NO, "it samples by BPF programs only, and those do not run here");
	if (!d->can_sample || !d->can_unwind || !d->can_open)
		sp_doctor_cure(d, "%s", geteuid() ? "run it as root, or as a service" : "see what is refused above");
}

static void is_running(struct sp_doctor *d, int r, const struct agent_words *t)
{
	static const char key[] = "agent_running", what[] = "is running";

	struct sp_doctor_check *c;

	if (r >= 0)
		c = sp_doctor_add(d, key, what, SP_DOCTOR_YES, "process %s answers at %s", t->pid ? t->pid : "?",
				  SP_AGENT_SOCKET);
	else if (r == -ENOENT)
		c = sp_doctor_add(d, key, what, SP_DOCTOR_NO, "there is no %s", SP_AGENT_SOCKET);
	else
		c = sp_doctor_add(d, key, what, SP_DOCTOR_NO, "%s: %s", SP_AGENT_SOCKET, sp_doctor_errno(r));
	c->is_fact = true;
}

static void has_store(struct sp_doctor *d, const struct agent_words *t)
{
	static const char key[] = "agent_store", what[] = "history";
	const char *place = t->store ? t->store : SP_AGENT_STORE;
	char used[64], room[64];
	struct statvfs fs;
	struct stat st;

	if (stat(place, &st) < 0) {
		int why = errno;
		sp_doctor_add(d, key, what, SP_DOCTOR_NO, "%s: %s", place,
			      why == ENOENT ? "not there; the agent makes it" : sp_doctor_errno(-why))
		    ->is_fact = true;
		return;
	}
	sp_unit_write("bytes", t->stored_bytes, used, sizeof(used));
	sp_unit_write("bytes", statvfs(place, &fs) < 0 ? 0 : fs.f_bavail * fs.f_frsize, room, sizeof(room));
	sp_doctor_add(d, key, what, SP_DOCTOR_YES, "in %s%s%s; the disk has room for %s%s", place,
		      t->stored_bytes ? ": " : "", t->stored_bytes ? used : "", room,
		      access(place, R_OK | X_OK) < 0 ? "; you are told of it by the agent only" : "")
	    ->is_fact = true;
}

void sp_doctor_agent(struct sp_doctor *d)
{
	struct sp_ask ask = {.timeout_ms = 2000};
	struct agent_words t = {0};
	int r = sp_ask_status(&ask, doctor_agent_take, &t);

	could_run(d);
	is_running(d, r, &t);
	has_store(d, &t);
	free(t.pid);
	free(t.store);
	sp_error_clear();
}
