/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "read/read.h"

#include "base/error.h"
#include "profile/profile.h"
#include "read/input.h"
#include "read/priv.h"

#include <errno.h>
#include <string.h>

static const struct sp_reader *reader_by_name(const char *name)
{
	for (size_t i = 0; sp_readers[i]; i++)
		if (!strcmp(sp_readers[i]->name, name))
			return sp_readers[i];
	return NULL;
}

static void list_readers(char *words, size_t size)
{
	size_t n = 0;

	words[0] = 0;
	for (size_t i = 0; sp_readers[i] && n < size; i++)
		n += (size_t)snprintf(words + n, size - n, "%s%s", i ? ", " : "", sp_readers[i]->name);
}

static const struct sp_reader *recognise(const uint8_t *head, size_t n)
{
	const struct sp_reader *best = NULL;
	int how_sure = 0;

	for (size_t i = 0; sp_readers[i]; i++) {
		int sure = sp_readers[i]->recognise(head, n);

		if (sure > how_sure) {
			how_sure = sure;
			best = sp_readers[i];
		}
	}
	return best;
}

static int reader_detect(struct sp_input *in, const struct sp_read_options *o, const struct sp_reader **ret_reader)
{
	const uint8_t *head;
	char known[256];
	size_t n;
	int r;

	list_readers(known, sizeof(known));
	*ret_reader = o->format ? reader_by_name(o->format) : NULL;
	if (*ret_reader)
		return 0;
	if (o->format)
		return sp_fail_said(-EINVAL, "no format %s to read; there are: %s", o->format, known);
	r = sp_input_head(in, &head, &n);
	if (r < 0)
		return r;
	*ret_reader = recognise(head, n);
	if (*ret_reader)
		return 0;
	return sp_fail_said(-EBADMSG,
			    n ? "%s: byte 0: not a profile of a known format (%s)"
			      : "%s: byte 0: nothing there; expected a profile (%s)",
			    sp_input_name(in), known);
}

static int read_input(struct sp_input *in, const struct sp_read_options *o, struct sp_profile **ret_profile,
		      struct sp_read_result *ret_result)
{
	struct sp_read_result result = {0};
	const struct sp_reader *reader;
	struct sp_profile *p = NULL;
	int r = reader_detect(in, o, &reader);

	if (r >= 0)
		r = sp_profile_new(&p);
	if (r >= 0)
		r = reader->read(in, o, p, &result);
	if (r < 0) {
		sp_profile_free(p);
		return r;
	}
	result.format = reader->name;
	sp_input_report(in, &result);
	*ret_profile = p;
	*ret_result = result;
	return 0;
}

int sp_read_fd(int fd, const char *name, const struct sp_read_options *o, struct sp_profile **ret_profile,
	       struct sp_read_result *ret_result)
{
	struct sp_input *in;
	int r = sp_input_new(fd, name, o, &in);

	if (r < 0)
		return sp_fail(r, "read %s", name);
	r = read_input(in, o, ret_profile, ret_result);
	sp_input_free(in);
	return r == -ENOMEM ? sp_fail(r, "read %s", name) : r;
}
