/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/blocks.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "capture/priv.h"
#include "event/live.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

enum { AT_ONCE = 1024 };

struct batch {
	struct sp_live_key keys[AT_ONCE];
	struct sp_live values[AT_ONCE];
};
struct list {
	struct sp_capture_block *at;
	size_t n, capacity;
};

static int list_add(struct list *list, const struct sp_live_key *key, const struct sp_live *live)
{
	int r = sp_grow(&list->at, &list->capacity, list->n + 1, sizeof(*list->at));

	if (r < 0 || live->state != SP_LIVE_COUNTS)
		return r;
	list->at[list->n++] = (struct sp_capture_block){.address = key->address,
							.bytes = live->value.weight / SP_MAX(live->value.n, 1),
							.process = (uint32_t)key->tgid};
	return 0;
}

static int map_read(int map, struct list *list)
{
	SP_FREE struct batch *batch = malloc(sizeof(*batch));
	uint32_t at = 0, n;
	void *from = NULL;
	int e = 0, r = batch ? 0 : -ENOMEM;

	while (!e && r >= 0) {
		n = AT_ONCE;
		e = bpf_map_lookup_batch(map, from, &at, batch->keys, batch->values, &n, NULL) ? errno : 0;
		if (e && e != ENOENT)
			return sp_fail(-e, "read the table of blocks");
		from = &at;
		for (uint32_t i = 0; i < n && r >= 0; i++)
			r = list_add(list, &batch->keys[i], &batch->values[i]);
	}
	return r;
}

static int compare(const void *a, const void *b)
{
	const struct sp_capture_block *x = a, *y = b;

	return SP_RISING(x->bytes, y->bytes) ?: SP_RISING(x->address, y->address);
}

int sp_capture_blocks(const struct sp_capture *c, struct sp_capture_block **ret_blocks, size_t *ret_n)
{
	int map = c->recipe.object ? bpf_object__find_map_fd_by_name(c->recipe.object, "live") : -ENOENT, r;
	struct list list = {.n = 0};

	if (map < 0)
		return sp_fail_said(-EOPNOTSUPP, "this session holds no allocations");
	r = map_read(map, &list);
	if (r < 0) {
		free(list.at);
		return r;
	}
	if (list.n)
		qsort(list.at, list.n, sizeof(*list.at), compare);
	*ret_blocks = list.at;
	*ret_n = list.n;
	return 0;
}
