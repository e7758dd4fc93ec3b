/* SPDX-License-Identifier: GPL-2.0-or-later */
/* expr.c: reads an expression into a tree, by precedence climbing. */
#include "recipe/expr.h"
#include "base/error.h"
#include "base/mem.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 32, LOWEST = 1, RELATIONAL = 7, UNARY = 11 };

struct parser {
	struct sp_expr *e;
	size_t at, to;
	unsigned depth;
};

/* A word comes before those that it begins with. */
static const struct {
	const char *word;
	enum sp_expr_op op;
	int precedence;
} operators[] = {
    {"||", SP_EXPR_EITHER, 1}, {"&&", SP_EXPR_BOTH, 2}, {"==", SP_EXPR_EQ, 6}, {"!=", SP_EXPR_NE, 6},
    {"<<", SP_EXPR_SHL, 8},    {">>", SP_EXPR_SHR, 8},  {"<=", SP_EXPR_LE, 7}, {">=", SP_EXPR_GE, 7},
    {"|", SP_EXPR_OR, 3},      {"^", SP_EXPR_XOR, 4},   {"&", SP_EXPR_AND, 5}, {"<", SP_EXPR_LT, 7},
    {">", SP_EXPR_GT, 7},      {"+", SP_EXPR_ADD, 9},   {"-", SP_EXPR_SUB, 9}, {"*", SP_EXPR_MUL, 10},
    {"/", SP_EXPR_DIV, 10},    {"%", SP_EXPR_MOD, 10},
};

/* Parsers return the number of the part that they have read, or -EINVAL. */
static int choice_parse(struct parser *p);
static int unary_parse(struct parser *p);

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static char peek(struct parser *p)
{
	while (p->at < p->to && isspace((unsigned char)p->e->text[p->at]))
		p->at++;
	return p->at < p->to ? p->e->text[p->at] : '\0';
}

static bool follows(struct parser *p, const char *word)
{
	size_t n = strlen(word);

	peek(p);
	return p->to - p->at >= n && !strncmp(p->e->text + p->at, word, n);
}

static bool take(struct parser *p, const char *word)
{
	if (!follows(p, word))
		return false;
	p->at += strlen(word);
	return true;
}

static int missing(struct parser *p, const char *what)
{
	peek(p);
	return sp_fail_at(-EINVAL, p->e->text, p->at, "%s is missing", what);
}

static int node_add(struct parser *p, const struct sp_expr_node *node)
{
	struct sp_expr *e = p->e;

	if (e->n == SP_EXPR_NODES)
		return sp_fail_at(-EINVAL, e->text, node->at, "the expression has more than %d parts", SP_EXPR_NODES);
	e->nodes[++e->n] = *node;
	return e->n;
}

/* Takes the unit of a time, which becomes ns, or of a size. False: the number is too large. */
static bool unit_take(struct parser *p, uint64_t *number)
{
	static const struct {
		const char *word;
		uint64_t times;
	} units[] = {{"ns", 1},      {"us", 1000},   {"ms", 1000000}, {"s", 1000000000},
		     {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}};

	for (size_t i = 0; i < SP_COUNT(units); i++) {
		size_t n = strlen(units[i].word);

		if (p->to - p->at < n || strncmp(p->e->text + p->at, units[i].word, n) ||
		    (p->at + n < p->to && is_word(p->e->text[p->at + n])))
			continue;
		p->at += n;
		return !__builtin_mul_overflow(*number, units[i].times, number);
	}
	while (p->at < p->to && strchr("uUlL", p->e->text[p->at]))
		p->at++;
	return true;
}

static int number_parse(struct parser *p)
{
	struct sp_expr_node node = {.kind = SP_EXPR_NUMBER, .at = p->at};
	const char *text = p->e->text + p->at;
	bool fits;
	char *end;

	errno = 0;
	node.number = strtoull(text, &end, 0);
	fits = errno != ERANGE;
	p->at += (size_t)(end - text);
	if (!unit_take(p, &node.number) || !fits)
		return sp_fail_at(-EINVAL, p->e->text, node.at, "the number has more than 64 bits");
	if (p->at < p->to && is_word(p->e->text[p->at]))
		return sp_fail_at(-EINVAL, p->e->text, p->at, "this is no part of a number");
	return node_add(p, &node);
}

