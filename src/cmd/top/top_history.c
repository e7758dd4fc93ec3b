/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/top/top_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "cmd/top/top_page.h"

enum { LEAST = 2000 }; /* shares from one in so many on are kept */

struct share {
	char *what;
	double self, total;
};
struct sp_top_moment {
	uint64_t at_ns, until_ns;
	struct share *shares; /* sorted by what */
	size_t n;
};

static void moment_done(struct sp_top_moment *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->shares[i].what);
	free(m->shares);
}

void sp_top_history_done(struct sp_top_history *h)
{
	for (size_t i = 0; i < h->n; i++)
		moment_done(&h->moments[i]);
	free(h->moments);
	*h = (struct sp_top_history){0};
}

static int by_what(const void *left, const void *right)
{
	return strcmp(((const struct share *)left)->what, ((const struct share *)right)->what);
}

static int shares_take(const struct sp_top_page *page, struct sp_top_moment *m)
{
	char what[SP_TOP_WORD];

	m->shares = calloc(page->n_rows + 1, sizeof(*m->shares));
	for (size_t i = 0; m->shares && i < page->n_rows; i++) {
		const struct sp_total *t = &page->rows[i].total;
		struct share *share = &m->shares[m->n];

		if (t->total < page->value / LEAST || page->value <= 0 || !sp_top_page_what(page, i, what))
			continue;
		*share = (struct share){.what = strdup(what),
					.self = (double)t->self / (double)page->value,
					.total = (double)t->total / (double)page->value};
		if (!share->what)
			return -ENOMEM;
		m->n++;
	}
	if (!m->shares)
		return -ENOMEM;
	qsort(m->shares, m->n, sizeof(*m->shares), by_what);
	return 0;
}

/* Those that no cell reaches any more. */
static void history_expire(struct sp_top_history *h, uint64_t now_ns)
{
	size_t n = 0;

	while (n < h->n && h->moments[n].until_ns + SP_TOP_HISTORY_S * SP_NS_PER_S < now_ns)
		moment_done(&h->moments[n++]);
	h->n -= n;
	if (n)
		memmove(h->moments, h->moments + n, h->n * sizeof(*h->moments));
}

int sp_top_history_add(struct sp_top_history *h, const struct sp_profile *p, uint64_t now_ns, uint64_t interval_ns)
{
	const struct sp_top_state libraries = {.levels = {{.by = SP_TOTAL_BY_LIBRARY}}};
	struct sp_top_moment m = {.at_ns = now_ns, .until_ns = now_ns + interval_ns};
	struct sp_top_page page;
	int r = sp_top_page_make(&libraries, p, &page);

	if (r < 0)
		return r;
	r = shares_take(&page, &m);
	sp_top_page_done(&page);
	history_expire(h, now_ns);
	if (r >= 0)
		r = sp_grow(&h->moments, &h->capacity, h->n + 1, sizeof(*h->moments));
	if (r < 0) {
		moment_done(&m);
		return r;
	}
	if (h->n) /* what came earlier than was thought ends there */
		h->moments[h->n - 1].until_ns = SP_MIN(h->moments[h->n - 1].until_ns, now_ns);
	h->moments[h->n++] = m;
	return 0;
}

static double share_of(const struct sp_top_moment *m, const char *what, bool total)
{
	const struct share wanted = {.what = (char *)what};
	const struct share *found = m->n ? bsearch(&wanted, m->shares, m->n, sizeof(wanted), by_what) : NULL;

	return !found ? 0 : total ? found->total : found->self;
}

/* The mean over the moments that reach into the cell. */
static double cell_of(const struct sp_top_history *h, const char *what, bool total, uint64_t from_ns, uint64_t to_ns)
{
	double sum = 0, n = 0;

	for (size_t i = 0; i < h->n; i++) {
		const struct sp_top_moment *m = &h->moments[i];

		if (m->at_ns > to_ns || m->until_ns <= from_ns)
			continue;
		sum += share_of(m, what, total);
		n++;
	}
	return n > 0 ? sum / n : -1;
}

void sp_top_history_of(const struct sp_top_history *h, const char *what, bool total, double ret_cells[SP_TOP_CELLS])
{
	uint64_t length_ns = SP_TOP_HISTORY_S * SP_NS_PER_S / SP_TOP_CELLS;
	uint64_t end_ns = h->n ? h->moments[h->n - 1].at_ns : 0;

	for (size_t i = 0; i < SP_TOP_CELLS; i++) {
		uint64_t before_ns = (SP_TOP_CELLS - 1 - i) * length_ns;

		ret_cells[i] =
		    before_ns > end_ns
			? -1
			: cell_of(h, what, total, end_ns - SP_MIN(before_ns + length_ns, end_ns), end_ns - before_ns);
	}
}
