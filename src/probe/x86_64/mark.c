/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mark.c: operands of x86-64's assembler, in the syntax of AT&T. */
#include "probe/mark.h"
#include "base/error.h"
#include "base/mem.h"
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

enum { SHOWN = 48 /* characters of an argument that makes no sense */ };
#define FRACTION "it is a number with a fraction"
#define SYMBOL "a symbol tells where it is, which the file has not"

/* --- registers --- */
/* By their names with 64, 32, 16 and 8 bits. The kernel saves them in the order of user_regs_struct. */
#define REGISTER(q, d, w, b)                                                                                           \
	{                                                                                                              \
		{#q, #d, #w, #b}, offsetof(struct user_regs_struct, q)                                                 \
	}
#define NUMBERED(q) REGISTER(q, q##d, q##w, q##b)
static const struct {
	char names[4][5];
	uint16_t at;
} registers[] = {
    REGISTER(rax, eax, ax, al),
    REGISTER(rbx, ebx, bx, bl),
    REGISTER(rcx, ecx, cx, cl),
    REGISTER(rdx, edx, dx, dl),
    REGISTER(rsi, esi, si, sil),
    REGISTER(rdi, edi, di, dil),
    REGISTER(rbp, ebp, bp, bpl),
    REGISTER(rsp, esp, sp, spl),
    NUMBERED(r8),
    NUMBERED(r9),
    NUMBERED(r10),
    NUMBERED(r11),
    NUMBERED(r12),
    NUMBERED(r13),
    NUMBERED(r14),
    NUMBERED(r15),
};
static const char high[] = "ah bh ch dh "; /* of the first four: their bits 8 to 15 */

struct named {
	uint16_t at;
	uint8_t from, bits;
};

/* False: there is no such register. */
static bool register_find(const char *name, size_t n, struct named *ret_named)
{
	for (size_t i = 0; i < SP_COUNT(registers); i++) {
		for (unsigned k = 0; k < SP_COUNT(registers[i].names); k++)
			if (strlen(registers[i].names[k]) == n && !strncmp(registers[i].names[k], name, n)) {
				*ret_named = (struct named){registers[i].at, 0, (uint8_t)(64 >> k)};
				return true;
			}
		if (n == 2 && i < 4 && !strncmp(high + 3 * i, name, n)) {
			*ret_named = (struct named){registers[i].at, 8, 8};
			return true;
		}
	}
	return false;
}

/* "%rdi", which is taken off the text. */
static bool register_take(const char **at, struct named *ret_named)
{
	size_t n = **at == '%' ? strspn(*at + 1, "abcdefghijklmnopqrstuvwxyz0123456789") : 0;

	if (!n || !register_find(*at + 1, n, ret_named))
		return false;
	*at += 1 + n;
	return true;
}

static bool address_register_take(const char **at, uint16_t *ret_at)
{
	struct named named;

	if (!register_take(at, &named) || named.bits != 64)
		return false;
	*ret_at = named.at;
	return true;
}

/* --- numbers --- */
static bool number_take(const char **at, uint64_t *ret_number)
{
	bool is_below = **at == '-';
	const char *digits = *at + is_below;
	char *end;
	uint64_t n;

	if (!isdigit((unsigned char)*digits))
		return false;
	errno = 0;
	n = strtoull(digits, &end, 0);
	if (errno || (is_below && n > 1ULL << 63))
		return false;
	*ret_number = is_below ? -n : n;
	*at = end;
	return true;
}

/* 1, 2, 4 or 8: 0, 1, 2 or 3. */
static bool scale_take(const char **at, uint8_t *ret_scale)
{
	static const char scales[] = "1248";
	const char *scale = **at ? strchr(scales, **at) : NULL;

	if (!scale || isdigit((unsigned char)(*at)[1]))
		return false;
	*ret_scale = (uint8_t)(scale - scales);
	++*at;
	return true;
}

/* --- operands: NULL, or why they make no sense --- */
static bool take(const char **at, char c)
{
	bool is = **at == c;

	*at += is;
	return is;
}

/* "(BASE,INDEX,SCALE)" behind its first bracket; BASE, or what is behind it, may be left out. */
static const char *address_take(const char **at, struct sp_mark_argument *a)
{
	if (**at == '%' && !address_register_take(at, &a->base))
		return "no register of 64 bits has the address";
	if (**at == ',') {
		++*at;
		if (!address_register_take(at, &a->index) || a->index == offsetof(struct user_regs_struct, rsp))
			return "no register of 64 bits is the index";
		if (**at == ',') {
			++*at;
			if (!scale_take(at, &a->scale))
				return "the scale is none of 1, 2, 4 and 8";
		}
	}
	if (a->base == SP_MARK_NO_REGISTER && a->index == SP_MARK_NO_REGISTER)
		return "no register has the address";
	return take(at, ')') ? NULL : "a bracket is not closed";
}

static const char *memory_take(const char **at, struct sp_mark_argument *a)
{
	bool has_number = number_take(at, &a->add);

	a->flags |= SP_MARK_IN_MEMORY;
	if (**at != '(')
		return has_number ? NULL : "this is no register, no number and no place in memory";
	++*at;
	return address_take(at, a);
}

static const char *register_operand_take(const char **at, struct sp_mark_argument *a)
{
	struct named named;

	if (!register_take(at, &named))
		return "there is no such register";
	a->base = named.at;
	a->from = named.from;
	return a->bits <= named.bits ? NULL : "it is wider than its register";
}

/* What is written well, and cannot be read: all of it is taken. */
static const char *why_unread(const char *operand, bool is_fraction)
{
	static const char *const vectors[] = {"%xmm", "%ymm", "%zmm", "%mm", "%st"};
	size_t n = strcspn(operand, " ");
	bool has_letter = isalpha((unsigned char)*operand) || *operand == '_' || *operand == '.';

	if (is_fraction)
		return FRACTION;
	for (size_t i = 0; i < SP_COUNT(vectors); i++)
		if (!strncmp(operand, vectors[i], strlen(vectors[i])))
			return FRACTION;
	if (!strncmp(operand, "%fs:", 4) || !strncmp(operand, "%gs:", 4))
		return "it is in the thread's own memory";
	if (*operand == '$')
		has_letter = isalpha((unsigned char)operand[1]) || operand[1] == '_' || operand[1] == '.';
	return has_letter || (n > 6 && !strncmp(operand + n - 6, "(%rip)", 6)) ? SYMBOL : NULL;
}

/* "counter(%rip)=-8192": so far from the mark. */
static const char *symbol_operand_take(const char **at, struct sp_mark_argument *a)
{
	*at += strcspn(*at, "=") + 1;
	a->base = offsetof(struct user_regs_struct, rip);
	a->flags |= SP_MARK_IN_MEMORY;
	return number_take(at, &a->add) ? NULL : "its distance is no number";
}

static bool has_distance(const char *operand)
{
	size_t n = strcspn(operand, " =");

	return operand[n] == '=' && n > 6 && !strncmp(operand + n - 6, "(%rip)", 6);
}

static const char *operand_take(const char **at, bool is_fraction, struct sp_mark_argument *a, const char **ret_why_not)
{
	if (!is_fraction && has_distance(*at))
		return symbol_operand_take(at, a);
	*ret_why_not = why_unread(*at, is_fraction);
	if (*ret_why_not) {
		*at += strcspn(*at, " ");
		return NULL;
	}
	if (**at == '%')
		return register_operand_take(at, a);
	if (**at != '$')
		return memory_take(at, a);
	++*at;
	return number_take(at, &a->add) ? NULL : "it is no number";
}

/* "-4@OPERAND" */
static const char *argument_take(const char **at, struct sp_mark_argument *a, const char **ret_why_not)
{
	bool is_signed = **at == '-', is_fraction;
	uint8_t scale;

	*a = (struct sp_mark_argument){.base = SP_MARK_NO_REGISTER, .index = SP_MARK_NO_REGISTER};
	*at += is_signed;
	if (!scale_take(at, &scale))
		return "its size is none of 1, 2, 4 and 8 bytes";
	a->bits = (uint8_t)(8 << scale);
	a->flags = is_signed ? SP_MARK_SIGNED : 0;
	is_fraction = **at == 'f';
	*at += is_fraction;
	if (**at != '@')
		return "behind its size there is no @";
	++*at;
	return operand_take(at, is_fraction, a, ret_why_not);
}

int sp_mark_parse(const char *text, struct sp_mark_said *ret_said)
{
	struct sp_mark_said said = {.n = 0};
	const char *at = text + strspn(text, " "), *begin = at, *why = NULL;

	for (; *at && !why; at += strspn(at, " ")) {
		begin = at;
		if (said.n == SP_N_ARGUMENTS) {
			why = "there are more than twelve";
			break;
		}
		why = argument_take(&at, &said.mark.argument[said.n], &said.why_not[said.n]);
		if (!why && *at && *at != ' ')
			why = "something stands behind it";
		said.n += !why;
	}
	if (why)
		return sp_fail_said(-EBADMSG, "arg%u, '%.*s': %s", said.n,
				    (int)SP_MIN(strcspn(begin, " "), (size_t)SHOWN), begin, why);
	*ret_said = said;
	return 0;
}
