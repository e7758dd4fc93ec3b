/* SPDX-License-Identifier: GPL-2.0-or-later */
/* totals.c: exact totals by library and function, as they are kept beside windows of 1 min and 1 h, and of days. */
#include <errno.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/scan.h"
#include "store/store.h"
#include "store/sums.h"

struct totals {
	int (*each)(void *arg, const struct sp_store_total *t);
	void *arg;
};

static int tell(void *arg, const struct sp_scan_totals *from)
{
	const struct totals *to = arg;
	const struct sp_dict *d = from->dict;
	int r = 0;

	for (size_t i = 0; i < from->sums->n && r == 0; i++) {
		struct sp_account of = from->sums->accounts[i];
		const int64_t *sums = sp_sums_at(from->sums, i);
		const struct sp_file *file = &d->files[of.file];
		struct sp_store_total told = {.wall_ns = from->window.w.wall_ns,
					      .duration_ns = from->window.w.duration_ns,
					      .file = sp_dict_string(d, file->name),
					      .function = sp_dict_string(d, d->funcs[of.func].name),
					      .build_id = file->build_id,
					      .build_id_len = file->build_id_len,
					      .n_values = from->window.n_values};
		for (uint32_t v = 0; v < told.n_values; v++) {
			told.self[v] = sums[2 * v];
			told.total[v] = sums[2 * v + 1];
			told.value_names[v] = from->window.types[v].name;
			told.value_units[v] = from->window.types[v].unit;
		}
		r = to->each(to->arg, &told);
	}
	return r;
}

int sp_store_totals(struct sp_store *s, const char *source, uint64_t from_ns, uint64_t to_ns, int step,
		    int (*each)(void *arg, const struct sp_store_total *t), void *arg)
{
	struct sp_scan_options o = {
	    .from_ns = from_ns, .to_ns = to_ns, .source = source == NULL ? "cpu" : source, .resolution = step};
	struct totals totals = {each, arg};

	if (step != SP_RES_1M && step != SP_RES_1H && step != SP_N_RESOLUTIONS)
		return sp_fail_said(-EINVAL, "totals are kept by minute, hour and day");
	if (from_ns >= to_ns)
		return sp_fail_said(-EINVAL, "the range is empty: it ends before it begins");
	return sp_scan_totals(s, &o, tell, &totals);
}
