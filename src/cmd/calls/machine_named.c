/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine_named.c: the libraries and functions that are named, as they were typed. */
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "cmd/calls/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TARGETS = 64 };

static int words_add(struct sp_words *words, const char *word)
{
	size_t capacity = words->n;

	return SP_APPEND(words->words, words->n, capacity, word);
}

/* One library is one target, however often it is named. */
static int target_of(struct sp_machine_targets *t, const char *name, struct sp_machine_target **ret_target)
{
	int r;

	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->at[i].name, name)) {
			*ret_target = &t->at[i];
			return 0;
		}
	if (t->n == MAX_TARGETS)
		return sp_fail_said(-EINVAL, "more than %d libraries", MAX_TARGETS);
	r = sp_grow(&t->at, &t->capacity, t->n + 1, sizeof(*t->at));
	if (r < 0)
		return r;
	t->at[t->n].name = name;
	*ret_target = &t->at[t->n++];
	return 0;
}

static int address_add(struct sp_machine_target *target, uint64_t address)
{
	size_t capacity = target->n_addresses;

	return SP_APPEND(target->addresses, target->n_addresses, capacity, address);
}

static int asked_take(struct sp_machine_targets *t, const struct sp_machine_args *a, const struct sp_probe_asked *asked)
{
	struct sp_machine_target *target = NULL;
	int r = target_of(t, asked->library, &target);

	if (r < 0)
		return r;
	if (asked->function)
		return words_add(&target->globs, asked->function);
	if (asked->has_address)
		return address_add(target, asked->address);
	for (size_t i = 0; i < a->functions->n && r >= 0; i++)
		r = words_add(&target->globs, a->functions->words[i]);
	return r;
}

static int named_parse(struct sp_machine_targets *t, const struct sp_machine_args *a, const char *text)
{
	struct sp_probe_asked asked;
	int r;

	if (!strcmp(text, "*"))
		return sp_fail_said(-EINVAL, "'*' is for counting inside a command: put -- COMMAND at the end");
	r = sp_probe_asked_parse(text, &asked);
	if (r < 0)
		return r;
	t->asked[t->n_asked++] = asked;
	return asked.is_usdt
		   ? sp_fail_said(-EINVAL, "calls counts functions; for USDT probes: soprof profile -e %s", text)
		   : asked_take(t, a, &asked);
}

int sp_machine_targets_parse(const struct sp_machine_args *a, struct sp_machine_targets *ret_targets)
{
	int r = sp_intern_new_bare(&ret_targets->keys);

	ret_targets->asked = calloc(a->named->n + 1, sizeof(*ret_targets->asked));
	if (r >= 0 && !ret_targets->asked)
		r = -ENOMEM;
	for (size_t i = 0; i < a->named->n && r >= 0; i++)
		r = named_parse(ret_targets, a, a->named->words[i]);
	return r;
}