static int text_parse(struct parser *p)
{
	struct sp_expr_node node = {.kind = SP_EXPR_TEXT, .at = p->at + 1};
	size_t end = p->at + 1;

	while (end < p->to && p->e->text[end] != '"')
		end += p->e->text[end] == '\\' ? 2 : 1;
	if (end >= p->to)
		return sp_fail_at(-EINVAL, p->e->text, p->at, "the text has no end");
	node.length = end - node.at;
	p->at = end + 1;
	return node_add(p, &node);
}

static int word_parse(struct parser *p, struct sp_expr_node *node)
{
	node->at = p->at;
	while (p->at < p->to && is_word(p->e->text[p->at]))
		p->at++;
	node->length = p->at - node->at;
	return node_add(p, node);
}

static int member_parse(struct parser *p, int of, enum sp_expr_op op)
{
	char c = peek(p);

	if (!is_word(c) || isdigit((unsigned char)c))
		return missing(p, "the name of a member");
	return word_parse(p, &(struct sp_expr_node){.kind = SP_EXPR_MEMBER, .op = op, .a = (uint16_t)of});
}

static int index_parse(struct parser *p, int of)
{
	struct sp_expr_node node = {.kind = SP_EXPR_INDEX, .at = p->at - 1, .a = (uint16_t)of};
	int r = choice_parse(p);

	node.b = (uint16_t)r;
	if (r < 0)
		return r;
	return take(p, "]") ? node_add(p, &node) : missing(p, "']'");
}

/* What may stand behind a name. */
static int path_parse(struct parser *p, int of)
{
	while (of >= 0) {
		if (take(p, "->"))
			of = member_parse(p, of, SP_EXPR_ARROW);
		else if (take(p, "."))
			of = member_parse(p, of, SP_EXPR_DOT);
		else if (take(p, "["))
			of = index_parse(p, of);
		else
			break;
	}
	return of;
}

/* "struct NAME *)X", behind the parenthesis. */
static int cast_parse(struct parser *p)
{
	struct sp_expr_node node = {.kind = SP_EXPR_CAST, .at = p->at};
	int r;

	take(p, "struct ");
	for (peek(p); p->at < p->to && is_word(p->e->text[p->at]);)
		p->at++;
	node.length = p->at - node.at;
	if (!take(p, "*") || !take(p, ")"))
		return missing(p, "'*)'");
	if (++p->depth > MAX_DEPTH)
		return sp_fail_at(-EINVAL, p->e->text, p->at, "the expression is nested too deeply");
	r = unary_parse(p);
	p->depth--;
	node.a = (uint16_t)r;
	return r < 0 ? r : node_add(p, &node);
}

static int primary_parse(struct parser *p)
{
	char c = peek(p);
	int r;

	if (isdigit((unsigned char)c))
		return number_parse(p);
	if (c == '"')
		return text_parse(p);
	if (is_word(c))
		return path_parse(p, word_parse(p, &(struct sp_expr_node){.kind = SP_EXPR_NAME}));
	if (!take(p, "("))
		return missing(p, "a number or the name of a field");
	if (follows(p, "struct "))
		return cast_parse(p);
	r = choice_parse(p);
	if (r >= 0 && !take(p, ")"))
		return missing(p, "')'");
	return path_parse(p, r);
}

static int unary_parse(struct parser *p)
{
	static const struct {
		const char *word;
		enum sp_expr_op op;
	} unary[] = {{"!", SP_EXPR_NOT}, {"~", SP_EXPR_INVERT}, {"-", SP_EXPR_NEGATE}};
	struct sp_expr_node node = {.kind = SP_EXPR_UNARY};
	size_t i = 0;
	int r;

	while (i < SP_COUNT(unary) && !follows(p, unary[i].word))
		i++;
	if (i == SP_COUNT(unary))
		return primary_parse(p);
	node.at = p->at;
	node.op = unary[i].op;
	if (++p->depth > MAX_DEPTH)
		return sp_fail_at(-EINVAL, p->e->text, p->at, "the expression is nested too deeply");
	p->at++;
	r = unary_parse(p);
	p->depth--;
	node.a = (uint16_t)r;
	return r < 0 ? r : node_add(p, &node);
}

