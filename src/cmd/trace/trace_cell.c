/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_cell.c: a value of an event as a person reads it: errors, system calls, devices, signals and flags by name. */
#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "cmd/trace/trace.h"
#include "recipe/tracepoint.h"
#include "view/units.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

enum { MAX_ERRNO = 4095, DEVICE_MINOR_BITS = 20 };

static const struct {
	unsigned bits;
	const char *name;
} open_flags[] = {
    {O_CREAT, "O_CREAT"},         {O_EXCL, "O_EXCL"},         {O_NOCTTY, "O_NOCTTY"},   {O_TRUNC, "O_TRUNC"},
    {O_APPEND, "O_APPEND"},       {O_NONBLOCK, "O_NONBLOCK"}, {O_SYNC, "O_SYNC"},       {O_DSYNC, "O_DSYNC"},
    {O_ASYNC, "O_ASYNC"},         {O_DIRECT, "O_DIRECT"},     {0100000, "O_LARGEFILE"}, {O_TMPFILE, "O_TMPFILE"},
    {O_DIRECTORY, "O_DIRECTORY"}, {O_NOFOLLOW, "O_NOFOLLOW"}, {O_NOATIME, "O_NOATIME"}, {O_CLOEXEC, "O_CLOEXEC"},
    {O_PATH, "O_PATH"},
};

static void open_flags_put(uint64_t flags, char *text)
{
	static const char *const modes[] = {"O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"};
	size_t n = (size_t)snprintf(text, SP_TRACE_CELL, "%s", flags == UINT64_MAX ? "?" : modes[flags & O_ACCMODE]);

	if (flags == UINT64_MAX)
		return;

	flags = (uint32_t)flags & ~(uint32_t)O_ACCMODE;
	for (size_t i = 0; i < SP_COUNT(open_flags); i++)
		if (open_flags[i].bits && (flags & open_flags[i].bits) == open_flags[i].bits) {
			n += (size_t)snprintf(text + n, SP_TRACE_CELL - n, "|%s", open_flags[i].name);
			flags &= ~(uint64_t)open_flags[i].bits;
		}
	if (flags)
		snprintf(text + n, SP_TRACE_CELL - n, "|0x%" PRIx64, flags);
}

/* A number, unless it has a name. */
static void name_put(const char *before, const char *name, int64_t number, char *text)
{
	if (name)
		snprintf(text, SP_TRACE_CELL, "%s%s", before, name);
	else
		snprintf(text, SP_TRACE_CELL, "%" PRId64, number);
}

/* include/net/tcp_states.h; include/linux/blk_types.h; include/linux/interrupt.h */
static const char *const tcp_states[] = {
    "0",     "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2",    "TIME_WAIT",
    "CLOSE", "CLOSE_WAIT",  "LAST_ACK", "LISTEN",   "CLOSING",   "NEW_SYN_RECV",
};
static const char *const block_ops[] = {"read", "write", "flush", "discard"};
static const char *const softirqs[] = {"hi",       "timer",   "net_tx", "net_rx",  "block",
				       "irq_poll", "tasklet", "sched",  "hrtimer", "rcu"};

#define NAME_OF(names, number) ((number) < SP_COUNT(names) ? (names)[number] : NULL)

/* As wait(2) has it: a number, or the signal that ended it. */
static void status_put(uint64_t status, char *text)
{
	const char *name = status & 127 ? sigabbrev_np((int)(status & 127)) : NULL;

	name_put("SIG", name, (int64_t)(status & 127 ? status & 127 : status >> 8 & 255), text);
}

static void address_put(uint64_t number, char *text)
{
	unsigned char b[4];
	uint32_t address = (uint32_t)number;

	memcpy(b, &address, sizeof(b));
	snprintf(text, SP_TRACE_CELL, "%u.%u.%u.%u", b[0], b[1], b[2], b[3]);
}

/* Whether what a system call gives is an address. */
static bool is_place(const struct sp_trace_column *column, const char *base)
{
	static const uint64_t calls[] = {SYS_mmap, SYS_mremap, SYS_brk, SYS_shmat};
	uint64_t call;

	if (!column->call_at)
		return column->as == SP_TRACE_AS_PLACE;
	memcpy(&call, base + column->call_at, sizeof(call));
	for (size_t i = 0; i < SP_COUNT(calls); i++)
		if (calls[i] == call)
			return true;
	return false;
}

