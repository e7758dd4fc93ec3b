/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/alert/deliver_priv.h"
#include "base/mem.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int copy_text(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return from && !*to ? -ENOMEM : 0;
}

int sp_alert_target_init(struct sp_alert_target *p, const char *const *command, const char *url,
			 const struct sp_alert_targets *to)
{
	int r = 0;

	*p = (struct sp_alert_target){0};
	for (size_t i = 0; r == 0 && command && i < SP_ALERT_ARGS && command[i]; i++)
		r = copy_text(&p->command[i], command[i]);
	if (r == 0)
		r = copy_text(&p->url, url);
	if (r == 0 && url)
		r = copy_text(&p->authorization_file, to->authorization_file);
	if (r == 0 && url)
		r = copy_text(&p->ca_file, to->ca_file);
	if (r < 0)
		sp_alert_target_done(p);
	return r;
}

void sp_alert_target_done(struct sp_alert_target *p)
{
	for (size_t i = 0; i < SP_ALERT_ARGS; i++)
		free(p->command[i]);
	free(p->url);
	free(p->authorization_file);
	free(p->ca_file);
	*p = (struct sp_alert_target){0};
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

bool sp_alert_target_equals(const struct sp_alert_target *a, const struct sp_alert_target *b)
{
	bool same = is_same(a->url, b->url) && is_same(a->authorization_file, b->authorization_file) &&
		    is_same(a->ca_file, b->ca_file);

	for (size_t i = 0; same && i < SP_ALERT_ARGS; i++)
		same = is_same(a->command[i], b->command[i]);
	return same;
}

/* URLs often have secrets in the path, and before an @. */
const char *sp_alert_target_name(const struct sp_alert_target *p)
{
	static char text[256];
	const char *host, *at;

	if (!p->url)
		return p->command[0] ? p->command[0] : "?";
	host = strstr(p->url, "://");
	host = host ? host + 3 : p->url;
	snprintf(text, sizeof(text), "%.*s", (int)SP_MIN(strcspn(host, "/?#"), sizeof(text) - 1), host);
	at = strrchr(text, '@');
	return at ? at + 1 : text;
}

/* --- lines --- */
void sp_alert_target_write(const struct sp_alert_target *p, FILE *out)
{
	fputs("place", out);
	sp_line_put(out, "url", p->url);
	fputc('\n', out);
	if (p->authorization_file || p->ca_file) {
		fputs("files", out);
		sp_line_put(out, "authorization", p->authorization_file);
		sp_line_put(out, "ca", p->ca_file);
		fputc('\n', out);
	}
	for (size_t i = 0; i < SP_ALERT_ARGS && p->command[i]; i++) {
		fputs("argument", out);
		sp_line_put(out, "text", p->command[i]);
		fputc('\n', out);
	}
}

static int add_argument(struct sp_alert_target *p, const char *text)
{
	size_t i = 0;
	int r;

	while (i < SP_ALERT_ARGS && p->command[i])
		i++;
	if (i == SP_ALERT_ARGS || !text)
		return -EBADMSG;
	r = copy_text(&p->command[i], text);
	return r < 0 ? r : 1;
}

int sp_alert_target_read_line(struct sp_alert_target *p, const struct sp_line *l)
{
	int r = 0;

	if (!strcmp(l->first, "argument"))
		return add_argument(p, sp_line_word(l, "text"));
	if (!strcmp(l->first, "place") && !p->url)
		r = copy_text(&p->url, sp_line_word(l, "url"));
	else if (!strcmp(l->first, "files") && !p->authorization_file && !p->ca_file)
		r = copy_text(&p->authorization_file, sp_line_word(l, "authorization"));
	else
		return 0;
	if (r == 0 && !strcmp(l->first, "files"))
		r = copy_text(&p->ca_file, sp_line_word(l, "ca"));
	return r < 0 ? r : 1;
}
