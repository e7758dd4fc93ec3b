/* SPDX-License-Identifier: GPL-2.0-or-later */
/* completion.c: what bash, zsh and fish complete, from the tables of commands and options; see help.h. */
#include "cmd/cmd.h"
#include "cmd/help.h"

#include <errno.h>
#include <string.h>

static bool is_path(const struct sp_option *o)
{
	return !strcmp(o->arg, "FILE") || !strcmp(o->arg, "PATH") || !strcmp(o->arg, "DIR") || !strcmp(o->arg, "ELF");
}

/* What stands for all arguments that are no options; NULL: nothing does. */
static const struct sp_option *operands_of(const struct sp_cmd *cmd)
{
	for (const struct sp_option *o = cmd->options; o->type != SP_OPT_END; o++)
		if (o->type == SP_OPT_OPERANDS)
			return o;
	return NULL;
}

static bool has_choice(const struct sp_cmd *cmd)
{
	const struct sp_option *o = operands_of(cmd);

	return o && o->choice;
}

static bool takes_files(const struct sp_cmd *cmd)
{
	return operands_of(cmd) && !has_choice(cmd);
}

/* With a backslash before each of `special`; a quote ends the shell's word and begins it again. */
static void put_escaped(const char *text, const char *special, FILE *out)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", out);
		else if (strchr(special, *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

/* What the value may be: words with spaces between. */
static void put_choices(const struct sp_option *o, const char *special, FILE *out)
{
	const char *choice;

	for (size_t i = 0; (choice = o->choice(i)); i++) {
		fputs(i ? " " : "", out);
		put_escaped(choice, special, out);
	}
}

/* The same of the operands, where that is known. */
static void put_operands(const struct sp_cmd *cmd, const char *before, const char *behind, FILE *out)
{
	if (!has_choice(cmd))
		return;
	fputs(before, out);
	put_choices(operands_of(cmd), "", out);
	fputs(behind, out);
}

/* An expression over the fields of the command's event. */
static bool is_expression(const struct sp_option *o)
{
	return !o->choice && (!strncmp(o->arg, "EXPR", 4) || !strncmp(o->arg, "KEY", 3));
}

static bool is_event(const struct sp_option *o)
{
	return !o->choice && !strncmp(o->arg, "EVENT", 5);
}

/* The options that have values, of commands whose operands are events: with blanks around each. */
static void put_with_values(const struct sp_cmd *const *cmds, FILE *out)
{
	for (; *cmds; cmds++)
		for (const struct sp_option *o = (*cmds)->options; o->type != SP_OPT_END && has_choice(*cmds); o++) {
			if (!sp_option_is_named(o) || o->type == SP_OPT_FLAG)
				continue;
			fprintf(out, "--%s ", o->name);
			if (o->letter)
				fprintf(out, "-%c ", o->letter);
		}
}

/* --- bash --- */
static const char bash_functions[] =
#include "completion.bash.inc"
    ;

static void bash_put_values(const struct sp_option *o, FILE *out)
{
	fprintf(out, "\t\t--%s", o->name);
	if (o->letter)
		fprintf(out, " | -%c", o->letter);
	fputs(") COMPREPLY=(", out);
	if (o->choice) {
		fputs("$(compgen -W '", out);
		put_choices(o, "", out);
		fputs("' -- \"$cur\")", out);
	} else if (is_event(o)) {
		fputs("); _soprof_events; return ;;\n", out);
		return;
	} else if (is_expression(o)) {
		fputs("); _soprof_fields \"$(_soprof_event)\" \"${cur#[\\'\\\"]}\"; return ;;\n", out);
		return;
	} else if (is_path(o)) {
		fputs("$(compgen -f -- \"$cur\")", out);
	}
	fputs("); return ;;\n", out);
}

static void bash_put_cmd(const struct sp_cmd *cmd, FILE *out)
{
	fprintf(out, "\t%s)\n\t\tcase $prev in\n", cmd->name);
	for (const struct sp_option *o = cmd->options; o->type != SP_OPT_END; o++) {
		if (sp_option_is_named(o) && o->type != SP_OPT_FLAG)
			bash_put_values(o, out);
	}
	fputs("\t\tesac\n\t\twords='--help", out);
	for (const struct sp_option *o = cmd->options; o->type != SP_OPT_END; o++) {
		if (sp_option_is_named(o))
			fprintf(out, " --%s", o->name);
	}
	fputs("'", out);
	put_operands(cmd, " events='", "'", out);
	fputs(takes_files(cmd) ? " files=yes ;;\n" : " ;;\n", out);
}

static void bash_put(const struct sp_cmd *const *cmds, FILE *out)
{
	fputs("# bash completion for soprof, written by `soprof --completion bash`\n_soprof_values=' ", out);
	put_with_values(cmds, out);
	fputs("'\n", out);
	fputs(bash_functions, out);
	fputs("_soprof() {\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev words files events i at=$COMP_CWORD\n"
	      "\t[ \"$cur\" != = ] || cur='' at=$((at + 1))\n"
	      "\tprev=${COMP_WORDS[at-1]}\n"
	      "\twhile [ \"$prev\" = = ]; do\n" /* --by=KEY, --print NAME=EXPR, --print=NAME=EXPR */
	      "\t\tprev=${COMP_WORDS[at-2]}\n"
	      "\t\t[[ $prev != -* ]] || break\n"
	      "\t\t((at -= 2))\n"
	      "\t\tprev=${COMP_WORDS[at-1]}\n"
	      "\tdone\n"
	      "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	      "\t\t[ \"${COMP_WORDS[i]}\" = -- ] && { _command_offset $((i + 1)) 2>/dev/null; return; }\n"
	      "\tdone\n"
	      "\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W '--help --version",
	      out);
	for (const struct sp_cmd *const *cmd = cmds; *cmd; cmd++)
		fprintf(out, " %s", (*cmd)->name);
	fputs("' -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n", out);
	for (const struct sp_cmd *const *cmd = cmds; *cmd; cmd++)
		bash_put_cmd(*cmd, out);
	fputs("\tesac\n"
	      "\t[[ ${COMP_WORDS[1]} != trace || $cur != -* || ! ${COMP_WORDS[2]} =~ ^[a-z]+$ ]] ||\n"
	      "\t\twords+=$(\"${COMP_WORDS[0]}\" trace --list \"${COMP_WORDS[2]}\" -v 2>/dev/null |\n"
	      "\t\t\tsed -n \"s/^    ${COMP_WORDS[2]}'s options://p\")\n"
	      "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	      "\t[ -z \"$events\" ] || [[ $cur == -* ]] || _soprof_events $events\n"
	      "\t[ -z \"$files\" ] || [[ $cur == -* ]] || COMPREPLY=($(compgen -f -- \"$cur\"))\n"
	      "}\n"
	      "complete -F _soprof soprof\n",
	      out);
}

/* --- zsh --- */
static const char zsh_functions[] =
#include "completion.zsh.inc"
    ;

/* ":PID[,PID]:(ONE TWO)": what the value is called, and what it may be. */
static void zsh_put_value(const struct sp_option *o, FILE *out)
{
	fputc(':', out);
	put_escaped(o->arg, ":\\", out);
	fputc(':', out);
	if (o->choice) {
		fputc('(', out);
		put_choices(o, ":\\() ", out);
		fputc(')', out);
	} else if (is_event(o)) {
		fputs(" _soprof_events", out);
	} else if (is_expression(o)) {
		fputs(" _soprof_fields", out);
	} else if (is_path(o)) {
		fputs("_files", out);
	}
}

static void zsh_put_option(const struct sp_option *o, FILE *out)
{
	fputs(" \\\n\t\t\t", out);
	if (o->letter)
		fprintf(out, "'(-%c --%s)'{-%c,--%s}'", o->letter, o->name, o->letter, o->name);
	else
		fprintf(out, "'--%s", o->name);
	fputc('[', out);
	put_escaped(o->help, ":\\[]", out);
	fputc(']', out);
	if (o->type != SP_OPT_FLAG)
		zsh_put_value(o, out);
	fputc('\'', out);
}

static void zsh_put_cmd(const struct sp_cmd *cmd, FILE *out)
{
	fprintf(out, "\t%s)\n\t\t_arguments -s \\\n\t\t\t'--help[its options and examples]'", cmd->name);
	for (const struct sp_option *o = cmd->options; o->type != SP_OPT_END; o++)
		if (sp_option_is_named(o))
			zsh_put_option(o, out);
	put_operands(cmd, " \\\n\t\t\t'*:event: _soprof_events ", "'", out);
	if (takes_files(cmd))
		fputs(" \\\n\t\t\t'*:file:_files'", out);
	fputs(" ;;\n", out);
}

static void zsh_put(const struct sp_cmd *const *cmds, FILE *out)
{
	fputs("#compdef soprof\n"
	      "# zsh completion for soprof, written by `soprof --completion zsh`\n"
	      "_soprof_values=' ",
	      out);
	put_with_values(cmds, out);
	fputs("'\n", out);
	fputs(zsh_functions, out);
	fputs("_soprof() {\n"
	      "\tlocal soprof=${(Q)words[1]}\n"
	      "\tlocal -i at=${words[(i)--]}\n"
	      "\tlocal -a commands\n"
	      "\tlocal command\n"
	      "\tif (( at < CURRENT )); then\n"
	      "\t\tshift at words\n"
	      "\t\t(( CURRENT -= at ))\n"
	      "\t\t_normal\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tif (( CURRENT == 2 )); then\n"
	      "\t\tcommands=(\n",
	      out);
	for (const struct sp_cmd *const *cmd = cmds; *cmd; cmd++) {
		fprintf(out, "\t\t\t'%s:", (*cmd)->name);
		put_escaped((*cmd)->summary, ":\\", out);
		fputs("'\n", out);
	}
	fputs("\t\t)\n"
	      "\t\t_describe -t commands command commands\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tcommand=$words[2]\n"
	      "\tshift words\n"
	      "\t(( CURRENT-- ))\n"
	      "\tcase $command in\n",
	      out);
	for (const struct sp_cmd *const *cmd = cmds; *cmd; cmd++)
		zsh_put_cmd(*cmd, out);
	fputs("\tesac\n"
	      "}\n"
	      "_soprof \"$@\"\n",
	      out);
}

/* --- fish --- */
static const char fish_functions[] =
#include "completion.fish.inc"
    ;

static void fish_put_option(const struct sp_cmd *cmd, const struct sp_option *o, FILE *out)
{
	fprintf(out, "complete -c soprof -n '__fish_seen_subcommand_from %s; and not __soprof_in_command' -l %s",
		cmd->name, o->name);
	if (o->letter)
		fprintf(out, " -s %c", o->letter);
	if (o->type != SP_OPT_FLAG && o->choice) {
		fputs(" -x -a '", out);
		put_choices(o, "\\", out);
		fputc('\'', out);
	} else if (o->type != SP_OPT_FLAG && is_event(o))
		fputs(" -x -a '(__soprof_events)'", out);
	else if (o->type != SP_OPT_FLAG && is_expression(o))
		fputs(" -x -a '(__soprof_fields (__soprof_event))'", out);
	else if (o->type != SP_OPT_FLAG)
		fputs(is_path(o) ? " -r -F" : " -x", out);
	fputs(" -d '", out);
	put_escaped(o->help, "\\", out);
	fputs("'\n", out);
}

static void fish_put_cmd(const struct sp_cmd *cmd, FILE *out)
{
	fprintf(out, "complete -c soprof -n __fish_use_subcommand -a %s -d '", cmd->name);
	put_escaped(cmd->summary, "\\", out);
	fputs("'\n", out);
	for (const struct sp_option *o = cmd->options; o->type != SP_OPT_END; o++)
		if (sp_option_is_named(o))
			fish_put_option(cmd, o, out);
	if (operands_of(cmd))
		fprintf(out, "complete -c soprof -n '__fish_seen_subcommand_from %s; and not __soprof_in_command' %s",
			cmd->name, has_choice(cmd) ? "" : "-F\n");
	put_operands(cmd, "-a '(__soprof_events ", ")'\n", out);
}

static void fish_put(const struct sp_cmd *const *cmds, FILE *out)
{
	fputs("# fish completion for soprof, written by `soprof --completion fish`\n"
	      "function __soprof_in_command\n"
	      "\tcontains -- -- (commandline -opc)\n"
	      "end\n"
	      "function __soprof_command\n"
	      "\tset -l words (commandline -opc)\n"
	      "\tset -l at (contains -i -- -- $words)\n"
	      "\tcomplete -C (string join ' ' -- $words[(math $at + 1)..] (commandline -ct))\n"
	      "end\n"
	      "complete -c soprof -f\n"
	      "complete -c soprof -n __soprof_in_command -x -a '(__soprof_command)'\n"
	      "complete -c soprof -n __fish_use_subcommand -l help -d 'the list of commands'\n"
	      "complete -c soprof -n __fish_use_subcommand -l version -d 'the version'\n"
	      "set -g __soprof_values ",
	      out);
	put_with_values(cmds, out);
	fputc('\n', out);
	fputs(fish_functions, out);
	for (const struct sp_cmd *const *cmd = cmds; *cmd; cmd++)
		fish_put_cmd(*cmd, out);
}

/* --- all --- */
int sp_help_completion(const struct sp_cmd *const *cmds, const char *shell, FILE *out)
{
	static const struct {
		const char *name;
		void (*put)(const struct sp_cmd *const *cmds, FILE *out);
	} shells[] = {{"bash", bash_put}, {"zsh", zsh_put}, {"fish", fish_put}};

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (!strcmp(shells[i].name, shell)) {
			shells[i].put(cmds, out);
			return 0;
		}
	return -EINVAL;
}
