/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expr.h: expressions over the fields of an event, as a user types them: read into a tree, whose names become fields,
 * and compiled into ops (event/op.h).
 *
 * A subset of C: numbers (decimal, 0x, octal, and 10ms, 4K), "text", names, with -> . and [EXPR] behind them, (struct
 * NAME *)X, ( ) ! ~
 * - * / % + - << >> < <= > >= == != & ^ | && || ?: with C's precedence, and `x in {1, 2}`. A number has 64 bits; an
 * operation is unsigned if one of its operands is an unsigned number of 64 bits. Division by 0 gives 0 (by a constant
 * 0 it is an error), and a shift counts by its low 6 bits, as ops do. All operands are computed, also those that C
 * would leave out. A tree owns nothing: it refers to the text and to the fields, which must outlive it; and, resolved,
 * to itself: it is not copied.
 * Errors: -EINVAL with sp_error_text() and sp_error_where(). Limits: SP_EXPR_NODES parts, and what fits into SP_N_OPS
 * ops over SP_N_OP_REGS numbers.
 */
#ifndef SP_RECIPE_EXPR_H
#define SP_RECIPE_EXPR_H

#include "event/op.h"
#include "recipe/fields.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_EXPR_NODES = 128, SP_EXPR_PLACES = 32 };
enum sp_expr_kind {
	SP_EXPR_NUMBER,
	SP_EXPR_NAME, /* a field; once they are resolved, what a path leads to is one, too */
	SP_EXPR_MEMBER,
	SP_EXPR_INDEX,
	SP_EXPR_TEXT,
	SP_EXPR_UNARY,
	SP_EXPR_BINARY,
	SP_EXPR_CHOICE,
	SP_EXPR_IN,
	SP_EXPR_CAST, /* of a pointer to one of another structure, whose name is at `at` */
};
enum sp_expr_op {
	SP_EXPR_NOT, /* ! */
	SP_EXPR_INVERT,
	SP_EXPR_NEGATE,
	SP_EXPR_MUL, /* from here on binary */
	SP_EXPR_DIV,
	SP_EXPR_MOD,
	SP_EXPR_ADD,
	SP_EXPR_SUB,
	SP_EXPR_SHL,
	SP_EXPR_SHR,
	SP_EXPR_LT,
	SP_EXPR_LE,
	SP_EXPR_GT,
	SP_EXPR_GE,
	SP_EXPR_EQ,
	SP_EXPR_NE,
	SP_EXPR_AND,
	SP_EXPR_XOR,
	SP_EXPR_OR,
	SP_EXPR_BOTH,
	SP_EXPR_EITHER,
	SP_EXPR_DOT, /* of a member */
	SP_EXPR_ARROW,
};

/* Parts are known by their numbers; 0 is none. */
struct sp_expr_node {
	enum sp_expr_kind kind;
	enum sp_expr_op op;
	size_t at, length; /* where it is in the text; of a text what is between the quotes */
	uint16_t a, b, c;  /* operands; of `in`: a what, b the first of the list */
	uint16_t next;     /* in a list */
	uint64_t number;
	bool is_signed;               /* of a number: with bit 63 it is below 0 */
	const struct sp_field *field; /* of a name */
};
struct sp_expr {
	const char *text; /* all that the user typed, for messages */
	struct sp_expr_node nodes[SP_EXPR_NODES + 1];
	uint16_t n, root;
	struct sp_field places[SP_EXPR_PLACES]; /* what paths lead to */
	size_t n_places;
};

struct sp_expr_list {
	struct sp_expr *const *each;
	size_t n;
};

/* Reads the bytes from `from` up to `to` of the text. */
int sp_expr_parse(const char *text, size_t from, size_t to, struct sp_expr *ret_expr);
/* Copies a text part without quotes and backslashes, NUL-terminated. Returns its length. */
size_t sp_expr_text(const struct sp_expr *expr, const struct sp_expr_node *node, char *ret_text, size_t size);

/*
 * Gives each name its field: one of the event's, else one that all events have; and paths theirs, by the kernel's
 * types, which have the constants, too. `event` is for messages. -EACCES: it has none.
 */
int sp_expr_resolve(struct sp_expr *expr, const struct sp_fields *fields, const char *event);
/* Whether a part is constant, and its value. */
bool sp_expr_constant(const struct sp_expr *expr, uint16_t number, uint64_t *ret_value);
/* Whether it reads the record of the tracepoint. */
bool sp_expr_has_record(const struct sp_expr *expr);
/* "bytes" if it is a field with such a name, or a sum of such; else "count". */
const char *sp_expr_unit(const struct sp_expr *expr);

struct sp_op_list {
	struct sp_op ops[SP_N_OPS];
	size_t n;
};
sp_u32 sp_op_list_arguments(const struct sp_op_list *list); /* how many of the event's arguments they read */
/* Adds ops after which the event is wanted only if the expression is not 0. */
int sp_expr_need(const struct sp_expr *expr, struct sp_op_list *list);
/* Adds ops that leave the expression's value in register `to`; they use those above it, too. */
int sp_expr_number(const struct sp_expr *expr, struct sp_op_list *list, unsigned to);
/* Whether its values are unsigned numbers of 64 bits. */
bool sp_expr_is_unsigned(const struct sp_expr *expr);
/* Adds ops that leave in register `to` the address of the text that the field is, or leads to. */
int sp_expr_text_address(const struct sp_expr *expr, struct sp_op_list *list, unsigned to);
/* Adds ops that leave the expression's value in register 0; what is below 0 becomes 0. */
int sp_expr_value(const struct sp_expr *expr, struct sp_op_list *list);

#endif
