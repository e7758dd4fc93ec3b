/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options.h: a command's options as data, and the one parser that reads them.
 *
 * A table of struct sp_option (ended by type SP_OPT_END) says where each value goes in a struct of the command's own;
 * help, the man page and shell completion are written from the same table (help.h). Parsing is that of Python's
 * argparse, so that command lines of bcc's tools work: options and operands in any order, -dF99, -F 99, --frequency=99,
 * unambiguous beginnings of long names; what begins with a dash and a digit is no option (-15m); `--` ends the options
 * and begins the command, if the table has one. Of an option given twice the last counts, but for WORDS. Two options
 * that share a bit of `excludes` may not be given together.
 *
 * Errors: -EINVAL with one line in sp_error_text() that names the option and the bad value; -ENOMEM. Strings point into
 * argv; lists belong to the caller, who frees them with sp_u32_list_done() or sp_words_done(). Lists hold at most
 * SP_LIST_MAX numbers or words.
 */
#ifndef SP_CMD_OPTIONS_H
#define SP_CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_LIST_MAX = 4096, SP_OPTIONS_MAX = 64 };
/* Of options that many tables have: a process or thread (Linux's PID_MAX_LIMIT), and how long something may last. */
enum { SP_MAX_PID = 1 << 22, SP_MAX_SECONDS = 366 * 86400 };

enum sp_option_type {
	SP_OPT_END,
	SP_OPT_FLAG,     /* bool */
	SP_OPT_STRING,   /* const char *: not empty, but for `without` */
	SP_OPT_WORDS,    /* struct sp_words: not empty; one more each time it is given */
	SP_OPT_NUMBER,   /* uint64_t: min to max */
	SP_OPT_BYTES,    /* uint64_t: min to max; suffixes K, M, G (1024) */
	SP_OPT_LIST,     /* struct sp_u32_list: numbers with commas, each min to max, sorted, each once */
	SP_OPT_RANGES,   /* as LIST, and A-B */
	SP_OPT_CHOICE,   /* int: the number of the choice */
	SP_OPT_OPERAND,  /* uint64_t: as NUMBER, but not an option: an argument by its place */
	SP_OPT_OPERANDS, /* struct sp_words: all the arguments that no OPERAND before it takes */
	SP_OPT_COMMAND,  /* char **: what follows `--`, NULL at its end */
	SP_OPT_OTHER,    /* what `parse` makes of it */
};

struct sp_u32_list {
	uint32_t *values;
	size_t n;
};
void sp_u32_list_done(struct sp_u32_list *list);

struct sp_words {
	const char **words;
	size_t n;
};
void sp_words_done(struct sp_words *words);
/* "libz.so.1 10": the last word, if it is a number and more than `least` are there. It is taken away. */
int sp_words_take_seconds(struct sp_words *words, size_t least, uint64_t *ret_seconds);

struct sp_option {
	enum sp_option_type type;
	char letter;      /* 0 = none */
	const char *name; /* without the dashes; NULL for OPERAND, OPERANDS and COMMAND */
	const char *arg;  /* what help calls the value: "PID[,PID]"; NULL for FLAG */
	const char *help; /* one line */
	size_t offset;    /* of the value in the command's struct */
	uint64_t min, max;
	const char *(*choice)(size_t i); /* CHOICE: the i-th, NULL after the last; STRING: words that it may be */
	uint32_t excludes;
	/* OTHER: stores the value in the command's struct; `shown` is what messages call the option. 0 or -EINVAL. */
	int (*parse)(const struct sp_option *o, const char *shown, const char *value, void *args);
	char separator;      /* OTHER, STRING: of a list of values in one; 0 = there is one value only */
	const char *without; /* the value if none follows; NULL = one must */
};

enum sp_parsed { SP_PARSED = 0, SP_PARSED_HELP = 1 }; /* HELP: --help or -h was met; nothing after it was looked at */

/*
 * Reads argv[0 .. argc-1] (the arguments alone, without program and command) into *ret_args, which the caller has
 * filled with the defaults. On failure lists that were read are already in *ret_args and still the caller's.
 */
int sp_options_parse(const struct sp_option *options, int argc, char **argv, void *ret_args);

/* Whether it is given by a name, and not by its place. */
bool sp_option_is_named(const struct sp_option *o);
/* Which of the choices has this name; -1: none. */
int sp_choice_number(const char *(*choice)(size_t i), const char *name);
/* A function for `choice`: its words, by their numbers. */
#define SP_CHOICE(name, ...)                                                                                           \
	static const char *name(size_t i)                                                                              \
	{                                                                                                              \
		static const char *const names[] = {__VA_ARGS__};                                                      \
                                                                                                                       \
		return i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;                                         \
	}
/* Stores the option's value; `shown` is what the message calls the option ("-F"). */
int sp_option_store(const struct sp_option *o, const char *shown, const char *value, void *ret_args);

#endif
