/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/help.h"

#include "cmd/cmd.h"

#include <string.h>

enum { HELP_COLUMN = 29, WIDTH = 80 }; /* where the options' texts begin and end */

static const char *const headings[SP_CMD_N_GROUPS] = {
    [SP_CMD_SAMPLE] = "Sample what runs",        [SP_CMD_COUNT] = "Count calls",
    [SP_CMD_READ] = "Read and compare profiles", [SP_CMD_WATCH] = "Watch, all the time",
    [SP_CMD_CHECK] = "Check this machine",
};

static void list_group(const struct sp_cmd *const *cmds, enum sp_cmd_group group, FILE *out)
{
	bool any = false;

	for (; *cmds; cmds++) {
		if ((*cmds)->group != group)
			continue;
		if (!any)
			fprintf(out, "\n%s:\n", headings[group]);
		any = true;
		fprintf(out, "  %-11s %s\n", (*cmds)->name, (*cmds)->summary);
	}
}

void sp_help_all(const struct sp_cmd *const *cmds, FILE *out)
{
	fputs("soprof: what every library on this machine costs, who calls it, and how often\n\n"
	      "usage: soprof COMMAND [OPTIONS]\n"
	      "       soprof COMMAND --help\n",
	      out);
	for (int group = 0; group < SP_CMD_N_GROUPS; group++)
		list_group(cmds, (enum sp_cmd_group)group, out);
	fputs("\n  --help      this page\n"
	      "  --version   the version\n",
	      out);
}

/* Words at HELP_COLUMN, on as many lines as they need. `room` is false when the cursor stands behind that column. */
static void wrapped(const char *text, bool room, FILE *out)
{
	int at = room ? HELP_COLUMN : WIDTH;

	while (*text) {
		int len = (int)strcspn(text, " ");
		if (at + 1 + len > WIDTH) {
			fprintf(out, "\n%*s", HELP_COLUMN, "");
			at = HELP_COLUMN;
		} else if (at > HELP_COLUMN) {
			fputc(' ', out);
			at++;
		}
		fwrite(text, 1, (size_t)len, out);
		at += len;
		text += len + (text[len] == ' ');
	}
	fputc('\n', out);
}

enum { N_WORDS = 5 }; /* of those that a string may be */

/* The help and, where there is a choice, what there is to choose from. */
static void option_text(const struct sp_option *o, char *text, size_t size)
{
	size_t n = (size_t)snprintf(text, size, "%s", o->help);
	const char *choice;

	for (size_t i = 0; o->choice && (choice = o->choice(i)) && n < size; i++) {
		bool is_last = o->type == SP_OPT_STRING && i == N_WORDS; /* it may be another word, too */

		n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : ": ", is_last ? "..." : choice);
		if (is_last)
			break;
	}
}

static void option_line(const struct sp_option *o, FILE *out)
{
	char left[64], text[512], letter[8] = "    ";
	int n;

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	if (sp_option_is_named(o))
		n = snprintf(left, sizeof(left), "  %s--%s%s%s", letter, o->name, o->arg ? " " : "",
			     o->arg ? o->arg : "");
	else
		n = snprintf(left, sizeof(left), "  %s%s", o->type == SP_OPT_COMMAND ? "-- " : "", o->arg);
	fprintf(out, "%-*s", HELP_COLUMN, left);
	option_text(o, text, sizeof(text));
	wrapped(text, n < HELP_COLUMN, out);
}

void sp_help_cmd(const struct sp_cmd *cmd, FILE *out)
{
	fprintf(out, "soprof %s: %s\n\nusage: soprof %s %s\n", cmd->name, cmd->summary, cmd->name, cmd->synopsis);
	if (cmd->needs)
		fprintf(out, "needs: %s\n", cmd->needs);
	fputc('\n', out);
	for (const struct sp_option *o = cmd->options; o->type != SP_OPT_END; o++)
		option_line(o, out);
	fputs("\nexamples:\n", out);
	for (const struct sp_example *e = cmd->examples; e->line; e++)
		fprintf(out, "  %-45s%s%s\n", e->line, strlen(e->line) > 44 ? "  " : " ", e->what);
}

/* Text for scdoc, where _ * \ and some others mean something. */
static void scdoc_text(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (strchr("\\_*[]<>#~`|.", *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void scdoc_option(const struct sp_option *o, FILE *out)
{
	char text[512];

	if (o->letter)
		fprintf(out, "*-%c*, ", o->letter);
	if (sp_option_is_named(o)) {
		fputs("*--", out);
		scdoc_text(o->name, out);
		fputc('*', out);
	} else if (o->type == SP_OPT_COMMAND) {
		fputs("*--*", out);
	}
	if (o->arg) {
		fputs(o->type != SP_OPT_COMMAND && !sp_option_is_named(o) ? "_" : " _", out);
		scdoc_text(o->arg, out);
		fputc('_', out);
	}
	fputs("\n\t", out);
	option_text(o, text, sizeof(text));
	scdoc_text(text, out);
	fputs("\n\n", out);
}

void sp_help_options(const struct sp_cmd *cmd, FILE *out)
{
	for (const struct sp_option *o = cmd->options; o->type != SP_OPT_END; o++)
		scdoc_option(o, out);
}