/* Behind `in`. */
static int list_parse(struct parser *p, int what, size_t at)
{
	struct sp_expr_node node = {.kind = SP_EXPR_IN, .at = at, .a = (uint16_t)what};
	int r, last = 0;

	if (!take(p, "{"))
		return missing(p, "'{'");
	do {
		r = choice_parse(p);
		if (r < 0)
			return r;
		*(last ? &p->e->nodes[last].next : &node.b) = (uint16_t)r;
		last = r;
	} while (take(p, ","));
	return take(p, "}") ? node_add(p, &node) : missing(p, "',' or '}'");
}

static bool in_follows(struct parser *p)
{
	return follows(p, "in") && (p->to - p->at == 2 || !is_word(p->e->text[p->at + 2]));
}

static int binary_parse(struct parser *p, int lowest)
{
	int r = unary_parse(p);

	while (r >= 0) {
		struct sp_expr_node node = {.kind = SP_EXPR_BINARY, .a = (uint16_t)r};
		size_t i = 0;

		if (lowest <= RELATIONAL && in_follows(p)) {
			p->at += 2;
			r = list_parse(p, r, p->at - 2);
			continue;
		}
		while (i < SP_COUNT(operators) && !follows(p, operators[i].word))
			i++;
		node.at = p->at;
		if (i == SP_COUNT(operators) || operators[i].precedence < lowest)
			return r;
		p->at += strlen(operators[i].word);
		node.op = operators[i].op;
		r = binary_parse(p, operators[i].precedence + 1);
		node.b = (uint16_t)r;
		r = r < 0 ? r : node_add(p, &node);
	}
	return r;
}

static int branches_parse(struct parser *p, int condition)
{
	struct sp_expr_node node = {.kind = SP_EXPR_CHOICE, .at = p->at, .a = (uint16_t)condition};
	int r = choice_parse(p);

	node.b = (uint16_t)r;
	if (r >= 0 && !take(p, ":"))
		return missing(p, "':'");
	if (r >= 0)
		r = choice_parse(p);
	node.c = (uint16_t)r;
	return r < 0 ? r : node_add(p, &node);
}

static int choice_parse(struct parser *p)
{
	int r;

	if (++p->depth > MAX_DEPTH)
		return sp_fail_at(-EINVAL, p->e->text, p->at, "the expression is nested too deeply");
	r = binary_parse(p, LOWEST);
	if (r >= 0 && take(p, "?"))
		r = branches_parse(p, r);
	p->depth--;
	return r;
}

static int leftover(struct parser *p)
{
	if (follows(p, "="))
		return sp_fail_at(-EINVAL, p->e->text, p->at, "'=' is no operator; is '==' meant?");
	return sp_fail_at(-EINVAL, p->e->text, p->at, "an operator is missing");
}

int sp_expr_parse(const char *text, size_t from, size_t to, struct sp_expr *ret_expr)
{
	struct parser p = {.e = ret_expr, .at = from, .to = to};
	int r;

	ret_expr->text = text;
	ret_expr->n = 0;
	ret_expr->n_places = 0;
	r = choice_parse(&p);
	if (r < 0)
		return r;
	ret_expr->root = (uint16_t)r;
	return peek(&p) ? leftover(&p) : 0;
}

size_t sp_expr_text(const struct sp_expr *expr, const struct sp_expr_node *node, char *ret_text, size_t size)
{
	const char *s = expr->text + node->at, *end = s + node->length;
	size_t n = 0;

	for (; s < end && n + 1 < size; s++) {
		if (*s == '\\')
			s++;
		ret_text[n++] = *s;
	}
	ret_text[n] = '\0';
	return n;
}
