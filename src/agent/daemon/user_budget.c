/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/daemon/user_budget.h"
#include "agent/daemon/parse_budget.h"
#include "base/mem.h"
#include "base/time.h"

enum {
	LOOKS_PART = 16, /* of --max-cpu, a user's */
	ROOT_LOOKS_PART = 4,
	ALL_LOOKS_PART = 8, /* of all ordinary users */
	PARSING_PART = 4,
	DEBT_S = 3600, /* after so long at most a debt is paid */
	OWN_NS = 60000 /* what the agent's own process needs for a file */
};

static void share_limit(struct sp_shares *s, uint64_t max_cpu_ppm, unsigned part, int64_t burst_ns)
{
	sp_share_limit(s, max_cpu_ppm, part, burst_ns);
	s->size.debt_ns = (int64_t)(s->size.gain_ppm * (SP_NS_PER_S / 1000000) * DEBT_S);
}

void sp_user_budget_limit(struct sp_user_budget *b, uint64_t max_cpu_ppm)
{
	const int64_t minute_ns = sp_bucket_minute_ns(max_cpu_ppm);

	share_limit(&b->looks, max_cpu_ppm, LOOKS_PART, minute_ns / 4);
	share_limit(&b->root_looks, max_cpu_ppm, ROOT_LOOKS_PART, minute_ns);
	share_limit(&b->all_looks, max_cpu_ppm, ALL_LOOKS_PART, minute_ns / 2);
	share_limit(&b->parsing, max_cpu_ppm, PARSING_PART, minute_ns * SP_PARSE_BUDGET_S / 60 / 2);
}

static struct sp_user_files *find_user(const struct sp_user_budget *b, uid_t uid)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->users[i].uid == uid)
			return (struct sp_user_files *)&b->users[i];
	return NULL;
}

/* In place of the one with the fewest refusals of those that nothing is asked for; NULL: there is none. */
static struct sp_user_files *replace_user(struct sp_user_budget *b)
{
	struct sp_user_files *least = NULL;

	for (size_t i = 0; i < b->n; i++)
		if (!b->users[i].n_open && (!least || b->users[i].n_refused < least->n_refused))
			least = &b->users[i];
	return least;
}

static struct sp_user_files *get_user(struct sp_user_budget *b, uid_t uid)
{
	struct sp_user_files *u = find_user(b, uid);

	if (u)
		return u;
	u = b->n < SP_COUNT(b->users) ? &b->users[b->n++] : replace_user(b);
	if (u)
		*u = (struct sp_user_files){.uid = uid, .cost_ns = SP_USER_LOOK_NS};
	return u;
}

static void take_look(struct sp_user_budget *b, uid_t uid, uint64_t now_ns, int64_t cpu_ns)
{
	sp_share_take(uid ? &b->looks : &b->root_looks, uid, now_ns, cpu_ns);
	if (uid)
		sp_share_take(&b->all_looks, SP_SHARE_ALL_USERS, now_ns, cpu_ns);
}

bool sp_user_budget_is_over(const struct sp_user_budget *b, uid_t uid, uint64_t now_ns)
{
	if (!uid)
		return sp_share_is_used_up(&b->root_looks, uid, now_ns);
	return sp_share_is_used_up(&b->looks, uid, now_ns) ||
	       sp_share_is_used_up(&b->all_looks, SP_SHARE_ALL_USERS, now_ns);
}

bool sp_user_budget_may_look(struct sp_user_budget *b, uid_t uid, uint64_t now_ns)
{
	struct sp_user_files *u = get_user(b, uid);

	if (!u || u->n_open >= SP_USER_MAX_LOOKS || sp_user_budget_is_over(b, uid, now_ns)) {
		b->n_refused++;
		if (u)
			u->n_refused++;
		return false;
	}
	u->n_open++;
	u->open_ns += u->cost_ns;
	take_look(b, uid, now_ns, u->cost_ns);
	return true;
}

/* What was taken for one of those that are waited for is replaced by what it cost. */
static void settle_look(struct sp_user_budget *b, struct sp_user_files *u, uint64_t now_ns, int64_t cost_ns)
{
	int64_t taken_ns = u->open_ns / u->n_open;

	u->open_ns -= taken_ns;
	u->n_open--;
	take_look(b, u->uid, now_ns, cost_ns - taken_ns);
}

void sp_user_budget_looked(struct sp_user_budget *b, uid_t uid, uint64_t now_ns, uint64_t cpu_ns)
{
	struct sp_user_files *u = find_user(b, uid);
	int64_t cost_ns = (int64_t)SP_MIN(cpu_ns, (uint64_t)INT64_MAX / 8) + OWN_NS;

	if (!u || !u->n_open)
		return;
	settle_look(b, u, now_ns, cost_ns);
	u->cost_ns = (3 * u->cost_ns + cost_ns) / 4;
}

void sp_user_budget_taken_back(struct sp_user_budget *b, uid_t uid, uint64_t now_ns)
{
	struct sp_user_files *u = find_user(b, uid);

	if (!u || !u->n_open)
		return;
	settle_look(b, u, now_ns, OWN_NS);
	u->n_refused++;
	b->n_refused++;
}

bool sp_user_budget_may_parse(const struct sp_user_budget *b, uid_t uid, uint64_t now_ns)
{
	return !uid || !sp_share_is_used_up(&b->parsing, uid, now_ns);
}

void sp_user_budget_parsed(struct sp_user_budget *b, uid_t uid, uint64_t now_ns, uint64_t cpu_ns)
{
	sp_share_take(&b->parsing, uid, now_ns, (int64_t)SP_MIN(cpu_ns, (uint64_t)INT64_MAX / 2));
}

const struct sp_user_files *sp_user_budget_most_refused(const struct sp_user_budget *b)
{
	const struct sp_user_files *most = NULL;

	for (size_t i = 0; i < b->n; i++)
		if (b->users[i].n_refused && (!most || b->users[i].n_refused > most->n_refused))
			most = &b->users[i];
	return most;
}

const struct sp_user_files *sp_user_budget_tell(struct sp_user_budget *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->users[i].n_refused && !b->users[i].is_logged) {
			b->users[i].is_logged = true;
			return &b->users[i];
		}
	return NULL;
}