static void number_put(enum sp_trace_as as, uint64_t number, char *text)
{
	int64_t with_sign = (int64_t)number;
	bool is_error = with_sign < 0 && with_sign >= -MAX_ERRNO;

	switch (as) {
	case SP_TRACE_AS_RESULT:
		name_put("-", is_error ? strerrorname_np((int)-with_sign) : NULL, with_sign, text);
		break;
	case SP_TRACE_AS_PLACE:
		if (is_error)
			name_put("-", strerrorname_np((int)-with_sign), with_sign, text);
		else
			snprintf(text, SP_TRACE_CELL, "0x%" PRIx64, number);
		break;
	case SP_TRACE_AS_CALL:
		name_put("", sp_call_name(number), with_sign, text);
		break;
	case SP_TRACE_AS_SIGNAL:
		name_put("SIG", with_sign > 0 && with_sign < NSIG ? sigabbrev_np((int)with_sign) : NULL, with_sign,
			 text);
		break;
	case SP_TRACE_AS_DEVICE:
		snprintf(text, SP_TRACE_CELL, "%" PRIu64 ":%" PRIu64, number >> DEVICE_MINOR_BITS,
			 number & ((1U << DEVICE_MINOR_BITS) - 1));
		break;
	case SP_TRACE_AS_OPEN_FLAGS:
		open_flags_put(number, text);
		break;
	case SP_TRACE_AS_TIME:
		sp_unit_write("nanoseconds", number, text, SP_TRACE_CELL);
		break;
	case SP_TRACE_AS_STATUS:
		status_put(number, text);
		break;
	case SP_TRACE_AS_INTERNET:
		address_put(number, text);
		break;
	case SP_TRACE_AS_PORT:
		snprintf(text, SP_TRACE_CELL, "%u", ntohs((uint16_t)number));
		break;
	case SP_TRACE_AS_TCP_STATE:
		name_put("", NAME_OF(tcp_states, number), with_sign, text);
		break;
	case SP_TRACE_AS_BLOCK_OP:
		name_put("", NAME_OF(block_ops, number), with_sign, text);
		break;
	case SP_TRACE_AS_SOFTIRQ:
		name_put("", NAME_OF(softirqs, number), with_sign, text);
		break;
	case SP_TRACE_AS_ADDRESS:
		snprintf(text, SP_TRACE_CELL, "0x%" PRIx64, number);
		break;
	case SP_TRACE_AS_UNSIGNED:
		snprintf(text, SP_TRACE_CELL, "%" PRIu64, number);
		break;
	default:
		snprintf(text, SP_TRACE_CELL, "%" PRId64, with_sign);
	}
}

bool sp_trace_is_text(const struct sp_trace_column *column)
{
	return (column->as == SP_TRACE_AS_TEXT && !column->is_internet) || column->as == SP_TRACE_AS_COMM;
}

bool sp_trace_is_number(const struct sp_trace_column *column)
{
	return column->as == SP_TRACE_AS_NUMBER || column->as == SP_TRACE_AS_UNSIGNED ||
	       column->as == SP_TRACE_AS_SIGNED || column->as == SP_TRACE_AS_PORT;
}

/* All six: what a call does not take is what was in that register. */
static void arguments_put(const char *at, char *text)
{
	size_t n = (size_t)snprintf(text, SP_TRACE_CELL, "(");
	uint64_t number;

	for (size_t i = 0; i < SP_TRACE_CALL_ARGUMENTS; i++) {
		memcpy(&number, at + 8 * i, sizeof(number));
		n += (size_t)snprintf(text + n, SP_TRACE_CELL - n, "%s0x%" PRIx64, i ? ", " : "", number);
	}
	snprintf(text + n, SP_TRACE_CELL - n, ")");
}

/* An address of IPv4 that has the form of IPv6's is IPv4's. What could not be read is empty. */
static void internet_put(const struct sp_trace_column *column, const char *at, char *text)
{
	static const unsigned char mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	size_t n = (unsigned char)at[column->bytes - 1];
	bool is_mapped = n == sizeof(struct in6_addr) && !memcmp(at, mapped, sizeof(mapped));

	text[0] = '\0';
	if (n == sizeof(struct in_addr) || is_mapped)
		inet_ntop(AF_INET, at + (is_mapped ? sizeof(mapped) : 0), text, SP_TRACE_CELL);
	else if (n == sizeof(struct in6_addr))
		inet_ntop(AF_INET6, at, text, SP_TRACE_CELL);
}

/* NULs become spaces, but those at the end, which are left out. */
static void bytes_put(const struct sp_trace_column *column, const char *at, char *text)
{
	size_t n = (unsigned char)at[column->bytes - 1];

	while (n && !at[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		text[i] = at[i] ? at[i] : ' ';
	text[n] = '\0';
}

void sp_trace_cell(const struct sp_trace_column *column, const void *base, char ret_text[SP_TRACE_CELL])
{
	const char *at = (const char *)base + column->at;
	uint64_t number;

	if (column->is_internet) {
		internet_put(column, at, ret_text);
		return;
	}
	if (column->is_counted) {
		bytes_put(column, at, ret_text);
		return;
	}
	if (sp_trace_is_text(column)) {
		size_t most = column->as == SP_TRACE_AS_COMM ? SP_COMM_LEN : column->bytes;

		snprintf(ret_text, SP_TRACE_CELL, "%.*s", (int)most, at);
		return;
	}
	if (column->as == SP_TRACE_AS_ARGUMENTS) {
		arguments_put(at, ret_text);
		return;
	}
	memcpy(&number, at, sizeof(number));
	number_put(is_place(column, base) ? SP_TRACE_AS_PLACE : column->as, number, ret_text);
}

void sp_trace_cell_json(struct sp_json *j, const struct sp_trace_column *column, const void *base)
{
	SP_FREE char *name = sp_encoded(SP_ENCODE_JSON, column->name); /* it is an expression */
	char text[SP_TRACE_CELL];
	uint64_t number;

	sp_trace_cell(column, base, text);
	if (column->as == SP_TRACE_AS_TIME) { /* for programs it is a number */
		memcpy(&number, (const char *)base + column->at, sizeof(number));
		fprintf(sp_json_raw(j, name ? name : ""), "%" PRIu64, number);
	} else if (sp_trace_is_number(column))
		fputs(text, sp_json_raw(j, name ? name : ""));
	else
		sp_json_string(j, name ? name : "", text);
}
