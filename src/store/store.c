/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/store.h"

#include "base/error.h"
#include "base/mem.h"
#include "store/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct sp_store_ops *const all_ops[] = {&sp_store_ops_files};

int sp_store_open(const char *place, const struct sp_store_options *o, struct sp_store **ret_store)
{
	const char *end = strstr(place, "://");
	size_t len = !end ? 0 : (size_t)(end - place);

	for (size_t i = 0; i < SP_COUNT(all_ops); i++)
		if (strlen(all_ops[i]->scheme) == len && memcmp(all_ops[i]->scheme, place, len) == 0) {
			int r = all_ops[i]->open(place, o, ret_store);
			return r < 0 ? sp_fail(r, "store") : 0;
		}
	return sp_fail_said(-EINVAL, "%s: no store is known by this scheme", place);
}

void sp_store_close(struct sp_store *s)
{
	if (s)
		s->ops->close(s);
}

void sp_store_close_by(struct sp_store *s, uint64_t by_ns)
{
	if (s)
		s->close_by_ns = by_ns;
	sp_store_close(s);
}

int sp_store_add(struct sp_store *s, const struct sp_store_window *w, const struct sp_profile *p)
{
	return s->ops->add(s, w, p);
}

int sp_store_event_add(struct sp_store *s, const struct sp_store_event *e)
{
	return s->ops->event_add(s, e);
}

int sp_store_events(struct sp_store *s, uint64_t from_ns, uint64_t to_ns,
		    int (*each)(void *arg, const struct sp_store_event *e), void *arg)
{
	return s->ops->events(s, from_ns, to_ns, each, arg);
}

void sp_store_alive(struct sp_store *s)
{
	if (s->writer)
		sp_directory_alive(&s->writer->lock);
}

int sp_store_stats(struct sp_store *s, struct sp_store_stats *ret_stats)
{
	return s->ops->stats(s, ret_stats);
}

int sp_store_span(struct sp_store *s, struct sp_store_span *ret_span)
{
	return s->ops->span(s, ret_span);
}
